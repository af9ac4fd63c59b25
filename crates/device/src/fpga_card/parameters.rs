//! Parameters of an FPGA card.

use kernel::{Bandwidth, Bytes, Frequency, Span};

use super::BuiltInAfu;

kernel::parameters! {
    /// The parameters of an FPGA card.
    pub struct FpgaCardParameters {
        /// Unit in the slot: "nlb_mode_0", "nlb_mode_3", "nlb_mode_7", "he_lb", "he_mem", "dma_afu", "streaming_dma_afu" or "none".
        afu: BuiltInAfu = BuiltInAfu::NlbMode0, from "our choice: what the quick start of the Acceleration Stack loads first";
        /// Number of slots, each with a port. A slot for which a unit is set exists in any case.
        slots: u32 = 1, within 1..=4, from "Intel PAC with Arria 10 GX; FME_CAPABILITY and the list of ports allow 4";
        /// Unit in slot 1.
        afu_1: BuiltInAfu = BuiltInAfu::None, from "our choice";
        /// Unit in slot 2.
        afu_2: BuiltInAfu = BuiltInAfu::None, from "our choice";
        /// Unit in slot 3.
        afu_3: BuiltInAfu = BuiltInAfu::None, from "our choice";
        /// Clock of the accelerator functional units, which transfer 64 bytes each cycle, until software sets a user clock.
        afu_clock: Frequency = Frequency(200_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), lifts "datapath", from "Intel 683292, data sheet of the Intel PAC with Arria 10 GX: pClk";
        /// Rate of partial reconfiguration, in bytes of the bitstream.
        configuration_rate: Bandwidth = Bandwidth(100_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "a 32-bit configuration port at 25 MHz: some tenths of a second for a real bitstream";
        /// Most outstanding reads of host memory, of 64 to 256 bytes.
        outstanding_reads: u32 = 64, within 1..=1024, lifts "tags" to ["256", "768"], from "our choice: twice what a Gen3 x8 link needs at 1 us";
        /// Most writes of host memory, of 64 to 256 bytes, and interrupts that wait for the link.
        waiting_writes: u32 = 16, within 1..=1024, from "our choice: just enough to keep the link busy";
        /// Most outstanding non-posted requests.
        tags: u32 = 64, within 1..=768, lifts "tags" to ["256", "768"], from "our choice: one for each read";
        /// Size of the card's memory, with all channels.
        memory: Bytes = Bytes(8 << 30), within Bytes(4096)..=Bytes(1 << 40), from "Intel PAC with Arria 10 GX: two banks of 4 GiB";
        /// Number of channels of the card's memory; each is a bank of addresses.
        memory_channels: u32 = 2, within 1..=64, from "Intel PAC with Arria 10 GX";
        /// Bandwidth of each channel.
        memory_bandwidth: Bandwidth = Bandwidth(17_066_666_667), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), lifts "memory", from "DDR4-2133, 64 bits";
        /// Latency of a read, after its transfer by the channel.
        memory_latency: Span = Span::from_ns(150), from "our choice: an FPGA's DDR4 controller and a clock crossing";
    }
}

impl FpgaCardParameters {
    /// The units in all slots.
    pub fn units(&self) -> Vec<BuiltInAfu> {
        let mut units = vec![self.afu, self.afu_1, self.afu_2, self.afu_3];
        while units.len() > self.slots as usize && units.last() == Some(&BuiltInAfu::None) {
            units.pop();
        }
        units
    }

    /// Number of slots.
    pub fn slot_count(&self) -> u8 {
        self.units().len() as u8
    }
}

//! What an FPGA card can be told.

use kernel::{Bandwidth, Bytes, Frequency, Span};

use super::BuiltInAfu;

kernel::parameters! {
    /// What an FPGA card can be told.
    pub struct FpgaCardParameters {
        /// What its slot is configured with: "nlb_mode_0", "nlb_mode_3", "dma_afu", "streaming_dma_afu" or "none".
        afu: BuiltInAfu = BuiltInAfu::NlbMode0, from "our choice: what the quick start of the Acceleration Stack loads first";
        /// Clock of the accelerator functional unit, which moves 64 bytes each cycle.
        afu_clock: Frequency = Frequency(400_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), from "CCI-P: pClk";
        /// Bytes of a bitstream that partial reconfiguration takes in a second.
        configuration_rate: Bandwidth = Bandwidth(100_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "a 32-bit configuration port at 25 MHz: some tenths of a second for a real bitstream";
        /// Reads of host memory, of 64 to 256 bytes, that may wait for their data.
        outstanding_reads: u32 = 64, within 1..=1024, from "our choice: twice what a Gen3 x8 link needs at 1 us";
        /// Writes of host memory, of 64 to 256 bytes, and interrupts that may wait for the link.
        waiting_writes: u32 = 16, within 1..=1024, from "our choice: as few as keep the link busy";
        /// Non-posted requests that may wait for completions.
        tags: u32 = 64, within 1..=768, from "our choice: one for each read";
        /// How long a non-posted request waits for its completions.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
        /// Size of the card's memory, all channels together.
        memory: Bytes = Bytes(8 << 30), within Bytes(4096)..=Bytes(1 << 40), from "Intel PAC with Arria 10 GX: two banks of 4 GiB";
        /// Channels of that memory, each a bank of addresses.
        memory_channels: u32 = 2, within 1..=64, from "Intel PAC with Arria 10 GX";
        /// Rate of each channel.
        memory_bandwidth: Bandwidth = Bandwidth(17_066_666_667), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000_000), from "DDR4-2133, 64 bits";
        /// Time from when a channel has moved what is read to the unit.
        memory_latency: Span = Span::from_ns(150), from "our choice: an FPGA's DDR4 controller and a clock crossing";
    }
}

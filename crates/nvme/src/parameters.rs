//! The parameters of a drive.

use kernel::{Bandwidth, Bytes, Span};

kernel::parameters! {
    /// The parameters of an NVM Express drive.
    pub struct NvmeParameters {
        /// Size of a block.
        block_size: Bytes = Bytes(512), among [Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)], from "common: LBA formats of 512 B and 4 KiB";
        /// Size of the drive; whole blocks of it are used.
        capacity: Bytes = Bytes::gib(1), within Bytes(4096)..=Bytes(1 << 44), from "our choice: room for a benchmark's files";
        /// Most entries of an I/O queue (MQES plus one). The driver of flows has queues of this length.
        queue_entries: u32 = 64, within 2..=65536, lifts "outstanding commands" to ["64", "256", "1024"], from "our choice; NVM Express 1.4, 3.1.1: 2 to 65536";
        /// Most I/O submission queues, and most I/O completion queues. The driver of flows uses one of each, with the interrupt of the admin
        /// queues; with more, each has an interrupt of its own.
        io_queues: u32 = 1, within 1..=64, from "our choice: as many as the driver of flows uses";
        /// Most I/O commands in progress; fewer if their data could be more than 128 MiB.
        commands: u32 = 32, within 1..=4096, lifts "outstanding commands" to ["64", "256", "1024"], ranges ["32", "256"], from "our choice; data sheets state rates of random accesses for 32 to 512 outstanding commands";
        /// Largest transfer of a command (MDTS).
        max_transfer: Bytes = Bytes::kib(128), among [Bytes(8 << 10), Bytes(16 << 10), Bytes(32 << 10), Bytes(64 << 10), Bytes(128 << 10), Bytes(256 << 10), Bytes(512 << 10), Bytes(1 << 20)], from "our choice: common for drives";
        /// Time from CC.EN to CSTS.RDY.
        ready_time: Span = Span::ZERO, within Span::ZERO..=Span::from_us(10_000_000), from "our choice: none; NVM Express 1.4, 3.1.1: as long as CAP.TO says";
        /// Time of a shutdown after the write cache is empty.
        shutdown_time: Span = Span::from_us(100), within Span::ZERO..=Span::from_us(10_000_000), from "our choice";
        /// Composite temperature, in kelvin.
        temperature: u32 = 313, within 1..=1000, from "our choice: 40 degrees Celsius";
        /// Number of channels of the media, which work in parallel.
        channels: u32 = 8, within 1..=64, ranges ["8", "16"], from "our choice: common for drives of four lanes; controllers of servers' drives have up to 16, such as Microchip Flashtec NVMe 3016";
        /// Number of dies of each channel. They work in parallel and share the bandwidth of the channel.
        dies: u32 = 4, within 1..=64, lifts "memory", ranges ["4", "16"], from "our choice; drives of 512 GB to 2 TB of 512 Gbit dies, of which four planes read apart";
        /// Number of consecutive bytes in one die. A die keeps the stripe that it has read last; another read of this stripe takes no time of
        /// the die.
        stripe: Bytes = Bytes::kib(16), within Bytes(512)..=Bytes(16 << 20), ranges ["16 KiB", "32 KiB"], from "our choice: a page of TLC flash; two if planes read together";
        /// Time from the begin of a read in a die to its data.
        media_read_latency: Span = Span::from_us(60), within Span::ZERO..=Span::from_us(10_000_000), lifts "memory", ranges ["40 us", "90 us"], from "our choice: the order of magnitude of TLC flash, whose reads take 40 to 60 us, and the controller up to half as much";
        /// Time from the last data of a write command to its end: the data is in the write cache.
        media_write_latency: Span = Span::from_us(10), within Span::ZERO..=Span::from_us(10_000_000), lifts "memory", from "our choice: DRAM and its firmware";
        /// Time of a program operation, which writes a stripe, or a part of it, to a die.
        program_latency: Span = Span::from_us(600), within Span::ZERO..=Span::from_us(10_000_000), lifts "memory", from "our choice: the order of magnitude of TLC flash";
        /// Bandwidth of the media, of all channels together. Reads and writes of a channel share its bandwidth.
        media_bandwidth: Bandwidth = Bandwidth(9_600_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), lifts "memory", ranges ["6.4 GB/s", "19.2 GB/s"], from "our choice: ONFI 4.1 has 1200 MT/s of 8 bits, for each of 8 channels; ONFI 4.0 has 800 MT/s, ONFI 5.0 2400 MT/s";
        /// Size of the volatile write cache; "0 B" for none. Reads of data in the cache take no time of the media.
        write_cache: Bytes = Bytes::mib(64), within Bytes(0)..=Bytes(1 << 40), from "our choice";
        /// Most outstanding non-posted requests.
        tags: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Traffic class of reads of submission entries and lists of pages, and of writes of completion entries.
        descriptor_traffic_class: u32 = 0, within 0..=7, from "our choice: the class that every path carries; NVM Express has no register for it";
    }
}

impl NvmeParameters {
    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.capacity.0 / self.block_size.0
    }

    /// Size of all blocks in bytes.
    pub fn used(&self) -> u64 {
        self.blocks() * self.block_size.0
    }

    /// Block size as a power of two (LBADS).
    pub fn block_exponent(&self) -> u32 {
        self.block_size.0.ilog2()
    }

    /// Largest transfer as a power of two of 4 KiB (MDTS).
    pub fn transfer_exponent(&self) -> u32 {
        (self.max_transfer.0 / 4096).ilog2()
    }

    /// Number of I/O commands that can be in progress.
    pub fn slots(&self) -> usize {
        let buffered = MOST_DATA / self.max_transfer.0;
        u64::from(self.commands).min(buffered) as usize
    }

    /// Whether there is a volatile write cache.
    pub fn has_cache(&self) -> bool {
        self.write_cache.0 > 0
    }
}

/// The largest number of I/O queues that a parameter can set. Each queue may have its own vector, besides the vector of the admin queues.
pub const MOST_QUEUES: u16 = 64;

/// The largest number of data bytes of all commands in progress. Our choice: half of the bytes that a device accepts in requests of its model.
const MOST_DATA: u64 = 128 << 20;

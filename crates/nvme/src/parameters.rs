//! The parameters of a drive.

use peerlane_device::{Parameter, Setting, Settings};

use crate::media::MediaParameters;

/// The values of the parameters of one drive. Times are in femtoseconds.
#[derive(Clone, Debug)]
pub struct NvmeParameters {
    /// Block size, as a power of two.
    pub lbads: u64,
    /// Size of the drive in bytes.
    pub size: u64,
    /// Largest transfer of a command, as a power of two of 4 KiB.
    pub mdts: u64,
    /// Most entries of a queue.
    pub queue_entries: u64,
    /// Most I/O submission queues, and most I/O completion queues.
    pub io_queues: u16,
    /// Most I/O commands in progress.
    pub commands: u64,
    /// Time from enable to ready.
    pub ready_time: u64,
    /// Time of a shutdown.
    pub shutdown_time: u64,
    /// Composite temperature in kelvin.
    pub temperature: u16,
    /// The parameters of the media.
    pub media: MediaParameters,
}

impl NvmeParameters {
    /// The declarations of all parameters.
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    pub fn declarations() -> Vec<Parameter> {
        let parameter = |key, default, range: Option<(Setting, Setting)>, help, source| Parameter {
            within: range,
            ..Parameter::new(key, default, help).from(source)
        };
        let integer = |key, default, (least, most), help, source| {
            let range = (Setting::Integer(least), Setting::Integer(most));
            parameter(key, Setting::Integer(default), Some(range), help, source)
        };
        let bytes = |key, default, (least, most), help, source| {
            let range = (Setting::Bytes(least), Setting::Bytes(most));
            parameter(key, Setting::Bytes(default), Some(range), help, source)
        };
        let time = |key, default, help, source| {
            let range = (Setting::Time(0), Setting::Time(10_000_000 * US));
            parameter(key, Setting::Time(default * US), Some(range), help, source)
        };
        let bandwidth = parameter(
            "channel_bandwidth",
            Setting::Bandwidth(1_200_000_000),
            Some((Setting::Bandwidth(1_000_000), Setting::Bandwidth(1 << 40))),
            "Media rate: the bandwidth of a channel, which its reads and writes share.",
            "our choice: ONFI 4.1 has 1200 MT/s of 8 bits",
        );
        vec![
            bytes(
                "capacity",
                1 << 30,
                (1 << 20, 1 << 44),
                "Size of the drive; whole blocks of it are used.",
                "our choice: room for a benchmark's files",
            ),
            integer(
                "lbads",
                9,
                (9, 12),
                "Block size as a power of two (LBADS): 9 for 512 B, 12 for 4 KiB.",
                "common: LBA formats of 512 B and 4 KiB",
            ),
            integer(
                "mdts",
                5,
                (1, 8),
                "Largest transfer of a command as a power of two of 4 KiB (MDTS): 5 for 128 KiB.",
                "our choice: common for drives",
            ),
            integer(
                "queue_entries",
                1024,
                (2, 65536),
                "Most entries of an I/O queue (MQES plus one).",
                "our choice: common for drives",
            ),
            integer(
                "io_queues",
                16,
                (1, MOST_QUEUES.into()),
                "Most I/O submission queues, and most I/O completion queues.",
                "our choice: one for each of 16 cores",
            ),
            integer(
                "commands",
                128,
                (1, 128),
                "Most I/O commands in progress.",
                "our choice",
            ),
            time(
                "ready_time",
                100,
                "Time from CC.EN to CSTS.RDY.",
                "our choice: short, as a driver polls meanwhile",
            ),
            time(
                "shutdown_time",
                100,
                "Time of a shutdown after the write cache is empty.",
                "our choice",
            ),
            integer(
                "temperature",
                313,
                (1, 1000),
                "Composite temperature, in kelvin.",
                "our choice: 40 degrees Celsius",
            ),
            integer(
                "channels",
                8,
                (1, 64),
                "Channels of the media, which work side by side.",
                "our choice: common for drives of four lanes",
            ),
            integer(
                "dies",
                4,
                (1, 64),
                "Dies of each channel, which work side by side and share its bandwidth.",
                "our choice",
            ),
            bytes(
                "stripe",
                16 << 10,
                (512, 16 << 20),
                "Neighbouring bytes in one die.",
                "our choice: a page of TLC flash",
            ),
            time(
                "media_read_latency",
                60,
                "Time from a read of a die to its data.",
                "our choice: the order of magnitude of TLC flash",
            ),
            time(
                "media_write_latency",
                600,
                "Time of a program operation of a die.",
                "our choice: the order of magnitude of TLC flash",
            ),
            bandwidth,
            bytes(
                "write_cache",
                64 << 20,
                (0, 1 << 40),
                "Size of the volatile write cache; 0 B for none.",
                "our choice",
            ),
            time(
                "write_cache_latency",
                10,
                "Time from the last data of a write command to its being in the write cache.",
                "our choice: DRAM and its firmware",
            ),
        ]
    }

    /// Reads the values of a device.
    pub fn read(settings: &Settings) -> Self {
        let of = |key| settings.integer(key);
        NvmeParameters {
            lbads: of("lbads"),
            size: of("capacity"),
            mdts: of("mdts"),
            queue_entries: of("queue_entries"),
            io_queues: of("io_queues") as u16,
            commands: of("commands"),
            ready_time: of("ready_time"),
            shutdown_time: of("shutdown_time"),
            temperature: of("temperature") as u16,
            media: MediaParameters {
                channels: of("channels"),
                dies: of("dies"),
                stripe: of("stripe"),
                bandwidth: of("channel_bandwidth"),
                read_latency: of("media_read_latency"),
                write_latency: of("media_write_latency"),
                cache: of("write_cache"),
                cache_latency: of("write_cache_latency"),
            },
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.size >> self.lbads
    }

    /// Size of all blocks in bytes.
    pub fn capacity(&self) -> u64 {
        self.blocks() << self.lbads
    }

    /// Largest transfer of a command in bytes.
    pub fn max_transfer(&self) -> u64 {
        4096 << self.mdts
    }

    /// Whether there is a volatile write cache.
    pub fn has_cache(&self) -> bool {
        self.media.cache > 0
    }
}

/// The most I/O queues that a parameter can ask for: each has a vector beside that of the admin queue.
pub const MOST_QUEUES: u16 = 64;

/// A microsecond in femtoseconds.
const US: u64 = 1_000_000_000;

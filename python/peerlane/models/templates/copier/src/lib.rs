//! A device that copies host memory: doorbell, DMA read, DMA write, MSI-X.
//!
//! Software writes source, target and length, and then the doorbell. The device waits for `latency`, reads the block, writes it, counts it,
//! and signals interrupt 0.

use peerlane_device::{
    Access, Answer, Bar, Declare, Description, Failure, Model, Parameter, Setting, Settings, Shell,
};

/// Address of the block to copy.
pub const SOURCE: u64 = 0x00;
/// Address to which the block is copied.
pub const TARGET: u64 = 0x08;
/// Number of bytes of the block.
pub const LENGTH: u64 = 0x10;
/// A write of any value starts the copy.
pub const DOORBELL: u64 = 0x14;
/// Number of blocks that were copied; all ones after a copy that failed.
pub const COUNT: u64 = 0x18;

const MICROSECOND: u64 = 1_000_000_000;
const VECTOR: u16 = 0;
const TAG: u64 = 0;

/// A device that copies host memory.
pub struct Copier {
    latency_fs: u64,
    registers: [u8; 32],
}

impl Copier {
    fn number(&self, offset: u64, bytes: usize) -> u64 {
        let offset = offset as usize;
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&self.registers[offset..offset + bytes]);
        u64::from_le_bytes(number)
    }

    fn set_count(&mut self, count: u32) {
        self.registers[COUNT as usize..][..4].copy_from_slice(&count.to_le_bytes());
    }
}

impl Model for Copier {
    fn reset(&mut self, _function: u8, _shell: &mut Shell<'_>) {
        self.registers = [0; 32];
    }

    fn read(&mut self, access: Access, into: &mut [u8], _shell: &mut Shell<'_>) -> Answer {
        access.fill(into, 0, &self.registers);
        Answer::Now
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        access.update(bytes, 0, &mut self.registers);
        if access.touches(DOORBELL, 4) {
            shell
                .wake_after(TAG, self.latency_fs)
                .expect("a time that there is");
        }
    }

    fn expired(&mut self, _timer: u64, shell: &mut Shell<'_>) {
        let (source, length) = (self.number(SOURCE, 8), self.number(LENGTH, 4));
        if shell.read(TAG, source, length).is_err() {
            self.set_count(u32::MAX);
        }
    }

    fn completed(&mut self, _tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let copied = outcome.is_ok_and(|data| shell.write(self.number(TARGET, 8), data).is_ok());
        let count = self.number(COUNT, 4) as u32;
        self.set_count(if copied { count + 1 } else { u32::MAX });
        shell.interrupt(VECTOR).expect("the device has vector 0");
    }
}

impl Declare for Copier {
    fn description() -> Description {
        Description {
            help: "Copies host memory when its doorbell rings.".to_owned(),
            bars: vec![Bar::new(0, 4096)],
            vectors: 1,
            parameters: vec![Parameter::new(
                "latency",
                Setting::Time(MICROSECOND),
                "Time from the doorbell to the first read.",
            )],
            ..Description::default()
        }
    }

    fn new(settings: &Settings) -> Self {
        Copier {
            latency_fs: settings.integer("latency"),
            registers: [0; 32],
        }
    }
}

peerlane_device::export_model!(Copier);

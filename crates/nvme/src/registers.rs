//! The registers of the controller in BAR 0 (NVM Express 1.4, section 3.1). All are little-endian.

use peerlane_device::Access;

use crate::parameters::NvmeParameters;

/// Version: 1.4.
pub const VERSION: u32 = 0x0001_0400;
/// Size of BAR 0 in bytes.
pub const REGISTERS: u64 = 16 << 10;
/// Offset of the doorbells, of 4 bytes each: the tail of submission queue 0, the head of completion queue 0, and so on.
pub const DOORBELLS: u64 = 0x1000;

/// The registers that software writes, and the status register.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    /// Interrupt mask, with one bit for each of the vectors 0 to 31.
    pub mask: u32,
    /// Controller Configuration.
    pub configuration: u32,
    /// Controller Status.
    pub status: u32,
    attributes: u32,
    submissions: u64,
    completions: u64,
}

/// The effect of a write to a register on the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Software has written Controller Configuration; the value is the previous one.
    Configured(u32),
    /// Software has cleared mask bits of interrupts.
    Unmasked,
}

impl Registers {
    /// Fills `into` with the bytes that a read of registers returns.
    pub fn read(&self, access: Access, into: &mut [u8], parameters: &NvmeParameters) {
        let all: [(u64, &[u8]); 9] = [
            (CAP, &capabilities(parameters).to_le_bytes()),
            (VS, &VERSION.to_le_bytes()),
            (INTMS, &self.mask.to_le_bytes()),
            (INTMC, &self.mask.to_le_bytes()),
            (CC, &self.configuration.to_le_bytes()),
            (CSTS, &self.status.to_le_bytes()),
            (AQA, &self.attributes.to_le_bytes()),
            (ASQ, &self.submissions.to_le_bytes()),
            (ACQ, &self.completions.to_le_bytes()),
        ];
        for (offset, register) in all {
            access.fill(into, offset, register);
        }
    }

    /// Handles a write to registers. Read-only and reserved registers do not change. Returns the effects of the write.
    pub fn write(&mut self, access: Access, bytes: &[u8]) -> Vec<Effect> {
        let mut effects = Vec::new();
        let written = |offset| {
            let mut register = [0; 4];
            access.update(bytes, offset, &mut register);
            u32::from_le_bytes(register)
        };
        self.mask |= written(INTMS);
        if access.touches(INTMC, 4) {
            self.mask &= !written(INTMC);
            effects.push(Effect::Unmasked);
        }
        if let Some(all) = updated(access, bytes, AQA, self.attributes.to_le_bytes()) {
            self.attributes = u32::from_le_bytes(all) & 0x0fff_0fff;
        }
        if let Some(all) = updated(access, bytes, ASQ, self.submissions.to_le_bytes()) {
            self.submissions = u64::from_le_bytes(all) & !0xfff;
        }
        if let Some(all) = updated(access, bytes, ACQ, self.completions.to_le_bytes()) {
            self.completions = u64::from_le_bytes(all) & !0xfff;
        }
        let before = self.configuration;
        if let Some(all) = updated(access, bytes, CC, before.to_le_bytes()) {
            self.configuration = u32::from_le_bytes(all) & CONFIGURATION_BITS;
            effects.push(Effect::Configured(before));
        }
        effects
    }

    /// Address and number of entries of the admin submission queue and of the admin completion queue.
    pub fn admin_queues(&self) -> [(u64, u32); 2] {
        let entries = |shift: u32| (self.attributes >> shift & 0xfff) + 1;
        [
            (self.submissions, entries(0)),
            (self.completions, entries(16)),
        ]
    }

    /// Resets the registers as a reset of the controller does. Only the configuration and the registers of the admin queues keep their values.
    pub fn reset_controller(&mut self) {
        self.mask = 0;
        self.status = 0;
    }

    /// The size of a page of the host in bytes.
    pub fn page(&self) -> u64 {
        SMALLEST_PAGE << (self.configuration >> 7 & 0xf)
    }

    /// Whether the controller can be enabled with its configuration: NVM command set, supported page size, round-robin arbitration, and admin
    /// queues with valid addresses and at least two entries.
    pub fn is_possible(&self) -> bool {
        let (set, page) = (self.configuration >> 4 & 7, self.configuration >> 7 & 0xf);
        let arbitration = self.configuration >> 11 & 7;
        let queues = self.admin_queues();
        set == 0
            && page <= LARGEST_PAGE_EXPONENT
            && arbitration == 0
            && queues
                .iter()
                .all(|(base, entries)| *entries >= 2 && base.is_multiple_of(self.page()))
    }

    /// Whether software has set the only supported entry sizes of I/O queues, 64 and 16 bytes.
    pub fn has_entry_sizes(&self) -> bool {
        self.configuration >> 16 & 0xff == 0x46
    }

    /// Whether software has requested a shutdown.
    pub fn asks_for_shutdown(&self) -> bool {
        matches!(self.configuration >> 14 & 3, 1 | 2)
    }
}

/// The offset of the doorbell for the tail of a submission queue.
pub const fn tail_of(queue: u16) -> u64 {
    DOORBELLS + 8 * queue as u64
}

/// The offset of the doorbell for the head of a completion queue.
pub const fn head_of(queue: u16) -> u64 {
    tail_of(queue) + 4
}

/// The bit Enable of Controller Configuration.
pub const ENABLE: u32 = 1;
/// The Controller Configuration of an enabled controller: pages of 4 KiB, submission entries of 2^6 bytes and completion entries of 2^4 bytes.
pub const ENABLED: u32 = ENABLE | 6 << 16 | 4 << 20;
/// The bit Ready of Controller Status.
pub const READY: u32 = 1;
/// The bit Controller Fatal Status of Controller Status.
pub const FATAL: u32 = 1 << 1;
/// The value of Shutdown Status for a shutdown in progress.
pub const SHUTTING_DOWN: u32 = 1 << 2;
/// The value of Shutdown Status for a complete shutdown.
pub const SHUT_DOWN: u32 = 2 << 2;
/// All bits of Shutdown Status.
pub const SHUTDOWN_STATUS: u32 = 3 << 2;

/// The bits of Controller Configuration that are not reserved.
const CONFIGURATION_BITS: u32 = 0x00ff_fff1;
/// The smallest page size, 4 KiB (`CAP.MPSMIN`).
const SMALLEST_PAGE: u64 = 4096;
/// The largest page size, 64 KiB, as a power of two of 4 KiB (`CAP.MPSMAX`).
const LARGEST_PAGE_EXPONENT: u32 = 4;

const CAP: u64 = 0x00;
const VS: u64 = 0x08;
const INTMS: u64 = 0x0c;
const INTMC: u64 = 0x10;
/// Controller Configuration, 32 bits.
pub const CC: u64 = 0x14;
/// Controller Status, 32 bits.
pub const CSTS: u64 = 0x1c;
/// Sizes of the admin queues, 32 bits: entries less one of the submission queue (bits 11 to 0) and of the completion queue (27 to 16).
pub const AQA: u64 = 0x24;
/// Address of the admin submission queue, 64 bits.
pub const ASQ: u64 = 0x28;
/// Address of the admin completion queue, 64 bits.
pub const ACQ: u64 = 0x30;

/// The value of `CAP`: entries of a queue (MQES), contiguous queues (CQR), time to become ready (TO), NVM command set (CSS), largest page size
/// (MPSMAX).
fn capabilities(parameters: &NvmeParameters) -> u64 {
    let timeout = parameters
        .ready_time
        .as_fs()
        .div_ceil(HALF_SECOND)
        .clamp(1, 255);
    u64::from(parameters.queue_entries - 1)
        | 1 << 16
        | timeout << 24
        | 1 << 37
        | u64::from(LARGEST_PAGE_EXPONENT) << 52
}

/// The unit of `CAP.TO`, in femtoseconds.
const HALF_SECOND: u64 = 500_000_000_000_000;

/// The value of `register` at `offset` after a write; none if the write does not include a byte of it.
fn updated<const LEN: usize>(
    access: Access,
    bytes: &[u8],
    offset: u64,
    mut register: [u8; LEN],
) -> Option<[u8; LEN]> {
    access.touches(offset, LEN as u64).then(|| {
        access.update(bytes, offset, &mut register);
        register
    })
}

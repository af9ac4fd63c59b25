//! The registers of the controller in BAR 0, at their offsets in NVM Express 1.4, section 3.1. All are little-endian.
//!
//! Present are those below. `AQA`, `ASQ` and `ACQ` describe the only pair of queues, which takes I/O commands: there are no admin
//! commands, so that a driver knows the properties of the drive from elsewhere. There are no interrupt masks (`INTMS`, `INTMC`),
//! which MSI-X does without as well, and no memory buffer of the controller.

/// Capabilities, 64 bits.
pub const CAP: u64 = 0x00;
/// Version, 32 bits.
pub const VS: u64 = 0x08;
/// Controller Configuration, 32 bits.
pub const CC: u64 = 0x14;
/// Controller Status, 32 bits.
pub const CSTS: u64 = 0x1c;
/// Sizes of the queues, 32 bits: entries less one of the submission queue (bits 11 to 0) and of the completion queue (27 to 16).
pub const AQA: u64 = 0x24;
/// Address of the submission queue, 64 bits.
pub const ASQ: u64 = 0x28;
/// Address of the completion queue, 64 bits.
pub const ACQ: u64 = 0x30;
/// Doorbell with the tail of the submission queue, 32 bits.
pub const TAIL: u64 = 0x1000;
/// Doorbell with the head of the completion queue, 32 bits.
pub const HEAD: u64 = 0x1004;

/// Enable, in `CC`.
pub const ENABLE: u32 = 1;
/// Ready, in `CSTS`.
pub const READY: u32 = 1;
/// Controller Fatal Status, in `CSTS`.
pub const FATAL: u32 = 1 << 1;

/// `CC` of an enabled controller: pages of 4 KiB, submission entries of 2^6 bytes and completion entries of 2^4 bytes.
pub const ENABLED: u32 = ENABLE | 6 << 16 | 4 << 20;

/// Size of BAR 0 in bytes.
pub const SIZE: u64 = 16 << 10;

/// NVM Express 1.4.
pub(super) const VERSION: u32 = 0x0001_0400;

/// The value of `CAP` where queues have at most `entries` entries: contiguous queues (CQR), half a second to become ready (TO), the
/// NVM command set (CSS), and pages of 4 KiB.
pub(super) const fn capabilities(entries: u32) -> u64 {
    (entries as u64 - 1) | 1 << 16 | 1 << 24 | 1 << 37
}

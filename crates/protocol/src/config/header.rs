//! The common part of type 0 and type 1 headers (PCIe Base 7.5.1.1): identity, command and status, the capability list.

use super::ConfigSpace;

/// Device ID and vendor ID.
pub const ID: u16 = 0;
/// Status and Command.
pub const COMMAND: u16 = 1;
/// Class Code and Revision ID.
pub const CLASS: u16 = 2;
/// Header Type, in the third byte.
pub const HEADER_TYPE: u16 = 3;
/// The first base address register.
pub const BARS: u16 = 4;
/// Byte offset of the first extended capability.
const FIRST_EXTENDED: u16 = 0x100;
/// Capabilities Pointer, in the lowest byte.
pub const CAPABILITIES: u16 = 13;
/// Subsystem ID and Subsystem Vendor ID of a type 0 header.
const SUBSYSTEM: u16 = 11;
/// Interrupt Line, which software may use freely, and Interrupt Pin, which is 0: the function uses no interrupt pin.
pub const INTERRUPT: u16 = 15;

/// Memory Space Enable (PCIe Base 7.5.1.1.3).
pub const MEMORY_SPACE: u32 = 1 << 1;
/// Bus Master Enable.
pub const BUS_MASTER: u32 = 1 << 2;

/// Capabilities List, in Status above Command: the function has a capability list.
pub const CAPABILITY_LIST: u32 = 1 << 20;
/// Multi-Function Device, in the register of the header type.
pub const MULTIFUNCTION: u32 = 1 << 23;
/// Header Layout, in the register of the header type.
pub const HEADER_LAYOUT: u32 = 0x7f << 16;
/// The Header Layout of a bridge.
pub const TYPE_1: u32 = 1 << 16;

/// The register with Secondary Status in the upper half; the I/O window in the lower half is not implemented.
pub const SECONDARY_STATUS: u16 = 7;

const PARITY_RESPONSE: u32 = 1 << 6;
/// SERR# Enable: the function reports non-fatal and fatal errors by messages.
pub const SERR: u32 = 1 << 8;
const INTERRUPT_DISABLE: u32 = 1 << 10;
/// Status bits that software clears: aborts, parity errors, system error.
pub(super) const STATUS_CLEARED: u32 = 0xf900_0000;
const MASTER_DATA_PARITY_ERROR: u32 = 1 << 24;
const SIGNALED_TARGET_ABORT: u32 = 1 << 27;
const RECEIVED_TARGET_ABORT: u32 = 1 << 28;
const RECEIVED_MASTER_ABORT: u32 = 1 << 29;
const DETECTED_PARITY_ERROR: u32 = 1 << 31;
/// Signaled System Error of Status, and Received System Error of Secondary Status.
pub(super) const SIGNALED_SYSTEM_ERROR: u32 = 1 << 30;

/// Vendor, device and class of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Vendor ID.
    pub vendor: u16,
    /// Device ID.
    pub device: u16,
    /// Revision ID.
    pub revision: u8,
    /// Class code: base class, subclass, programming interface.
    pub class: u32,
}

impl ConfigSpace {
    /// Declares the common registers.
    pub(super) fn declare_header(&mut self, identity: &Identity) {
        let Identity {
            vendor,
            device,
            revision,
            class,
        } = *identity;
        self.declare(ID, u32::from(device) << 16 | u32::from(vendor), 0, 0);
        let command = MEMORY_SPACE | BUS_MASTER | PARITY_RESPONSE | SERR | INTERRUPT_DISABLE;
        self.declare(COMMAND, 0, command, STATUS_CLEARED);
        self.declare(CLASS, class << 8 | u32::from(revision), 0, 0);
        // Cache Line Size is writable without effect (PCIe Base 7.5.1.1.7).
        self.declare(HEADER_TYPE, 0, 0xff, 0);
        self.declare(INTERRUPT, 0, 0xff, 0);
    }

    /// Declares the header of a virtual function. The SR-IOV capability of the physical function contains the IDs, the addresses and the
    /// memory space enable of the virtual function (PCIe Base 9.3.4.1).
    pub(super) fn declare_virtual_header(&mut self, identity: &Identity) {
        self.declare(ID, u32::MAX, 0, 0);
        self.declare(COMMAND, 0, BUS_MASTER, STATUS_CLEARED);
        let Identity {
            revision, class, ..
        } = *identity;
        self.declare(CLASS, class << 8 | u32::from(revision), 0, 0);
    }

    /// Declares the subsystem IDs of a type 0 header, which are equal to the vendor ID and the device ID.
    pub(super) fn declare_subsystem(&mut self, identity: &Identity) {
        let id = u32::from(identity.device) << 16 | u32::from(identity.vendor);
        self.declare(SUBSYSTEM, id, 0, 0);
    }

    pub(super) fn declare_type_1(&mut self) {
        self.declare(HEADER_TYPE, TYPE_1, 0, 0);
    }

    /// Appends capability `id` at byte `at` to the list.
    pub(super) fn append_capability(&mut self, at: u16, id: u8) {
        let (mut last, mut next) = (None, self.read(CAPABILITIES) as u16 & 0xff);
        while next != 0 {
            last = Some(next);
            next = (self.read(next / 4) >> 8) as u16 & 0xff;
        }
        self.declare(at / 4, u32::from(id), 0, 0);
        if let Some(last) = last {
            return self.declare(last / 4, u32::from(at) << 8, 0, 0);
        }
        self.declare(CAPABILITIES, u32::from(at), 0, 0);
        self.declare(COMMAND, CAPABILITY_LIST, 0, 0);
    }

    /// Appends extended capability `id` at byte `at` to the list of extended capabilities, which begins at byte 256.
    pub(super) fn append_extended(&mut self, at: u16, id: u16, version: u8) {
        let mut last = FIRST_EXTENDED;
        while let next @ 1.. = (self.read(last / 4) >> 20) as u16 {
            last = next;
        }
        self.declare(at / 4, u32::from(version) << 16 | u32::from(id), 0, 0);
        if at != FIRST_EXTENDED {
            self.declare(last / 4, u32::from(at) << 20, 0, 0);
        }
    }

    /// Marks the device as a multi-function device.
    pub fn set_multifunction(&mut self) {
        self.declare(HEADER_TYPE, MULTIFUNCTION, 0, 0);
    }

    /// Records that a request of the function itself was completed with Unsupported Request (PCIe Base 7.5.1.1.4). A bridge records this in
    /// Secondary Status, because it sends its requests downstream.
    pub fn record_master_abort(&mut self) {
        self.raise(self.requester_status(), RECEIVED_MASTER_ABORT);
    }

    /// Records that a request of the function itself was completed with Completer Abort, in the same register as
    /// [`Self::record_master_abort`].
    pub fn record_target_abort(&mut self) {
        self.raise(self.requester_status(), RECEIVED_TARGET_ABORT);
    }

    /// Records that the function has completed a request with Completer Abort (PCIe Base 7.5.1.1.4, 7.5.1.3.7). A bridge records this in
    /// Secondary Status, because it received the request from below.
    pub(super) fn record_signaled_target_abort(&mut self) {
        self.raise(self.requester_status(), SIGNALED_TARGET_ABORT);
    }

    /// Records that a poisoned packet has arrived: at the primary side, or at the secondary side of a bridge (PCIe Base 7.5.1.1.4,
    /// 7.5.1.3.7).
    pub fn record_poison(&mut self, is_secondary: bool) {
        let status = if is_secondary {
            SECONDARY_STATUS
        } else {
            COMMAND
        };
        self.raise(status, DETECTED_PARITY_ERROR);
    }

    /// Records that the function has received poisoned data that it requested, or sends poisoned data. Nothing is recorded if Parity Error
    /// Response is clear.
    pub fn record_data_parity_error(&mut self) {
        if self.read(COMMAND) & PARITY_RESPONSE != 0 {
            self.raise(COMMAND, MASTER_DATA_PARITY_ERROR);
        }
    }

    /// The register that records the results of the function's own requests.
    fn requester_status(&self) -> u16 {
        if self.is_bridge() {
            SECONDARY_STATUS
        } else {
            COMMAND
        }
    }

    /// Whether the function has the header of a bridge.
    pub fn is_bridge(&self) -> bool {
        self.read(HEADER_TYPE) & HEADER_LAYOUT == TYPE_1
    }

    bits! {
        /// Whether the function answers memory requests; for a bridge, whether it forwards them downstream.
        pub memory_enable: COMMAND, MEMORY_SPACE;
        /// Whether the function may send memory requests; for a bridge, whether it forwards them upstream.
        pub bus_master_enable: COMMAND, BUS_MASTER;
    }
}

//! A port: registers in BAR 2, before the registers of the unit in its slot. Software uses them to reset the slot and to read errors.

use super::AfuId;
use super::afu::MMIO_SIZE;
use super::errors::{PortErrors, alert_capability};
use super::features::{FeatureKind, header};
use super::interrupts::{INTERRUPTS, first_vector, port_alert};
use super::words::{merged, part_of};

#[derive(Clone, Debug)]
pub(super) struct PortRegisters {
    number: u8,
    scratchpad: u64,
    control: u64,
    pub(super) errors: PortErrors,
}

/// The change of the slot's reset that a store to the port causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetChange {
    Begins,
    Ends,
}

/// Offset of the AFU's registers from the registers of its port.
pub const AFU: u64 = 0x4_0000;
/// Distance of the registers of two ports in BAR 2.
pub const DISTANCE: u64 = 0x8_0000;

/// The UUID of a port, 3AB49893-138D-42EB-9642-B06C6B355B87.
const ID: AfuId = AfuId(0x3ab4_9893_138d_42eb_9642_b06c_6b35_5b87);

const NEXT_AFU: u64 = 0x18;
const SCRATCHPAD: u64 = 0x28;
const CAPABILITY: u64 = 0x30;
/// The register that puts the port into reset.
pub const CONTROL: u64 = 0x38;
const ERRORS: u64 = 0x1000;
const ERROR_MASK: u64 = ERRORS + 0x08;
/// Violations of the port's rules by an AFU or by software (`PORT_ERROR`). Writing ones clears them.
pub const ERROR: u64 = ERRORS + 0x10;
/// The first violation.
pub const FIRST_ERROR: u64 = ERRORS + 0x18;
/// The last malformed request. The model records none.
pub const MALFORMED_REQUEST: u64 = ERRORS + 0x20;
const ERROR_CAPABILITY: u64 = ERRORS + 0x38;
const USER_INTERRUPTS: u64 = 0x2000;
const USER_INTERRUPT_CAPABILITY: u64 = USER_INTERRUPTS + 0x08;

const SOFT_RESET: u64 = 1;
const LATENCY_TOLERANCE: u64 = 1 << 2;
const SOFT_RESET_ACKNOWLEDGE: u64 = 1 << 4;

impl PortRegisters {
    /// The registers of port `number` after reset.
    pub(super) fn new(number: u8) -> Self {
        PortRegisters {
            number,
            scratchpad: 0,
            control: 0,
            errors: PortErrors::default(),
        }
    }

    pub(super) fn is_in_reset(&self) -> bool {
        self.control & SOFT_RESET != 0
    }

    /// Loads from the registers. `is_quiet` is true if no request of the AFU is outstanding.
    pub(super) fn load(&self, offset: u64, len: u32, is_quiet: bool) -> u64 {
        part_of(self.register(offset & !7, is_quiet), offset, len)
    }

    fn register(&self, offset: u64, is_quiet: bool) -> u64 {
        match offset {
            0 => header(FeatureKind::InterfaceUnit, 1, Some(ERRORS)),
            0x08 => ID.low(),
            0x10 => ID.high(),
            NEXT_AFU => AFU,
            SCRATCHPAD => self.scratchpad,
            // Fields: the number of the port; the size of the AFU's registers in KiB; the number of its interrupts.
            CAPABILITY => {
                u64::from(INTERRUPTS) << 32 | (MMIO_SIZE / 1024) << 8 | u64::from(self.number)
            }
            CONTROL => self.control | self.acknowledge(is_quiet),
            ERRORS => header(FeatureKind::Private, 0x10, Some(USER_INTERRUPTS - ERRORS)),
            ERROR_MASK => self.errors.mask,
            ERROR => self.errors.all,
            FIRST_ERROR => self.errors.first,
            ERROR_CAPABILITY => alert_capability(port_alert(self.number)),
            USER_INTERRUPTS => header(FeatureKind::Private, 0x12, None),
            // Fields: number of interrupts, and vector of the first one.
            USER_INTERRUPT_CAPABILITY => {
                u64::from(first_vector(self.number)) << 12 | u64::from(INTERRUPTS)
            }
            _ => 0,
        }
    }

    /// The acknowledgement of a reset. It is set if the port is in reset and no request of the AFU is outstanding.
    fn acknowledge(&self, is_quiet: bool) -> u64 {
        if self.is_in_reset() && is_quiet {
            SOFT_RESET_ACKNOWLEDGE
        } else {
            0
        }
    }

    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) -> Option<ResetChange> {
        match offset & !7 {
            SCRATCHPAD => self.scratchpad = merged(self.scratchpad, offset, bytes).0,
            ERROR_MASK => self.errors.mask = merged(self.errors.mask, offset, bytes).0,
            ERROR => self.errors.clear(merged(0, offset, bytes).0),
            CONTROL => {
                let was = self.is_in_reset();
                let written = merged(self.control, offset, bytes).0;
                self.control = written & (SOFT_RESET | LATENCY_TOLERANCE);
                return match (was, self.is_in_reset()) {
                    (false, true) => Some(ResetChange::Begins),
                    (true, false) => Some(ResetChange::Ends),
                    _ => None,
                };
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_acknowledged_when_nothing_is_on_its_way() {
        let mut port = PortRegisters::new(0);
        assert_eq!(port.load(CONTROL, 8, true), 0);
        let change = port.store(CONTROL, &1_u64.to_le_bytes());
        assert_eq!(change, Some(ResetChange::Begins));
        assert_eq!(port.load(CONTROL, 8, false), 1);
        assert_eq!(port.load(CONTROL, 8, true), 0x11);
        let change = port.store(CONTROL, &0_u32.to_le_bytes());
        assert_eq!(change, Some(ResetChange::Ends));
    }
}

//! Error messages at bridges and root ports: which messages a bridge forwards (PCIe Base 6.2.6), and the root error registers (PCIe Base
//! 7.8.4.9 to 7.8.4.11).

use super::{AER, Severity};
use crate::FunctionId;
use crate::config::ConfigSpace;
use crate::config::bridge::{BRIDGE_CONTROL, SERR_FORWARDING};
use crate::config::header::{SECONDARY_STATUS, SIGNALED_SYSTEM_ERROR};
use crate::config::space::bits_if;

/// Root Error Command.
pub const ROOT_ERROR_COMMAND: u16 = AER + 11;
/// Root Error Status.
pub const ROOT_ERROR_STATUS: u16 = AER + 12;
/// Error Source Identification: the lower half contains the source of `ERR_COR`, the upper half the source of `ERR_NONFATAL` and
/// `ERR_FATAL`.
pub const ERROR_SOURCE: u16 = AER + 13;

/// The enables of interrupts for the three severities, in Root Error Command.
pub const ROOT_ERROR_INTERRUPTS: u32 = 0x7;
/// `ERR_COR` Received, in Root Error Status.
pub const CORRECTABLE_RECEIVED: u32 = 1;
/// `ERR_FATAL`/NONFATAL Received.
pub const UNCORRECTABLE_RECEIVED: u32 = 1 << 2;
const MULTIPLE: u32 = 1;
const FIRST_FATAL: u32 = 1 << 4;
const NON_FATAL_RECEIVED: u32 = 1 << 5;
/// Fatal Error Messages Received.
pub const FATAL_RECEIVED: u32 = 1 << 6;
const STATUS: u32 = 0x7f;

impl ConfigSpace {
    pub(super) fn declare_root_errors(&mut self) {
        self.declare(ROOT_ERROR_COMMAND, 0, ROOT_ERROR_INTERRUPTS, 0);
        self.declare(ROOT_ERROR_STATUS, 0, 0, STATUS);
        self.declare_sticky(ROOT_ERROR_STATUS);
    }

    /// Records an error message that this bridge has received from below. Returns whether the bridge forwards the message: SERR# Enable in
    /// Bridge Control is set, and the bridge itself may send messages of this severity (PCIe Base 6.2.6).
    pub fn forwards_error(&mut self, severity: Severity) -> bool {
        if severity != Severity::Correctable {
            self.raise(SECONDARY_STATUS, SIGNALED_SYSTEM_ERROR);
        }
        let goes_on = self.read(BRIDGE_CONTROL) & SERR_FORWARDING != 0
            && self.error_control().enables(severity);
        if goes_on {
            self.signal(severity);
        }
        goes_on
    }

    /// Records an error message in the root error registers. `source` is the function that sent the message, or the root port itself if it
    /// has detected an error.
    pub fn record_error_message(&mut self, severity: Severity, source: FunctionId) {
        let status = self.read(ROOT_ERROR_STATUS);
        let (received, shift, also) = match severity {
            Severity::Correctable => (CORRECTABLE_RECEIVED, 0, 0),
            Severity::NonFatal => (UNCORRECTABLE_RECEIVED, 16, NON_FATAL_RECEIVED),
            Severity::Fatal => (UNCORRECTABLE_RECEIVED, 16, FATAL_RECEIVED),
        };
        let is_first = status & received == 0;
        if is_first {
            let first_fatal = bits_if(severity == Severity::Fatal, FIRST_FATAL);
            self.raise(ROOT_ERROR_STATUS, received | also | first_fatal);
            let source = u32::from(source.0) << shift;
            self.update(ERROR_SOURCE, 0xffff << shift, source);
        } else {
            self.raise(ROOT_ERROR_STATUS, received << MULTIPLE | also);
        }
    }

    /// Whether the root port has a reason to interrupt: a status bit and its enable in Root Error Command are both set. The root port sends
    /// an interrupt when this condition becomes true (PCIe Base 6.2.4.1.2).
    pub fn has_error_interrupt(&self) -> bool {
        let status = self.read(ROOT_ERROR_STATUS);
        let received = [CORRECTABLE_RECEIVED, NON_FATAL_RECEIVED, FATAL_RECEIVED];
        let command = self.read(ROOT_ERROR_COMMAND);
        let mut causes = Severity::ALL.into_iter().zip(received);
        causes.any(|(severity, bit)| command & severity.enable() != 0 && status & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PortType;

    fn root_port() -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_errors(PortType::RootPort, false);
        space.declare_bridge();
        space
    }

    #[test]
    fn the_first_message_of_each_kind_names_its_source_until_the_status_is_cleared() {
        let mut space = root_port();
        let [one, other] = [0x0100, 0x0200].map(FunctionId);
        space.record_error_message(Severity::NonFatal, one);
        space.record_error_message(Severity::Fatal, other);
        space.record_error_message(Severity::Correctable, other);
        assert_eq!(space.read(ROOT_ERROR_STATUS), 0b110_1101);
        assert_eq!(space.read(ERROR_SOURCE), 0x0100_0200);
        space.write(ROOT_ERROR_STATUS, u32::MAX, 0xf);
        space.record_error_message(Severity::Fatal, other);
        assert_eq!(space.read(ROOT_ERROR_STATUS), 0b101_0100);
        assert_eq!(space.read(ERROR_SOURCE), 0x0200_0200);
    }

    #[test]
    fn an_interrupt_needs_the_enable_of_the_severity() {
        let mut space = root_port();
        space.record_error_message(Severity::NonFatal, FunctionId(0x0100));
        space.write(ROOT_ERROR_COMMAND, 0b101, 0xf);
        assert!(!space.has_error_interrupt());
        space.write(ROOT_ERROR_COMMAND, 0b010, 0xf);
        assert!(space.has_error_interrupt());
        space.write(ROOT_ERROR_STATUS, u32::MAX, 0xf);
        assert!(!space.has_error_interrupt());
    }

    #[test]
    fn a_bridge_forwards_what_both_of_its_sides_enable() {
        use crate::config::header::COMMAND;
        let mut space = root_port();
        space.declare(COMMAND, 0, 1 << 8, 0);
        let forwards = |space: &mut ConfigSpace| Severity::ALL.map(|one| space.forwards_error(one));
        assert_eq!(forwards(&mut space), [false; 3]);
        space.write(COMMAND, 1 << 8, 0xf);
        assert_eq!(forwards(&mut space), [false; 3]);
        space.write(BRIDGE_CONTROL, SERR_FORWARDING, 0xf);
        assert_eq!(forwards(&mut space), [false, true, true]);
    }
}

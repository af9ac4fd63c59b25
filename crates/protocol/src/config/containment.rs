//! Downstream Port Containment (PCIe Base 6.2.10, 7.9.14): a port that detects an error, or receives an error message from below, takes its
//! link down until software releases it.

use super::{ConfigSpace, Severity};
use crate::FunctionId;

/// The register with DPC Control in the upper half and DPC Capability in the lower half.
pub const CONTAINMENT: u16 = CONTAINMENT_BYTES / 4 + 1;
/// The register with DPC Error Source ID in the upper half and DPC Status in the lower half.
pub const CONTAINMENT_STATUS: u16 = CONTAINMENT + 1;

/// Byte offset of the capability.
const CONTAINMENT_BYTES: u16 = 0x160;
/// ID of the capability.
pub const CONTAINMENT_ID: u16 = 0x001d;

/// DPC Trigger Enable.
pub const TRIGGER_ENABLE: u32 = 0b11 << 16;
/// DPC Trigger Enable for errors that are fatal.
pub const TRIGGER_FATAL: u32 = 0b01 << 16;
/// DPC Trigger Enable for errors that are fatal or non-fatal.
pub const TRIGGER_NON_FATAL: u32 = 0b10 << 16;
/// DPC Completion Control: requests to components below the port are completed with Unsupported Request instead of Completer Abort.
pub const CONTAINMENT_COMPLETION: u32 = 1 << 18;
/// DPC Interrupt Enable.
pub const CONTAINMENT_INTERRUPT: u32 = 1 << 19;
/// DPC `ERR_COR` Enable.
pub const CONTAINMENT_MESSAGE: u32 = 1 << 20;
/// DPC Software Trigger; reads as 0.
pub const SOFTWARE_TRIGGER: u32 = 1 << 22;
/// DPC Trigger Status.
pub const TRIGGER_STATUS: u32 = 1;
/// DPC Interrupt Status.
pub const CONTAINMENT_INTERRUPT_STATUS: u32 = 1 << 3;

const SOFTWARE_TRIGGER_SUPPORTED: u32 = 1 << 7;
/// DPC Trigger Reason and its extension.
const REASON: u32 = 0b11 << 1 | 0b11 << 5;

/// The reason for containment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerReason {
    /// The port has detected an uncorrectable error that is not masked.
    Uncorrectable(Severity),
    /// The port has received a message for an error from this function.
    Message(Severity, FunctionId),
    /// Software has set DPC Software Trigger.
    Software,
}

impl TriggerReason {
    /// DPC Trigger Reason and DPC Trigger Reason Extension in DPC Status.
    const fn field(self) -> u32 {
        match self {
            TriggerReason::Uncorrectable(_) => 0,
            TriggerReason::Message(Severity::Fatal, _) => 2 << 1,
            TriggerReason::Message(..) => 1 << 1,
            TriggerReason::Software => 3 << 1 | 1 << 5,
        }
    }

    /// The reason in words.
    pub const fn name(self) -> &'static str {
        match self {
            TriggerReason::Uncorrectable(_) => {
                "Downstream Port Containment: uncorrectable error of the port"
            }
            TriggerReason::Message(Severity::Fatal, _) => {
                "Downstream Port Containment: ERR_FATAL received"
            }
            TriggerReason::Message(..) => "Downstream Port Containment: ERR_NONFATAL received",
            TriggerReason::Software => "Downstream Port Containment: software trigger",
        }
    }
}

impl ConfigSpace {
    /// Declares the registers of a downstream port.
    pub(super) fn declare_containment(&mut self) {
        self.append_extended(CONTAINMENT_BYTES, CONTAINMENT_ID, 1);
        let control =
            TRIGGER_ENABLE | CONTAINMENT_COMPLETION | CONTAINMENT_INTERRUPT | CONTAINMENT_MESSAGE;
        self.declare(CONTAINMENT, SOFTWARE_TRIGGER_SUPPORTED, control, 0);
        let status = TRIGGER_STATUS | CONTAINMENT_INTERRUPT_STATUS;
        self.declare(CONTAINMENT_STATUS, 0, 0, status);
        for register in [CONTAINMENT, CONTAINMENT_STATUS] {
            self.declare_sticky(register);
        }
    }

    /// Whether the port has taken its link down, and software has not released it.
    pub fn is_contained(&self) -> bool {
        self.has_containment() && self.read(CONTAINMENT_STATUS) & TRIGGER_STATUS != 0
    }

    /// Whether requests to components below a contained port are completed with Unsupported Request instead of Completer Abort.
    pub fn completes_as_unsupported(&self) -> bool {
        self.read(CONTAINMENT) & CONTAINMENT_COMPLETION != 0
    }

    /// Triggers containment for `reason` if software has enabled it for this reason, and writes `source` to DPC Error Source ID. Returns
    /// whether this call has triggered containment; a contained port is not triggered again.
    pub fn trigger_containment(&mut self, reason: TriggerReason, source: FunctionId) -> bool {
        if !self.has_containment() || self.is_contained() || !self.covers(reason) {
            return false;
        }
        self.update(CONTAINMENT_STATUS, REASON, reason.field());
        self.update(CONTAINMENT_STATUS, 0xffff_0000, u32::from(source.0) << 16);
        self.raise(CONTAINMENT_STATUS, TRIGGER_STATUS);
        if self.read(CONTAINMENT) & CONTAINMENT_INTERRUPT != 0 {
            self.raise(CONTAINMENT_STATUS, CONTAINMENT_INTERRUPT_STATUS);
        }
        true
    }

    /// Whether a write of `value` to the bytes `enables` of `register` triggers containment by software.
    pub fn triggers_containment(&self, register: u16, value: u32, enables: u8) -> bool {
        register == CONTAINMENT
            && enables & 0b0100 != 0
            && value & SOFTWARE_TRIGGER != 0
            && self.has_containment()
    }

    /// Whether the port has a pending containment interrupt: DPC Interrupt Status is set.
    pub fn has_containment_interrupt(&self) -> bool {
        self.has_containment() && self.read(CONTAINMENT_STATUS) & CONTAINMENT_INTERRUPT_STATUS != 0
    }

    /// Whether the port reports containment by `ERR_COR`.
    pub fn signals_containment(&self) -> bool {
        self.read(CONTAINMENT) & CONTAINMENT_MESSAGE != 0
            && self.error_control().enables(Severity::Correctable)
    }

    fn covers(&self, reason: TriggerReason) -> bool {
        let enable = self.read(CONTAINMENT) & TRIGGER_ENABLE;
        match reason {
            TriggerReason::Software => enable != 0,
            TriggerReason::Uncorrectable(severity) | TriggerReason::Message(severity, _) => {
                match severity {
                    Severity::Correctable => false,
                    Severity::NonFatal => enable == TRIGGER_NON_FATAL,
                    Severity::Fatal => enable != 0,
                }
            }
        }
    }

    fn has_containment(&self) -> bool {
        self.read(CONTAINMENT_BYTES / 4) & 0xffff == u32::from(CONTAINMENT_ID)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: FunctionId = FunctionId(0x0300);

    fn port(enable: u32) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_containment();
        space.write(CONTAINMENT, enable, 0b1100);
        space
    }

    #[test]
    fn only_errors_of_the_enabled_severities_trigger_containment() {
        let severities = [Severity::Correctable, Severity::NonFatal, Severity::Fatal];
        for (enable, expected) in [
            (0, [false, false, false]),
            (TRIGGER_FATAL, [false, false, true]),
            (TRIGGER_NON_FATAL, [false, true, true]),
        ] {
            let triggers = severities.map(|severity| {
                let reason = TriggerReason::Message(severity, SOURCE);
                port(enable).trigger_containment(reason, SOURCE)
            });
            assert_eq!(triggers, expected, "{enable:x}");
        }
    }

    #[test]
    fn the_status_names_reason_and_source_until_software_releases_the_port() {
        let mut space = port(TRIGGER_FATAL | CONTAINMENT_INTERRUPT);
        let fatal = TriggerReason::Message(Severity::Fatal, SOURCE);
        assert!(space.trigger_containment(fatal, SOURCE));
        assert_eq!(space.read(CONTAINMENT_STATUS), 0x0300_000d);
        assert!(!space.trigger_containment(TriggerReason::Software, SOURCE));
        space.hot_reset();
        assert!(space.is_contained());
        space.write(CONTAINMENT_STATUS, u32::MAX, 0b0001);
        assert!(!space.is_contained() && !space.has_containment_interrupt());
        assert!(space.trigger_containment(TriggerReason::Software, FunctionId(0)));
        assert_eq!(space.read(CONTAINMENT_STATUS), 0x0000_002f);
    }
}

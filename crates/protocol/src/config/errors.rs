//! Advanced Error Reporting (PCIe Base 7.8.4), and the recording and reporting of errors (PCIe Base 6.2).

pub(super) mod root;
#[cfg(test)]
mod tests;

use super::header::{COMMAND, SERR, SIGNALED_SYSTEM_ERROR};
use super::space::bits_if;
use super::{ConfigSpace, PortType, express};
use crate::Pasid;
use crate::enumerated::enumerated;

/// The register of the capability's header.
pub const AER: u16 = AER_BYTES / 4;

/// Byte offset of the capability.
const AER_BYTES: u16 = 0x100;
/// ID of the capability.
pub const AER_ID: u16 = 0x0001;

/// Uncorrectable Error Status.
pub const UNCORRECTABLE_STATUS: u16 = AER + 1;
const UNCORRECTABLE_MASK: u16 = AER + 2;
/// Uncorrectable Error Severity.
pub const UNCORRECTABLE_SEVERITY: u16 = AER + 3;
/// Correctable Error Status.
pub const CORRECTABLE_STATUS: u16 = AER + 4;
const CORRECTABLE_MASK: u16 = AER + 5;
/// Advanced Error Capabilities and Control.
pub const ERROR_CONTROL: u16 = AER + 6;
const CONTROL: u16 = ERROR_CONTROL;
const HEADER_LOG: u16 = AER + 7;
/// TLP Prefix Log, behind the root error registers.
const PREFIX_LOG: u16 = AER + 14;
/// TLP Prefix Log Present, in Advanced Error Capabilities and Control.
const PREFIX_LOG_PRESENT: u32 = 1 << 11;
const FIRST_ERROR_POINTER: u32 = 0x1f;
/// ECRC Generation Capable and ECRC Check Capable, in Advanced Error Capabilities and Control.
const ECRC_CAPABLE: u32 = 1 << 5 | 1 << 7;
const ECRC_GENERATION: u32 = 1 << 6;
const ECRC_CHECK: u32 = 1 << 8;
/// ECRC Generation Enable and ECRC Check Enable.
pub const ECRC_ENABLES: u32 = ECRC_GENERATION | ECRC_CHECK;
/// Data Link Protocol Error, Flow Control Protocol Error and Receiver Overflow: the registers have their bits, but the links of the model
/// do not have these errors.
const OF_LINK_PROTOCOL: u32 = 1 << 4 | 1 << 13 | 1 << 17;
/// The errors of every port that are fatal in the reset value of Uncorrectable Error Severity (PCIe Base 7.8.4.4).
const SEVERITY_RESET: u32 = OF_LINK_PROTOCOL | 1 << UncorrectableError::MalformedTlp as u32;
/// Uncorrectable Internal Error in status, mask and severity of uncorrectable errors: an error inside an endpoint.
pub const INTERNAL_ERROR: u32 = 1 << UncorrectableError::Internal as u32;
/// Surprise Down: also fatal after reset, in a port that reports it.
const SURPRISE_DOWN: u32 = 1 << UncorrectableError::SurpriseDown as u32;
/// TLP Prefix Blocked: only a port of a switch that supports prefixes has this error.
const PREFIX_BLOCKED: u32 = 1 << UncorrectableError::PrefixBlocked as u32;
/// `AtomicOp` Egress Blocked: only a port of a switch that routes atomic operations has this error.
const ATOMIC_BLOCKED: u32 = 1 << UncorrectableError::AtomicEgressBlocked as u32;
/// ACS Violation: only root ports and downstream ports of switches have this error, because they have Access Control Services.
const ACS_VIOLATION: u32 = 1 << UncorrectableError::AcsViolation as u32;
/// Advisory Non-Fatal Error, in the status of correctable errors.
pub const ADVISORY_NON_FATAL: u32 = 1 << 13;
/// Unsupported Request Reporting Enable, in Device Control above the enables of the three severities.
const UNSUPPORTED_REQUEST_REPORTING: u32 = 1 << 3;

const CORRECTABLE_DETECTED: u32 = 1;
const NON_FATAL_DETECTED: u32 = 1 << 1;
const FATAL_DETECTED: u32 = 1 << 2;
const UNSUPPORTED_REQUEST_DETECTED: u32 = 1 << 3;

enumerated! {
    /// The severity of an error that a function has detected (PCIe Base 6.2.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Hardware corrects the error, or it is an advisory non-fatal error.
        Correctable => "correctable",
        /// The transaction is unreliable, but the link is reliable.
        NonFatal => "non-fatal",
        /// The link is unreliable.
        Fatal => "fatal",
    }
}

impl Severity {
    /// The bit of the severity in the message enables of Device Control (PCIe Base 7.5.3.4) and in the interrupt enables of Root Error
    /// Command (PCIe Base 7.8.4.9).
    pub const fn enable(self) -> u32 {
        1 << self as u32
    }

    /// The name of the message that reports an error of this severity (PCIe Base 2.2.8.3).
    pub const fn message(self) -> &'static str {
        match self {
            Severity::Correctable => "ERR_COR",
            Severity::NonFatal => "ERR_NONFATAL",
            Severity::Fatal => "ERR_FATAL",
        }
    }
}

enumerated! {
    /// An uncorrectable error. The value of an error is the number of its bit in Uncorrectable Error Status.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum UncorrectableError {
        /// The link below the port went down unexpectedly.
        SurpriseDown = 5 => "Surprise Down",
        /// A packet with poisoned data arrived.
        PoisonedTlp = 12 => "Poisoned TLP Received",
        /// No completion arrived in time.
        CompletionTimeout = 14 => "Completion Timeout",
        /// The function could not carry out a request, and has answered it with Completer Abort.
        CompleterAbort = 15 => "Completer Abort",
        /// A completion arrived that belongs to no outstanding request.
        UnexpectedCompletion = 16 => "Unexpected Completion",
        /// A packet breaks a rule of its format.
        MalformedTlp = 18 => "Malformed TLP",
        /// The ECRC of a packet is wrong.
        EcrcError = 19 => "ECRC Error",
        /// No function supports the request.
        UnsupportedRequest = 20 => "Unsupported Request",
        /// Access Control Services have blocked the request (PCIe Base 6.12.4).
        AcsViolation = 21 => "ACS Violation",
        /// A device has detected an error inside itself.
        Internal = 22 => "Uncorrectable Internal Error",
        /// The port has blocked a request for an atomic operation (PCIe Base 6.15.3.1).
        AtomicEgressBlocked = 24 => "AtomicOp Egress Blocked",
        /// The port has blocked a packet with an End-End TLP prefix at its egress (PCIe Base 2.2.10.2).
        PrefixBlocked = 25 => "TLP Prefix Blocked",
    }
}

enumerated! {
    /// A correctable error, which the link or the device repairs. The value of an error is the number of its bit in Correctable Error
    /// Status.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CorrectableError {
        /// The physical layer received symbols that it did not expect (PCIe Base 4.2.1.3, 4.2.2.3).
        ReceiverError = 0 => "Receiver Error",
        /// The LCRC, the framing or the sequence number of a TLP is wrong.
        BadTlp = 6 => "Bad TLP",
        /// The CRC of a DLLP is wrong.
        BadDllp = 7 => "Bad DLLP",
        /// Packets were replayed four times without an acknowledgement (PCIe Base 3.6.2.1).
        ReplayNumRollover = 8 => "REPLAY_NUM Rollover",
        /// No acknowledgement arrived in time.
        ReplayTimerTimeout = 12 => "Replay Timer Timeout",
        /// A device has corrected an error inside itself.
        Internal = 14 => "Corrected Internal Error",
    }
}

impl CorrectableError {
    /// The error's bit in Correctable Error Status.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// An uncorrectable error and the header to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The error.
    pub error: UncorrectableError,
    /// The first 16 bytes of the packet's header in wire order; `None` for a completion timeout.
    pub header: Option<[u8; 16]>,
    /// The End-End prefix before the header, if there is one.
    pub prefix: Option<Pasid>,
    /// Whether the error is an advisory non-fatal error: the requester receives a completion with the error, or nothing is lost (PCIe Base
    /// 6.2.3.2.4).
    pub advisory: bool,
}

/// The settings of a function for its errors: severities, masks and enables of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorControl {
    /// The fatal errors, as bits of Uncorrectable Error Status.
    fatal: u32,
    /// The masked errors, as bits of Uncorrectable Error Status.
    masked: u32,
    /// The masked correctable errors, as bits of Correctable Error Status.
    correctable_masked: u32,
    /// The enables of messages in Device Control.
    enables: u32,
    /// SERR# Enable in Command.
    serr: bool,
}

/// The result of recording an error: how the function handles the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detected {
    /// The severity; an advisory non-fatal error has the severity correctable.
    pub severity: Severity,
    /// Whether the function sends a message for the error.
    pub is_reported: bool,
}

impl ErrorControl {
    /// Whether the function sends, or forwards from below, messages of this severity (PCIe Base 6.2.6).
    pub(super) const fn enables(self, severity: Severity) -> bool {
        self.enables & severity.enable() != 0
            || self.serr && !matches!(severity, Severity::Correctable)
    }

    /// Whether the function sends a message for an error that is not masked. Unsupported requests have an additional enable in Device
    /// Control.
    const fn reports(self, error: UncorrectableError, severity: Severity) -> bool {
        let is_unsupported = matches!(error, UncorrectableError::UnsupportedRequest);
        if is_unsupported && self.enables & UNSUPPORTED_REQUEST_REPORTING == 0 {
            return self.serr && !matches!(severity, Severity::Correctable);
        }
        self.enables(severity)
    }

    /// Whether the error is masked, so that the function does not report it.
    pub const fn masks(self, error: UncorrectableError) -> bool {
        self.masked & 1 << error as u32 != 0
    }

    const fn is_advisory_masked(self) -> bool {
        self.correctable_masked & ADVISORY_NON_FATAL != 0
    }

    /// The severity of an error that is not advisory.
    pub const fn severity(self, error: UncorrectableError) -> Severity {
        if self.fatal & 1 << error as u32 != 0 {
            Severity::Fatal
        } else {
            Severity::NonFatal
        }
    }
}

impl ConfigSpace {
    /// Declares the capability of a port. Root ports and downstream ports of switches also report surprise down. Root ports also have the
    /// root error registers.
    pub(super) fn declare_errors(&mut self, port: PortType, prefixes: bool) {
        self.append_extended(AER_BYTES, AER_ID, 2);
        let all = UncorrectableError::ALL.iter();
        let modelled = all.fold(0, |bits, error| bits | 1 << *error as u32);
        let is_of_switch = matches!(port, PortType::Upstream | PortType::Downstream);
        let is_endpoint = port == PortType::Endpoint;
        let absent = bits_if(!port.is_downstream(), SURPRISE_DOWN | ACS_VIOLATION)
            | bits_if(!(prefixes && is_of_switch), PREFIX_BLOCKED)
            | bits_if(!(self.routes_atomics() && is_of_switch), ATOMIC_BLOCKED)
            | bits_if(!is_endpoint, INTERNAL_ERROR);
        let modelled = modelled & !absent | OF_LINK_PROTOCOL;
        let all = CorrectableError::ALL.iter();
        let correctable = all.fold(ADVISORY_NON_FATAL, |bits, error| bits | error.bit());
        let correctable = correctable & !bits_if(!is_endpoint, CorrectableError::Internal.bit());
        self.declare(UNCORRECTABLE_STATUS, 0, 0, modelled);
        self.declare(UNCORRECTABLE_MASK, 0, modelled, 0);
        self.declare(
            UNCORRECTABLE_SEVERITY,
            SEVERITY_RESET | (SURPRISE_DOWN | INTERNAL_ERROR) & modelled,
            modelled,
            0,
        );
        self.declare(CORRECTABLE_STATUS, 0, 0, correctable);
        self.declare(CORRECTABLE_MASK, ADVISORY_NON_FATAL, correctable, 0);
        // A switch forwards digests unchanged, and does not generate or check an ECRC.
        if matches!(port, PortType::Endpoint | PortType::RootPort) {
            self.declare(CONTROL, ECRC_CAPABLE, ECRC_ENABLES, 0);
        }
        for register in UNCORRECTABLE_STATUS..=CONTROL {
            self.declare_sticky(register);
        }
        if port == PortType::RootPort {
            self.declare_root_errors();
        }
    }

    /// Declares the capability of a virtual function, with status bits for the errors that it detects itself. The masks and
    /// severities of its physical function apply to it (PCIe Base 9.4.2).
    pub(super) fn declare_virtual_errors(&mut self) {
        self.append_extended(AER_BYTES, AER_ID, 2);
        let detected = 1 << UncorrectableError::PoisonedTlp as u32
            | 1 << UncorrectableError::CompletionTimeout as u32
            | 1 << UncorrectableError::CompleterAbort as u32
            | 1 << UncorrectableError::UnexpectedCompletion as u32
            | 1 << UncorrectableError::UnsupportedRequest as u32
            | INTERNAL_ERROR;
        let corrected = CorrectableError::Internal.bit();
        self.declare(UNCORRECTABLE_STATUS, 0, 0, detected);
        self.declare(CORRECTABLE_STATUS, 0, 0, ADVISORY_NON_FATAL | corrected);
    }

    /// Severities, masks and enables of this function, which also apply to its virtual functions (PCIe Base 9.4.2).
    pub fn error_control(&self) -> ErrorControl {
        ErrorControl {
            fatal: self.read(UNCORRECTABLE_SEVERITY),
            masked: self.read(UNCORRECTABLE_MASK),
            correctable_masked: self.read(CORRECTABLE_MASK),
            enables: self.read(express::DEVICE_CONTROL),
            serr: self.read(COMMAND) & SERR != 0,
        }
    }

    bits! {
        /// Whether the function adds an ECRC to the packets that it sends.
        pub generates_ecrc: CONTROL, ECRC_GENERATION;
        /// Whether the function checks the ECRC of packets that it receives.
        pub checks_ecrc: CONTROL, ECRC_CHECK;
    }

    fn has_errors(&self) -> bool {
        self.read(AER) & 0xffff == u32::from(AER_ID)
    }

    /// Records an uncorrectable error in the order of PCIe Base 6.2.5, with the severities, masks and enables in `control`. Returns the
    /// severity of the error for the function, and whether the function sends a message.
    pub fn record(&mut self, record: &ErrorRecord, control: ErrorControl) -> Detected {
        let bit = 1_u32 << record.error as u32;
        match record.error {
            UncorrectableError::UnsupportedRequest => {
                self.raise_device_status(UNSUPPORTED_REQUEST_DETECTED);
            }
            UncorrectableError::CompleterAbort => self.record_signaled_target_abort(),
            // An advisory ACS Violation is answered with a completion, so the function has signaled Completer Abort.
            UncorrectableError::AcsViolation if record.advisory => {
                self.record_signaled_target_abort();
            }
            _ => {}
        }
        let severity = match control.severity(record.error) {
            Severity::NonFatal if record.advisory => Severity::Correctable,
            severity => severity,
        };
        match severity {
            Severity::Correctable => {
                self.raise_correctable(ADVISORY_NON_FATAL);
                if control.is_advisory_masked() {
                    return Detected {
                        severity,
                        is_reported: false,
                    };
                }
            }
            Severity::NonFatal => self.raise_device_status(NON_FATAL_DETECTED),
            Severity::Fatal => self.raise_device_status(FATAL_DETECTED),
        }
        let is_masked = control.masked & bit != 0;
        if self.has_errors() {
            self.log(record, is_masked);
        }
        let is_reported = !is_masked && control.reports(record.error, severity);
        if is_reported {
            self.signal(severity);
        }
        Detected {
            severity,
            is_reported,
        }
    }

    /// Records an error inside the device (PCIe Base 6.2.9). Returns whether the function sends a message. The device supplies the severity
    /// of each error: Uncorrectable Error Severity has one bit for all these errors, so its value is not used.
    pub fn record_own_error(&mut self, severity: Severity, control: ErrorControl) -> Detected {
        let bit = CorrectableError::Internal.bit();
        let control = match severity {
            Severity::Correctable => {
                self.raise_correctable(bit);
                let is_masked = control.correctable_masked & bit != 0;
                let is_reported = !is_masked && control.enables(severity);
                return Detected {
                    severity,
                    is_reported,
                };
            }
            Severity::NonFatal => ErrorControl {
                fatal: control.fatal & !INTERNAL_ERROR,
                ..control
            },
            Severity::Fatal => ErrorControl {
                fatal: control.fatal | INTERNAL_ERROR,
                ..control
            },
        };
        let record = ErrorRecord {
            error: UncorrectableError::Internal,
            header: None,
            prefix: None,
            advisory: false,
        };
        self.record(&record, control)
    }

    /// Records that the function sends or forwards a message of this severity (PCIe Base 7.5.1.1.4).
    fn signal(&mut self, severity: Severity) {
        if severity != Severity::Correctable && self.read(COMMAND) & SERR != 0 {
            self.raise(COMMAND, SIGNALED_SYSTEM_ERROR);
        }
    }

    /// Records that the link of this downstream port has failed: the link is no longer active, which is a Surprise Down error (PCIe
    /// Base 3.2.1). A link that is down already does not fail again.
    pub fn record_surprise_down(&mut self) -> Option<Detected> {
        if !self.link_active() {
            return None;
        }
        self.clear_link_active();
        let record = ErrorRecord {
            error: UncorrectableError::SurpriseDown,
            header: None,
            prefix: None,
            advisory: false,
        };
        let control = self.error_control();
        Some(self.record(&record, control))
    }

    /// Executes a hot reset of the function (PCIe Base 6.6.1). The link of a downstream port also goes down, which is not an error.
    pub fn hot_reset(&mut self) {
        self.reset(false);
        self.clear_link_active();
    }

    /// Executes a reset of the function after a loss of power in its component. Sticky registers also return to their reset values.
    pub fn cold_reset(&mut self) {
        self.reset(true);
        self.clear_link_active();
    }

    /// Records correctable errors; `bits` are bits of Correctable Error Status. Returns the number of messages that the function sends: one
    /// for each error that is not masked (PCIe Base 6.2.5).
    pub fn record_correctable(&mut self, bits: u32) -> u32 {
        self.raise_correctable(bits);
        let control = self.error_control();
        if control.enables(Severity::Correctable) {
            (bits & !control.correctable_masked).count_ones()
        } else {
            0
        }
    }

    fn raise_correctable(&mut self, bits: u32) {
        if bits == 0 {
            return;
        }
        self.raise_device_status(CORRECTABLE_DETECTED);
        if self.has_errors() {
            self.raise(CORRECTABLE_STATUS, bits);
        }
    }

    /// Logs an error. The first unmasked error keeps the pointer and the header log until software clears its status bit.
    fn log(&mut self, record: &ErrorRecord, masked: bool) {
        let bit = 1_u32 << record.error as u32;
        let status = self.read(UNCORRECTABLE_STATUS);
        let first = self.read(CONTROL) & FIRST_ERROR_POINTER;
        let taken = status & 1 << first != 0;
        self.raise(UNCORRECTABLE_STATUS, bit);
        if taken {
            return;
        }
        if masked {
            // The pointer must not point to this masked error after an earlier error was cleared. The value 0 points to no error, because
            // bit 0 is never set.
            return self.update(CONTROL, FIRST_ERROR_POINTER, 0);
        }
        self.update(CONTROL, FIRST_ERROR_POINTER, record.error as u32);
        for (register, bytes) in
            (HEADER_LOG..).zip(record.header.unwrap_or_default().chunks_exact(4))
        {
            let dword = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            self.update(register, u32::MAX, dword);
        }
        self.log_prefix(record.prefix);
    }

    /// Logs the prefix of a packet whose header is logged (PCIe Base 7.8.4.12).
    fn log_prefix(&mut self, prefix: Option<Pasid>) {
        let Some(prefix) = prefix.filter(|_| self.supports_prefixes()) else {
            return self.update(CONTROL, PREFIX_LOG_PRESENT, 0);
        };
        self.update(CONTROL, PREFIX_LOG_PRESENT, PREFIX_LOG_PRESENT);
        self.update(PREFIX_LOG, u32::MAX, u32::from_be_bytes(prefix.emit()));
    }
}

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
/// Data link protocol, flow control protocol and receiver overflow: every function has their bits, and no link of the model has the errors.
const OF_LINK_PROTOCOL: u32 = 1 << 4 | 1 << 13 | 1 << 17;
/// The errors that Uncorrectable Error Severity calls fatal after reset (PCIe Base 7.8.4.4).
const SEVERITY_RESET: u32 = OF_LINK_PROTOCOL | 1 << UncorrectableError::MalformedTlp as u32;
/// Uncorrectable Internal Error in status, mask and severity of uncorrectable errors: an error that an endpoint finds in itself.
pub const INTERNAL_ERROR: u32 = 1 << UncorrectableError::Internal as u32;
/// Surprise down is fatal as well, at a port that reports it.
const SURPRISE_DOWN: u32 = 1 << UncorrectableError::SurpriseDown as u32;
/// A port of a switch that supports prefixes may block them.
const PREFIX_BLOCKED: u32 = 1 << UncorrectableError::PrefixBlocked as u32;
/// A port of a switch that routes atomic operations may block them.
const ATOMIC_BLOCKED: u32 = 1 << UncorrectableError::AtomicEgressBlocked as u32;
/// A port with its link below it has Access Control Services.
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
        /// The transaction is unreliable, the link is not.
        NonFatal => "non-fatal",
        /// The link is unreliable.
        Fatal => "fatal",
    }
}

impl Severity {
    /// The bit of the severity in the enables of Device Control (PCIe Base 7.5.3.4) and of Root Error Command (PCIe Base 7.8.4.9).
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
    /// An uncorrectable error; its number is its bit of the status register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum UncorrectableError {
        /// The link below the port went down unexpectedly.
        SurpriseDown = 5 => "Surprise Down",
        /// A packet with poisoned data arrived.
        PoisonedTlp = 12 => "Poisoned TLP Received",
        /// No completion arrived in time.
        CompletionTimeout = 14 => "Completion Timeout",
        /// The function could not carry a request out, and has answered with Completer Abort.
        CompleterAbort = 15 => "Completer Abort",
        /// A completion arrived that answers no outstanding request.
        UnexpectedCompletion = 16 => "Unexpected Completion",
        /// A packet breaks a rule of its format.
        MalformedTlp = 18 => "Malformed TLP",
        /// The ECRC of a packet is wrong.
        EcrcError = 19 => "ECRC Error",
        /// No function serves the request.
        UnsupportedRequest = 20 => "Unsupported Request",
        /// Access Control Services do not let the request pass (PCIe Base 6.12.4).
        AcsViolation = 21 => "ACS Violation",
        /// A device has found an error in itself.
        Internal = 22 => "Uncorrectable Internal Error",
        /// The port blocks requests for atomic operations (PCIe Base 6.15.3.1).
        AtomicEgressBlocked = 24 => "AtomicOp Egress Blocked",
        /// The port lets no packet with an End-End TLP prefix out (PCIe Base 2.2.10.2).
        PrefixBlocked = 25 => "TLP Prefix Blocked",
    }
}

enumerated! {
    /// A correctable error, which the link or the device repairs; its number is its bit of the status register.
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
        /// A device has corrected an error in itself.
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
    /// The first 16 bytes of the packet's header in wire order; none for a completion timeout.
    pub header: Option<[u8; 16]>,
    /// The End-End prefix before the header.
    pub prefix: Option<Pasid>,
    /// Whether the error is an advisory non-fatal error: a completion reports it to the requester, or nothing is lost (PCIe Base
    /// 6.2.3.2.4).
    pub advisory: bool,
}

/// The control of a function over its errors: severities, masks and enables of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorControl {
    /// The fatal errors, as bits of the status register.
    fatal: u32,
    /// The masked errors, as bits of the status register.
    masked: u32,
    /// The masked correctable errors, as bits of their status register.
    correctable_masked: u32,
    /// The enables of messages in Device Control.
    enables: u32,
    /// SERR# Enable in Command.
    serr: bool,
}

/// An error as its function treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detected {
    /// The severity; that of an advisory non-fatal error is correctable.
    pub severity: Severity,
    /// Whether the function reports it by a message.
    pub is_reported: bool,
}

impl ErrorControl {
    /// Whether the function sends, or forwards from below, messages of this severity (PCIe Base 6.2.6).
    pub(super) const fn enables(self, severity: Severity) -> bool {
        self.enables & severity.enable() != 0
            || self.serr && !matches!(severity, Severity::Correctable)
    }

    /// Whether the function reports an error that is not masked. Unsupported requests have an enable of their own in Device Control.
    const fn reports(self, error: UncorrectableError, severity: Severity) -> bool {
        let is_unsupported = matches!(error, UncorrectableError::UnsupportedRequest);
        if is_unsupported && self.enables & UNSUPPORTED_REQUEST_REPORTING == 0 {
            return self.serr && !matches!(severity, Severity::Correctable);
        }
        self.enables(severity)
    }

    /// Whether the function does not report the error.
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
    /// Declares the capability of a port. A port with its link below it reports surprise down; a root port also has the root error
    /// registers.
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
        // A switch passes digests on, and neither makes nor checks any.
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

    /// Records an uncorrectable error under `control`, in the order of PCIe Base 6.2.5. Returns the severity with which the function
    /// treats it, and whether it sends a message.
    pub fn record(&mut self, record: &ErrorRecord, control: ErrorControl) -> Detected {
        let bit = 1_u32 << record.error as u32;
        match record.error {
            UncorrectableError::UnsupportedRequest => {
                self.raise_device_status(UNSUPPORTED_REQUEST_DETECTED);
            }
            UncorrectableError::CompleterAbort => self.record_signaled_target_abort(),
            // The packet has a completion if the error is advisory.
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

    /// Records an error under `control` that a device has found in itself (PCIe Base 6.2.9). Returns whether it sends a message. The device
    /// knows the severity of each error, for which there is one bit of the status: its register does not count.
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

    /// A hot reset of the function (PCIe Base 6.6.1). The link of a downstream port goes down with it, which is no error.
    pub fn hot_reset(&mut self) {
        self.reset(false);
        self.clear_link_active();
    }

    /// A reset of the function because its component has lost its power: sticky registers return to their values after reset, too.
    pub fn cold_reset(&mut self) {
        self.reset(true);
        self.clear_link_active();
    }

    /// Records correctable errors; `bits` are bits of Correctable Error Status. Returns the number of messages that the function sends:
    /// one for each of them that is not masked (PCIe Base 6.2.5).
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
            // A pointer left from a cleared error must not point at this masked one; bit 0 is never set.
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

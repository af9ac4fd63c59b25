//! Incidents: errors and other rare events, as the log of a run contains them.

use std::fmt;

use kernel::Time;
use protocol::register::ADVISORY_NON_FATAL;
use protocol::{CorrectableError, Detected, FunctionId, Generation, Severity, UncorrectableError};

/// The part of a component at which something has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// The component itself, such as a host bridge.
    Node,
    /// The port with this number, and its function.
    Port(u16),
    /// The virtual function of a device with this number, from 0.
    Virtual(u16),
}

/// An incident: an error that a function or a port has detected, or another rare event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Incident {
    /// An uncorrectable error, and how its function handles it (PCIe Base 6.2.2).
    Uncorrectable(UncorrectableError, Detected),
    /// An error that the link corrects.
    Correctable(CorrectableError),
    /// A root port has received an error message of this function, or has recorded an error of its own.
    Message(Severity, FunctionId),
    /// Software has read and cleared the error status of this function. The number contains the bits that were set.
    Served(Severity, FunctionId, u32),
    /// Software has requested the error status of this function, and received no answer.
    NoAnswer(FunctionId),
    /// A link has come up from Detect, with this rate and width.
    LinkUp(Generation, u8),
    /// A link has gone through Recovery, with this rate and width.
    Retrained(Generation, u8),
    /// The accelerator in the slot with this number has requested an operation that its card does not support, for this reason.
    Misuse(u8, &'static str),
    /// Devices have written this number of bytes to a buffer of a program after its release at this time.
    WrittenAfterRelease(Time, u64),
    /// Any other event, in the words of the specification. Each occurrence has a separate line in the log.
    Event(&'static str),
}

impl Incident {
    /// Whether equal incidents are counted in one entry of the log.
    pub const fn is_counted(self) -> bool {
        matches!(
            self,
            Incident::Uncorrectable(..)
                | Incident::Correctable(_)
                | Incident::Message(..)
                | Incident::Retrained(..)
                | Incident::Misuse(..)
        )
    }

    /// Whether a link has repaired the error without software. Software can then only notice the lost time.
    pub const fn is_repaired(self) -> bool {
        matches!(self, Incident::Correctable(_) | Incident::Retrained(..))
    }

    /// The severity; `None` for an event that is not an error.
    pub const fn severity(self) -> Option<Severity> {
        match self {
            Incident::Uncorrectable(_, detected) => Some(detected.severity),
            Incident::Correctable(_) => Some(Severity::Correctable),
            Incident::Message(severity, _) | Incident::Served(severity, ..) => Some(severity),
            Incident::NoAnswer(_)
            | Incident::LinkUp(..)
            | Incident::Retrained(..)
            | Incident::Misuse(..)
            | Incident::WrittenAfterRelease(..)
            | Incident::Event(_) => None,
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::Uncorrectable(error, _) => f.write_str(error.name()),
            Incident::Correctable(error) => f.write_str(error.name()),
            Incident::Message(severity, source) => write!(f, "{} of {source}", severity.message()),
            Incident::Served(severity, source, status) => {
                write!(f, "served {} of {source}", severity.message())?;
                let mut names = names(*severity, *status);
                names.try_for_each(|name| write!(f, ", {name}"))
            }
            Incident::NoAnswer(source) => write!(f, "no answer from {source}"),
            Incident::LinkUp(generation, lanes) => {
                write!(f, "link up, {} GT/s x{lanes}", generation.gigatransfers())
            }
            Incident::Retrained(generation, lanes) => {
                let rate = generation.gigatransfers();
                write!(f, "link retrained, {rate} GT/s x{lanes}")
            }
            Incident::Misuse(slot, why) => write!(f, "slot {slot}: {why}"),
            Incident::WrittenAfterRelease(at, bytes) => write!(
                f,
                "{bytes} bytes were written to a buffer that had been released at {:.3} us; end the transfer before the release",
                at.as_ns() / 1e3
            ),
            Incident::Event(what) => f.write_str(what),
        }
    }
}

/// The names of the errors whose bits are set in `status`.
fn names(severity: Severity, status: u32) -> impl Iterator<Item = &'static str> {
    let has = move |bit: u32| status & bit != 0;
    let is_correctable = severity == Severity::Correctable;
    let uncorrectable = UncorrectableError::ALL.into_iter();
    let uncorrectable = uncorrectable
        .filter(move |error| !is_correctable && has(1 << *error as u32))
        .map(UncorrectableError::name);
    let correctable = CorrectableError::ALL.into_iter();
    let correctable = correctable
        .filter(move |error| is_correctable && has(error.bit()))
        .map(CorrectableError::name);
    let advisory =
        (is_correctable && has(ADVISORY_NON_FATAL)).then_some("Advisory Non-Fatal Error");
    uncorrectable.chain(correctable).chain(advisory)
}

//! Incidents: what goes wrong, or happens seldom, as the log of a run has it.

use std::fmt;

use protocol::{CorrectableError, Severity, UncorrectableError};

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
    /// An uncorrectable error, and the severity with which its function treats it (PCIe Base 6.2.2).
    Uncorrectable(UncorrectableError, Severity),
    /// An error that the link corrects.
    Correctable(CorrectableError),
    /// Any other event, in the words of the specification. Each has a line of its own in the log.
    Event(&'static str),
}

impl Incident {
    /// The severity; `None` of an event that is no error.
    pub const fn severity(self) -> Option<Severity> {
        match self {
            Incident::Uncorrectable(_, severity) => Some(severity),
            Incident::Correctable(_) => Some(Severity::Correctable),
            Incident::Event(_) => None,
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Incident::Uncorrectable(error, _) => error.name(),
            Incident::Correctable(error) => error.name(),
            Incident::Event(what) => what,
        })
    }
}

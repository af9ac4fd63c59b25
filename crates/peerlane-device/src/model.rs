//! The contract of a model: the calls that it gets.

use std::fmt;

use crate::{Description, Settings, Shell, Ticket};

/// A device model.
///
/// Each call happens at one point of simulated time, [`Shell::now_fs`]. A call must return at once: a model that has to wait sets a
/// timer, or goes on when its request is answered.
pub trait Model: Send {
    /// Restores the state after power-on of the whole device (`function` 0) or of a virtual function, after a reset by its link or by a
    /// function level reset. It is the first call. The shell has dropped the requests and timers of the function, and no call follows for
    /// them.
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>);

    /// Software, or another device, reads registers. `into` has one byte for each byte that is read, all of them zero.
    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer;

    /// Software, or another device, writes `bytes` to registers. A write with gaps in its byte enables comes as several calls.
    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>);

    /// The read or atomic operation with this tag has ended: all of its data, or the reason why there is none.
    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let _ = (tag, outcome, shell);
    }

    /// The last packet of the write with this tag has left for the link. A model that streams data makes the next write then, so that
    /// it goes as fast as the link takes it.
    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        let _ = (tag, shell);
    }

    /// The time of the timer with this number has come.
    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        let _ = (timer, shell);
    }
}

/// A model that can be made from the values of its parameters, so that a library can [export](crate::export_model) it.
pub trait Declare: Model + Sized {
    /// The declaration of the model.
    fn description() -> Description;

    /// A device with these values of the parameters. Its [`reset`](Model::reset) follows.
    fn new(settings: &Settings) -> Self;
}

/// An access to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The function whose BAR it is: 0 for the physical one, 1 and up for the virtual ones.
    pub function: u8,
    /// The number of the BAR.
    pub bar: u8,
    /// The offset of the first byte in the BAR.
    pub offset: u64,
    /// The number of bytes.
    pub len: u32,
    /// The ticket of a read, by which it can be answered [later](Answer::Later).
    pub ticket: Ticket,
}

impl Access {
    /// Whether the access has to do with any of the `len` bytes of the register at `offset`.
    pub fn touches(&self, offset: u64, len: u64) -> bool {
        self.offset < offset + len && offset < self.offset + u64::from(self.len)
    }

    /// Puts those bytes of the register at `offset` that are read into `into`.
    pub fn fill(&self, into: &mut [u8], offset: u64, register: &[u8]) {
        for (at, byte) in (offset..).zip(register) {
            let place = at.checked_sub(self.offset);
            if let Some(place) = place.and_then(|place| into.get_mut(place as usize)) {
                *place = *byte;
            }
        }
    }

    /// Puts those of the written `bytes` that are in the register at `offset` into the register.
    pub fn update(&self, bytes: &[u8], offset: u64, register: &mut [u8]) {
        for (at, byte) in (self.offset..).zip(bytes) {
            let place = at.checked_sub(offset);
            if let Some(place) = place.and_then(|place| register.get_mut(place as usize)) {
                *place = *byte;
            }
        }
    }
}

/// The answer to a read of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The bytes are there.
    Now,
    /// The model gives them later, by [`Shell::answer`] with the ticket of the access. The requester waits, at most to its completion
    /// timeout.
    Later,
    /// The device has no such register: Unsupported Request.
    Unsupported,
    /// The device cannot answer: Completer Abort.
    Abort,
}

/// The reason why a request of a model has no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody serves the address: Unsupported Request.
    Unsupported,
    /// The completer could not carry it out: Completer Abort.
    Aborted,
    /// No completion came in time.
    TimedOut,
    /// The data is poisoned.
    Poisoned,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Failure::Unsupported => "unsupported request",
            Failure::Aborted => "completer abort",
            Failure::TimedOut => "completion timeout",
            Failure::Poisoned => "poisoned data",
        })
    }
}

impl std::error::Error for Failure {}

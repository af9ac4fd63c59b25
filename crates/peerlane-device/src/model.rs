//! The contract of a model: the calls that it gets.

use crate::numbered::numbered;
use crate::{Description, Settings, Shell, Ticket};

/// A device model.
///
/// Each call happens at one point of simulated time, [`Shell::now_fs`]. A call must return at once: a model that has to wait sets a
/// timer, or goes on when its request is answered.
pub trait Model: Send {
    /// Puts the whole device (`function` 0) or a virtual function into the state after power-on. It is the first call, and comes again after
    /// each reset, by the link or by a function level reset, and when software ends a virtual function by VF Enable. The shell has dropped
    /// the requests and timers of the function before, and makes no further call for them; it drops the ones of a virtual function that is
    /// gone, too.
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>);

    /// Answers a read of registers by software or by another device. `into` has as many bytes as are read, all of them zero.
    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer;

    /// Takes a write of `bytes` to registers by software or by another device. A write with gaps in its byte enables is several calls.
    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>);

    /// Takes the end of the read or atomic operation with this tag: all of its data, or the reason why there is none.
    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let _ = (tag, outcome, shell);
    }

    /// Takes note that the last packet of the write with this tag has left for the link. A model that streams data makes its next write
    /// now, and so writes as fast as the link allows.
    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        let _ = (tag, shell);
    }

    /// Takes note that the time of the timer with this number has come.
    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        let _ = (timer, shell);
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>) {
        (**self).reset(function, shell);
    }

    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        (**self).read(access, into, shell)
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        (**self).write(access, bytes, shell);
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        (**self).completed(tag, outcome, shell);
    }

    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        (**self).sent(tag, shell);
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        (**self).expired(timer, shell);
    }
}

/// A model that can be made from the values of its parameters, so that a library can [export](crate::export_model) it.
pub trait Declare: Model + Sized {
    /// The declaration of the model.
    fn description() -> Description;

    /// Makes a device with these values of the parameters. The simulator calls [`reset`](Model::reset) next.
    fn new(settings: &Settings) -> Self;
}

/// An access to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The function whose BAR is accessed: 0 for the physical one, 1 and up for the virtual ones.
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
    /// Whether the access includes any of the `len` bytes of the register at `offset`.
    pub fn touches(&self, offset: u64, len: u64) -> bool {
        self.offset < offset + len && offset < self.offset + u64::from(self.len)
    }

    /// Copies into `into`, the bytes of a read, what they have in common with the `register` at `offset`.
    pub fn fill(&self, into: &mut [u8], offset: u64, register: &[u8]) {
        for (at, byte) in (offset..).zip(register) {
            let place = at.checked_sub(self.offset);
            if let Some(place) = place.and_then(|place| into.get_mut(place as usize)) {
                *place = *byte;
            }
        }
    }

    /// Copies into `register`, which is at `offset`, what it has in common with the written `bytes`.
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

impl Answer {
    /// All answers, in the order of their numbers in the C interface, from 0 on.
    pub const ALL: [Self; 4] = [Self::Now, Self::Later, Self::Unsupported, Self::Abort];
}

numbered! {
    /// The reason why a request of a model has no data.
    Failure {
        /// No memory or device has the address: Unsupported Request.
        Unsupported = "unsupported request",
        /// The completer could not carry out the request: Completer Abort.
        Aborted = "completer abort",
        /// No completion came in time.
        TimedOut = "completion timeout",
        /// The data is poisoned.
        Poisoned = "poisoned data",
        /// Software has not enabled atomic operations of the device (`AtomicOp` Requester Enable), so that none is sent.
        NotEnabled = "atomic operations not enabled",
    }
}

impl std::error::Error for Failure {}

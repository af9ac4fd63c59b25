//! The interface of a model: the calls that the simulator makes.

use crate::numbered::numbered;
use crate::{Description, Settings, Shell, Ticket};

/// A device model.
///
/// Each call happens at one point of simulated time, [`Shell::now_fs`]. A call must return at once. A model that must wait sets a timer, or
/// continues when its request has ended.
pub trait Model: Send {
    /// Returns the whole device (`function` 0) or a virtual function to the state after power-on. This is the first call of a model. It is also
    /// called after each reset of the link, after each function level reset, and when software disables a virtual function with VF Enable. The
    /// shell has dropped the earlier requests and timers of the function, and makes no call for them. If the virtual function no longer exists,
    /// the shell also drops the requests and timers that this call makes.
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>);

    /// Answers a read of registers by software or by another device. `into` has as many bytes as the read, and all of them are zero.
    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer;

    /// Handles a write of `bytes` to registers by software or by another device. If the byte enables of a write have gaps, there are several
    /// calls.
    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>);

    /// Handles the end of the read or atomic operation with this tag. `outcome` is all of its data, or the reason why there is no data.
    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let _ = (tag, outcome, shell);
    }

    /// Handles the transmission of the last packet of the write with this tag. A model that streams data can make its next write now, and so
    /// writes as fast as the link allows.
    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        let _ = (tag, shell);
    }

    /// Handles the timer with this number, which has expired.
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

    /// Makes the model of a device with these parameter values. The simulator calls [`reset`](Model::reset) next.
    fn new(settings: &Settings) -> Self;
}

/// An access to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The function whose BAR is accessed: 0 for the physical function, 1 and up for the virtual functions.
    pub function: u8,
    /// The number of the BAR.
    pub bar: u8,
    /// The offset of the first byte in the BAR.
    pub offset: u64,
    /// The number of bytes.
    pub len: u32,
    /// The ticket of a read, with which the model can answer the read [later](Answer::Later).
    pub ticket: Ticket,
}

impl Access {
    /// Whether the access includes any of the `len` bytes of the register at `offset`.
    pub fn touches(&self, offset: u64, len: u64) -> bool {
        self.offset < offset + len && offset < self.offset + u64::from(self.len)
    }

    /// Copies the bytes of the `register` at `offset` that the read includes into `into`, the bytes of the read.
    pub fn fill(&self, into: &mut [u8], offset: u64, register: &[u8]) {
        for (at, byte) in (offset..).zip(register) {
            let place = at.checked_sub(self.offset);
            if let Some(place) = place.and_then(|place| into.get_mut(place as usize)) {
                *place = *byte;
            }
        }
    }

    /// Copies the written `bytes` that belong to the `register` at `offset` into it.
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
    /// The bytes are available now.
    Now,
    /// The model answers later, by [`Shell::answer`] with the ticket of the access. The requester waits until its completion timeout at most.
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
        /// No memory or device has the address; the completion has the status Unsupported Request.
        Unsupported = "unsupported request",
        /// The completer could not execute the request; the completion has the status Completer Abort.
        Aborted = "completer abort",
        /// No completion has arrived before the completion timeout.
        TimedOut = "completion timeout",
        /// The data is poisoned.
        Poisoned = "poisoned data",
        /// Software has not enabled atomic operations of the device (`AtomicOp` Requester Enable), so the operation was not sent.
        NotEnabled = "atomic operations not enabled",
    }
}

impl std::error::Error for Failure {}

//! Calls that move flows, as the probes are told of them.

use packet::{Note, NoteKind};

/// Where the call stands that moves a flow: a system call of a driver, or the work of a program of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNote {
    /// The call is made.
    Called,
    /// The call has returned.
    Returned,
}

impl Note for CallNote {
    const KIND: NoteKind = NoteKind::named("call");

    fn pack(self) -> [u64; 2] {
        [u64::from(self == CallNote::Returned), 0]
    }

    fn unpack([has_returned, _]: [u64; 2]) -> Self {
        if has_returned == 0 {
            CallNote::Called
        } else {
            CallNote::Returned
        }
    }
}

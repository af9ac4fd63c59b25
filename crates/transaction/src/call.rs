//! Notes about the calls that start flows.

use packet::{Note, NoteKind};

/// The state of the call that starts a flow: a system call of a driver, or an operation of a router's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNote {
    /// The call starts.
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

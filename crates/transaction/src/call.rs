//! Notes about the calls that start flows.

use packet::{Note, NoteKind};

/// The state of the call that starts a flow: a system call of a driver, or an operation of a router's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNote {
    /// The call starts.
    Called,
    /// The call has returned.
    Returned,
    /// A reset of the device has interrupted the call, and its driver waits for the end of the reset.
    Interrupted,
    /// After a reset of the device, the driver transfers the lost bytes again. The fields are the bytes that have arrived and the bytes that
    /// are lost with an error. As far as the driver can determine, the other bytes have not arrived.
    Restarted {
        /// The number of bytes of commands that have ended successfully.
        arrived: u64,
        /// The number of bytes of commands that have ended with an error.
        lost: u64,
    },
}

impl Note for CallNote {
    const KIND: NoteKind = NoteKind::named("call");

    fn pack(self) -> [u64; 2] {
        match self {
            CallNote::Called => [0, 0],
            CallNote::Returned => [1, 0],
            CallNote::Interrupted => [2, 0],
            CallNote::Restarted { arrived, lost } => [3 + lost, arrived],
        }
    }

    fn unpack([kind, arrived]: [u64; 2]) -> Self {
        match kind {
            0 => CallNote::Called,
            1 => CallNote::Returned,
            2 => CallNote::Interrupted,
            lost => CallNote::Restarted {
                arrived,
                lost: lost - 3,
            },
        }
    }
}

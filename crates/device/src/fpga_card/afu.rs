//! The interface of an accelerator functional unit: registers for the host, and callbacks from the shell.

use std::fmt::Debug;

use thiserror::Error;

use super::{AfuId, Shell};

/// An accelerator functional unit (AFU): the user's design in the slot of an FPGA card.
///
/// An AFU keeps its registers and its work in a struct. It answers [`load`](Self::load) and [`store`](Self::store), and requests
/// everything else from the [`Shell`]: reads and writes of host memory, the card's memory, interrupts, wake-ups. The shell keeps
/// the requests and calls back.
///
/// Each call happens at one simulated time, [`Shell::now`]. An AFU that cannot continue, because the shell's queues are full
/// ([`Shell::can_read`], [`Shell::can_write`]) or because an operation takes time ([`Shell::wake_at`]), returns and continues in
/// [`wake`](Self::wake).
///
/// The card answers the first 40 bytes of the registers (feature header, ID and two reserved registers) from [`id`](Self::id) and
/// [`next_feature`](Self::next_feature).
pub trait Afu: Debug + Send {
    /// The AFU's ID.
    fn id(&self) -> AfuId;

    /// Offset of the next feature header, in bytes from the first register; none if there is no other feature.
    fn next_feature(&self) -> Option<u32> {
        None
    }

    /// Restores the state after configuration. The shell discards all outstanding requests, and no callback follows for them.
    fn reset(&mut self);

    /// The host loads `len` bytes, 4 or 8, at `offset`, a multiple of `len`.
    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64;

    /// The host stores 4, 8 or 64 bytes at `offset`, a multiple of their number.
    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>);

    /// The read with this tag has ended: all of its data, or the reason why there is none.
    fn read_done(&mut self, tag: u32, data: Result<&[u8], ReadError>, shell: &mut Shell<'_>);

    /// The write with this tag was transmitted; writes have no completion.
    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>);

    /// The AFU may continue: a full queue has space again, a requested time has come, or the AFU was just configured or released
    /// from reset.
    fn wake(&mut self, shell: &mut Shell<'_>);
}

/// Size of an AFU's registers in bytes.
pub const MMIO_SIZE: u64 = 256 * 1024;

/// The reason why a read of host memory has no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// No completer serves the address.
    #[error("unsupported request")]
    UnsupportedRequest,
    /// The completer could not carry out the read.
    #[error("completer abort")]
    CompleterAbort,
    /// No completion arrived in time.
    #[error("completion timeout")]
    TimedOut,
}

/// The reason why the shell rejects an AFU's request. It also sets a bit of the port's error register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misuse {
    /// The queue was full; [`Shell::can_read`] or [`Shell::can_write`] would have returned false.
    #[error("the shell's queue is full; wait until can_read or can_write is true")]
    Overflow,
    /// The address is not a multiple of 64, or has more than 48 bits.
    #[error("the address of a request must be a multiple of 64 below 2^48")]
    Address,
    /// The length is not one to four cache lines.
    #[error("the length of a request must be 64, 128, 192 or 256 bytes")]
    Length,
    /// The request crosses a page boundary.
    #[error("a request must not cross a 4 KiB boundary")]
    CrossesPage,
    /// The card has no such interrupt.
    #[error("the interrupt must be 0 to 3")]
    NoSuchInterrupt,
}

//! What an accelerator functional unit is to the card: registers that the host loads from and stores to, and a user of the shell.

use std::fmt::Debug;

use thiserror::Error;

use super::{AfuId, Shell};

/// An accelerator functional unit (AFU): what a user loads into the slot of an FPGA card.
///
/// The way to write one: keep the registers and the work under way in a struct, answer [`load`](Self::load) and
/// [`store`](Self::store), and ask the [`Shell`] for everything else: reads and writes of host memory, the card's own memory,
/// interrupts, time. The shell remembers what was asked for and calls back.
///
/// Each call happens at one point of simulated time, [`Shell::now`]. A unit that cannot go on, because the shell has no room
/// ([`Shell::can_read`], [`Shell::can_write`]) or because something takes time ([`Shell::wake_at`]), returns, and goes on in
/// [`wake`](Self::wake).
///
/// The first 40 bytes of its registers (feature header, ID and the two reserved registers behind them) are answered by the
/// card from [`id`](Self::id) and [`next_feature`](Self::next_feature).
pub trait Afu: Debug + Send {
    /// Its ID.
    fn id(&self) -> AfuId;

    /// Where its next feature header is, in bytes from its first register; none if it has no more features.
    fn next_feature(&self) -> Option<u32> {
        None
    }

    /// Everything is as after configuration. What was asked of the shell is forgotten, and will not be answered.
    fn reset(&mut self);

    /// The host loads `len` bytes, 4 or 8, at `offset`, a multiple of them.
    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64;

    /// The host stores 4, 8 or 64 bytes at `offset`, a multiple of their number.
    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>);

    /// The read with that tag is over: all of its data, or why there is none.
    fn read_done(&mut self, tag: u32, data: Result<&[u8], ReadError>, shell: &mut Shell<'_>);

    /// The write with that tag is off to the wire; nobody answers it.
    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>);

    /// It can go on: there is room where there was none, a time that it asked for has come, or it has just been configured or
    /// let go of by a reset.
    fn wake(&mut self, shell: &mut Shell<'_>);
}

/// Bytes of the registers of an AFU.
pub const MMIO_SIZE: u64 = 256 * 1024;

/// Why a read of host memory gave no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Nobody is there.
    #[error("unsupported request")]
    UnsupportedRequest,
    /// The completer could not.
    #[error("completer abort")]
    CompleterAbort,
    /// No completion came in time.
    #[error("completion timeout")]
    TimedOut,
}

/// Why the shell did not take what an AFU asked for. A bit of the port's error register says so, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misuse {
    /// There was no room, which [`Shell::can_read`] or [`Shell::can_write`] would have said.
    #[error("there is no room for one more request")]
    Overflow,
    /// The address is not a multiple of 64, or has more than 48 bits.
    #[error("a request begins with a cache line of 64 bytes, below 2^48")]
    Address,
    /// It is not one to four cache lines long.
    #[error("a request is of one to four cache lines of 64 bytes")]
    Length,
    /// It ends beyond its page.
    #[error("a request does not cross a page of 4 KiB")]
    CrossesPage,
    /// The card has fewer interrupts.
    #[error("a card has interrupts 0 to 3")]
    NoSuchInterrupt,
}

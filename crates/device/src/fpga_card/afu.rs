//! The interface of an accelerator functional unit: registers for the host, and callbacks from the shell.

use std::fmt::Debug;

use peerlane_device::Failure;

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

    /// Restores the state after configuration. This call is the first one for an AFU. The shell discards all outstanding requests, and calls no
    /// callback for them.
    fn reset(&mut self);

    /// The host loads `len` bytes, 4 or 8, at `offset`, a multiple of `len`.
    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64;

    /// The host stores 4, 8 or 64 bytes at `offset`, which is a multiple of the number of bytes.
    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>);

    /// The read with this tag has ended. `data` is all of its data, or the reason why there is no data.
    fn read_done(&mut self, tag: u32, data: Result<&[u8], Failure>, shell: &mut Shell<'_>);

    /// The write with this tag was transmitted; writes have no completion.
    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>);

    /// The AFU may continue, for one of these reasons: a full queue has space again, a requested time has been reached, or the AFU was just
    /// configured or released from reset.
    fn wake(&mut self, shell: &mut Shell<'_>);
}

/// Size of an AFU's registers in bytes.
pub const MMIO_SIZE: u64 = 256 * 1024;

//! The user circuit between the four FIFOs.

use std::collections::VecDeque;

kernel::choices! {
    /// The function of the user circuit.
    pub enum UserLogic {
        /// Accepts all data and always has data: nothing ever stalls. Data written by peers is stored in BAR 0.
        SourceSink = "source-sink",
        /// `RX_FIFO` feeds `TX_FIFO`.
        Loopback = "loopback",
        /// `RX_FIFO` feeds `TX_FIFO` and `EP_RX_FIFO` feeds `EP_TX_FIFO`, or crossed, selected by a register.
        Matrix = "matrix",
        /// Data written by a peer is sent back, to the address in a register.
        Reflector = "reflector",
    }
}

impl UserLogic {
    /// Whether the user circuit supplies and accepts data at any time, so that no FIFO is ever empty or full.
    pub fn never_stalls(self) -> bool {
        matches!(self, Self::SourceSink | Self::Reflector)
    }
}

/// A FIFO of bytes.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    bytes: VecDeque<u8>,
    pub(super) size: usize,
}

impl Fifo {
    fn new(size: usize) -> Self {
        Fifo {
            bytes: VecDeque::new(),
            size,
        }
    }

    /// Number of bytes in the FIFO.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Free space in bytes.
    pub(super) fn room(&self) -> usize {
        self.size - self.bytes.len()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.room(), "a FIFO never overflows");
        self.bytes.extend(bytes);
    }

    /// Removes as many bytes as `into` has; the FIFO must contain as many.
    pub(super) fn pop(&mut self, into: &mut [u8]) {
        let (front, back) = self.bytes.as_slices();
        let (first, rest) = into.split_at_mut(front.len().min(into.len()));
        first.copy_from_slice(&front[..first.len()]);
        rest.copy_from_slice(&back[..rest.len()]);
        self.bytes.drain(..into.len());
    }
}

/// The four FIFOs with the circuit between them.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) logic: UserLogic,
    /// Data read from host memory.
    pub(super) rx: Fifo,
    /// Data to write to host memory.
    pub(super) tx: Fifo,
    /// Data written by peers.
    pub(super) ep_rx: Fifo,
    /// Data to write to peers.
    pub(super) ep_tx: Fifo,
}

impl User {
    pub(super) fn new(logic: UserLogic, size: usize) -> Self {
        let fifo = || Fifo::new(size);
        User {
            logic,
            rx: fifo(),
            tx: fifo(),
            ep_rx: fifo(),
            ep_tx: fifo(),
        }
    }

    /// Moves data between the FIFOs as far as possible, because the user circuit is no slower than the link. Returns whether any data was moved.
    pub(super) fn pass(&mut self, crossed: bool) -> bool {
        let User {
            logic,
            rx,
            tx,
            ep_rx,
            ep_tx,
        } = self;
        match (*logic, crossed) {
            (UserLogic::SourceSink | UserLogic::Reflector, _) => false,
            (UserLogic::Loopback, _) => pass(rx, tx),
            (UserLogic::Matrix, false) => pass(rx, tx) | pass(ep_rx, ep_tx),
            (UserLogic::Matrix, true) => pass(rx, ep_tx) | pass(ep_rx, tx),
        }
    }
}

fn pass(from: &mut Fifo, to: &mut Fifo) -> bool {
    let len = from.len().min(to.room());
    to.bytes.extend(from.bytes.drain(..len));
    len > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(logic: UserLogic) -> User {
        let mut user = User::new(logic, 8);
        user.rx.push(b"rx");
        user.ep_rx.push(b"ep");
        user
    }

    fn content(fifo: &mut Fifo) -> Vec<u8> {
        let mut bytes = vec![0; fifo.len()];
        fifo.pop(&mut bytes);
        bytes
    }

    #[test]
    fn the_matrix_is_straight_or_crossed() {
        let mut straight = filled(UserLogic::Matrix);
        assert!(straight.pass(false));
        assert_eq!(
            (content(&mut straight.tx), content(&mut straight.ep_tx)),
            (b"rx".to_vec(), b"ep".to_vec())
        );
        let mut crossed = filled(UserLogic::Matrix);
        assert!(crossed.pass(true));
        assert_eq!(
            (content(&mut crossed.tx), content(&mut crossed.ep_tx)),
            (b"ep".to_vec(), b"rx".to_vec())
        );
    }

    #[test]
    fn no_more_passes_than_there_is_room_for() {
        let mut user = User::new(UserLogic::Loopback, 8);
        user.tx.push(b"123456");
        user.rx.push(b"abcd");
        assert!(user.pass(false));
        assert_eq!((user.tx.room(), user.rx.len()), (0, 2));
        assert!(!user.pass(false));
    }
}

//! The user circuit between the four FIFOs.

use std::collections::VecDeque;

use kernel::{Span, Time};

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

/// The clock of a user circuit, and the number of bytes that the circuit moves in each cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserClock {
    pub(super) cycle: Span,
    pub(super) width: usize,
}

impl UserClock {
    fn time_of(self, bytes: usize) -> Span {
        self.cycle * bytes.div_ceil(self.width) as u64
    }
}

/// A FIFO of bytes. If the user circuit is a source or a sink of any data, the FIFO has no bytes, but the circuit fills it or empties it at the
/// circuit's clock.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    bytes: VecDeque<u8>,
    pub(super) size: usize,
    clock: Option<UserClock>,
    /// The time at which a source has filled the FIFO, or a sink has emptied it, if the engine moves no more bytes.
    settled: Time,
}

impl Fifo {
    fn new(size: usize, clock: Option<UserClock>) -> Self {
        Fifo {
            bytes: VecDeque::new(),
            size,
            clock,
            settled: Time::ZERO,
        }
    }

    /// The time, if it is after `now`, at which a source has supplied `len` bytes, or a sink has space for as many.
    pub(super) fn waits_for(&self, len: usize, now: Time) -> Option<Time> {
        let clock = self.clock?;
        let ahead = clock.cycle * ((self.size - len.min(self.size)) / clock.width) as u64;
        (self.settled > now + ahead).then(|| now + (self.settled.since(now) - ahead))
    }

    /// Gives a source or a sink the work of `len` more bytes.
    pub(super) fn give_work(&mut self, len: usize, now: Time) {
        if let Some(clock) = self.clock {
            self.settled = self.settled.max(now) + clock.time_of(len);
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
    clock: Option<UserClock>,
    /// For each FIFO from which data is passed, the time from which the circuit may pass more.
    free_at: [Time; 2],
}

/// The number of bytes that the user circuit passes at a time, if its clock limits it.
const STEP: usize = 64;

impl User {
    /// A user circuit with `clock`; with none, the circuit is no slower than the link.
    pub(super) fn new(logic: UserLogic, size: usize, clock: Option<UserClock>) -> Self {
        let fifo = || Fifo::new(size, clock.filter(|_| logic.never_stalls()));
        User {
            clock,
            free_at: [Time::ZERO; 2],
            logic,
            rx: fifo(),
            tx: fifo(),
            ep_rx: fifo(),
            ep_tx: fifo(),
        }
    }

    /// Moves data between the FIFOs, as far as their space and the clock of the user circuit permit. Returns whether any data was moved.
    pub(super) fn pass(&mut self, crossed: bool, now: Time) -> bool {
        let User {
            logic,
            rx,
            tx,
            ep_rx,
            ep_tx,
            clock,
            free_at: [rx_free_at, ep_rx_free_at],
        } = self;
        let (straight, other) = match (*logic, crossed) {
            (UserLogic::SourceSink | UserLogic::Reflector, _) => return false,
            (UserLogic::Loopback, _) => return pass(rx, tx, (*clock, rx_free_at), now),
            (UserLogic::Matrix, false) => (tx, ep_tx),
            (UserLogic::Matrix, true) => (ep_tx, tx),
        };
        pass(rx, straight, (*clock, rx_free_at), now)
            | pass(ep_rx, other, (*clock, ep_rx_free_at), now)
    }

    /// The time after `now` at which the circuit may pass more data, if its clock is what it waits for.
    pub(super) fn passes_at(&self, now: Time) -> Time {
        let waits = [&self.rx, &self.ep_rx].into_iter().zip(self.free_at);
        let later = waits.filter(|(from, free_at)| from.len() > 0 && *free_at > now);
        later
            .map(|(_, free_at)| free_at)
            .min()
            .unwrap_or(Time::NEVER)
    }
}

fn pass(
    from: &mut Fifo,
    to: &mut Fifo,
    (clock, free_at): (Option<UserClock>, &mut Time),
    now: Time,
) -> bool {
    let mut len = from.len().min(to.room());
    if let Some(clock) = clock {
        if *free_at > now {
            return false;
        }
        len = len.min(STEP);
        *free_at = now + clock.time_of(len);
    }
    to.bytes.extend(from.bytes.drain(..len));
    len > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(logic: UserLogic) -> User {
        let mut user = User::new(logic, 8, None);
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
        assert!(straight.pass(false, Time::ZERO));
        assert_eq!(
            (content(&mut straight.tx), content(&mut straight.ep_tx)),
            (b"rx".to_vec(), b"ep".to_vec())
        );
        let mut crossed = filled(UserLogic::Matrix);
        assert!(crossed.pass(true, Time::ZERO));
        assert_eq!(
            (content(&mut crossed.tx), content(&mut crossed.ep_tx)),
            (b"ep".to_vec(), b"rx".to_vec())
        );
    }

    #[test]
    fn no_more_passes_than_there_is_room_for() {
        let mut user = User::new(UserLogic::Loopback, 8, None);
        user.tx.push(b"123456");
        user.rx.push(b"abcd");
        assert!(user.pass(false, Time::ZERO));
        assert_eq!((user.tx.room(), user.rx.len()), (0, 2));
        assert!(!user.pass(false, Time::ZERO));
    }

    const CLOCK: UserClock = UserClock {
        cycle: Span::from_ns(10),
        width: 8,
    };

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn a_slow_clock_passes_a_step_after_the_other() {
        let mut user = User::new(UserLogic::Loopback, 128, Some(CLOCK));
        user.rx.push(&[1; 100]);
        assert!(user.pass(false, at(0)) && !user.pass(false, at(0)));
        assert_eq!((user.tx.len(), user.passes_at(at(0))), (64, at(80)));
        assert!(user.pass(false, at(80)) && !user.pass(false, at(90)));
        assert_eq!((user.tx.len(), user.passes_at(at(80))), (100, Time::NEVER));
    }

    #[test]
    fn a_source_fills_its_fifo_at_its_clock() {
        let mut fifo = Fifo::new(128, Some(CLOCK));
        assert_eq!(fifo.waits_for(128, at(0)), None);
        fifo.give_work(128, at(0));
        // 128 bytes take 16 cycles.
        assert_eq!(fifo.waits_for(128, at(0)), Some(at(160)));
        assert_eq!(fifo.waits_for(64, at(0)), Some(at(80)));
        assert_eq!(fifo.waits_for(64, at(80)), None);
        fifo.give_work(64, at(80));
        assert_eq!(fifo.waits_for(8, at(80)), Some(at(90)));
    }
}

//! ASPM L1: the handshake by which the two ends of a link agree to enter L1 (PCIe Base 5.4.1.2.1), without the link end itself.

use kernel::{Span, Time};
use protocol::{Dllp, FunctionId};

/// The L1 state of one end of a link: its permission to enter L1, the progress of the handshake, and the time spent in L1.
#[derive(Clone, Debug)]
pub(crate) struct ActiveState {
    /// Whether the end is the upstream port of its component, which requests L1. The downstream port at the other end answers the request.
    asks: bool,
    /// The time without packets after which the end requests L1.
    entry: Span,
    /// L1 Entry Enabled in the ASPM Control field.
    pub(crate) is_enabled: bool,
    /// Whether the component permits L1. A switch permits L1 only while no link of its downstream ports is in L0.
    pub(crate) is_permitted: bool,
    /// The function of the port, which is the requester of the message that refuses L1 (`PM_Active_State_Nak`).
    pub(crate) port: FunctionId,
    /// Whether the function adds an ECRC to the packets that it sends.
    pub(crate) adds_digest: bool,
    handshake: Handshake,
    /// The time at which the next DLLP of the handshake is due.
    next_dllp: Time,
    /// The time at which the end began to request L1.
    asked_at: Time,
    /// The earliest time at which the end may request L1.
    may_ask_from: Time,
    /// The time until which a further request DLLP counts as a repetition of the request that was refused.
    refused_until: Time,
    rest: Rest,
    /// The time in L1, without a stay in L1 that has not ended.
    in_l1: Span,
    entries: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// No handshake is under way.
    None,
    /// The lower end of the link has nothing to send, and requests L1.
    Asking,
    /// The upper end of the link agrees, and waits until everything that it has sent is acknowledged.
    Agreeing,
    /// The upper end of the link sends `PM_Request_Ack` DLLPs until the lower end is electrically idle.
    Acknowledging,
    /// The upper end of the link does not agree. Its refusal message has not been sent yet.
    Refusing,
}

/// The state of an end that is in L1 or is leaving L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    None,
    /// The end is in L1 since this time.
    Since(Time),
    /// The end is in Recovery, on the way from L1 to L0.
    Ending,
}

impl ActiveState {
    /// The state of an end in L0 that may not enter L1.
    pub(crate) fn new(asks: bool, entry: Span) -> Self {
        ActiveState {
            asks,
            entry,
            is_enabled: false,
            is_permitted: true,
            port: FunctionId::default(),
            adds_digest: false,
            handshake: Handshake::None,
            next_dllp: Time::ZERO,
            asked_at: Time::ZERO,
            may_ask_from: Time::ZERO,
            refused_until: Time::ZERO,
            rest: Rest::None,
            in_l1: Span::ZERO,
            entries: 0,
        }
    }

    pub(crate) fn enable(&mut self, is_enabled: bool, port: FunctionId, adds_digest: bool) {
        (self.is_enabled, self.port, self.adds_digest) = (is_enabled, port, adds_digest);
    }

    /// Sets whether the component permits L1. Returns whether the value has changed.
    pub(crate) fn permit(&mut self, is_permitted: bool) -> bool {
        std::mem::replace(&mut self.is_permitted, is_permitted) != is_permitted
    }

    pub(crate) fn handshake(&self) -> Handshake {
        self.handshake
    }

    /// Whether a handshake is under way. The end sends no new packets during a handshake.
    pub(crate) fn is_under_way(&self) -> bool {
        self.handshake != Handshake::None
    }

    /// Whether the end would request L1 if it were idle.
    pub(crate) fn may_ask(&self) -> bool {
        self.asks && self.is_enabled && self.is_permitted && self.handshake == Handshake::None
    }

    /// The earliest time at which an end that was last busy at `busy` requests L1.
    pub(crate) fn asks_at(&self, busy: Time) -> Time {
        (busy + self.entry).max(self.may_ask_from)
    }

    /// The time after which an idle end checks again whether it can request L1, if missing credit or a missing acknowledgement prevents the
    /// request now. This case is rare, so the time is at least as long as the pause after a refusal.
    pub(crate) fn looks_again_after(&self) -> Span {
        self.entry.max(PAUSE)
    }

    /// Begins to request L1 at `now`.
    pub(crate) fn ask(&mut self, now: Time) {
        self.handshake = Handshake::Asking;
        (self.asked_at, self.next_dllp) = (now, now);
    }

    /// The time at which an end that has packets to send stops waiting for the answer to its L1 request.
    pub(crate) fn gives_up_at(&self) -> Time {
        self.asked_at + ANSWER_LIMIT
    }

    /// Handles an L1 request from the lower end of the link. `is_free` means that this end has no packets to send. Requests that arrive
    /// within 9.5 us of a refused request count as repetitions of it.
    pub(crate) fn receive_request(&mut self, now: Time, is_free: bool) {
        if self.asks || self.is_under_way() {
            return;
        }
        let is_new = now >= self.refused_until;
        let agrees = self.is_enabled && is_free;
        if is_new && agrees {
            self.handshake = Handshake::Agreeing;
            return;
        }
        self.refused_until = now + SAME_REQUEST;
        if is_new {
            self.handshake = Handshake::Refusing;
        }
    }

    /// Begins to send `PM_Request_Ack` at `now`.
    pub(crate) fn acknowledge(&mut self, now: Time) {
        self.handshake = Handshake::Acknowledging;
        self.next_dllp = now;
    }

    /// Ends the handshake, because the refusal message has been sent or the end enters L1.
    pub(crate) fn end_handshake(&mut self) {
        self.handshake = Handshake::None;
    }

    /// Handles a refusal message from the far end. Returns whether this end had requested L1.
    pub(crate) fn receive_refusal(&mut self, now: Time) -> bool {
        let is_answer = self.handshake == Handshake::Asking;
        if is_answer {
            self.handshake = Handshake::None;
            self.may_ask_from = now + PAUSE;
        }
        is_answer
    }

    /// The handshake DLLP that is due at `now`.
    pub(crate) fn due_dllp(&self, now: Time) -> Option<Dllp> {
        let dllp = match self.handshake {
            Handshake::Asking => Dllp::ActiveStateRequest,
            Handshake::Acknowledging => Dllp::PowerRequestAck,
            _ => return None,
        };
        (now >= self.next_dllp).then_some(dllp)
    }

    /// Records that a handshake DLLP has been sent by `end`, on a wire with symbols of this length. Returns the time of the next handshake
    /// DLLP.
    pub(crate) fn record_dllp(&mut self, end: Time, symbol: Span) -> Time {
        self.next_dllp = end + symbol * IDLE_SYMBOLS;
        self.next_dllp
    }

    /// Enters L1. The last bit of this end has been sent by `since`.
    pub(crate) fn enter(&mut self, since: Time) {
        self.rest = Rest::Since(since);
        self.entries += 1;
    }

    /// The earliest time at which the end may leave L1, or none if the end is not in L1.
    pub(crate) fn leaves_from(&self) -> Option<Time> {
        match self.rest {
            Rest::Since(since) => Some(since + LEAST_IDLE),
            _ => None,
        }
    }

    /// Leaves L0 or L1 at `now`. Returns whether the end was in L1.
    pub(crate) fn leave(&mut self, now: Time) -> bool {
        if self.is_under_way() {
            // If Recovery interrupts a handshake, the end that requested L1 treats the interruption as a refusal.
            self.may_ask_from = now + PAUSE;
            self.handshake = Handshake::None;
        }
        let Rest::Since(since) = self.rest else {
            return false;
        };
        self.in_l1 += stay(since, now);
        self.rest = Rest::Ending;
        true
    }

    /// Forgets that the end is returning from L1, because the link has gone down.
    pub(crate) fn go_down(&mut self) {
        self.rest = Rest::None;
    }

    /// Returns to L0 at `now`. Returns whether the end was in L1 before.
    pub(crate) fn resume(&mut self, now: Time) -> bool {
        self.may_ask_from = self.may_ask_from.max(now + self.entry);
        std::mem::replace(&mut self.rest, Rest::None) == Rest::Ending
    }

    /// The time in L1 until `now`, and the number of times that the end has entered L1.
    pub(crate) fn time_in_l1(&self, now: Time) -> (Span, u64) {
        let current = match self.rest {
            Rest::Since(since) => stay(since, now),
            _ => Span::ZERO,
        };
        (self.in_l1 + current, self.entries)
    }
}

/// The time between two times, or none if the second one is earlier.
fn stay(since: Time, now: Time) -> Span {
    if now > since {
        now.since(since)
    } else {
        Span::ZERO
    }
}

/// The number of symbols between two handshake DLLPs: at most 8 (PCIe Base 5.3.2.1). The maximum is used, so that the fewest DLLPs are sent.
const IDLE_SYMBOLS: u64 = 8;

/// The least time from a refusal until the next request (PCIe Base 5.4.1.2.1).
const PAUSE: Span = Span::from_us(10);

/// The time in which requests after a refusal count as repetitions of the refused request (PCIe Base 5.4.1.2.1: 9.5 us).
const SAME_REQUEST: Span = Span::from_ns(9_500);

/// The least time of electrical idle (PCIe Base 8.3.6, TTX-IDLE-MIN).
const LEAST_IDLE: Span = Span::from_ns(20);

/// The time after which an end with packets to send goes to Recovery because its L1 request is not answered. The specification has no such
/// limit: the value is our choice. Without a limit, a device whose receive buffers fill up until it can send would wait for ever.
const ANSWER_LIMIT: Span = Span::from_us(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn end(asks: bool) -> ActiveState {
        let mut end = ActiveState::new(asks, Span::from_us(2));
        end.enable(true, FunctionId::default(), false);
        end
    }

    #[test]
    fn a_refused_end_asks_again_after_10_us() {
        let mut end = end(true);
        assert_eq!(end.asks_at(at(0)), at(2_000));
        end.ask(at(2_000));
        assert!(end.receive_refusal(at(2_500)) && end.may_ask());
        assert_eq!(end.asks_at(at(0)), at(12_500));
        assert!(!end.receive_refusal(at(2_600)));
    }

    #[test]
    fn requests_within_9500_ns_of_a_refused_one_are_the_same_request() {
        let mut end = end(false);
        end.receive_request(at(0), false);
        assert_eq!(end.handshake(), Handshake::Refusing);
        end.end_handshake();
        for ns in [100, 9_500, 18_999] {
            end.receive_request(at(ns), true);
            assert_eq!(end.handshake(), Handshake::None);
        }
        end.receive_request(at(28_499), true);
        assert_eq!(end.handshake(), Handshake::Agreeing);
    }

    #[test]
    fn an_end_in_which_l1_is_not_enabled_refuses() {
        let mut end = ActiveState::new(false, Span::from_us(2));
        end.receive_request(at(0), true);
        assert_eq!(end.handshake(), Handshake::Refusing);
    }

    #[test]
    fn dllps_of_a_handshake_are_8_symbols_apart() {
        let mut end = end(true);
        end.ask(at(100));
        assert_eq!(end.due_dllp(at(100)), Some(Dllp::ActiveStateRequest));
        assert_eq!(end.record_dllp(at(104), Span::from_ns(4)), at(136));
        assert_eq!(end.due_dllp(at(135)), None);
    }

    #[test]
    fn a_handshake_that_recovery_ends_is_not_begun_again_at_once() {
        let mut end = end(true);
        end.ask(at(100));
        assert!(!end.leave(at(200)) && !end.resume(at(700)));
        assert_eq!(end.asks_at(at(0)), at(10_200));
    }
}

//! ASPM L1 of a link end: when it requests, accepts or refuses L1, and when it leaves (PCIe Base 5.4.1.2).

use kernel::Time;
use packet::{PacketId, Stamp};
use protocol::{FunctionId, Header, Kind, Message};

use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::active_state::Handshake;
use crate::ltssm::LinkState;
use crate::receiver::Delivery;
use crate::transmitter::Finished;

impl LinkEnd {
    /// Enables or disables L1 for this end, as ASPM Control says. `port` is the function that sends `PM_Active_State_Nak`, with a TLP
    /// digest if it `adds_digest`.
    /// [`watch_idle_time`](Self::watch_idle_time) must follow in a run.
    pub fn enable_l1(&mut self, is_enabled: bool, port: FunctionId, adds_digest: bool) {
        self.power.enable(is_enabled, port, adds_digest);
    }

    /// Permits this end to ask for L1, or not. An end in L1 leaves it when it is not permitted any longer.
    pub fn permit_l1(&mut self, is_permitted: bool, cx: &mut impl EndContext) -> Option<Finished> {
        if !self.power.permit(is_permitted) {
            return None;
        }
        self.watch_idle_time(cx);
        self.pump(cx)
    }

    /// Whether the link is in L1 at `now`.
    pub fn is_in_l1(&self, now: Time) -> bool {
        self.ltssm.state_at(now) == LinkState::L1
    }

    /// Whether the link is up, but packets wait until it is in L0 again.
    pub(crate) fn is_held_by_link(&self, now: Time) -> bool {
        let is_on_the_way = now < self.fails_at() && self.power.is_under_way();
        self.is_recovering(now) || self.is_in_l1(now) || is_on_the_way
    }

    /// Sets the timer of the next request, if this end may ask.
    pub fn watch_idle_time(&mut self, cx: &mut impl EndContext) {
        if self.power.may_ask() && self.state() == LinkState::L0 {
            let at = self.power.asks_at(self.last_busy()).max(cx.now());
            self.set(LinkTimer::Power, at, cx);
        }
    }

    /// The time at which a packet last left or arrived.
    fn last_busy(&self) -> Time {
        self.refresh.last_news.max(self.receiver.newest_complete())
    }

    /// Whether the end, which is in L0, has nothing to send and waits for nothing. The receiver's credit is enough for the largest packet of
    /// each class.
    fn is_quiet(&self) -> bool {
        self.is_acknowledged()
            && self.handshake.is_done()
            && self.handshake.pending() == 0
            && !self.has_work()
            && self.transmitter.has_credit_for_all(self.channels_in_use())
    }

    /// Whether neither packets wait for an acknowledgement nor DLLPs for the wire.
    fn is_acknowledged(&self) -> bool {
        self.transmitter.replay_buffer.is_empty()
            && !self.has_dllp()
            && !self.acknowledge_alarm.is_set()
            && !self.update_alarm.is_set()
    }

    /// The virtual channels that packets use, as bits by VC ID.
    fn channels_in_use(&self) -> u8 {
        if self.has_channel_capability {
            self.enabled | 1
        } else {
            u8::MAX
        }
    }

    /// Requests L1 if the end has been idle for long enough.
    pub(super) fn ask_if_idle(&mut self, cx: &mut impl EndContext) {
        if !self.power.may_ask() || self.state() != LinkState::L0 {
            return;
        }
        let now = cx.now();
        let at = self.power.asks_at(self.last_busy());
        if now < at {
            self.set(LinkTimer::Power, at, cx);
        } else if now < self.transmitter.busy_until || !self.is_quiet() {
            self.set(LinkTimer::Power, now + self.power.looks_again_after(), cx);
        } else {
            if self.refresh.is_dormant() {
                self.wake_up(cx);
            }
            self.power.ask(now);
            self.follow_state();
        }
    }

    /// Handles a request for L1 from below.
    pub(super) fn receive_request(&mut self, cx: &mut impl EndContext) {
        if self.state() != LinkState::L0 || !self.handshake.is_done() {
            return;
        }
        if self.refresh.is_dormant() {
            self.wake_up(cx);
        }
        let is_free = !self.transmitter.has_waiting();
        self.power.receive_request(cx.now(), is_free);
        self.follow_state();
    }

    /// Handles the agreement of the port above: enters L1 once no DLLP is pending.
    pub(super) fn receive_agreement(&mut self, cx: &mut impl EndContext) {
        if self.power.handshake() != Handshake::Asking || self.state() != LinkState::L0 {
            return;
        }
        self.hasten_dllps(cx.now());
        if self.is_acknowledged() {
            let step = self.ltssm.rest();
            self.take(step, cx);
        }
    }

    /// Makes the DLLPs that would be due later due at once.
    fn hasten_dllps(&mut self, now: Time) {
        self.receiver.settle(now);
        self.receiver.request_updates(now, kernel::Span::ZERO);
        if self.acknowledge_alarm.is_set() && self.refuse_at == Time::NEVER {
            self.acknowledge_now = true;
        }
    }

    /// Whether a packet that has arrived is the refusal that this end waits for, which ends here.
    pub(super) fn takes_refusal(&mut self, delivery: Delivery, cx: &mut impl EndContext) -> bool {
        let Delivery { packet, complete } = delivery;
        let content = &cx.packets()[packet];
        let charge = content.charge();
        if !is_refusal(content.header()) || !self.power.receive_refusal(cx.now()) {
            return false;
        }
        cx.packets().release(packet);
        self.follow_state();
        self.free_later(charge, complete, cx);
        self.watch_idle_time(cx);
        true
    }

    /// Uses the free wire while a handshake is under way: DLLPs go as ever, packets only again or as a refusal.
    pub(super) fn use_wire_in_handshake(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        match self.power.handshake() {
            Handshake::Asking if self.is_left_waiting(now) => self.retrain(cx),
            Handshake::Asking | Handshake::Acknowledging => self.send_in_handshake(cx),
            Handshake::Agreeing => {
                self.hasten_dllps(now);
                if !self.transmitter.replay_buffer.is_replaying() && self.is_acknowledged() {
                    self.power.acknowledge(now);
                }
                self.send_in_handshake(cx);
            }
            Handshake::Refusing if self.transmitter.can_send_own() => self.refuse(cx),
            Handshake::Refusing if self.has_work() || self.has_dllp() => self.use_wire(now, cx),
            Handshake::None | Handshake::Refusing => {}
        }
    }

    /// Whether packets have waited so long for the answer of the port above that this end gives up.
    fn is_left_waiting(&self, now: Time) -> bool {
        self.transmitter.has_waiting() && now >= self.power.gives_up_at()
    }

    /// Sends the DLLPs that are due, and then the one of the handshake or a packet again.
    fn send_in_handshake(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        let is_replaying = self.transmitter.replay_buffer.is_replaying();
        if !self.has_dllp() && !is_replaying && self.power.due_dllp(now).is_none() {
            return;
        }
        let Some(at) = self.begin_transmission(cx) else {
            return;
        };
        if is_replaying {
            self.transmitter.send_packet(at, cx);
            self.await_acknowledgement(cx);
            self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
        } else if let Some(dllp) = self.power.due_dllp(now) {
            // A run ends although ends ask or agree, but not before packets that wait for them have left.
            let is_awaited = self.transmitter.has_waiting();
            self.transmitter.send_dllp(at, (dllp, is_awaited), cx);
            let end = self.transmitter.busy_until;
            let next = self.power.record_dllp(end, self.timing().symbol());
            self.set(LinkTimer::Power, next, cx);
            if is_awaited {
                cx.wake_at(LinkTimer::Power, next);
            }
        }
    }

    /// Sends ordered sets and DLLPs that go before anything else. Returns the time at which the wire is free after them, or none if the
    /// timer of the wire is set.
    fn begin_transmission(&mut self, cx: &mut impl EndContext) -> Option<Time> {
        let now = cx.now();
        let mut at = self.transmitter.next_slot(now, cx);
        let mut is_due_later = at > now && at == self.transmitter.busy_until;
        if !is_due_later && self.has_dllp() {
            at = self.send_dllps(at, cx);
            is_due_later = self.transmitter.must_skip(at);
        }
        if is_due_later {
            self.set(LinkTimer::Wire, at, cx);
            return None;
        }
        Some(at)
    }

    /// Sends the message of a refusal, ahead of the packets that wait.
    fn refuse(&mut self, cx: &mut impl EndContext) {
        let Some(at) = self.begin_transmission(cx) else {
            return;
        };
        let packet = self.refusal(cx);
        self.transmitter.send_own(at, packet, cx);
        self.refresh.record_news(at);
        self.await_acknowledgement(cx);
        self.power.end_handshake();
        self.follow_state();
        self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
    }

    fn refusal(&self, cx: &mut impl EndContext) -> PacketId {
        let header = Header::message(self.power.port, Message::ActiveStateNak);
        let packet = cx.packets().make(header, Stamp::default(), &[]);
        if self.power.adds_digest {
            cx.packets()[packet].add_digest();
        }
        packet
    }

    /// Leaves L1 if there is something to send, or if the component does not permit it any longer.
    pub(super) fn leave_l1_if_needed(&mut self, cx: &mut impl EndContext) {
        let is_needed = self.has_work() || self.has_dllp() || !self.power.is_permitted;
        let Some(earliest) = self.power.leaves_from().filter(|_| is_needed) else {
            return;
        };
        if cx.now() < earliest {
            self.set(LinkTimer::Wire, earliest, cx);
        } else {
            self.retrain(cx);
        }
    }
}

/// Whether a packet refuses L1.
fn is_refusal(header: &Header) -> bool {
    matches!(&header.kind, Kind::Message(request) if request.message == Message::ActiveStateNak)
}

//! ASPM L1 at a link end: when the end requests, accepts or refuses L1, and when it leaves L1 (PCIe Base 5.4.1.2).

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
    /// Enables or disables L1 for this end, as ASPM Control does. `port` is the function that sends `PM_Active_State_Nak`, with a TLP digest
    /// if `adds_digest`. In a run, the caller must call [`watch_idle_time`](Self::watch_idle_time) afterwards.
    pub fn enable_l1(&mut self, is_enabled: bool, port: FunctionId, adds_digest: bool) {
        self.power.enable(is_enabled, port, adds_digest);
    }

    /// Permits or forbids that this end requests L1. If L1 is forbidden, an end in L1 leaves L1.
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

    /// Whether the link is up, but packets have to wait until it is in L0 again.
    pub(crate) fn is_held_by_link(&self, now: Time) -> bool {
        let is_on_the_way = now < self.fails_at() && self.power.is_under_way();
        self.is_recovering(now) || self.is_in_l1(now) || is_on_the_way
    }

    /// Sets the timer of the next L1 request, if this end may request L1.
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

    /// Whether the end, which is in L0, has nothing to send and waits for nothing, and has enough credit for the largest packet of each
    /// class.
    fn is_quiet(&self) -> bool {
        self.is_acknowledged()
            && self.handshake.is_done()
            && self.handshake.pending() == 0
            && !self.has_work()
            && self.transmitter.has_credit_for_all(self.channels_in_use())
    }

    /// Whether no packet waits for an acknowledgement and no DLLP waits for the wire.
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

    /// Handles an L1 request from the lower end of the link.
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

    /// Handles the agreement of the upper end of the link: enters L1 as soon as no DLLP is pending.
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

    /// Makes DLLPs due at once that would be due later.
    fn hasten_dllps(&mut self, now: Time) {
        self.receiver.settle(now);
        self.receiver.request_updates(now, kernel::Span::ZERO);
        if self.acknowledge_alarm.is_set() && self.refuse_at == Time::NEVER {
            self.acknowledge_now = true;
        }
    }

    /// Whether a packet that has arrived is the refusal of L1 that this end waits for. If it is, the packet is consumed by this end.
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

    /// Uses the free wire while an L1 handshake is under way. DLLPs are sent normally. The only packets sent are replays and the message of
    /// a refusal.
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

    /// Whether packets have waited so long for the answer of the upper end that this end stops waiting.
    fn is_left_waiting(&self, now: Time) -> bool {
        self.transmitter.has_waiting() && now >= self.power.gives_up_at()
    }

    /// Sends the DLLPs that are due, and then a DLLP of the L1 handshake or a replayed packet.
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
            // A run may end while ends request L1 or agree to it. It does not end before the packets that wait for the handshake have left.
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

    /// Sends the ordered sets and DLLPs that have priority. Returns the time at which the wire is free afterwards, or none if the timer of
    /// the wire was set instead.
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

    /// Sends the message that refuses L1, before the packets that wait.
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

    /// Leaves L1 if there is something to send, or if the component no longer permits L1.
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

/// Whether a packet is the message that refuses L1.
fn is_refusal(header: &Header) -> bool {
    matches!(&header.kind, Kind::Message(request) if request.message == Message::ActiveStateNak)
}

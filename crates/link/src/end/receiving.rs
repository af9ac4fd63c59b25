//! Frames that arrive at a link end: packets and their acknowledgement, and DLLPs.

use kernel::Time;
use packet::{Charge, Frame, TlpFrame, Verdict};
use protocol::{CorrectableError, Dllp};

use super::errors::{observe_dllp, observe_packet};
use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::ltssm::LinkState;
use crate::receiver::{Arrival, Delivery};
use crate::transmitter::Finished;

impl LinkEnd {
    /// Handles a frame that has arrived.
    pub fn receive(
        &mut self,
        frame: Frame,
        cx: &mut impl EndContext,
    ) -> (Option<Arrival>, Option<Finished>) {
        if self.is_outside_l0(cx.now()) {
            return self.receive_outside_l0(frame, cx);
        }
        self.receive_frame(frame, cx)
    }

    /// Accepts a frame that has arrived, if it is the next packet in sequence and needs no other action. For any other frame nothing has
    /// changed, and the caller must call [`receive`](Self::receive).
    #[inline(always)]
    pub fn accept_next(&mut self, frame: &Frame, cx: &mut impl EndContext) -> Option<Delivery> {
        let Frame::Tlp(frame) = frame else {
            return None;
        };
        let is_acknowledged = self.unacknowledged + 1 == self.acknowledge_packets;
        let is_urgent = self.refuse_now || self.acknowledge_now || is_acknowledged;
        if is_urgent || !self.is_regular(frame, cx) || self.is_outside_l0(cx.now()) {
            return None;
        }
        let (charge, complete) = self.content(frame, cx);
        self.receive_traffic(cx);
        Some(self.accept(frame, charge, complete, cx))
    }

    #[inline(always)]
    pub(super) fn receive_frame(
        &mut self,
        frame: Frame,
        cx: &mut impl EndContext,
    ) -> (Option<Arrival>, Option<Finished>) {
        let Frame::Tlp(frame) = frame else {
            return (None, self.receive_between_packets(frame, cx));
        };
        let arrival = self.receive_packet(&frame, cx);
        if arrival.is_none() {
            cx.packets().release(frame.packet);
        }
        let urgent = self.refuse_now || self.acknowledge_now;
        (arrival, if urgent { self.pump(cx) } else { None })
    }

    fn receive_between_packets(
        &mut self,
        frame: Frame,
        cx: &mut impl EndContext,
    ) -> Option<Finished> {
        match frame {
            Frame::Dllp(sent) => self.receive_dllp(sent, cx),
            Frame::OrderedSet(set) => self.receive_ordered_set(set, cx),
            _ => panic!("a PCI Express link carries only TLPs, DLLPs and ordered sets"),
        }
    }

    fn receive_dllp(&mut self, sent: [u8; 6], cx: &mut impl EndContext) -> Option<Finished> {
        let length = self.transmitter.timing().length(protocol::DLLP_BYTES);
        let Some(wrong) = self.wrong_bits(cx.now(), length, cx) else {
            observe_dllp(sent, Verdict::Unframed, &[], cx);
            return None;
        };
        let mut bytes = sent;
        for bit in &wrong {
            if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
                *byte ^= 1 << (bit % 8);
            } else {
                let has_tokens = self.receiver.has_tokens();
                let verdict = if has_tokens {
                    Verdict::Unframed
                } else {
                    Verdict::Discarded
                };
                observe_dllp(sent, verdict, &wrong, cx);
                if has_tokens {
                    self.report_framing_error(cx);
                }
                return None;
            }
        }
        // A DLLP with a bad CRC is discarded. Its information will be sent again (PCIe Base 3.6.2.2).
        let Ok(dllp) = Dllp::parse(&bytes) else {
            observe_dllp(sent, Verdict::Discarded, &wrong, cx);
            self.record(CorrectableError::BadDllp, cx);
            return None;
        };
        observe_dllp(sent, Verdict::Accepted, &wrong, cx);
        self.obey(dllp, cx);
        self.pump(cx)
    }

    /// The time at which the last bit of a packet that is received now arrives.
    pub(super) fn complete(&self, frame: &TlpFrame, cx: &mut impl EndContext) -> Time {
        self.content(frame, cx).1
    }

    /// The credits of a packet that is received now, and the time at which its last bit arrives.
    #[inline(always)]
    fn content(&self, frame: &TlpFrame, cx: &mut impl EndContext) -> (Charge, Time) {
        let now = cx.now();
        let content = &cx.packets()[frame.packet];
        let mut complete = now;
        if self.cut_through {
            let rest = content.wire_len() - content.wire_len_to_header();
            complete = now + self.transmitter.timing().length(rest);
        }
        (content.charge(), complete)
    }

    #[inline(always)]
    fn receive_packet(&mut self, frame: &TlpFrame, cx: &mut impl EndContext) -> Option<Arrival> {
        if !self.is_regular(frame, cx) {
            return self.receive_closely(frame, cx);
        }
        self.receive_traffic(cx);
        let (charge, complete) = self.content(frame, cx);
        Some(Arrival::Packet(self.accept(frame, charge, complete, cx)))
    }

    /// Whether a packet is the next one in sequence, on a wire without bit errors and without probes.
    #[inline(always)]
    fn is_regular(&self, frame: &TlpFrame, cx: &impl EndContext) -> bool {
        let is_next = self.receiver.expects(frame.sequence) && !frame.nullified;
        is_next && !self.receiver.has_errors() && !self.may_truncate && !cx.watched()
    }

    /// Receives a packet that is not the next one in sequence, or any packet on a wire with bit errors or with probes.
    fn receive_closely(&mut self, frame: &TlpFrame, cx: &mut impl EndContext) -> Option<Arrival> {
        let packet = frame.packet;
        let wire_len = cx.packets()[packet].wire_len();
        let (charge, complete) = self.content(frame, cx);
        let length = self.transmitter.timing().length(wire_len);
        let Some(wrong) = self.wrong_bits(complete, length, cx) else {
            observe_packet(frame, Verdict::Unframed, &[], complete, cx);
            return None;
        };
        self.receive_traffic(cx);
        let expected = self.receiver.expects(frame.sequence);
        if self.may_truncate && self.is_truncated(cx.now(), complete) {
            observe_packet(frame, Verdict::LinkDown, &wrong, complete, cx);
            let is_forwarded = expected && !frame.nullified;
            return is_forwarded.then_some(Arrival::Corrupt(Delivery { packet, complete }));
        }
        let verdict = self.receiver.judge(frame, &wrong, cx.packets());
        observe_packet(frame, verdict, &wrong, complete, cx);
        if verdict == Verdict::Accepted {
            return Some(Arrival::Packet(self.accept(frame, charge, complete, cx)));
        }
        self.reject(verdict, complete, cx);
        // A cut-through port does not start to forward a packet that is out of sequence.
        let is_forwarded = self.cut_through && expected && verdict != Verdict::Unframed;
        is_forwarded.then_some(Arrival::Corrupt(Delivery { packet, complete }))
    }

    /// Stores an accepted packet in its receive buffer.
    #[inline(always)]
    fn accept(
        &mut self,
        frame: &TlpFrame,
        charge: Charge,
        complete: Time,
        cx: &mut impl EndContext,
    ) -> Delivery {
        let packet = frame.packet;
        let now = cx.now();
        let due = if self.has_channel_capability {
            let channel = frame.channel;
            self.receiver
                .accept_recorded(channel, charge, complete, now)
        } else {
            let channel = self.channel_of(charge.traffic_class);
            self.newest = Some((channel as u8, charge));
            self.receiver.accept(channel, charge, complete, now)
        };
        if let Some(due) = due {
            self.check_credit_at(due, cx);
        }
        self.expect_acknowledgement(complete, cx);
        Delivery { packet, complete }
    }

    /// Counts an accepted packet that is complete at `complete`, and makes an Ack due for it.
    #[inline(always)]
    pub(super) fn expect_acknowledgement(&mut self, complete: Time, cx: &mut impl EndContext) {
        self.unacknowledged += 1;
        if self.unacknowledged == self.acknowledge_packets {
            self.acknowledge_packets_at(complete, cx);
        } else if !self.acknowledge_alarm.is_set() {
            let limit = complete + self.acknowledge_limit;
            self.set(LinkTimer::Acknowledge, limit, cx);
        }
    }

    /// Makes an Ack due when the packet that is complete at `complete` has arrived.
    fn acknowledge_packets_at(&mut self, complete: Time, cx: &mut impl EndContext) {
        if complete == cx.now() {
            self.acknowledge_now = true;
        } else {
            // The Ack latency limit of an earlier packet may expire earlier.
            let due = self.acknowledge_alarm.deadline().min(complete);
            self.set(LinkTimer::Acknowledge, due, cx);
        }
    }

    /// Acts on a received DLLP.
    fn obey(&mut self, dllp: Dllp, cx: &mut impl EndContext) {
        match dllp {
            Dllp::Ack { sequence } => self.acknowledged(sequence, cx),
            Dllp::Nak { sequence } => {
                self.acknowledged(sequence, cx);
                self.replay_alarm.clear();
                self.replay_left = None;
                self.send_again(cx);
            }
            Dllp::Feature {
                acknowledges,
                scaled_flow_control,
            } => {
                let effect = self
                    .handshake
                    .receive_feature(acknowledges, scaled_flow_control);
                self.exchange_features(effect, cx);
            }
            Dllp::InitFc1(credit) => self.receive_init_fc(&credit, false, cx),
            Dllp::InitFc2(credit) => self.receive_init_fc(&credit, true, cx),
            Dllp::UpdateFc(credit) => {
                self.receive_traffic(cx);
                if credit.channel > 0 && !self.receive_channel_update(&credit, cx) {
                    return;
                }
                self.transmitter.raise(&credit);
            }
            Dllp::ActiveStateRequest => self.receive_request(cx),
            Dllp::PowerRequestAck => self.receive_agreement(cx),
        }
    }

    fn acknowledged(&mut self, sequence: u16, cx: &mut impl EndContext) {
        if self.transmitter.replay_buffer.acknowledge(sequence, cx) {
            self.replays = 0;
            let is_awaited = !self.transmitter.replay_buffer.is_empty();
            if self.is_outside_l0(cx.now()) && self.ltssm.state() != LinkState::L0 {
                self.replay_left = is_awaited.then_some(self.replay_limit);
            } else if is_awaited {
                self.set(LinkTimer::Replay, cx.now() + self.replay_limit, cx);
            } else {
                self.replay_alarm.clear();
            }
        }
    }

    fn receive_traffic(&mut self, cx: &mut impl EndContext) {
        if self.handshake.receive_traffic() {
            self.come_up(cx);
        }
    }

    /// Makes the Nak of a bad packet due if its last bit has arrived by `now`.
    pub(super) fn refuse_arrived(&mut self, now: Time) {
        if self.refuse_at <= now {
            self.refuse_at = Time::NEVER;
            self.refuse_now = true;
        }
    }
}

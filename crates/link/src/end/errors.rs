//! Errors of packets that arrive at a link end: the report to the probes, and the reaction of the end.

use kernel::{Span, Time};
use packet::{Frame, Incident, Observation, Site, TlpFrame, Verdict};
use protocol::CorrectableError;

use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::ltssm::LinkState;

impl LinkEnd {
    /// Returns the corrected errors, as bits of Correctable Error Status, and clears them.
    pub fn take_repaired(&mut self) -> u32 {
        std::mem::take(&mut self.repaired)
    }

    /// Handles a TLP that is not accepted. The last bit of the TLP arrives at `complete`.
    pub(super) fn reject(&mut self, verdict: Verdict, complete: Time, cx: &mut impl EndContext) {
        match verdict {
            Verdict::Duplicate => self.acknowledge_now = true,
            Verdict::Nak if complete > cx.now() => {
                self.record(CorrectableError::BadTlp, cx);
                self.refuse_at = complete;
                // If an Ack is due earlier, it is sent first.
                if self.acknowledge_alarm.deadline() > complete {
                    self.set(LinkTimer::Acknowledge, complete, cx);
                }
            }
            Verdict::Nak => {
                self.record(CorrectableError::BadTlp, cx);
                self.refuse_now = true;
                self.acknowledge_alarm.clear();
            }
            Verdict::Unframed => self.report_framing_error(cx),
            Verdict::Accepted | Verdict::Nullified | Verdict::Discarded | Verdict::LinkDown => {}
        }
    }

    /// The damaged bits of a frame that is complete at `complete`. Damage between this frame and the previous one is recorded. The result is
    /// none if this damage was a framing error, because then the frame is not recognised.
    pub(super) fn wrong_bits(
        &mut self,
        complete: Time,
        length: Span,
        cx: &mut impl EndContext,
    ) -> Option<Vec<u64>> {
        if !self.receiver.has_errors() {
            return Some(Vec::new());
        }
        let start = Time::from_fs(complete.as_fs().saturating_sub(length.as_fs()));
        let timing = *self.transmitter.timing();
        let (wrong, is_idle_damaged) = self.receiver.wrong_bits(&timing, start, complete);
        if is_idle_damaged && self.receiver.has_tokens() {
            self.report_framing_error(cx);
            return None;
        }
        if is_idle_damaged {
            self.record(CorrectableError::ReceiverError, cx);
        }
        self.watch_for_damage(cx);
        Some(wrong)
    }

    /// Sets the timer of the next damage between frames. Only after the time of the longest frame is it certain whether a wrong bit belongs
    /// to a frame.
    pub(super) fn watch_for_damage(&mut self, cx: &mut impl EndContext) {
        let timing = *self.transmitter.timing();
        if !self.receiver.has_tokens() {
            return;
        }
        if let Some(wrong) = self.receiver.next_wrong_bit(&timing) {
            let known = wrong + self.rates.longest_frame(&timing);
            self.set(LinkTimer::Framing, known, cx);
        }
    }

    /// Reports the damage to idle tokens, sync headers and ordered sets that arrived between frames.
    pub(super) fn find_damage_between_frames(&mut self, cx: &mut impl EndContext) {
        let timing = *self.transmitter.timing();
        let Some(wrong) = self.receiver.next_wrong_bit(&timing) else {
            return;
        };
        if self.state() != LinkState::L0 {
            return;
        }
        if wrong + self.rates.longest_frame(&timing) > cx.now() {
            self.watch_for_damage(cx);
        } else if self.receiver.is_idle_damaged(&timing, wrong) {
            self.report_framing_error(cx);
        }
    }

    /// Handles the end of the far end's data stream, when the first TS1 of the far end has arrived.
    pub(super) fn end_stream(&mut self, cx: &mut impl EndContext) {
        let timing = *self.transmitter.timing();
        let is_processed = !self.receiver.is_stream_stopped();
        if self.receiver.is_idle_damaged(&timing, cx.now()) && is_processed {
            self.record(CorrectableError::ReceiverError, cx);
        }
    }

    /// Records a framing error of Gen3 and later, which is a Receiver Error. The receiver stops processing the data stream and directs the
    /// link to Recovery (PCIe Base 4.2.2.3.3). Lost packets are sent again by the rules for Ack and Nak.
    pub(super) fn report_framing_error(&mut self, cx: &mut impl EndContext) {
        self.record(CorrectableError::ReceiverError, cx);
        self.receiver.stop_stream();
        if self.state() == LinkState::L0 {
            self.retrain(cx);
        }
    }

    /// Discards a frame, because the link is down or the receiver does not process the data stream.
    pub(super) fn lose(&mut self, frame: Frame, verdict: Verdict, cx: &mut impl EndContext) {
        match frame {
            Frame::Tlp(frame) => {
                let end = self.complete(&frame, cx);
                observe_packet(&frame, verdict, &[], end, cx);
                cx.packets().release(frame.packet);
            }
            Frame::Dllp(bytes) => observe_dllp(bytes, verdict, &[], cx),
            _ => {}
        }
    }

    pub(super) fn record(&mut self, error: CorrectableError, cx: &mut impl EndContext) {
        self.repaired |= error.bit();
        self.set(LinkTimer::Errors, cx.now(), cx);
        cx.observe(Observation::Incident {
            site: Site::Port(cx.port()),
            what: Incident::Correctable(error),
        });
    }
}

/// Reports the arrival of a TLP.
pub(super) fn observe_packet(
    frame: &TlpFrame,
    verdict: Verdict,
    wrong: &[u64],
    end: Time,
    cx: &mut impl EndContext,
) {
    if cx.watched() {
        cx.observe(Observation::PacketArrival {
            port: cx.port(),
            sequence: frame.sequence,
            verdict,
            wrong_bits: wrong.len() as u16,
            end,
        });
    }
}

/// Reports the arrival of a DLLP.
pub(super) fn observe_dllp(
    bytes: [u8; 6],
    verdict: Verdict,
    wrong: &[u64],
    cx: &mut impl EndContext,
) {
    if cx.watched() {
        cx.observe(Observation::DllpArrival {
            port: cx.port(),
            bytes,
            verdict,
            wrong_bits: wrong.len() as u16,
        });
    }
}

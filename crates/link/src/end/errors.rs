//! Errors of packets that arrive at a link end: what it tells the probes of them, and what it does about them.

use kernel::{Span, Time};
use packet::{Incident, Observation, Site, TlpFrame};
use protocol::CorrectableError;

use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::receiver::Verdict;

impl LinkEnd {
    /// Handles a TLP that is not accepted, whose last bit arrives at `complete`.
    #[cold]
    pub(super) fn reject(&mut self, verdict: &Verdict, complete: Time, cx: &mut impl EndContext) {
        match verdict {
            Verdict::Duplicate => self.acknowledge_now = true,
            Verdict::Bad if complete > cx.now() => {
                self.record(CorrectableError::BadTlp, cx);
                self.refuse_at = complete;
                // An Ack that is due before goes first.
                if self.alarms.acknowledge.deadline() > complete {
                    self.set(LinkTimer::Acknowledge, complete, cx);
                }
            }
            Verdict::Bad => {
                self.record(CorrectableError::BadTlp, cx);
                self.refuse_now = true;
                self.alarms.acknowledge.clear();
            }
            Verdict::Unframed => self.report_framing_error(cx),
            Verdict::Accept | Verdict::Nullified | Verdict::Ignore => {}
        }
    }

    /// The damaged bits of a frame that is complete at `complete`. Damage to what came before it is recorded.
    #[inline]
    pub(super) fn wrong_bits(
        &mut self,
        complete: Time,
        length: Span,
        cx: &mut impl EndContext,
    ) -> Vec<u64> {
        if !self.receiver.has_errors() {
            return Vec::new();
        }
        self.wrong_bits_between(complete, length, cx)
    }

    #[inline(never)]
    pub(super) fn wrong_bits_between(
        &mut self,
        complete: Time,
        length: Span,
        cx: &mut impl EndContext,
    ) -> Vec<u64> {
        let start = Time::from_fs(complete.as_fs().saturating_sub(length.as_fs()));
        let timing = *self.transmitter.timing();
        let (wrong, is_idle_damaged) = self.receiver.wrong_bits(&timing, start, complete);
        if is_idle_damaged {
            self.record(CorrectableError::ReceiverError, cx);
        }
        wrong
    }

    /// Records a framing error, which is a Receiver Error at Gen3 and later (PCIe Base 4.2.2.3). The link should go to Recovery; this
    /// is not modelled, and only what was struck is lost.
    pub(super) fn report_framing_error(&mut self, cx: &mut impl EndContext) {
        if self.receiver.has_tokens() {
            self.record(CorrectableError::ReceiverError, cx);
        }
    }

    /// Records an error that the link corrects.
    #[cold]
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
#[inline]
pub(super) fn observe_packet(
    frame: &TlpFrame,
    verdict: packet::Verdict,
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
#[inline]
pub(super) fn observe_dllp(
    bytes: [u8; 6],
    verdict: packet::Verdict,
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

//! The errors that a circuit reports, and the registers and messages of its function that follow from them.

use kernel::Effects;
use packet::{Observation, Refusal};
use protocol::{Class, Header, Severity, Tag};
use transaction::FunctionPlace;

use super::{Arrivals, Circuit, Labels};
use crate::Endpoint;

/// An error that a circuit has detected (`err_kind_o`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitError {
    /// No part of the circuit serves the request.
    UnsupportedRequest,
    /// The circuit could not carry the request out, or has dropped it.
    CompleterAbort,
    /// A completion that belongs to no request, or does not fit it.
    UnexpectedCompletion,
    /// No completion came in time for the request with this tag.
    CompletionTimeout,
    /// A packet with poisoned data.
    PoisonedTlp,
    /// A packet that breaks a rule of its form.
    MalformedTlp,
    /// An error in the circuit itself that it has corrected.
    CorrectedInternal,
    /// An error in the circuit itself that it could not correct.
    UncorrectedInternal,
}

impl CircuitError {
    /// All errors, in the order of their codes from 0 on.
    pub const ALL: [CircuitError; 8] = [
        CircuitError::UnsupportedRequest,
        CircuitError::CompleterAbort,
        CircuitError::UnexpectedCompletion,
        CircuitError::CompletionTimeout,
        CircuitError::PoisonedTlp,
        CircuitError::MalformedTlp,
        CircuitError::CorrectedInternal,
        CircuitError::UncorrectedInternal,
    ];

    /// The reason why a packet was dropped; the severity of an error in the circuit itself.
    fn refusal(self) -> Result<Refusal, Severity> {
        match self {
            CircuitError::UnsupportedRequest => Ok(Refusal::UnsupportedRequest),
            CircuitError::CompleterAbort => Ok(Refusal::CompleterAbort),
            CircuitError::UnexpectedCompletion => Ok(Refusal::UnexpectedCompletion),
            CircuitError::CompletionTimeout => Ok(Refusal::CompletionTimeout),
            CircuitError::PoisonedTlp => Ok(Refusal::PoisonedTlp),
            CircuitError::MalformedTlp => Ok(Refusal::MalformedTlp),
            CircuitError::CorrectedInternal => Err(Severity::Correctable),
            CircuitError::UncorrectedInternal => Err(Severity::Fatal),
        }
    }
}

/// Records an error of the kind `code` that the circuit has reported with the header of a packet.
pub(super) fn record(
    (code, header): (u32, &[u8]),
    endpoint: &mut Endpoint,
    (labels, arrivals): (&mut Labels, &mut Arrivals),
    fx: &mut Effects<'_, Circuit>,
) {
    let Some(error) = CircuitError::ALL.get(code as usize) else {
        return;
    };
    let own = FunctionPlace::Own;
    let why = match error.refusal() {
        Err(severity) => {
            if let Some(message) = endpoint.own_error(own, severity, fx) {
                endpoint.hand_over_at(fx.now(), message, fx);
            }
            return;
        }
        Ok(Refusal::CompletionTimeout) => {
            endpoint.record_timeout(own, fx);
            let tag = Tag(header.get(TAG).copied().unwrap_or_default().into());
            let Some(read) = labels.give_up(tag) else {
                return;
            };
            let Some(flow) = read.flow else {
                return fx.observe(Observation::gave_up(read.left));
            };
            fx.observe(Observation::timed_out(flow, 0, 0));
            return fx.observe(Observation::Failed {
                flow,
                bytes: read.left,
                offset: Some(read.offset),
            });
        }
        Ok(why) => why,
    };
    let refused = arrivals.refuse(header);
    let (stamp, bytes) = refused.map_or_else(Default::default, |one| (one.stamp, one.bytes));
    labels.drop_returning(stamp);
    fx.observe(Observation::Refused {
        why,
        flow: stamp.flow,
        bytes,
        offset: Some(stamp.offset),
    });
    let is_answered =
        Header::parse(header).is_ok_and(|(header, _)| header.class() == Class::NonPosted);
    endpoint.record_detected(why, (header, is_answered), fx);
}

/// The byte of a request's header with bits 7 to 0 of its tag.
const TAG: usize = 6;

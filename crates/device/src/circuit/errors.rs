//! The errors that a circuit reports, and the registers and messages of its function that follow from them.

use kernel::Effects;
use packet::{Observation, Refusal};
use protocol::{Class, Header, Severity, Tag};
use transaction::FunctionPlace;

use super::{Arrivals, Circuit, Labels};
use crate::Endpoint;
use crate::named::named;

/// The errors that a circuit can detect, in the order of their codes from 0 on (`err_kind_o`). Each has its name in the package of constants and
/// its meaning. An error of a packet has the reason why the packet was dropped, and an error of the circuit itself has its severity.
pub const CIRCUIT_ERRORS: [(&str, &str, Result<Refusal, Severity>); 8] = named! {
    UNSUPPORTED_REQUEST: "no part of the circuit serves the request" => Ok(Refusal::UnsupportedRequest);
    COMPLETER_ABORT: "the circuit could not carry the request out, or has dropped it" => Ok(Refusal::CompleterAbort);
    UNEXPECTED_COMPLETION: "a completion that belongs to no request, or does not fit it" => Ok(Refusal::UnexpectedCompletion);
    COMPLETION_TIMEOUT: "no completion came in time for the request with this tag" => Ok(Refusal::CompletionTimeout);
    POISONED_TLP: "a packet with poisoned data" => Ok(Refusal::PoisonedTlp);
    MALFORMED_TLP: "a packet that breaks a rule of its form" => Ok(Refusal::MalformedTlp);
    CORRECTED_INTERNAL: "an error in the circuit itself that it has corrected" => Err(Severity::Correctable);
    UNCORRECTED_INTERNAL: "an error in the circuit itself that it could not correct" => Err(Severity::Fatal);
};

/// Records an error with the code `code`, which the circuit has reported together with the header of a packet.
pub(super) fn record(
    (code, header): (u32, &[u8]),
    endpoint: &mut Endpoint,
    (labels, arrivals): (&mut Labels, &mut Arrivals),
    fx: &mut Effects<'_, Circuit>,
) {
    let Some((.., error)) = CIRCUIT_ERRORS.get(code as usize) else {
        return;
    };
    let own = FunctionPlace::Own;
    let why = match *error {
        Err(severity) => {
            if let Some(message) = endpoint.own_error(own, severity, fx) {
                endpoint.hand_over_at(fx.now(), message, fx);
            }
            return;
        }
        Ok(Refusal::CompletionTimeout) => {
            let tag = Tag(header.get(TAG).copied().unwrap_or_default().into());
            let Some(read) = labels.give_up(tag) else {
                return endpoint.record_timeout(own, fx);
            };
            endpoint.give_up(own, read.flow, read.left, fx);
            let Some(flow) = read.flow else {
                return;
            };
            return fx.observe(Observation::failed(flow, read.left, Some(read.offset)));
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

/// The index of the byte in a request's header that has bits 7 to 0 of the tag.
const TAG: usize = 6;

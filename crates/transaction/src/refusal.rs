//! Packets that are dropped before they reach their target.

use kernel::{Component, Effects};
use packet::{Observation, PacketId, Pcie, Refusal};
use protocol::{Class, FunctionId, Header, Status};

/// Drops `packet`, reports this to the probes, and releases the packet. Returns the completion of a non-posted request that was not
/// executed. The caller sends it, with `completer` as its completer.
pub fn refuse<C: Component<Traffic = Pcie>>(
    packet: PacketId,
    completer: FunctionId,
    why: Refusal,
    fx: &mut Effects<'_, C>,
) -> Option<PacketId> {
    let content = &fx.store()[packet];
    let (header, stamp, lost) = (
        *content.header(),
        content.stamp,
        Observation::refused(content, why),
    );
    fx.observe(lost);
    fx.store().release(packet);
    // A request with poisoned data is not executed (PCIe Base 2.7.2.2).
    let status = match why {
        // A request that a port blocks because of its prefix (PCIe Base 2.2.10.2) or because it is an atomic operation (6.15.3.1) is not
        // executed either.
        Refusal::UnsupportedRequest
        | Refusal::NotForwarded(_)
        | Refusal::PoisonedTlp
        | Refusal::PrefixBlocked
        | Refusal::AtomicEgressBlocked => Status::UnsupportedRequest,
        // An ACS Violation is answered with Completer Abort (PCIe Base 6.12.4).
        Refusal::CompleterAbort | Refusal::AcsViolation => Status::CompleterAbort,
        _ => return None,
    };
    if header.class() != Class::NonPosted {
        return None;
    }
    let answer = Header::completion(&header, completer, status)
        .expect("a non-posted request has a completion");
    Some(fx.store().make(answer, stamp, &[]))
}

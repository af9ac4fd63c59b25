//! How a packet ends before its target, wherever it does.

use kernel::{Component, Effects};
use packet::{Observation, PacketId, Pcie, Refusal};
use protocol::{Class, FunctionId, Header, Status};

/// Ends `packet` here and lets go of it: the probes are told, and a request that nobody serves gets the answer of
/// `completer`, which is the caller's to send.
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
    if header.class() != Class::NonPosted || why != Refusal::UnsupportedRequest {
        return None;
    }
    let answer = Header::completion(&header, completer, Status::UnsupportedRequest)
        .expect("a non-posted request is answered");
    let packet = fx.store().claim();
    fx.store()[packet].write(answer, stamp);
    Some(packet)
}

//! Access Control Services (PCIe Base 6.12): whether a downstream port forwards a packet from below, and by which route.

use protocol::{AccessService, AddressType, Class, ConfigSpace, FunctionId, Header, Kind};

/// The route of a packet from below whose destination is behind a downstream port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRoute {
    /// Directly to the other downstream port.
    Direct,
    /// Upstream, towards the root complex.
    Upstream,
    /// No route: the destination is behind the port at which the packet arrived, and this port does not forward the packet upstream.
    Nowhere,
    /// No route: the request is an ACS Violation.
    Violation,
}

/// Whether `port`, which received a packet from below, detects an ACS Violation in the header alone (PCIe Base 6.12.1.1): by Source
/// Validation for requests, by Translation Blocking for memory requests. Coherence messages are not checked, because they end at the link
/// partner.
pub(crate) fn is_violation(port: &ConfigSpace, header: &Header) -> bool {
    if header.class() == Class::Completion || matches!(header.kind, Kind::Coherence(_)) {
        return false;
    }
    let forged = !is_below(port, header.requester());
    port.has_enabled(AccessService::SourceValidation) && forged
        || port.has_enabled(AccessService::TranslationBlocking)
            && address_type(header) != AddressType::Untranslated
}

/// The route of a packet with `header` that port `from` received from below (PCIe Base 6.12.3). `to` is the downstream port of the component
/// to which the packet is routed, or none if this is `from` itself.
pub(crate) fn peer_route(
    from: &ConfigSpace,
    to: Option<&ConfigSpace>,
    header: &Header,
) -> PeerRoute {
    let upstream_with = |service, otherwise| {
        if from.has_enabled(service) {
            PeerRoute::Upstream
        } else {
            otherwise
        }
    };
    let Some(to) = to else {
        return upstream_with(AccessService::UpstreamForwarding, PeerRoute::Nowhere);
    };
    match header.kind {
        Kind::Completion(_) if header.attributes.relaxed_ordering => PeerRoute::Direct,
        Kind::Completion(_) => upstream_with(AccessService::CompletionRedirect, PeerRoute::Direct),
        Kind::Message(_) | Kind::Coherence(_) => PeerRoute::Direct,
        _ if from.has_enabled(AccessService::DirectTranslated)
            && address_type(header) == AddressType::Translated =>
        {
            PeerRoute::Direct
        }
        _ if !from.has_enabled(AccessService::EgressControl) => {
            upstream_with(AccessService::RequestRedirect, PeerRoute::Direct)
        }
        _ if !from.controls_egress(to.port_number()) => PeerRoute::Direct,
        _ => upstream_with(AccessService::RequestRedirect, PeerRoute::Violation),
    }
}

/// The address type of a memory request; untranslated for all other packets.
fn address_type(header: &Header) -> AddressType {
    match &header.kind {
        Kind::MemoryRead(request) | Kind::MemoryWrite(request) => request.address_type(),
        _ => AddressType::Untranslated,
    }
}

fn is_below(port: &ConfigSpace, requester: FunctionId) -> bool {
    let (secondary, subordinate) = port.buses();
    (secondary..=subordinate).contains(&requester.bus())
}

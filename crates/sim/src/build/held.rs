//! The time that packets are in the receive buffers of ports if nothing delays them, for which default buffers have space.

use fabric::{ControllerParameters, PeerToPeer};
use kernel::Span;
use protocol::{MAX_TLP_OVERHEAD, PerClass};

use crate::plan::{LinkPlan, NodePlan};
use crate::scenario::NodeKind;

/// The time of a packet of each class in the receive buffer of the port of `node` at `link`. At a host it is that of packets to its memory or
/// to other root ports, whichever is longer, if there are any `to_peers`.
pub fn at_port(node: &NodePlan, link: &LinkPlan, to_peers: bool) -> PerClass<Span> {
    let bytes = u64::from(link.max_payload + MAX_TLP_OVERHEAD);
    let (generation, lanes) = (link.parameters.generation.0, link.parameters.lanes.0);
    let frame = Span::from_fs(generation.transmission_fs(bytes, lanes));
    match &node.kind {
        NodeKind::Host(parameters, _) => {
            let mut parameters = parameters.clone();
            if !to_peers {
                parameters.peer_to_peer = PeerToPeer::None;
            }
            let behind = if node.coherence.coherent {
                parameters
            } else {
                parameters.behind_ports()
            };
            let lookup = node.iommu.lookup_latency;
            behind.held(frame, bytes).map(|held| held + lookup)
        }
        NodeKind::Switch(parameters) => [parameters.core_latency() + frame; _],
        NodeKind::Device(endpoint, _) => [endpoint.held(bytes); _],
        NodeKind::IoPort(_) => [frame; _],
    }
}

/// The time of a packet of `bytes` in the receive buffer of a controller's cable.
pub fn at_cable(parameters: &ControllerParameters, bytes: u64) -> PerClass<Span> {
    let cycles = u64::from(parameters.crossbar_cycles) + bytes.div_ceil(16);
    let crossbar = parameters.crossbar_clock.period() * cycles;
    [parameters.cable_receive_latency + crossbar; _]
}

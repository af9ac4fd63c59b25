//! The time for which packets occupy the receive buffers of ports if nothing delays the packets. Default sizes of receive buffers are computed from
//! this time.

use fabric::{ControllerParameters, PeerToPeer};
use kernel::Span;
use protocol::{MAX_TLP_OVERHEAD, PerClass};

use crate::plan::{LinkPlan, NodePlan};
use crate::scenario::NodeKind;

/// The time for which a packet of each class occupies the receive buffer of the port of `node` at `link`. At a host, this is the time of packets to
/// its memory. With `to_peers`, packets to other root ports count as well, and the longer time applies.
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

/// The time for which a packet of `bytes` occupies the receive buffer at a controller's end of a cable.
pub fn at_cable(parameters: &ControllerParameters, bytes: u64) -> PerClass<Span> {
    let cycles = u64::from(parameters.crossbar_cycles) + bytes.div_ceil(16);
    let crossbar = parameters.crossbar_clock.period() * cycles;
    [parameters.cable_receive_latency + crossbar; _]
}

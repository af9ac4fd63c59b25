//! The pipelines of a port between its pins and its data link layer. All frames pass them, DLLPs included.

use kernel::Span;
use link::PortParameters;
use protocol::Generation;

use crate::plan::NodePlan;
use crate::scenario::NodeKind;

/// The times of frames through the receive pipeline and the transmit pipeline of a port.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    receive: Span,
    pub transmit: Span,
}

impl Pipeline {
    /// The pipelines of a port at a link of `generation`.
    pub fn of_port(port: &PortParameters, generation: Generation) -> Self {
        Pipeline {
            receive: port.receive_pipeline(generation),
            transmit: port.transmit_pipeline(generation),
        }
    }

    /// The pipelines of the ports of a node at a link of `generation`. They include the part of a switch's or host's latency that is in the port.
    pub fn of_node(node: &NodePlan, generation: Generation) -> Self {
        let part = match &node.kind {
            NodeKind::Switch(parameters) => parameters.port_latency(),
            // The latencies of a home agent begin and end at the pins.
            NodeKind::Host(..) if node.coherence.coherent => Span::ZERO,
            NodeKind::Host(parameters, _) => parameters.port_latency(),
            NodeKind::Device(..) | NodeKind::IoPort(_) => Span::ZERO,
        };
        let own = Self::of_port(&node.port, generation);
        Pipeline {
            receive: own.receive + part,
            transmit: own.transmit + part,
        }
    }

    /// The delays of a wire with time of flight `flight` from this port to the port with the pipelines `far`, and back.
    pub fn delays(self, far: Self, flight: Span) -> [Span; 2] {
        [
            self.transmit + flight + far.receive,
            far.transmit + flight + self.receive,
        ]
    }
}

//! Open-loop workloads of a scenario.

use kernel::{Bandwidth, Bytes, Span};

use crate::workload::entry;

kernel::choices! {
    /// The choice of destinations for the messages of a workload.
    pub enum TrafficPattern {
        /// Any node, all with the same probability.
        Uniform = "uniform",
        /// The node whose first two coordinates are the sender's, exchanged.
        Transpose = "transpose",
        /// One node more often than the others.
        HotSpot = "hot-spot",
        /// The next node in the first dimension, in the direction of increasing coordinates.
        Neighbour = "neighbour",
        /// The node half-way around each dimension.
        Tornado = "tornado",
    }
}

kernel::choices! {
    /// The senders or receivers of a workload: the routers' user logic, or the hosts.
    pub enum Side {
        /// The user logic of the routers.
        Routers = "routers",
        /// The hosts, through PCI Express.
        Hosts = "hosts",
    }
}

kernel::choices! {
    /// The arrival process of the messages of a node.
    pub enum ArrivalKind {
        /// A Poisson process.
        Poisson = "poisson",
        /// Messages at equal intervals.
        Even = "even",
        /// A random trial in each cycle.
        Bernoulli = "bernoulli",
    }
}

kernel::parameters! {
    /// Parameters of an open-loop workload on all nodes of a network.
    pub struct TrafficParameters {
        /// Destinations of messages: "uniform" (any node, itself included), "transpose", "hot-spot", "neighbour" or "tornado".
        pattern: TrafficPattern = TrafficPattern::Uniform, from "the usual first question";
        /// Payload that each node offers per second.
        load: Option<Bandwidth> = None, from "each workload";
        /// Payload of one message.
        message: Bytes = Bytes(256), within Bytes(1)..=Bytes(1 << 20), from "a common max payload size";
        /// Arrival process of messages: "poisson", "even", or "bernoulli", which makes a trial in each cycle of a fibre.
        arrivals: ArrivalKind = ArrivalKind::Poisson, from "independent sources";
        /// Senders: the user logic of the "routers", or the "hosts" through PCI Express.
        from: Side = Side::Hosts, from "one PCI Express port feeds a router";
        /// Receivers: the user logic of the "routers", or the memory of the "hosts".
        to: Side = Side::Hosts, from "as it came";
        /// The hot node of the pattern "hot-spot", by its number in the network.
        hot_node: u32 = 0, from "our choice: the first";
        /// Share of the messages that go to the hot node in addition to its uniform share.
        hot_share: f64 = 0.2, within 0.0..=1.0, from "our choice";
        /// Time at which the first messages are offered.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Time for which messages are offered.
        duration: Option<Span> = None, from "each workload";
    }
}

entry! {
    /// One `[[traffic]]` entry. The name of any router of a network can be written for the network.
    pub struct Traffic, called "traffic" {
        /// The network whose nodes send, or any router of this network; or the controller whose nic devices send.
        network: String, of "one under [networks]";
        ..parameters: TrafficParameters, in "traffic";
    }
}

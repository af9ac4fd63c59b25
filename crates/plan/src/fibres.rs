//! Fibres and the router ports at their ends: fibres of generated networks, and fibres that the scenario writes one by one.

use kernel::{Bytes, Parameters, Quantity};
use link::optical::{FlowControl, MOST_CYCLES, OpticalParameters};
use protocol::{Envelope, aurora};

use crate::scenario::{
    At, Fibre, FibreParameters, Network, Node, RoutingKind, ScenarioError, Wrong,
};

use super::address::show;
use super::network::{Builder, Joint, router};
use super::tree::known;

impl Builder<'_> {
    pub(crate) fn check_router(node: &Node) -> Result<(), Wrong> {
        let Some(router) = router(node) else {
            return Ok(());
        };
        let optical = &node.optical;
        let Bytes(aperture) = router.aperture;
        if !aperture.is_power_of_two() {
            let right = show(aperture.next_power_of_two());
            return Err((
                "aperture",
                format!("{} is not a power of two; write {right:?}", show(aperture)),
            ));
        }
        let room = optical.cycles_of(optical.channel_buffer());
        if room > MOST_CYCLES {
            let lanes = u64::from(optical.optical_lanes * aurora::BLOCK_BYTES);
            let most = show(u64::from(MOST_CYCLES) * lanes);
            return Err((
                "channel_buffer",
                format!(
                    "{} are more cycles than a credit can count; write {most} at most, or more lanes",
                    optical.channel_buffer().show()
                ),
            ));
        }
        let frame = optical.packet_size.0 as u32 + Envelope::MOST_OVERHEAD;
        let takes = aurora::cycles(frame, optical.optical_lanes);
        for (key, buffer) in [
            ("channel_buffer", optical.channel_buffer()),
            ("injection_buffer", router.injection_buffer),
        ] {
            if optical.cycles_of(buffer) < takes {
                let least = u64::from(takes * aurora::BLOCK_BYTES * optical.optical_lanes);
                return Err((
                    key,
                    format!(
                        "{} hold no packet of packet_size = {:?}, with its headers; write {} at least, or a smaller packet_size",
                        buffer.show(),
                        optical.packet_size.show(),
                        show(least)
                    ),
                ));
            }
        }
        let queues = optical.virtual_channels.max(router.injection_queues);
        if (router.fibre_ports + 1) * queues > u64::BITS {
            return Err((
                "virtual_channels",
                format!(
                    "{} ports with {queues} channels each are too many queues for one router; write less of either",
                    router.fibre_ports
                ),
            ));
        }
        Ok(())
    }

    /// Adds the fibres of a generated network. Port 2d leads to the next node in dimension d, port 2d + 1 to the previous one.
    pub(crate) fn generate(&mut self, network: &Network) -> Result<(), ScenarioError> {
        let sides = &network.parameters.size;
        let first = network.routers.start;
        let node = &self.scenario.nodes[first];
        let needed = 2 * sides.0.len() as u32;
        let ports = router(node).map_or(0, |router| router.fibre_ports);
        if ports < needed {
            let message = format!(
                "networks.{}: its routers have {ports} optical ports, and {} dimensions take {needed}; write fibre_ports = {needed} for its routers",
                network.name.value,
                sides.0.len()
            );
            return Err(self.scenario.error(network.name.line, message));
        }
        self.check_channels(network, &node.optical)?;
        for number in 0..sides.nodes() {
            let place = sides.coordinates(number);
            let mut step = 1;
            for (dimension, (side, here)) in sides.0.iter().zip(place).enumerate() {
                let (side, here) = (usize::from(*side), usize::from(here));
                let last = here + 1 == side;
                if side > 1 && (!last || network.parameters.shape.wraps()) {
                    let next = if last {
                        number - here * step
                    } else {
                        number + step
                    };
                    let up = (first + number, 2 * dimension as u8);
                    let down = (first + next, 2 * dimension as u8 + 1);
                    self.add([up, down], network.fibre.clone(), network.name.line);
                }
                step *= side;
            }
        }
        Ok(())
    }

    /// Checks that the routing has enough virtual channels, and warns of a network that can deadlock.
    pub(crate) fn check_channels(
        &mut self,
        network: &Network,
        optical: &OpticalParameters,
    ) -> Result<(), ScenarioError> {
        let parameters = &network.parameters;
        let wraps = parameters.shape.wraps();
        let error = |key: &str, message: String| {
            let message = format!("networks.{}: {message}", network.name.value);
            self.scenario.error(network.lines.of(key), message)
        };
        let channels = optical.virtual_channels;
        if parameters.routing == RoutingKind::Adaptive {
            let escape = if wraps && parameters.dateline { 2 } else { 1 };
            if channels <= escape {
                let message = format!(
                    "adaptive routing needs {escape} virtual channels to escape by and one more, and there are {channels}; write virtual_channels = {} for its routers",
                    escape + 1
                );
                return Err(error("routing", message));
            }
        }
        // In a ring of three nodes, each path has one hop, so that no packet waits for a second fibre of the ring.
        let long = parameters.size.0.iter().any(|side| *side > 3);
        let mut warnings = Vec::new();
        if wraps && long && (!parameters.dateline || channels < 2) {
            let why = if parameters.dateline {
                "one virtual channel has no room for a dateline"
            } else {
                "there is no dateline"
            };
            warnings.push(error("dateline", format!(
                "{why}: packets around a ring can wait for each other in a circle and stand still for ever (deadlock); write dateline = true and virtual_channels = 2 or more for its routers"
            )));
        }
        if wraps && long && optical.flow_control == FlowControl::Native {
            warnings.push(error("dateline", "native flow control pauses all virtual channels of a fibre together: packets around a ring can wait for each other in a circle and stand still for ever (deadlock); write flow_control = \"credits\" for its routers".to_owned()));
        }
        self.warnings
            .extend(warnings.iter().map(ToString::to_string));
        Ok(())
    }

    pub(crate) fn add(&mut self, ends: [(usize, u8); 2], parameters: FibreParameters, line: usize) {
        for end in ends {
            self.joined.insert(end, self.fibres.len());
        }
        self.fibres.push(Joint {
            ends,
            parameters,
            line,
            described: None,
        });
    }

    pub(crate) fn find(&self, name: &At<String>) -> Result<usize, ScenarioError> {
        let is_router = |node: &Node| router(node).is_some();
        let found = self.names.get(name.value.as_str()).copied();
        if let Some(index) = found.filter(|index| is_router(&self.scenario.nodes[*index])) {
            return Ok(index);
        }
        let what = match found {
            Some(_) => format!(
                "{} is not a router, and a fibre connects routers",
                name.value
            ),
            None => format!("there is no router {:?}", name.value),
        };
        let advice = if self.scenario.nodes.iter().any(is_router) {
            known(self.scenario, &name.value, is_router)
        } else {
            "write a device with model = \"router\"".to_owned()
        };
        Err(self.scenario.error(name.line, format!("{what}; {advice}")))
    }

    /// Handles a fibre that the scenario writes: adds a new fibre, or changes the parameters of a generated one.
    pub(crate) fn join(&mut self, fibre: &Fibre) -> Result<(), ScenarioError> {
        let nodes = [self.find(&fibre.from.0)?, self.find(&fibre.to.0)?];
        if nodes[0] == nodes[1] {
            let message = format!(
                "this fibre begins and ends at {}; write two routers",
                fibre.from.0.value
            );
            return Err(self.scenario.error(fibre.to.0.line, message));
        }
        let generated = |node: usize| {
            let mut networks = self.scenario.networks.iter();
            networks.position(|network| network.routers.contains(&node))
        };
        if nodes.iter().any(|node| generated(*node).is_some()) {
            return self.describe(fibre, nodes);
        }
        let from = self.port(nodes[0], fibre.from.1.as_ref(), fibre.from.0.line)?;
        let to = self.port(nodes[1], fibre.to.1.as_ref(), fibre.to.0.line)?;
        self.agree(fibre, nodes)?;
        self.add(
            [(nodes[0], from), (nodes[1], to)],
            fibre.parameters.clone(),
            fibre.lines.own(),
        );
        Ok(())
    }

    /// Changes the parameters of the fibres between two routers of a generated network, as the scenario writes.
    pub(crate) fn describe(
        &mut self,
        fibre: &Fibre,
        nodes: [usize; 2],
    ) -> Result<(), ScenarioError> {
        let written = [&fibre.from.1, &fibre.to.1].map(|port| port.as_ref().map(|port| port.value));
        let is_meant = |(node, port): (usize, u8), which: usize| {
            node == nodes[which] && written[which].is_none_or(|written| written == u32::from(port))
        };
        let neighbours = |joint: &Joint| {
            let ends = joint.ends.map(|(node, _)| node);
            ends == nodes || ends == [nodes[1], nodes[0]]
        };
        let mut found = false;
        for joint in &mut self.fibres {
            let [one, other] = joint.ends;
            let forth = is_meant(one, 0) && is_meant(other, 1);
            if forth || (is_meant(other, 0) && is_meant(one, 1)) {
                if let Some(line) = joint.described {
                    let message = format!(
                        "line {line} describes this fibre already; write what is different in one place"
                    );
                    return Err(self.scenario.error(fibre.lines.own(), message));
                }
                joint.parameters = fibre.instead_of(&joint.parameters);
                joint.line = fibre.lines.own();
                joint.described = Some(joint.line);
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        if self.fibres.iter().any(neighbours) {
            let message = format!(
                "no fibre joins these ports of {} and {}; leave out from_port and to_port, or write those of one that does",
                fibre.from.0.value, fibre.to.0.value
            );
            return Err(self.scenario.error(fibre.lines.own(), message));
        }
        let message = format!(
            "{} and {} are not neighbours in a generated network, which has its fibres already; write two that are, or routers of your own",
            fibre.from.0.value, fibre.to.0.value
        );
        Err(self.scenario.error(fibre.lines.own(), message))
    }

    /// The port that the scenario writes, or the next free one.
    pub(crate) fn port(
        &self,
        node: usize,
        written: Option<&At<u32>>,
        line: usize,
    ) -> Result<u8, ScenarioError> {
        let name = &self.scenario.nodes[node].name.value;
        let ports = router(&self.scenario.nodes[node]).map_or(0, |router| router.fibre_ports);
        let taken = |port: u32| self.joined.contains_key(&(node, port as u8));
        let Some(At { value, line }) = written else {
            let free = (0..ports).find(|port| !taken(*port));
            return free.map(|port| port as u8).ok_or_else(|| {
                let message = format!(
                    "no optical port of {name} is left ({ports} in all); write a larger fibre_ports there, up to 7"
                );
                self.scenario.error(line, message)
            });
        };
        let message = if *value >= ports {
            format!(
                "{name} has no optical port {value}; write one from 0 to {}, or a larger fibre_ports there",
                ports.saturating_sub(1)
            )
        } else if taken(*value) {
            format!("optical port {value} of {name} is already taken; write another one")
        } else {
            return Ok(*value as u8);
        };
        Err(self.scenario.error(*line, message))
    }

    /// Checks that the optical parameters at both ends of a fibre are equal.
    pub(crate) fn agree(&self, fibre: &Fibre, nodes: [usize; 2]) -> Result<(), ScenarioError> {
        let [one, other] = nodes.map(|node| &self.scenario.nodes[node]);
        let shared = |node: &Node| {
            let mut settings = node.optical.settings();
            settings.extend(router(node).map(|router| ("aperture", router.aperture.show())));
            settings
        };
        let pairs = shared(one).into_iter().zip(shared(other));
        for ((key, left), (_, right)) in pairs {
            if left != right {
                let message = format!(
                    "the two ends of this fibre differ: {key} is {left} at {} and {right} at {}; write the same for both",
                    one.name.value, other.name.value
                );
                return Err(self.scenario.error(fibre.lines.own(), message));
            }
        }
        Ok(())
    }
}

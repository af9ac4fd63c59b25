//! Tests of networks of routers. The scenarios are small enough to calculate the expected results by hand.

mod acted_on;
mod any_network;
mod bit_errors;
mod claims;
mod collectives;
mod deadlock;
mod native;
mod order;
mod passage;
mod rates;
mod severed;
pub mod threads;
mod trace;
mod zero_load;

use std::fmt::Write;

use kernel::{Span, Time};
use sim::Plan;
use sim::Simulation;
use sim::result::RunResult;

use crate::fixture::*;

/// A generated network.
#[derive(Clone, Debug)]
pub struct Net {
    pub shape: &'static str,
    pub sides: Vec<usize>,
    /// Lines of the network's own section.
    pub network: String,
    /// Lines for the routers of the network.
    pub routers: String,
    /// Lines for the hosts of the network.
    pub hosts: String,
}

impl Net {
    pub fn new(shape: &'static str, sides: &[usize]) -> Self {
        Net {
            shape,
            sides: sides.to_vec(),
            network: String::new(),
            routers: format!("fibre_ports = {}\n", 2 * sides.len()),
            hosts: String::new(),
        }
    }

    pub fn with_network(mut self, lines: &str) -> Self {
        self.network = self.network + lines + "\n";
        self
    }

    pub fn with_routers(mut self, lines: &str) -> Self {
        self.routers = self.routers + lines + "\n";
        self
    }

    pub fn nodes(&self) -> usize {
        self.sides.iter().product()
    }

    pub fn place(&self, node: usize) -> Vec<usize> {
        let mut rest = node;
        let sides = self.sides.iter();
        sides
            .map(|side| {
                let here = rest % side;
                rest /= side;
                here
            })
            .collect()
    }

    /// The name of a router.
    pub fn name(&self, node: usize) -> String {
        let place = self.place(node);
        let place: Vec<String> = place.iter().map(usize::to_string).collect();
        format!("n-{}", place.join("-"))
    }

    /// The node that is `steps` steps up each dimension from `node`.
    pub fn beyond(&self, node: usize, steps: &[usize]) -> usize {
        let place = self.place(node).into_iter().zip(&self.sides).zip(steps);
        let place: Vec<usize> = place
            .map(|((here, side), steps)| (here + steps) % side)
            .collect();
        let both = place.iter().zip(&self.sides).rev();
        both.fold(0, |number, (here, side)| number * side + here)
    }

    /// The number of fibres on the shortest path between two nodes.
    pub fn hops(&self, from: usize, to: usize) -> usize {
        let ends = self.place(from).into_iter().zip(self.place(to));
        let along = ends.zip(&self.sides).map(|((a, b), side)| {
            let straight = a.abs_diff(b);
            if self.shape == "mesh" {
                straight
            } else {
                straight.min(side - straight)
            }
        });
        along.sum()
    }

    /// The text of the scenario without workloads.
    pub fn text(&self) -> String {
        let sides: Vec<String> = self.sides.iter().map(usize::to_string).collect();
        format!(
            "[networks.n]\nshape = \"{}\"\nsize = \"{}\"\n{}[networks.n.hosts]\n{}[networks.n.routers]\n{}",
            self.shape,
            sides.join("x"),
            self.network,
            self.hosts,
            self.routers
        )
    }

    /// The text of the scenario in which every node sends `amount` to the node that is `steps` steps up each dimension.
    pub fn shifted(&self, steps: &[usize], amount: &str) -> String {
        let mut text = self.text();
        for node in 0..self.nodes() {
            let (from, to) = (self.name(node), self.name(self.beyond(node, steps)));
            text.push_str(&flow(&format!("f{node}"), &from, &to, amount));
        }
        text
    }
}

/// One `[[flows]]` section.
pub fn flow(id: &str, from: &str, to: &str, lines: &str) -> String {
    format!("[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{lines}\n")
}

/// The text for routers `r0`, `r1` and so on with the same lines, each below its own host.
pub fn routers(count: usize, lines: &str) -> String {
    let mut text = String::new();
    for node in 0..count {
        writeln!(text, "[hosts.h{node}]").expect(GROWS);
    }
    for node in 0..count {
        write!(
            text,
            "[devices.r{node}]\nmodel = \"router\"\nupstream = \"h{node}\"\n{lines}\n"
        )
        .expect(GROWS);
    }
    text
}

const GROWS: &str = "a string takes all that is written";

/// One `[[fibres]]` section.
pub fn fibre(from: usize, to: usize, lines: &str) -> String {
    format!("[[fibres]]\nfrom = \"r{from}\"\nto = \"r{to}\"\n{lines}\n")
}

/// The text for a row of routers, each connected with the next by a fibre.
pub fn line(count: usize, routers_lines: &str, fibre_lines: &str) -> String {
    let fibres = (1..count).map(|node| fibre(node - 1, node, fibre_lines));
    routers(count, routers_lines) + &fibres.collect::<String>()
}

pub fn warnings(text: &str) -> Vec<String> {
    Plan::read(text, "law.toml")
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .warnings
        .clone()
}

/// The number of packets that ended with an error.
pub fn lost(result: &RunResult) -> u64 {
    result.errors.iter().map(|error| error.count).sum()
}

/// The number of cycles of a frame with `bytes` bytes of a message.
pub fn cycles(bytes: u64, lanes: u64) -> u64 {
    const ENVELOPE: u64 = 20;
    ((bytes + ENVELOPE) / 8 + 1).div_ceil(lanes)
}

/// Runs to the end, and 200 us longer until the fabric is at rest. Then no packet is in use, and every end of a fibre that is not severed has all its
/// credit again.
pub fn run_to_silence(text: &str) -> (Simulation, RunResult) {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(200).as_fs());
    simulation.run_until(rest, &mut || true);
    let result = simulation.result();
    (simulation, result)
}

pub fn assert_nothing_is_held(simulation: &Simulation, text: &str) {
    assert_eq!(simulation.packets_in_use(), 0, "packets are held\n{text}");
    for (fibre, room, whole) in simulation.fibre_buffers() {
        assert_eq!(room, whole, "credit of {fibre} is missing\n{text}");
    }
}

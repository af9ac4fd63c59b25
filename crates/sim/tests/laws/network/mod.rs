//! Networks of routers, from scenario texts small enough to work out by hand.

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
    /// Lines of its section.
    pub network: String,
    /// Lines of its routers.
    pub routers: String,
    /// Lines of its hosts.
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

    /// The node so many steps up each dimension.
    pub fn beyond(&self, node: usize, steps: &[usize]) -> usize {
        let place = self.place(node).into_iter().zip(&self.sides).zip(steps);
        let place: Vec<usize> = place
            .map(|((here, side), steps)| (here + steps) % side)
            .collect();
        let both = place.iter().zip(&self.sides).rev();
        both.fold(0, |number, (here, side)| number * side + here)
    }

    /// Fibres between two nodes.
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

    /// The scenario, before what it has to do.
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

    /// The scenario in which every node sends `amount` to the node so many steps up each dimension.
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

/// Routers `r0`, `r1` and so on, each below a host of its own and set by the same lines.
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

/// Routers in a line.
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

/// Packets that ended with an error.
pub fn lost(result: &RunResult) -> u64 {
    result.errors.iter().map(|error| error.count).sum()
}

/// Cycles of a frame with so many bytes of a message.
pub fn cycles(bytes: u64, lanes: u64) -> u64 {
    const ENVELOPE: u64 = 20;
    ((bytes + ENVELOPE) / 8 + 1).div_ceil(lanes)
}

/// Runs to the end and on until all is at rest: then nobody holds a packet, and every end of a fibre that is not severed has
/// all its credit back.
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

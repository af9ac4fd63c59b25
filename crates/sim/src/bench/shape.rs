//! The shapes of `peerlane bench shapes`: fabrics of a fixed form with a fixed amount of work, so that two measurements of a shape can be compared.

use super::PAYLOAD;
use crate::Simulation;

/// A fabric of fixed form, and the traffic in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This number of endpoints, which write to memory.
    Endpoints(usize),
    /// A torus with this number of routers along each side, which send messages to each other.
    Torus(u16),
    /// 16 hosts, each of which sends to each other one, at controllers with this number of ports.
    Nics(usize),
}

/// The hosts of [`Shape::Nics`].
const HOSTS: usize = 16;

impl Shape {
    /// All shapes, each with its name, in the order in which tables list them.
    pub const ALL: [(&str, Shape); 8] = [
        ("endpoint", Shape::Endpoints(1)),
        ("endpoints-8", Shape::Endpoints(8)),
        ("endpoints-512", Shape::Endpoints(512)),
        ("endpoints-4096", Shape::Endpoints(4096)),
        ("torus-4x4", Shape::Torus(4)),
        ("torus-32x32", Shape::Torus(32)),
        ("nics-16", Shape::Nics(16)),
        ("nics-16-cables", Shape::Nics(4)),
    ];

    /// The shape with this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(known, shape)| (known == name).then_some(shape))
    }

    /// The unit in which the work is counted.
    pub fn unit(self) -> &'static str {
        match self {
            Shape::Endpoints(_) => "write",
            Shape::Torus(_) => "hop",
            Shape::Nics(_) => "TLP",
        }
    }

    /// Returns the fabric after link initialisation, just before its traffic begins, with one part in `divisor` of its work.
    pub fn simulation(self, divisor: u64) -> Simulation {
        super::ready(&self.scenario(divisor))
    }

    /// Returns the fabric before link initialisation, so that it may still be divided among `threads` threads.
    pub fn on_threads(self, divisor: u64, threads: usize) -> Simulation {
        let mut simulation = super::unstarted(&self.scenario(divisor));
        simulation.use_threads(threads);
        simulation
    }

    fn scenario(self, divisor: u64) -> String {
        match self {
            Shape::Endpoints(endpoints) => super::scenario(endpoints, (1 << 18) / divisor),
            Shape::Torus(side) => super::torus_scenario(side, (1 << 20) / divisor),
            Shape::Nics(ports) => super::all_to_all_scenario(HOSTS, ports, (1 << 17) / divisor),
        }
    }

    /// Returns the amount of work that a simulation has done at its end: writes that are in memory, messages over a fibre, or TLPs over
    /// a link. None if some of the traffic has not arrived as it was sent.
    pub fn work(self, simulation: &Simulation) -> Option<u64> {
        let result = simulation.result();
        let flows = result
            .flows
            .iter()
            .all(|flow| flow.intact && flow.completed);
        if !flows || !result.traffic.iter().all(|one| one.intact) {
            return None;
        }
        Some(match self {
            Shape::Endpoints(_) => result.flows.iter().map(|flow| flow.bytes / PAYLOAD).sum(),
            Shape::Torus(_) => result.fibres.iter().map(|fibre| fibre.frames).sum(),
            Shape::Nics(_) => result.links.iter().map(|link| link.tlps).sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_does_its_work() {
        for (name, shape) in Shape::ALL {
            // The largest fabrics are left out, because they take seconds and are similar to smaller ones.
            if matches!(shape, Shape::Endpoints(512..) | Shape::Torus(32)) {
                continue;
            }
            let mut simulation = Shape::named(name).expect("it has this name").simulation(64);
            assert!(simulation.run(&mut |_| true));
            let work = shape.work(&simulation).expect("all of it arrives");
            let least = match shape {
                Shape::Endpoints(_) => (1 << 18) / 64,
                Shape::Torus(_) => (1 << 20) / 64 * 3 / 4,
                // Each packet has at most 256 bytes and crosses at least two links.
                Shape::Nics(_) => 240 * 2 * (1 << 17) / 64 / 256,
            };
            assert!(work >= least, "{name}: {work}");
        }
    }

    #[test]
    fn no_shape_is_named_like_another() {
        for (name, shape) in Shape::ALL {
            assert_eq!(Shape::named(name), Some(shape));
        }
        assert_eq!(Shape::named("ring"), None);
    }
}

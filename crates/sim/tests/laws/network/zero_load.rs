//! The latency of one message in an empty network, compared with the sum over its hops.

use super::*;

/// The parameters of a network on which the latency of a message depends.
struct Times {
    lanes: u64,
    /// The bit rate of a lane. `cycle` is the time of 66 bits in femtoseconds.
    rate: &'static str,
    cycle: u64,
    clock_mhz: u64,
    forward: u64,
    deliver: u64,
    width: u64,
    core_ns: u64,
    metres: u64,
}

impl Times {
    fn lines(&self) -> (String, String) {
        let routers = format!(
            "optical_lanes = {}\nlane_rate = \"{}\"\nrouter_clock = \"{} MHz\"\nforward_cycles = {}\ndeliver_cycles = {}\nlocal_width = {}\ncore_latency = \"{} ns\"\nclock_compensation = false\nbar = \"64 KiB\"",
            self.lanes,
            self.rate,
            self.clock_mhz,
            self.forward,
            self.deliver,
            self.width,
            self.core_ns
        );
        (routers, format!("length = \"{} m\"", self.metres))
    }

    /// The latency in femtoseconds is a sum: the pipelines of the source and of each router on the path; for each fibre, a cycle until its first
    /// blocks have arrived, and the flight time; the pipeline of the last router to its user logic; and the remaining cycles of the frame, or the
    /// time of the frame in the crossbar if it is longer. The crossbar is `width` fibres wide.
    fn latency_fs(&self, bytes: u64, hops: u64) -> u64 {
        let cycle = self.cycle;
        let clock = 1_000_000_000 / self.clock_mhz;
        let flight = self.core_ns * 1_000_000 + self.metres * 4_897_000;
        let frame = cycles(bytes, self.lanes) * cycle;
        self.forward * clock * hops
            + hops * (cycle + flight)
            + self.deliver * clock
            + (frame - cycle).max(frame.div_ceil(self.width))
    }
}

const PUBLISHED: Times = Times {
    lanes: 4,
    rate: "10.3125 Gbit/s",
    cycle: 6_400_000,
    clock_mhz: 250,
    forward: 13,
    deliver: 13,
    width: 2,
    core_ns: 292,
    metres: 2,
};

/// Sends one message between every pair of nodes, one after the other, and checks the latencies.
fn check(net: &Net, times: &Times, bytes: u64) {
    let (routers, fibre) = times.lines();
    let net = net.clone().with_routers(&routers).with_network(&fibre);
    let mut text = net.text();
    let mut pairs = Vec::new();
    for from in 0..net.nodes() {
        for to in (0..net.nodes()).filter(|to| *to != from) {
            let lines = format!(
                "count = 1\nrequest_size = \"{bytes} B\"\nstart = \"{} us\"",
                10 * pairs.len()
            );
            let id = format!("{from}-{to}");
            text.push_str(&flow(&id, &net.name(from), &net.name(to), &lines));
            pairs.push((id, net.hops(from, to) as u64));
        }
    }
    let result = run(&text).all_intact();
    for (id, hops) in pairs {
        let found = result
            .flow(&id)
            .latency_ns
            .as_ref()
            .expect("it arrived")
            .max;
        let formula = times.latency_fs(bytes, hops) as f64 / 1e6;
        assert!(
            (found - formula).abs() < 1e-5,
            "{} {:?} {id}, {hops} hops: {found} ns, and the formula says {formula}",
            net.shape,
            net.sides
        );
    }
}

#[test]
fn latency_is_that_of_the_hops_between_every_pair_of_every_shape() {
    for (shape, sides) in [
        ("ring", &[2][..]),
        ("ring", &[5]),
        ("ring", &[6]),
        ("mesh", &[4]),
        ("mesh", &[3, 2]),
        ("mesh", &[2, 2, 2]),
        ("torus", &[4, 3]),
        ("torus", &[2, 5]),
        ("torus", &[3, 1, 3]),
        ("torus", &[3, 2, 2]),
    ] {
        check(&Net::new(shape, sides), &PUBLISHED, 256);
    }
}

#[test]
fn adaptive_packets_take_no_longer_in_an_empty_network() {
    let net = Net::new("torus", &[4, 3])
        .with_network("routing = \"adaptive\"")
        .with_routers("virtual_channels = 3");
    check(&net, &PUBLISHED, 1000);
}

#[test]
fn every_parameter_has_its_place_in_the_formula() {
    let net = Net::new("ring", &[4]);
    for bytes in [1, 8, 63, 256, 1536] {
        check(
            &net,
            &Times {
                lanes: 1,
                ..PUBLISHED
            },
            bytes,
        );
        check(
            &net,
            &Times {
                lanes: 8,
                width: 1,
                ..PUBLISHED
            },
            bytes,
        );
        check(
            &net,
            &Times {
                forward: 5,
                deliver: 40,
                width: 8,
                ..PUBLISHED
            },
            bytes,
        );
        check(
            &net,
            &Times {
                forward: 7,
                deliver: 0,
                core_ns: 41,
                ..PUBLISHED
            },
            bytes,
        );
        check(
            &net,
            &Times {
                rate: "25 Gbit/s",
                cycle: 2_640_000,
                metres: 333,
                clock_mhz: 400,
                ..PUBLISHED
            },
            bytes,
        );
    }
}

#[test]
fn each_fibre_of_the_reliable_layer_waits_for_the_whole_frame() {
    let lines = |reliable: bool| {
        format!(
            "{}reliable = {reliable}\nclock_compensation = false\nbar = \"64 KiB\"",
            "optical_lanes = 4\n"
        )
    };
    let of = |hops: usize, reliable| {
        let text = line(4, &lines(reliable), "length = \"2 m\"");
        let to = format!("r{hops}");
        latency(&(text + &flow("f", "r0", &to, "count = 1\nrequest_size = \"1536 B\"")))
    };
    let tail = (cycles(1536, 4) - 1) as f64 * 6.4;
    for hops in 1..=3 {
        let difference = of(hops, true) - of(hops, false);
        // In both runs the message waits for the tail of the last frame. If frames are stored, the crossbar then takes half of the time of a frame.
        let crossbar = cycles(1536, 4) as f64 * 3.2;
        let expected = hops as f64 * tail + crossbar - tail;
        assert!(
            (difference - expected).abs() < 1e-5,
            "{hops}: {difference} {expected}"
        );
    }
}

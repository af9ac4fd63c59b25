//! Networks of any shape and any parameters: whatever is sent arrives, once and as it was, and nothing is left behind.

use kernel::Stream;
use proptest::prelude::*;

use super::*;
use crate::cases::cases;

struct Any {
    random: Stream,
    packet: u64,
    /// Names of routers, and of hosts.
    routers: Vec<String>,
    hosts: Vec<String>,
    flows: String,
}

impl Any {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    /// A network; `rough` ones have bit errors and cuts whether or not their fibres are reliable.
    fn scenario(seed: u64, rough: bool) -> String {
        let mut any = Any {
            random: Stream::named(seed, "network"),
            packet: 0,
            routers: Vec::new(),
            hosts: Vec::new(),
            flows: String::new(),
        };
        let shape = any.pick(&["ring", "mesh", "torus", "torus", "explicit"]);
        let sides: &[usize] = match shape {
            "ring" => any.pick(&[&[2][..], &[3], &[4], &[5], &[8]]),
            "explicit" => any.pick(&[&[1][..], &[2], &[3], &[5]]),
            _ => any.pick(&[
                &[4][..],
                &[2, 2],
                &[3, 3],
                &[4, 2],
                &[1, 5],
                &[4, 4],
                &[2, 3, 2],
                &[3, 3, 3],
            ]),
        };
        let adaptive = shape != "explicit" && any.random.below(3) == 0;
        let channels = if adaptive {
            any.pick(&[3, 4, 6])
        } else {
            any.pick(&[2, 2, 3, 4])
        };
        let (routers, reliable) = any.router_lines(channels);
        let length = any.pick(&["0 m", "2 m", "100 m"]);
        let errors = if rough {
            any.pick(&["0.0", "1e-6", "1e-5", "1e-4"])
        } else if reliable {
            any.pick(&["0.0", "1e-7", "1e-6", "1e-5"])
        } else {
            "0.0"
        };
        let fibre_lines = format!("length = \"{length}\"\nfibre_bit_error_rate = {errors}");
        let seed_line = format!(
            "seed = {}\n[links]\ngeneration = {}\nlanes = {}\n",
            seed % 1_000_000,
            any.pick(&[1, 3]),
            any.pick(&[1, 4, 8])
        );
        let text = if shape == "explicit" {
            let count = sides[0];
            any.routers = (0..count).map(|node| format!("r{node}")).collect();
            any.hosts = (0..count).map(|node| format!("h{node}")).collect();
            let mut text = super::routers(count, &format!("fibre_ports = 7\n{routers}"));
            // A tree.
            for node in 1..count {
                let above = any.random.below(node as u64) as usize;
                text.push_str(&fibre(above, node, &fibre_lines));
            }
            text
        } else {
            let routing = if adaptive {
                "adaptive"
            } else {
                "dimension-order"
            };
            let net = Net::new(shape, sides)
                .with_network(&format!("{fibre_lines}\nrouting = \"{routing}\""))
                .with_routers(&routers);
            any.routers = (0..net.nodes()).map(|node| net.name(node)).collect();
            any.hosts = any
                .routers
                .iter()
                .map(|name| format!("{name}-host"))
                .collect();
            net.text()
        };
        let text = if rough { text + &any.cuts(shape) } else { text };
        for number in 0..=any.random.below(12) {
            any.flow(number);
        }
        if any.random.below(3) == 0 {
            any.traffic(shape);
        }
        seed_line + &text + &any.flows
    }

    /// Fibres that are cut at some time.
    fn cuts(&mut self, shape: &str) -> String {
        let mut text = String::new();
        // Those of a tree are written already.
        let count = if shape == "explicit" {
            0
        } else {
            self.random.below(4)
        };
        for _ in 0..count {
            let node = self.random.below(self.routers.len() as u64) as usize;
            let (at, from) = (self.random.below(20_000), self.routers[node].clone());
            // The next one up the first dimension, if there is one.
            let mut parts: Vec<String> = from.split('-').map(str::to_owned).collect();
            let next = parts[1].parse::<usize>().map(|here| here + 1);
            parts[1] = next.expect("names end in numbers").to_string();
            let to = parts.join("-");
            let ends = format!("[[fibres]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
            if self.routers.contains(&to) && !text.contains(&ends) {
                text = text + &ends + &format!("severed_at = \"{} ns\"\n", at + 1);
            }
        }
        text
    }

    /// Lines of the routers, and whether they send again what is lost.
    fn router_lines(&mut self, channels: u32) -> (String, bool) {
        let width = self.pick(&[1_u64, 2, 4, 8]);
        self.packet = self.pick(&[128, 200, 256, 1000, 1536]);
        let payload = if self.packet < 256 {
            128
        } else {
            self.pick(&[128, 256])
        };
        // From room for one packet up.
        let least = cycles(self.packet + 16, width) * 8 * width;
        let buffer = (least * self.pick(&[1, 1, 2, 10])).max(64);
        let injection = (least * self.pick(&[1, 3, 20])).max(64);
        let reliable = self.random.below(3) == 0;
        let packet = self.packet;
        let lines = format!(
            "optical_lanes = {width}\nlane_rate = \"{} Mbit/s\"\nvirtual_channels = {channels}\nchannel_buffer = \"{buffer} B\"\ninjection_buffer = \"{injection} B\"\npacket_size = \"{} B\"\nmax_payload_supported = \"{payload} B\"\nreliable = {reliable}\nretransmission_buffer = \"{} KiB\"\nclock_compensation = {}\ncredit_cycles = {}\nforward_cycles = {}\ndeliver_cycles = {}\nlocal_width = {}\narbitration = \"{}\"\ncore_latency = \"{} ns\"\nbar = \"64 KiB\"",
            self.pick(&[1000, 10_000, 25_000]),
            packet,
            self.pick(&[1, 4, 64]),
            self.pick(&["true", "false"]),
            self.pick(&[0, 1]),
            self.pick(&[0, 1, 13, 60]),
            self.pick(&[0, 1, 13, 60]),
            self.pick(&[1, 2, 5]),
            self.pick(&["transit-first", "round-robin", "oldest-first"]),
            self.pick(&[0, 41, 292]),
        );
        (lines, reliable)
    }

    fn flow(&mut self, number: u64) {
        let nodes = self.routers.len() as u64;
        let (from, to) = (
            self.random.below(nodes) as usize,
            self.random.below(nodes) as usize,
        );
        let by_host = self.random.below(2) == 0;
        let sender = if by_host {
            self.hosts[from].clone()
        } else {
            self.routers[from].clone()
        };
        let target = if self.random.below(2) == 0 {
            self.hosts[to].clone()
        } else {
            self.routers[to].clone()
        };
        if sender == target {
            return;
        }
        let request = 1 + self.random.below(if by_host { 64 } else { self.packet });
        let size = 1 + self.random.below(12_000);
        let interval = self.pick(&[0, 0, 100]);
        let start = self.pick(&[0, 0, 2]);
        self.flows.push_str(&flow(
            &format!("f{number}"),
            &sender,
            &target,
            &format!("size = \"{size} B\"\nrequest_size = \"{request} B\"\ninterval = \"{interval} ns\"\nstart = \"{start} us\""),
        ));
    }

    fn traffic(&mut self, shape: &str) {
        let network = if shape == "explicit" { "r0" } else { "n" };
        let pattern = match shape {
            "explicit" => self.pick(&["uniform", "hot-spot"]),
            _ => self.pick(&["uniform", "hot-spot", "neighbour", "tornado"]),
        };
        let (from, to) = (
            self.pick(&["routers", "hosts"]),
            self.pick(&["routers", "hosts"]),
        );
        let message = 1 + self.random.below(self.packet);
        let arrivals = self.pick(&["poisson", "even"]);
        let load = self.pick(&[50, 500, 4000]);
        let text = format!(
            "[[traffic]]\nid = \"t\"\nnetwork = \"{network}\"\npattern = \"{pattern}\"\nfrom = \"{from}\"\nto = \"{to}\"\nmessage = \"{message} B\"\narrivals = \"{arrivals}\"\nload = \"{load} MB/s\"\nduration = \"3 us\"\n"
        );
        self.flows.push_str(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..cases(170) })]
    #[test]
    fn whatever_is_sent_through_a_network_arrives(seed in any::<u64>()) {
        let text = Any::scenario(seed, false);
        let (simulation, result) = run_to_silence(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{:?}\n{}", flow, text);
        }
        for traffic in &result.traffic {
            prop_assert!(traffic.completed && traffic.intact, "{:?}\n{}", traffic, text);
        }
        prop_assert!(result.errors.is_empty(), "{:?}\n{}", result.errors, text);
        assert_nothing_is_held(&simulation, &text);
    }

    #[test]
    fn what_does_not_arrive_over_bad_and_cut_fibres_is_told(seed in any::<u64>()) {
        let text = Any::scenario(seed, true);
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        let plan = simulation.plan().clone();
        let is_adaptive = text.contains("\"adaptive\"");
        let is_cut = plan.fibres.iter().any(|fibre| fibre.severed_at.is_some());
        // Around a cut, packets keep to no order of dimensions any more, and may wait for each other.
        let may_stand_still = is_adaptive && is_cut;
        let mut sure = true;
        for flow in &result.flows {
            prop_assert!(flow.completed || may_stand_still, "{:?} {:?}\n{}", flow, result.errors, text);
            sure &= flow.intact;
        }
        for traffic in &result.traffic {
            prop_assert!(traffic.completed || may_stand_still, "{:?} {:?}\n{}", traffic, result.errors, text);
            sure &= traffic.intact;
        }
        let known = ["bit errors on a fibre", "severed fibre", "unacknowledged on a severed fibre"];
        prop_assert!(result.errors.iter().all(|error| known.contains(&error.what)), "{:?}\n{}", result.errors, text);
        // What may or may not have arrived is told even where it has.
        let losses = result.errors.iter().filter(|error| error.what != known[2]).count();
        prop_assert!(sure || !result.errors.is_empty());
        prop_assert!(losses == 0 || !sure, "{:?}\n{}", result.errors, text);
        if result.flows.iter().all(|flow| flow.completed) && result.traffic.iter().all(|one| one.completed) {
            let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(2000).as_fs());
            simulation.run_until(rest, &mut || true);
            assert_nothing_is_held(&simulation, &text);
        }
    }
}

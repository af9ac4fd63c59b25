//! Every run ends: its workloads are complete, or its result names the programs and flows that wait.

use proptest::prelude::*;
use proptest::sample::select;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario in which a host writes to another host through routers.
const ROUTERS: &str = "[hosts.h]\n[hosts.g]\n[devices.d]\nmodel = \"router\"\nupstream = \"h\"\n[devices.e]\nmodel = \"router\"\nupstream = \"g\"\n\
    [[fibres]]\nfrom = \"d\"\nto = \"e\"\n[[flows]]\nfrom = \"h\"\nto = \"g\"\nsize = \"64 KiB\"\n";

fn incident(at: &str, what: &str, node: &str, more: &str) -> String {
    format!("[[incidents]]\nat = \"{at}\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{more}")
}

fn was_logged(result: &sim::result::RunResult, what: &str) -> bool {
    result.incidents.iter().any(|one| one.what == what)
}

#[test]
fn packets_of_a_network_for_a_router_without_a_link_are_lost_and_its_network_goes_on() {
    let removal = incident("1107 ns", "surprise-removal", "e", "");
    let reset = incident("3183 ns", "function-level-reset", "d", "");
    let result = run(&format!("{ROUTERS}{removal}{reset}"));
    assert!(was_logged(&result, "Function Level Reset"));
    assert!(was_logged(&result, "set up again"));
    assert_eq!(result.standing_packets, 0);
    let flow = &result.flows[0];
    assert!(flow.completed && !flow.intact);
    assert!(result.standstill.is_empty(), "{:?}", result.standstill);
}

#[test]
fn packets_for_a_nic_without_a_link_are_lost_and_its_crossbar_goes_on() {
    let removal = incident("2 us", "surprise-removal", "e", "");
    let text = format!(
        "[controllers.c]\nports = 4\n[hosts.h]\n[hosts.g]\n[hosts.i]\n[devices.d]\nmodel = \"nic\"\nupstream = \"h\"\nvirtual_functions = 1\n\
        [devices.e]\nmodel = \"nic\"\nupstream = \"g\"\n[devices.f]\nmodel = \"nic\"\nupstream = \"i\"\n\
        [[flows]]\nid = \"lost\"\nfrom = \"d\"\nto = \"e\"\nsize = \"256 KiB\"\n\
        [[flows]]\nid = \"other\"\nfrom = \"d\"\nto = \"f\"\nsize = \"64 KiB\"\nfunction = 1\n{removal}"
    );
    let result = run(&text);
    let other = result.flow("other");
    assert!(other.completed && other.intact, "{other:?}");
    assert!(!result.flow("lost").intact);
    assert_eq!(result.standing_packets, 0);
}

#[test]
fn a_program_sees_its_own_stores_to_the_memory_of_another_socket() {
    let flow = "[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"9728 B\"\n";
    let result = run(&format!(
        "[hosts.h]\nsockets = 2\nsocket_latency = \"400 ns\"\n[devices.d]\nmodel = \"nvme\"\nupstream = \"h\"\n{flow}{flow}"
    ));
    for flow in &result.flows {
        assert!(flow.completed && flow.intact, "{flow:?}");
    }
}

#[test]
fn a_link_that_an_access_takes_down_keeps_no_later_access_from_its_completion() {
    let disable = incident("52124 ns", "disable-link", "d", "");
    let routers = ROUTERS.replacen(
        "[hosts.h]\n",
        "seed = 384270\n[links]\ngeneration = 1\nlanes = 4\nbit_error_rate = 1e-06\n[hosts.h]\nerror_reporting = true\n",
        1,
    );
    let result = run(&format!("{routers}{disable}"));
    assert!(was_logged(&result, "Link Disable"));
    let is_open = |line: &String| line.contains("disable-link") || line.contains("configuration");
    assert!(
        !result.standstill.iter().any(is_open),
        "{:?}",
        result.standstill
    );
    let line = &result.standstill[0];
    assert!(
        line.starts_with("g waits for bytes of flow-1 from h since "),
        "{line}"
    );
}

#[test]
fn a_driver_that_nobody_tells_of_a_reset_is_named_with_the_interrupt_for_which_it_waits() {
    let text = format!(
        "[hosts.h]\n[devices.d]\nmodel = \"sg-dma\"\nbar = \"1 MiB\"\nupstream = \"h\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\n{}",
        incident("3 us", "function-level-reset", "d", ""),
    );
    let result = run(&text);
    assert!(!result.flows[0].completed);
    let lines = &result.standstill;
    let is_driver = |line: &String| line.starts_with("program 0 on h waits for interrupt ");
    assert!(lines.iter().any(is_driver), "{lines:?}");
    assert!(
        lines.iter().all(|line| line.contains(" since ")),
        "{lines:?}"
    );
}

#[test]
fn every_incident_that_sets_a_device_up_again_logs_it() {
    let below = "[hosts.h]\n[devices.d]\nupstream = \"h\"\nslot = \"surprise\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"4 KiB\"\nstart = \"1 s\"\n";
    let remove = incident("10 us", "surprise-removal", "d", "");
    let disable = incident("10 us", "disable-link", "d", "");
    for (first, what) in [
        (&remove, "insertion"),
        (&disable, "enable-link"),
        (&String::new(), "secondary-bus-reset"),
        (&String::new(), "function-level-reset"),
    ] {
        for restore in [true, false] {
            let keys = format!("restore = {restore}\n");
            let second = incident("1 ms", what, "d", &keys);
            let result = run(&format!("{below}{first}{second}"));
            let count = result
                .incidents
                .iter()
                .filter(|one| one.what == "set up again")
                .count();
            assert_eq!(count, usize::from(restore), "{what} {:?}", result.incidents);
            assert_eq!(result.flows[0].intact, restore, "{what}");
        }
    }
    let gone = incident("1 ms", "function-level-reset", "d", "");
    let result = run(&format!("{below}{remove}{gone}"));
    assert!(was_logged(&result, "nothing to set up"));
}

/// The sections for a device of each model and for the nodes that it needs. `KEYS` is a placeholder for keys of the device, and `ABOVE` for the node
/// above it.
const DEVICES: [&str; 10] = [
    "[devices.d]\nKEYS[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\ndirection = \"both\"\n[[flows]]\nfrom = \"h\"\nto = \"d\"\nsize = \"8 KiB\"\n",
    "[devices.d]\nKEYSvirtual_functions = 1\nmsix_vectors = 2\nmsix_bar = 4\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\ndirection = \"read\"\nfunction = 1\n",
    "[devices.d]\nKEYSmodel = \"sg-dma\"\nbar = \"1 MiB\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"64 KiB\"\ndirection = \"read\"\n",
    "[devices.d]\nKEYSmodel = \"nvme\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"16 KiB\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"16 KiB\"\ndirection = \"read\"\n",
    "[devices.d]\nKEYSmodel = \"block-dma\"\n[buffers.b]\nhost = \"h\"\nsize = \"64 KiB\"\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 40\n",
    "[devices.d]\nKEYSmodel = \"reflector\"\n[[flows]]\nfrom = \"h\"\nto = \"d\"\ncount = 100\ndirection = \"round-trip\"\n",
    "[devices.d]\nKEYSmodel = \"fpga-card\"\nafu = \"nlb_mode_0\"\n",
    "[devices.d]\nKEYSmodel = \"nic\"\ncontroller = \"c\"\n[controllers.c]\n[hosts.g]\n[devices.e]\nupstream = \"g\"\nmodel = \"nic\"\ncontroller = \"c\"\n[[flows]]\nfrom = \"d\"\nto = \"e\"\nsize = \"64 KiB\"\n[[flows]]\nfrom = \"e\"\nto = \"d\"\nsize = \"64 KiB\"\n",
    "[devices.d]\nKEYSmodel = \"router\"\n[hosts.g]\n[devices.e]\nupstream = \"g\"\nmodel = \"router\"\n[[fibres]]\nfrom = \"d\"\nto = \"e\"\nfibre_bit_error_rate = RATE\n[[flows]]\nfrom = \"h\"\nto = \"g\"\nsize = \"64 KiB\"\n[[flows]]\nfrom = \"e\"\nto = \"h\"\nsize = \"32 KiB\"\n",
    "[devices.d]\nKEYSmodel = \"router\"\n[hosts.g]\n[devices.e]\nupstream = \"g\"\nmodel = \"router\"\n[[fibres]]\nfrom = \"d\"\nto = \"e\"\n[[flows]]\nfrom = \"g\"\nto = \"h\"\nsize = \"64 KiB\"\n",
];

/// Incidents at a device, or at the device at the other end of its network if there is one.
const INCIDENTS: [&str; 15] = [
    "function-level-reset",
    "function-level-reset\"\nrestore = false\nwait = \"200 us",
    "function-level-reset\"\ndrivers = true\nwait = \"200 us",
    "retrain",
    "restore",
    "surprise-removal",
    "insertion",
    "insertion\"\nrestore = false\nwait = \"1 ms",
    "attention-button",
    "secondary-bus-reset",
    "secondary-bus-reset\"\nrestore = false\nhold = \"5 us",
    "disable-link",
    "enable-link",
    "containment",
    "poison\"\ncount = \"3",
];

/// The shortest and the longest time between two incidents, in nanoseconds: within a transfer, within a reset, and after a reset.
const PAUSES: [(u32, u32); 3] = [(0, 40_000), (0, 3_000_000), (0, 120_000_000)];

const SERVICES: [&str; 5] = [
    "error_reporting = true\n",
    "hot_plug = true\n",
    "driver_recovery = true\n",
    "bandwidth_notification = true\n",
    "sockets = 2\nsocket_latency = \"400 ns\"\n",
];

#[derive(Clone, Debug)]
struct Pair {
    device: &'static str,
    /// The incidents, each with the time since the previous incident, and with a flag for the far end of a network.
    incidents: [(&'static str, u32, bool); 2],
    services: Vec<&'static str>,
    is_switched: bool,
    slot: &'static str,
    rate: &'static str,
    link: (u32, u32),
    seed: u32,
}

fn pair() -> impl Strategy<Value = Pair> {
    let one = || {
        let pause = select(&PAUSES[..]).prop_flat_map(|(least, most)| least..most);
        (select(&INCIDENTS[..]), pause, any::<bool>())
    };
    let services = proptest::sample::subsequence(&SERVICES[..], 0..=SERVICES.len());
    let rates = &[
        "0.0", "1e-12", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-4",
    ][..];
    (
        select(&DEVICES[..]),
        [one(), one()],
        services,
        any::<bool>(),
        select(&["hot-plug", "surprise"][..]),
        select(rates),
        (1_u32..=5, select(&[1, 4, 16][..])),
        0_u32..1_000_000,
    )
        .prop_map(
            |(device, incidents, services, is_switched, slot, rate, link, seed)| Pair {
                device,
                incidents,
                services,
                is_switched,
                slot,
                rate,
                link,
                seed,
            },
        )
}

impl Pair {
    /// The text of the scenario, and the time of its last incident in nanoseconds.
    fn text(&self) -> (String, u32) {
        // At high bit error rates, the link is slow and narrow, because a faster or wider link would have more errors per second and the test would
        // take longer.
        let is_wrecked = ["1e-5", "1e-4"].contains(&self.rate);
        let (generation, lanes) = if is_wrecked { (1, 1) } else { self.link };
        let services = self.services.concat();
        let contains = self.incidents.iter().any(|one| one.0 == "containment");
        let containment = if contains {
            "containment = \"fatal\"\n"
        } else {
            ""
        };
        let (above, switch) = if self.is_switched {
            ("s", "[switches.s]\nupstream = \"h\"\n")
        } else {
            ("h", "")
        };
        let keys = format!("upstream = \"{above}\"\nslot = \"{}\"\n", self.slot);
        let device = self
            .device
            .replace("KEYS", &keys)
            .replace("RATE", self.rate);
        let far = format!("[hosts.g]\n{containment}");
        let device = device.replace("[hosts.g]\n", &far).replace(
            "upstream = \"g\"\n",
            "upstream = \"g\"\nslot = \"hot-plug\"\n",
        );
        let mut text = format!(
            "seed = {}\n[links]\ngeneration = {generation}\nlanes = {lanes}\nbit_error_rate = {}\n[hosts.h]\n{services}{containment}{switch}{device}",
            self.seed, self.rate
        );
        let has_far_end = device.contains("[devices.e]");
        let has_driver = ["\"sg-dma\"", "\"nvme\"", "\"block-dma\""]
            .iter()
            .any(|model| device.contains(model));
        let (mut at, mut removed) = (0, [false, false]);
        for (what, pause, is_far) in self.incidents {
            let is_far = is_far && has_far_end;
            let node = if is_far { "e" } else { "d" };
            at += pause;
            let what = match what {
                what if what.contains("drivers") && !has_driver => "function-level-reset",
                what => what,
            };
            // Each node is removed at most once, and inserted at most once.
            let is_removed = &mut removed[usize::from(is_far)];
            let what = match (what, *is_removed) {
                ("surprise-removal", true) => "insertion",
                (what, _) => what,
            };
            if what.starts_with("insertion") && !*is_removed {
                text += &incident(&format!("{at} ns"), "surprise-removal", node, "");
                at += 20_000;
            }
            *is_removed = what == "surprise-removal";
            text += &incident(&format!("{at} ns"), what, node, "");
        }
        (text.replace("count = \"3\"", "count = 3"), at)
    }
}

/// The maximum number of events after the last incident: for each packet that is made after the incident, and for each link and fibre while the run
/// waits. A packet crosses at most three links and a fibre, and has about ten events on each. On links with errors, each replay and each Recovery has
/// the same number of events again. A link with errors updates its credit each 30 us while a program waits, which takes at most a second.
const EVENTS_OF_PACKET: u64 = 1_000;
const EVENTS_OF_WAITING: u64 = 10_000_000;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 50, ..cases(200) })]
    #[test]
    fn a_run_with_any_two_incidents_ends_within_a_number_of_events(pair in pair()) {
        let (text, last) = pair.text();
        let mut simulation = simulation(&text);
        let last = kernel::Span::from_ns(last.into());
        simulation.run_until(kernel::Time::ZERO, &mut || true);
        let until = simulation.now() + last;
        simulation.run_until(until, &mut || true);
        let (events, made) = (simulation.events(), simulation.packets_made());
        let most = |simulation: &sim::Simulation| {
            let plan = simulation.plan();
            let wires = (plan.links.len() + plan.fibres.len() + plan.cables.len()) as u64;
            let packets = simulation.packets_made() - made;
            events + EVENTS_OF_PACKET * packets + EVENTS_OF_WAITING * wires
        };
        let has_ended = simulation.run(&mut |simulation| simulation.events() <= most(simulation));
        prop_assert!(has_ended, "{} events for {} packets\n{text}", simulation.events() - events, simulation.packets_made() - made);
        prop_assert!(simulation.events() <= most(&simulation));
        let result = simulation.result();
        // The programs of incidents end, independent of the state of devices and links.
        let of_incidents = result.standstill.iter().filter(|line| line.starts_with("incident-"));
        prop_assert_eq!(of_incidents.count(), 0, "{:?}\n{}", result.standstill, text);
    }
}

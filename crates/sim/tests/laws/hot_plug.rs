//! Nodes that are removed and inserted while the fabric runs: the losses, their reports, and the operation afterwards.

use kernel::Span;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cases::cases;
use crate::fixture::*;

/// A flow of 64 KiB, which has not ended at 5 us.
fn flow(id: &str, (from, to): (&str, &str), direction: &str, more: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"64 KiB\"\ndirection = \"{direction}\"\nrequest_size = \"256 B\"\n{more}\n"
    )
}

fn incident(at: &str, what: &str, node: &str, keys: &str) -> String {
    format!("[[incidents]]\nat = \"{at}\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{keys}\n")
}

/// A host, a switch with devices `a` and `b`, and device `c` at a second root port.
fn machine(more: &str) -> String {
    let device = |name: &str, above: &str| {
        format!("[devices.{name}]\nupstream = \"{above}\"\nbar = \"256 KiB\"\n")
    };
    let devices = [("a", "s"), ("b", "s"), ("c", "h0")].map(|(name, above)| device(name, above));
    format!(
        "[links]\ngeneration = 3\nlanes = 4\n{HOST}[switches.s]\nupstream = \"h0\"\n{}{more}",
        devices.concat()
    )
}

const EVERY: [(&str, &str); 6] = [
    ("a", "h0"),
    ("b", "h0"),
    ("c", "h0"),
    ("h0", "a"),
    ("b", "a"),
    ("c", "b"),
];

fn every_flow() -> String {
    let both = |(from, to): (&str, &str)| {
        ["read", "write"].map(|direction| {
            let id = format!("{from}-{to}-{direction}");
            flow(&id, (from, to), direction, "")
        })
    };
    EVERY.map(both).concat().concat()
}

/// Whether a removal of `node` affects a flow of [`every_flow`]: an end of the flow is `node` or below it. A flow between two devices below a switch
/// is also affected by the removal of the switch.
fn concerns(id: &str, node: &str) -> bool {
    let mut ends = id.split('-');
    ends.any(|end| end == node || node == "s" && ["a", "b"].contains(&end))
}

#[test]
fn a_device_that_is_taken_out_takes_its_flows_along_and_no_others() {
    for node in ["a", "c", "s"] {
        let text = machine(&(every_flow() + &incident("5 us", "surprise-removal", node, "")));
        let simulation = rested(&text);
        let result = simulation.result();
        for flow in &result.flows {
            let arrives = flow.completed && flow.intact;
            assert_eq!(arrives, !concerns(&flow.id, node), "{node}: {flow:?}");
        }
        let above = if node == "a" { "s" } else { "h0" };
        let log = log(&simulation);
        assert!(
            log.contains(&(node.into(), "surprise removal".into())),
            "{log:?}"
        );
        assert!(
            log.contains(&(format!("{above} to {node}"), "Surprise Down".into())),
            "{log:?}"
        );
        assert!(
            !simulation
                .lspci()
                .lines()
                .any(|line| line.ends_with(&format!(" {node}")))
        );
    }
}

#[test]
fn a_device_that_is_put_in_again_works_as_before() {
    for node in ["a", "c", "s"] {
        let later = flow("later", ("a", "h0"), "read", "start = \"1000 us\"")
            + &flow("late", ("h0", "a"), "write", "start = \"1000 us\"")
            + &flow("c", ("c", "h0"), "read", "start = \"1000 us\"");
        let text = machine(
            &(flow(
                "early",
                (if node == "s" { "b" } else { node }, "h0"),
                "read",
                "",
            ) + &later
                + &incident("5 us", "surprise-removal", node, "")
                + &incident("100 us", "insertion", node, "wait = \"200 us\"")),
        );
        let simulation = rested(&text);
        let result = simulation.result();
        assert!(!result.flow("early").completed);
        for id in ["later", "late", "c"] {
            let flow = result.flow(id);
            assert!(
                flow.completed && flow.intact,
                "{node}: {flow:?} {:?}",
                log(&simulation)
            );
        }
    }
}

/// The removal interrupts a read, whose tag is then in quarantine. A flow that begins later has no Bus Master Enable.
#[test]
fn a_run_ends_in_which_a_removed_device_has_no_tag_left() {
    let early = flow("early", ("a", "h0"), "read", "");
    let late = flow("late", ("a", "h0"), "read", "start = \"20 us\"");
    let text = machine(&(early + &late + &incident("5 us", "surprise-removal", "a", "")));
    let text = text.replace("[devices.a]\n", "[devices.a]\ntags = 1\n");
    let mut simulation = simulation(&text);
    let mut looks = 0;
    assert!(simulation.run(&mut |_| {
        looks += 1;
        looks < 100
    }));
    assert!(!simulation.result().flow("late").completed);
}

/// PCIe Base 6.2.10: a port that contains an error takes its link down and answers requests for nodes below it, until software releases it.
#[test]
fn a_port_that_contains_an_error_is_released_and_what_is_below_works_again() {
    let keys = "containment = \"fatal\"\nlink_up_wait = \"200 us\"\n";
    for node in ["a", "c", "s"] {
        let later = |id: &str, ends| flow(id, ends, "read", "start = \"2000 us\"");
        let text = machine(
            &(every_flow()
                + &later("later", ("a", "h0"))
                + &later("latest", ("c", "h0"))
                + &incident("5 us", "containment", node, "")),
        );
        let text = text.replacen("[hosts.h0]\n", &format!("[hosts.h0]\n{keys}"), 1);
        let simulation = rested(&text);
        let result = simulation.result();
        for flow in &result.flows {
            let arrives = flow.completed && flow.intact;
            let is_hit = !flow.id.starts_with("late") && concerns(&flow.id, node);
            assert_eq!(arrives, !is_hit, "{node}: {flow:?} {:?}", log(&simulation));
        }
        let log = log(&simulation);
        for what in ["containment released", "set up again"] {
            assert!(log.contains(&("h0".into(), what.into())), "{log:?}");
        }
        // No other node sends requests to `c`.
        let refused = if node == "a" { "s" } else { "h0" };
        assert_eq!(result.errors(refused, "contained") > 0, node != "c");
        assert_eq!(result.errors(refused, "completer abort") > 0, node != "c");
    }
}

/// A scenario with every flow, two more flows that begin after the incidents, and software that waits for links.
fn interrupted(incidents: &str) -> String {
    let later = |id: &str, ends| flow(id, ends, "read", "start = \"2000 us\"");
    let flows = every_flow() + &later("later", ("a", "h0")) + &later("latest", ("c", "h0"));
    let keys = "link_up_wait = \"200 us\"\n";
    machine(&(flows + incidents)).replacen("[hosts.h0]\n", &format!("[hosts.h0]\n{keys}"), 1)
}

/// Asserts that an interruption at `node` stops only flows that use `node`, that the log contains `what` at `place`, that the host has set up the
/// nodes below again, and that no error is reported.
fn is_no_error(text: &str, node: &str, (place, what): (&str, &str)) {
    let simulation = rested(text);
    for flow in &simulation.result().flows {
        let arrives = flow.completed && flow.intact;
        let is_hit = !flow.id.starts_with("late") && concerns(&flow.id, node);
        assert_eq!(arrives, !is_hit, "{node}: {flow:?} {:?}", log(&simulation));
    }
    let log = log(&simulation);
    for wanted in [entry(place, what), entry("h0", "set up again")] {
        assert!(log.contains(&wanted), "{wanted:?} {log:?}");
    }
    let is_error = log.iter().any(|(_, what)| what == "Surprise Down");
    assert!(!is_error, "{log:?}");
}

#[test]
fn a_secondary_bus_reset_resets_what_is_below_and_nothing_else() {
    for node in ["a", "c", "s"] {
        let reset = incident("5 us", "secondary-bus-reset", node, "hold = \"20 us\"");
        is_no_error(&interrupted(&reset), node, (node, "hot reset"));
    }
}

/// PCIe Base 7.5.3.7, 3.2.1: a link goes down because software disables it, which is no error, and trains when software enables it.
#[test]
fn a_disabled_link_is_no_error_and_works_when_it_is_enabled() {
    for node in ["a", "c", "s"] {
        let disable = incident("5 us", "disable-link", node, "");
        let text = interrupted(&(disable + &incident("500 us", "enable-link", node, "")));
        let disabled = rested_at(&text, Span::from_us(400));
        let above = if node == "a" { "s" } else { "h0" };
        let functions = disabled.functions(above).expect("a node");
        let mut ports = functions.ports();
        assert!(ports.any(|port| !port.link_active()), "{node}");
        let port = format!("{above} to {node}");
        is_no_error(&text, node, (&port, "Link Disable"));
    }
}

/// The simulation of the scenario `text`, which has run until `time`.
fn rested_at(text: &str, time: Span) -> sim::Simulation {
    let mut simulation = simulation(text);
    simulation.run_until(kernel::Time::ZERO + time, &mut || true);
    simulation
}

/// A scenario whose nodes are in slots, with software that handles hot-plug events.
fn with_slots(slot: &str, more: &str) -> String {
    let text = machine(more);
    let keys = "hot_plug = true\nattention_wait = \"50 us\"\nlink_up_wait = \"200 us\"\n";
    let text = text.replacen("[hosts.h0]\n", &format!("[hosts.h0]\n{keys}"), 1);
    text.replace("upstream = ", &format!("slot = \"{slot}\"\nupstream = "))
}

#[test]
fn software_powers_a_slot_off_and_on_when_its_attention_button_is_pressed() {
    for node in ["a", "c", "s"] {
        let late = |id: &str, ends| flow(id, ends, "read", "start = \"2000 us\"");
        let text = with_slots(
            "hot-plug",
            &(late("late", ("a", "h0"))
                + &late("later", ("c", "h0"))
                + &incident("5 us", "attention-button", node, "")
                + &incident("500 us", "attention-button", node, "")),
        );
        let simulation = rested(&text);
        let result = simulation.result();
        let log = log(&simulation);
        for id in ["late", "later"] {
            let flow = result.flow(id);
            assert!(flow.completed && flow.intact, "{node}: {flow:?} {log:?}");
        }
        for what in ["slot: power off", "slot: power on", "set up again"] {
            assert!(log.contains(&("h0".into(), what.into())), "{what}: {log:?}");
        }
        // The removal is not an error.
        assert!(
            !log.iter().any(|(_, what)| what == "Surprise Down"),
            "{log:?}"
        );
        assert!(result.errors.is_empty(), "{:?}", result.errors);
    }
}

#[test]
fn the_attention_button_cancels_a_removal_that_it_has_asked_for() {
    let text = with_slots(
        "hot-plug",
        &(flow("f", ("a", "h0"), "read", "start = \"300 us\"")
            + &incident("5 us", "attention-button", "a", "")
            + &incident("30 us", "attention-button", "a", "")),
    );
    let simulation = rested(&text);
    let log = log(&simulation);
    assert!(simulation.result().flow("f").intact);
    assert!(
        log.contains(&("h0".into(), "slot: removal cancelled".into())),
        "{log:?}"
    );
    assert!(
        !log.contains(&("h0".into(), "slot: power off".into())),
        "{log:?}"
    );
}

#[test]
fn a_card_that_is_put_into_a_slot_is_set_up_by_the_interrupt_of_its_port() {
    for (node, slot) in [("a", "surprise"), ("c", "surprise"), ("s", "hot-plug")] {
        let text = with_slots(
            slot,
            &(every_flow()
                + &flow("late", ("a", "h0"), "read", "start = \"2000 us\"")
                + &flow("later", ("c", "h0"), "read", "start = \"2000 us\"")
                + &incident("5 us", "surprise-removal", node, "")
                + &incident("500 us", "insertion", node, "")),
        );
        let simulation = rested(&text);
        let result = simulation.result();
        let log = log(&simulation);
        for id in ["late", "later"] {
            let flow = result.flow(id);
            assert!(flow.completed && flow.intact, "{node}: {flow:?} {log:?}");
        }
        for what in ["slot: link down", "slot: card present", "set up again"] {
            assert!(log.contains(&("h0".into(), what.into())), "{what}: {log:?}");
        }
        // PCIe Base 3.2.1: a surprise removal from a slot that supports it is not an error.
        let is_error = log.iter().any(|(_, what)| what == "Surprise Down");
        assert_eq!(is_error, slot == "hot-plug", "{log:?}");
    }
}

/// The device below an I/O port is removed without notice: the port refuses loads and stores of hosts, and no packet remains.
#[test]
fn an_io_port_refuses_what_is_for_a_device_that_is_taken_out() {
    let text = r#"
        [controllers.c]
        ports = 2
        [hosts.h0]
        [devices.n0]
        model = "nic"
        upstream = "h0"
        [io_ports.p]
        owners = ["h0"]
        [devices.e]
        upstream = "p"
        [[flows]]
        id = "f"
        from = "h0"
        to = "e"
        direction = "read"
        size = "64 KiB"
        [[incidents]]
        at = "5 us"
        what = "surprise-removal"
        node = "e"
    "#;
    let simulation = rested(text);
    let result = simulation.result();
    let flow = result.flow("f");
    assert!(flow.completed && !flow.intact && flow.bytes > 0, "{flow:?}");
    assert!(result.errors("p", "unsupported request") > 0);
}

proptest! {
    #![proptest_config(cases(24))]

    /// Any node is removed and perhaps inserted again, perhaps a second node too, with bit errors and perhaps a failing link. No packet and no credit
    /// remains, and flows that do not use these nodes arrive.
    #[test]
    fn removals_and_insertions_lose_nothing_of_others(
        first in select(&["a", "b", "c", "s"][..]),
        at in 0_u32..60_000,
        back in option::of(0_u32..400_000),
        second in option::of((select(&["a", "b", "c", "s"][..]), 0_u32..60_000, option::of(0_u32..400_000))),
        failing in option::weighted(0.2, (select(&["a", "b", "c", "s"][..]), 1_u32..60_000)),
        errors: bool,
        wait in 0_u32..300,
    ) {
        let mut text = machine(&every_flow());
        let mut gone = vec![(first, at, back)];
        gone.extend(second.filter(|(node, ..)| *node != first));
        for (node, at, back) in &gone {
            text += &incident(&format!("{at} ns"), "surprise-removal", node, "");
            if let Some(back) = back {
                let keys = format!("wait = \"{wait} us\"");
                text += &incident(&format!("{} ns", at + back + 1), "insertion", node, &keys);
            }
        }
        if errors {
            text = text.replacen("lanes = 4\n", "lanes = 4\nbit_error_rate = 1e-6\n", 1);
        }
        let mut nodes: Vec<&str> = gone.iter().map(|(node, ..)| *node).collect();
        if let Some((node, fails_at)) = failing {
            let old = format!("{node}]\nupstream = \"");
            let at = text.find(&old).expect("a node") + old.len() - 1;
            let end = at + text[at + 1..].find('"').expect("a name") + 2;
            let above = text[at..end].to_owned();
            text.replace_range(at..end, &format!("{{ to = {above}, fails_at = \"{fails_at} ns\" }}"));
            nodes.push(node);
        }
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let rest = simulation.now() + Span::from_us(1000);
        simulation.run_until(rest, &mut || true);
        prop_assert_eq!((simulation.packets_in_use(), simulation.credits_held()), (0, 0));
        let result = simulation.result();
        for flow in &result.flows {
            if !nodes.iter().any(|node| concerns(&flow.id, node)) {
                prop_assert!(flow.completed && flow.intact, "{:?}", flow);
            }
            prop_assert!(flow.intact || !flow.completed || !result.errors.is_empty(), "{:?}", flow);
        }
    }
}

//! Packets in a ring that deadlock because each waits for the next, and the rules that prevent the deadlock.

use super::threads::is_the_same_on_threads;
use super::*;

/// The keys of routers whose buffers hold one packet.
const SMALL: &str = "packet_size = \"256 B\"\nmax_payload_supported = \"128 B\"\nchannel_buffer = \"320 B\"\nbar = \"64 KiB\"";

const AMOUNT: &str = "size = \"16 KiB\"\nrequest_size = \"256 B\"";

fn ring(dateline: bool, channels: u32) -> Net {
    Net::new("ring", &[8])
        .with_network(&format!("dateline = {dateline}"))
        .with_routers(&format!("{SMALL}\nvirtual_channels = {channels}"))
}

fn torus(sides: &[usize], network: &str, channels: u32) -> Net {
    Net::new("torus", sides)
        .with_network(network)
        .with_routers(&format!("{SMALL}\nvirtual_channels = {channels}"))
}

/// Runs until no packet moves any more, and asserts that no flow is complete although the time is not limited.
fn assert_deadlock(text: &str) {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true), "a run comes to its end");
    let result = simulation.result();
    assert!(
        result.flows.iter().all(|flow| !flow.completed),
        "{:?}",
        result.flows
    );
    assert!(result.errors.is_empty(), "{:?}", result.errors);
    assert!(!simulation.step(), "something still happens");
    assert!(result.standing_packets > 0);
    assert_eq!(result.standing_packets, simulation.packets_in_use());
    let danger = simulation.plan().warnings.iter();
    assert!(danger.clone().any(|warning| warning.contains("deadlock")));
}

fn assert_freedom(text: &str) {
    assert_eq!(warnings(text), Vec::<String>::new());
    let (simulation, result) = run_to_silence(text);
    let _ = result.all_intact();
    assert_nothing_is_held(&simulation, text);
}

#[test]
fn a_ring_without_a_dateline_stands_still_when_all_send_half_way_round() {
    // The rings have one channel. With two channels and no dateline, each pair of nodes would use only one of the channels.
    for steps in [2, 3] {
        assert_deadlock(&ring(false, 1).shifted(&[steps], AMOUNT));
        assert_deadlock(&ring(true, 1).shifted(&[steps], AMOUNT));
    }
}

#[test]
fn packets_stand_as_well_where_the_fabric_is_divided() {
    let ring = ring(false, 1).shifted(&[3], AMOUNT);
    let torus = torus(&[5, 5], "dateline = false", 1).shifted(&[2, 2], AMOUNT);
    assert!(is_the_same_on_threads(&ring, true));
    assert!(is_the_same_on_threads(&torus, true));
}

#[test]
fn a_ring_with_a_dateline_moves() {
    for channels in [2, 3, 4] {
        for steps in 1..8 {
            assert_freedom(&ring(true, channels).shifted(&[steps], AMOUNT));
        }
    }
}

#[test]
fn a_torus_without_a_dateline_stands_still() {
    assert_deadlock(&torus(&[5, 5], "dateline = false", 1).shifted(&[2, 2], AMOUNT));
}

#[test]
fn a_torus_with_a_dateline_moves() {
    assert_freedom(&torus(&[5, 5], "dateline = true", 2).shifted(&[2, 2], AMOUNT));
    assert_freedom(
        &torus(&[4, 4, 4], "dateline = true", 2)
            .shifted(&[2, 1, 2], "size = \"4 KiB\"\nrequest_size = \"256 B\""),
    );
}

#[test]
fn an_adaptive_torus_moves() {
    for steps in [[2, 2], [1, 2], [2, 0]] {
        assert_freedom(&torus(&[5, 5], "routing = \"adaptive\"", 3).shifted(&steps, AMOUNT));
        assert_freedom(&torus(&[4, 4], "routing = \"adaptive\"", 4).shifted(&steps, AMOUNT));
    }
}

#[test]
fn the_danger_is_warned_of_where_it_is() {
    let one = |net: Net| {
        let found = warnings(&net.text());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("law.toml:") && found[0].contains("deadlock"),
            "{found:?}"
        );
    };
    one(ring(false, 2));
    one(ring(true, 1));
    one(torus(&[4, 4], "dateline = false", 2));
    one(torus(&[3, 4], "dateline = false", 2));
    one(torus(&[4, 2], "", 1));
    one(torus(
        &[4, 4],
        "dateline = false\nrouting = \"adaptive\"",
        3,
    ));
    let native = "flow_control = \"native\"\nchannel_buffer = \"8 KiB\"";
    let roomy = ring(true, 2)
        .routers
        .replace("channel_buffer = \"320 B\"", native);
    one(Net {
        routers: roomy,
        ..ring(true, 2)
    });
}

#[test]
fn there_is_no_warning_where_there_is_no_danger() {
    let none = |net: Net| assert_eq!(warnings(&net.text()), Vec::<String>::new());
    none(ring(true, 2));
    none(Net::new("ring", &[3]).with_network("dateline = false"));
    none(Net::new("ring", &[2]).with_network("dateline = false"));
    none(torus(&[3, 3], "dateline = false", 1));
    none(torus(&[4, 4], "", 2));
    none(Net::new("mesh", &[8, 8]).with_network("dateline = false"));
    none(Net::new("mesh", &[8]).with_routers("virtual_channels = 1"));
    none(torus(&[4, 4], "routing = \"adaptive\"", 3));
}

#[test]
fn fibres_that_are_written_one_by_one_are_warned_of_when_their_ways_go_in_a_circle() {
    let circle = |count: usize| {
        let fibres: String = (0..count)
            .map(|node| fibre(node, (node + 1) % count, ""))
            .collect();
        routers(count, "") + &fibres
    };
    // A circle of four routers is not a case: the two paths to the opposite router have the same length, and the paths with these ports do not use
    // all fibres of the circle.
    for count in [3, 5, 6, 8] {
        let found = warnings(&circle(count));
        assert_eq!(found.len(), usize::from(count > 3), "{count}: {found:?}");
    }
    let star = routers(4, "") + &fibre(0, 1, "") + &fibre(0, 2, "") + &fibre(0, 3, "");
    assert!(warnings(&star).is_empty());
    assert!(warnings(&line(6, "", "")).is_empty());
    let double = routers(2, "") + &fibre(0, 1, "") + &fibre(1, 0, "");
    assert!(warnings(&double).is_empty());
}

#[test]
fn a_ring_written_fibre_by_fibre_stands_still_as_it_was_warned() {
    let count = 6;
    let ring: String = (0..count)
        .map(|node| fibre(node, (node + 1) % count, ""))
        .collect();
    let flows = (0..count).map(|node| {
        let (from, to) = (format!("r{node}"), format!("r{}", (node + 2) % count));
        flow(&format!("f{node}"), &from, &to, AMOUNT)
    });
    let text = routers(count, &format!("{SMALL}\nvirtual_channels = 1"))
        + &ring
        + &flows.collect::<String>();
    assert_deadlock(&text);
}

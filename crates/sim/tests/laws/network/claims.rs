//! Packets of all sizes leave a router, even if the buffers behind its fibres are small.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::cases::cases;

/// The packets per second of three sources, which send packets of these sizes through router 0 to router 4. The sources are routers 1 to 3; if
/// `from_node` is set, the third source is router 0. The first two sources send a packet each `interval`. The buffers behind fibres hold one packet
/// of 512 bytes, or eight packets if `lines` limits the retransmission buffer.
fn through_one_fibre(sizes: [u64; 3], from_node: bool, interval: &str, lines: &str) -> [f64; 3] {
    let packets = if lines.contains("retransmission") {
        8
    } else {
        1
    };
    let buffer = cycles(512 + 32, 4) * 32 * packets;
    let lines = format!(
        "fibre_ports = 4\npacket_size = \"512 B\"\nchannel_buffer = \"{buffer} B\"\nbar = \"4 MiB\"\nclock_compensation = false\n{lines}"
    );
    let mut text = String::from("[measure]\nfrom = \"10 us\"\nuntil = \"110 us\"\n");
    text += &routers(5, &lines);
    for node in 1..5 {
        text += &fibre(0, node, "");
    }
    for (number, size) in (1..).zip(sizes) {
        let from = if from_node && number == 3 { 0 } else { number };
        let pace = if number == 3 { "0 ns" } else { interval };
        let lines = format!(
            "request_size = \"{size} B\"\nduration = \"120 us\"\nwindow = \"1 MiB\"\ninterval = \"{pace}\""
        );
        text += &flow(&format!("f{number}"), &format!("r{from}"), "r4", &lines);
    }
    let result = run(&text);
    let rates = [1, 2, 3].map(|number| steady(result.flow(&format!("f{number}"))));
    [0, 1, 2].map(|number| rates[number] / sizes[number] as f64)
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn a_large_packet_waits_for_two_small_ones_of_each_other_source(
        small in [8_u64..100, 8..100],
        arbitration in select(&["transit-first", "round-robin", "oldest-first"][..]),
        from_node in any::<bool>(),
    ) {
        let from_node = from_node && arbitration != "transit-first";
        let lines = format!("arbitration = \"{arbitration}\"\nvirtual_channels = 1");
        let [a, b, large] = through_one_fibre([small[0], small[1], 512], from_node, "0 ns", &lines);
        // With "oldest-first", a packet waits for any number of older packets.
        let most = if arbitration == "oldest-first" { 40.0 } else { 4.2 };
        prop_assert!(most * large >= a + b, "{} and {} for {}", a, b, large);
    }
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn channels_share_the_buffer_for_retransmission(
        small in [8_u64..100, 8..100],
        channels in 1..4_u32,
    ) {
        let lines = format!(
            "arbitration = \"round-robin\"\nvirtual_channels = {channels}\nreliable = true\nretransmission_buffer = \"1 KiB\""
        );
        let [a, b, large] = through_one_fibre([small[0], small[1], 512], true, "0 ns", &lines);
        prop_assert!(4.2 * large >= a + b, "{} and {} for {}", a, b, large);
    }

    #[test]
    fn a_large_packet_gets_through_an_input_that_is_always_busy(
        flows in prop::collection::vec((1..7_usize, 1..7_usize, select(&[8_u64, 32, 100, 200, 512][..])), 4..12),
        arbitration in select(&["transit-first", "round-robin"][..]),
    ) {
        for (flow, packets) in flows.iter().zip(through_the_middle(&flows, arbitration)) {
            prop_assert!(flow.0 == flow.1 || packets > 1e5, "{:?}: {}", flow, packets);
        }
    }
}

/// The packets per second of each flow between two routers through router 0. The fibres have two channels, each with space for one packet of 512
/// bytes. A flow consists of its source, its destination and the size of its packets. A flow with equal ends is left out.
fn through_the_middle(flows: &[(usize, usize, u64)], arbitration: &str) -> Vec<f64> {
    let buffer = cycles(512 + 32, 4) * 32;
    let lines = format!(
        "fibre_ports = 6\npacket_size = \"512 B\"\nchannel_buffer = \"{buffer} B\"\nbar = \"4 MiB\"\nvirtual_channels = 2\narbitration = \"{arbitration}\""
    );
    let mut text = String::from("[measure]\nfrom = \"10 us\"\nuntil = \"110 us\"\n");
    text += &routers(7, &lines);
    for node in 1..7 {
        text += &fibre(0, node, "");
    }
    for (number, (from, to, size)) in flows.iter().enumerate() {
        let lines =
            format!("request_size = \"{size} B\"\nduration = \"120 us\"\nwindow = \"64 KiB\"");
        let ends = [from, to].map(|node| format!("r{node}"));
        if from != to {
            text += &flow(&format!("f{number}"), &ends[0], &ends[1], &lines);
        }
    }
    let result = run(&text);
    let packets = |(number, (from, to, size)): (usize, &(usize, usize, u64))| {
        if from == to {
            return 0.0;
        }
        steady(result.flow(&format!("f{number}"))) / *size as f64
    };
    flows.iter().enumerate().map(packets).collect()
}

/// Routers 3 and 4 send on one channel; router 1 sends on the other channel, which always has space.
#[test]
fn a_channel_takes_no_turns_from_another() {
    let flows = [(1, 6, 8), (3, 6, 512), (4, 6, 32)];
    for arbitration in ["transit-first", "round-robin"] {
        let packets = through_the_middle(&flows, arbitration);
        assert!(packets[0] > 1e7, "{packets:?}");
        assert!((packets[1] / packets[2] - 1.0).abs() < 0.1, "{packets:?}");
    }
}

/// Packets to two routers arrive over one fibre, each kind on its own channel, and wait. After the paths to both routers are free, both kinds leave
/// at the same rate.
#[test]
fn queues_of_one_input_take_turns() {
    let mut text = String::from("[measure]\nfrom = \"150 us\"\nuntil = \"250 us\"\n")
        + &routers(7, "fibre_ports = 5\nbar = \"4 MiB\"");
    for (from, to) in [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (1, 6)] {
        text += &fibre(from, to, "");
    }
    for (from, to, us) in [(4, 2, 300), (6, 3, 300), (3, 2, 100), (2, 3, 100)] {
        let lines = format!("request_size = \"512 B\"\nduration = \"{us} us\"\nwindow = \"1 MiB\"");
        text += &flow(
            &format!("from-{from}"),
            &format!("r{from}"),
            &format!("r{to}"),
            &lines,
        );
    }
    let result = run(&text);
    let both = ["from-4", "from-6"].map(|flow| steady(result.flow(flow)));
    assert!((both[0] / both[1] - 1.0).abs() < 0.05, "{both:?}");
}

#[test]
fn a_node_sends_large_packets_whenever_no_packet_in_transit_waits() {
    let lines = "arbitration = \"transit-first\"\nvirtual_channels = 1";
    let [a, b, large] = through_one_fibre([8, 8, 512], true, "400 ns", lines);
    assert!(
        a > 2e6 && b > 2e6 && large > 0.5e6,
        "{a} and {b} for {large}"
    );
}

const SIDES: [&[usize]; 4] = [&[4, 4], &[3, 3], &[8], &[2, 3, 2]];

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn packets_of_all_sizes_cross_a_full_network_whose_buffers_hold_one(
        sides in select(&SIDES[..]),
        shape in select(&["torus", "mesh"][..]),
        routing in select(&["dimension-order", "adaptive"][..]),
        arbitration in select(&["transit-first", "round-robin", "oldest-first"][..]),
        reliable in any::<bool>(),
        width in select(&[1, 2][..]),
        sizes in [8_u32..=64, 65..=512, 8..=512],
        shift in prop::collection::vec(1..4_usize, 3),
    ) {
        let buffer = cycles(512 + 32, 4) * 32;
        let net = Net::new(shape, sides)
            .with_network(&format!("routing = \"{routing}\""))
            .with_routers(&format!(
                "packet_size = \"512 B\"\nchannel_buffer = \"{buffer} B\"\ninjection_buffer = \"{buffer} B\"\nvirtual_channels = 3\nlocal_width = {width}\narbitration = \"{arbitration}\"\nreliable = {reliable}\nretransmission_buffer = \"1 KiB\"\nbar = \"64 KiB\""
            ));
        let mut text = net.text();
        for node in 0..net.nodes() {
            for (number, size) in sizes.iter().enumerate() {
                let steps: Vec<usize> = shift.iter().map(|steps| steps * (number + 1)).collect();
                let to = net.beyond(node, &steps);
                let amount = format!("size = \"{} B\"\nrequest_size = \"{size} B\"", size * 40);
                if to != node {
                    text += &flow(&format!("f{node}-{number}"), &net.name(node), &net.name(to), &amount);
                }
            }
        }
        let (simulation, result) = run_to_silence(&text);
        prop_assert!(result.flows.iter().all(|flow| flow.completed && flow.intact), "{:?}", result.flows);
        assert_nothing_is_held(&simulation, &text);
    }
}

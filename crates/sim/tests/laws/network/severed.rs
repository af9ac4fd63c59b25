//! A fibre that is cut while it carries packets: every lost packet is reported.

use super::*;

const ASKED: u64 = 256 << 10;
const PACKET: u64 = 1 << 10;

/// The number of packets that arrived, the number of packets that are reported as lost, and the number of packets that are reported as possibly lost.
fn account(result: &RunResult, flows: u64) -> (u64, u64, u64) {
    let of = |what: &str| {
        let errors = result.errors.iter().filter(|error| error.what == what);
        errors.map(|error| error.count).sum::<u64>()
    };
    let arrived: u64 = result.flows.iter().map(|flow| flow.bytes / PACKET).sum();
    assert_eq!(
        arrived * PACKET,
        result.flows.iter().map(|flow| flow.bytes).sum::<u64>()
    );
    let (lost, unsure) = (of("severed fibre"), of("unacknowledged on a severed fibre"));
    assert_eq!(super::lost(result), lost + unsure, "{:?}", result.errors);
    assert!(arrived + lost <= flows * ASKED / PACKET);
    (arrived, lost, unsure)
}

fn cut(reliable: bool, at: &str, lines: &str) -> String {
    line(
        2,
        &format!("reliable = {reliable}\nbar = \"64 KiB\"\n{lines}"),
        &format!("severed_at = \"{at}\""),
    ) + &flow(
        "f",
        "r0",
        "r1",
        &format!("size = \"{ASKED} B\"\nrequest_size = \"{PACKET} B\""),
    )
}

#[test]
fn without_retransmission_every_packet_arrives_or_is_told() {
    for at in ["1 ns", "400 ns", "7 us", "20.3 us", "49 us"] {
        for lines in [
            "",
            "channel_buffer = \"2 KiB\"",
            "flow_control = \"native\"\nchannel_buffer = \"32 KiB\"",
        ] {
            let text = cut(false, at, lines);
            let (simulation, result) = run_to_silence(&text);
            let (arrived, lost, unsure) = account(&result, 1);
            assert_eq!(
                (arrived + lost, unsure),
                (ASKED / PACKET, 0),
                "{at} {lines}"
            );
            assert!(lost > 0 && result.flow("f").completed && !result.flow("f").intact);
            assert_eq!(simulation.packets_in_use(), 0);
        }
    }
}

#[test]
fn what_is_sent_into_the_dark_is_told_where_it_should_have_arrived() {
    let result = run(&cut(false, "20 us", ""));
    let (there, here) = (
        result.errors("r1", "severed fibre"),
        result.errors("r0", "severed fibre"),
    );
    // The lost packets are the packets of a microsecond at 4.9 GB/s, until the loss of light is detected, and the packets in flight.
    assert!((4..=7).contains(&there), "{:?}", result.errors);
    assert!(here > 100, "{:?}", result.errors);
}

#[test]
fn with_retransmission_what_was_not_acknowledged_is_told_as_in_doubt() {
    for at in ["1 ns", "400 ns", "7 us", "20.3 us", "49 us"] {
        for lines in [
            "",
            "channel_buffer = \"2 KiB\"",
            "retransmission_buffer = \"1 KiB\"",
        ] {
            let text = cut(true, at, lines);
            let (simulation, result) = run_to_silence(&text);
            let (arrived, lost, unsure) = account(&result, 1);
            assert!(arrived + lost <= ASKED / PACKET && arrived + lost + unsure >= ASKED / PACKET);
            // These are at most the packets in the fibre and in the far router, and the packets whose acknowledgements are in flight.
            assert!(unsure <= 16, "{:?}", result.errors);
            assert!(result.flow("f").completed && !result.flow("f").intact);
            assert_eq!(simulation.packets_in_use(), 0);
        }
    }
}

#[test]
fn a_fibre_cut_at_rest_loses_nothing() {
    for reliable in [false, true] {
        let (simulation, result) = run_to_silence(&cut(reliable, "1 ms", ""));
        let _ = result.all_intact();
        assert_eq!(simulation.packets_in_use(), 0);
    }
}

/// A scenario with four routers in a square and a flow from one corner to the opposite corner. One of the two paths of the flow is cut.
fn square(routing: &str, reliable: bool) -> String {
    let net = Net::new("mesh", &[2, 2])
        .with_network(&format!("routing = \"{routing}\""))
        .with_routers(&format!(
            "virtual_channels = 3\nreliable = {reliable}\nbar = \"64 KiB\""
        ));
    net.text()
        + "[[fibres]]\nfrom = \"n-0-0\"\nto = \"n-1-0\"\nsevered_at = \"10 us\"\n"
        + &flow(
            "f",
            "n-0-0",
            "n-1-1",
            &format!("size = \"{ASKED} B\"\nrequest_size = \"{PACKET} B\""),
        )
}

#[test]
fn adaptive_routing_sends_the_rest_another_way() {
    for reliable in [false, true] {
        let (simulation, result) = run_to_silence(&square("adaptive", reliable));
        let (arrived, lost, unsure) = account(&result, 1);
        let missing = ASKED / PACKET - arrived;
        assert!(result.flow("f").completed);
        assert!(
            missing <= 16 && missing <= lost + unsure,
            "{:?}",
            result.errors
        );
        assert!(
            if reliable { lost == 0 } else { unsure == 0 },
            "{:?}",
            result.errors
        );
        assert_eq!(simulation.packets_in_use(), 0);
    }
}

#[test]
fn dimension_order_tells_what_has_no_way() {
    for reliable in [false, true] {
        let (simulation, result) = run_to_silence(&square("dimension-order", reliable));
        let (arrived, lost, unsure) = account(&result, 1);
        assert!(lost > 100 && arrived > 30, "{arrived} {:?}", result.errors);
        assert!(arrived + lost <= ASKED / PACKET && arrived + lost + unsure >= ASKED / PACKET);
        assert!(result.flow("f").completed);
        assert_eq!(simulation.packets_in_use(), 0);
    }
}

#[test]
fn the_others_go_on_around_a_cut_in_a_busy_torus() {
    for routing in ["adaptive", "dimension-order"] {
        for reliable in [false, true] {
            for errors in ["0.0", "1e-6"] {
                let net = Net::new("torus", &[4, 4])
                    .with_network(&format!("routing = \"{routing}\"\nfibre_bit_error_rate = {errors}"))
                    .with_routers(&format!("virtual_channels = 4\nreliable = {reliable}\nchannel_buffer = \"4 KiB\"\nbar = \"64 KiB\""));
                let text = net.shifted(
                    &[1, 2],
                    &format!("size = \"{ASKED} B\"\nrequest_size = \"{PACKET} B\""),
                ) + "[[fibres]]\nfrom = \"n-1-1\"\nto = \"n-2-1\"\nsevered_at = \"30 us\"\n"
                    + "[[fibres]]\nfrom = \"n-3-3\"\nto = \"n-3-0\"\nsevered_at = \"31 us\"\n";
                let (simulation, result) = run_to_silence(&text);
                let complete = result.flows.iter().filter(|flow| flow.completed).count();
                assert_eq!(complete, 16, "{routing} {reliable}");
                assert_eq!(simulation.packets_in_use(), 0);
                if errors != "0.0" && !reliable {
                    continue;
                }
                let whole = result.flows.iter().filter(|flow| flow.intact).count();
                assert!(
                    whole >= 8,
                    "{whole} {routing} {reliable} {:?}",
                    result.errors
                );
            }
        }
    }
}

#[test]
fn time_until_the_cut_begins_when_the_links_are_up() {
    // Gen1 links take longer to come up than these flows take to run.
    let text = "[links]\ngeneration = 1\nlanes = 1\n".to_owned() + &cut(false, "20 us", "");
    let slow = account(&run(&text), 1);
    assert_eq!(slow, account(&run(&cut(false, "20 us", "")), 1));
}

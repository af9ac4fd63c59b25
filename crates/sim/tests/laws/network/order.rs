//! Packets from one node to another arrive in the order in which they were sent, if they have a single path.

use transaction::Pattern;

use super::*;

/// Runs a step at a time, and asserts after each step that the arrived messages of each flow are the first messages of the flow. A flow has messages
/// of `message` bytes, which are stored one after the other in the memory of the target.
fn assert_order(text: &str, message: u64) {
    let mut simulation = simulation(text);
    let aperture = simulation.plan().networks[0].window.aperture();
    let flows: Vec<_> = simulation
        .plan()
        .flows()
        .map(|flow| {
            let to = flow.to.expect("flows go to nodes");
            let node = &simulation.plan().nodes[to];
            let region = node.region().expect("it has memory");
            // The offset of an address in its aperture is the offset in the memory behind the aperture.
            let base = region.base + flow.address % aperture;
            let mut bytes = vec![0; flow.window as usize];
            Pattern::new(simulation.plan().seed, flow.pattern).fill(0, &mut bytes);
            (node.name.clone(), base, bytes)
        })
        .collect();
    let mut arrived = vec![0; flows.len()];
    // Fibres with bit errors send their sequence numbers forever, so the loop ends when all messages have arrived.
    let whole = |arrived: &[usize]| {
        let mut both = flows.iter().zip(arrived);
        both.all(|((_, _, bytes), arrived)| arrived * message as usize == bytes.len())
    };
    while !whole(&arrived) && simulation.step() {
        for ((name, base, bytes), arrived) in flows.iter().zip(&mut arrived) {
            let count = bytes.len() / message as usize;
            let is_there = |number: usize| {
                let at = number * message as usize;
                let found = simulation
                    .memory(name, base + at as u64, message)
                    .expect("it is memory");
                found == bytes[at..at + message as usize]
            };
            while *arrived < count && is_there(*arrived) {
                *arrived += 1;
            }
            for later in (*arrived + 1)..(*arrived + 4).min(count) {
                assert!(
                    !is_there(later),
                    "message {later} overtook {arrived}\n{text}"
                );
            }
        }
    }
    assert!(whole(&arrived), "{text}");
}

const FLOW: &str = "size = \"8 KiB\"\nwindow = \"8 KiB\"\nrequest_size = \"128 B\"";

#[test]
fn writes_over_fibres_written_one_by_one_keep_their_order() {
    for channels in [1, 2, 4, 8] {
        let text = line(
            3,
            &format!("virtual_channels = {channels}\nbar = \"64 KiB\""),
            "",
        ) + &flow("a", "r0", "r2", FLOW)
            + &flow("b", "r1", "r2", FLOW)
            + &flow("c", "r2", "r0", FLOW)
            + &flow("d", "h0", "h2", FLOW);
        assert_order(&text, 128);
    }
}

#[test]
fn writes_in_a_torus_keep_their_order_under_dimension_order() {
    for channels in [2, 4] {
        let net = Net::new("torus", &[4, 4]).with_routers(&format!(
            "virtual_channels = {channels}\nbar = \"64 KiB\"\nchannel_buffer = \"2 KiB\""
        ));
        let mut text = net.text();
        for node in 0..net.nodes() {
            let to = net.beyond(node, &[2, 2]);
            text.push_str(&flow(
                &format!("a{node}"),
                &net.name(node),
                &net.name(to),
                FLOW,
            ));
            let host = |node: usize| format!("{}-host", net.name(node));
            if node % 4 == 0 {
                text.push_str(&flow(
                    &format!("b{node}"),
                    &host(node),
                    &host(net.beyond(node, &[3, 1])),
                    FLOW,
                ));
            }
        }
        assert_order(&text, 128);
    }
}

#[test]
fn the_reliable_layer_keeps_the_order_that_bit_errors_would_break() {
    let routers = "reliable = true\nbar = \"64 KiB\"";
    let text = line(3, routers, "fibre_bit_error_rate = 1e-5")
        + &flow("a", "r0", "r2", FLOW)
        + &flow("b", "r2", "r0", FLOW);
    assert_order(&text, 128);
}

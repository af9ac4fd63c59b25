//! Collective operations of nodes: in any network, the nodes end with the right values, and not earlier than the wires allow.

use proptest::prelude::*;

use super::*;
use crate::cases::cases;

fn collective(net: &Net, lines: &str) -> sim::result::JointResult {
    let text = format!("{}[[collectives]]\nnetwork = \"n\"\n{lines}\n", net.text());
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    assert_eq!(simulation.packets_in_use(), 0);
    let result = simulation.result();
    assert!(result.errors.is_empty(), "{:?}", result.errors);
    result.collectives[0].joint.clone()
}

fn networks() -> impl Strategy<Value = Net> {
    let sides = prop::collection::vec(1..5_usize, 1..4);
    let shape = prop_oneof![Just("mesh"), Just("torus")];
    let sides = sides.prop_filter("two nodes at least", |sides| {
        sides.iter().product::<usize>() > 1
    });
    (shape, sides).prop_map(|(shape, sides)| Net::new(shape, &sides))
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn every_node_has_the_sum_of_all_in_the_end(
        net in networks(),
        algorithm in prop_oneof![Just("ring"), Just("dimension-wise")],
        words in 1..40_usize,
    ) {
        let size = words * 4 * net.nodes();
        let lines = format!("algorithm = \"{algorithm}\"\nsize = \"{size} B\"");
        let net = net.with_routers("bar = \"64 KiB\"\naperture = \"64 KiB\"");
        let result = collective(&net, &lines);
        prop_assert!(result.correct, "{net:?}: {result:?}");
    }

    #[test]
    fn every_node_has_the_faces_of_its_neighbours(net in networks(), size in 4..3000_usize, iterations in 1..4) {
        let lines = format!("operation = \"halo\"\nsize = \"{size} B\"\niterations = {iterations}");
        let result = collective(&net, &lines);
        prop_assert!(result.correct, "{net:?}: {result:?}");
    }
}

#[test]
fn an_all_reduce_moves_each_vector_twice_but_for_one_part_of_it() {
    // In a ring of n nodes, each node sends n - 1 of the n parts of its vector to the next node, twice.
    let net = Net::new("ring", &[8]);
    let result = collective(&net, "size = \"8 KiB\"");
    assert_eq!(result.moved_bytes, 8 * 2 * 7 * 1024);
    // Dimension by dimension, each node sends the same share: 15 of 16 parts, twice.
    let net = Net::new("torus", &[4, 4]);
    let result = collective(&net, "algorithm = \"dimension-wise\"\nsize = \"8 KiB\"");
    assert_eq!(result.moved_bytes, 16 * 2 * 15 * 512);
}

#[test]
fn a_halo_fills_the_fibres_to_all_neighbours_at_once() {
    // 32 packets of 1,536 bytes take 49 cycles of 6.4 ns each, independent of the traffic to the other neighbours.
    let message = 32.0 * 49.0 * 6.4;
    for (shape, sides, queues) in [("ring", &[8][..], 2), ("torus", &[4, 4], 4)] {
        let net = Net::new(shape, sides);
        let net = net.with_routers(&format!(
            "bar = \"1 MiB\"\naperture = \"1 MiB\"\nlocal_width = {queues}\ninjection_queues = {queues}"
        ));
        let result = collective(&net, "operation = \"halo\"\nsize = \"48 KiB\"");
        let ns = result.time_ns.expect("it is complete");
        assert!(
            (message..1.4 * message).contains(&ns),
            "{shape}: {ns} of {message}"
        );
    }
}

#[test]
fn a_flow_to_a_router_changes_no_byte_of_a_collective() {
    let net = Net::new("ring", &[4]);
    let flow = "[[flows]]\nfrom = \"n-1\"\nto = \"n-0\"\nsize = \"1 MiB\"";
    assert!(collective(&net, &format!("size = \"16 KiB\"\n{flow}")).correct);
}

#[test]
fn a_collective_whose_messages_are_lost_is_not_complete() {
    let net = Net::new("ring", &[4]);
    let text = format!(
        "{}[[fibres]]\nfrom = \"n-0\"\nto = \"n-1\"\nsevered_at = \"1 us\"\n[[collectives]]\nnetwork = \"n\"\nsize = \"16 KiB\"\n",
        net.text()
    );
    let mut simulation = simulation(&text);
    simulation.run(&mut |_| true);
    let result = simulation.result();
    let joint = &result.collectives[0].joint;
    assert!(!joint.completed && !joint.correct);
    assert!(!result.errors.is_empty());
}

//! Bytes that were sent are the bytes that arrive, wherever they begin and end.

use proptest::prelude::*;
use sim::Simulation;
use transaction::Pattern;

use crate::cases::cases;
use crate::fixture::*;

const FABRIC: &str = r#"
[links]
generation = 3
lanes = 4
[hosts.h0]
max_payload_supported = "256 B"
memory = "1 MiB"
[switches.s]
upstream = "h0"
[devices.a]
upstream = "s"
[devices.b]
upstream = "s"
bar = "128 KiB"
[devices.c]
upstream = "h0"
bar = "128 KiB"
bar_address_bits = 64
"#;

fn node_base(simulation: &Simulation, name: &str) -> u64 {
    let node = simulation
        .plan()
        .nodes
        .iter()
        .find(|node| node.name == name);
    let region = node.and_then(sim::plan::NodePlan::region);
    region.expect("the node has memory").base
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn a_flow_of_any_size_from_any_byte_on_arrives_exactly(
        size in 1_u64..6000,
        request in 1_u32..=256,
        offset in 0_u64..9000,
        read in any::<bool>(),
        (from, to) in prop::sample::select(vec![("a", "h0"), ("a", "b"), ("a", "c"), ("c", "b"), ("h0", "b"), ("h0", "c")]),
    ) {
        // The CPU reads a cache line at most.
        let request = if read && from == "h0" { request.min(64) } else { request };
        let direction = if read { "read" } else { "write" };
        let text = format!("{FABRIC}[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} B\"\nrequest_size = \"{request} B\"\noffset = \"{offset} B\"\n");
        let mut simulation = simulation(&text);
        simulation.run(&mut |_| true);
        let result = simulation.result();
        prop_assert!(result.flows[0].completed && result.flows[0].intact, "{:?}", result.flows[0]);
        prop_assert_eq!(result.flows[0].bytes, size);
        prop_assert!(result.errors.is_empty());
        let address = node_base(&simulation, to) + offset;
        let bytes = simulation.memory(to, address, size).expect("the flow's region is there");
        let mut expected = vec![0; size as usize];
        Pattern::new(simulation.plan().seed, 0).fill(0, &mut expected);
        prop_assert_eq!(bytes, expected);
        let around = [(address.saturating_sub(8).max(node_base(&simulation, to)), address), (address + size, address + size + 8)];
        for (start, end) in around {
            let bytes = simulation.memory(to, start, end - start).expect("the region goes on");
            prop_assert!(bytes.iter().all(|byte| *byte == 0), "bytes beside the flow are written");
        }
    }

    #[test]
    fn what_is_written_from_outside_is_read_back(
        bytes in prop::collection::vec(any::<u8>(), 1..700),
        offset in 0_u64..5000,
        (writer, reader, to) in prop::sample::select(vec![
            ("c", "a", "h0"), ("a", "a", "h0"), ("a", "h0", "b"), ("h0", "a", "b"), ("c", "a", "b"), ("a", "a", "b"),
        ]),
    ) {
        let mut simulation = simulation(FABRIC);
        let address = node_base(&simulation, to) + offset;
        simulation.write(writer, address, bytes.clone()).expect("the write is made");
        while simulation.step() {}
        prop_assert_eq!(simulation.memory(to, address, bytes.len() as u64).expect("it is there"), bytes.clone());
        let back = simulation.read_back(reader, address, bytes.len() as u64, &mut || true).expect("the read is answered");
        prop_assert_eq!(back, bytes);
    }
}

#[test]
fn a_read_after_a_write_of_the_same_requester_sees_it() {
    let mut simulation = simulation(FABRIC);
    for round in 0..50_u8 {
        for to in ["h0", "b", "c"] {
            let address = node_base(&simulation, to) + 64 * u64::from(round);
            let bytes: Vec<u8> = (0..64).map(|byte| byte ^ round).collect();
            simulation
                .write("a", address, bytes.clone())
                .expect("the write is made");
            let back = simulation.read_back("a", address, 64, &mut || true);
            assert_eq!(back.expect("the read is answered"), bytes, "{to}");
        }
    }
}

#[test]
fn reading_what_nobody_owns_is_an_error_and_later_reads_are_not() {
    let mut simulation = simulation(FABRIC);
    assert!(
        simulation
            .read_back("a", 0xd000_0000, 64, &mut || true)
            .is_err()
    );
    assert!(
        simulation
            .read_back("h0", 0xd000_0000, 64, &mut || true)
            .is_err()
    );
    assert_eq!(
        simulation.read_back("a", 0, 8, &mut || true),
        Ok(vec![0; 8])
    );
}

#[test]
fn all_ways_at_once_are_intact() {
    let text = format!(
        r#"{FABRIC}
        [[flows]]
        from = "a"
        to = "h0"
        direction = "both"
        size = "100001 B"
        [[flows]]
        from = "b"
        to = "c"
        direction = "both"
        size = "50003 B"
        [[flows]]
        from = "c"
        to = "b"
        direction = "both"
        size = "40007 B"
        [[flows]]
        from = "h0"
        to = "c"
        direction = "both"
        size = "9001 B"
        [[flows]]
        from = "h0"
        to = "b"
        direction = "both"
        size = "7777 B"
        offset = "65537 B"
        "#
    );
    run(&text).all_intact();
}

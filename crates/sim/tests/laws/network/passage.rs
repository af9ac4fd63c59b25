//! Traffic that enters a network by PCI Express and leaves it by PCI Express: windows, packet sizes, and backpressure on the sender.

use super::*;

fn base_of(simulation: &Simulation, name: &str, bar: usize) -> u64 {
    let nodes = &simulation.plan().nodes;
    let node = nodes.iter().find(|node| node.name == name);
    let region = node.and_then(|node| node.bars[bar]);
    region.expect("a router has this BAR").base
}

/// The size of an aperture. The scenario of [`two`] has two routers with four ports each, and each port has an aperture.
const APERTURE: u64 = 64 << 10;

fn two() -> Simulation {
    simulation(&line(2, "bar = \"64 KiB\"\naperture = \"64 KiB\"", ""))
}

fn settle(simulation: &mut Simulation) -> RunResult {
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    simulation.result()
}

#[test]
fn a_write_to_the_window_is_written_to_the_memory_of_the_node_that_its_address_names() {
    let mut simulation = two();
    let window = base_of(&simulation, "r0", 2);
    let bytes: Vec<u8> = (0..200).map(|n| n as u8 ^ 0x5a).collect();
    simulation
        .write("h0", window + 4 * APERTURE + 0x101, bytes.clone())
        .unwrap();
    let result = settle(&mut simulation);
    assert!(result.errors.is_empty(), "{:?}", result.errors);
    let there = base_of(&simulation, "r1", 0);
    assert_eq!(simulation.memory("r1", there + 0x101, 200).unwrap(), bytes);
    assert_eq!(simulation.memory("r1", there + 0x100, 1).unwrap(), [0]);
    assert_eq!(
        simulation.memory("r1", there + 0x101 + 200, 1).unwrap(),
        [0]
    );
    assert_nothing_is_held(&simulation, "");
}

#[test]
fn a_write_to_the_own_node_comes_back_by_the_crossbar() {
    let mut simulation = two();
    let window = base_of(&simulation, "r0", 2);
    simulation.write("h0", window + 8, vec![7; 100]).unwrap();
    let result = settle(&mut simulation);
    assert!(result.errors.is_empty() && result.fibres.iter().all(|fibre| fibre.frames == 0));
    let here = base_of(&simulation, "r0", 0);
    assert_eq!(simulation.memory("r0", here + 8, 100).unwrap(), [7; 100]);
}

#[test]
fn a_write_to_a_node_that_does_not_exist_is_an_unsupported_request() {
    // The apertures of three nodes with four ports each occupy three quarters of the window.
    let mut simulation = simulation(&line(3, "aperture = \"64 KiB\"", ""));
    let window = base_of(&simulation, "r0", 2);
    simulation
        .write("h0", window + 3 * 4 * APERTURE, vec![1; 64])
        .unwrap();
    let result = settle(&mut simulation);
    assert_eq!(result.errors("r0", "unsupported request"), 1);
    assert_eq!(lost(&result), 1);
    assert_nothing_is_held(&simulation, "");
}

#[test]
fn a_write_to_a_port_that_leads_nowhere_is_an_unsupported_request_where_it_leaves() {
    let mut simulation = two();
    let window = base_of(&simulation, "r0", 2);
    simulation
        .write("h0", window + 4 * APERTURE + 3 * APERTURE, vec![1; 64])
        .unwrap();
    let result = settle(&mut simulation);
    assert_eq!(result.errors("r1", "unsupported request"), 1);
    assert_eq!(lost(&result), 1);
    assert_nothing_is_held(&simulation, "");
}

#[test]
fn the_window_can_not_be_read() {
    let mut simulation = two();
    let window = base_of(&simulation, "r0", 2);
    for offset in [0, 4 * APERTURE] {
        let found = simulation.read_back("h0", window + offset, 64, &mut || true);
        assert!(
            found
                .unwrap_err()
                .to_string()
                .starts_with("unsupported request")
        );
    }
    let result = settle(&mut simulation);
    assert_eq!(result.errors("r0", "unsupported request"), 2);
    assert_eq!(simulation.packets_in_use(), 0);
}

#[test]
fn user_logic_that_reads_or_writes_where_no_node_is_gets_an_error() {
    let mut simulation = two();
    simulation
        .write("r0", 2 * 4 * APERTURE, vec![1; 64])
        .unwrap();
    let result = settle(&mut simulation);
    assert_eq!(result.errors("r0", "unsupported request"), 1);
    assert!(simulation.read_back("r0", 0, 64, &mut || true).is_err());
    assert_eq!(simulation.packets_in_use(), 0);
}

#[test]
fn a_router_without_fibres_serves_its_memory_and_its_own_window() {
    let text = routers(1, "bar = \"64 KiB\"")
        + &flow("f", "h0", "r0", "size = \"4 KiB\"")
        + &flow("g", "h0", "r0", "size = \"4 KiB\"\ndirection = \"read\"")
        + &flow("h", "r0", "h0", "size = \"64 KiB\"");
    let (simulation, result) = run_to_silence(&text);
    let _ = result.all_intact();
    assert_nothing_is_held(&simulation, &text);
}

#[test]
fn what_leaves_by_pci_express_is_cut_at_pages_and_the_largest_payload() {
    for (payload, request, offset, packets) in [
        (128, 1536, 0, 12),
        (256, 1536, 0, 6),
        (256, 1000, 0, 4),
        // The first page contains 96 bytes. The next packets have a full payload and the remaining bytes.
        (256, 400, 4000, 3),
        (512, 512, 3, 2),
    ] {
        let host = format!("[hosts.h1]\nmax_payload_supported = \"{payload} B\"\n");
        let text = line(2, "packet_size = \"4 KiB\"\nchannel_buffer = \"16 KiB\"\nmax_payload_supported = \"512 B\"\ninjection_buffer = \"16 KiB\"", "")
            .replace("[hosts.h1]\n", &host)
            + &flow("f", "r0", "h1", &format!("count = 1\nrequest_size = \"{request} B\"\noffset = \"{offset} B\""));
        let (result, lines) = trace(&text);
        let result = result.all_intact();
        assert_eq!(result.flow("f").bytes, request);
        let left: Vec<(u64, u64)> = lines
            .iter()
            .filter(|line| line["link"] == "h1-r1" && line["tlp"] == "MWr")
            .map(|line| {
                let address = line["address"].as_str().expect("a write has an address");
                let address = u64::from_str_radix(&address[2..], 16).expect("it is a number");
                (
                    address,
                    line["length"].as_u64().expect("a write has a length"),
                )
            })
            .collect();
        assert_eq!(
            left.len(),
            packets,
            "{payload} {request} {offset}: {left:?}"
        );
        let mut next = left[0].0;
        for (address, length) in left {
            assert_eq!(address, next);
            assert!(length <= payload && address % 4096 + length <= 4096);
            next = address + length;
        }
    }
}

#[test]
fn a_slow_exit_holds_the_source_back_through_pci_express_credits() {
    let slow =
        "[devices.r1]\nmodel = \"router\"\nupstream = { to = \"h1\", generation = 1, lanes = 1 }\n";
    for (routers, measured) in [
        ("", true),
        ("reliable = true", true),
        (
            "flow_control = \"native\"\nchannel_buffer = \"32 KiB\"",
            true,
        ),
    ] {
        let fast = "[devices.r1]\nmodel = \"router\"\nupstream = \"h1\"\n";
        let text = line(2, routers, "").replace(fast, slow)
            + "[devices.a]\nupstream = { to = \"h0\" }\n"
            + &flow(
                "f",
                "a",
                "h1",
                "size = \"256 KiB\"\nwindow = \"4 KiB\"\nrequest_size = \"256 B\"",
            );
        let (simulation, result) = run_to_silence(&text);
        let result = result.all_intact();
        let out = result.link("h1-r1", "up");
        assert!(
            out.utilisation > 0.5 && out.payload_bytes == 256 << 10,
            "{out:?}"
        );
        // A Gen1 lane carries 250 MB/s and the entry link carries 8 times as much, so the source waits for credit.
        let entry = result.link("h0-r0", "down");
        let waits = entry.credit_stall_ns + result.link("h0-a", "up").credit_stall_ns;
        assert!(
            !measured || waits > 300_000.0,
            "{entry:?} {:?}",
            result.link("h0-a", "up")
        );
        assert_nothing_is_held(&simulation, &text);
    }
}

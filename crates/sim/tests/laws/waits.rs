//! The causes for which flows wait.

use crate::fixture::*;

/// The share of its time that `flow` waited for causes of the kind `kind`, and the kind of the limit that is reported.
fn share(text: &str, flow: &str, kind: &str) -> (f64, String) {
    let mut simulation = simulation(text);
    simulation.watch_waits();
    simulation.run(&mut |_| true);
    let waits = simulation.result().waits.expect("the run was watched");
    let told = waits.iter().find(|told| told.id == flow);
    let told = told.unwrap_or_else(|| panic!("there is no flow {flow}"));
    let shares = told.shares.iter().filter(|share| share.cause.kind == kind);
    let limit = told.limit.as_ref().expect("the flow waited for something");
    (shares.map(|share| share.share).sum(), limit.kind.to_owned())
}

/// A scenario with a reader with two tags. If `beside` is set, another device writes all the time.
fn reader(start: &str, beside: bool) -> String {
    let other = "[devices.b]\nupstream = \"h0\"\n[[flows]]\nfrom = \"b\"\nto = \"h0\"\nduration = \"600 us\"\n";
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}[devices.a]\nupstream = \"h0\"\ntags = 2\n{}[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ndirection = \"read\"\nsize = \"16 KiB\"\nstart = \"{start}\"\n",
        if beside { other } else { "" }
    )
}

#[test]
fn a_short_flow_is_seen_as_well_late_in_a_run_as_alone_at_its_beginning() {
    let (alone, limit) = share(&reader("0 ns", false), "f", "tags");
    assert_eq!(limit, "tags");
    close(share(&reader("500 us", true), "f", "tags").0, alone, 10.0);
    close(share(&reader("100 ms", false), "f", "tags").0, alone, 10.0);
}

#[test]
fn a_flow_behind_a_failed_link_waits_for_the_link() {
    let text = reader("0 ns", false).replace(
        "upstream = \"h0\"\ntags",
        "upstream = { to = \"h0\", fails_at = \"1 us\" }\ntags",
    );
    let (share, limit) = share(&text, "f", "wire");
    assert!(share > 0.99, "{share}");
    assert_eq!(limit, "wire");
}

/// A scenario with devices `a` and `b` at the two sockets of a host, a flow `near` from `a` and a flow `far` from `b`. Each flow has further keys.
fn two_sockets(host: &str, near: &str, far: &str) -> String {
    let flow = |id: &str, from: &str, more: &str| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"h0\"\nsize = \"128 KiB\"\n{more}\n"
        )
    };
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}sockets = 2\n{host}\n[devices.a]\nupstream = {{ to = \"h0\", socket = 0 }}\ntags = 64\n[devices.b]\nupstream = {{ to = \"h0\", socket = 1 }}\ntags = 64\n{}{}",
        flow("near", "a", near),
        flow("far", "b", far)
    )
}

#[test]
fn a_flow_waits_for_no_connection_of_sockets_that_its_packets_do_not_cross() {
    let host = "socket_bandwidth = \"3 GB/s\"";
    // Completions of `far` come from socket 0, and writes of `far` are sent to socket 0.
    for (near, far, connection) in [
        ("socket = 0", "socket = 0\ndirection = \"read\"", "far"),
        ("socket = 0", "socket = 0", "far"),
        ("socket = 1", "socket = 0", "both"),
        ("socket = 0\ndirection = \"read\"", "socket = 0", "far"),
    ] {
        let text = two_sockets(host, near, far);
        let socket = |flow| share(&text, flow, "socket");
        assert!(socket("far").0 > 0.8, "{far}: {:?}", socket("far"));
        match connection {
            "far" => {
                let (waited, limit) = socket("near");
                assert_eq!((waited, limit.as_str()), (0.0, "wire"), "{near}, {far}");
            }
            _ => assert!(socket("near").0 > 0.8, "{near}: {:?}", socket("near")),
        }
    }
}

#[test]
fn a_flow_that_lacks_credit_waits_for_no_connection_that_nobody_at_its_port_crosses() {
    let host = "socket_bandwidth = \"3 GB/s\"\nposted_headers = 1";
    let text = two_sockets(host, "socket = 0", "socket = 0\ndirection = \"read\"");
    assert!(share(&text, "near", "socket").0 <= 0.0);
    assert_eq!(share(&text, "near", "credit").1, "credit");
}

#[test]
fn a_flow_waits_for_no_memory_of_another_socket() {
    let host = "ingest_bandwidth = \"2 GB/s\"";
    let near = "socket = 0\nrequest_size = \"256 B\"\ninterval = \"500 ns\"";
    let text = two_sockets(host, near, "socket = 1");
    assert!(share(&text, "far", "memory").0 > 0.8);
    assert!(share(&text, "near", "memory").0 <= 0.0);
}

/// A scenario with round trips of a host over a slow link. A round trip takes 748 ns, of which each of its two packets occupies the wire for 272 ns.
fn round_trips(interval: &str) -> String {
    format!(
        "{HOST}[devices.r]\nmodel = \"reflector\"\nupstream = {{ to = \"h0\", generation = 1, lanes = 1 }}\n[[flows]]\nid = \"rt\"\nfrom = \"h0\"\nto = \"r\"\ndirection = \"round-trip\"\ncount = 300\nrequest_size = \"48 B\"\ninterval = \"{interval}\"\n"
    )
}

#[test]
fn a_round_trip_waits_for_the_wires_that_its_packet_is_on() {
    let (on_wire, limit) = share(&round_trips("0 ns"), "rt", "wire");
    // A DLLP of 32 ns may follow each packet immediately.
    let range = 544.0 / 748.0 - 0.02..608.0 / 748.0 + 0.02;
    assert!(range.contains(&on_wire), "{on_wire}");
    assert_eq!(limit, "wire");
}

#[test]
fn a_host_waits_for_the_interval_of_its_flow() {
    let (paced, limit) = share(&round_trips("3 us"), "rt", "datapath");
    close(paced, 1.0 - 748.0 / 3000.0, 5.0);
    assert_eq!(limit, "datapath");
}

/// A scenario with a reader with few tags below a switch, and a flow of writes to the reader. The flows together use the wire of the reader for four
/// fifths of the time.
fn card() -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}[switches.s]\nupstream = \"h0\"\n[devices.nic]\nupstream = {{ to = \"s\", lanes = 4 }}\n[devices.fpga]\nupstream = \"s\"\nbar = \"1 MiB\"\ntags = 4\n[[flows]]\nid = \"packets\"\nfrom = \"nic\"\nto = \"fpga\"\nsize = \"1 MiB\"\n[[flows]]\nid = \"tables\"\nfrom = \"fpga\"\nto = \"h0\"\ndirection = \"read\"\nsize = \"1 MiB\"\n"
    )
}

#[test]
fn a_packet_that_is_still_on_its_way_through_a_switch_waits_for_no_other() {
    // Without the writes, the reads would be 0.3 % faster.
    let (others, limit) = share(&card(), "tables", "arbitration");
    assert!(others < 0.03, "{others}");
    assert_eq!(limit, "tags");
}

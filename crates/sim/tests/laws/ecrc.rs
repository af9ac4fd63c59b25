//! The end-to-end CRC: damage inside a switch, which the LCRC does not detect, and the cost of the digest.

use std::fs::File;

use protocol::ecrc;
use protocol::register::UNCORRECTABLE_STATUS;
use sim::{CaptureFormat, FilterOptions};
use transaction::FunctionPlace;

use crate::error_messages::{ended, incident};
use crate::fixture::{Ask, HOST, flush, run, simulation};

/// A scenario with a device below a switch below a host, and a flow of 16 KiB. If `damage` is set, the switch damages one packet of the flow.
fn fabric(ecrc: bool, direction: &str, damage: bool) -> String {
    let incident = "[[incidents]]\nat = \"1 us\"\nwhat = \"damage\"\nnode = \"s\"\n";
    format!(
        "[links]\nlanes = 1\n{HOST}ecrc = {ecrc}\n[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\ncompletion_timeout = \"50 us\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"16 KiB\"\ndirection = \"{direction}\"\n{}",
        if damage { incident } else { "" }
    )
}

#[test]
fn without_ecrc_nobody_sees_what_a_switch_has_damaged() {
    for direction in ["read", "write"] {
        let result = run(&fabric(false, direction, true));
        let flow = result.flow("f");
        assert!(flow.wrong && flow.bytes == 16 << 10, "{direction}");
        assert!(result.incidents.is_empty());
    }
}

#[test]
fn a_write_with_a_wrong_ecrc_is_dropped_and_recorded() {
    let simulation = ended(&fabric(true, "write", true));
    let result = simulation.result();
    let flow = result.flow("f");
    assert!(!flow.wrong);
    let missing: u64 = flow.missing.iter().map(|(_, len)| len).sum();
    assert!(missing > 0 && flow.bytes + missing == 16 << 10);
    let found = incident(&result, "h0 to s", "ECRC Error");
    assert_eq!((found.severity, found.count), (Some("non-fatal"), 1));
    let host = simulation.functions("h0").expect("the host is there");
    let root = host.space(FunctionPlace::Port(0));
    assert_eq!(root.read(UNCORRECTABLE_STATUS), 1 << 19);
}

#[test]
fn a_completion_with_a_wrong_ecrc_is_dropped_and_its_request_times_out() {
    let result = run(&fabric(true, "read", true));
    let flow = result.flow("f");
    assert!(!flow.wrong && flow.bytes < 16 << 10);
    assert_eq!(incident(&result, "d", "ECRC Error").count, 1);
    assert_eq!(incident(&result, "d", "Completion Timeout").count, 1);
}

#[test]
fn every_packet_has_four_bytes_more_with_ecrc_and_its_time_on_the_wire() {
    let [without, with] = [false, true].map(|ecrc| run(&fabric(ecrc, "read", false)));
    for direction in ["up", "down"] {
        let [without, with] = [&without, &with].map(|result| result.link("s-d", direction));
        assert_eq!(with.tlps, without.tlps);
        assert_eq!(with.payload_bytes, without.payload_bytes);
        assert_eq!(with.overhead_bytes, without.overhead_bytes + 4 * with.tlps);
    }
    let [without, with] = [&without, &with].map(|result| result.flow("f"));
    assert!(with.intact && without.intact);
    assert!(with.last_byte_ns > without.last_byte_ns);
}

/// A host, a switch with two devices, and a device at a root port of its own, all with ECRC; `host`, `switch` and `rest` are further lines.
fn protected(host: &str, switch: &str, device: &str, rest: &str) -> String {
    let device = |name: &str, above: &str| {
        format!("[devices.{name}]\nupstream = \"{above}\"\nbar = \"1 MiB\"\n{device}\n")
    };
    format!(
        "seed = 3\n[links]\ngeneration = 3\nlanes = 2\n{HOST}memory = \"4 MiB\"\necrc = true\n{host}\n[switches.s]\nupstream = \"h0\"\n{switch}\n{}{}{}{rest}",
        device("a", "s"),
        device("b", "s"),
        device("c", "h0"),
    )
}

/// Flows between all pairs of devices and hosts, each with the keys `lines`.
fn between_all(lines: &str) -> String {
    let ends = ["a", "b", "c", "h0"];
    let pairs = ends.iter().flat_map(|from| ends.map(|to| (*from, to)));
    let flows = pairs.filter(|(from, to)| from != to && *from != "h0");
    let flow = |(from, to): (&str, &str)| {
        format!(
            "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"both\"\nsize = \"2 KiB\"\n{lines}\n"
        )
    };
    flows.map(flow).collect()
}

fn incident_of(what: &str, node: &str) -> String {
    format!("[[incidents]]\nat = \"1 us\"\nwhat = \"{what}\"\nnode = \"{node}\"\n")
}

/// The bytes of each TLP on each link of a run: header, data and digest.
fn tlps(text: &str) -> Vec<Vec<u8>> {
    let thread = std::thread::current().id();
    let path = std::env::temp_dir().join(format!(
        "peerlane-digests-{}-{thread:?}",
        std::process::id()
    ));
    let mut simulation = simulation(text);
    let file = File::create(&path).expect("a file in the temporary folder");
    let everything = FilterOptions::default();
    let begun = simulation.capture(CaptureFormat::Pcap, &everything, file);
    begun.unwrap_or_else(|error| panic!("{error}"));
    assert!(simulation.run(&mut |_| true), "{text}");
    flush(&mut simulation);
    let bytes = std::fs::read(&path).expect("the capture is there");
    std::fs::remove_file(&path).expect("the capture can be removed");
    let word = |at: usize| -> usize {
        let word = bytes[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(word) as usize
    };
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        // Block type 6 is an Enhanced Packet Block. It contains the record of a TLP: sequence number, TLP, LCRC.
        if word(at) == 6 {
            let record = &bytes[at + 28..][..word(at + 20)];
            let head = usize::from(u16::from_be_bytes([record[2], record[3]]));
            if record[1] == 1 {
                found.push(record[head + 2..record.len() - 4].to_vec());
            }
        }
        at += word(at + 4);
    }
    found
}

/// PCIe Base 2.7.1: a port with ECRC enabled adds a digest to each packet that it generates. Every component that changes a packet in transit keeps
/// the digest correct: bridges that change the type of a configuration request, a root complex that splits or translates packets or removes prefixes,
/// and links that replay packets.
#[test]
fn every_packet_has_a_digest_that_is_right_on_every_link() {
    let prefixes = "tlp_prefixes = true";
    let processes = "tlp_prefixes = true\niommu_pasids = \"5\"\n";
    let fabrics = [
        protected("", "", "", &between_all("")),
        protected("largest_peer_payload = \"64 B\"", "", "", &between_all("")),
        protected("iommu = true", "acs_redirect = true", "", &between_all("")),
        protected(
            processes,
            prefixes,
            "pasid_width = 8",
            &between_all("pasid = 5"),
        ),
        protected(
            processes,
            "tlp_prefixes = true\nacs_redirect = true",
            "pasid_width = 8",
            &between_all("pasid = 5"),
        ),
        protected(
            "",
            "",
            "",
            &(between_all("") + &incident_of("function-level-reset", "b")),
        ),
        protected(
            "",
            "",
            "",
            &(between_all("") + &incident_of("secondary-bus-reset", "b")),
        ),
        protected("", "", "", &(between_all("") + &incident_of("poison", "a"))),
        protected(
            "aspm_l1 = true",
            L1,
            L1,
            &between_all("interval = \"9 us\""),
        ),
        protected("", "", "", &between_all(""))
            .replace("[links]", "[links]\nbit_error_rate = 1e-5"),
    ];
    for text in fabrics {
        let all = tlps(&text);
        assert!(all.len() > 100, "{} packets\n{text}", all.len());
        for tlp in all {
            let header = if tlp[0] == 0x91 { &tlp[4..] } else { &tlp[..] };
            // A switch is not capable of ECRC generation (7.8.4.7).
            if SWITCH.contains(&u16::from_be_bytes([header[4], header[5]])) {
                continue;
            }
            assert!(header[2] & 0x80 != 0, "no digest: {tlp:02x?}\n{text}");
            let (covered, digest) = tlp.split_at(tlp.len() - 4);
            let right = ecrc(covered).to_le_bytes();
            assert_eq!(digest, right, "{tlp:02x?}\n{text}");
        }
    }
}

/// The functions of the ports of the switch.
const SWITCH: [u16; 3] = [0x100, 0x200, 0x208];

const L1: &str = "l1_exit_latency = \"2 us\"\nl1_entry_time = \"3 us\"";

//! The end-to-end CRC: what a switch damages behind the back of the LCRC, and what the digest costs.

use protocol::register::UNCORRECTABLE_STATUS;
use transaction::FunctionPlace;

use crate::error_messages::{ended, incident};
use crate::fixture::{Ask, HOST, run};

/// A device below a switch below a host, and a flow of 16 KiB of which one packet is damaged in the switch.
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

//! Errors that are recorded in registers: Advanced Error Reporting, Device Status, Status (PCIe Base 6.2).

use transaction::FunctionPlace;

use crate::fixture::*;
use crate::registers::PAIR;

/// The error bits of Device Status, which is in the upper half of the dword of Device Control.
fn device_status(simulation: &sim::Simulation, name: &str, place: FunctionPlace) -> u32 {
    let functions = simulation.functions(name).expect("a node");
    functions
        .space(place)
        .read(protocol::register::DEVICE_CONTROL)
        >> 16
        & 0xf
}

/// Uncorrectable Error Status, Correctable Error Status, and the first dword of the header log.
fn errors(simulation: &sim::Simulation, name: &str, place: FunctionPlace) -> [u32; 3] {
    let functions = simulation.functions(name).expect("a node");
    [1, 4, 7].map(|at| functions.space(place).read(protocol::register::AER + at))
}

#[test]
fn an_unsupported_write_is_recorded_with_its_header_where_it_ended() {
    let mut simulation = simulation(PAIR);
    // The address is within the window of the switch, but not in a BAR.
    simulation
        .write("h0", 0xc000_0000 + (1 << 19), vec![0; 4])
        .expect("the host can ask");
    while simulation.step() {}
    assert_eq!(
        errors(&simulation, "a", FunctionPlace::Own),
        [1 << 20, 0, 0x4000_0001]
    );
    assert_eq!(device_status(&simulation, "a", FunctionPlace::Own), 0b1010);
    assert_eq!(errors(&simulation, "b", FunctionPlace::Own), [0; 3]);
}

#[test]
fn an_unsupported_read_is_an_advisory_error_as_its_completion_tells() {
    let mut simulation = simulation(PAIR);
    let address = 0xc000_0000 + (1 << 19);
    let read = simulation.read_back("h0", address, 4, &mut || true);
    assert!(read.is_err());
    assert_eq!(
        errors(&simulation, "a", FunctionPlace::Own),
        [0, 1 << 13, 0]
    );
    assert_eq!(device_status(&simulation, "a", FunctionPlace::Own), 0b1001);
}

#[test]
fn who_asked_in_vain_has_received_a_master_abort() {
    let mut simulation = simulation(PAIR);
    let nobody = 0xd000_0000;
    for (who, id) in [("h0", "00:00.0"), ("a", "03:00.0")] {
        let id = id.parse().expect("a function");
        let status = |simulation: &mut sim::Simulation| {
            let read = simulation
                .config_read("h0", id, 6, 2, &mut || true)
                .expect("a host");
            read >> 13 & 1
        };
        assert_eq!(status(&mut simulation), 0);
        assert!(simulation.read_back(who, nobody, 4, &mut || true).is_err());
        assert_eq!(status(&mut simulation), 1);
    }
    // The requester of a configuration request is the root port that sends it, so its Secondary Status records the error.
    let root_port = "00:01.0".parse().expect("a function");
    assert_eq!(
        simulation.config_read("h0", root_port, 0x1e, 2, &mut || true),
        Ok(0)
    );
    let absent = "02:1f.0".parse().expect("a function");
    assert_eq!(
        simulation.config_read("h0", absent, 0, 4, &mut || true),
        Ok(u32::MAX)
    );
    assert_eq!(
        simulation.config_read("h0", root_port, 0x1e, 2, &mut || true),
        Ok(1 << 13)
    );
}

#[test]
fn a_packet_that_is_too_large_is_recorded_as_malformed_and_fatal() {
    let text = format!(
        "{PAIR}max_payload = \"128 B\"\nmax_payload_mismatch = true\n[[flows]]\nfrom = \"h0\"\nto = \"b\"\nrequest_size = \"256 B\"\ncount = 1\n"
    );
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    assert_eq!(errors(&simulation, "b", FunctionPlace::Own)[0], 1 << 18);
    assert_eq!(device_status(&simulation, "b", FunctionPlace::Own), 0b0100);
}

/// The bus numbers of the port above `a` are changed, so that completions for `a` are not routed to `a`.
#[test]
fn a_completion_that_does_not_come_is_recorded_by_the_requester() {
    let text = PAIR.replace("[devices.a]", "[devices.a]\ncompletion_timeout = \"50 us\"");
    let mut simulation = simulation(&text);
    let port = simulation.plan().nodes[1]
        .functions
        .id_of(FunctionPlace::Port(0));
    simulation
        .config_write("h0", port, (0x18, 4), 0x0009_0902, &mut || true)
        .expect("a host");
    assert!(simulation.read_back("a", 0x1000, 4, &mut || true).is_err());
    assert_eq!(
        errors(&simulation, "a", FunctionPlace::Own),
        [1 << 14, 0, 0]
    );
    assert_eq!(
        errors(&simulation, "s", FunctionPlace::Own),
        [0, 1 << 13, 0]
    );
}

#[test]
fn what_links_repair_is_recorded_as_correctable() {
    let text = "[links]\nbit_error_rate = 1e-5\n[hosts.h0]\n[devices.a]\nupstream = \"h0\"\n[[flows]]\nfrom = \"a\"\nto = \"h0\"\ndirection = \"both\"\nsize = \"256 KiB\"\n";
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let bad_tlp = 1 << 6;
    for (name, place) in [("a", FunctionPlace::Own), ("h0", FunctionPlace::Port(0))] {
        let [uncorrectable, correctable, _] = errors(&simulation, name, place);
        assert_eq!((uncorrectable, correctable & bad_tlp), (0, bad_tlp));
        assert_eq!(device_status(&simulation, name, place), 0b0001);
    }
}

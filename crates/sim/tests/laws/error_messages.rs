//! Errors that functions report by error messages: which functions send and forward the messages, what root ports record, and how software handles
//! the errors.

use kernel::{Span, Time};
use protocol::Severity;
use protocol::register::{AER, DEVICE_CONTROL, ERROR_SOURCE, ROOT_ERROR_STATUS};
use sim::Simulation;
use sim::result::{IncidentResult, RunResult};
use transaction::FunctionPlace;

use crate::fixture::{HOST, simulation};

/// A scenario with a device below a switch below a host with error reporting. A read of the device times out after 50 us, and its completion arrives
/// much later.
fn slow_memory(keys: &str, link: &str) -> String {
    let host = HOST.replace("\"80 ns\"", "\"200 us\"");
    format!(
        "{host}error_reporting = true\n{keys}[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = {{ to = \"s\"{link} }}\ncompletion_timeout = \"50 us\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"512 B\"\ndirection = \"read\"\n"
    )
}

/// Runs to the end, and 100 us longer, so that errors are reported and handled.
fn rest(simulation: &mut Simulation) {
    assert!(simulation.run(&mut |_| true));
    let rest = simulation.now().as_fs() + Span::from_us(100).as_fs();
    simulation.run_until(Time::from_fs(rest), &mut || true);
}

pub fn ended(text: &str) -> Simulation {
    let mut simulation = simulation(text);
    rest(&mut simulation);
    simulation
}

pub fn incident<'r>(result: &'r RunResult, place: &str, what: &str) -> &'r IncidentResult {
    let mut all = result.incidents.iter();
    let found = all.find(|one| one.place == place && one.what.starts_with(what));
    found.unwrap_or_else(|| panic!("no {what} at {place} in {:#?}", result.incidents))
}

#[test]
fn a_timeout_is_reported_to_the_root_port_and_served_by_the_host() {
    let simulation = ended(&slow_memory("", ""));
    let result = simulation.result();
    let timeout = incident(&result, "d", "Completion Timeout");
    assert_eq!(timeout.severity, Some("non-fatal"));
    assert_eq!(timeout.reported_to.as_deref(), Some("h0 to s"));
    let served = incident(&result, "h0", "served ERR_NONFATAL of 03:00.0");
    assert!(served.what.ends_with("Completion Timeout"));
    // The handler runs three microseconds after the interrupt.
    assert!(served.at_ns > timeout.at_ns + 3000.0);
    let device = simulation.functions("d").unwrap();
    let own = device.space(FunctionPlace::Own);
    assert_eq!(
        (own.read(AER + 1), own.read(DEVICE_CONTROL) >> 16 & 4),
        (0, 0)
    );
    let host = simulation.functions("h0").unwrap();
    let root = host.space(FunctionPlace::Port(0));
    assert_eq!(root.read(ROOT_ERROR_STATUS) & 0x7f, 0);
    assert_eq!(root.read(ERROR_SOURCE) >> 16, 0x0300);
}

#[test]
fn without_error_reporting_nothing_is_sent_and_the_status_stays() {
    let simulation = ended(&slow_memory("", "").replace("error_reporting = true\n", ""));
    let result = simulation.result();
    let timeout = incident(&result, "d", "Completion Timeout");
    assert_eq!(timeout.reported_to, None);
    let device = simulation.functions("d").unwrap();
    assert_eq!(device.space(FunctionPlace::Own).read(AER + 1), 1 << 14);
    let host = simulation.functions("h0").unwrap();
    let root = host.space(FunctionPlace::Port(0));
    assert_eq!(root.read(ROOT_ERROR_STATUS), 0);
}

#[test]
fn corrected_errors_of_every_link_end_reach_the_root_port() {
    let text = slow_memory("", ", bit_error_rate = 3e-5")
        .replace("512 B", "1 MiB")
        .replace("200 us", "80 ns")
        .replace("50 us", "1 ms");
    let simulation = ended(&text);
    let result = simulation.result();
    for place in ["d", "s to d"] {
        let bad = result
            .incidents
            .iter()
            .filter(|one| one.place == place && one.severity == Some(Severity::Correctable.name()));
        let reported: Vec<_> = bad.map(|one| one.reported_to.as_deref()).collect();
        assert!(!reported.is_empty(), "{:#?}", result.incidents);
        assert!(reported.iter().all(|to| *to == Some("h0 to s")));
    }
    incident(&result, "h0", "served ERR_COR of 03:00.0");
}

#[test]
fn a_port_of_a_switch_does_not_pass_on_what_its_bridge_control_forbids() {
    let mut simulation = simulation(&slow_memory("", ""));
    // SERR# Enable of Bridge Control, of the downstream port.
    let port = "02:00.0".parse().unwrap();
    let set = simulation.config_write("h0", port, (0x3e, 2), 0, &mut || true);
    set.unwrap();
    rest(&mut simulation);
    let result = simulation.result();
    let timeout = incident(&result, "d", "Completion Timeout");
    assert_eq!(timeout.reported_to, None);
    let switch = simulation.functions("s").unwrap();
    let received = switch
        .space(FunctionPlace::Port(0))
        .read(protocol::register::SECONDARY_STATUS);
    assert_eq!(received >> 30 & 1, 1);
}

#[test]
fn a_link_that_fails_is_a_fatal_error_of_the_port_above_it() {
    let text = slow_memory("", ", fails_at = \"10 us\"");
    let simulation = ended(&text.replace("200 us", "80 ns").replace("512 B", "1 MiB"));
    let result = simulation.result();
    let down = incident(&result, "s to d", "Surprise Down");
    assert_eq!((down.at_ns, down.severity), (10_000.0, Some("fatal")));
    assert_eq!(down.reported_to.as_deref(), Some("h0 to s"));
    let served = incident(&result, "h0", "served ERR_FATAL of 02:00.0");
    assert!(served.at_ns > 13_000.0 && served.what.ends_with("Surprise Down"));
    // The error of the device is not reported to a root port, because the link of the device has failed.
    assert_eq!(
        incident(&result, "d", "Completion Timeout").reported_to,
        None
    );
}

//! The log of incidents: what functions and links detect, when, and where.

use crate::fixture::{Ask, HOST, run};

fn reader(link: &str) -> String {
    format!(
        "{HOST}[devices.d]\nupstream = {{ to = \"h0\", {link} }}\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"1 MiB\"\ndirection = \"read\"\n"
    )
}

#[test]
fn a_run_without_errors_has_no_incidents() {
    let result = run(&reader("lanes = 4"));
    assert!(result.incidents.is_empty());
    assert_eq!(result.incidents_left_out, 0);
}

#[test]
fn a_link_that_fails_is_logged_at_its_time_before_the_timeouts_that_follow() {
    let result = run(&reader("fails_at = \"10 us\""));
    let [down, timeout] = &result.incidents[..] else {
        panic!("{:?}", result.incidents);
    };
    assert_eq!((down.at_ns, down.count), (10_000.0, 1));
    assert_eq!(
        (&*down.place, &*down.what, down.severity),
        ("h0 to d", "Surprise Down", Some("fatal"))
    );
    assert_eq!(down.function.as_deref(), Some("00:01.0"));
    assert_eq!(
        (&*timeout.place, &*timeout.what, timeout.severity),
        ("d", "Completion Timeout", Some("non-fatal"))
    );
    assert_eq!(timeout.count, result.errors("d", "completion timeout"));
    assert!(timeout.at_ns > down.at_ns && timeout.last_ns >= timeout.at_ns);
}

#[test]
fn bit_errors_are_an_entry_for_each_kind_and_port_however_many_there_are() {
    let result = run(&reader("bit_error_rate = 1e-5"));
    let at = |place: &str, what: &str| {
        let mut found = result.incidents.iter();
        let found = found.find(|one| one.place == place && one.what == what);
        found.map_or(0, |one| one.count)
    };
    assert!(at("d", "Bad TLP") > 1, "{:?}", result.incidents);
    for (index, one) in result.incidents.iter().enumerate() {
        // The link recovery after a framing error is not an additional error.
        let severity = (!one.what.starts_with("link retrained")).then_some("correctable");
        assert_eq!(one.severity, severity);
        let equal = |other: &&sim::result::IncidentResult| {
            (&other.place, &other.what) == (&one.place, &one.what)
        };
        assert_eq!(result.incidents[..index].iter().find(equal), None);
    }
}

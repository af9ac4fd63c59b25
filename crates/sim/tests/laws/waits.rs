//! The causes for which flows wait.

use crate::fixture::*;

/// The share of the time of `flow` that it waited for `kind`, with the limit that is told.
fn share(text: &str, flow: &str, kind: &str) -> (f64, String) {
    let mut simulation = simulation(text);
    simulation.watch_waits(true);
    simulation.run(&mut |_| true);
    let waits = simulation.result().waits.expect("the run was watched");
    let told = waits.iter().find(|told| told.id == flow);
    let told = told.unwrap_or_else(|| panic!("there is no flow {flow}"));
    let shares = told.shares.iter().filter(|share| share.cause.kind == kind);
    let limit = told.limit.as_ref().expect("the flow waited for something");
    (shares.map(|share| share.share).sum(), limit.kind.to_owned())
}

/// A reader with two tags, beside a writer that runs all the time if it is `beside` it.
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

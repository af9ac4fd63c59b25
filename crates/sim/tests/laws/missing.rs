//! The ranges of a flow that are missing at its end. The arrived and the missing bytes together are the whole flow.

use proptest::prelude::*;
use sim::result::FlowResult;

use crate::cases::cases;
use crate::fixture::*;

/// The bytes of a flow that have arrived or are missing.
fn accounted(flow: &FlowResult) -> u64 {
    let missing = flow.missing.iter().map(|(_, len)| len);
    flow.bytes + missing.sum::<u64>()
}

const REMOVAL: &str = "[[incidents]]\nat = \"500 ns\"\nwhat = \"surprise-removal\"\nnode = \"d\"\n";

#[test]
fn bytes_of_reads_that_time_out_are_missing() {
    let text = format!(
        "[hosts.h]\ncompletion_timeout = \"100 us\"\n[devices.d]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"h\"\nto = \"d\"\ndirection = \"read\"\nsize = \"8 KiB\"\n{REMOVAL}"
    );
    let result = run(&text);
    let flow = result.flow("f");
    assert!(flow.completed && flow.bytes > 0);
    assert!(result.errors("h", "completion timeout") > 0);
    // The flow goes through its addresses in order, so all bytes after the arrived ones are missing.
    assert_eq!(flow.missing, [(flow.bytes, (8 << 10) - flow.bytes)]);
}

#[test]
fn a_flow_that_has_lost_everything_misses_everything() {
    let text = "[hosts.h]\n[devices.d]\nupstream = { to = \"h\", fails_at = \"0 ns\" }\ncompletion_timeout = \"50 us\"\n[[flows]]\nid = \"f\"\nfrom = \"h\"\nto = \"d\"\ndirection = \"both\"\nsize = \"8 KiB\"\n";
    let result = run(text);
    let flow = result.flow("f");
    assert!(flow.completed && flow.bytes == 0);
    assert_eq!(flow.missing, [(0, 8 << 10), (0, 8 << 10)]);
}

#[test]
fn however_scattered_all_missing_ranges_are_listed() {
    let text = format!(
        "[hosts.h]\ncompletion_timeout = \"100 us\"\n[devices.d]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"h\"\nto = \"d\"\ndirection = \"read\"\naddresses = \"random\"\nwindow = \"64 KiB\"\nrequest_size = \"64 B\"\ncount = 300\n{REMOVAL}"
    );
    let result = run(&text);
    let flow = result.flow("f");
    assert!(flow.completed && flow.missing.len() > 64);
    assert_eq!(accounted(flow), 300 * 64);
}

proptest! {
    #![proptest_config(cases(60))]

    /// At the end of a flow, its arrived and its missing bytes together are the whole flow, for every component that makes the requests and for every
    /// incident at a device.
    #[test]
    fn what_has_arrived_and_what_is_missing_are_the_whole_flow(
        model in prop::sample::select(vec!["dma", "sg-dma", "nvme"]),
        direction in prop::sample::select(vec!["write", "read"]),
        what in prop::sample::select(vec![
            "surprise-removal\"\nnode = \"d\"", "surprise-removal\"\nnode = \"s\"", "poison\"\nnode = \"h\"", "function-level-reset\"\nnode = \"d\"",
        ]),
        at in 500_u64..6_000,
        kib in 1_u64..17,
    ) {
        let text = format!(
            "[links]\ngeneration = 2\nlanes = 2\n[hosts.h]\nsystem_call = \"0 ns\"\ncompletion_timeout = \"100 us\"\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\nmodel = \"{model}\"\ncompletion_timeout = \"60 us\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"{direction}\"\nsize = \"{} KiB\"\n[[incidents]]\nat = \"{at} ns\"\nwhat = \"{what}\n",
            4 * kib
        );
        let result = run(&text);
        let flow = result.flow("f");
        prop_assert!(!flow.completed || accounted(flow) == 4096 * kib, "{flow:?}\n{text}");
        prop_assert!(!flow.intact || flow.missing.is_empty());
    }
}

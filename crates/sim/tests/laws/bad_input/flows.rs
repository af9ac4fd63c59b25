//! Errors in flows.

use super::{flow, pair, refusal};

#[test]
fn a_request_size_of_nothing_or_above_the_limits_is_refused() {
    assert_eq!(
        flow("size = \"4 KiB\"\nrequest_size = \"0 B\""),
        r#"bad.toml:13: flow "f", request_size: 0 B moves nothing; write 1 B at least"#
    );
    assert_eq!(
        flow("size = \"4 KiB\"\nrequest_size = \"1 GiB\""),
        r#"bad.toml:13: flow "f", request_size: 1 GiB is too much for one request; write 64 MiB at most"#
    );
}

#[test]
fn an_unknown_end_of_a_flow_is_offered_the_nearest() {
    assert_eq!(
        pair("[[flows]]\nfrom = \"a\"\nto = \"h1\"\nsize = \"4 KiB\""),
        r#"bad.toml:10: flow "flow-1", to: there is no host or device "h1"; did you mean "h0"?"#
    );
}

#[test]
fn a_flow_from_or_to_a_switch_is_refused() {
    let right = "s0 is a switch, and flows end at hosts and devices; write one of those";
    assert_eq!(
        pair("[[flows]]\nfrom = \"s0\"\nto = \"a\"\nsize = \"4 KiB\""),
        format!("bad.toml:9: flow \"flow-1\", from: {right}")
    );
    assert_eq!(
        pair("[[flows]]\nfrom = \"a\"\nto = \"s0\"\nsize = \"4 KiB\""),
        format!("bad.toml:10: flow \"flow-1\", to: {right}")
    );
}

#[test]
fn a_flow_without_an_end_is_refused() {
    assert_eq!(
        pair("[[flows]]\nfrom = \"a\"\nsize = \"4 KiB\""),
        "bad.toml:8: flows 1: there is no to; write to = \"NAME\" of a host or device"
    );
}

#[test]
fn a_flow_to_itself_is_refused() {
    assert!(
        pair("[[flows]]\nfrom = \"a\"\nto = \"a\"\ncount = 1").contains("also where it comes from")
    );
}

#[test]
fn a_flow_between_trees_is_refused() {
    let message = pair(
        "[hosts.h1]\n[devices.c]\nupstream = \"h1\"\n[[flows]]\nfrom = \"a\"\nto = \"c\"\ncount = 1",
    );
    assert_eq!(
        message,
        r#"bad.toml:13: flow "flow-1", to: c is below h1 and a is below h0, with no way between; write a target in the same tree, or join routers in both by fibres, or network interface controllers (nic) in both by one controller or by joined ones"#
    );
}

#[test]
fn a_flow_says_how_much_in_exactly_one_way() {
    assert_eq!(
        flow(""),
        r#"bad.toml:8: flow "f", size: there is none; write size = "4 MiB", count = 1000 or duration = "1 ms""#
    );
    assert!(
        flow("size = \"4 KiB\"\ncount = 2")
            .starts_with("bad.toml:13: flow \"f\", count: this is not the only amount")
    );
    assert!(
        flow("size = \"4 KiB\"\nduration = \"1 ms\"")
            .starts_with("bad.toml:13: flow \"f\", duration")
    );
    assert!(flow("count = 0").ends_with("count: this moves nothing; write more than 0"));
}

#[test]
fn a_flow_larger_than_its_target_is_refused() {
    assert_eq!(
        flow("size = \"4 MiB\""),
        r#"bad.toml:12: flow "f", size: 4 MiB is more than the 64 KiB there are; write less, or a larger bar or memory, or window = "64 KiB""#
    );
    assert!(flow("count = 9223372036854775807").contains("more than the 64 KiB there are"));
    assert!(
        flow("count = 1\noffset = \"64 KiB\"")
            .contains("64 KiB is beyond the end of the target; write less than 64 KiB")
    );
    assert!(
        flow("count = 9\nrequest_size = \"128 B\"\nwindow = \"64 B\"")
            .contains("64 B holds no request; write 128 B at least")
    );
}

#[test]
fn a_round_trip_to_something_that_does_not_reflect_is_refused() {
    let right = "a round trip needs someone who answers; write a device with model = \"reflector\"";
    assert_eq!(
        flow("count = 4\ndirection = \"round-trip\""),
        format!("bad.toml:11: flow \"f\", to: {right}")
    );
}

#[test]
fn a_flow_from_a_device_that_makes_no_requests_of_flows_is_refused() {
    for model in ["reflector", "block-dma", "fpga-card"] {
        let lines = "[[flows]]\nfrom = \"b\"\nto = \"a\"\ncount = 1";
        let message = pair(&format!("model = {model:?}\n{lines}"));
        let wanted = format!(
            "bad.toml:10: flow \"flow-1\", from: b has model = {model:?}, which makes no requests of flows;"
        );
        assert!(message.starts_with(&wanted), "{message}");
    }
}

#[test]
fn an_id_belongs_to_one_flow() {
    let once = "[[flows]]\nid = \"x\"\nfrom = \"a\"\nto = \"b\"\ncount = 1\n";
    assert_eq!(
        pair(&format!("{once}{once}")),
        r#"bad.toml:14: flow "x", id: this id is already on line 9; write another one"#
    );
}

#[test]
fn a_round_trip_from_where_no_answer_can_go_is_refused() {
    let message = pair(
        "bar = \"0 B\"\n[devices.r]\nmodel = \"reflector\"\nupstream = \"s0\"\n[[flows]]\nfrom = \"b\"\nto = \"r\"\ndirection = \"round-trip\"\ncount = 1",
    );
    assert_eq!(
        message,
        r#"bad.toml:13: flow "flow-1", from: b cannot take the answers; give it a larger bar"#
    );
}

#[test]
fn places_that_a_flow_cannot_have_are_refused() {
    let cases = [
        (
            "count = 1\nstride = \"64 B\"",
            "bad.toml:13: flow \"f\", stride: only strided requests have a stride; write addresses = \"strided\", or leave it out",
        ),
        (
            "count = 1\naddresses = \"strided\"",
            "bad.toml:13: flow \"f\", addresses: strided requests need a stride; write stride = \"4 KiB\"",
        ),
        (
            "count = 1\naddresses = \"strided\"\nstride = \"0 B\"",
            "bad.toml:14: flow \"f\", stride: 0 B leads nowhere; write 1 B at least",
        ),
        (
            "count = 1\nalignment = \"64 B\"",
            "bad.toml:13: flow \"f\", alignment: only random requests have an alignment; write addresses = \"random\", or leave it out",
        ),
        (
            "count = 1\naddresses = \"random\"\nalignment = \"0 B\"",
            "bad.toml:14: flow \"f\", alignment: 0 B is no alignment; write 1 B for any place",
        ),
        (
            "count = 1\nread_after_write = true",
            "bad.toml:13: flow \"f\", read_after_write: this flow does not write and read; write direction = \"both\", or leave it out",
        ),
        (
            "count = 1\nsocket = 0",
            "bad.toml:13: flow \"f\", socket: only the memory of the host above has sockets; write it only where the flow goes there",
        ),
    ];
    for (added, message) in cases {
        assert_eq!(flow(added), message);
    }
    let to_host = |more: &str| {
        pair(&format!(
            "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ncount = 1\n{more}"
        ))
    };
    assert_eq!(
        to_host("socket = 1"),
        "bad.toml:13: flow \"f\", socket: h0 has no socket 1; write one from 0 to 0, or a larger sockets = there"
    );
}

#[test]
fn a_traffic_class_that_is_taken_is_refused_at_its_line() {
    assert_eq!(
        refusal(
            "[hosts.h]\ncoherent = true\n[devices.d]\nupstream = \"h\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ncount = 1\ntraffic_class = 1\n"
        ),
        "bad.toml:10: flow \"f\", traffic_class: class 1 is that of the coherence messages of h; write another one"
    );
    assert_eq!(
        refusal(
            "[hosts.h]\n[devices.d]\nupstream = \"h\"\nmodel = \"nvme\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\nsize = \"4 KiB\"\ntraffic_class = 2\n"
        ),
        "bad.toml:10: flow \"f\", traffic_class: NVM Express has no register for the class of data; leave it out, or write descriptor_traffic_class or interrupt_traffic_class of the drive"
    );
    assert_eq!(
        refusal(
            "[hosts.h]\ncoherent = true\n[devices.d]\nupstream = \"h\"\ninterrupt_traffic_class = 1\n"
        ),
        "bad.toml:5: d, interrupt_traffic_class: class 1 is that of the coherence messages of h; write another one"
    );
}

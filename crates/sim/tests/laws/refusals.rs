//! Packets that end before their target: the component that answers, and the errors in the result.

use crate::fixture::*;

fn pair(host: &str, a: &str, b: &str, flow: &str) -> String {
    format!(
        "[hosts.h0]\n{host}\n[devices.a]\nupstream = \"h0\"\n{a}\n[devices.b]\nupstream = \"h0\"\n{b}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\n{flow}\n"
    )
}

#[test]
fn a_write_to_an_address_that_nobody_owns_is_an_unsupported_request() {
    let flow = "to = \"0xd0000000\"\ncount = 10\nrequest_size = \"128 B\"";
    let result = run(&pair("", "", "", flow));
    assert_eq!(result.errors("h0", "unsupported request"), 10);
    let flow = result.flow("f");
    assert!(flow.completed && !flow.intact);
    assert_eq!(flow.bytes, 0);
}

#[test]
fn a_read_of_an_address_that_nobody_owns_is_answered_and_ends() {
    let flow = "to = \"0xd0000000\"\ndirection = \"read\"\ncount = 100\nrequest_size = \"128 B\"";
    let result = run(&pair("", "tags = 4", "", flow));
    assert_eq!(result.errors("h0", "unsupported request"), 100);
    let flow = result.flow("f");
    assert!(flow.completed && !flow.intact);
    assert_eq!(flow.bytes, 0);
}

#[test]
fn memory_beyond_its_size_is_nobodys() {
    let flow = "to = \"0x10000\"\ncount = 1\nrequest_size = \"128 B\"";
    let result = run(&pair("memory = \"64 KiB\"", "", "", flow));
    assert_eq!(result.errors("h0", "unsupported request"), 1);
    let flow = "to = \"0xff80\"\ncount = 1\nrequest_size = \"128 B\"";
    let result = run(&pair("memory = \"64 KiB\"", "", "", flow));
    assert!(result.errors.is_empty());
}

#[test]
fn the_host_itself_is_told_when_nobody_owns_an_address() {
    for direction in ["write", "read"] {
        let text = format!(
            "[hosts.h0]\n[devices.a]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"0xd0000000\"\ndirection = \"{direction}\"\ncount = 5\n"
        );
        let result = run(&text);
        assert!(result.errors("h0", "unsupported request") >= 5);
        assert!(result.flow("f").completed && !result.flow("f").intact);
    }
}

/// Each refusal takes simulated time, so that a host that continues to send reaches the end of its duration.
#[test]
fn a_host_that_asks_nobody_for_a_while_comes_to_an_end() {
    for latency in ["150 ns", "0 ns"] {
        let text = format!(
            "[hosts.h0]\nlatency = \"{latency}\"\n[devices.a]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"0xd0000000\"\nwindow = \"4 KiB\"\nduration = \"1 us\"\n"
        );
        let result = run(&text);
        assert!(result.errors("h0", "unsupported request") > 10);
        assert!(result.flow("f").completed && result.flow("f").bytes == 0);
    }
}

#[test]
fn a_hole_in_the_window_of_a_switch_is_nobodys() {
    // The window of the switch has at least 1 MiB, but the only device below has a BAR of 4 KiB.
    for direction in ["write", "read"] {
        let text = format!(
            "[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\nbar = \"4 KiB\"\n[devices.b]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"b\"\nto = \"0xc0002000\"\ndirection = \"{direction}\"\ncount = 7\nrequest_size = \"64 B\"\n"
        );
        let result = run(&text);
        let refused: u64 = ["a", "s", "h0"]
            .into_iter()
            .map(|place| result.errors(place, "unsupported request"))
            .sum();
        assert_eq!(refused, 7, "{:?}", result.errors);
        assert!(result.flow("f").completed);
    }
}

/// The error of a request that a host does not forward between its root ports.
const NOT_FORWARDED: &str = "unsupported request between root ports (peer_to_peer)";

#[test]
fn peer_to_peer_between_root_ports_may_be_forbidden() {
    let write = "to = \"b\"\ncount = 10\nrequest_size = \"128 B\"";
    run(&pair("", "", "", write)).all_intact();
    let result = run(&pair("peer_to_peer = \"none\"", "", "", write));
    assert_eq!(result.errors("h0", NOT_FORWARDED), 10);
    let read = "to = \"b\"\ndirection = \"read\"\ncount = 10\nrequest_size = \"128 B\"";
    run(&pair("", "", "", read)).all_intact();
    let result = run(&pair("peer_to_peer = \"none\"", "", "", read));
    assert_eq!(result.errors("h0", NOT_FORWARDED), 10);
    assert!(result.flow("f").completed && !result.flow("f").intact);
}

#[test]
fn a_host_may_forward_writes_alone_between_its_root_ports() {
    let writes = "peer_to_peer = \"writes\"";
    let write = "to = \"b\"\ncount = 10\nrequest_size = \"128 B\"";
    run(&pair(writes, "", "", write)).all_intact();
    let read = "to = \"b\"\ndirection = \"read\"\ncount = 10\nrequest_size = \"128 B\"";
    let result = run(&pair(writes, "", "", read));
    assert_eq!(result.errors("h0", NOT_FORWARDED), 10);
    // The requester gets a completion, and no request times out.
    assert_eq!(result.errors("a", "completion timeout"), 0);
    assert!(result.flow("f").completed && result.flow("f").bytes == 0);
}

#[test]
fn a_forbidden_peer_does_not_forbid_the_host() {
    let text = r#"
        [hosts.h0]
        peer_to_peer = "none"
        [devices.a]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "both"
        size = "64 KiB"
        [[flows]]
        from = "h0"
        to = "a"
        direction = "both"
        size = "4 KiB"
    "#;
    run(text).all_intact();
}

/// The keys of a port whose max payload size is smaller than the size at the other end of the link.
const SMALLER: &str = "max_payload = \"128 B\"\nmax_payload_mismatch = true";

#[test]
fn a_write_larger_than_the_receivers_max_payload_is_malformed() {
    let flow = "to = \"h0\"\ncount = 6\nrequest_size = \"256 B\"";
    let result = run(&pair(SMALLER, "", "", flow));
    assert_eq!(result.errors("h0", "malformed TLP"), 6);
    let flow = result.flow("f");
    assert!(flow.completed && !flow.intact);
    let peer = "to = \"b\"\ncount = 6\nrequest_size = \"256 B\"";
    let result = run(&pair("", "", SMALLER, peer));
    assert_eq!(result.errors("b", "malformed TLP"), 6);
}

#[test]
fn a_write_larger_than_a_switchs_max_payload_ends_there() {
    let text = r#"
        [hosts.h0]
        [switches.s]
        upstream = "h0"
        max_payload = "128 B"
        max_payload_mismatch = true
        [devices.a]
        upstream = "s"
        [[flows]]
        id = "f"
        from = "a"
        to = "h0"
        count = 6
        request_size = "256 B"
        [[flows]]
        id = "small"
        from = "a"
        to = "h0"
        count = 6
        request_size = "128 B"
    "#;
    let result = run(text);
    assert_eq!(result.errors("s", "malformed TLP"), 6);
    assert!(result.flow("small").intact);
}

/// PCIe Base 2.2.2: the limit applies to every TLP with data, also to completions.
#[test]
fn a_completion_larger_than_the_requesters_max_payload_is_malformed() {
    let flow = "to = \"h0\"\ndirection = \"read\"\ncount = 4\nrequest_size = \"512 B\"";
    let result = run(&pair("", SMALLER, "", flow));
    assert_eq!(result.errors("a", "malformed TLP"), 4);
    assert!(!result.flow("f").intact);
}

#[test]
fn the_timers_of_a_link_follow_its_own_two_ends() {
    // A port with a smaller max payload size is connected to a port with a larger size. No packet is replayed.
    let flow = "to = \"h0\"\nsize = \"256 KiB\"\nrequest_size = \"128 B\"";
    let result = run_to_rest(&pair("", SMALLER, "", flow));
    assert!(result.links.iter().all(|link| link.replays == 0));
}

//! What a link that fails takes with it, and what it does not.

use crate::fixture::{Ask, HOST, run, simulation};

/// Two DMA engines below the host, the link of the first of which fails; a flow of each.
fn two(direction: &str) -> String {
    let mut text = format!("[links]\ngeneration = 3\nlanes = 8\n{HOST}");
    text += "[devices.d0]\nupstream = { to = \"h0\", fails_at = \"20 us\" }\n";
    text += "[devices.d1]\nupstream = \"h0\"\n";
    let flow = |device: &str| {
        format!(
            "[[flows]]\nid = \"{device}\"\nfrom = \"{device}\"\nto = \"h0\"\nsize = \"256 KiB\"\ndirection = \"{direction}\"\n"
        )
    };
    text + &flow("d0") + &flow("d1")
}

#[test]
fn reads_over_a_link_that_has_failed_end_by_completion_timeout() {
    let result = run(&two("read"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(failed.bytes > 0 && failed.bytes < 256 * 1024 && !failed.intact);
    assert!(other.completed && other.intact);
    let missing = (256 * 1024 - failed.bytes).div_ceil(512);
    let timeouts = result.errors("d0", "completion timeout");
    assert!(
        (missing..=missing + 1).contains(&timeouts),
        "{timeouts} of {missing}"
    );
    assert_eq!(result.errors("d1", "completion timeout"), 0);
}

#[test]
fn writes_over_a_link_that_has_failed_do_not_arrive_and_others_do() {
    let result = run(&two("write"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(failed.bytes > 0 && failed.bytes < 256 * 1024);
    assert!(!failed.completed && other.completed && other.intact);
    let down = result.link("h0-d1", "up");
    assert_eq!(down.replays, 0);
}

#[test]
fn what_was_under_way_to_a_host_by_a_link_that_fails_is_let_go_of() {
    let mut simulation = simulation(&two("read").replace("20 us", "18 us"));
    assert!(simulation.run(&mut |_| true));
    assert_eq!(simulation.packets_in_use(), 0);
}

#[test]
fn messages_end_with_the_cable_that_carried_them() {
    let side = |side: &str| {
        format!(
            "[controllers.{side}]\n[hosts.h{side}]\n[devices.n{side}]\nmodel = \"nic\"\nupstream = \"h{side}\"\ncontroller = \"{side}\"\n"
        )
    };
    let mut text = String::from("[links]\ngeneration = 3\nlanes = 8\n") + &side("a") + &side("b");
    text += "[[cables]]\nfrom = \"a\"\nto = \"b\"\nfails_at = \"40 us\"\n";
    text += "[[flows]]\nid = \"m\"\nfrom = \"na\"\nto = \"nb\"\nsize = \"1 MiB\"\n";
    let result = run(&text);
    let flow = result.flow("m");
    assert!(flow.bytes > 0 && flow.bytes < 1 << 20);
    assert!(!flow.completed);
}

#[test]
fn a_link_that_fails_before_it_is_up_lets_the_run_end() {
    let result = run(&two("write").replace("20 us", "1 ns"));
    let [failed, other] = ["d0", "d1"].map(|id| result.flow(id));
    assert!(!failed.completed && failed.bytes == 0);
    assert!(other.completed && other.intact);
    let alone = two("write").replace(
        "[devices.d1]\nupstream = \"h0\"",
        "[devices.d1]\nupstream = { to = \"h0\", fails_at = \"1 ns\" }",
    );
    let result = run(&alone.replace("20 us", "1 ns"));
    assert!(
        result
            .flows
            .iter()
            .all(|flow| flow.bytes == 0 && !flow.completed)
    );
}

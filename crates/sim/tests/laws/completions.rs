//! How reads are answered (PCIe Base 2.3.1.1).

use serde_json::Value;

use crate::fixture::*;

/// The payload bytes of each completion sent to `a`, in order.
fn split(host: &str, device: &str, read: &str) -> Vec<u64> {
    let text = format!(
        "[hosts.h0]\n{host}\n[devices.a]\nupstream = \"h0\"\n{device}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\ndirection = \"read\"\ncount = 1\n{read}\n"
    );
    let (result, lines) = trace(&text);
    result.all_intact();
    let completions = lines.iter().filter(|line| line["tlp"] == "CplD");
    completions
        .map(|line| line["bytes"].as_u64().expect("a number of bytes"))
        .collect()
}

#[test]
fn an_aligned_read_comes_in_pieces_of_the_max_payload() {
    let pieces = split(
        "max_payload_supported = \"256 B\"",
        "",
        "request_size = \"512 B\"",
    );
    assert_eq!(pieces, [256, 256]);
}

#[test]
fn an_unaligned_read_is_first_cut_at_the_read_completion_boundary() {
    let read = "request_size = \"512 B\"\noffset = \"68 B\"";
    let host = "max_payload_supported = \"128 B\"\nread_completion_boundary = ";
    // The read covers bytes 68 to 580. With a boundary of 64 bytes, the first completion ends at byte 192; with 128 bytes, it ends at byte 128.
    let pieces = split(&format!("{host}\"64 B\""), "", read);
    assert_eq!(pieces, [124, 128, 128, 128, 4]);
    let pieces = split(&format!("{host}\"128 B\""), "", read);
    assert_eq!(pieces, [60, 128, 128, 128, 68]);
}

#[test]
fn a_host_may_answer_in_smaller_pieces_than_the_max_payload() {
    let host = "largest_completion = \"64 B\"";
    let pieces = split(host, "", "request_size = \"256 B\"");
    assert_eq!(pieces, [64; 4]);
}

/// PCIe Base 2.3.1.1: with a boundary of 128 bytes no completion but the last may end at an odd multiple of 64.
#[test]
fn no_piece_but_the_last_ends_off_the_boundary() {
    let host = "largest_completion = \"64 B\"\nread_completion_boundary = \"128 B\"";
    let pieces = split(host, "", "request_size = \"256 B\"");
    assert_eq!(pieces, [128; 2]);
}

#[test]
fn a_read_within_the_boundary_is_one_completion_of_whole_dwords() {
    let pieces = split("", "", "request_size = \"5 B\"\noffset = \"62 B\"");
    assert_eq!(pieces, [8]);
}

#[test]
fn reads_are_cut_at_the_max_read_request_size_and_the_page() {
    let text = r#"
        [hosts.h0]
        [devices.a]
        upstream = "h0"
        max_read_request = "1 KiB"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "read"
        size = "2048 B"
        offset = "3584 B"
    "#;
    let (result, lines) = trace(text);
    result.all_intact();
    let asked: Vec<&str> = lines
        .iter()
        .filter(|line| line["tlp"] == "MRd")
        .map(|line| line["address"].as_str().expect("a read has an address"))
        .collect();
    assert_eq!(asked, ["0xe00", "0x1000", "0x1400"]);
}

#[test]
fn the_completions_of_a_read_come_in_order_of_address() {
    let text = r#"
        [hosts.h0]
        memory_read_jitter = "300 ns"
        max_payload_supported = "128 B"
        [switches.s]
        upstream = "h0"
        [devices.a]
        upstream = "s"
        [devices.b]
        upstream = "s"
        [[flows]]
        from = "a"
        to = "h0"
        direction = "read"
        size = "64 KiB"
        offset = "36 B"
        [[flows]]
        from = "b"
        to = "h0"
        direction = "read"
        size = "64 KiB"
        offset = "70000 B"
    "#;
    // A requester stores the completions of a tag in the order of arrival, so completions in a wrong order give wrong bytes.
    run(text).all_intact();
}

#[test]
fn a_device_answers_reads_of_its_bar_in_pieces_of_its_max_payload() {
    let text = r#"
        [hosts.h0]
        max_payload_supported = "128 B"
        [devices.a]
        upstream = "h0"
        [devices.b]
        upstream = "h0"
        [[flows]]
        from = "a"
        to = "b"
        direction = "read"
        count = 1
        request_size = "512 B"
        offset = "32 B"
    "#;
    let (result, lines) = trace(text);
    result.all_intact();
    let on = |line: &&Value| line["tlp"] == "CplD" && line["link"] == "h0-b";
    let pieces: Vec<u64> = lines
        .iter()
        .filter(on)
        .map(|line| line["bytes"].as_u64().expect("a number of bytes"))
        .collect();
    assert_eq!(pieces, [96, 128, 128, 128, 32]);
}

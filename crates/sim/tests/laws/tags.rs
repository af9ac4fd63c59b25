//! The width of tags: the number of outstanding reads, their tags, and completers that return only eight bits of a tag (PCIe Base 2.2.6.2).

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a device with `tags` tags that reads from a slow memory. The host, the device and another device have further keys.
fn reader(tags: u32, [host, device, other]: [&str; 3]) -> String {
    format!(
        "[links]\ngeneration = 4\nlanes = 4\n[hosts.h]\nmemory_read_latency = \"20 us\"\nmemory = \"1 MiB\"\nnonposted_headers = 1000\n{host}\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\ntags = {tags}\ncompletion_timeout = \"100 us\"\n{device}\n[devices.e]\nupstream = \"s\"\nbar = \"1 MiB\"\n{other}\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"read\"\nrequest_size = \"64 B\"\ncount = 1000\n"
    )
}

/// The maximum number of reads that were outstanding at the same time, and all tags of the reads.
fn outstanding(lines: &[Value]) -> (usize, BTreeSet<u64>) {
    let (mut open, mut most, mut tags) = (BTreeSet::new(), 0, BTreeSet::new());
    for line in lines
        .iter()
        .filter(|line| line["link"] == "s-d" && line["flow"] == "f")
    {
        let Some(tag) = line["tag"].as_u64() else {
            continue;
        };
        match line["tlp"].as_str() {
            Some("MRd") => {
                assert!(open.insert(tag), "tag {tag} is in use");
                tags.insert(tag);
                most = most.max(open.len());
            }
            Some("CplD") => {
                assert!(open.remove(&tag), "tag {tag} is not in use");
            }
            _ => {}
        }
    }
    (most, tags)
}

#[test]
fn ten_bit_tags_let_768_reads_wait_and_are_none_of_the_first_256() {
    for (tags, most, first, last) in [
        (32, 32, 0, 31),
        (256, 256, 0, 255),
        (257, 257, 256, 512),
        (768, 768, 256, 1023),
    ] {
        let (result, lines) = trace(&reader(tags, [""; 3]));
        result.all_intact();
        let (waited, used) = outstanding(&lines);
        assert_eq!(waited, most);
        assert_eq!((used.first(), used.last()), (Some(&first), Some(&last)));
    }
}

#[test]
fn firmware_enables_ten_bit_tags_only_where_every_completer_repeats_them() {
    let narrow = "ten_bit_tag_completer = false";
    for settings in [
        [narrow, "", ""],
        ["", narrow, ""],
        ["", "", narrow],
        ["", "ten_bit_tags = false", ""],
    ] {
        let (result, lines) = trace(&reader(768, settings));
        result.all_intact();
        let (waited, used) = outstanding(&lines);
        assert_eq!((waited, used.last()), (256, Some(&255)), "{settings:?}");
    }
}

/// PCIe Base 2.2.6.2: the completions have tags that the requester does not use, so they are unexpected, and the requests time out.
#[test]
fn a_completer_without_ten_bit_tags_answers_nobody() {
    let settings = ["ten_bit_tag_completer = false", "ten_bit_tags = true", ""];
    let result = run(&reader(300, settings).replace("count = 1000", "count = 300"));
    let flow = result.flow("f");
    assert_eq!((flow.bytes, flow.completed), (0, true));
    assert_eq!(result.errors("d", "unexpected completion"), 300);
    assert_eq!(result.errors("d", "completion timeout"), 300);
}

#[test]
fn a_device_without_ten_bit_tags_answers_no_peer_that_uses_them() {
    let text = reader(
        300,
        ["", "ten_bit_tags = true", "ten_bit_tag_completer = false"],
    )
    .replace("to = \"h\"", "to = \"e\"")
    .replace("count = 1000", "count = 20");
    let result = run(&text);
    assert_eq!(result.flow("f").bytes, 0);
    assert_eq!(result.errors("d", "unexpected completion"), 20);
    assert_eq!(result.errors("d", "completion timeout"), 20);
}

proptest! {
    #![proptest_config(cases(6))]
    #[test]
    fn tags_are_unique_and_as_many_as_registers_and_engine_allow(
        tags in 1_u32..=768,
        narrow in select(&[false, false, true][..]),
        buffer in select(&["", "completion_buffer = \"8 KiB\""][..]),
    ) {
        let host = if narrow { "ten_bit_tag_completer = false" } else { "" };
        let (result, lines) = trace(&reader(tags, [host, buffer, ""]));
        result.all_intact();
        let (waited, used) = outstanding(&lines);
        let wide = tags > 256 && !narrow;
        let allowed = if wide { 768 } else { 256 };
        let by_buffer = if buffer.is_empty() { u32::MAX } else { 8192 / 64 };
        prop_assert_eq!(waited as u32, tags.min(allowed).min(by_buffer));
        prop_assert!(used.iter().all(|tag| (*tag > 255) == wide));
    }
}

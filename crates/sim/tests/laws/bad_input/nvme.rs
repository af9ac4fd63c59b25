//! Errors in flows from NVM Express drives.

use super::{PAIR, refusal};

/// Returns the error of `PAIR` in which `a` is a drive with these keys, and with flows from the drive to the host.
fn refused(drive: &str, flows: &[&str]) -> String {
    let a = format!("[devices.a]\nmodel = \"nvme\"\n{drive}\n");
    let mut text = PAIR.replace("[devices.a]\n", &a);
    for (number, keys) in flows.iter().enumerate() {
        let flow = format!("[[flows]]\nid = \"f{number}\"\nfrom = \"a\"\nto = \"h0\"\n{keys}\n");
        text.push_str(&flow);
    }
    let message = refusal(&text);
    let (_, message) = message.split_once(": ").expect("a line and a message");
    message.to_owned()
}

#[test]
fn the_old_name_of_the_drive_is_refused_with_the_new_one_and_its_keys() {
    let text = PAIR.replace("[devices.a]\n", "[devices.a]\nmodel = \"nvme-drive\"\n");
    let message = refusal(&text);
    let (place, advice) = message.split_once(" any more: ").expect("advice");
    assert!(
        place.ends_with("there is no model \"nvme-drive\""),
        "{message}"
    );
    assert!(
        advice.contains("write model = \"nvme\", and block_size for lbads"),
        "{message}"
    );
}

#[test]
fn a_drive_moves_whole_blocks() {
    assert_eq!(
        refused("block_size = \"4 KiB\"", &["size = \"6 KiB\""]),
        r#"flow "f0", size: 6 KiB is not a whole number of blocks of 4 KiB; write a multiple"#
    );
    for size in ["700 B", "256 KiB"] {
        assert_eq!(
            refused(
                "",
                &[&format!("size = \"1 MiB\"\nrequest_size = \"{size}\"")]
            ),
            format!(
                r#"flow "f0", request_size: {size} is not a transfer size of this drive; write a multiple of its block size of 512 B, up to its max_transfer of 128 KiB"#
            )
        );
    }
}

#[test]
fn a_buffer_of_a_drive_begins_at_a_dword() {
    assert_eq!(
        refused("", &["size = \"4 KiB\"\noffset = \"2 B\""]),
        r#"flow "f0", offset: a drive's buffer begins at a dword; write a multiple of 4 B"#
    );
}

#[test]
fn the_flows_of_a_drive_fit_into_it() {
    assert_eq!(
        refused(
            "capacity = \"1 MiB\"",
            &["size = \"768 KiB\"", "size = \"512 KiB\""]
        ),
        r#"flow "f1", size: the flows above leave 256 KiB of the drive's 1 MiB; write less, or a larger capacity"#
    );
}

#[test]
fn a_drive_reads_what_it_has_written_itself_and_all_of_it() {
    let write = "size = \"8 KiB\"\ndirection = \"read\"";
    let own = r#"a drive reads the blocks that one of its own flows has written; write it for direction = "write", with the id of a flow above from this drive with direction = "read""#;
    for flows in [
        ["size = \"8 KiB\"", "size = \"8 KiB\"\ncarries = \"f0\""],
        [
            write,
            "size = \"8 KiB\"\ndirection = \"read\"\ncarries = \"f0\"",
        ],
    ] {
        assert_eq!(refused("", &flows), format!(r#"flow "f1", carries: {own}"#));
    }
    assert_eq!(
        refused("", &[write, "size = \"4 KiB\"\ncarries = \"f0\""]),
        r#"flow "f1", size: 4 KiB of the 8 KiB that were written; write the same size"#
    );
}

#[test]
fn a_call_waits_for_calls_alone() {
    let other = "[[flows]]\nid = \"x\"\nfrom = \"b\"\nto = \"h0\"\nsize = \"4 KiB\"\n";
    let text = PAIR.replace("[devices.a]\n", "[devices.a]\nmodel = \"nvme\"\n");
    let flow = "[[flows]]\nfrom = \"a\"\nto = \"h0\"\nsize = \"4 KiB\"\nafter = \"x\"\n";
    let message = refusal(&format!("{text}{other}{flow}"));
    assert!(
        message.contains("after: no driver moves this flow"),
        "{message}"
    );
}

#[test]
fn a_drive_makes_no_round_trips_and_its_driver_moves_a_buffer_one_way() {
    let message = refused("", &["size = \"4 KiB\"\ndirection = \"both\""]);
    assert_eq!(
        message,
        r#"flow "f0", direction: a driver moves a buffer one way; write "write" or "read", and a second flow for the other way"#
    );
    let reflector = "[devices.r]\nmodel = \"reflector\"\nupstream = \"h0\"";
    let flow = "size = \"4 B\"\ndirection = \"round-trip\"";
    let text = PAIR.replace("[devices.a]\n", "[devices.a]\nmodel = \"nvme\"\n");
    let text = format!("{text}{reflector}\n[[flows]]\nfrom = \"a\"\nto = \"r\"\n{flow}\n");
    assert!(refusal(&text).contains("a drive makes no round trips"));
}

//! Errors in flows from scatter/gather engines.

use super::{PAIR, flow, refusal};

/// Returns the error of `PAIR` in which `a` is a scatter/gather engine with the keys `engine`, and with a flow from the engine to the host. The flow
/// begins on line 10.
fn transfer(engine: &str, added: &str) -> String {
    let a = format!("[devices.a]\nmodel = \"sg-dma\"\n{engine}\n");
    let machine = PAIR.replace("[devices.a]\n", &a);
    let flow = "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\n";
    refusal(&format!("{machine}{flow}{added}"))
}

#[test]
fn a_buffer_longer_than_memory_is_refused() {
    assert_eq!(
        transfer("", "size = \"2 GiB\""),
        r#"bad.toml:14: flow "f", size: 2 GiB is more than the 1 GiB there are; write less, or a larger bar or memory"#
    );
}

#[test]
fn a_list_longer_than_the_engines_memory_is_refused() {
    let fits = "size = \"32 KiB\"";
    let engine = "descriptors = 8";
    assert_eq!(
        transfer(engine, &format!("{fits}\noffset = \"1 B\"")),
        r#"bad.toml:14: flow "f", size: 32 KiB takes 9 descriptors, a page each, and the memory of a holds 8; write less, more descriptors, or descriptor_fetch = true"#
    );
}

#[test]
fn a_list_without_room_in_memory_is_refused() {
    let message = transfer("descriptor_fetch = true", "size = \"1 GiB\"");
    assert_eq!(
        message,
        r#"bad.toml:14: flow "f", size: the list of its 262144 descriptors does not fit in the memory of h0; write a larger memory there"#
    );
}

#[test]
fn a_driver_moves_one_buffer_one_way() {
    let one_way = r#"direction: a driver moves a buffer one way; write "write" or "read", and a second flow for the other way"#;
    assert_eq!(
        transfer("", "size = \"4 KiB\"\ndirection = \"both\""),
        format!("bad.toml:15: flow \"f\", {one_way}")
    );
    for (key, value) in [
        ("count", "4"),
        ("duration", "\"1 us\""),
        ("interval", "\"1 us\""),
        ("window", "\"4 KiB\""),
    ] {
        assert_eq!(
            transfer("", &format!("{key} = {value}")),
            format!(
                "bad.toml:14: flow \"f\", {key}: a driver moves one buffer once; write its size alone, such as size = \"4 MiB\", and steady = true in [measure] for a call that goes on"
            )
        );
    }
}

#[test]
fn a_packet_that_the_engine_does_not_make_is_refused() {
    assert_eq!(
        transfer("", "size = \"4 KiB\"\nrequest_size = \"6 B\""),
        r#"bad.toml:15: flow "f", request_size: 6 B is not a packet size of this engine; write whole dwords up to its max payload size of 512 B"#
    );
    assert_eq!(
        transfer("", "size = \"4 KiB\"\nrequest_size = \"1 KiB\""),
        r#"bad.toml:15: flow "f", request_size: 1 KiB is not a packet size of this engine; write whole dwords up to its max payload size of 512 B"#
    );
    assert_eq!(
        transfer(
            "",
            "size = \"4 KiB\"\ndirection = \"read\"\nrequest_size = \"64 B\""
        ),
        r#"bad.toml:16: flow "f", request_size: read requests are as large as max_read_request and the FIFO allow; leave it out"#
    );
}

#[test]
fn bytes_that_come_by_a_fifo_are_those_of_a_flow_above() {
    assert_eq!(
        transfer("user = \"loopback\"", "size = \"4 KiB\""),
        r#"bad.toml:12: flow "f", from: this device sends what its FIFOs bring; write carries = "ID" of the flow above whose bytes they are"#
    );
    assert_eq!(
        transfer("user = \"loopback\"", "size = \"4 KiB\"\ncarries = \"f\""),
        r#"bad.toml:15: flow "f", carries: there is no flow "f" above this one; write the id of one that is"#
    );
    assert_eq!(
        transfer("", "size = \"4 KiB\"\ncarries = \"f\""),
        r#"bad.toml:15: flow "f", carries: these bytes do not come through a FIFO; write it only for writes of a device with user = "loopback" or "matrix""#
    );
    assert_eq!(
        transfer("", "size = \"4 KiB\"\nafter = \"g\""),
        r#"bad.toml:15: flow "f", after: there is no flow "g" above this one; write the id of one that is"#
    );
    let more = "[[flows]]\nid = \"back\"\nfrom = \"a\"\nto = \"h0\"\nsize = \"4 KiB\"\n";
    assert_eq!(
        transfer("", &format!("size = \"4 KiB\"\n{more}after = \"ff\"")),
        r#"bad.toml:20: flow "back", after: there is no flow "ff" above this one; write "f""#
    );
}

#[test]
fn what_a_driver_does_is_refused_where_there_is_none() {
    for (key, value) in [("carries", "x"), ("after", "x"), ("clock", "application")] {
        assert_eq!(
            flow(&format!("count = 1\n{key} = \"{value}\"")),
            format!(
                "bad.toml:13: flow \"f\", {key}: no driver moves this flow; write it only where the flow is from a device with model = \"sg-dma\" or \"nvme\""
            )
        );
    }
}

#[test]
fn a_users_circuit_that_does_not_exist_is_refused() {
    assert_eq!(
        transfer("user = \"mirror\"", "size = \"4 KiB\""),
        r#"bad.toml:6: devices.a.user: "mirror" is not known; write "source-sink" or "loopback" or "matrix" or "reflector""#
    );
}

#[test]
fn a_round_trip_ends_at_an_engine_that_reflects() {
    let to_b = |b: &str, size: &str| {
        let engines = PAIR
            .replace("[devices.a]\n", "[devices.a]\nmodel = \"sg-dma\"\n")
            .replace("[devices.b]\n", &format!("[devices.b]\n{b}\n"));
        let flow = format!(
            "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\ndirection = \"round-trip\"\nsize = \"{size}\""
        );
        refusal(&format!("{engines}{flow}"))
    };
    assert_eq!(
        to_b("model = \"reflector\"", "8 B"),
        r#"bad.toml:13: flow "f", to: a round trip needs someone who answers; write a device with model = "sg-dma" and user = "reflector""#
    );
    assert_eq!(
        to_b("model = \"sg-dma\"\nuser = \"reflector\"", "1 KiB"),
        r#"bad.toml:16: flow "f", size: one packet makes a round trip; write 512 B at most"#
    );
}

#[test]
fn what_comes_by_a_fifo_goes_once_and_all_of_it() {
    let loopback = |size: &str, more: &str| {
        let read = "size = \"8 KiB\"\ndirection = \"read\"\n";
        let back = "[[flows]]\nid = \"g\"\nfrom = \"a\"\nto = \"h0\"\ncarries = \"f\"\n";
        transfer(
            "user = \"loopback\"",
            &format!("{read}{back}size = \"{size}\"\n{more}"),
        )
    };
    assert_eq!(
        loopback("4 KiB", ""),
        r#"bad.toml:21: flow "g", size: 4 KiB of the 8 KiB that "f" brings; write the same size"#
    );
    let again =
        "[[flows]]\nid = \"i\"\nfrom = \"a\"\nto = \"b\"\ncarries = \"f\"\nsize = \"8 KiB\"";
    assert_eq!(
        loopback("8 KiB", again),
        r#"bad.toml:26: flow "i", carries: "g" carries these bytes from here already, and they come once; write another flow to carry"#
    );
}

#[test]
fn a_reflector_sends_back_to_one_device() {
    let engines = PAIR
        .replace("[devices.a]\n", "[devices.a]\nmodel = \"sg-dma\"\n")
        .replace(
            "[devices.b]\n",
            "[devices.b]\nmodel = \"sg-dma\"\nuser = \"reflector\"\n",
        );
    let trip = |id: &str, from: &str| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"b\"\ndirection = \"round-trip\"\nsize = \"8 B\"\n"
        )
    };
    let third = "[devices.c]\nmodel = \"sg-dma\"\nupstream = \"s0\"\n";
    assert_eq!(
        refusal(&format!(
            "{engines}{third}{}{}",
            trip("f", "a"),
            trip("g", "c")
        )),
        r#"bad.toml:23: flow "g", to: "f" has it send back to a, and it sends to one address; write another reflector"#
    );
}

#[test]
fn a_bar_that_nobody_can_hold_is_refused() {
    assert_eq!(
        transfer(
            "bar = \"2048 GiB\"\nbar_address_bits = 64",
            "size = \"4 KiB\""
        ),
        "bad.toml:6: a.bar: 2 TiB is more than a simulation can hold; write \"1 TiB\" at most"
    );
}

#[test]
fn buffers_that_a_driver_pins_do_not_overlap_unless_somebody_places_them_so() {
    let first = "size = \"768 MiB\"\ndirection = \"read\"\n";
    let second = format!("[[flows]]\nid = \"g\"\nfrom = \"a\"\nto = \"h0\"\n{first}");
    assert_eq!(
        transfer("descriptor_fetch = true", &format!("{first}{second}")),
        r#"bad.toml:20: flow "g", size: other workloads leave no 768 MiB in the memory of h0; write a larger memory, or an offset"#
    );
}

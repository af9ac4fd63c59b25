//! Errors in controllers, and in messages through controllers.

use sim::Plan;

use super::refusal;

/// Two hosts with a `nic` each: `a` on line 5, and `b`, which ends on line 10.
const HOSTS: &str = r#"[hosts.h0]
[hosts.h1]
[controllers.c]
ports = 2
[devices.a]
model = "nic"
upstream = "h0"
[devices.b]
model = "nic"
upstream = "h1"
"#;

fn hosts(added: &str) -> String {
    refusal(&format!("{HOSTS}{added}"))
}

/// Returns the error of a flow from `a` to `b`. The flow begins on line 11, and `added` begins on line 14.
fn message(added: &str) -> String {
    hosts(&format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{added}\n"))
}

#[test]
fn a_nic_belongs_to_a_controller() {
    let without = HOSTS.replace("[controllers.c]\nports = 2\n", "");
    assert_eq!(
        refusal(&without),
        "bad.toml:3: a.controller: there is no controller; write [controllers.c0], the crossbar that it belongs to"
    );
    let named = HOSTS.replace("upstream = \"h0\"", "upstream = \"h0\"\ncontroller = \"d\"");
    assert_eq!(
        refusal(&named),
        "bad.toml:8: a.controller: there is no controller \"d\"; write \"c\""
    );
    assert_eq!(
        hosts("[controllers.d]\n"),
        "bad.toml:5: a.controller: none is written; write one of c, d"
    );
}

#[test]
fn weights_are_for_functions_that_share_by_packets() {
    let weighted = |more: &str| {
        let nic = format!("model = \"nic\"\nweights = \"2\"\n{more}upstream = \"h0\"");
        HOSTS.replace("model = \"nic\"\nupstream = \"h0\"", &nic)
    };
    assert_eq!(
        refusal(&weighted("sharing = \"message\"\n")),
        "bad.toml:7: a.weights: with sharing = \"message\" the engine sends one message after the other; write sharing = \"packet\", or leave it out"
    );
}

#[test]
fn a_controller_has_as_many_ports_as_are_written() {
    assert_eq!(
        hosts("[devices.e]\nmodel = \"nic\"\nupstream = \"h1\"\n"),
        "bad.toml:11: no port of the controller c is left (2 in all); write a larger ports there, up to 64"
    );
    assert_eq!(
        hosts("[controllers.h0]\n"),
        "bad.toml:11: \"h0\" is already the name of the host on line 1; write another one"
    );
}

#[test]
fn a_processor_has_a_number_of_its_own() {
    let same = HOSTS.replace("model = \"nic\"", "model = \"nic\"\nprocessor = 3");
    assert_eq!(
        refusal(&same),
        "bad.toml:11: b.processor: 3 is already the number of a; write another one"
    );
}

#[test]
fn the_bus_of_a_chip_has_one_clock() {
    let fast = HOSTS.replace(
        "upstream = \"h0\"",
        "upstream = \"h0\"\nclock = \"300 MHz\"",
    );
    assert_eq!(
        refusal(&fast),
        "bad.toml:8: a.clock: 300 MHz is not that of the crossbar of c, 250 MHz, with which it shares a bus; write the same for both"
    );
}

#[test]
fn doorbells_take_a_page() {
    let small = HOSTS.replace("upstream = \"h0\"", "upstream = \"h0\"\nbar = \"2 KiB\"");
    assert_eq!(
        refusal(&small),
        "bad.toml:8: a.bar: 2 KiB do not hold the doorbells of a function, which take a page; write \"4 KiB\" or more"
    );
}

#[test]
fn messages_go_between_nics() {
    assert_eq!(
        hosts("[[flows]]\nfrom = \"a\"\nto = \"h1\"\nsize = \"1 B\"\n"),
        "bad.toml:13: flow \"flow-1\", to: a sends messages to nic devices only; write the nic of the host that is meant"
    );
    assert_eq!(
        hosts("[[flows]]\nfrom = \"h0\"\nto = \"b\"\nsize = \"1 B\"\n"),
        "bad.toml:13: flow \"flow-1\", to: b takes messages from nic devices only; write one of those in from, or its host in to"
    );
    assert_eq!(
        hosts("[[flows]]\nfrom = \"a\"\nto = \"a\"\nsize = \"1 B\"\n"),
        "bad.toml:13: flow \"flow-1\", to: a is also where it comes from; write another nic"
    );
    assert_eq!(
        hosts("[[flows]]\nfrom = \"h0\"\nto = \"0x1000\"\nsize = \"1 B\"\nprimitive = \"put\"\n"),
        "bad.toml:15: flow \"flow-1\", primitive: this flow has no messages; write it only where the flow is from a nic device"
    );
}

#[test]
fn messages_have_a_size_and_a_way() {
    assert_eq!(
        message("size = \"1 MiB\"\nrequest_size = \"4 KiB\"\nprimitive = \"nap-indirect\""),
        "bad.toml:15: flow \"flow-1\", request_size: 4 KiB is not a message size of a nap-indirect; write 1 B to 2 KiB"
    );
    assert_eq!(
        message("direction = \"both\"\nsize = \"1 B\""),
        "bad.toml:14: flow \"flow-1\", direction: messages go one way; write \"write\" or \"read\", and a second flow for the other way"
    );
    assert_eq!(
        message("direction = \"read\"\nprimitive = \"put\"\nsize = \"1 B\""),
        "bad.toml:14: flow \"flow-1\", direction: \"put\" goes the other way; leave out direction, or write another primitive"
    );
    assert_eq!(
        message("size = \"1 KiB\"\nsmallest = \"2 KiB\""),
        "bad.toml:15: flow \"flow-1\", smallest: 2 KiB is not a message size up to 1 KiB; write 1 B to 1 KiB"
    );
    assert_eq!(
        message("size = \"1 KiB\"\nwindow = \"512 B\""),
        "bad.toml:15: flow \"flow-1\", window: 512 B hold no message of 1 KiB; write 1 KiB at least"
    );
    assert_eq!(
        message("size = \"1 KiB\"\ninterval = \"1 us\""),
        "bad.toml:15: flow \"flow-1\", interval: messages follow each other as fast as outstanding allows; leave it out"
    );
}

#[test]
fn flows_have_queue_pairs_of_their_own() {
    let five = "[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 B\"\n".repeat(5);
    assert_eq!(
        hosts(&five),
        "bad.toml:28: flow \"flow-5\", from: other flows have all queue pairs of the nic, 4 of each function, or the 32 requests that each may have under way; write virtual_functions = 7 for it, fewer flows or a smaller outstanding"
    );
    assert_eq!(
        message("size = \"1 B\"\nfunction = 2"),
        "bad.toml:15: flow \"flow-1\", function: a has no function 2; write a smaller one, or virtual_functions = 2 or more there"
    );
}

#[test]
fn cables_join_two_controllers() {
    assert_eq!(
        hosts("[[cables]]\nfrom = \"c\"\nto = \"d\"\n"),
        "bad.toml:13: there is no controller \"d\"; write \"c\""
    );
    assert_eq!(
        hosts("[[cables]]\nfrom = \"c\"\nto = \"c\"\n"),
        "bad.toml:13: this cable begins and ends at c; write two controllers"
    );
    assert_eq!(
        hosts("[[cables]]\nfrom = \"c\"\n"),
        "bad.toml:11: cables 1: there is no to; write to = \"NAME\" of a controller"
    );
    let apart = HOSTS
        .replace("ports = 2\n", "[controllers.d]\n")
        .replace("upstream = \"h0\"", "upstream = \"h0\"\ncontroller = \"c\"")
        .replace("upstream = \"h1\"", "upstream = \"h1\"\ncontroller = \"d\"");
    assert_eq!(
        refusal(&format!(
            "{apart}[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 B\"\n"
        )),
        "bad.toml:15: flow \"flow-1\", to: no cables lead from the controller of a to that of b; write [[cables]] between them"
    );
}

/// The scenario `HOSTS` with one controller for each host, `c` on line 3 and `d` on line 4, which a cable joins.
fn joined() -> String {
    let cable = "[[cables]]\nfrom = \"c\"\nto = \"d\"\n";
    HOSTS
        .replace("ports = 2\n", "[controllers.d]\n")
        .replace("upstream = \"h0\"", "upstream = \"h0\"\ncontroller = \"c\"")
        .replace("upstream = \"h1\"", "upstream = \"h1\"\ncontroller = \"d\"")
        + cable
}

#[test]
fn joined_controllers_have_one_address_space() {
    assert_eq!(
        refusal(&joined().replace(
            "[controllers.d]",
            "[controllers.d]\nprocessor_space = \"64 GiB\""
        )),
        "bad.toml:5: d.processor_space: 64 GiB is not that of c, 128 GiB, which a cable joins to it; write the same for both"
    );
}

#[test]
fn joined_controllers_have_the_same_channels_for_gets() {
    assert_eq!(
        refusal(&joined().replace("[controllers.d]", "[controllers.d]\nget_channel = false")),
        "bad.toml:5: d.get_channel: false is not that of c, which a cable joins to it; write the same for both"
    );
}

#[test]
fn the_largest_packet_has_room_wherever_it_waits() {
    let too_large = |from: &str, to: &str| refusal(&joined().replace(from, to));
    let large = "[devices.a]\nnetwork_payload = \"1 KiB\"";
    assert_eq!(
        too_large("[devices.a]", &large.replace("1 KiB", "4 KiB")),
        "bad.toml:6: a.network_payload: 4 KiB with 16 B of header do not fit into c.channel_buffer (4 KiB); write 4112 B there at least, or a smaller network_payload"
    );
    let narrow = |place: &str, key: &str| {
        joined()
            .replace("[devices.a]", large)
            .replace(place, &format!("{place}\n{key} = \"640 B\""))
    };
    for (place, key, name, least) in [
        (
            "[controllers.d]",
            "channel_buffer",
            "d.channel_buffer",
            "1040 B",
        ),
        (
            "[devices.b]",
            "receive_buffer",
            "b.receive_buffer",
            "1040 B",
        ),
        ("[controllers.d]", "posted_data", "d.posted_data", "1 KiB"),
    ] {
        let header = if key == "posted_data" {
            ""
        } else {
            " with 16 B of header"
        };
        let said = refusal(&narrow(place, key));
        let wanted = format!(
            "a.network_payload: 1 KiB{header} do not fit into {name} (640 B); write {least} there at least, or a smaller network_payload"
        );
        assert!(said.ends_with(&wanted), "{said}");
    }
    for (key, header, least) in [
        ("io_buffer", " with 16 B of header", "1040 B"),
        ("posted_data", "", "1 KiB"),
        ("completion_data", "", "1 KiB"),
    ] {
        let hosts = joined()
            .replace(
                "[hosts.h0]",
                "[hosts.h0]\nmax_payload_supported = \"1 KiB\"",
            )
            .replace(
                "[devices.a]",
                "[devices.a]\nmax_payload_supported = \"1 KiB\"",
            )
            .replace(
                "[controllers.d]",
                &format!("[controllers.d]\n{key} = \"640 B\""),
            );
        let said = refusal(&hosts);
        let wanted = format!(
            "a.max_payload: 1 KiB{header} do not fit into d.{key} (640 B); write {least} there at least, or a smaller max_payload"
        );
        assert!(said.ends_with(&wanted), "{said}");
    }
}

/// Loads and stores between hosts, or of an endpoint below an I/O port, use the same receive buffers as messages.
#[test]
fn the_largest_load_has_room_in_the_receive_buffers() {
    let narrow = "[devices.b]\nreceive_buffer = \"512 B\"";
    let narrow = joined().replace("[devices.b]", narrow);
    let said = refusal(&format!(
        "{narrow}[[flows]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 B\"\n"
    ));
    let wanted = "a.max_payload: 512 B with 16 B of header do not fit into b.receive_buffer (512 B); write 528 B there at least, or a smaller max_payload";
    assert!(said.ends_with(wanted), "{said}");
    let port =
        "[io_ports.p]\ncontroller = \"c\"\nowners = [\"h0\"]\n[devices.e]\nupstream = \"p\"\n";
    let said = refusal(&format!("{narrow}{port}"));
    assert!(said.ends_with(wanted), "{said}");
    // Without loads and stores, `max_payload` does not matter here: the packets of messages have another size.
    assert!(Plan::read(&narrow, "bad.toml").is_ok());
}

#[test]
fn the_replay_buffer_of_a_cable_holds_its_largest_packet() {
    let of = |size: &str| {
        let settings = format!("[controllers.d]\nreplay_buffer = \"{size}\"");
        joined().replace("[controllers.d]", &settings)
    };
    for size in ["0 B", "543 B"] {
        assert_eq!(
            refusal(&of(size)),
            format!(
                "bad.toml:5: d.replay_buffer: {size} does not hold the largest packet on its cables; write 544 B at least"
            )
        );
    }
    assert!(Plan::read(&of("544 B"), "bad.toml").is_ok());
    // A controller without cables has no replay buffer, so the key is ignored.
    let alone = HOSTS.replace("ports = 2", "ports = 2\nreplay_buffer = \"0 B\"");
    assert!(Plan::read(&alone, "bad.toml").is_ok());
}

#[test]
fn a_message_goes_to_somebody() {
    let to = |name: &str| {
        hosts(&format!(
            "[[flows]]\nfrom = \"a\"\nto = {name:?}\nsize = \"1 B\"\n"
        ))
    };
    assert_eq!(
        to("bb"),
        "bad.toml:13: flow \"flow-1\", to: there is no host or device \"bb\"; write one of h0, h1, a, b"
    );
    assert_eq!(
        message("size = \"1 B\"\nclock = \"application\""),
        "bad.toml:15: flow \"flow-1\", clock: latencies of messages count from when a program begins; leave it out"
    );
}

#[test]
fn a_workload_of_a_controller_says_what_it_is() {
    let traffic = |added: &str| hosts(&format!("[[traffic]]\nnetwork = \"c\"\n{added}"));
    assert_eq!(
        traffic("duration = \"1 us\"\n"),
        "bad.toml:11: traffic \"traffic-1\", load: there is none; write load = \"1 GB/s\" that each node offers"
    );
    assert_eq!(
        traffic("load = \"1 GB/s\"\n"),
        "bad.toml:11: traffic \"traffic-1\", duration: there is none; write duration = \"100 us\""
    );
    assert_eq!(
        traffic("load = \"1 GB/s\"\nduration = \"1 us\"\nto = \"routers\"\n"),
        "bad.toml:15: traffic \"traffic-1\", to: only hosts send and receive through a controller; leave it out"
    );
    assert_eq!(
        traffic("load = \"1 GB/s\"\nduration = \"1 us\"\npattern = \"transpose\"\n"),
        "bad.toml:15: traffic \"traffic-1\", pattern: ports have no coordinates; write \"uniform\", \"hot-spot\", \"neighbour\" or \"tornado\""
    );
}

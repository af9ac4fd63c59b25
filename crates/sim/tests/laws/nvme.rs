//! NVM Express drives and their driver: blocks arrive as they were sent, and the queues work as software expects.

use proptest::prelude::*;

use crate::fixture::*;

/// A scenario with a drive, and a host whose software takes fixed times.
fn machine(drive: &str, flows: &str) -> String {
    format!(
        r#"{HOST}
system_call = "1 us"
page_pin = "0 ns"
register_write = "100 ns"
memory_write = "0 ns"
interrupt_latency = "5 us"
poll = "100 ns"
[links]
generation = 3
lanes = 4
[devices.d]
model = "nvme"
upstream = "h0"
{drive}
{flows}"#
    )
}

/// The keys of a drive whose media has fixed times.
const MEDIA: &str = "media_read_latency = \"60 us\"\nmedia_bandwidth = \"2 GB/s\"\nchannels = 1\ndies = 64\nstripe = \"4 KiB\"";

fn flow(id: &str, more: &str) -> String {
    format!("[[flows]]\nid = \"{id}\"\nfrom = \"d\"\nto = \"h0\"\n{more}\n")
}

/// Two flows: the first writes a buffer to blocks of the drive, and the second reads the buffer back.
fn there_and_back(more: &str) -> String {
    let there = flow("there", &format!("direction = \"read\"\n{more}"));
    let back = flow("back", &format!("carries = \"there\"\n{more}"));
    there + &back
}

#[test]
fn bytes_arrive_intact_in_blocks_and_back() {
    run(&machine("", &there_and_back("size = \"1 MiB\""))).all_intact();
}

#[test]
fn blocks_that_no_flow_wrote_hold_the_bytes_of_the_flow_that_reads_them() {
    let flows = flow("a", "size = \"256 KiB\"") + &flow("b", "size = \"64 KiB\"");
    run(&machine("", &flows)).all_intact();
}

#[test]
fn a_drive_moves_blocks_to_and_from_another_device() {
    let flows = there_and_back("size = \"64 KiB\"").replace("to = \"h0\"", "to = \"p\"");
    let text = machine("", &flows).replace("upstream = \"h0\"", "upstream = \"s\"");
    let more = "[switches.s]\nupstream = \"h0\"\n[devices.p]\nupstream = \"s\"\nbar = \"1 MiB\"\n";
    run(&text.replace("[devices.d]", &format!("{more}[devices.d]"))).all_intact();
}

#[test]
fn queues_wrap_and_the_phase_tag_with_them() {
    let flows = there_and_back("size = \"256 KiB\"\nrequest_size = \"4 KiB\"");
    for entries in [2, 3, 8] {
        let drive = format!("queue_entries = {entries}\ncommands = 2");
        run(&machine(&drive, &flows)).all_intact();
    }
}

#[test]
fn a_buffer_off_its_page_has_a_list_with_one_page_more() {
    let flows = there_and_back("size = \"256 KiB\"\noffset = \"516 B\"");
    let flows = flows.replacen("516 B", "8389124 B", 1);
    run(&machine("", &flows)).all_intact();
}

#[test]
fn a_command_takes_the_latency_of_the_media_and_shares_its_bandwidth() {
    let one = machine(MEDIA, &flow("f", "size = \"4 KiB\""));
    let alone = latency(&one);
    // The media takes 60 us and 2.048 us for 4 KiB at 2 GB/s. The rest of the time is the transfer over the link.
    assert!((62_048.0..64_000.0).contains(&alone), "{alone}");
    let channels = MEDIA.replace("channels = 1", "channels = 4");
    let alone = latency(&machine(&channels, &flow("f", "size = \"4 KiB\"")));
    assert!((68_192.0..70_000.0).contains(&alone), "{alone}");
    let many = flow("f", "size = \"4 MiB\"\nrequest_size = \"64 KiB\"");
    for media in [MEDIA, &channels] {
        let result = run(&machine(media, &many)).all_intact();
        let rate = result.flow("f").bytes_per_second.expect("a rate");
        // The rate is measured from the first byte, which is sent after the media has transferred the first of 64 commands.
        assert!((1.95e9..2.0e9 * 64.0 / 63.0).contains(&rate), "{rate}");
    }
}

#[test]
fn a_call_ends_after_its_last_interrupt() {
    // The earlier call initializes the controller.
    let keys = "size = \"4 KiB\"\nclock = \"application\"";
    let flows = flow("first", keys) + &flow("f", &format!("after = \"first\"\n{keys}"));
    let result = run(&machine(MEDIA, &flows)).all_intact();
    let latency = result.flow("f").latency_ns.as_ref().expect("one").mean;
    let rate = result.flow("f").bytes_per_second.expect("a rate");
    let call = 4096.0 / rate * 1e9;
    // The difference is the time of the system call, of the interrupt, and of the stores to doorbells.
    assert!(
        (6_000.0..9_000.0).contains(&(call - latency)),
        "{call} {latency}"
    );
}

#[test]
fn completions_while_the_vector_is_masked_come_as_one_interrupt() {
    let flow = flow("f", "size = \"1 MiB\"\nrequest_size = \"4 KiB\"");
    let sent = |text: &str| {
        let mut simulation = simulation(text);
        assert!(simulation.run(&mut |_| true));
        simulation.result().all_intact();
        simulation.interrupt_counts("d").expect("a drive")[0][0]
    };
    let open = machine("msix_vectors = 1", &flow);
    let each = sent(&open);
    // There is one interrupt for each command, and two for the commands that create the queues.
    assert_eq!((each.sent, each.held), (258, 0));
    let masked = open.replace("system_call", "interrupt_masking = true\nsystem_call");
    let few = sent(&masked);
    assert!(few.sent < 128 && few.held > 0, "{few:?}");
    assert!(few.sent + few.held >= 258 && few.withdrawn > 0, "{few:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_commands_move_what_they_should(
        block in prop::sample::select(vec![512_u64, 4096]),
        blocks in 1_u64..200,
        each in 1_u64..16,
        entries in 2_u32..12,
        commands in 1_u32..12,
        offset in 0_u64..2048,
        max_payload in prop::sample::select(vec![128, 256, 512]),
        (vectors, is_masking) in prop::sample::select(vec![(0, false), (1, false), (4, true)]),
    ) {
        let drive = format!("block_size = \"{block} B\"\nqueue_entries = {entries}\ncommands = {commands}\nmsix_vectors = {vectors}");
        let sizes = format!("size = \"{} B\"\nrequest_size = \"{} B\"", block * blocks, block * each);
        let there = format!("direction = \"read\"\noffset = \"{} B\"\n{sizes}", offset * 4);
        let back = format!("carries = \"there\"\noffset = \"{} B\"\n{sizes}", (8 << 20) + offset * 4);
        let flows = flow("there", &there) + &flow("back", &back);
        let text = machine(&drive, &flows).replace("system_call", &format!("interrupt_masking = {is_masking}\nmax_payload_supported = \"{max_payload} B\"\nsystem_call"));
        run(&text).all_intact();
    }
}

//! The datapath between a device's core and its engine, in both directions: header and payload occupy whole beats.

use crate::fixture::*;

/// A device `a` at a link that is faster than its datapath of 250 MHz, and a flow of its reads or of the host's writes.
fn machine(device: &str, flow: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 16\n{HOST}max_payload_supported = \"128 B\"\n[devices.a]\nupstream = \"h0\"\nmax_payload_supported = \"128 B\"\nclock = \"250 MHz\"\n{device}\n[[flows]]\nid = \"f\"\n{flow}\n"
    )
}

const READS: &str = "from = \"a\"\nto = \"h0\"\ndirection = \"read\"\nsize = \"512 KiB\"";
const WRITES: &str = "from = \"h0\"\nto = \"a\"\nsize = \"512 KiB\"\nwindow = \"32 KiB\"";

fn rate_of(device: &str, flow: &str) -> f64 {
    rate(run(&machine(device, flow)).all_intact().flow("f"))
}

#[test]
fn the_receive_datapath_sets_the_rate_of_reads_where_it_is_slower_than_the_link() {
    // A completion with 128 bytes of payload has 140 bytes with its header, which occupy 9 beats of 16 bytes.
    let cycle = 4e-9;
    let plain = rate_of("receive_datapath = \"16 B\"", READS);
    close(plain, 128.0 / (9.0 * cycle), 0.5);
    let idle = "receive_datapath = \"16 B\"\nreceive_idle_cycles = 1";
    close(rate_of(idle, READS), 128.0 / (10.0 * cycle), 0.5);
}

#[test]
fn with_straddling_a_completion_begins_in_the_beat_in_which_the_one_before_ends() {
    let cycle = 4e-9;
    // 140 bytes occupy 5 beats of 32 bytes, or 4.5 beats if packets may start in the middle of a beat.
    let plain = rate_of("receive_datapath = \"32 B\"", READS);
    close(plain, 128.0 / (5.0 * cycle), 0.5);
    let straddled = "receive_datapath = \"32 B\"\nreceive_straddling = \"16 B\"";
    close(rate_of(straddled, READS), 128.0 / (4.5 * cycle), 0.5);
}

#[test]
fn an_engine_that_sends_may_straddle_too() {
    let cycle = 4e-9;
    let writes = "from = \"a\"\nto = \"h0\"\nsize = \"512 KiB\"";
    close(
        rate_of("datapath = \"32 B\"", writes),
        128.0 / (5.0 * cycle),
        0.5,
    );
    let straddled = "datapath = \"32 B\"\nstraddling = \"16 B\"";
    close(rate_of(straddled, writes), 128.0 / (4.5 * cycle), 0.5);
}

#[test]
fn a_packet_occupies_the_receive_buffer_until_its_last_beat_has_passed() {
    let device = "receive_datapath = \"16 B\"";
    let result = run(&machine(device, WRITES)).all_intact();
    assert!(result.link("h0-a", "down").credit_stall_ns > 0.0);
    let (free, slow) = (rate_of("", WRITES), rate(result.flow("f")));
    assert!(slow < 4e9 && free > 2.0 * slow, "{free} {slow}");
    let packet = 128.0 + 12.0;
    close(slow, 128.0 / (f64::ceil(packet / 16.0) * 4e-9), 1.0);
}

#[test]
fn the_beats_of_a_completion_are_part_of_the_latency_of_its_read() {
    let one = "from = \"a\"\nto = \"h0\"\ndirection = \"read\"\ncount = 1\nrequest_size = \"64 B\"";
    let free = latency(&machine("", one));
    let slow = latency(&machine("receive_datapath = \"8 B\"", one));
    // A completion with 64 bytes of payload has 76 bytes, which occupy 10 beats of 8 bytes.
    close(slow - free, 40.0, 1e-6);
}

#[test]
fn the_engine_writes_packets_of_its_own_size_below_the_max_payload_size() {
    let machine = |device: &str, payload: &str| {
        format!(
            "[links]\ngeneration = 3\nlanes = 8\n{HOST}max_payload_supported = \"{payload}\"\n[devices.a]\nupstream = \"h0\"\nmax_payload_supported = \"{payload}\"\n{device}\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\nsize = \"512 KiB\"\n"
        )
    };
    let packets = |device: &str| {
        let result = run(&machine(device, "256 B")).all_intact();
        result.link("h0-a", "up").tlps
    };
    for model in ["model = \"dma\"", "model = \"sg-dma\""] {
        let own = format!("{model}\nwrite_payload = \"128 B\"");
        assert_eq!(packets(&own), packets(model) + 512 * 4, "{model}");
        // A larger `write_payload` has no effect, because the max payload size is the limit.
        let larger = format!("{model}\nwrite_payload = \"512 B\"");
        assert_eq!(packets(&larger), packets(model), "{model}");
    }
}

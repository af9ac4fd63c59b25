//! Accesses to buffers by a `block-dma` engine: their effect on memory, and the times that their latency and rate include.

use kernel::{Span, Time};
use protocol::{FunctionId, register};
use serde_json::Value;
use sim::Simulation;
use sim::result::AccessResult;
use sim::result::RunResult;

use crate::fixture::*;

/// A scenario with a buffer of size `buffer`, and an engine `e` below a switch.
fn machine(buffer: &str, engine: &str, accesses: &str) -> String {
    format!(
        r#"{HOST}
[links]
generation = 2
lanes = 8
delay = "0 ns"
[switches.s]
upstream = "h0"
[devices.e]
model = "block-dma"
upstream = "s"
{engine}
[buffers.b]
host = "h0"
size = "{buffer}"
{accesses}"#
    )
}

fn accesses(by: &str, kind: &str, more: &str) -> String {
    format!("[[accesses]]\nby = \"{by}\"\nbuffer = \"b\"\nkind = \"{kind}\"\n{more}\n")
}

/// A scenario in which the engine makes a single access of `size` bytes.
fn one(engine: &str, kind: &str, size: u64) -> String {
    let access = format!("size = \"{size} B\"\ncount = 1\norder = \"local\"");
    machine("64 KiB", engine, &accesses("e", kind, &access))
}

fn first(result: &RunResult) -> &AccessResult {
    let access = &result.accesses[0];
    assert!(access.completed && access.intact, "{access:?}");
    access
}

/// The latency of the only access in the scenario, in nanoseconds.
fn latency_of(text: &str) -> f64 {
    let result = run(text);
    let latency = first(&result).latency_ns.as_ref();
    latency.expect("an access came to its end").mean
}

/// Returns the first bytes of the buffer, after all packets under way have arrived.
fn buffer(simulation: &mut Simulation, len: u64) -> Vec<u8> {
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    let address = simulation.plan().buffers[0].address;
    let bytes = simulation.memory("h0", address, len);
    bytes.expect("the buffer is in the memory")
}

fn done(text: &str) -> Simulation {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    simulation
}

const SIZES: [u64; 17] = [
    1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 255, 4095, 4096, 4097, 10_000, 21_845,
];

#[test]
fn what_is_read_is_what_was_there_and_what_is_written_is_there() {
    for size in SIZES {
        let access = format!("size = \"{size} B\"\ncount = 3\norder = \"sequential\"");
        let text = |kind| machine("64 KiB", "", &accesses("e", kind, &access));
        let mut read = done(&text("read"));
        assert_eq!(first(&read.result()).count, 3);
        let mut written = done(&text("write"));
        assert_eq!(first(&written.result()).count, 3);
        // Before the run, the buffer is filled with its pattern for the reads, but not for the writes.
        let end = 3 * size + 1;
        let (there, here) = (buffer(&mut read, end), buffer(&mut written, end));
        assert_eq!(there[..3 * size as usize], here[..3 * size as usize]);
        assert_eq!(here[3 * size as usize], 0);
    }
}

/// The start and end in nanoseconds of each packet of this kind on the link of the engine.
fn packets(lines: &[Value], kind: &str, direction: &str) -> Vec<(f64, f64)> {
    let of = |line: &&Value| {
        line["link"] == "s-e" && line["tlp"] == kind && line["direction"] == direction
    };
    let times = |line: &Value| {
        let start = line["ns"].as_f64().expect("a packet has a time");
        let length = line["length_ns"].as_f64().expect("a packet has a length");
        (start, start + length)
    };
    lines.iter().filter(of).map(times).collect()
}

#[test]
fn a_read_ends_with_its_last_completion_and_a_write_with_its_last_request() {
    let engine = "start_latency = \"0 ns\"\nend_latency = \"0 ns\"";
    for (kind, request, last, direction) in [
        ("read", "MRd", "CplD", "down"),
        ("write", "MWr", "MWr", "up"),
    ] {
        for size in [4, 512, 10_000] {
            let (result, lines) = trace(&one(engine, kind, size));
            let latency = first(&result)
                .latency_ns
                .as_ref()
                .expect("an access ended")
                .mean;
            let begun = packets(&lines, request, "up")[0].0;
            let ends = packets(&lines, last, direction);
            let end = ends.last().expect("there is a last packet").1;
            let error = latency - (end - begun);
            assert!(error.abs() < 1e-3, "{kind} {size}: {error} ns");
        }
    }
}

#[test]
fn a_latency_grows_by_what_the_engine_takes_before_and_behind() {
    // The latency grows in steps of the 2 ns symbol, because a packet begins with a symbol.
    for kind in ["read", "write", "atomic-load"] {
        let latency = |start: u64, end: u64| {
            let engine = format!("start_latency = \"{start} ns\"\nend_latency = \"{end} ns\"");
            latency_of(&one(&engine, kind, 8))
        };
        let least = latency(0, 0);
        for (start, end) in [(2, 0), (300, 0), (0, 71), (1000, 5)] {
            let more = latency(start, end) - least;
            let error = more - (start + end) as f64;
            assert!(
                error.abs() < 1e-6,
                "{kind}: {more} ns for {start} and {end}"
            );
        }
    }
}

#[test]
fn requests_of_a_transfer_keep_their_interval() {
    let engine = "request_interval = \"1 us\"\nmax_read_request = \"512 B\"";
    let (result, lines) = trace(&one(engine, "read", 4096));
    first(&result);
    let requests = packets(&lines, "MRd", "up");
    assert_eq!(requests.len(), 8);
    for pair in requests.windows(2) {
        close(pair[1].0 - pair[0].0, 1000.0, 0.1);
    }
}

#[test]
fn no_more_reads_are_outstanding_than_there_are_tags() {
    let latency = |tags| latency_of(&one(&format!("tags = {tags}"), "read", 32_768));
    // With more tags, more reads overlap in their round trips, until the link is busy.
    let (one, two, many) = (latency(1), latency(2), latency(32));
    assert!(one > 1.7 * two && two > 2.0 * many, "{one} {two} {many} ns");
}

#[test]
fn the_software_around_a_transfer_is_in_its_rate_and_not_in_its_latency() {
    let access = |turnaround: u64| {
        let keys = format!(
            "size = \"4 KiB\"\ncount = 10\norder = \"local\"\nturnaround = \"{turnaround} ns\""
        );
        machine("64 KiB", "", &accesses("e", "write", &keys))
    };
    let measured = |turnaround| {
        let (result, lines) = trace(&access(turnaround));
        let latency = first(&result)
            .latency_ns
            .as_ref()
            .expect("accesses ended")
            .mean;
        let rate = first(&result).bytes_per_second.expect("accesses ended");
        let requests = packets(&lines, "MWr", "up");
        let whole = requests[requests.len() - 1].1 - requests[0].0;
        (latency, rate, whole)
    };
    let (at_once, rate, whole) = measured(0);
    close(rate, 4096.0 / at_once * 1e9, 1e-6);
    let (later, slower, longer) = measured(5000);
    close(later, at_once, 5.0);
    close(slower, 4096.0 / (later + 5000.0) * 1e9, 1e-6);
    close(longer - whole, 9.0 * 5000.0, 1.0);
}

#[test]
fn software_gives_an_engine_one_transfer_at_a_time() {
    let both = ["read", "write"]
        .map(|kind| accesses("e", kind, "size = \"4 KiB\"\ncount = 8\nwarm_up = 1"));
    let (result, lines) = trace(&machine("64 KiB", "", &both.concat()));
    assert!(result.accesses.iter().all(|access| access.completed));
    let reads = packets(&lines, "CplD", "down");
    let writes = packets(&lines, "MWr", "up");
    let turns = [reads, writes].map(|packets| packets.len());
    assert!(turns.iter().all(|count| *count >= 9 * 4096 / 512));
    let order: Vec<&str> = lines
        .iter()
        .filter(|line| line["link"] == "s-e" && line["direction"] == "up")
        .filter_map(|line| line["tlp"].as_str())
        .collect();
    let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(changes, 2 * 9 - 1);
}

/// A scenario with a buffer that holds one value, and two engines: `e` below a switch, `f` directly below the host.
fn two(accesses: &str) -> String {
    let other = "[devices.f]\nmodel = \"block-dma\"\nupstream = \"h0\"\n";
    machine("64 B", "", &format!("{other}{accesses}"))
}

#[test]
fn what_two_engines_add_at_once_is_there_in_the_end() {
    for width in [4, 8] {
        let keys = format!("size = \"{width} B\"\norder = \"local\"\ncount = 100\nwarm_up = 7");
        let text = accesses("e", "atomic-load", &keys) + &accesses("f", "atomic-store", &keys);
        let mut simulation = done(&two(&text));
        let result = simulation.result();
        assert!(
            result
                .accesses
                .iter()
                .all(|one| one.completed && one.intact)
        );
        let mut expected = [0; 16];
        expected[0] = 214;
        assert_eq!(buffer(&mut simulation, 16), expected);
    }
}

#[test]
fn zero_is_swapped_for_anything_and_compared_with_zero_alone() {
    for (kind, size, left) in [
        ("atomic-swap", 4, [0, 0, 0, 0, 7, 7, 7, 7]),
        ("atomic-swap", 8, [0; 8]),
        ("atomic-compare", 4, [7; 8]),
        ("atomic-compare", 8, [7; 8]),
        ("atomic-compare", 16, [7; 8]),
    ] {
        let mut simulation = simulation(&one("", kind, size));
        let address = simulation.plan().buffers[0].address;
        simulation
            .fill("h0", address, &[7; 16])
            .expect("the buffer is in the memory");
        assert!(simulation.run(&mut |_| true));
        assert_eq!(first(&simulation.result()).count, 1);
        assert_eq!(buffer(&mut simulation, 8), left, "{kind} {size}");
    }
}

/// The engine below the switch.
const E: FunctionId = FunctionId::new(3, 0, 0);

#[test]
fn an_engine_that_may_not_ask_for_atomic_operations_holds_them() {
    let keys = "size = \"8 B\"\norder = \"local\"\ncount = 5\nstart = \"50 us\"";
    let mut simulation = simulation(&machine("64 B", "", &accesses("e", "atomic-load", keys)));
    let control = (u64::from(register::DEVICE_CONTROL_2) * 4, 2);
    let enable = 1 << 6;
    let set = |simulation: &mut Simulation, value| {
        let old = simulation.config_read("h0", E, control.0, control.1, &mut || true);
        simulation
            .config_write("h0", E, control, value, &mut || true)
            .expect("a host");
        old.expect("a host")
    };
    assert_eq!(set(&mut simulation, 0), enable);
    let later = Time::from_fs(Span::from_us(200).as_fs());
    simulation.run_until(later, &mut || true);
    assert_eq!(simulation.result().accesses[0].count, 0);
    set(&mut simulation, enable);
    assert!(simulation.run(&mut |_| true));
    assert_eq!(first(&simulation.result()).count, 5);
    assert_eq!(buffer(&mut simulation, 1), [5]);
}

/// PCIe Base 6.15.3.1: firmware enables no atomic requester below a switch that does not route atomic operations. If software enables one, its
/// request is answered with Unsupported Request. A request that a port blocks gets the same answer.
#[test]
fn a_switch_passes_no_atomic_operations_on_that_it_does_not_route_or_that_it_blocks() {
    let keys = "size = \"8 B\"\norder = \"local\"\ncount = 5\nstart = \"50 us\"";
    for (switch, is_enabled, why, counted) in [
        ("", true, "", 0),
        ("atomic_routing = false", false, "unsupported request", 5),
        (
            "atomic_egress_blocking = true",
            true,
            "AtomicOp egress blocked",
            5,
        ),
    ] {
        let text = machine("64 B", "", &accesses("e", "atomic-load", keys));
        let text = text.replace("[switches.s]\n", &format!("[switches.s]\n{switch}\n"));
        let mut simulation = simulation(&text);
        let control = (u64::from(register::DEVICE_CONTROL_2) * 4, 2);
        let enable = 1 << 6;
        let old = simulation.config_read("h0", E, control.0, control.1, &mut || true);
        assert_eq!(old.expect("a host") & enable != 0, is_enabled, "{switch}");
        simulation
            .config_write("h0", E, control, enable, &mut || true)
            .expect("a host");
        assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        let access = &result.accesses[0];
        assert_eq!(access.failed, counted, "{switch}");
        assert_eq!(access.intact, counted == 0, "{switch}");
        assert_eq!(result.errors("s", why), counted, "{switch}");
        assert_eq!(buffer(&mut simulation, 1), [5 - counted as u8]);
    }
}

#[test]
fn a_transfer_fails_whose_requests_are_not_answered_in_time() {
    let text = one("completion_timeout = \"50 us\"", "read", 2048);
    let slow = text.replace("latency = \"100 ns\"", "latency = \"60 us\"");
    let result = run(&slow);
    let access = &result.accesses[0];
    assert!(access.completed && !access.intact);
    assert_eq!((access.count, access.failed), (1, 1));
    assert_eq!(result.errors("e", "completion timeout"), 4);
}

/// Runs an engine that reads or writes a buffer in pieces of 4 KiB, with virtual addresses, which its host translates, or with physical addresses.
fn translated(is_virtual: bool, buffer: &str, access: &str) -> Simulation {
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}iotlb_entries = 16\nwalk_cache_entries = 0\n[devices.d]\nupstream = \"h0\"\nmodel = \"block-dma\"\nvirtual_addresses = {is_virtual}\n[buffers.b]\nhost = \"h0\"\nsize = \"1 MiB\"\n{buffer}\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 64\n{access}\n"
    );
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(20).as_fs());
    simulation.run_until(rest, &mut || true);
    assert_eq!(simulation.packets_in_use(), 0);
    simulation
}

fn mean(simulation: &Simulation) -> f64 {
    let result = simulation.result();
    let [access] = result.accesses.as_slice() else {
        panic!("there is one entry");
    };
    assert!(access.completed && access.intact && result.errors.is_empty());
    access.latency_ns.as_ref().expect("they were measured").mean
}

#[test]
fn addresses_that_a_host_translates_cost_a_walk_where_pages_are_small() {
    let walk = |buffer| {
        let [there, here] =
            [true, false].map(|is_virtual| mean(&translated(is_virtual, buffer, "")));
        there - here
    };
    // Nearly every page needs a walk through four levels of tables. Each level is a read of memory (80 ns) plus the path to the memory and back (50
    // ns each).
    assert!((630.0..740.0).contains(&walk("page = \"4 KiB\"")));
    assert!((0.0..30.0).contains(&walk("page = \"2 MiB\"")));
}

#[test]
fn what_is_written_to_virtual_addresses_is_where_their_pages_are() {
    let write = "kind = \"write\"\norder = \"sequential\"";
    let [there, here] = [true, false].map(|is_virtual| {
        let simulation = translated(is_virtual, "page = \"4 KiB\"", write);
        let bytes = simulation.memory("h0", 0, 64 * 4096);
        bytes.expect("the buffer is at the beginning")
    });
    assert!(here.iter().any(|byte| *byte != 0));
    assert_eq!(there, here);
}

#[test]
fn a_page_that_is_not_there_or_not_to_be_written_ends_requests_cleanly() {
    let absent = translated(true, "present = false", "").result();
    assert_eq!(absent.accesses[0].failed, 64);
    assert!(absent.errors("h0", "unsupported request") > 0);
    let kept = translated(true, "rights = \"read\"", "kind = \"write\"");
    let refused = kept.result().errors("h0", "unsupported request");
    assert_eq!(refused, 64 * 4096 / 512);
    let bytes = kept.memory("h0", 0, 1 << 20).expect("it is there");
    assert!(bytes.iter().all(|byte| *byte == 0));
}

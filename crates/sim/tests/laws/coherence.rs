//! Cores and accelerators that share a memory. They exchange coherence messages, which take time.

use std::fmt::Write;

use kernel::{Span, Time};
use proptest::prelude::*;
use sim::Simulation;

use crate::cases::cases;
use crate::fixture::simulation;

/// A coherent host whose caches are small, and `cards` accelerators below it.
pub fn host(cards: usize) -> String {
    let mut text = String::from(
        "[links]\ngeneration = 4\nlanes = 8\n[hosts.h0]\ncoherent = true\ncore_cache = \"2 KiB\"\ncore_cache_ways = 2\nfirst_cache = \"1 KiB\"\nfirst_cache_ways = 2\nmemory = \"16 MiB\"\nsystem_cache = \"64 KiB\"\n",
    );
    for card in 0..cards {
        write!(
            text,
            "[devices.card{card}]\nupstream = \"h0\"\nmodel = \"accelerator\"\ncache = \"1 KiB\"\ncache_ways = 2\nsend_latency = \"{0} ns\"\nreceive_latency = \"{0} ns\"\n",
            10 + 40 * card
        )
        .expect("a text takes all");
    }
    text
}

/// Runs to the end, and checks the coherence of all caches after every `every` events.
fn run_coherently(simulation: &mut Simulation, every: u32) {
    loop {
        for _ in 0..every {
            if !simulation.step() {
                break;
            }
        }
        if let Err(wrong) = simulation.check_coherence() {
            panic!("{wrong}");
        }
        let result = simulation.result();
        if result.accesses.iter().all(|accesses| accesses.completed) {
            break;
        }
        assert!(
            simulation.now() < Time::ZERO + Span::from_us(100_000),
            "it stands still"
        );
    }
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    if let Err(wrong) = simulation.check_coherence() {
        panic!("{wrong}");
    }
}

fn accesses(text: &mut String, by: &str, settings: &str) {
    writeln!(
        text,
        "[[accesses]]\nby = \"{by}\"\nbuffer = \"b\"\n{settings}"
    )
    .expect("a text takes all");
}

#[test]
fn additions_of_cores_and_accelerators_are_all_there() {
    let mut text = host(2);
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n";
    let add = "kind = \"atomic-load\"\nsize = \"8 B\"\norder = \"local\"\ncount = 300";
    accesses(&mut text, "h0", &format!("{add}\ncores = 3"));
    accesses(&mut text, "card0", add);
    accesses(&mut text, "card1", &add.replace("load", "store"));
    let mut simulation = simulation(&text);
    let before = simulation
        .memory("h0", 0, 8)
        .expect("the buffer is at the beginning");
    run_coherently(&mut simulation, 100);
    let after = simulation.memory("h0", 0, 8).expect("it is still there");
    let number = |bytes: Vec<u8>| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    assert_eq!(number(after), number(before) + 5 * 300);
}

#[test]
fn a_dirty_line_of_an_accelerator_goes_to_the_core_that_wants_it() {
    let mut text = host(1);
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n";
    accesses(&mut text, "card0", "kind = \"write\"\ncount = 1");
    accesses(
        &mut text,
        "h0",
        "kind = \"write\"\ncount = 1\nstart = \"10 us\"",
    );
    accesses(
        &mut text,
        "h0",
        "kind = \"write\"\ncount = 1\nstart = \"20 us\"\nfirst_core = 1",
    );
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 1);
    let result = simulation.result();
    let ns = |number: usize| {
        result.accesses[number]
            .latency_ns
            .as_ref()
            .expect("one was measured")
            .mean
    };
    // The lookup in the core's own cache, four transfers between a core and the home agent, the time of the home agent twice, and the answer of the
    // other core. A line in an accelerator needs the link in both directions instead.
    let across = 4.231 + 4.0 * 8.0 + 2.0 * 6.0 + 15.0;
    assert!((ns(2) - across).abs() < 1e-6, "{}", ns(2));
    assert!(ns(1) > 300.0, "{}", ns(1));
}

#[test]
fn reads_of_a_buffer_that_nobody_writes_are_hits_where_it_fits() {
    let mut text = host(1);
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"512 B\"\n";
    accesses(&mut text, "card0", "count = 500\nsize = \"64 B\"");
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 1000);
    let result = simulation.result();
    let cache = result.accesses[0]
        .cache
        .expect("an accelerator has a cache");
    assert_eq!((cache.hits, cache.misses), (492, 8));
    assert!(result.accesses[0].intact);
}

/// The mean latency in ns of accesses with `settings`, made by an accelerator to a buffer with the keys `buffer`.
fn latency((accelerator, buffer, settings): (&str, &str, &str)) -> f64 {
    let mut text = host(1);
    write!(
        text,
        "{accelerator}\n[buffers.b]\nhost = \"h0\"\nsize = \"8 KiB\"\n{buffer}\n"
    )
    .expect("a text takes all");
    accesses(&mut text, "card0", settings);
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 1000);
    let result = simulation.result();
    let latency = result.accesses[0].latency_ns.as_ref();
    latency.expect("accesses have ended").mean
}

#[test]
fn a_buffer_that_software_has_written_is_read_from_the_system_cache() {
    let reads = |buffer| latency(("", buffer, "order = \"sequential\"\ncount = 100"));
    let earlier = reads("") - reads("in_system_cache = true");
    // Memory takes 80 ns plus the time of a line; the system cache takes 10 ns.
    assert!((70.0..80.0).contains(&earlier), "{earlier}");
}

#[test]
fn a_line_to_be_written_whole_is_asked_for_with_or_without_its_data() {
    let writes = |accelerator| {
        let settings = "kind = \"write\"\norder = \"sequential\"\ncount = 100";
        latency((accelerator, "", settings))
    };
    let (without, with) = (writes(""), writes("whole_line_request = \"read-unique\""));
    // With "read-unique", the data of the line is read from memory and sent over the link.
    assert!(
        (80.0..100.0).contains(&(with - without)),
        "{}",
        with - without
    );
}

#[test]
fn write_backs_leave_the_entries_of_requests_free() {
    // Each write needs eight lines, and evicts eight dirty lines.
    let ns = |outstanding: u32| {
        let accelerator = format!("outstanding = {outstanding}");
        let settings = "kind = \"write\"\nsize = \"512 B\"\norder = \"sequential\"\ncount = 100";
        latency((&accelerator, "", settings))
    };
    let longer = ns(8) - ns(16);
    assert!(longer.abs() < 1.0, "{longer}");
}

#[test]
fn a_line_that_a_snoop_has_taken_is_in_neither_level() {
    let ns = |second_latency: u32| {
        let mut text = host(1);
        write!(
            text,
            "second_cache = \"2 KiB\"\nsecond_latency = \"{second_latency} ns\"\n[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n"
        )
        .expect("a text takes all");
        let settings = "kind = \"write\"\ncount = 20\ninterval = \"10 us\"";
        accesses(&mut text, "card0", settings);
        accesses(&mut text, "h0", &format!("{settings}\nstart = \"5 us\""));
        let mut simulation = simulation(&text);
        run_coherently(&mut simulation, 1000);
        let result = simulation.result();
        let card = &result.accesses[0];
        assert_eq!(card.cache.map(|cache| cache.misses), Some(20));
        card.latency_ns.as_ref().expect("accesses have ended").mean
    };
    let longer = ns(500) - ns(0);
    assert!((longer - 500.0).abs() < 1.0, "{longer}");
}

#[test]
fn an_atomic_store_is_one_request_at_the_port_and_others_are_several() {
    let longer = |kind: &str| {
        let settings = format!("kind = \"{kind}\"\nsize = \"8 B\"\ncount = 50");
        let ns = |requests: u32| {
            let accelerator = format!("atomic_accesses = {requests}");
            latency((&accelerator, "in_system_cache = true", &settings))
        };
        ns(3) - ns(1)
    };
    let (store, load) = (longer("atomic-store"), longer("atomic-load"));
    assert!(store.abs() < 1e-6, "{store}");
    // The difference is twice the latency of the cache.
    assert!((load - 96.0).abs() < 2.0, "{load}");
}

fn settings() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "read",
        "write",
        "atomic-store",
        "atomic-load",
        "atomic-swap",
        "atomic-compare",
    ]);
    let order = prop::sample::select(vec!["random", "sequential", "local"]);
    (kind, order, 0..3_usize, 1..60_u32, 0..900_u32).prop_map(|(kind, order, size, count, start)| {
        let size = if kind.starts_with("atomic") {
            [4, 8, 16][size]
        } else {
            [8, 64, 200][size]
        };
        format!(
            "kind = \"{kind}\"\norder = \"{order}\"\nsize = \"{size} B\"\ncount = {count}\nstart = \"{start} ns\""
        )
    })
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn whoever_does_whatever_memory_stays_coherent(
        cards in 1_usize..4,
        buffer in prop::sample::select(vec![256_u32, 1024, 8192]),
        all in prop::collection::vec((0_usize..6, settings()), 1..8),
        packing in any::<bool>(),
        whole in prop::sample::select(vec!["make-unique", "read-unique"]),
        dma in prop::option::of(prop::sample::select(vec!["write", "read", "both"])),
    ) {
        let mut text = host(cards).replace("model = \"accelerator\"", &format!("model = \"accelerator\"\nwhole_line_request = \"{whole}\""));
        if dma.is_some() {
            text += "[devices.dma]\nupstream = \"h0\"\nmodel = \"dma\"\n";
        }
        if !packing {
            text = text.replace("coherent = true", "coherent = true\nmessage_packing = false\npacket_header = \"compatible\"");
        }
        write!(text, "[buffers.b]\nhost = \"h0\"\nsize = \"{buffer} B\"\n").expect("a text takes all");
        for (who, settings) in &all {
            match who.checked_sub(3) {
                None => accesses(&mut text, "h0", &format!("{settings}\nfirst_core = {who}")),
                Some(card) => accesses(&mut text, &format!("card{}", card % cards), settings),
            }
        }
        if let Some(direction) = dma {
            // The requests have odd sizes and use the buffer repeatedly, while other workloads write to it.
            write!(text, "[[flows]]\nfrom = \"dma\"\nto = \"h0\"\ndirection = \"{direction}\"\nsize = \"20 kB\"\nrequest_size = \"200 B\"\noffset = \"0 B\"\nwindow = \"{buffer} B\"\n").expect("a text takes all");
        }
        let mut simulation = simulation(&text);
        run_coherently(&mut simulation, 40);
        let result = simulation.result();
        let undisturbed = dma.is_none_or(|direction| direction == "read");
        prop_assert!(result.accesses.iter().all(|one| one.completed && (one.intact || !undisturbed)), "{:?}", result.accesses);
        prop_assert!(result.flows.iter().all(|flow| flow.completed), "{:?}", result.flows);
        prop_assert_eq!(simulation.packets_in_use(), 0);
    }
}

/// A scenario with a host, an accelerator, a DMA engine, and one buffer that both use.
fn with_dma() -> String {
    let mut text = host(1);
    text += "[devices.dma]\nupstream = \"h0\"\nmodel = \"dma\"\n[buffers.b]\nhost = \"h0\"\nsize = \"4 KiB\"\n";
    text
}

/// Runs the scenario of [`with_dma`] until the caches of the accelerator and of a core hold lines of the buffer that they have written.
fn written_by_caches() -> Simulation {
    let mut text = with_dma();
    accesses(
        &mut text,
        "card0",
        "kind = \"write\"\norder = \"sequential\"\ncount = 8",
    );
    accesses(
        &mut text,
        "h0",
        "kind = \"write\"\norder = \"sequential\"\ncount = 4\nstart = \"50 us\"",
    );
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 10);
    simulation
}

#[test]
fn a_dma_engine_reads_what_caches_hold() {
    let mut simulation = written_by_caches();
    let there = simulation
        .memory("h0", 0, 512)
        .expect("the buffer is at the beginning");
    let read = simulation
        .read_back("dma", 0, 512, &mut || true)
        .expect("memory answers");
    assert!(there.iter().any(|byte| *byte != 0));
    assert_eq!(read, there);
    simulation.check_coherence().expect("the caches agree");
}

#[test]
fn what_a_dma_engine_writes_is_what_caches_have_next() {
    let mut simulation = written_by_caches();
    let bytes: Vec<u8> = (0..300_u32)
        .map(|number| (number % 251) as u8 + 1)
        .collect();
    simulation
        .write("dma", 33, bytes.clone())
        .expect("it may write");
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(100).as_fs());
    simulation.run_until(rest, &mut || true);
    assert_eq!(
        simulation.memory("h0", 33, 300).expect("it is there"),
        bytes
    );
    simulation.check_coherence().expect("the caches agree");
    let read = simulation
        .read_back("dma", 33, 300, &mut || true)
        .expect("memory answers");
    assert_eq!(read, bytes);
}

/// A scenario in which the host moves a buffer repeatedly, while an accelerator uses the buffer by virtual addresses.
fn moving(accelerator: &str, buffer: &str) -> String {
    let mut text = host(1).replacen(
        "core_cache",
        "iotlb_entries = 4\nwalk_cache_entries = 4\ncore_cache",
        1,
    );
    text = text.replacen(
        "cache = \"1 KiB\"\ncache_ways = 2\nsend",
        &format!("cache = \"1 KiB\"\ncache_ways = 2\nvirtual_addresses = true\n{accelerator}send"),
        1,
    );
    text + &format!("[buffers.b]\nhost = \"h0\"\n{buffer}")
}

fn moved(text: &str) -> Simulation {
    let mut simulation = simulation(text);
    run_coherently(&mut simulation, 500);
    // The simulation continues until the remaining moves are done.
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(5000).as_fs());
    simulation.run_until(rest, &mut || true);
    assert_eq!(simulation.packets_in_use(), 0);
    simulation.check_coherence().expect("the caches agree");
    simulation
}

proptest! {
    #![proptest_config(cases(14))]

    /// After a move, no access uses the old place of a buffer: reads return the buffer's bytes, and no addition is lost.
    #[test]
    fn no_translation_is_used_after_it_was_to_be_forgotten(
        pages in 1_u32..4,
        large in any::<bool>(),
        interval in 1_u32..30,
        moves in 1_u32..8,
        size in prop::sample::select(vec![8_u32, 64, 4096]),
        latency in 0_u32..2000,
        pretranslate in any::<bool>(),
    ) {
        let page = if large { "64 KiB" } else { "4 KiB" };
        let buffer = format!(
            "size = \"{} KiB\"\npage = \"{page}\"\nmoves = {moves}\nmove_interval = \"{interval} us\"\n",
            pages * 4
        );
        let accelerator = format!("translations = 4\ntranslation_ways = 2\ntranslation_latency = \"{latency} ns\"\n");
        let mut reading = moving(&accelerator, &buffer);
        if pretranslate {
            reading = reading.replace("iotlb_entries", "pretranslate = true\niotlb_entries");
        }
        accesses(&mut reading, "card0", &format!("count = 200\nsize = \"{size} B\""));
        let result = moved(&reading).result();
        prop_assert!(result.accesses[0].intact, "{:?}", result.accesses);
        let mut adding = moving(&accelerator, &buffer);
        accesses(&mut adding, "card0", "kind = \"atomic-load\"\nsize = \"8 B\"\norder = \"local\"\ncount = 150");
        let simulation = moved(&adding);
        prop_assert_eq!(sum(&simulation, pages * 4096, large), 150);
    }
}

/// The first value of the buffer. Only one of its two places contains the sum.
fn sum(simulation: &Simulation, size: u32, large: bool) -> u64 {
    let page = if large { 64 << 10 } else { 4096 };
    let taken = u64::from(size).next_multiple_of(page);
    let first = |at: u64| {
        let bytes = simulation.memory("h0", at, 8).expect("memory is there");
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    };
    let empty = u64::from_le_bytes([0xee; 8]);
    let places = [first(0), first(taken)];
    let filled = places
        .into_iter()
        .filter(|value| *value != empty && *value != 0);
    filled.sum()
}

#[test]
fn lines_that_were_written_and_are_gone_with_a_link_are_told_by_address() {
    let mut text = host(2).replacen(
        "upstream = \"h0\"",
        "upstream = { to = \"h0\", fails_at = \"30 us\" }",
        1,
    );
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"512 B\"\n";
    accesses(
        &mut text,
        "card0",
        "kind = \"write\"\norder = \"sequential\"\ncount = 5",
    );
    accesses(
        &mut text,
        "card1",
        "kind = \"write\"\ncount = 50\nstart = \"40 us\"",
    );
    accesses(
        &mut text,
        "h0",
        "kind = \"atomic-load\"\nsize = \"8 B\"\ncount = 50\nstart = \"29 us\"",
    );
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 20);
    let result = simulation.result();
    // Cores may have read some of the five dirty lines before the link failed, so fewer may be lost.
    let lost: Vec<u64> = result.lost_lines.iter().map(|lost| lost.address).collect();
    assert!(
        !lost.is_empty()
            && lost
                .iter()
                .all(|address| *address < 320 && address % 64 == 0),
        "{lost:?}"
    );
    assert!(
        result
            .lost_lines
            .iter()
            .all(|lost| lost.by == "card0" && lost.host == "h0")
    );
    assert!(result.accesses.iter().all(|one| one.completed));
    assert_eq!(simulation.packets_in_use(), 0);
}

#[test]
fn accesses_whose_link_fails_have_failed() {
    let mut text = host(1).replacen(
        "upstream = \"h0\"",
        "upstream = { to = \"h0\", fails_at = \"30 us\" }",
        1,
    );
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"4 KiB\"\n";
    accesses(&mut text, "card0", "count = 1000");
    accesses(&mut text, "h0", "kind = \"write\"\ncount = 1000\ncores = 2");
    let mut simulation = simulation(&text);
    run_coherently(&mut simulation, 20);
    let result = simulation.result();
    assert!(result.accesses[0].failed > 0 && result.accesses[0].count == 1000);
    assert!(result.accesses[0].completed && !result.accesses[0].intact);
    assert!(result.accesses[1].intact && result.lost_lines.is_empty());
}

#[test]
fn what_is_lost_is_told_even_if_nothing_happens_after_the_link_has_failed() {
    let mut text = host(1).replacen(
        "upstream = \"h0\"",
        "upstream = { to = \"h0\", fails_at = \"25 us\" }",
        1,
    );
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n";
    accesses(&mut text, "card0", "kind = \"write\"\ncount = 100000");
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    let lost = simulation.result().lost_lines;
    assert_eq!(lost.len(), 1, "{lost:?}");
}

/// Runs a scenario in which a core writes a line, which stays dirty in its cache, and a device without a cache then reads or writes the line.
fn after_a_core(direction: &str, more: &str) -> Simulation {
    let mut text = host(0);
    text += "[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n";
    accesses(
        &mut text,
        "h0",
        "kind = \"write\"\ncount = 1\nsize = \"64 B\"",
    );
    write!(
        text,
        "[devices.d]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\ndirection = \"{direction}\"\noffset = \"0 B\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"20 us\"\n{more}\n"
    )
    .expect("a text takes all");
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    simulation
}

/// PCIe Base 2.2.6.5: with No Snoop, hardware does not keep caches coherent. Software that enables it must flush the caches itself.
#[test]
fn a_read_without_snoop_finds_the_stale_bytes_of_memory() {
    let latency = |simulation: &Simulation| {
        let result = simulation.result();
        let latency = result.flows[0].latency_ns.as_ref();
        latency.expect("the read is answered").mean
    };
    let snooped = after_a_core("read", "");
    let unsnooped = after_a_core("read", "no_snoop = true");
    assert!(snooped.result().unsnooped_lines.is_empty());
    let lines = unsnooped.result().unsnooped_lines;
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].reads, lines[0].writes), (1, 0));
    // The request is faster, because no snoop to the home agent and the core is necessary.
    assert!(latency(&unsnooped) < latency(&snooped));
    for simulation in [snooped, unsnooped] {
        simulation
            .check_coherence()
            .expect("nobody has lost a line");
    }
}

#[test]
fn a_write_without_snoop_is_hidden_by_the_line_of_a_cache() {
    let bytes = |more: &str| {
        let simulation = after_a_core("write", more);
        simulation.check_coherence().expect("no agent is wrong");
        let lines = simulation.result().unsnooped_lines;
        (simulation.memory("h0", 0, 64).expect("memory"), lines.len())
    };
    // A program reads the line that is still in the cache, except if the write was snooped.
    let ((snooped, none), (hidden, one)) = (bytes(""), bytes("no_snoop = true"));
    assert_eq!((none, one), (0, 1));
    assert_ne!(snooped, hidden);
}

#[test]
fn no_snoop_changes_nothing_at_a_host_without_caches_and_where_it_is_not_enabled() {
    for (host, device) in [("", ""), ("coherent = true\n", "no_snoop_enable = false\n")] {
        let run = |more: &str| {
            let text = format!(
                "[hosts.h0]\n{host}[devices.d]\nupstream = \"h0\"\n{device}[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\ndirection = \"both\"\ncount = 50\n{more}"
            );
            let result = crate::fixture::run(&text);
            assert!(result.unsnooped_lines.is_empty());
            (result.simulated_ns, result.flows[0].intact)
        };
        assert_eq!(run(""), run("no_snoop = true\n"));
    }
}

#[test]
fn a_relaxed_write_passes_one_that_waits_for_a_cache() {
    let mean = |more: &str| {
        let mut text = host(0);
        text += "[buffers.b]\nhost = \"h0\"\nsize = \"8 KiB\"\n";
        accesses(
            &mut text,
            "h0",
            "kind = \"write\"\ncount = 128\nsize = \"64 B\"\norder = \"sequential\"",
        );
        write!(
            text,
            "[devices.d]\nupstream = \"h0\"\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\noffset = \"6 KiB\"\nsize = \"2 KiB\"\nrequest_size = \"64 B\"\nstart = \"400 us\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\noffset = \"1 MiB\"\ncount = 20\nrequest_size = \"64 B\"\nstart = \"400 us\"\n{more}\n"
        )
        .expect("a text takes all");
        let result = crate::fixture::run(&text);
        let latency = result.flows[1].latency_ns.as_ref();
        latency.expect("writes arrive").mean
    };
    let (ordered, relaxed) = (mean(""), mean("relaxed_ordering = true"));
    assert!(relaxed < 0.8 * ordered, "{relaxed} {ordered}");
}

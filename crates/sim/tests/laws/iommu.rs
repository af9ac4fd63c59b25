//! A host that translates the addresses of all requests from below.

use proptest::prelude::*;
use sim::result::IommuResult;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a device below a host with an I/O MMU, and a flow. Page table walks begin at the root if `host` does not configure a walk cache.
fn machine(host: &str, flow: &str) -> String {
    let cache = if host.contains("walk_cache_entries") {
        ""
    } else {
        "walk_cache_entries = 0\n"
    };
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}memory = \"64 MiB\"\n{cache}{host}\n[devices.d]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\n{flow}\n"
    )
}

/// `LOOKUP` is the time of a lookup in nanoseconds. `WAYS` is the time to the memory and back: 100 ns, without the half of the latency that is in the
/// port. `DESCRIPTOR` is the time of a read of a descriptor: a line of memory and the read latency, and the time to the memory and back.
const LOOKUP: f64 = 3.0;
const WAYS: f64 = 100.0;
const DESCRIPTOR: f64 = 82.5 + WAYS;

#[test]
fn a_request_waits_for_a_read_of_each_level_of_the_page_table() {
    for direction in ["write", "read"] {
        let flow = format!("direction = \"{direction}\"\ncount = 1\nrequest_size = \"64 B\"");
        let latency = |host: &str| {
            let memory = if host.contains("GiB") {
                "1 GiB"
            } else {
                "64 MiB"
            };
            latency(&machine(host, &flow).replace("64 MiB", memory))
        };
        for (page, levels) in [
            ("4 KiB", 4.0),
            ("64 KiB", 4.0),
            ("2 MiB", 3.0),
            ("1 GiB", 2.0),
        ] {
            let host = format!("iommu = true\niommu_page = \"{page}\"");
            let more = latency(&host) - latency("");
            // A packet begins at a symbol of the link, so the time is rounded by a fraction of a nanosecond.
            close(more, LOOKUP + levels * DESCRIPTOR, 0.3);
        }
        let more = latency("iommu = true\nwalk_latency = \"0 ns\"") - latency("");
        close(more, LOOKUP + 4.0 * (DESCRIPTOR - WAYS), 0.3);
    }
}

#[test]
fn a_request_beyond_the_mapped_memory_is_unsupported() {
    for direction in ["write", "read"] {
        let flow = format!(
            "direction = \"{direction}\"\nsize = \"16 KiB\"\noffset = \"1 MiB\"\nrequest_size = \"256 B\""
        );
        let host = |mapped: &str| format!("iommu = true\niommu_mapped = \"{mapped}\"");
        run(&machine(&host("1040 KiB"), &flow)).all_intact();
        let result = run(&machine(&host("1032 KiB"), &flow));
        assert!(!result.flow("f").intact);
        assert_eq!(result.errors("h0", "unsupported request"), 32);
    }
}

/// The rate of a flow and the result of the I/O MMU, with a memory whose read latency is `latency_ns`.
fn slow(latency_ns: u32, host: &str, flow: &str) -> (f64, IommuResult) {
    let latency = format!("{latency_ns} ns");
    let text = machine(&format!("iommu = true\n{host}"), flow).replace("80 ns", &latency);
    let result = run(&text).all_intact();
    (rate(result.flow("f")), result.iommus[0].clone())
}

#[test]
fn a_walk_that_reads_poison_is_a_fault_that_is_told() {
    // The page tables are at the end of the memory.
    let poison = "[[incidents]]\nat = \"1 us\"\nwhat = \"poison\"\nnode = \"h0\"\noffset = \"63 MiB\"\nsize = \"1 MiB\"\n";
    for direction in ["write", "read"] {
        let flow = format!(
            "direction = \"{direction}\"\nsize = \"64 KiB\"\noffset = \"1 MiB\"\nrequest_size = \"256 B\"\n{poison}"
        );
        let simulation = rested(&machine("iommu = true\niommu_page = \"4 KiB\"", &flow));
        let result = simulation.result();
        let flow = result.flow("f");
        assert!(flow.completed && !flow.wrong && flow.bytes > 0);
        let missing: u64 = flow.missing.iter().map(|(_, len)| len).sum();
        assert_eq!(flow.bytes + missing, 64 << 10);
        let refused = result.errors("h0", "unsupported request");
        assert_eq!(refused * 256, missing);
        let says = entry("h0", "a walk reads a poisoned page table");
        assert!(log(&simulation).contains(&says));
        // Each refused request is counted as a fault.
        assert_eq!(result.iommus[0].faults, refused);
    }
}

#[test]
fn an_accelerator_whose_translation_requests_fail_gives_up_and_the_run_says_so() {
    let machine = |host: &str, more: &str| {
        format!(
            "[links]\ngeneration = 4\nlanes = 8\n[hosts.h0]\ncoherent = true\nmemory = \"16 MiB\"\n{host}\n[devices.d]\nmodel = \"accelerator\"\nvirtual_addresses = true\npage_requests = 8\nupstream = \"h0\"\n[buffers.b]\nhost = \"h0\"\nsize = \"64 KiB\"\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 40\n{more}"
        )
    };
    let all = "[[incidents]]\nat = \"0 ns\"\nwhat = \"poison\"\nnode = \"h0\"\nsize = \"16 MiB\"\n";
    for (host, more) in [("acs_translation_blocking = true", ""), ("", all)] {
        let simulation = rested(&machine(host, more));
        let accesses = &simulation.result().accesses[0];
        assert!(accesses.completed, "{accesses:?}");
        assert_eq!((accesses.count, accesses.failed), (40, 40), "{accesses:?}");
        let log = log(&simulation);
        assert!(
            log.contains(&entry("d", "a translation has failed")),
            "{log:?}"
        );
        let walks = log.contains(&entry("h0", "a walk reads a poisoned page table"));
        assert_eq!(walks, host.is_empty());
    }
}

#[test]
fn a_translation_request_without_an_answer_in_time_is_an_error_like_any_other() {
    let text = "[links]\ngeneration = 4\nlanes = 8\n[hosts.h0]\ncoherent = true\nmemory = \"16 MiB\"\nmemory_read_latency = \"60 us\"\n[devices.d]\nmodel = \"accelerator\"\nvirtual_addresses = true\ncompletion_timeout = \"50 us\"\nupstream = \"h0\"\n[buffers.b]\nhost = \"h0\"\nsize = \"64 KiB\"\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 4\n";
    let simulation = rested(text);
    let result = simulation.result();
    assert_eq!(result.accesses[0].failed, 4);
    assert_eq!(result.errors("d", "completion timeout"), 4);
    assert!(log(&simulation).contains(&entry("d", "a translation has failed")));
}

#[test]
fn walks_under_way_limit_the_rate_of_pages() {
    for (walkers, direction) in [(1, "write"), (2, "write"), (1, "read"), (2, "read")] {
        let host = format!("walkers = {walkers}");
        let flow = format!("direction = \"{direction}\"\nsize = \"2 MiB\"");
        let (rate, iommu) = slow(3000, &host, &flow);
        let walk = 4.0 * (3000.0 + 2.5 + WAYS);
        close(rate, f64::from(walkers) * 4096.0 / walk * 1e9, 1.0);
        assert_eq!((iommu.walks, iommu.walk_reads), (512, 4 * 512));
        assert_eq!(iommu.hits + iommu.misses, iommu.requests);
    }
}

#[test]
fn scattered_requests_are_limited_by_a_walk_each() {
    let host = "walkers = 2\niommu_requests = 4\niommu_page = \"2 MiB\"\niotlb_entries = 1\niotlb_ways = 1";
    let flow = "count = 400\nrequest_size = \"256 B\"\noffset = \"0 B\"\nwindow = \"60 MiB\"\naddresses = \"strided\"\nstride = \"2 MiB\"";
    let (rate, iommu) = slow(1000, host, flow);
    close(rate, 2.0 * 256.0 / (3.0 * (1002.5 + WAYS)) * 1e9, 1.0);
    assert_eq!((iommu.hits, iommu.walks), (0, 400));
}

#[test]
fn a_walk_begins_at_the_lowest_table_that_is_cached() {
    let host = "walkers = 1\nwalk_cache_entries = 8";
    let (rate, iommu) = slow(2000, host, "size = \"4 MiB\"\noffset = \"0 B\"");
    close(rate, 4096.0 / (2002.5 + WAYS) * 1e9, 1.0);
    // Each of the 1024 walks reads a lowest table. In addition, the first walk reads the three tables above, and the first walk of the second 2 MiB
    // reads one.
    assert_eq!((iommu.walks, iommu.walk_reads), (1024, 1024 + 3 + 1));
}

#[test]
fn the_wait_of_a_request_is_told() {
    let (_, iommu) = slow(80, "", "count = 1\nrequest_size = \"64 B\"");
    assert_eq!((iommu.requests, iommu.hits, iommu.misses), (1, 0, 1));
    close(iommu.longest_wait_ns, LOOKUP + 4.0 * DESCRIPTOR, 1e-6);
    close(iommu.mean_wait_ns, iommu.longest_wait_ns, 1e-6);
}

#[test]
fn a_slot_for_each_walk_lets_no_hit_go_under_a_miss() {
    // One device uses a new page for each request, and the other device always uses the same page.
    let device = |name: &str, flow: &str| {
        format!(
            "[devices.{name}]\nupstream = \"h0\"\n[[flows]]\nid = \"{name}\"\nfrom = \"{name}\"\nto = \"h0\"\nrequest_size = \"64 B\"\n{flow}\n"
        )
    };
    let far = "size = \"1 MiB\"\nwindow = \"8 MiB\"\naddresses = \"random\"";
    let near = "count = 100\ninterval = \"5 us\"\nwindow = \"4 KiB\"";
    let text = |slots: u32| {
        format!(
            "[links]\ngeneration = 3\nlanes = 8\n{HOST}iommu = true\niommu_requests = {slots}\n{}{}",
            device("far", far),
            device("near", near)
        )
    };
    let wait = |slots: u32| {
        let result = run(&text(slots)).all_intact();
        let near = result.flow("near").latency_ns.as_ref().expect("writes");
        near.p50
    };
    let (free, one) = (wait(0), wait(1));
    assert!(one > free + 100.0, "{one} {free}");
}

#[test]
fn a_buffer_that_software_unmaps_is_walked_for_again() {
    // The flow uses a ring of 16 pages, one page for each request.
    let flow = "count = 1024\nrequest_size = \"4 KiB\"\noffset = \"0 B\"\nwindow = \"64 KiB\"\ninterval = \"3 us\"";
    let walks = |host: &str| {
        let host = format!("walk_latency = \"0 ns\"\n{host}");
        let (_, iommu) = slow(80, &host, flow);
        (iommu.walks, iommu.invalidations)
    };
    assert_eq!(walks(""), (16, 0));
    // Each buffer is invalidated after its use, before the ring reaches it again. The run ends before the last invalidation ends.
    assert_eq!(walks("invalidate_after = \"4 KiB\""), (1024, 1023));
    assert_eq!(walks("invalidate_after = \"256 KiB\""), (256, 15));
    let all = "invalidate_after = \"256 KiB\"\ninvalidation_scope = \"function\"";
    assert_eq!(walks(all), (256, 15));
}

#[test]
fn a_flush_of_everything_comes_at_intervals() {
    let flow =
        "duration = \"100 us\"\ninterval = \"1 us\"\nrequest_size = \"64 B\"\nwindow = \"4 KiB\"";
    let (_, iommu) = slow(80, "invalidation_interval = \"10 us\"", flow);
    assert!((9..=10).contains(&iommu.invalidations), "{iommu:?}");
    assert_eq!(iommu.walks, 1 + iommu.invalidations);
}

/// `key = "VALUE UNIT"` if there is a value.
fn line(key: &str, value: Option<u64>, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{key} = \"{value} {unit}\"\n"))
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn bytes_are_where_they_would_be_without_an_iommu(
        devices in 1..4_usize,
        flows in prop::collection::vec(
            (0..4_usize, 0..4_usize, prop::sample::select(&["write", "read", "both"][..]), 1..48_u64, any::<bool>()),
            1..5,
        ),
        page in prop::sample::select(&["4 KiB", "64 KiB", "2 MiB", "1 GiB"][..]),
        (walkers, slots, walk_cache) in (1..4_u32, 0..4_u32, 0..4_u32),
        (entries, after, interval) in (0..4_u32, prop::option::of(1..32_u64), prop::option::of(1..20_u64)),
        scope in prop::sample::select(&["pages", "function"][..]),
        coherent in any::<bool>(),
    ) {
        let mut host = format!(
            "memory = \"16 MiB\"\niommu = true\niommu_page = \"{page}\"\nwalkers = {walkers}\niommu_requests = {slots}\nwalk_cache_entries = {walk_cache}\niotlb_entries = {}\niotlb_ways = 1\ninvalidation_scope = \"{scope}\"\ncoherent = {coherent}\n",
            1 << entries
        );
        host += &line("invalidate_after", after, "KiB");
        host += &line("invalidation_interval", interval, "us");
        let mut text = format!("[links]\ngeneration = 3\nlanes = 4\n{HOST}{host}[switches.s]\nupstream = \"h0\"\n");
        let devices_text = (0..devices).map(|device| {
            let above = if device == 2 { "h0" } else { "s" };
            format!("[devices.d{device}]\nupstream = \"{above}\"\nbar = \"1 MiB\"\n")
        });
        let flows = flows.iter().map(|(from, to, direction, size, is_random)| {
            let from = from % devices;
            let to = match to % (devices + 1) {
                to if to == from || to == devices => "h0".to_owned(),
                to => format!("d{to}"),
            };
            let addresses = if *is_random { "random" } else { "sequential" };
            format!(
                "[[flows]]\nfrom = \"d{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} KiB\"\nwindow = \"64 KiB\"\naddresses = \"{addresses}\"\nrequest_size = \"1 KiB\"\n"
            )
        });
        text.extend(devices_text.chain(flows));
        let result = run_to_rest(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{flow:?}\n{text}");
        }
        prop_assert!(result.errors.is_empty(), "{:?}\n{text}", result.errors);
        let iommu = &result.iommus[0];
        prop_assert_eq!(iommu.faults, 0);
        prop_assert_eq!(iommu.hits + iommu.misses, iommu.requests);
        prop_assert!(iommu.walk_reads >= iommu.walks && iommu.walk_reads <= 4 * iommu.walks);
    }
}

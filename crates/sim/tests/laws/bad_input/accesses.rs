//! Errors in buffers, in accesses to buffers, and in the nodes that make the accesses.

use super::refusal;

/// A coherent host with an accelerator and a buffer, and another host with a buffer and with a `block-dma` below a switch. The text has 17 lines.
const SHARED: &str = r#"[hosts.h0]
coherent = true
cores = 4
[hosts.h1]
[devices.card]
model = "accelerator"
upstream = "h0"
[switches.s]
upstream = "h1"
[devices.dma]
model = "block-dma"
upstream = "s"
[buffers.b]
host = "h0"
size = "4 KiB"
[buffers.far]
host = "h1"
"#;

/// Returns the error of `SHARED` after the first `from` in it is replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(SHARED.contains(from));
    refusal(&SHARED.replacen(from, to, 1))
}

/// Returns the error of `SHARED` with an `[[accesses]]` entry: it begins on line 18, `by` is on line 19, `buffer` on line 20, and `more` begins on
/// line 21.
fn accesses(by: &str, buffer: &str, more: &str) -> String {
    refusal(&format!(
        "{SHARED}[[accesses]]\nby = \"{by}\"\nbuffer = \"{buffer}\"\n{more}\n"
    ))
}

#[test]
fn only_a_coherent_host_has_a_system_cache() {
    assert_eq!(
        changed("host = \"h1\"", "host = \"h1\"\nin_system_cache = true"),
        "bad.toml:18: buffer \"far\", in_system_cache: h1 has no system cache; write coherent = true there"
    );
}

#[test]
fn a_program_starts_accesses_of_devices_alone_and_waits_only_then() {
    assert_eq!(
        accesses("h0", "b", "driven = \"program\""),
        "bad.toml:21: accesses \"accesses-1\", driven: h0 is a host, whose own cores make the accesses; write driven = \"program\" for accesses of a device, or leave it out"
    );
    assert_eq!(
        accesses("card", "b", "completion = \"interrupt\""),
        "bad.toml:21: accesses \"accesses-1\", completion: no program waits for these accesses; write driven = \"program\", or leave it out"
    );
}

#[test]
fn accesses_are_to_a_buffer_that_is_there() {
    assert_eq!(
        accesses("h0", "a", ""),
        "bad.toml:20: accesses \"accesses-1\", buffer: there is no buffer \"a\"; write one of b, far"
    );
    assert_eq!(
        refusal("[hosts.h0]\n[[accesses]]\nby = \"h0\"\nbuffer = \"a\"\n"),
        "bad.toml:4: accesses \"accesses-1\", buffer: there is no buffer \"a\"; write a [buffers.a]"
    );
    assert_eq!(
        refusal(&format!("{SHARED}[[accesses]]\nby = \"h0\"\n")),
        "bad.toml:18: accesses 1: there is no buffer; write buffer = \"NAME\" of a [buffers.NAME]"
    );
    assert_eq!(
        changed("host = \"h0\"", "host = \"h2\""),
        "bad.toml:14: buffer \"b\", host: there is no host \"h2\"; did you mean \"h0\"?"
    );
    assert_eq!(
        changed("host = \"h0\"", "host = \"s\""),
        "bad.toml:14: buffer \"b\", host: there is no host \"s\"; write one of h0, h1"
    );
    assert_eq!(
        changed("host = \"h0\"\n", ""),
        "bad.toml:13: buffers.b: there is no host; write host = \"NAME\" of the one that has it"
    );
}

#[test]
fn accesses_are_made_by_those_who_can_reach_the_buffer() {
    assert_eq!(
        refusal(&format!("{SHARED}[[accesses]]\nbuffer = \"b\"\n")),
        "bad.toml:18: accesses 1: there is no by; write by = \"NAME\" of a host, an accelerator or a block-dma"
    );
    assert_eq!(
        accesses("h2", "b", ""),
        "bad.toml:19: accesses \"accesses-1\", by: there is no host, accelerator or block-dma \"h2\"; did you mean \"h0\"?"
    );
    assert_eq!(
        accesses("s", "far", ""),
        "bad.toml:19: accesses \"accesses-1\", by: s makes no accesses; write a host, or a device with model = \"accelerator\" or \"block-dma\""
    );
    for by in ["dma", "h1"] {
        assert_eq!(
            accesses(by, "b", ""),
            "bad.toml:19: accesses \"accesses-1\", by: the memory of h0, where b is, is not in its address space; write h0, or an accelerator or block-dma below it"
        );
    }
    assert_eq!(
        accesses("card", "far", ""),
        "bad.toml:19: accesses \"accesses-1\", by: the memory of h1, where far is, is not in its address space; write h1, or an accelerator or block-dma below it"
    );
    assert_eq!(
        accesses("h1", "far", ""),
        "bad.toml:19: accesses \"accesses-1\", by: the cores of h1 have no caches; write coherent = true there"
    );
}

#[test]
fn an_access_is_within_its_buffer_and_a_buffer_within_its_memory() {
    assert_eq!(
        accesses("card", "b", "size = \"8 KiB\""),
        "bad.toml:21: accesses \"accesses-1\", size: 8 KiB are more than its buffer has; write 4 KiB at most"
    );
    assert_eq!(
        changed("size = \"4 KiB\"", "size = \"16 GiB\""),
        "bad.toml:15: buffer \"b\", size: 16 GiB on pages of 4 KiB do not fit in the memory of h0, of 1 GiB; write a larger memory there, or less"
    );
    assert_eq!(
        changed("size = \"4 KiB\"", "size = \"4 KiB\"\npage = \"8 KiB\""),
        "bad.toml:16: buffers.b.page: \"8 KiB\" is not known; write \"4 KiB\" or \"64 KiB\" or \"2 MiB\" or \"32 MiB\" or \"1 GiB\""
    );
}

#[test]
fn atomic_operations_have_the_widths_that_there_are() {
    for (by, buffer, kind, size, what) in [
        (
            "h0",
            "b",
            "atomic-store",
            3,
            "an atomic-store is not on 3 B; write 4 B, 8 B or 16 B",
        ),
        (
            "card",
            "b",
            "atomic-swap",
            32,
            "an atomic-swap is not on 32 B; write 4 B, 8 B or 16 B",
        ),
        (
            "dma",
            "far",
            "atomic-load",
            16,
            "an atomic-load of PCI Express is not on 16 B; write 4 B or 8 B",
        ),
        (
            "dma",
            "far",
            "atomic-compare",
            2,
            "an atomic-compare of PCI Express is not on 2 B; write 4 B, 8 B or 16 B",
        ),
    ] {
        assert_eq!(
            accesses(
                by,
                buffer,
                &format!("kind = \"{kind}\"\nsize = \"{size} B\"")
            ),
            format!("bad.toml:22: accesses \"accesses-1\", size: {what}")
        );
    }
}

#[test]
fn cores_are_those_that_a_host_has() {
    for (by, buffer, keys, what) in [
        ("h0", "b", "cores = 5", "cores: h0 has 4 cores; write fewer"),
        (
            "h0",
            "b",
            "cores = 2\nfirst_core = 3",
            "cores: h0 has 4 cores; write fewer",
        ),
        (
            "card",
            "b",
            "cores = 1",
            "cores: a device has no cores; leave it out",
        ),
        (
            "dma",
            "far",
            "first_core = 0",
            "first_core: a device has no cores; leave it out",
        ),
    ] {
        assert_eq!(
            accesses(by, buffer, keys),
            format!("bad.toml:21: accesses \"accesses-1\", {what}")
        );
    }
}

#[test]
fn an_engine_with_physical_addresses_has_no_translations() {
    assert_eq!(
        accesses("dma", "far", "warm_translations = true"),
        "bad.toml:21: accesses \"accesses-1\", warm_translations: dma has physical addresses; leave it out"
    );
}

#[test]
fn an_accelerator_is_just_below_a_coherent_host() {
    let behind = "upstream = \"s\"\n[switches.s]\nupstream = \"h0\"";
    assert_eq!(
        changed("upstream = \"h0\"\n[switches.s]\nupstream = \"h1\"", behind),
        "bad.toml:7: card, upstream: coherence messages go no further than a link; write a host there"
    );
    assert_eq!(
        changed("coherent = true\n", ""),
        "bad.toml:6: card, upstream: the memory of h0 is not shared with caches; write coherent = true there"
    );
}

#[test]
fn caches_can_be_built() {
    let card = |keys: &str| {
        let model = "model = \"accelerator\"";
        changed(model, &format!("{model}\n{keys}"))
    };
    assert_eq!(
        card("cache = \"96 KiB\""),
        "bad.toml:7: card, cache: a cache cannot have 98304 bytes; use a power of two, at least 64"
    );
    assert_eq!(
        card("cache_ways = 3"),
        "bad.toml:7: card, cache_ways: a cache of 2048 lines cannot have 3 ways; use a power of two up to 128"
    );
    assert_eq!(
        card("second_cache = \"1000 B\""),
        "bad.toml:7: card, second_cache: a cache cannot have 1000 bytes; use a power of two, at least 64"
    );
    assert_eq!(
        card("virtual_addresses = true\ntranslations = 100"),
        "bad.toml:8: card, translations: a cache cannot have 100 entries; write a power of two"
    );
    assert_eq!(
        changed("cores = 4", "cores = 60"),
        "bad.toml:2: h0, coherent: 60 cores and 8 ports are more agents than there can be besides the host itself: 62; write fewer cores or ports"
    );
}

#[test]
fn an_engine_for_blocks_below_an_io_port_uses_memory_of_its_owner() {
    let nic = "[devices.nic]\nmodel = \"nic\"\nupstream = \"h1\"\n";
    let port = format!("[controllers.c]\n[io_ports.p]\nowners = [\"h1\"]\n{nic}[devices.dma]");
    let text = SHARED
        .replace("[devices.dma]", &port)
        .replace("upstream = \"s\"", "upstream = \"p\"");
    let said = refusal(&(text + "[[accesses]]\nby = \"dma\"\nbuffer = \"b\"\n"));
    assert!(
        said.ends_with("the memory of h0, where b is, is not in its address space; write h0, or an accelerator or block-dma below it"),
        "{said}"
    );
}

#[test]
fn an_id_belongs_to_one_set_of_accesses() {
    let once = "[[accesses]]\nid = \"x\"\nby = \"h0\"\nbuffer = \"b\"\n";
    assert_eq!(
        refusal(&format!("{SHARED}{once}{once}")),
        r#"bad.toml:23: accesses "x", id: this id is already on line 19; write another one"#
    );
}

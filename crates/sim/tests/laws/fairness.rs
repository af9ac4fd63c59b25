//! How several flows share the link of a device: flows of its own requests, and flows of its completions for other requesters.

use std::fmt::Write;

use proptest::prelude::*;

use crate::cases::cases;
use crate::fixture::*;

/// A kind of flow at device `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    from: &'static str,
    to: &'static str,
    direction: &'static str,
    /// Whether its bytes leave `a`.
    leaves: bool,
}

const fn kind(from: &'static str, to: &'static str, direction: &'static str, leaves: bool) -> Kind {
    Kind {
        from,
        to,
        direction,
        leaves,
    }
}

/// A host reads and writes lines of 64 bytes.
const READ_BY_HOST: Kind = kind("h", "a", "read", true);
const WRITE_TO_PEER: Kind = kind("a", "b", "write", true);
const READ_FROM_HOST: Kind = kind("a", "h", "read", false);
const READ_BY_PEER: Kind = kind("c", "a", "read", true);

const KINDS: [Kind; 8] = [
    kind("a", "h", "write", true),
    READ_FROM_HOST,
    WRITE_TO_PEER,
    kind("a", "b", "read", false),
    kind("h", "a", "write", false),
    READ_BY_HOST,
    kind("c", "a", "write", false),
    READ_BY_PEER,
];

/// A scenario in which flows of these kinds run at the same time. The devices are below `upstream`; `own` has the keys of `a`, and `others` has the
/// keys of the other devices.
fn fabric(kinds: &[Kind], upstream: &str, own: &str, others: &str) -> String {
    let mut text = String::from(
        "[links]\ngeneration = 4\nlanes = 8\n[measure]\nfrom = \"25 us\"\nuntil = \"55 us\"\n[hosts.h]\n",
    );
    if upstream == "s" {
        text += "[switches.s]\nupstream = \"h\"\n";
    }
    for (device, keys) in [("a", own), ("b", others), ("c", others)] {
        writeln!(
            text,
            "[devices.{device}]\nupstream = \"{upstream}\"\nbar = \"16 MiB\"\n{keys}"
        )
        .expect("a string");
    }
    for (number, kind) in kinds.iter().enumerate() {
        let Kind {
            from,
            to,
            direction,
            ..
        } = kind;
        let place = match *to {
            "h" => String::new(),
            _ => format!("offset = \"{} MiB\"\n", 8 * number),
        };
        writeln!(
            text,
            "[[flows]]\nid = \"{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nduration = \"60 us\"\nwindow = \"1 MiB\"\n{place}"
        )
        .expect("a string");
    }
    text
}

fn rates<const N: usize>(kinds: [Kind; N], upstream: &str, keys: (&str, &str)) -> [f64; N] {
    let result = run(&fabric(&kinds, upstream, keys.0, keys.1));
    std::array::from_fn(|number| steady(&result.flows[number]))
}

/// Each of two flows gets at least a third of the wire that both need, or nine tenths of the rate that it has alone. A host has 32 loads of 64 bytes
/// in flight, which wait behind 64 reads of 512 bytes and are limited by their latency: the loads keep at least a tenth of their rate, and the other
/// flow keeps at least seven tenths.
fn all_pairs_share(upstream: &str) {
    // The number of tags is sufficient for reads that wait behind the writes in the buffers of the path.
    let keys = ("tags = 64", "tags = 64");
    let alone = KINDS.map(|kind| rates([kind], upstream, keys)[0]);
    for (first, one) in KINDS.into_iter().enumerate() {
        for (second, other) in KINDS.into_iter().enumerate().skip(first) {
            let both = rates([one, other], upstream, keys);
            let most = alone[first].max(alone[second]);
            let has_loads = one == READ_BY_HOST || other == READ_BY_HOST;
            for (kind, (rate, alone)) in [
                (one, (both[0], alone[first])),
                (other, (both[1], alone[second])),
            ] {
                let least = match one.leaves == other.leaves {
                    _ if kind == READ_BY_HOST => 0.1 * alone,
                    true => (0.9 * alone).min(most / 3.0),
                    false if has_loads => 0.7 * alone,
                    false => 0.9 * alone,
                };
                assert!(
                    rate >= least,
                    "{kind:?} has {rate} of {alone}: {one:?}, {other:?}"
                );
            }
        }
    }
}

#[test]
fn two_flows_at_a_device_below_a_switch_share_its_wires() {
    all_pairs_share("s");
}

#[test]
fn two_flows_at_a_device_at_a_root_port_share_its_wires() {
    all_pairs_share("h");
}

proptest! {
    #![proptest_config(cases(8))]
    #[test]
    fn a_writer_that_others_read_has_a_third_of_its_wire_and_leaves_a_third(
        queue in prop::sample::select(vec![1, 2, 8, 32, 64]),
        tags in prop::sample::select(vec![16, 32, 64, 256]),
        upstream in prop::sample::select(vec!["s", "h"]),
        // If the engine of a device has a datapath of 8 GB/s, the flows share the datapath.
        datapath in prop::sample::select(vec!["", "datapath = \"32 B\"\nclock = \"250 MHz\"\n"]),
    ) {
        let own = format!("{datapath}send_queue = {queue}");
        let others = format!("tags = {tags}");
        let keys = (own.as_str(), others.as_str());
        let [alone] = rates([WRITE_TO_PEER], upstream, keys);
        for rate in rates([WRITE_TO_PEER, READ_BY_PEER], upstream, keys) {
            prop_assert!(rate > alone / 3.0, "{} of {}", rate, alone);
        }
    }

    #[test]
    fn a_reader_that_others_read_keeps_its_rate(
        queue in prop::sample::select(vec![1, 8, 64, 4096]),
        tags in prop::sample::select(vec![32, 64, 256]),
        upstream in prop::sample::select(vec!["s", "h"]),
    ) {
        let own = format!("send_queue = {queue}");
        let others = format!("tags = {tags}");
        let keys = (own.as_str(), others.as_str());
        let pair = [READ_FROM_HOST, READ_BY_PEER];
        let both = rates(pair, upstream, keys);
        for (kind, rate) in pair.into_iter().zip(both) {
            let [alone] = rates([kind], upstream, keys);
            prop_assert!(rate > 0.9 * alone, "{:?}: {} of {}", kind, rate, alone);
        }
    }
}

/// The time in ns in which a device of this model transfers 256 KiB to or from its host. If `is_read` is set, another device reads BAR 0 of the
/// device at the same time.
fn time_of(model: &str, direction: &str, is_read: bool) -> f64 {
    let reads = "[[flows]]\nid = \"reads\"\nfrom = \"c\"\nto = \"a\"\ndirection = \"read\"\nduration = \"600 us\"\nwindow = \"4 KiB\"\n";
    let text = format!(
        "[links]\ngeneration = 3\nlanes = 4\n[hosts.h]\n[switches.s]\nupstream = \"h\"\n[devices.a]\nupstream = \"s\"\nmodel = \"{model}\"\n[devices.c]\nupstream = \"s\"\n[[flows]]\nid = \"own\"\nfrom = \"a\"\nto = \"h\"\ndirection = \"{direction}\"\nsize = \"256 KiB\"\n{}",
        if is_read { reads } else { "" }
    );
    let result = run(&text);
    result
        .flow("own")
        .last_byte_ns
        .expect("the flow moved bytes")
}

#[test]
fn a_device_of_any_model_that_moves_flows_works_while_others_read_it() {
    for model in ["dma", "sg-dma", "nvme"] {
        for (direction, times) in [("write", 2.2), ("read", 1.2)] {
            let [alone, shared] = [false, true].map(|is_read| time_of(model, direction, is_read));
            assert!(
                shared < times * alone,
                "{model}, {direction}: {shared} for {alone}"
            );
        }
    }
}

/// The buffers of the host hold one large packet. The large packets still get a share of the link: at least one for four packets of the other two
/// flows.
#[test]
fn a_large_packet_waits_for_few_small_ones_where_buffers_hold_one() {
    let mut text = String::from(
        "[links]\ngeneration = 3\nlanes = 4\n[hosts.h]\nposted_data = \"512 B\"\nupdate_fc_share = 0.0\n[measure]\nfrom = \"10 us\"\nuntil = \"60 us\"\n[switches.s]\nupstream = \"h\"\n",
    );
    let sizes = [("small", 32), ("other", 64), ("large", 512)];
    for (device, size) in sizes {
        write!(
            text,
            "[devices.{device}]\nupstream = \"s\"\n[[flows]]\nid = \"{device}\"\nfrom = \"{device}\"\nto = \"h\"\nrequest_size = \"{size} B\"\nduration = \"70 us\"\nwindow = \"1 MiB\"\n"
        )
        .expect("a string");
    }
    let result = run(&text);
    let packets = sizes.map(|(device, size)| steady(result.flow(device)) / f64::from(size));
    let others = packets[0] + packets[1];
    assert!(packets[2] * 4.0 >= others, "{packets:?}");
}

//! Random messages between random queue pairs: every byte arrives once and at its place, and the events report the messages in order.

use host::queue_pair::ENTRIES;
use std::collections::BTreeMap;

use device::nic::event::EventKind;
use kernel::Stream;
use proptest::prelude::*;
use protocol::QueuePairId;

use super::*;
use crate::cases::cases;

/// The minimum number of bytes between two buffers, which must not be written.
const GAP: u64 = 24;
const CANARY: u8 = 0xc5;
const ARENA: u64 = 2 << 20;

/// A queue pair, its host, and the descriptors that it sends.
struct Side {
    host: usize,
    place: QueuePairPlace,
    descriptors: Vec<Descriptor>,
}

/// A host's memory for buffers. It is filled with canaries, except for the allocated buffers.
struct Arena {
    base: u64,
    next: u64,
    bytes: Vec<u8>,
}

/// Bytes that must arrive, and their place.
struct Wanted {
    host: usize,
    ranges: Vec<Item>,
    bytes: Vec<u8>,
}

struct Any {
    random: Stream,
    arenas: Vec<Arena>,
    wanted: Vec<Wanted>,
    /// The NAPs from one queue pair to another, in order.
    naps: BTreeMap<(u16, u16), Vec<Vec<u8>>>,
}

impl Any {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    /// Random ranges in a host's memory with `len` bytes in total, and with gaps between the ranges.
    fn ranges(&mut self, host: usize, len: usize) -> Vec<Item> {
        let mut left = len;
        let mut ranges = Vec::new();
        while left > 0 {
            let most = 1 + self.below(3000);
            let take = left.min(most as usize);
            let skip = GAP + self.below(130);
            let arena = &mut self.arenas[host];
            arena.next += skip;
            ranges.push(item(arena.base + arena.next, take));
            arena.next += take as u64;
            left -= take;
        }
        ranges
    }

    fn place(&mut self, host: usize, ranges: &[Item], bytes: &[u8]) {
        let arena = &mut self.arenas[host];
        let mut at = 0;
        for range in ranges {
            let start = (range.address - arena.base) as usize;
            let len = range.len as usize;
            arena.bytes[start..start + len].copy_from_slice(&bytes[at..at + len]);
            at += len;
        }
    }

    /// The descriptor of a random message from `from` to `to`.
    fn message(
        &mut self,
        label: u32,
        from: (usize, &QueuePairPlace),
        to: (usize, &QueuePairPlace),
    ) -> Descriptor {
        let largest = if self.below(4) == 0 { 9000 } else { 300 };
        let kind = self.below(4);
        let len = if kind < 2 {
            self.below(2049.min(largest + 1)) as usize
        } else {
            1 + self.below(largest) as usize
        };
        let bytes = self.bytes(len);
        let (sender, receiver) = if kind == 3 {
            (to.0, from.0)
        } else {
            (from.0, to.0)
        };
        let body = if kind == 0 {
            Body::NapImmediate(bytes.clone())
        } else {
            let sources = self.ranges(sender, len);
            self.place(sender, &sources, &bytes);
            if kind == 1 {
                Body::NapIndirect(sources)
            } else {
                let targets = self.ranges(receiver, len);
                self.wanted.push(Wanted {
                    host: receiver,
                    ranges: targets.clone(),
                    bytes: bytes.clone(),
                });
                if kind == 2 {
                    Body::Put { sources, targets }
                } else {
                    Body::Get { sources, targets }
                }
            }
        };
        if kind < 2 {
            let way = (from.1.id.number(), to.1.id.number());
            self.naps.entry(way).or_default().push(bytes);
        }
        descriptor(to.1, label, body)
    }
}

fn pick(of: &[&'static str], random: &mut Stream) -> &'static str {
    of[random.below(of.len() as u64) as usize]
}

/// The keys of a controller, with random values.
fn controller_keys(random: &mut Stream) -> String {
    let sharing = pick(&["message", "packet", "packet"], random);
    let weights = match sharing {
        "packet" => pick(&["", "weights = \"3\"", "weights = \"1, 7, 2\""], random),
        _ => "",
    };
    // The programs of the queue pairs of a function are not coordinated, so the doorbell FIFO must be large.
    format!(
        "doorbell_fifo = 128\ntags = {}\nread_request = {:?}\nnetwork_payload = {:?}\nreceive_buffer = {:?}\nsend_latency = {:?}\ndescriptors = {}\nmessages = {}\nget_queue = {}\nsharing = {:?}\narbiter = {:?}\nreorder_buffer = {:?}\nbuffer_prefetch = {}\n{}\nstart_mode = {:?}\n",
        pick(&["1", "3", "32", "256"], random),
        pick(&["16 B", "64 B", "128 B", "512 B"], random),
        pick(&["128 B", "256 B"], random),
        pick(&["512 B", "4 KiB"], random),
        pick(&["0 ns", "113 ns"], random),
        1 + random.below(4),
        1 + random.below(8),
        1 + random.below(8),
        sharing,
        pick(&["round-robin", "priority"], random),
        pick(&["4 KiB", "32 KiB"], random),
        8 + random.below(9),
        weights,
        pick(&["doorbell", "descriptor"], random),
    )
}

fn any_messages(seed: u64) {
    let mut random = Stream::named(seed, "messages");
    let count = 2 + random.below(7) as usize;
    let crossbar = format!(
        "virtual_channels = {}\nchannel_buffer = {:?}\n",
        1 + random.below(4),
        pick(&["512 B", "1 KiB", "8 KiB"], &mut random)
    );
    let nic = controller_keys(&mut random);
    let jitter = pick(&["0 ns", "0 ns", "300 ns"], &mut random);
    let text = hosts(count, &crossbar, &nic).replace(
        "[hosts.h0]\n",
        &format!("[hosts.h0]\nmemory_read_jitter = {jitter:?}\n"),
    );
    let controllers = 1 + random.below(3) as usize;
    let text = match controllers {
        1 => text,
        _ => in_a_row(&text, count, controllers),
    };
    let mut simulation = simulation(&text);
    let arena = |simulation: &mut Simulation, host: usize| Arena {
        base: simulation
            .allocate(&format!("h{host}"), ARENA)
            .expect("there is room"),
        next: 0,
        bytes: vec![CANARY; ARENA as usize],
    };
    let mut any = Any {
        arenas: (0..count)
            .map(|host| arena(&mut simulation, host))
            .collect(),
        random,
        wanted: Vec::new(),
        naps: BTreeMap::new(),
    };
    let mut sides: Vec<Side> = Vec::new();
    for host in 0..count {
        for _ in 0..=any.below(8) {
            let number = (any.below(8) as u8, any.below(4) as u8);
            if sides.iter().any(|side| {
                side.host == host && (side.place.id.function(), side.place.id.pair()) == number
            }) {
                continue;
            }
            let place = simulation.open_pair(&format!("n{host}"), number, 0xabc, ENTRIES);
            sides.push(Side {
                host,
                place: place.expect("it is there"),
                descriptors: Vec::new(),
            });
        }
    }
    for from in 0..sides.len() {
        for label in 0..=any.below(12) as u32 {
            let to = any.below(sides.len() as u64) as usize;
            if to == from {
                continue;
            }
            let (here, there) = (&sides[from], &sides[to]);
            let message = any.message(label, (here.host, &here.place), (there.host, &there.place));
            sides[from].descriptors.push(message);
        }
    }
    for (host, arena) in any.arenas.iter().enumerate() {
        let filled = simulation.fill(&format!("h{host}"), arena.base, &arena.bytes);
        filled.expect("it is memory");
    }
    let mut logs = Vec::new();
    for side in &sides {
        let host = format!("h{}", side.host);
        let arrived = receive(&mut simulation, &host, side.place);
        let sent = send(&mut simulation, &host, side.place, side.descriptors.clone());
        logs.push((arrived, sent));
    }
    pass(&mut simulation, 3000);
    check_events(&sides, &logs, &any);
    check_bytes(&simulation, &mut any);
    let result = simulation.result();
    assert!(result.errors.is_empty(), "{:?}", result.errors);
}

type Log = (Seen<(Event, Vec<u8>)>, Seen<Event>);

fn check_events(sides: &[Side], logs: &[Log], any: &Any) {
    for (side, (arrived, sent)) in sides.iter().zip(logs) {
        let own = side.descriptors.iter();
        let told = own.filter(|one| !matches!(one.body, Body::Get { .. }));
        let expected: Vec<_> = told
            .map(|one| (one.destination, u64::from(one.label), one.body.len()))
            .collect();
        let sent: Vec<_> = all(sent)
            .iter()
            .map(|event| {
                assert_eq!((event.kind, event.fault), (EventKind::Sent, None));
                (event.peer, event.word, u64::from(event.len))
            })
            .collect();
        assert_eq!(sent, expected);
        let arrived = all(arrived);
        for (way, expected) in &any.naps {
            if way.1 != side.place.id.number() {
                continue;
            }
            let from = QueuePairId::from_number(way.0);
            let got: Vec<_> = arrived
                .iter()
                .filter(|(event, _)| event.kind == EventKind::Nap && Some(event.peer) == from)
                .map(|(_, bytes)| bytes.clone())
                .collect();
            assert_eq!(&got, expected);
        }
        for peer in sides {
            check_puts(side, peer, &arrived);
        }
    }
}

/// Asserts that each PUT of `peer` and each answer to a GET of `side` arrives once, and in order.
fn check_puts(side: &Side, peer: &Side, arrived: &[(Event, Vec<u8>)]) {
    let (own, other) = (side.place.id, peer.place.id);
    let puts = peer.descriptors.iter().filter(|one| one.destination == own);
    let puts = puts.filter_map(|one| match &one.body {
        Body::Put { targets, .. } => Some(end_of(targets)),
        _ => None,
    });
    let gets = side
        .descriptors
        .iter()
        .filter(|one| one.destination == other);
    let gets = gets.filter_map(|one| match &one.body {
        Body::Get { targets, .. } => Some(end_of(targets)),
        _ => None,
    });
    let events = arrived
        .iter()
        .filter(|(event, _)| event.kind == EventKind::Put && event.peer == other)
        .map(|(event, _)| event.word);
    let (puts, gets): (Vec<u64>, Vec<u64>) = (puts.collect(), gets.collect());
    let (from_puts, rest): (Vec<u64>, Vec<u64>) = events.partition(|end| puts.contains(end));
    assert_eq!((from_puts, rest), (puts, gets));
}

fn end_of(targets: &[Item]) -> u64 {
    targets
        .last()
        .map_or(0, |last| last.address + u64::from(last.len))
}

/// Asserts that every byte of every arena has its initial value or the value that was sent to it.
fn check_bytes(simulation: &Simulation, any: &mut Any) {
    for wanted in std::mem::take(&mut any.wanted) {
        any.place(wanted.host, &wanted.ranges, &wanted.bytes);
    }
    for (host, arena) in any.arenas.iter().enumerate() {
        let got = simulation.memory(&format!("h{host}"), arena.base, ARENA);
        let got = got.expect("it is memory");
        let wrong = got.iter().zip(&arena.bytes).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "h{host}");
    }
}

#[test]
fn a_shorter_last_message_is_noticed_like_the_others() {
    for primitive in ["put", "get", "nap-indirect"] {
        for (size, request) in [(5000, 2000), (1, 1000), (2001, 2000)] {
            let flow = format!(
                "[[flows]]\nid = \"f\"\nfrom = \"n0\"\nto = \"n1\"\nprimitive = {primitive:?}\nsize = \"{size} B\"\nrequest_size = \"{request} B\"\n"
            );
            let result = crate::fixture::run(&(hosts(2, "", "") + &flow));
            let flow = &result.flows[0];
            assert!(flow.completed && flow.intact);
            // The run does not wait for anything after the last byte, for example a completion timeout.
            let last = flow.last_byte_ns.expect("it moved");
            assert!(
                result.simulated_ns < last + 500.0,
                "{}",
                result.simulated_ns
            );
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn every_byte_arrives_where_it_should_once_and_events_are_in_order(seed: u64) {
        any_messages(seed);
    }
}

//! Isolation of queue pairs: if an owner uses its own queue pairs wrongly, other owners do not wait, and the next owner of a pair finds nothing of
//! the previous owner.

use device::nic::event::EventKind;
use device::nic::registers::{Doorbell, offset, register};
use host::queue_pair::ENTRIES;
use packet::Fault;
use proptest::prelude::*;

use super::window::play;
use super::*;
use crate::cases::cases;

/// Stores values to the registers of a queue pair, one after the other.
fn store(simulation: &mut Simulation, host: &str, place: QueuePairPlace, stores: &[(u64, u64)]) {
    let block = place.page + register(place.id.pair(), 0);
    let stores = stores.to_vec();
    let program = move |system: host::System| async move {
        for (at, value) in stores {
            system.store(block + at, &value.to_le_bytes()).await;
        }
    };
    simulation
        .spawn(host, program)
        .expect("a host runs programs");
}

/// Whether a PUT between the last queue pairs of a function ends, and its bytes arrive.
fn goes_on(simulation: &mut Simulation, function: u8) -> bool {
    let mut open = |nic| {
        simulation
            .open_pair(nic, (function, 3), 9, ENTRIES)
            .expect("it is there")
    };
    let (from, to) = (open("n0"), open("n1"));
    let mut room = |host| simulation.allocate(host, 4096).expect("there is room");
    let (source, target) = (room("h0"), room("h1"));
    simulation
        .fill("h0", source, &[7; 100])
        .expect("it is memory");
    let body = Body::Put {
        sources: vec![item(source, 100)],
        targets: vec![item(target, 100)],
    };
    let put = Descriptor {
        tell_receiver: false,
        ..descriptor(&to, 1, body)
    };
    let sent = send(simulation, "h0", from, vec![put]);
    pass(simulation, 100);
    let bytes = simulation.memory("h1", target, 100).expect("it is memory");
    all(&sent).len() == 1 && bytes == [7; 100]
}

/// A random value for a register. Many of the values are special cases.
fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..70_u64,
        any::<u64>(),
        (0..64_u32).prop_map(|bit| 1 << bit),
        Just(u64::MAX - 7),
        Just(7 << 16 | 1),
        (0..64_u64).prop_map(|page| page << 12),
    ]
}

proptest! {
    #![proptest_config(cases(14))]

    #[test]
    fn whatever_an_owner_stores_others_go_on(
        stores in prop::collection::vec((0..11_u64, values()), 1..40),
        size in 0..2048_usize,
        delay in 0..4000_u64,
        at_sender in any::<bool>(),
    ) {
        let (mut simulation, from, to) = two("", "");
        let nap = descriptor(&to, 1, Body::NapImmediate(vec![1; size]));
        send(&mut simulation, "h0", from, vec![nap; 6]);
        let until = simulation.now() + Span::from_ns(delay);
        simulation.run_until(until, &mut || true);
        let stores: Vec<_> = stores.into_iter().map(|(at, value)| (8 * at, value)).collect();
        let (host, place) = if at_sender { ("h0", from) } else { ("h1", to) };
        store(&mut simulation, host, place, &stores);
        pass(&mut simulation, 150);
        prop_assert!(goes_on(&mut simulation, 1));
    }
}

#[test]
fn a_list_of_buffers_that_cannot_be_read_keeps_nobody_else() {
    let (mut simulation, from, to) = two("", "");
    let nowhere = [
        (offset::CONTROL, 0),
        (offset::BUFFERS, 0x30_0000_0000),
        (offset::BUFFER_ENTRIES, 1 << 16),
        (offset::CONTROL, 7 << 16 | 1),
        (offset::BUFFERS_GIVEN, 1 << 16),
    ];
    store(&mut simulation, "h1", to, &nowhere);
    pass(&mut simulation, 50);
    let nap = descriptor(&to, 1, Body::NapImmediate(vec![1; 10]));
    send(&mut simulation, "h0", from, vec![nap]);
    assert!(goes_on(&mut simulation, 1));
    let faults = simulation.faults("n1", 0).expect("it is a controller");
    assert_eq!(faults[Fault::Buffer.index()], 2);
    assert_eq!(faults[Fault::NoBuffer.index()], 1);
}

#[test]
fn a_nap_whose_pair_gets_another_owner_does_not_arrive() {
    // The owner of the pair changes at different times during the transfer of the NAP. The new owner uses another key and a ring of one event.
    for after in (400..6000).step_by(200) {
        let (mut simulation, from, to) = two("", "");
        let nap = descriptor(&to, 1, Body::NapImmediate(vec![0xee; 2048]));
        send(&mut simulation, "h0", from, vec![nap]);
        let until = simulation.now() + Span::from_ns(after);
        simulation.run_until(until, &mut || true);
        let other = [
            (offset::CONTROL, 0),
            (offset::ARRIVED + offset::ENTRIES, 1),
            (offset::CONTROL, 8 << 16 | 1),
            (offset::BUFFERS_GIVEN, 64),
        ];
        store(&mut simulation, "h1", to, &other);
        pass(&mut simulation, 50);
        let had_come = after > 3600;
        let to = QueuePairPlace {
            key: 8,
            entries: 1,
            ..to
        };
        let arrived = receive(&mut simulation, "h1", to);
        let from = simulation
            .open_pair("n0", (2, 0), 8, ENTRIES)
            .expect("it is there");
        let nap = Body::NapImmediate(vec![1; 10]);
        send(&mut simulation, "h0", from, vec![descriptor(&to, 5, nap)]);
        pass(&mut simulation, 50);
        let faults = simulation.faults("n1", 0).expect("it is a controller");
        assert_eq!(faults[Fault::RingFull.index()], 0, "{after}");
        let arrived: Vec<_> = all(&arrived)
            .iter()
            .map(|(event, _)| (event.len, event.fault))
            .collect();
        // A NAP that arrived before the pair was closed is still in the ring, which the previous owner has not read.
        assert!(
            arrived == [(10, None)] || had_come && arrived[0].0 == 2048,
            "{after}: {arrived:?}"
        );
    }
}

#[test]
fn a_closed_pair_forgets_its_doorbells() {
    let (mut simulation, from, to) = two("", "descriptors = 1\nmessages = 1");
    let mut room = |host| simulation.allocate(host, 8192).expect("there is room");
    let (source, target) = (room("h0"), room("h1"));
    let body = Body::Put {
        sources: vec![item(source, 64)],
        targets: vec![item(target, 64)],
    };
    let bytes = descriptor(&to, 1, body).emit();
    simulation
        .fill("h0", source + 4096, &bytes)
        .expect("it is memory");
    let bell = Doorbell {
        address: source + 4096,
        len: bytes.len() as u32,
    };
    let mut stores = vec![(offset::DOORBELL, bell.emit()); 10];
    stores.extend([(offset::CONTROL, 0), (offset::CONTROL, 9 << 16 | 1)]);
    store(&mut simulation, "h0", from, &stores);
    pass(&mut simulation, 100);
    // The next owner finds no event of the previous owner: the first event is its own.
    let place = QueuePairPlace { key: 9, ..from };
    let put = descriptor(&to, 77, Body::NapImmediate(vec![1; 8]));
    let sent = send(&mut simulation, "h0", place, vec![put]);
    pass(&mut simulation, 50);
    let labels: Vec<u64> = all(&sent).iter().map(|event| event.word).collect();
    assert_eq!(labels, [77]);
}

#[test]
fn who_asks_for_what_cannot_be_had_is_told() {
    let (mut simulation, from, to) = two("", "");
    let target = simulation.allocate("h0", 4096).expect("there is room");
    let get = |key, label, address| {
        let body = Body::Get {
            sources: vec![item(address, 500)],
            targets: vec![item(target, 500)],
        };
        Descriptor {
            key,
            ..descriptor(&to, label, body)
        }
    };
    // Three GETs are wrong: one uses an address without memory, one uses a key that is not the key of its own pair, and one uses the key of its own
    // pair, which is not the key of the destination pair.
    let asked = vec![get(7, 3, 0x30_0000_0000), get(8, 4, 0)];
    let sent = send(&mut simulation, "h0", from, asked);
    let arrived = receive(&mut simulation, "h0", from);
    let other = simulation
        .open_pair("n0", (0, 1), 8, ENTRIES)
        .expect("it is there");
    send(&mut simulation, "h0", other, vec![get(8, 5, 0)]);
    let elsewhere = receive(&mut simulation, "h0", other);
    pass(&mut simulation, 100);
    let told = |seen: &Seen<(Event, Vec<u8>)>| -> Vec<_> {
        all(seen)
            .iter()
            .map(|(event, _)| (event.kind, event.fault, event.word))
            .collect()
    };
    let put = EventKind::Put;
    assert_eq!(told(&arrived), [(put, Some(Fault::Source), 3)]);
    assert_eq!(told(&elsewhere), [(put, Some(Fault::Key), 5)]);
    let sent: Vec<_> = all(&sent)
        .iter()
        .map(|event| (event.fault, event.word))
        .collect();
    assert_eq!(sent, [(Some(Fault::Key), 4)]);
    for (nic, keys) in [("n0", 2), ("n1", 1)] {
        let faults = simulation.faults(nic, 0).expect("it is a controller");
        assert_eq!(faults[Fault::Source.index()], 1);
        assert_eq!(faults[Fault::Key.index()], keys);
    }
    assert!(goes_on(&mut simulation, 0));
}

/// The number of PUTs or GETs of 4 KiB between function 1 of `n0` and function 1 of `n1` that end in 400 us, while the requests that `other` has
/// started are in progress.
fn beside(count: usize, is_get: bool, other: impl FnOnce(&mut Simulation)) -> usize {
    let mut simulation = simulation(&hosts(count, "virtual_channels = 3", ""));
    let mut open = |nic| {
        simulation
            .open_pair(nic, (1, 0), 7, ENTRIES)
            .expect("it is there")
    };
    let (from, to) = (open("n0"), open("n1"));
    let mut room = |host| simulation.allocate(host, 4096).expect("there is room");
    let (here, there) = (room("h0"), room("h1"));
    other(&mut simulation);
    pass(&mut simulation, 20);
    let ended = Seen::<u32>::default();
    let log = ended.clone();
    let costs = costs(&simulation, "h0");
    let program = move |system| async move {
        let mut pair = QueuePair::new(system, costs, from);
        for label in 0.. {
            let lists = (vec![item(here, 4096)], vec![item(there, 4096)]);
            let posted = if is_get {
                pair.get(to.id, label, (lists.1, lists.0)).await
            } else {
                pair.put(to.id, label, lists).await
            };
            posted.expect("there is room");
            if pair.outstanding() < 8 {
                continue;
            }
            if is_get {
                pair.arrived().await;
                pair.finish();
            } else {
                pair.sent().await;
            }
            log.lock().expect("nobody panics with it").push(label);
        }
    };
    simulation
        .spawn("h0", program)
        .expect("a host runs programs");
    if !is_get {
        receive(&mut simulation, "h1", to);
    }
    pass(&mut simulation, 400);
    all(&ended).len()
}

/// Keeps as many requests of function 0 of `from` in flight as a function may have.
fn flood(simulation: &mut Simulation, from: &str, host: &str, body: impl Fn(u64, u64) -> Body) {
    let here = simulation
        .open_pair(from, (0, 0), 7, ENTRIES)
        .expect("it is there");
    let there = simulation
        .open_pair("n1", (0, 0), 7, ENTRIES)
        .expect("it is there");
    let mut room = |host| simulation.allocate(host, 1 << 20).expect("there is room");
    let (own, other) = (room(host), room("h1"));
    let one = Descriptor {
        tell_receiver: false,
        ..descriptor(&there, 1, body(own, other))
    };
    receive(simulation, "h1", there);
    let costs = costs(simulation, host);
    let is_get = matches!(one.body, Body::Get { .. });
    let program = move |system| async move {
        let mut pair = QueuePair::new(system, costs, here);
        loop {
            while pair.post(&one).await.is_ok() {}
            if is_get {
                pair.arrived().await;
                pair.finish();
            } else {
                pair.sent().await;
            }
        }
    };
    simulation
        .spawn(host, program)
        .expect("a host runs programs");
}

/// A function that makes the body of the requests of a flood from the addresses of the buffers of both sides.
type Kind<'a> = &'a dyn Fn(u64, u64) -> Body;

#[test]
fn a_function_that_sends_all_it_can_leaves_others_their_share() {
    let alone = beside(2, false, |_| {});
    assert!(alone * 4096 > 3 * 400_000, "{alone}");
    let mega = |base| vec![item(base, 1 << 20)];
    let floods: [(&str, Kind); 4] = [
        ("PUTs of 1 MiB", &|own, other| Body::Put {
            sources: mega(own),
            targets: mega(other),
        }),
        ("NAPs", &|_, _| Body::NapImmediate(vec![1; 2048])),
        ("sources of a byte", &|own, other| Body::Put {
            sources: (0..250).map(|n| item(own + 8 * n, 1)).collect(),
            targets: vec![item(other, 250)],
        }),
        ("sources that are nowhere", &|_, other| Body::Put {
            sources: vec![item(0x30_0000_0000, 4096)],
            targets: vec![item(other, 4096)],
        }),
    ];
    for (what, body) in floods {
        let with = beside(2, false, |simulation| flood(simulation, "n0", "h0", body));
        assert!(100 * with >= 45 * alone, "{what}: {with} of {alone}");
    }
}

#[test]
fn a_function_that_is_asked_for_all_it_has_leaves_others_their_share() {
    let alone = beside(3, true, |_| {});
    let with = beside(3, true, |simulation| {
        flood(simulation, "n2", "h2", |own, other| Body::Get {
            sources: vec![item(other, 1 << 20)],
            targets: vec![item(own, 1 << 20)],
        });
    });
    assert!(100 * with >= 45 * alone, "{with} of {alone}");
}

#[test]
fn few_doorbells_are_enough_for_the_library() {
    let text = hosts(2, "", "doorbell_fifo = 2");
    let mut simulation = simulation(&text);
    let mut open = |nic| {
        simulation
            .open_pair(nic, (0, 0), 7, ENTRIES)
            .expect("it is there")
    };
    let (from, to) = (open("n0"), open("n1"));
    receive(&mut simulation, "h1", to);
    let costs = costs(&simulation, "h0");
    let refused = play(&mut simulation, "h0", move |system| async move {
        let mut pair = QueuePair::new(system, costs, from);
        let mut refused = 0;
        for label in 0..30 {
            while pair.nap(to.id, label, vec![1; 8]).await.is_err() {
                refused += 1;
                pair.sent().await;
            }
        }
        refused
    });
    assert_eq!(refused, 28);
    let faults = simulation.faults("n0", 0).expect("it is a controller");
    assert_eq!(faults, [0; Fault::ALL.len()]);
}

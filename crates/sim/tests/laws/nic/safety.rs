//! Forbidden accesses: each is stopped, is counted in a register that the owner can read, and does not block other queue pairs.

use device::nic::event::EventKind;
use device::nic::registers::{Doorbell, FAULTS, NAP_BUFFER, PAGE, offset, register};
use host::queue_pair::ENTRIES;
use packet::Fault;
use protocol::QueuePairId;

use super::*;
use crate::fixture::{Ask, run, steady};

const CANARY: u8 = 0xc5;
const BUFFER: u64 = 4096;

/// A simulation of two hosts, each with an open queue pair, and with a buffer between canaries in its memory.
struct Pair {
    simulation: Simulation,
    from: QueuePairPlace,
    to: QueuePairPlace,
    /// The addresses of the buffers are `source` and `target`. There are canaries on both sides of each buffer.
    source: u64,
    target: u64,
    /// Pages of canaries before and behind the descriptors, rings and NAP buffers of each pair.
    fences: Vec<(&'static str, u64)>,
}

impl Pair {
    fn new(crossbar: &str, nic: &str) -> Self {
        let mut simulation = simulation(&hosts(2, crossbar, nic));
        let mut fences = Vec::new();
        let mut places = Vec::new();
        for (host, nic) in [("h0", "n0"), ("h1", "n1")] {
            let fence = |simulation: &mut Simulation| {
                let page = simulation.allocate(host, PAGE).expect("there is room");
                let canaries = vec![CANARY; PAGE as usize];
                simulation
                    .fill(host, page, &canaries)
                    .expect("it is memory");
                (host, page)
            };
            fences.push(fence(&mut simulation));
            places.push(
                simulation
                    .open_pair(nic, (0, 0), 7, ENTRIES)
                    .expect("it is there"),
            );
            fences.push(fence(&mut simulation));
        }
        pass(&mut simulation, 5);
        let [from, to] = [places[0], places[1]];
        let mut buffer = |host: &str, byte: u8| {
            let base = simulation
                .allocate(host, 3 * BUFFER)
                .expect("there is room");
            let mut bytes = vec![CANARY; 3 * BUFFER as usize];
            bytes[BUFFER as usize..2 * BUFFER as usize].fill(byte);
            simulation.fill(host, base, &bytes).expect("it is memory");
            base + BUFFER
        };
        let (source, target) = (buffer("h0", 1), buffer("h1", CANARY));
        Self {
            simulation,
            from,
            to,
            source,
            target,
            fences,
        }
    }

    fn put(&self, label: u32, len: usize) -> Descriptor {
        let body = Body::Put {
            sources: vec![item(self.source, len)],
            targets: vec![item(self.target, len)],
        };
        descriptor(&self.to, label, body)
    }

    /// Posts the descriptors, continues for 200 us, and returns the events of the sender.
    fn post(&mut self, descriptors: Vec<Descriptor>) -> Vec<Event> {
        let sent = send(&mut self.simulation, "h0", self.from, descriptors);
        pass(&mut self.simulation, 200);
        all(&sent)
    }

    /// Whether no bytes were written to the target of PUTs, or around buffers, descriptors and rings.
    fn is_untouched(&self) -> bool {
        self.has_fences() && self.is_canary("h1", self.target, BUFFER)
    }

    /// Whether no bytes were written around buffers, descriptors and rings.
    fn has_fences(&self) -> bool {
        let sides = |base: u64| [base - BUFFER, base + BUFFER];
        let around = [("h0", self.source), ("h1", self.target)];
        let mut around = around
            .into_iter()
            .flat_map(|(host, base)| sides(base).map(|side| (host, side)));
        let mut fences = self.fences.iter();
        around.all(|(host, base)| self.is_canary(host, base, BUFFER))
            && fences.all(|(host, base)| self.is_canary(host, *base, PAGE))
    }

    fn is_canary(&self, host: &str, base: u64, len: u64) -> bool {
        let bytes = self.simulation.memory(host, base, len);
        let bytes = bytes.expect("it is memory");
        bytes.iter().all(|byte| *byte == CANARY)
    }

    /// The number of faults that a controller has counted for function 0. The register that the owner reads and the result of the simulation must
    /// agree.
    fn count(&mut self, side: &str, fault: Fault) -> u64 {
        let place = if side == "n0" { self.from } else { self.to };
        let host = if side == "n0" { "h0" } else { "h1" };
        let at = place.page + FAULTS + 8 * fault.index() as u64;
        let read = self.simulation.read_back(host, at, 8, &mut || true);
        let bytes = read.expect("a controller answers");
        let read = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let faults = self.simulation.faults(side, 0).expect("it is a controller");
        assert_eq!(faults[fault.index()], read);
        assert_eq!(faults.iter().sum::<u64>(), read, "{faults:?}");
        read
    }

    /// Stores values to the registers of `n0` without the library for queue pairs.
    fn store(&mut self, stores: Vec<(u64, Vec<u8>)>) {
        let program = |system: host::System| async move {
            for (address, bytes) in stores {
                system.store(address, &bytes).await;
            }
        };
        let spawned = self.simulation.spawn("h0", program);
        spawned.expect("a host runs programs");
        pass(&mut self.simulation, 50);
    }

    /// Rings the doorbell of one descriptor, for a PUT of 8 bytes, `times` times.
    fn ring_past_the_library(&mut self, times: usize) {
        let descriptor = self.put(1, 8).emit();
        self.simulation
            .fill("h0", self.source, &descriptor)
            .expect("it is memory");
        let doorbell = Doorbell {
            address: self.source,
            len: descriptor.len() as u32,
        };
        let bell = self.from.page + register(0, offset::DOORBELL);
        self.store(vec![(bell, doorbell.emit().to_le_bytes().into()); times]);
    }

    /// Asserts that a correct message still arrives.
    fn goes_on(&mut self) {
        let place = self.simulation.open_pair("n0", (5, 1), 7, ENTRIES);
        let place = place.expect("another queue pair");
        let good = Descriptor {
            tell_receiver: false,
            ..self.put(9, 100)
        };
        let sent = send(&mut self.simulation, "h0", place, vec![good]);
        pass(&mut self.simulation, 50);
        assert_eq!(all(&sent).len(), 1);
        let bytes = self.simulation.memory("h1", self.target - 1, 102);
        let bytes = bytes.expect("it is memory");
        assert_eq!((bytes[0], bytes[101]), (CANARY, CANARY));
        assert_eq!(bytes[1..101], [1; 100]);
        assert!(self.has_fences());
    }
}

#[test]
fn a_packet_with_a_wrong_key_is_dropped() {
    let mut pair = Pair::new("", "");
    let mut bad = pair.put(1, 1000);
    bad.key = 8;
    let nap = Descriptor {
        body: Body::NapImmediate(vec![2; 300]),
        ..bad.clone()
    };
    let get = Descriptor {
        body: Body::Get {
            sources: vec![item(pair.target, 64)],
            targets: vec![item(pair.source, 64)],
        },
        ..bad.clone()
    };
    let arrived = receive(&mut pair.simulation, "h1", pair.to);
    pair.post(vec![bad, nap, get]);
    // The receiver stops eight packets of the PUT and three of the NAP. The sender stops the GET, because its answer could not return.
    assert_eq!(pair.count("n1", Fault::Key), 11);
    assert_eq!(pair.count("n0", Fault::Key), 1);
    assert!(pair.is_untouched() && all(&arrived).is_empty());
    pair.goes_on();
}

#[test]
fn totals_that_differ_are_told_to_the_sender() {
    let mut pair = Pair::new("", "");
    let body = Body::Put {
        sources: vec![item(pair.source, 200)],
        targets: vec![item(pair.target, 100), item(pair.target + 200, 99)],
    };
    let bad = descriptor(&pair.to, 5, body);
    let events = pair.post(vec![bad]);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].fault, Some(Fault::Totals));
    assert_eq!(pair.count("n0", Fault::Totals), 1);
    assert!(pair.is_untouched());
    pair.goes_on();
}

#[test]
fn a_destination_that_does_not_exist_is_told_to_the_sender() {
    let mut pair = Pair::new("", "");
    let mut bad = pair.put(5, 100);
    bad.destination = QueuePairId::new(77, 0, 0);
    let events = pair.post(vec![bad]);
    assert_eq!(
        (events[0].fault, events[0].word),
        (Some(Fault::NoDestination), 5)
    );
    assert_eq!(pair.count("n0", Fault::NoDestination), 1);
    pair.goes_on();
}

#[test]
fn a_closed_queue_pair_takes_nothing() {
    let mut pair = Pair::new("", "");
    let mut bad = pair.put(5, 100);
    bad.destination = QueuePairId::new(pair.to.id.processor(), 0, 3);
    pair.post(vec![bad]);
    assert_eq!(pair.count("n1", Fault::ClosedPair), 1);
    assert!(pair.is_untouched());
    let bell = pair.from.page + register(2, offset::DOORBELL);
    pair.store(vec![(bell, vec![0; 8])]);
    assert_eq!(pair.count("n0", Fault::ClosedPair), 1);
    pair.goes_on();
}

#[test]
fn a_source_that_cannot_be_read_ends_its_message() {
    let mut pair = Pair::new("", "");
    let nowhere = vec![item(pair.source, 300), item(0x30_0000_0000, 100)];
    let body = Body::Put {
        sources: nowhere.clone(),
        targets: vec![item(pair.target, 400)],
    };
    let nap = descriptor(&pair.to, 2, Body::NapIndirect(nowhere));
    let arrived = receive(&mut pair.simulation, "h1", pair.to);
    let events = pair.post(vec![nap, descriptor(&pair.to, 3, body)]);
    let faults: Vec<_> = events.iter().map(|event| event.fault).collect();
    assert_eq!(faults, [Some(Fault::Source); 2]);
    assert_eq!(pair.count("n0", Fault::Source), 2);
    assert!(all(&arrived).is_empty());
    // The buffer of the NAP that was stopped is available for the next NAP.
    let nap = descriptor(&pair.to, 4, Body::NapImmediate(vec![7; 10]));
    let place = pair.simulation.open_pair("n0", (1, 0), 7, ENTRIES);
    send(
        &mut pair.simulation,
        "h0",
        place.expect("another queue pair"),
        vec![nap],
    );
    pass(&mut pair.simulation, 50);
    let arrived = all(&arrived);
    assert_eq!((arrived.len(), &arrived[0].1), (1, &vec![7; 10]));
}

#[test]
fn a_descriptor_that_is_none_is_told_to_its_owner() {
    let mut pair = Pair::new("", "");
    let sent = send(&mut pair.simulation, "h0", pair.from, Vec::new());
    let bell = pair.from.page + register(0, offset::DOORBELL);
    let ring =
        |address: u64, len: u32| (bell, Doorbell { address, len }.emit().to_le_bytes().into());
    // Four doorbells are wrong: the descriptor contains only ones, its address has no memory, it is too short, or its length is zero.
    let junk = pair.source;
    pair.store(vec![
        ring(junk, 64),
        ring(0x7fff_0000_0000, 64),
        ring(junk, 16),
        ring(junk, 0),
    ]);
    let faults: Vec<_> = all(&sent).iter().map(|event| event.fault).collect();
    assert_eq!(faults, [Some(Fault::Descriptor); 4]);
    assert_eq!(pair.count("n0", Fault::Descriptor), 4);
    assert!(pair.is_untouched());
    pair.goes_on();
}

#[test]
fn a_get_of_more_ranges_than_a_packet_carries_is_told_to_its_owner() {
    let mut pair = Pair::new("channel_buffer = \"512 B\"", "");
    let ranges = |base: u64, count: u64| (0..count).map(|at| item(base + at, 1)).collect();
    // A header of 32 bytes and 29 items of 16 bytes occupy 496 bytes.
    let get = |label, targets: u64| {
        let (sources, targets) = (
            vec![item(pair.target, targets as usize)],
            ranges(pair.source, targets),
        );
        descriptor(&pair.to, label, Body::Get { sources, targets })
    };
    let descriptors = vec![get(1, 29), get(2, 28)];
    let sent = send(&mut pair.simulation, "h0", pair.from, descriptors);
    pass(&mut pair.simulation, 50);
    let faults: Vec<_> = all(&sent).iter().map(|event| event.fault).collect();
    assert_eq!(faults, [Some(Fault::Descriptor)]);
    assert_eq!(pair.count("n0", Fault::Descriptor), 1);
}

#[test]
fn a_store_that_is_no_doorbell_is_stopped_for_the_function_of_its_page() {
    let mut pair = Pair::new("", "");
    let page = pair.from.page;
    let third = pair.simulation.open_pair("n0", (3, 0), 7, ENTRIES);
    let third = third.expect("another queue pair");
    let eight = vec![0xff; 8];
    pair.store(vec![
        (page + 0x58, eight.clone()),
        (page + register(0, offset::DOORBELL) + 4, vec![0xff; 4]),
        (page + FAULTS, eight.clone()),
        (page + PAGE - 8, eight.clone()),
        (page + PAGE, eight.clone()),
        (third.page + 0x400, eight),
    ]);
    let counts = pair.simulation.faults("n0", 3).expect("a controller");
    assert_eq!(counts[Fault::Doorbell.index()], 1);
    assert_eq!(pair.count("n0", Fault::Doorbell), 5);
    pair.goes_on();
}

#[test]
fn more_than_thirty_two_doorbells_of_a_function_are_refused() {
    let mut pair = Pair::new("", "descriptors = 1\ndoorbell_cycles = 1000");
    let sent = send(&mut pair.simulation, "h0", pair.from, Vec::new());
    pair.ring_past_the_library(40);
    let good = all(&sent);
    assert!(good.iter().all(|event| event.fault.is_none()));
    assert_eq!(good.len(), 32);
    assert_eq!(pair.count("n0", Fault::TooManyRequests), 8);
}

#[test]
fn a_ring_that_nobody_empties_takes_no_more_events_than_it_has_room_for() {
    let mut pair = Pair::new("", "");
    let nap = descriptor(&pair.to, 0, Body::NapImmediate(vec![1; 100]));
    let behind = pair.to.area + host::queue_pair::AREA;
    pair.simulation
        .fill("h1", behind, &[CANARY; 64])
        .expect("it is memory");
    // The ring and the pool have 64 entries, and no program removes any.
    let events = pair.post(vec![nap; 70]);
    assert_eq!(events.len(), 70);
    assert_eq!(pair.count("n1", Fault::RingFull), 6);
    assert!(pair.is_untouched());
    let bytes = pair.simulation.memory("h1", behind, 64);
    assert_eq!(bytes.expect("it is memory"), [CANARY; 64]);
    pair.goes_on();
}

#[test]
fn a_sender_that_does_not_take_its_events_keeps_only_itself() {
    let mut pair = Pair::new("", "");
    let control = pair.from.page + register(0, offset::CONTROL);
    let entries = pair.from.page + register(0, offset::SENT + offset::ENTRIES);
    let key = 1 | u64::from(pair.from.key) << 16;
    let again = [(control, 0), (entries, 2), (control, key)];
    pair.store(
        again
            .map(|(at, value)| (at, u64::to_le_bytes(value).into()))
            .to_vec(),
    );
    pair.ring_past_the_library(5);
    assert_eq!(pair.count("n0", Fault::RingFull), 1);
    let taken = pair.from.page + register(0, offset::SENT + offset::TAKEN);
    pair.store(vec![(taken, 2_u64.to_le_bytes().into())]);
    assert_eq!(pair.count("n0", Fault::RingFull), 2);
}

#[test]
fn a_message_without_a_buffer_is_dropped() {
    let mut pair = Pair::new("", "");
    let at = |offset| pair.to.page + register(0, offset);
    let (control, given) = (at(offset::CONTROL), at(offset::BUFFERS_GIVEN));
    let key = 1 | u64::from(pair.to.key) << 16;
    let program = |system: host::System| async move {
        for value in [0, key] {
            system.store(control, &u64::to_le_bytes(value)).await;
        }
        system.store(given, &2_u64.to_le_bytes()).await;
    };
    pair.simulation
        .spawn("h1", program)
        .expect("a host runs programs");
    pass(&mut pair.simulation, 50);
    let arrived = receive(&mut pair.simulation, "h1", pair.to);
    let nap = descriptor(&pair.to, 0, Body::NapImmediate(vec![1; 300]));
    pair.post(vec![nap; 5]);
    assert_eq!(pair.count("n1", Fault::NoBuffer), 3);
    let naps = all(&arrived);
    assert_eq!(naps.len(), 2);
    assert!(naps.iter().all(|(event, _)| event.kind == EventKind::Nap));
    pair.goes_on();
}

#[test]
fn a_buffer_off_its_boundary_is_not_used() {
    let mut pair = Pair::new("", "");
    let (ring, mut addresses) = pair.to.buffers();
    // The controller has already read the first sixteen addresses.
    let misplaced = pair.target + 8;
    assert_ne!(misplaced % NAP_BUFFER, 0);
    addresses[16 * 8..][..8].copy_from_slice(&misplaced.to_le_bytes());
    pair.simulation
        .fill("h1", ring, &addresses)
        .expect("it is memory");
    let arrived = receive(&mut pair.simulation, "h1", pair.to);
    let nap = descriptor(&pair.to, 0, Body::NapImmediate(vec![1; 10]));
    pair.post(vec![nap; 20]);
    assert_eq!(pair.count("n1", Fault::Buffer), 1);
    assert_eq!(all(&arrived).len(), 19);
    assert!(pair.is_untouched());
    pair.goes_on();
}

/// The rates of two functions in GB/s, which share the engines by `sharing`. Both send as fast as possible: the first sends messages of 1 MiB, the
/// second sends messages of `size`.
fn shares(sharing: &str, size: &str) -> (f64, f64) {
    let flow = |function: u32, size: &str| {
        format!(
            "[[flows]]\nid = \"{function}\"\nfrom = \"n0\"\nto = \"n1\"\nduration = \"4 ms\"\nrequest_size = \"{size}\"\noutstanding = 4\nfunction = {function}\n"
        )
    };
    let text = hosts(2, "", &format!("sharing = {sharing}\n"));
    let flows = format!("{}{}", flow(0, "1 MiB"), flow(1, size));
    let measure = "[measure]\nfrom = \"1 ms\"\nuntil = \"3 ms\"\n";
    let result = run(&format!("{text}{measure}{flows}")).all_intact();
    let rate = |id| steady(result.flow(id)) / 1e9;
    (rate("0"), rate("1"))
}

#[test]
fn a_function_with_long_messages_takes_no_more_than_its_share_where_they_share_by_packets() {
    let (long, short) = shares("\"packet\"", "4 KiB");
    assert!(
        long + short > 3.1 && short > 0.49 * (long + short),
        "{long} {short}"
    );
    // If functions take turns by message, the function with the longer messages gets most of the rate.
    let (long, short) = shares("\"message\"", "4 KiB");
    assert!(short < 0.05 * long, "{long} {short}");
}

#[test]
fn functions_share_by_their_weights() {
    for size in ["1 MiB", "16 KiB"] {
        let (first, second) = shares("\"packet\"\nweights = \"1, 3\"", size);
        let share = second / (first + second);
        assert!(
            first + second > 3.1 && (share - 0.75).abs() < 0.01,
            "{size} {first} {second}"
        );
    }
}

#[test]
fn a_function_that_rings_for_nothing_takes_little_from_others() {
    let alone = shares("\"message\"", "1 MiB");
    let mut pair = Pair::new("", "");
    let place = pair.simulation.open_pair("n0", (1, 0), 7, ENTRIES);
    let place = place.expect("another queue pair");
    let junk = Doorbell {
        address: pair.source,
        len: 64,
    };
    let bell = place.page + register(0, offset::DOORBELL);
    let started = pair.simulation.now();
    let good = Descriptor {
        tell_receiver: false,
        ..pair.put(1, BUFFER as usize)
    };
    let sent = send(&mut pair.simulation, "h0", pair.from, vec![good; 400]);
    let flood = |system: host::System| async move {
        loop {
            system.work(Span::from_ns(100)).await;
            system.store(bell, &junk.emit().to_le_bytes()).await;
        }
    };
    pair.simulation
        .spawn("h0", flood)
        .expect("a host runs programs");
    while all(&sent).len() < 400 {
        pass(&mut pair.simulation, 10);
    }
    let took = pair.simulation.now().since(started).as_ns();
    let rate = 400.0 * BUFFER as f64 / took;
    assert!(rate > 0.9 * (alone.0 + alone.1), "{rate} {alone:?}");
}

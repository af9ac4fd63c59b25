//! Queue pairs that are opened and closed by programs.

use device::nic::event::EventKind;
use host::queue_pair::ENTRIES;
use packet::Fault;

use super::window::play;
use super::*;

/// The number of faults of the kind `fault` that a controller has counted.
fn counted(simulation: &Simulation, nic: &str, fault: Fault) -> u64 {
    let faults = simulation.faults(nic, 0).expect("it is a controller");
    faults[fault.index()]
}

struct Two {
    simulation: Simulation,
    places: [QueuePairPlace; 2],
    buffers: [u64; 2],
}

impl Two {
    /// A simulation of two hosts, each with a place for a queue pair and some memory.
    fn new() -> Self {
        let mut simulation = simulation(&hosts(2, "", ""));
        let mut place = |nic| {
            simulation
                .place(nic, (0, 0), 7, ENTRIES)
                .expect("it is there")
        };
        let places = [place("n0"), place("n1")];
        let mut buffer = |host| simulation.allocate(host, 8192).expect("there is room");
        let buffers = [buffer("h0"), buffer("h1")];
        Self {
            simulation,
            places,
            buffers,
        }
    }
}

#[test]
fn what_programs_open_carries_every_primitive() {
    let mut two = Two::new();
    let costs_of = |two: &Two, host| costs(&two.simulation, host);
    let (own, other) = (costs_of(&two, "h0"), costs_of(&two, "h1"));
    let [here, there] = two.places;
    let [near, far] = two.buffers;
    two.simulation
        .fill("h0", near, &[3; 100])
        .expect("it is memory");
    let spawned = two.simulation.spawn("h1", move |system| async move {
        let mut pair = QueuePair::open(system.clone(), other, there).await;
        let nap = pair.arrived().await;
        assert_eq!((nap.kind, nap.len), (EventKind::Nap, 5));
        assert_eq!(system.load(nap.word, 5).await, b"hello");
        assert_eq!(pair.arrived().await.kind, EventKind::Put);
    });
    spawned.expect("a host runs programs");
    pass(&mut two.simulation, 50);
    let got = play(&mut two.simulation, "h0", move |system| async move {
        let mut pair = QueuePair::open(system.clone(), own, here).await;
        pair.nap(there.id, 1, b"hello".to_vec())
            .await
            .expect("there is room");
        let lists = (vec![item(near, 100)], vec![item(far, 100)]);
        pair.put(there.id, 2, lists).await.expect("there is room");
        assert_eq!(pair.sent().await.word, 1);
        assert_eq!(pair.sent().await.word, 2);
        let lists = (vec![item(far, 100)], vec![item(near + 4096, 100)]);
        pair.get(there.id, 3, lists).await.expect("there is room");
        assert_eq!(pair.arrived().await.kind, EventKind::Put);
        pair.finish();
        let bytes = system.load(near + 4096, 100).await;
        (bytes, pair.outstanding())
    });
    assert_eq!(got, (vec![3; 100], 0));
}

/// Sends one NAP, and asserts that its event reports no fault.
async fn nap(pair: &mut QueuePair, to: QueuePairPlace, label: u32) {
    let posted = pair.nap(to.id, label, vec![1; 8]).await;
    posted.expect("there is room");
    let event = pair.sent().await;
    assert_eq!((event.word, event.fault), (u64::from(label), None));
}

/// Sleeps until `us` microseconds after the start of the simulation.
async fn until(system: &host::System, us: u64) {
    let now = system.now().await.as_fs();
    let time = Span::from_us(us).as_fs().saturating_sub(now);
    system.sleep(Span::from_fs(time)).await;
}

#[test]
fn a_closed_pair_takes_nothing_and_may_be_opened_with_another_key() {
    let mut two = Two::new();
    let (own, other) = (costs(&two.simulation, "h0"), costs(&two.simulation, "h1"));
    let [here, there] = two.places;
    let spawned = two.simulation.spawn("h0", move |system| async move {
        let mut pair = QueuePair::open(system.clone(), own.clone(), here).await;
        until(&system, 20).await;
        for label in 0..3 {
            nap(&mut pair, there, label).await;
        }
        until(&system, 60).await;
        nap(&mut pair, there, 3).await;
        until(&system, 100).await;
        nap(&mut pair, there, 4).await;
        pair.close().await;
        let mut pair = QueuePair::open(system, own, QueuePairPlace { key: 8, ..here }).await;
        nap(&mut pair, there, 5).await;
    });
    spawned.expect("a host runs programs");
    let (first, more) = play(&mut two.simulation, "h1", move |system| async move {
        let pair = QueuePair::open(system.clone(), other.clone(), there).await;
        until(&system, 50).await;
        pair.close().await;
        until(&system, 80).await;
        let place = QueuePairPlace { key: 8, ..there };
        let mut pair = QueuePair::open(system.clone(), other, place).await;
        let event = pair.arrived().await;
        until(&system, 150).await;
        (event.len, pair.has_arrived().await)
    });
    // The earlier NAPs were dropped and are only counted: one arrived while the pair was closed, and one had the old key.
    assert_eq!((first, more), (8, false));
    assert_eq!(counted(&two.simulation, "n1", Fault::ClosedPair), 1);
    assert_eq!(counted(&two.simulation, "n1", Fault::Key), 1);
}

//! Random interleavings of clients on a few buckets; some clients give up, die or are wrongly declared dead.

use locktable::{Bucket, Table, Width};
use proptest::prelude::*;

use crate::linearizability::{Record, is_linearizable};
use crate::specification::{Call, QueueLock};
use crate::world::{Event, Standing, World};

/// The next step of a client.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Go,
    GiveUp,
    AskAgain,
    Declared(Standing),
}

/// A world, and the calls of its clients and sweeps on each lock.
struct Observed {
    world: World,
    now: u64,
    /// For each bucket the calls of each client, then the calls of each sweep.
    histories: Vec<Vec<Vec<Record>>>,
    /// The owner that each sweep removes, in the order in which the sweeps began.
    sweeps: Vec<u16>,
}

impl Observed {
    fn new(world: World) -> Self {
        let calls = vec![Vec::new(); world.clients.len()];
        Observed {
            histories: vec![calls; world.table.bucket_count() as usize],
            world,
            now: 0,
            sweeps: Vec::new(),
        }
    }

    /// Executes one step of the client or sweep with this `number`. Sweeps are numbered after the clients.
    fn turn(&mut self, number: usize, turn: Turn) {
        let clients = self.world.clients.len();
        let number = number % (clients + self.world.sweeps.len());
        let events = match turn {
            _ if number >= clients => {
                self.sweep(number - clients);
                Vec::new()
            }
            Turn::Go => Vec::from_iter(self.world.go(number)),
            Turn::GiveUp => self.world.give_up(number),
            Turn::AskAgain => Vec::from_iter(self.world.ask_again(number)),
            Turn::Declared(standing) => {
                self.declare(number, standing);
                Vec::new()
            }
        };
        for event in events {
            self.note(number, event);
        }
        self.world.check();
    }

    fn declare(&mut self, client: usize, standing: Standing) {
        if !self.world.declare_dead(client, standing) {
            return;
        }
        let owner = self.world.clients[client].owner;
        self.sweeps.push(owner.id());
        let began = self.moment();
        for calls in &mut self.histories {
            calls.push(vec![Record {
                call: Call::Remove(owner),
                began,
                ended: None,
                outcome: None,
            }]);
        }
    }

    fn sweep(&mut self, index: usize) {
        let Some(owner) = self.world.sweep(index) else {
            return;
        };
        let ended = self.moment();
        let is_it = |swept: &u16| *swept == owner.id();
        let begun = self.sweeps.iter().position(is_it).unwrap();
        let process = self.world.clients.len() + begun;
        for calls in &mut self.histories {
            calls[process][0].ended = Some(ended);
        }
    }

    fn note(&mut self, client: usize, event: Event) {
        let now = self.moment();
        match event {
            Event::Began(bucket, call) => self.calls(client, bucket).push(Record {
                call,
                began: now,
                ended: None,
                outcome: None,
            }),
            Event::Ended(bucket, outcome) => {
                let record = self.calls(client, bucket).last_mut().unwrap();
                (record.ended, record.outcome) = (Some(now), Some(outcome));
            }
            Event::Dropped(bucket) => {
                self.calls(client, bucket).pop();
            }
        }
    }

    fn calls(&mut self, client: usize, bucket: Bucket) -> &mut Vec<Record> {
        let index = self.world.index_of(bucket);
        &mut self.histories[index][client]
    }

    fn moment(&mut self) -> u64 {
        self.now += 1;
        self.now
    }
}

fn turns() -> impl Strategy<Value = Vec<(usize, Turn)>> {
    let turn = prop_oneof![
        60 => Just(Turn::Go),
        2 => Just(Turn::GiveUp),
        2 => Just(Turn::AskAgain),
        1 => Just(Turn::Declared(Standing::Dead)),
        1 => Just(Turn::Declared(Standing::Doubted)),
    ];
    // A burst is several steps of one client, so that this client advances far while the others stop.
    let burst = (0_usize..12, 1_usize..8, turn);
    proptest::collection::vec(burst, 0..120).prop_map(|bursts| {
        let repeat = |(number, count, turn)| std::iter::repeat_n((number, turn), count);
        bursts.into_iter().flat_map(repeat).collect()
    })
}

fn worlds() -> impl Strategy<Value = World> {
    let width = prop_oneof![Just(Width::Bits64), Just(Width::Bits128)];
    (width, 0_u32..3).prop_flat_map(|(width, buckets)| {
        let buckets = 1_u64 << buckets;
        let wishes = proptest::collection::vec(0..buckets, 1..5);
        proptest::collection::vec(wishes, 1..=6).prop_map(move |wishes| {
            let table = Table::new(0x1_0000, buckets, width).unwrap();
            World::new(table, &wishes)
        })
    })
}

proptest! {
    #[test]
    fn one_holds_a_lock_all_get_it_in_the_order_of_asking_and_the_dead_leave_nothing(
        world in worlds(),
        turns in turns(),
    ) {
        let mut observed = Observed::new(world);
        for (number, turn) in turns {
            observed.turn(number, turn);
        }
        // Round robin: 6 clients take 4 locks each, with about 4 calls of about 6 steps for each lock.
        for step in 0.. {
            if observed.world.is_over() {
                break;
            }
            prop_assert!(step < 20_000, "a client waits forever: {:?}", observed.world);
            observed.turn(step, Turn::Go);
        }
        let slots = observed.world.table.width().slots();
        for history in &observed.histories {
            prop_assert!(is_linearizable(QueueLock::new(slots), history), "{history:?}");
        }
    }
}

//! A world in a checkpoint: all but the probes, between two steps.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Rank, Traffic, Wires, World};
use crate::checkpoint::refuse;
use crate::{EventQueue, Time};

/// The parts of a world, with its events in their order.
#[derive(Serialize, Deserialize)]
struct Stored<W, F, S> {
    now: Time,
    last: Time,
    wires: W,
    queue: Vec<(Time, Rank, F)>,
    events: u64,
    foreground: u32,
    store: S,
}

impl<T: Traffic> Serialize for World<T>
where
    T::Frame: Serialize,
    T::Store: Serialize,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let World {
            now,
            last,
            queue,
            wires,
            events,
            foreground,
            store,
            observations,
            watched: _,
            departures,
            boundaries: _,
        } = self;
        if !observations.is_empty() || !departures.is_empty() {
            return Err(refuse("the probes have not taken all observations"));
        }
        let mut queue: Vec<_> = queue.iter().collect();
        queue.sort();
        Stored {
            now: *now,
            last: *last,
            wires,
            queue: queue
                .into_iter()
                .map(|event| (event.time, Rank(event.rank), event.payload))
                .collect(),
            events: *events,
            foreground: *foreground,
            store,
        }
        .serialize(to)
    }
}

impl<'de, T: Traffic> Deserialize<'de> for World<T>
where
    T::Frame: Deserialize<'de>,
    T::Store: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = Stored::<Vec<Wires>, Option<T::Frame>, T::Store>::deserialize(from)?;
        let mut queue = EventQueue::default();
        for (time, rank, frame) in stored.queue {
            queue.push(time, rank.0, frame);
        }
        Ok(World {
            now: stored.now,
            last: stored.last,
            queue,
            wires: stored.wires,
            events: stored.events,
            foreground: stored.foreground,
            store: stored.store,
            ..World::default()
        })
    }
}

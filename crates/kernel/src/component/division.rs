//! A world divided into regions, each with time, events and a store of its own.
//!
//! Regions meet at wires alone. A frame that leaves a region is handed to whoever runs them, as a departure, and enters the other
//! region before this one comes to the frame's time. The rank of a frame depends on its wire, which its sender has, so that the
//! order of events is that of the undivided world.

use crate::{ComponentId, Span, Time};

use super::{Rank, Traffic, World};

/// A frame on its way from one region to another.
#[derive(Clone, Copy, Debug)]
pub struct Departure<F> {
    time: Time,
    rank: Rank,
    /// The frame, which names bytes in the store of the region that it leaves.
    pub frame: F,
}

impl<F> Departure<F> {
    /// The time of the frame's arrival.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The component at which the frame arrives.
    pub fn target(&self) -> ComponentId {
        self.rank.component()
    }

    /// Whether a run need not wait for the frame.
    pub fn is_in_background(&self) -> bool {
        self.rank.is_in_background()
    }
}

impl<T: Traffic> World<T> {
    /// All wires, each with the components at its ends and its delay.
    pub fn wires(&self) -> impl Iterator<Item = (ComponentId, ComponentId, Span)> {
        let all = self.wires.iter().enumerate();
        all.flat_map(|(from, ports)| {
            let from = ComponentId(from as u32);
            let wires = ports.iter().flatten();
            wires.map(move |wire| (from, wire.to.component(), wire.delay))
        })
    }

    /// Divides a world in which nothing has happened yet into `count` regions; `region` has the region of each component.
    pub fn divide(&self, count: usize, region: impl Fn(ComponentId) -> usize) -> Vec<Self> {
        debug_assert!(self.events == 0 && self.queue.iter().next().is_none());
        let own = |number: usize| {
            let all = self.wires.iter().enumerate();
            let wires = all.map(|(from, ports)| {
                if region(ComponentId(from as u32)) != number {
                    return Vec::new();
                }
                let mut ports = ports.clone();
                for wire in ports.iter_mut().flatten() {
                    wire.leaves = region(wire.to.component()) != number;
                }
                ports
            });
            World {
                wires: wires.collect(),
                watched: self.watched,
                ..World::default()
            }
        };
        (0..count).map(own).collect()
    }

    // In its callers: a frame that this rare way reads from memory would be in memory on the other way, too.
    #[inline(always)]
    pub(super) fn depart(&mut self, time: Time, rank: Rank, frame: T::Frame) {
        self.departures.push(Departure { time, rank, frame });
    }

    /// Lets a frame from another region arrive, whose bytes are in this region's store. Its time must not be past.
    pub fn enter(&mut self, departure: Departure<T::Frame>) {
        debug_assert!(departure.time >= self.now);
        let Departure { time, rank, frame } = departure;
        if rank.is_in_background() {
            self.push_in_background(time, rank, Some(frame));
        } else {
            self.push(time, rank, Some(frame));
        }
    }

    /// The time of the next event, also if it is in the background.
    pub fn next_event(&mut self) -> Option<Time> {
        self.queue.next_time()
    }
}

//! A world divided into regions, each with time, events and a store of its own.
//!
//! Regions meet at wires alone. A frame that leaves a region is handed to whoever runs them, as a departure, and enters the other
//! region before this one comes to the frame's time. The rank of a frame depends on its wire, which its sender has, so that the
//! order of events is that of the undivided world.
//!
//! How far a region may go on without the others follows from the earliest time at which each of its wires can still bring a frame: not
//! before the sender's next event and the wire's delay, and, on a wire that carries one frame after the other, not before the end of the
//! last frame and the time of the shortest one.

use crate::{ComponentId, Span, Time};

use super::{Rank, Traffic, Wires, World};

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

/// A wire into another region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boundary {
    from: ComponentId,
    port: u32,
    region: usize,
    /// The time of the shortest frame, if frames follow each other on the wire.
    shortest: Option<Span>,
}

/// A wire of an undivided world.
#[derive(Clone, Copy, Debug)]
pub struct WireEnds {
    /// The component and the port that send.
    pub from: (ComponentId, u32),
    /// The component that receives.
    pub to: ComponentId,
    /// The time from the end of a frame's transmission to its arrival.
    pub delay: Span,
}

impl<T: Traffic> World<T> {
    /// All wires.
    pub fn wires(&self) -> impl Iterator<Item = WireEnds> {
        let all = self.wires.iter().enumerate();
        all.flat_map(|(from, ports)| {
            let from = ComponentId(from as u32);
            ports.iter().map(move |(port, wire)| WireEnds {
                from: (from, port),
                to: wire.to.component(),
                delay: wire.delay,
            })
        })
    }

    /// Divides a world before time begins into `count` regions. `region` has the region of each component. `shortest` has the time of the
    /// shortest frame that a port sends, if its frames follow each other on the wire.
    pub fn divide(
        &self,
        count: usize,
        region: impl Fn(ComponentId) -> usize,
        shortest: impl Fn(ComponentId, u32) -> Option<Span>,
    ) -> Vec<Self> {
        debug_assert!(self.events == 0 && self.queue.iter().next().is_none());
        let own = |number: usize| {
            let mut boundaries = Vec::new();
            let all = self.wires.iter().enumerate();
            let wires = all.map(|(from, ports)| {
                let from = ComponentId(from as u32);
                let mut own = Wires::default();
                let ports = ports.iter().filter(|_| region(from) == number);
                for (port, mut wire) in ports.map(|(port, wire)| (port, *wire)) {
                    let region = region(wire.to.component());
                    wire.leaves = region != number;
                    own.lay(port, wire);
                    if wire.leaves {
                        let shortest = shortest(from, port);
                        boundaries.push(Boundary {
                            from,
                            port,
                            region,
                            shortest,
                        });
                    }
                }
                own
            });
            World {
                wires: wires.collect(),
                boundaries,
                watched: self.watched,
                ..World::default()
            }
        };
        (0..count).map(own).collect()
    }

    /// Calls `tell` with a region and a time before which no frame that is sent at `now` or later arrives there, for each wire into another
    /// region.
    pub fn earliest_arrivals(&self, now: Time, mut tell: impl FnMut(usize, Time)) {
        for boundary in &self.boundaries {
            let Some(wire) = self.wires[boundary.from.0 as usize].at(boundary.port) else {
                continue;
            };
            let idle = now + wire.delay;
            let arrival = match boundary.shortest {
                None => idle,
                Some(shortest) => idle.max(wire.empty_at) + shortest,
            };
            tell(boundary.region, arrival);
        }
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
        self.push(time, rank, Some(frame));
    }

    /// The time of the next event, also if it is in the background.
    pub fn next_event(&mut self) -> Option<Time> {
        self.queue.next_time()
    }
}

//! A world divided into regions. Each region has its own time, events and store.
//!
//! Regions are connected by wires only. If a frame leaves a region, the caller that runs the regions receives it as a [`Departure`], and
//! passes it to the other region before that region reaches the arrival time of the frame. The rank of a frame depends only on its wire,
//! which is in the region of the sender, so the order of events is the same as in the undivided world.
//!
//! A region may run without the other regions until the earliest time at which a frame can arrive on one of its wires. This is not before
//! the sender's next event plus the delay of the wire. If frames follow each other on the wire, it is also not before the arrival of the
//! last frame plus the time of the shortest frame.

use crate::{ComponentId, Span, Time};

use super::{Rank, Traffic, Wires, World};

/// A frame on its way from one region to another.
#[derive(Clone, Copy, Debug)]
pub struct Departure<F> {
    time: Time,
    rank: Rank,
    /// The frame, which refers to bytes in the store of the region that it leaves.
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

    /// Whether the frame is in the background, so that a run does not wait for it.
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

    /// Divides a world into `count` regions before its first event. `region` returns the region of a component. `shortest` returns the time
    /// of the shortest frame from a port, if the frames from this port follow each other on the wire.
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

    /// Calls `tell` for each wire into another region, with this region and the earliest time at which a frame that is sent at `now` or
    /// later can arrive there.
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

    // Inlined into its callers: otherwise this rare case would make the compiler keep the frame in memory in the frequent case, too.
    #[inline(always)]
    pub(super) fn depart(&mut self, time: Time, rank: Rank, frame: T::Frame) {
        self.departures.push(Departure { time, rank, frame });
    }

    /// Schedules the arrival of a frame from another region. The bytes of the frame are in the store of this region. The arrival must not
    /// be in the past.
    pub fn enter(&mut self, departure: Departure<T::Frame>) {
        debug_assert!(departure.time >= self.now);
        let Departure { time, rank, frame } = departure;
        self.push(time, rank, Some(frame));
    }

    /// The time of the next event, including events in the background.
    pub fn next_event(&mut self) -> Option<Time> {
        self.queue.next_time()
    }
}

//! The connection between two link ends: the time, and wires that record frames and treat them as a test requires.

use kernel::{EventQueue, Span, Time};
use link::{EndContext, LinkContext, LinkTimer};
use packet::{Charge, Frame, Observation, Packets, TlpFrame};
use protocol::Dllp;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}
pub use Side::{Left, Right};

impl Side {
    pub fn far(self) -> Side {
        match self {
            Left => Right,
            Right => Left,
        }
    }
}

/// The effect of the wire on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    /// The frame never arrives.
    Lose,
    /// The frame arrives with a wrong sequence number.
    Damage,
    /// The frame arrives nullified.
    Nullify,
}

/// A frame that has left an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    pub from: Side,
    pub start: Time,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    Tlp {
        /// The number of the packet, in the order in which the test sends packets.
        number: u64,
        sequence: u16,
        replay: bool,
        length: Span,
    },
    Dllp(Dllp),
}

/// A future event at an end.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    Arrive(Side, Frame),
    Expire(Side, LinkTimer),
    Free(Side, Charge),
}

pub type Wish = Box<dyn FnMut(Side, &Frame) -> Fate>;

/// The time, the wires and the frames in flight.
pub struct Shared {
    pub now: Time,
    pub queue: EventQueue<Option<Happening>>,
    /// The number of events scheduled so far. The rank of an event is twice this number, plus one if the event is in the background.
    pub scheduled: u64,
    /// The number of events in the queue that are not in the background.
    pub foreground: u64,
    pub packets: Packets,
    pub passed: Vec<Passed>,
    /// The use of each wire: when each frame and each ordered set begins, and how long it takes.
    pub uses: [Vec<(Time, Span)>; 2],
    pub delay: Span,
    pub wish: Wish,
    pub is_watched: bool,
}

impl Shared {
    pub fn schedule(&mut self, time: Time, what: Happening) {
        self.queue.push(time, self.scheduled * 2, Some(what));
        self.scheduled += 1;
        self.foreground += 1;
    }

    pub fn schedule_in_background(&mut self, time: Time, what: Happening) {
        self.queue.push(time, self.scheduled * 2 + 1, Some(what));
        self.scheduled += 1;
    }
}

/// The interface of one end to the shared state.
pub struct Context<'w> {
    pub world: &'w mut Shared,
    pub side: Side,
}

impl EndContext for Context<'_> {}

impl LinkContext for Context<'_> {
    fn now(&self) -> Time {
        self.world.now
    }
    fn packets(&mut self) -> &mut Packets {
        &mut self.world.packets
    }
    fn send(&mut self, frame: Frame, after: Span) {
        let frame = match ((self.world.wish)(self.side, &frame), frame) {
            // A port repeats training ordered sets many times, so the loss of one of them changes nothing.
            (Fate::Pass, frame) | (_, frame @ Frame::OrderedSet(_)) => frame,
            (Fate::Damage, Frame::Tlp(tlp)) => {
                let sequence = (tlp.sequence + 1000) % 4096;
                Frame::Tlp(TlpFrame { sequence, ..tlp })
            }
            (Fate::Nullify, Frame::Tlp(tlp)) => Frame::Tlp(TlpFrame {
                nullified: true,
                ..tlp
            }),
            (_, Frame::Tlp(tlp)) => return self.world.packets.release(tlp.packet),
            (_, _) => return,
        };
        let time = self.world.now + after + self.world.delay;
        self.world
            .schedule(time, Happening::Arrive(self.side.far(), frame));
    }
    fn wake(&mut self, timer: LinkTimer, after: Span) {
        let time = self.world.now + after;
        self.world
            .schedule(time, Happening::Expire(self.side, timer));
    }
    fn send_in_background(&mut self, frame: Frame, after: Span) {
        let time = self.world.now + after + self.world.delay;
        let arrival = Happening::Arrive(self.side.far(), frame);
        if (self.world.wish)(self.side, &frame) == Fate::Pass {
            self.world.schedule_in_background(time, arrival);
        }
    }
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span) {
        let time = self.world.now + after;
        let expiry = Happening::Expire(self.side, timer);
        self.world.schedule_in_background(time, expiry);
    }
    fn watched(&self) -> bool {
        self.world.is_watched
    }
    fn observe(&mut self, what: Observation) {
        self.world.uses[self.side as usize].extend(uses(&what));
        let (start, what) = match what {
            Observation::Packet {
                sequence,
                packet,
                replay,
                start,
                length,
                ..
            } => (
                start,
                What::Tlp {
                    number: self.world.packets[packet].stamp.offset,
                    sequence,
                    replay,
                    length,
                },
            ),
            Observation::Dllp { bytes, start, .. } => {
                let dllp = Dllp::parse(&bytes).expect("an end sends valid DLLPs");
                (start, What::Dllp(dllp))
            }
            _ => return,
        };
        let from = self.side;
        self.world.passed.push(Passed { from, start, what });
    }
    fn port(&self) -> u16 {
        0
    }
}

/// The times during which an observation of a link end occupies the wire.
fn uses(what: &Observation) -> Vec<(Time, Span)> {
    match *what {
        Observation::Packet { start, length, .. }
        | Observation::Dllp { start, length, .. }
        | Observation::Training { start, length, .. } => vec![(start, length)],
        Observation::OrderedSets {
            start,
            count,
            length,
            interval,
            ..
        } => {
            let sets = (0..u64::from(count)).map(|set| (start + interval * set, length));
            sets.collect()
        }
        _ => Vec::new(),
    }
}

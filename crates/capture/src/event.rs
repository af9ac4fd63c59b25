//! Events on wires, in the form that every format and the filter of captures read.

use kernel::{ComponentId, Observed, Span, Time};
use packet::{Block, FibreFrame, Observation, OrderedSet, Packet, Packets, Verdict};
use protocol::Dllp;

use super::kind::Kind;
use super::names::{DirectionId, Names};

/// Something that takes a wire, or arrives from it.
#[derive(Clone, Copy, Debug)]
pub struct WireEvent<'a> {
    /// The component that reported it.
    pub by: ComponentId,
    /// The port of the component.
    pub port: u16,
    pub direction: DirectionId,
    /// The time at which its first bit takes the wire; of an arrival, the time at which its last bit has arrived.
    pub at: Time,
    /// The time at which it was reported.
    pub now: Time,
    /// The departure or the arrival.
    pub what: What<'a>,
    /// The names of links, components and flows.
    pub names: &'a Names,
}

/// A departure or an arrival.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// Something takes a wire.
    Departure(Departure<'a>),
    /// Something has arrived from a wire.
    Arrival(Arrival),
}

/// Something that takes a wire.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    pub kind: Kind,
    /// The time that it takes on the wire; of several ordered sets, the time of each.
    pub length: Span,
    /// The fields that its kind has.
    pub content: Content<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A TLP.
    Tlp {
        packet: &'a Packet,
        sequence: u16,
        /// Whether it was sent before.
        replay: bool,
        /// Whether it ends with EDB, so that the receiver discards it.
        nullified: bool,
    },
    /// A DLLP; its content is `None` if it is wrong or unknown.
    Dllp { bytes: [u8; 6], dllp: Option<Dllp> },
    /// SKP ordered sets at equal distances.
    OrderedSets(OrderedSets),
    /// Ordered sets that train a link, with the bytes of one over all lanes.
    Training { set: OrderedSet, bytes: u32 },
    /// A frame on a fibre.
    Frame {
        frame: FibreFrame,
        packet: &'a Packet,
        /// Whether it was sent before.
        replay: bool,
    },
    /// A control block on a fibre.
    Block(Block),
}

/// SKP ordered sets at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedSets {
    pub count: u32,
    /// The bytes of each over all lanes, with its EDS token.
    pub bytes: u16,
    /// The bytes of the EDS token before each.
    pub token_bytes: u8,
    /// The time from the beginning of one to that of the next.
    pub interval: Span,
}

/// The arrival of a TLP or DLLP, and the decision of the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The mark that its departure has, too.
    pub mark: Mark,
    /// The decision of the receiver.
    pub verdict: Verdict,
    pub wrong_bits: u16,
}

/// A packet by what its departure and its arrival have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A TLP with this sequence number.
    Tlp(u16),
    /// A DLLP with these bytes.
    Dllp([u8; 6]),
}

impl<'a> WireEvent<'a> {
    /// The event on a wire that an observation reports, if it reports one.
    pub fn of(
        seen: &Observed<Observation>,
        packets: &'a Packets,
        names: &'a Names,
    ) -> Option<WireEvent<'a>> {
        let departure = departure(&seen.what, packets);
        let departure = departure.map(|(port, at, one)| (port, at, What::Departure(one)));
        let arrival = || arrival(seen).map(|(port, at, one)| (port, at, What::Arrival(one)));
        let (port, at, what) = departure.or_else(arrival)?;
        let end = names.end(seen.by, port);
        Some(WireEvent {
            by: seen.by,
            port,
            direction: match what {
                What::Departure(_) => end.leaves,
                What::Arrival(_) => end.arrives,
            },
            at,
            now: seen.at,
            what,
            names,
        })
    }

    /// The times at which single transmissions begin: all of several ordered sets, and none of what has no length or trains a link.
    pub fn starts(&self) -> impl Iterator<Item = Time> {
        let (count, interval) = match self.what {
            What::Departure(departure) => match departure.content {
                Content::OrderedSets(sets) => (sets.count, sets.interval),
                Content::Training { .. } | Content::Block(_) => (0, Span::ZERO),
                _ => (1, Span::ZERO),
            },
            What::Arrival(_) => (0, Span::ZERO),
        };
        let at = self.at;
        (0..count).map(move |number| at + interval * u64::from(number))
    }
}

/// The departure that an observation reports, if it reports one, with its port and the time at which its first bit leaves.
#[inline]
fn departure<'a>(what: &Observation, packets: &'a Packets) -> Option<(u16, Time, Departure<'a>)> {
    let departs = |port, at, kind, length, content| {
        let departure = Departure {
            kind,
            length,
            content,
        };
        (port, at, departure)
    };
    Some(match *what {
        Observation::Packet {
            port,
            sequence,
            packet,
            replay,
            nullified,
            start,
            length,
        } => {
            let packet = &packets[packet];
            let content = Content::Tlp {
                packet,
                sequence,
                replay,
                nullified,
            };
            departs(port, start, Kind::of_tlp(packet.header()), length, content)
        }
        Observation::Dllp {
            port,
            bytes,
            start,
            length,
        } => {
            let dllp = Dllp::parse(&bytes).ok();
            let content = Content::Dllp { bytes, dllp };
            departs(port, start, Kind::of_dllp(dllp.as_ref()), length, content)
        }
        Observation::OrderedSets {
            port,
            count,
            bytes,
            token_bytes,
            start,
            length,
            interval,
        } => {
            let sets = OrderedSets {
                count,
                bytes,
                token_bytes,
                interval,
            };
            departs(port, start, Kind::Skip, length, Content::OrderedSets(sets))
        }
        Observation::Training {
            port,
            set,
            bytes,
            start,
            length,
        } => {
            let content = Content::Training { set, bytes };
            departs(port, start, Kind::Training, length, content)
        }
        Observation::Fibre {
            port,
            frame,
            replay,
            start,
            length,
        } => {
            let content = Content::Frame {
                frame,
                packet: &packets[frame.packet],
                replay,
            };
            departs(port, start, Kind::Frame, length, content)
        }
        Observation::Block { port, block, start } => {
            let content = Content::Block(block);
            departs(port, start, Kind::Block, Span::ZERO, content)
        }
        _ => return None,
    })
}

/// The arrival that an observation reports, if it reports one, with its port and the time at which its last bit has arrived.
#[inline]
fn arrival(seen: &Observed<Observation>) -> Option<(u16, Time, Arrival)> {
    match seen.what {
        Observation::PacketArrival {
            port,
            sequence,
            verdict,
            wrong_bits,
            end,
        } => {
            let arrival = Arrival {
                mark: Mark::Tlp(sequence),
                verdict,
                wrong_bits,
            };
            Some((port, end, arrival))
        }
        Observation::DllpArrival {
            port,
            bytes,
            verdict,
            wrong_bits,
        } => {
            let arrival = Arrival {
                mark: Mark::Dllp(bytes),
                verdict,
                wrong_bits,
            };
            Some((port, seen.at, arrival))
        }
        _ => None,
    }
}

impl<'a> Departure<'a> {
    /// The packet of a TLP or of a frame.
    pub fn packet(&self) -> Option<&'a Packet> {
        match self.content {
            Content::Tlp { packet, .. } | Content::Frame { packet, .. } => Some(packet),
            _ => None,
        }
    }

    /// The mark that the arrival has, too; only TLPs and DLLPs have arrivals.
    pub fn mark(&self) -> Option<Mark> {
        match self.content {
            Content::Tlp { sequence, .. } => Some(Mark::Tlp(sequence)),
            Content::Dllp { bytes, .. } => Some(Mark::Dllp(bytes)),
            _ => None,
        }
    }

    /// The sequence number of a TLP or frame, or the one that a DLLP acknowledges or refuses.
    pub fn sequence(&self) -> Option<u16> {
        match self.content {
            Content::Tlp { sequence, .. }
            | Content::Dllp {
                dllp: Some(Dllp::Ack { sequence } | Dllp::Nak { sequence }),
                ..
            } => Some(sequence),
            Content::Frame { frame, .. } => Some(frame.sequence),
            _ => None,
        }
    }
}

/// The transmissions on one wire in ticks of a picosecond, none shorter than a tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    until: u64,
}

impl Ticks {
    /// The beginning and the end of the next transmission, which takes the wire at `start`. Rounding keeps the order, so that a
    /// transmission begins before another ends only where that one is shorter than a tick.
    pub fn next(&mut self, start: Time, length: Span) -> (u64, u64) {
        let begin = ticks(start).max(self.until);
        self.until = ticks(start + length).max(begin + 1);
        (begin, self.until)
    }
}

/// Whole ticks of a picosecond until `time`.
pub fn ticks(time: Time) -> u64 {
    time.as_fs() / 1000
}

//! Events on wires, in the form that all capture formats and the filter use.

use kernel::{ComponentId, Observed, Span, Time};
use packet::{Block, FibreFrame, Observation, OrderedSet, Packet, Packets, Verdict};
use protocol::Dllp;

use super::kind::Kind;
use super::names::{DirectionId, Names};

/// The departure of a packet, ordered set or block onto a wire, or its arrival.
#[derive(Clone, Copy, Debug)]
pub struct WireEvent<'a> {
    /// The component that reported the event.
    pub by: ComponentId,
    /// The port of the component.
    pub port: u16,
    pub direction: DirectionId,
    /// For a departure: the time at which the first bit is on the wire. For an arrival: the time at which the last bit has arrived.
    pub at: Time,
    /// The time at which the event was reported.
    pub now: Time,
    /// The departure or the arrival.
    pub what: What<'a>,
    /// The names of links, components and flows.
    pub names: &'a Names,
}

/// A departure or an arrival.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// The transmission of a packet, ordered set or block begins.
    Departure(Departure<'a>),
    /// A TLP or DLLP has arrived.
    Arrival(Arrival),
}

/// The transmission of a packet, ordered set or block on a wire.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    pub kind: Kind,
    /// The transmission time. For several ordered sets, it is the time of each of them.
    pub length: Span,
    /// The fields that depend on the kind.
    pub content: Content<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A TLP.
    Tlp {
        packet: &'a Packet,
        sequence: u16,
        /// Whether this is a retransmission.
        replay: bool,
        /// Whether the TLP ends with EDB, so that the receiver discards it.
        nullified: bool,
    },
    /// A DLLP. `dllp` is `None` if the content is wrong or unknown.
    Dllp { bytes: [u8; 6], dllp: Option<Dllp> },
    /// SKP ordered sets at equal intervals.
    OrderedSets(OrderedSets),
    /// Ordered sets that train a link; `bytes` is the size of one ordered set over all lanes.
    Training { set: OrderedSet, bytes: u32 },
    /// A frame on a fibre.
    Frame {
        frame: FibreFrame,
        packet: &'a Packet,
        /// Whether this is a retransmission.
        replay: bool,
    },
    /// A control block on a fibre.
    Block(Block),
}

/// SKP ordered sets at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedSets {
    pub count: u32,
    /// The bytes of each ordered set over all lanes, including its EDS token.
    pub bytes: u16,
    /// The bytes of the EDS token before each ordered set.
    pub token_bytes: u8,
    /// The time from the beginning of one ordered set to the beginning of the next.
    pub interval: Span,
}

/// The arrival of a TLP or DLLP, and the decision of the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The mark that identifies the packet. Its departure has the same mark.
    pub mark: Mark,
    /// The decision of the receiver.
    pub verdict: Verdict,
    pub wrong_bits: u16,
}

/// The identification of a packet, which is the same for its departure and its arrival.
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

    /// The times at which single transmissions begin: one for a packet, and one for each of several ordered sets. Control blocks, which have no
    /// length, training ordered sets and arrivals have none.
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

    /// The mark that identifies the packet at its arrival. Only TLPs and DLLPs have arrivals.
    pub fn mark(&self) -> Option<Mark> {
        match self.content {
            Content::Tlp { sequence, .. } => Some(Mark::Tlp(sequence)),
            Content::Dllp { bytes, .. } => Some(Mark::Dllp(bytes)),
            _ => None,
        }
    }

    /// The sequence number of a TLP or frame, or the sequence number in an Ack or Nak DLLP.
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

/// Converts the times of the transmissions on one wire into ticks of a picosecond. Each transmission is at least one tick long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    until: u64,
}

impl Ticks {
    /// The beginning and the end of the next transmission, which begins at `start`. Rounding does not change the order, so transmissions do not
    /// overlap; a beginning is moved to a later tick only if the previous transmission is shorter than a tick.
    pub fn next(&mut self, start: Time, length: Span) -> (u64, u64) {
        let begin = ticks(start).max(self.until);
        self.until = ticks(start + length).max(begin + 1);
        (begin, self.until)
    }
}

/// The number of whole ticks of a picosecond until `time`.
pub fn ticks(time: Time) -> u64 {
    time.as_fs() / 1000
}

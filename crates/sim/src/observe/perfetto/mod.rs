//! Perfetto traces: a track for each direction of each link, with a slice for each transmission, and counters of queues and credit.
//!
//! Perfetto counts time in whole nanoseconds. A tick here is a picosecond, so that no transmission is shorter than a tick; the trace
//! says so in its attributes, in the name of its first track and by a clock of its own.

mod annotations;
mod counters;
mod event;
mod messages;
mod texts;
mod tracks;

use kernel::{Span, Time};
use packet::{Observation, Packets};
use protocol::{Class, Dllp};

use super::capture::kind::Kind;
use super::capture::names::{DirectionId, Names, WireEnd};
use super::capture::{Filter, Format, Look, WireEvent};
use counters::Counters;
use event::{Buffer, Events};
use messages::{
    Attribute, Clock, ClockSnapshot, INCREMENTAL_STATE_CLEARED, SEQUENCE, TraceAttributes,
    TracePacket, TracePacketDefaults, append,
};
use tracks::Track;

/// The format of Perfetto traces.
#[derive(Debug, Default)]
pub struct Perfetto {
    buffer: Buffer,
    directions: Vec<Shown>,
    counters: Counters,
    /// The direction in which each port of each component sends, if its link has counters.
    ports: Vec<Vec<Option<DirectionId>>>,
}

/// The part of the trace about one direction, so far.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// Whether the track of the direction, and that of its link, are described.
    is_described: bool,
    /// The end of the last slice, in ticks.
    slices_until: u64,
}

/// A clock that only this sequence has: ticks of one picosecond.
const PICOSECONDS: u32 = 64;
/// The clock of the trace, by Perfetto's number of it.
const BOOT_TIME: u32 = 6;

const UNIT: &str = "1 ns of this trace is 1 ps of simulated time";

impl Format for Perfetto {
    fn begin(&mut self, names: &Names, filter: &Filter, out: &mut Vec<u8>) {
        let directions = names.directions().len();
        self.directions = vec![Shown::default(); directions];
        self.counters = Counters::new(directions);
        self.ports = names
            .components()
            .map(|one| ports(names.ends(one), names, filter))
            .collect();
        let clock = |clock_id| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(0),
        };
        let texts = [
            ("timestamp_unit", "1 ps"),
            ("time", UNIT),
            (
                "written_by",
                concat!("peerlane ", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let attribute = texts.map(|(key, value)| Attribute {
            key: Some(key.to_owned()),
            string_value: Some(value.to_owned()),
        });
        let first = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            clock_snapshot: Some(ClockSnapshot {
                clocks: [PICOSECONDS, BOOT_TIME].map(clock).to_vec(),
                primary_trace_clock: Some(BOOT_TIME),
            }),
            ..TracePacket::default()
        };
        let defaults = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(PICOSECONDS),
            }),
            interned_data: Some(texts::all(names)),
            ..TracePacket::default()
        };
        let attributes = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            trace_attributes: Some(TraceAttributes {
                attribute: attribute.to_vec(),
            }),
            ..TracePacket::default()
        };
        for packet in [first, defaults, attributes] {
            append(&packet, out);
        }
        tracks::describe_root(&format!("links ({UNIT})"), UNIT, out);
    }

    fn has_arrivals(&self) -> bool {
        false
    }

    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        match *event.what {
            Observation::Packet { packet, length, .. } => {
                let content = &event.packets[packet];
                let kind = Kind::of_tlp(content.header());
                self.slice(event, kind, (event.at, length), out, |to| {
                    annotations::tlp(event, content, to.flow(content.number() + 1))
                });
            }
            Observation::Dllp { bytes, length, .. } => {
                let dllp = Dllp::parse(&bytes).ok();
                let kind = Kind::of_dllp(dllp.as_ref());
                self.slice(event, kind, (event.at, length), out, |to| {
                    annotations::dllp(dllp.as_ref(), to)
                });
            }
            Observation::OrderedSets {
                count,
                bytes,
                token_bytes,
                length,
                interval,
                ..
            } => {
                for number in 0..count {
                    let start = event.at + interval * u64::from(number);
                    self.slice(event, Kind::Skip, (start, length), out, |to| {
                        annotations::ordered_set(bytes, token_bytes, to)
                    });
                }
            }
            Observation::Fibre { frame, length, .. } => {
                let content = &event.packets[frame.packet];
                self.slice(event, Kind::Frame, (event.at, length), out, |to| {
                    annotations::fibre(event, content, to.flow(content.number() + 1))
                });
            }
            _ => {}
        }
    }

    fn look(&mut self, look: &Look<'_>, filter: &Filter, out: &mut Vec<u8>) {
        let ports = &self.ports[look.id.0 as usize];
        if ports.is_empty() || !filter.passes_time(look.now) {
            return;
        }
        let counters = &mut self.counters;
        look.model.each_link(|port, link| {
            if let Some(Some(direction)) = ports.get(port) {
                counters.count_queues(*direction, link);
            }
        });
        for told in look.observed {
            if let Some((port, class)) = credited(&told.what, look.packets)
                && let Some(Some(direction)) = ports.get(port)
                && let Some(link) = look.model.link(port)
            {
                counters.count_credit((*direction, class), link);
            }
        }
        if !counters.changed().is_empty() {
            self.write_counters(look, out);
        }
    }
}

/// The direction in which each port of a component sends, if its link passes `filter` and has counters; empty if no link has.
fn ports(ends: &[Option<WireEnd>], names: &Names, filter: &Filter) -> Vec<Option<DirectionId>> {
    let counted = |direction: &DirectionId| {
        // A fibre has no credit of this kind.
        names.direction(*direction).has_dllps && filter.passes_direction(*direction)
    };
    let leaves = |end: &Option<WireEnd>| end.map(|end| end.leaves).filter(counted);
    let ports: Vec<_> = ends.iter().map(leaves).collect();
    if ports.iter().all(Option::is_none) {
        return Vec::new();
    }
    ports
}

/// The port and the class of which an event has spent credit, because a TLP has left, or may have been given some, by a DLLP.
fn credited(what: &Observation, packets: &Packets) -> Option<(usize, Class)> {
    match what {
        Observation::Packet { port, packet, .. } => {
            Some((usize::from(*port), packets[*packet].header().class()))
        }
        Observation::DllpArrival { port, bytes, .. } => match Dllp::parse(bytes) {
            Ok(Dllp::InitFc1(credit) | Dllp::InitFc2(credit) | Dllp::UpdateFc(credit)) => {
                Some((usize::from(*port), credit.class))
            }
            _ => None,
        },
        _ => None,
    }
}

impl Perfetto {
    /// Appends a slice of what `event` tells of, with the fields that `annotate` adds.
    fn slice(
        &mut self,
        event: &WireEvent<'_>,
        kind: Kind,
        (start, length): (Time, Span),
        out: &mut Vec<u8>,
        annotate: impl FnOnce(Events<'_>) -> Events<'_>,
    ) {
        self.describe(event.direction, event.names, out);
        let shown = &mut self.directions[event.direction.0];
        // Rounding to ticks keeps the order, so that a slice begins before another ends only where that one is shorter than a tick.
        let begin = ticks(start).max(shown.slices_until);
        let end = ticks(start + length).max(begin + 1);
        shown.slices_until = end;
        let track = Track::Wire.uuid(event.direction);
        let name = texts::name(kind);
        annotate(self.buffer.events().begin_slice(track, name))
            .end(begin)
            .end_slice(track, end)
            .append(out);
    }

    /// Appends the counters that have changed, after the descriptions of those that are new.
    fn write_counters(&mut self, look: &Look<'_>, out: &mut Vec<u8>) {
        if self.counters.has_new() {
            self.describe_counters(look.names, out);
        }
        let now = ticks(look.now);
        let mut left = self.counters.changed();
        while let Some((values, more)) = left.split_at_checked(event::COUNTERS) {
            self.buffer.events().counters(now, values).append(out);
            left = more;
        }
        if !left.is_empty() {
            self.buffer.events().counters(now, left).append(out);
        }
        self.counters.forget_changes();
    }

    fn describe_counters(&mut self, names: &Names, out: &mut Vec<u8>) {
        for (direction, track) in self.counters.take_new() {
            self.describe(direction, names, out);
            track.describe(direction, names, out);
        }
    }

    /// Appends the descriptions of the track of a direction and of its link, unless they are there.
    fn describe(&mut self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        if !self.directions[direction.0].is_described {
            self.describe_new(direction, names, out);
        }
    }

    fn describe_new(&mut self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        // The link may be described again by its other direction, in the same words.
        tracks::describe_link(direction, names, out);
        Track::Wire.describe(direction, names, out);
        self.directions[direction.0].is_described = true;
    }
}

/// Whole ticks until `time`.
fn ticks(time: Time) -> u64 {
    time.as_fs() / 1000
}

//! Perfetto traces: a track for each direction of each link, with a slice for each transmission, and counters of queues and credit.
//!
//! Perfetto counts time in whole nanoseconds. A tick here is a picosecond, so that no transmission is shorter than a tick; the trace
//! says so in its attributes, in the name of its first track and by a clock of its own.

mod annotations;
mod event;
mod messages;
mod texts;
mod tracks;

use std::mem;

use kernel::{Span, Time};
use link::LinkEnd;
use packet::Observation;
use protocol::{Class, Dllp};

use super::capture::kind::Kind;
use super::capture::names::{DirectionId, Names, WireEnd};
use super::capture::{Filter, Format, Look, WireEvent};
use event::Event;
use messages::{
    Attribute, Clock, ClockSnapshot, INCREMENTAL_STATE_CLEARED, SEQUENCE, TraceAttributes,
    TracePacket, TracePacketDefaults, append,
};
use tracks::Track;

/// The format of Perfetto traces.
#[derive(Debug, Default)]
pub struct Perfetto {
    event: Event,
    directions: Vec<Shown>,
    /// The last value of each counter, by the place of its track, for one direction after the other.
    values: Vec<Option<u64>>,
    /// The last lengths of the queue and of the replay buffer of each direction.
    queues: Vec<[u64; 2]>,
    /// The ports of each component whose links have counters, and the directions in which they send.
    ports: Vec<Vec<(usize, DirectionId)>>,
}

/// The part of the trace about one direction, so far.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// Whether the track of the direction, and that of its link, are described.
    is_described: bool,
    /// Whether the trace has the credit of its link, which has come up.
    has_credit: bool,
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
        self.values = vec![None; directions * tracks::EACH];
        // No queue has this length, so that the first look shows both.
        self.queues = vec![[u64::MAX; 2]; directions];
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

    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        match *event.what {
            Observation::Packet { packet, length, .. } => {
                let content = &event.packets[packet];
                let kind = Kind::of_tlp(content.header());
                let end = self.begin_slice(event, kind, (event.at, length), out);
                self.event.flow(content.number() + 1);
                annotations::tlp(event, content, &mut self.event);
                self.end_slice(event.direction, end, out);
            }
            Observation::Dllp { bytes, .. } => {
                let dllp = Dllp::parse(&bytes).ok();
                let kind = Kind::of_dllp(dllp.as_ref());
                let length = event.names.direction(event.direction).dllp;
                let length = length.unwrap_or(Span::ZERO);
                let end = self.begin_slice(event, kind, (event.at, length), out);
                annotations::dllp(dllp.as_ref(), &mut self.event);
                self.end_slice(event.direction, end, out);
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
                    let end = self.begin_slice(event, Kind::Skip, (start, length), out);
                    annotations::ordered_set(bytes, token_bytes, &mut self.event);
                    self.end_slice(event.direction, end, out);
                }
            }
            Observation::Fibre { frame, length, .. } => {
                let content = &event.packets[frame.packet];
                let end = self.begin_slice(event, Kind::Frame, (event.at, length), out);
                self.event.flow(content.number() + 1);
                annotations::fibre(event, content, &mut self.event);
                self.end_slice(event.direction, end, out);
            }
            _ => {}
        }
    }

    #[inline]
    fn look(&mut self, look: &Look<'_>, filter: &Filter, out: &mut Vec<u8>) {
        if !filter.passes_time(look.now) {
            return;
        }
        let ports = mem::take(&mut self.ports);
        for (port, direction) in &ports[look.id.0 as usize] {
            let Some(link) = look.model.link(*port) else {
                continue;
            };
            let queues = [link.waiting() as u64, link.replay_buffer_bytes()];
            if self.queues[direction.0] != queues {
                self.queues[direction.0] = queues;
                let [waiting, kept] = queues;
                self.count((*direction, Track::Waiting), waiting, look, out);
                self.count((*direction, Track::ReplayBuffer), kept, look, out);
            }
            // Before, there is no credit, and it is not known which is infinite.
            if link.is_up() {
                let is_new = !mem::replace(&mut self.directions[direction.0].has_credit, true);
                let every = Class::ALL.into_iter().filter(|_| is_new);
                for class in every.chain(credited(look, *port)) {
                    self.credit((*direction, class), link, look, out);
                }
            }
        }
        self.ports = ports;
    }
}

/// The ports of a component with links that pass `filter`, and the directions in which they send.
fn ports(ends: &[Option<WireEnd>], names: &Names, filter: &Filter) -> Vec<(usize, DirectionId)> {
    let ends = ends.iter().enumerate();
    let sending = ends.filter_map(|(port, end)| Some((port, end.as_ref()?.leaves)));
    let counted = sending.filter(|(_, direction)| {
        // A fibre has no credit of this kind.
        names.direction(*direction).dllp.is_some() && filter.passes_direction(*direction)
    });
    counted.collect()
}

/// The classes of which a port has spent credit during an event, because a TLP has left, or may have been given some, by a DLLP.
fn credited(look: &Look<'_>, port: usize) -> impl Iterator<Item = Class> {
    look.observed
        .iter()
        .filter_map(move |told| match told.what {
            Observation::Packet {
                port: at, packet, ..
            } if usize::from(at) == port => Some(look.packets[packet].header().class()),
            Observation::DllpArrival {
                port: at, bytes, ..
            } if usize::from(at) == port => match Dllp::parse(&bytes) {
                Ok(Dllp::InitFc1(credit) | Dllp::InitFc2(credit) | Dllp::UpdateFc(credit)) => {
                    Some(credit.class)
                }
                _ => None,
            },
            _ => None,
        })
}

impl Perfetto {
    /// Begins the event of a slice. Returns the end of the slice, in ticks.
    #[inline]
    fn begin_slice(
        &mut self,
        event: &WireEvent<'_>,
        kind: Kind,
        (start, length): (Time, Span),
        out: &mut Vec<u8>,
    ) -> u64 {
        self.describe(event.direction, event.names, out);
        let shown = &mut self.directions[event.direction.0];
        // Rounding to ticks keeps the order, so that a slice begins before another ends only where that one is shorter than a tick.
        let begin = ticks(start).max(shown.slices_until);
        let end = ticks(start + length).max(begin + 1);
        shown.slices_until = end;
        let track = Track::Wire.uuid(event.direction);
        self.event.begin_slice(track, begin).name(texts::name(kind));
        end
    }

    /// Appends the slice that was begun, and its end.
    #[inline]
    fn end_slice(&mut self, direction: DirectionId, end: u64, out: &mut Vec<u8>) {
        self.event.end(out);
        event::append_slice_end(Track::Wire.uuid(direction), end, out);
    }

    /// Appends the credit of one class that has changed.
    fn credit(
        &mut self,
        (direction, class): (DirectionId, Class),
        link: &LinkEnd,
        look: &Look<'_>,
        out: &mut Vec<u8>,
    ) {
        for (channel, left) in (0..).zip(link.credit_left(class)) {
            for (is_data, left) in [(false, left.headers), (true, left.data)] {
                let track = Track::Credit {
                    channel,
                    class,
                    is_data,
                };
                if let Some(left) = left {
                    self.count((direction, track), left.into(), look, out);
                }
            }
        }
    }

    /// Appends the value of a counter if it is new.
    #[inline]
    fn count(
        &mut self,
        (direction, track): (DirectionId, Track),
        value: u64,
        look: &Look<'_>,
        out: &mut Vec<u8>,
    ) {
        let place = direction.0 * tracks::EACH + track.place();
        let last = self.values[place].replace(value);
        if last == Some(value) {
            return;
        }
        if last.is_none() {
            self.describe(direction, look.names, out);
            track.describe(direction, look.names, out);
        }
        let uuid = track.uuid(direction);
        event::append_counter(uuid, ticks(look.now), value, out);
    }

    /// Appends the descriptions of the track of a direction and of its link, unless they are there.
    #[inline]
    fn describe(&mut self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        if self.directions[direction.0].is_described {
            return;
        }
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

//! Perfetto traces: a track for each direction of each link, with a slice for each transmission, and counters of queues and credit.
//!
//! Perfetto counts time in whole nanoseconds. Here, one of these nanoseconds (a tick) stands for a picosecond of simulated time, so that no
//! transmission is shorter than a tick. The attributes of the trace, the name of its first track and a separate clock declare this.

mod counters;
mod event;
mod message;
mod tracks;

use packet::{Observation, Packets};
use protocol::{Class, Dllp};

use crate::event::{Ticks, What, WireEvent, ticks};
use crate::fields::{Field, words};
use crate::kind::Kind;
use crate::names::{DirectionId, Names, WireEnd};
use crate::{Filter, Format, Look};
use counters::Counters;
use message::Message;
use tracks::Track;

/// The format of Perfetto traces.
#[derive(Debug, Default)]
pub struct Perfetto {
    directions: Vec<Shown>,
    counters: Counters,
    /// For each component and each of its ports: the direction in which the port sends, if its link has counters.
    ports: Vec<Vec<Option<DirectionId>>>,
}

/// The state of the trace for one direction.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// Whether the trace contains the descriptions of the track of the direction and of the track of its link.
    is_described: bool,
    ticks: Ticks,
}

/// The number of a clock that is valid only in this sequence of packets. Its ticks are picoseconds.
const PICOSECONDS: u64 = 64;
/// The number that Perfetto has for the clock of the trace.
const BOOT_TIME: u64 = 6;

/// The field number of packets in a trace.
const PACKET: u32 = 1;
/// The field number of the sequence ID in a packet, and the ID of the only sequence here. The packets of a sequence share clocks and interned texts.
const SEQUENCE_ID: u32 = 10;
const SEQUENCE: u64 = 1;

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
        let texts = [
            ("timestamp_unit", "1 ps"),
            ("time", UNIT),
            (
                "written_by",
                concat!("peerlane ", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let mut trace = Message(out);
        trace.message::<1>(PACKET, |packet| {
            packet.message::<1>(6, |clocks| {
                for clock in [PICOSECONDS, BOOT_TIME] {
                    clocks.message::<1>(1, |at| _ = at.uint(1, clock).uint(2, 0));
                }
                clocks.uint(2, BOOT_TIME);
            });
            packet.uint(SEQUENCE_ID, SEQUENCE);
        });
        trace.message::<1>(PACKET, |packet| {
            packet.uint(SEQUENCE_ID, SEQUENCE);
            packet.message::<1>(12, |data| add_texts(names, data));
            packet.uint(13, INCREMENTAL_STATE_CLEARED);
            packet.message::<1>(59, |defaults| _ = defaults.uint(58, PICOSECONDS));
        });
        trace.message::<1>(PACKET, |packet| {
            packet.uint(SEQUENCE_ID, SEQUENCE);
            packet.message::<1>(126, |attributes| {
                for (key, value) in texts {
                    attributes.message::<1>(1, |one| _ = one.text(1, key).text(3, value));
                }
            });
        });
        tracks::describe_root(&format!("links ({UNIT})"), UNIT, out);
    }

    fn has_arrivals(&self) -> bool {
        false
    }

    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        let What::Departure(departure) = event.what else {
            return;
        };
        let track = Track::Wire.uuid(event.direction);
        for start in event.starts() {
            self.describe(event.direction, event.names, out);
            let ticks = &mut self.directions[event.direction.0].ticks;
            let times = ticks.next(start, departure.length);
            event::append_slice(out, (track, name(departure.kind)), times, |to| {
                if let Some(packet) = departure.packet() {
                    to.join(packet.number() + 1);
                }
                departure.fields(event.names, to);
            });
        }
    }

    fn look(&mut self, look: &Look<'_>, filter: &Filter, out: &mut Vec<u8>) {
        let ports = &self.ports[look.id.0 as usize];
        if ports.is_empty() || !filter.passes_time(look.now) {
            return;
        }
        let counters = &mut self.counters;
        look.links.each_link(&mut |port, link| {
            if let Some(Some(direction)) = ports.get(port) {
                counters.count_queues(*direction, link);
            }
        });
        for told in look.observed {
            if let Some((port, class)) = credited(&told.what, look.packets)
                && let Some(Some(direction)) = ports.get(port)
                && let Some(link) = look.links.link(port)
            {
                counters.count_credit((*direction, class), link);
            }
        }
        if !counters.changed().is_empty() {
            self.write_counters(look, out);
        }
    }
}

/// For each port of a component: the direction in which it sends, if its link passes `filter` and has counters. The list is empty if no link does.
fn ports(ends: &[Option<WireEnd>], names: &Names, filter: &Filter) -> Vec<Option<DirectionId>> {
    let counted = |direction: &DirectionId| {
        // A fibre has no credit of PCI Express.
        names.direction(*direction).has_dllps && filter.passes_direction(*direction)
    };
    let leaves = |end: &Option<WireEnd>| end.map(|end| end.leaves).filter(counted);
    let ports: Vec<_> = ends.iter().map(leaves).collect();
    if ports.iter().all(Option::is_none) {
        return Vec::new();
    }
    ports
}

/// The port and the class whose credit an event may have changed: a departing TLP consumes credit, and an arriving DLLP may return credit.
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
    /// Appends the descriptions of new counters, then the values of the counters that have changed.
    fn write_counters(&mut self, look: &Look<'_>, out: &mut Vec<u8>) {
        for (direction, track) in self.counters.take_new() {
            self.describe(direction, look.names, out);
            track.describe(direction, look.names, out);
        }
        let now = ticks(look.now);
        for values in self.counters.changed().chunks(event::COUNTERS) {
            event::append_counters(out, now, values);
        }
        self.counters.forget_changes();
    }

    /// Appends the descriptions of the tracks of a direction and of its link, if the trace does not contain them yet.
    fn describe(&mut self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        if self.directions[direction.0].is_described {
            return;
        }
        // The other direction of the link appends the same description of the link again, which has no effect.
        tracks::describe_link(direction, names, out);
        Track::Wire.describe(direction, names, out);
        self.directions[direction.0].is_described = true;
    }
}

/// Adds all texts that events refer to by number: kinds, fields and words.
fn add_texts(names: &Names, data: &mut Message<'_>) {
    let mut add = |field, iid, text: &str| {
        data.message::<1>(field, |one| _ = one.uint(1, iid).text(2, text));
    };
    for kind in Kind::ALL {
        add(2, name(*kind), kind.name());
    }
    for field in Field::ALL {
        add(3, event::iid(*field), field.name());
    }
    for (iid, word) in (1..).zip(words(names)) {
        add(29, iid, word);
    }
}

fn name(kind: Kind) -> u64 {
    kind as u64 + 1
}

/// The value of `sequence_flags` in the first packet with interned texts.
const INCREMENTAL_STATE_CLEARED: u64 = 1;

//! Value change dumps of link activity: for each direction of each link, the transmission on the wire.
//!
//! A value change dump must be in the order of time, but a transmission is reported a little before or after it begins. Therefore changes wait until
//! the simulation time has reached them. The ordered sets of an idle wire are reported only when the wire is used again, and are left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use kernel::Time;
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType, Writer};

use crate::event::{Content, Ticks, What, WireEvent, ticks};
use crate::names::{DirectionId, Names};
use crate::{Filter, Format, Output};

/// The format of value change dumps.
#[derive(Debug, Default)]
pub struct Vcd {
    /// The signals of each direction; `None` for a direction that does not pass the filter.
    directions: Vec<Option<Signals>>,
    /// The changes that are not written yet, the earliest first. Changes at the same time are in the order in which they were made.
    changes: BinaryHeap<Reverse<(u64, u64, Change)>>,
    /// Number of changes so far.
    made: u64,
    /// The last time in the file, in ticks.
    time: u64,
    /// The directions that change at the present time.
    changing: Vec<DirectionId>,
}

/// The signals of a direction, and the transmission that they show.
#[derive(Clone, Copy, Debug)]
struct Signals {
    busy: IdCode,
    toggle: IdCode,
    kind: IdCode,
    sequence: IdCode,
    tag: IdCode,
    ticks: Ticks,
    /// The number of transmissions so far.
    count: u64,
    /// The transmission that was last written to the file.
    written: Shown,
    /// The transmission on the wire now.
    now: Shown,
}

/// The transmission on a wire; `None` while the wire is idle.
type Shown = Option<Transmission>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transmission {
    kind: &'static str,
    sequence: Option<u16>,
    tag: Option<u16>,
    /// The number of the transmission on its wire, which distinguishes transmissions with the same fields.
    number: u64,
}

/// A change of the transmission on the wire of a direction.
type Change = (DirectionId, Shown);

/// The numbers of bits of a sequence number and of a tag.
const SEQUENCE: u32 = 12;
const TAG: u32 = 10;

/// The text that is shown as the kind while a wire is idle.
const IDLE: &str = "idle";

impl Format for Vcd {
    fn begin(&mut self, names: &Names, filter: &Filter, out: &mut Vec<u8>) {
        let declared = self.declare(names, filter, &mut Writer::new(out));
        declared.expect("memory takes everything");
    }

    fn has_arrivals(&self) -> bool {
        false
    }

    fn record(&mut self, event: &WireEvent<'_>, _out: &mut Vec<u8>) {
        let (What::Departure(departure), Some(signals)) =
            (event.what, &mut self.directions[event.direction.0])
        else {
            return;
        };
        let is_late = |start: &Time| {
            matches!(departure.content, Content::OrderedSets(_)) && *start < event.now
        };
        for start in event.starts().filter(|start| !is_late(start)) {
            signals.count += 1;
            let shown = Transmission {
                kind: departure.kind.name(),
                sequence: departure.sequence(),
                tag: match departure.content {
                    Content::Tlp { packet, .. } => Some(packet.header().tag().0),
                    _ => None,
                },
                number: signals.count,
            };
            let (begin, end) = signals.ticks.next(start, departure.length);
            for (time, shown) in [(begin, Some(shown)), (end, None)] {
                let change = (time, self.made, (event.direction, shown));
                self.changes.push(Reverse(change));
                self.made += 1;
            }
        }
    }

    fn advance(&mut self, now: Time, output: &mut Output) {
        if self.next_change().is_some_and(|next| next < ticks(now)) {
            self.write_before(ticks(now), output.buffer());
            output.end_record();
        }
    }

    fn pause(&mut self, now: Time, output: &mut Output) {
        self.write_before(ticks(now) + 1, output.buffer());
        self.write_time(ticks(now), output.buffer());
        output.end_record();
    }
}

impl Vcd {
    /// Writes the declarations of the signals, and the initial values, in which all wires are idle.
    fn declare(
        &mut self,
        names: &Names,
        filter: &Filter,
        to: &mut Writer<&mut Vec<u8>>,
    ) -> io::Result<()> {
        to.version(concat!("peerlane ", env!("CARGO_PKG_VERSION")))?;
        to.comment("times are rounded down to 1 ps; ordered sets of idle wires are left out")?;
        to.timescale(1, TimescaleUnit::PS)?;
        to.add_module("links")?;
        let numbers = (0..names.directions().len()).map(DirectionId);
        for id in numbers {
            let direction = names.direction(id);
            if !filter.passes_direction(id) {
                self.directions.push(None);
                continue;
            }
            to.add_module(&identifier(&format!(
                "{} {}",
                direction.link, direction.name
            )))?;
            self.directions.push(Some(Signals {
                busy: to.add_wire(1, "busy")?,
                toggle: to.add_wire(1, "toggle")?,
                kind: to.add_var(VarType::String, 1, "kind", None)?,
                sequence: to.add_wire(SEQUENCE, "sequence")?,
                tag: to.add_wire(TAG, "tag")?,
                ticks: Ticks::default(),
                count: 0,
                written: None,
                now: None,
            }));
            to.upscope()?;
        }
        to.upscope()?;
        to.enddefinitions()?;
        to.timestamp(0)?;
        to.begin(SimulationCommand::Dumpvars)?;
        for signals in self.directions.iter().flatten() {
            to.change_scalar(signals.toggle, Value::V0)?;
            signals.write(to)?;
        }
        to.end()
    }

    /// The time of the next change, in ticks.
    fn next_change(&self) -> Option<u64> {
        self.changes.peek().map(|Reverse((next, ..))| *next)
    }

    /// Writes the changes before `time`.
    fn write_before(&mut self, time: u64, out: &mut Vec<u8>) {
        while let Some(next) = self.next_change().filter(|next| *next < time) {
            self.write_changes(next, out);
        }
    }

    /// Writes the changes at one time. If a transmission follows another one immediately, the wire is not shown as idle between them.
    fn write_changes(&mut self, time: u64, out: &mut Vec<u8>) {
        while let Some(Reverse((next, _, (direction, shown)))) = self.changes.peek()
            && *next == time
        {
            if let Some(signals) = &mut self.directions[direction.0] {
                signals.now = *shown;
                self.changing.push(*direction);
            }
            self.changes.pop();
        }
        self.write_time(time, out);
        let mut to = Writer::new(out);
        for direction in self.changing.drain(..) {
            if let Some(signals) = &mut self.directions[direction.0]
                && signals.now != signals.written
            {
                signals.write(&mut to).expect("memory takes everything");
                signals.written = signals.now;
            }
        }
    }

    /// Writes `time` as the present time, if the file does not have this time already.
    fn write_time(&mut self, time: u64, out: &mut Vec<u8>) {
        if time > self.time {
            let written = Writer::new(out).timestamp(time);
            written.expect("memory takes everything");
            self.time = time;
        }
    }
}

impl Signals {
    /// Writes the signals of the transmission that is on the wire now.
    fn write(&self, to: &mut Writer<&mut Vec<u8>>) -> io::Result<()> {
        let now = self.now;
        let is_busy = if now.is_some() { Value::V1 } else { Value::V0 };
        to.change_scalar(self.busy, is_busy)?;
        if let Some(what) = now {
            to.change_scalar(self.toggle, what.number % 2 == 1)?;
        }
        to.change_string(self.kind, now.map_or(IDLE, |what| what.kind))?;
        let sequence = now.and_then(|what| what.sequence);
        to.change_vector(self.sequence, bits(sequence, SEQUENCE))?;
        let tag = now.and_then(|what| what.tag);
        to.change_vector(self.tag, bits(tag, TAG))
    }
}

/// The bits of a number, the most significant bit first; all bits are `x` if there is no number.
fn bits(number: Option<u16>, width: u32) -> impl Iterator<Item = Value> {
    (0..width).rev().map(move |bit| match number {
        Some(number) => (number >> bit & 1 == 1).into(),
        None => Value::X,
    })
}

/// Replaces the characters in a name that would end an identifier, or separate scopes, in a value change dump.
fn identifier(name: &str) -> String {
    let sign = |sign: char| match sign {
        ' ' | '.' => '_',
        _ if sign.is_ascii_graphic() => sign,
        _ => '_',
    };
    name.chars().map(sign).collect()
}

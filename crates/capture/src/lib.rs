//! Captures: records of departures and arrivals on wires, in files of several formats. Each capture has its own filter.
//!
//! A capture does not change the simulation. Without a capture, these details are not observed.

mod event;
mod fields;
mod filter;
mod kind;
mod names;
mod output;
mod pcap;
mod perfetto;
mod trace;
mod vcd;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;

use kernel::{ComponentId, Observed, Time, World};
use link::LinkEnd;
use packet::{Observation, Packets, Pcie};

use plan::FabricPlan;

use event::{What, WireEvent};
pub use filter::{Filter, FilterError, FilterOptions};
use names::Names;
pub use output::Output;
pub use pcap::Pcap;
pub use perfetto::Perfetto;
pub use trace::Trace;
pub use vcd::Vcd;

/// A format of captures.
pub trait Format: Debug + Send + Sync {
    /// Appends the beginning of the file, before all records.
    fn begin(&mut self, _names: &Names, _filter: &Filter, _out: &mut Vec<u8>) {}

    /// Whether the format has records of arrivals.
    fn has_arrivals(&self) -> bool {
        true
    }

    /// Whether the format needs each event of the whole fabric and not only the observations, so that the run must use one thread.
    fn needs_one_thread(&self) -> bool {
        true
    }

    /// Appends the records of an event that passed the filter.
    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>);

    /// Appends the records of a component's state after it has handled an event.
    fn look(&mut self, _look: &Look<'_>, _filter: &Filter, _out: &mut Vec<u8>) {}

    /// The simulation time advances to `now`. The format may write records of earlier times that it has delayed.
    fn advance(&mut self, _now: Time, _output: &mut Output) {}

    /// Writes all delayed records, because the simulation pauses at `now`. The simulation may continue later.
    fn pause(&mut self, _now: Time, _output: &mut Output) {}

    /// Writes all delayed records, because the capture ends.
    fn end(&mut self, _output: &mut Output) {}
}

/// The link ends of a component.
pub trait Links: Debug {
    /// Calls `visit` with each port that has a link end, and the link end.
    fn each_link(&self, visit: &mut dyn FnMut(usize, &LinkEnd));

    /// The link end at port `index`.
    fn link(&self, index: usize) -> Option<&LinkEnd>;
}

/// A component that has just handled an event.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The component's number.
    pub id: ComponentId,
    /// The link ends of the component.
    pub links: &'a dyn Links,
    /// The present time.
    pub now: Time,
    /// The observations during the event.
    pub observed: &'a [Observed<Observation>],
    /// The packets that the observations refer to.
    pub packets: &'a Packets,
    /// The names of links, components and flows.
    pub names: &'a Names,
}

#[derive(Debug)]
struct Capture {
    filter: Filter,
    format: Box<dyn Format>,
    output: Output,
    /// The records of the present time: for each, its component and its range in the output's buffer. A record is made while its packet still exists.
    noted: Vec<(ComponentId, Range<usize>)>,
    /// Whether any event has passed the filter.
    has_passed: bool,
}

/// All captures of a run.
#[derive(Debug)]
pub struct Captures {
    names: Names,
    all: Vec<Capture>,
    /// Whether any capture has records of arrivals.
    has_arrivals: bool,
    /// The number of observations in the world's list of which records have been made. The probes have not received the list yet.
    seen: usize,
    now: Time,
}

impl Captures {
    /// Creates an empty set of captures for a run of `plan`. `parts` has, for each part of the workloads, the name of its workload.
    pub fn new(plan: &FabricPlan, parts: Vec<String>) -> Self {
        Captures {
            names: Names::new(plan, parts),
            all: Vec::new(),
            has_arrivals: false,
            seen: 0,
            now: Time::ZERO,
        }
    }

    /// The names that can be used in filters.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Adds a capture into `file`.
    pub fn add(&mut self, mut format: Box<dyn Format>, filter: Filter, file: File) {
        let mut output = Output::new(file);
        format.begin(&self.names, &filter, output.buffer());
        output.end_record();
        let has_arrivals = format.has_arrivals();
        self.has_arrivals |= has_arrivals;
        self.all.push(Capture {
            filter: filter.with_arrivals(has_arrivals),
            format,
            output,
            noted: Vec::new(),
            has_passed: false,
        });
    }

    /// Makes the records for an event that component `id` has just handled.
    pub fn note_event(&mut self, id: ComponentId, links: &dyn Links, world: &World<Pcie>) {
        if world.now() > self.now {
            self.now = world.now();
            for capture in &mut self.all {
                capture.advance(self.now);
            }
        }
        let first = self.seen;
        self.note(world);
        for capture in &mut self.all {
            capture.look(Look {
                id,
                links,
                now: world.now(),
                observed: &world.observations[first..],
                packets: &world.store,
                names: &self.names,
            });
        }
    }

    /// Makes the records for the observations in `world` since the last call.
    pub fn note(&mut self, world: &World<Pcie>) {
        if world.observations.len() > self.seen {
            self.note_all(&world.observations[self.seen..], &world.store);
            self.seen = world.observations.len();
        }
    }

    /// Makes the records for the observations in `all`. Their packets are in `packets`.
    pub fn note_all(&mut self, all: &[Observed<Observation>], packets: &Packets) {
        for told in all {
            let Some(event) = WireEvent::of(told, packets, &self.names) else {
                continue;
            };
            if matches!(event.what, What::Arrival(_)) && !self.has_arrivals {
                continue;
            }
            for capture in &mut self.all {
                capture.note(&event);
            }
        }
    }

    /// Whether the run must use one thread, because a format needs more than observations and their packets, or because a filter depends on the order
    /// of observations of different components.
    pub fn need_one_thread(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|one| one.format.needs_one_thread() || one.filter.remembers_requests())
    }

    /// Writes the records of one time, ordered by component, and within a component as they were observed.
    pub fn write_noted(&mut self) {
        for capture in &mut self.all {
            capture.write_noted();
        }
        self.seen = 0;
    }

    /// Writes all records until `now` to the files. After the first error of a file, nothing more is written to it.
    pub fn flush(&mut self, now: Time) {
        for capture in &mut self.all {
            capture.flush(now);
        }
    }

    /// The numbers of the captures in which no event has passed the filter.
    pub fn without_events(&self) -> impl Iterator<Item = usize> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(number, one)| (!one.has_passed).then_some(number))
    }

    /// Returns the number of a capture whose file has failed, and the error. Each error is returned only once.
    pub fn take_failure(&mut self) -> Option<(usize, io::Error)> {
        let mut all = self.all.iter_mut().enumerate();
        all.find_map(|(number, one)| Some((number, one.output.take_failure()?)))
    }
}

impl Capture {
    fn note(&mut self, event: &WireEvent<'_>) {
        if self.output.has_failed() {
            return;
        }
        let out = self.output.buffer();
        let begin = out.len();
        let Some(part) = self.filter.pass(event) else {
            return;
        };
        self.format.record(&part, out);
        self.has_passed = true;
        self.enter(event.by, begin);
    }

    fn look(&mut self, look: Look<'_>) {
        if self.output.has_failed() {
            return;
        }
        let out = self.output.buffer();
        let begin = out.len();
        self.format.look(&look, &self.filter, out);
        self.enter(look.id, begin);
    }

    /// Notes that the bytes of the output's buffer from `begin` on are records of component `by`.
    fn enter(&mut self, by: ComponentId, begin: usize) {
        let end = self.output.buffer().len();
        match self.noted.last_mut() {
            _ if end == begin => {}
            Some((last, range)) if *last == by => range.end = end,
            _ => self.noted.push((by, begin..end)),
        }
    }

    fn write_noted(&mut self) {
        if !self.noted.is_empty() {
            self.end_noted();
        }
    }

    fn end_noted(&mut self) {
        if !self.noted.is_sorted_by_key(|(by, _)| *by) {
            self.noted.sort_by_key(|(by, _)| *by);
            let parts = self.noted.iter().map(|(_, part)| part.clone());
            self.output.reorder(parts);
        }
        self.noted.clear();
        self.output.end_record();
    }

    fn advance(&mut self, now: Time) {
        self.write_noted();
        self.format.advance(now, &mut self.output);
    }

    fn flush(&mut self, now: Time) {
        self.write_noted();
        self.format.pause(now, &mut self.output);
        self.output.flush();
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.format.end(&mut self.output);
    }
}

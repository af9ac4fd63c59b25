//! Meters of flows: bytes, rates and latencies, from the observations of components.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;

use host::queue_pair::MessageNote;
use kernel::{Span, Time};
use packet::{FlowId, Observation, PackedNote, Refusal};
use transaction::CallNote;

use super::latency::Latencies;

/// The meter of all flows of a run.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    flows: Vec<FlowMeter>,
    /// Latencies of workloads whose flows are measured together.
    groups: Vec<Latencies>,
    window: Option<(Time, Time)>,
    up: Span,
    /// The parts that continue after their planned amount of work is done.
    endless: Vec<Range<u32>>,
    open: usize,
    /// The number of times that a flow has ended so far.
    ends: u64,
    /// The number of parts of workloads. Flows with higher numbers are accesses from outside.
    parts: usize,
    /// The number of parts of workloads that are not complete.
    open_parts: usize,
    progress: Time,
    /// Whether latencies may be counted later, after their counts were loaded into the cache.
    counts_later: bool,
    /// Latencies of flows that are not counted yet, oldest first.
    uncounted: VecDeque<(FlowId, Span)>,
}

/// The number of further latencies after which the count of a latency is prefetched, and after which the latency is counted. The number of the page
/// of the count is in the cache by the time of the prefetch. In a large fabric, counts are outside the cache, each in its own cache line.
const LOADED_AFTER: usize = 2;
const COUNTED_AFTER: usize = 4;

/// Measurements of one flow. The fields that packets change come first. Without a measured window, a packet that is sent changes only the first cache
/// line, and a packet that arrives only the first three.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct FlowMeter {
    /// Times at which the first bit of the first request and the last bit of the last request were sent.
    pub sent: Option<(Time, Time)>,
    /// Arrival times of the first and the last payload.
    pub arrived: Option<(Time, Time)>,
    /// Bytes that arrived.
    pub delivered: u64,
    /// Bytes that were lost with an error.
    pub refused: u64,
    /// The total number of requested bytes, once it is known.
    pub asked: Option<u64>,
    /// The doorbell times of messages. Boxed, because only flows of messages have them.
    doorbells: Option<Box<Doorbells>>,
    /// Whether every byte that arrived was correct.
    pub intact: bool,
    /// Whether a request of the flow timed out.
    pub timed_out: bool,
    /// Whether a reset of the requester has dropped the flow.
    pub forgotten: bool,
    /// Whether the flow has been complete, or a reset of its requester has dropped it.
    closed: bool,
    /// Whether the driver waits for the end of a reset of the device.
    is_interrupted: bool,
    /// Latencies from the creation of a request to its end; `None` if the latencies of the workload are measured together, and for accesses from
    /// outside.
    pub latencies: Option<Latencies>,

    /// Bytes sent and bytes arrived in the measured window.
    pub steady: (u64, u64),
    /// The workload that the flow is a part of.
    group: Option<u32>,
    /// The number of times that the driver has restarted the flow after a reset of the device.
    pub restarts: u32,
    /// Ranges of the flow's region whose bytes were lost, as offset and length, in the order of their losses.
    missing: Vec<(u64, u64)>,
    /// Ranges whose bytes a severed fibre may have lost or delivered, in the order in which they were sent.
    unsure: Vec<(u64, u64)>,
    /// The reason for which the first lost packet was dropped.
    pub lost_as: Option<Refusal>,
    /// Time at which the flow has ended, for the last time if it was restarted.
    pub ended: Time,
    /// Time of the system call that moves the flow.
    pub called: Option<Time>,
    /// Time when the system call returned.
    pub returned: Option<Time>,
    /// Bytes that had arrived when the system call returned.
    pub arrived_at_return: u64,
}

const _: () = assert!(offset_of!(FlowMeter, steady) == 192, "three lines");

/// Doorbell times of the messages of a flow that their target has not detected yet.
#[derive(Clone, Debug, Default)]
struct Doorbells {
    rung: VecDeque<Time>,
    /// Doorbell times of messages of which at least a part has arrived.
    arrived: VecDeque<Time>,
}

impl Doorbells {
    /// Records that a part of the message whose doorbell rang at `born` has arrived.
    fn arrive(&mut self, born: Time) {
        if self.arrived.back() != Some(&born) && self.rung.binary_search(&born).is_ok() {
            self.arrived.push_back(born);
        }
    }

    /// Records that the target has detected the next message, and returns the time of the message's doorbell. Messages with earlier doorbells were
    /// lost, and are removed.
    fn notice(&mut self) -> Option<Time> {
        let born = self.arrived.pop_front().or(self.rung.front().copied())?;
        while self.rung.pop_front_if(|rung| *rung < born).is_some() {}
        self.rung.pop_front()
    }
}

impl FlowMeter {
    fn new() -> Self {
        FlowMeter {
            intact: true,
            ..FlowMeter::default()
        }
    }

    /// Whether every requested byte arrived or was lost, the system call, if any, has returned, and all messages that were not lost have been
    /// detected.
    pub fn is_complete(&self) -> bool {
        let all = self
            .asked
            .is_some_and(|asked| self.delivered + self.refused >= asked);
        all && self.are_noticed() && self.called.is_some() == self.returned.is_some()
    }

    /// The number of bytes that have neither arrived nor been lost. The total is the number of requested bytes, or `all` until that number is known.
    /// Zero if the total is unknown or the flow has ended.
    pub(crate) fn left_of(&self, all: Option<u64>) -> u64 {
        match self.asked.or(all) {
            Some(all) if !self.closed => all.saturating_sub(self.delivered + self.refused),
            _ => 0,
        }
    }

    /// Whether the flow has ended: it is complete, or a reset of its requester has dropped it.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Records that the driver repeats the transfer of bytes after a reset: of all bytes except the bytes of commands that have ended well
    /// (`arrived`) or with an error (`lost`).
    fn restart(&mut self, arrived: u64, lost: u64) {
        self.restarts += 1;
        (self.forgotten, self.is_interrupted) = (false, false);
        self.asked = None;
        (self.delivered, self.refused) = (arrived, lost);
        if lost == 0 {
            self.missing.clear();
        }
    }

    fn lose(&mut self, bytes: u32, offset: Option<u64>) {
        self.refused += u64::from(bytes);
        if let (Some(offset), true) = (offset, bytes > 0) {
            push(&mut self.missing, (offset, bytes.into()));
        }
    }

    /// Whether all messages that were not lost have been detected.
    fn are_noticed(&self) -> bool {
        self.doorbells.as_deref().is_none_or(|doorbells| {
            doorbells.rung.is_empty() || self.refused > 0 && doorbells.arrived.is_empty()
        })
    }

    /// Whether every requested byte arrived, was lost, or may have been lost at a severed fibre, and the system call, if any, has returned.
    pub fn is_accounted_for(&self) -> bool {
        let all = self
            .asked
            .is_some_and(|asked| self.delivered + self.refused + total(&self.unsure) >= asked);
        all && self.called.is_some() == self.returned.is_some()
    }

    /// The ranges of the flow's region whose bytes were lost, as offset and length, in the order of their offsets. If requests use the region several
    /// times, each loss of a byte counts. A fibre delivers in order, so of the bytes in doubt, the last ones have not arrived.
    pub fn missing(&self) -> Vec<(u64, u64)> {
        let mut missing = self.missing.clone();
        let mut left = self.left_in_doubt();
        for (offset, len) in self.unsure.iter().rev() {
            let lost = left.min(*len);
            left -= lost;
            if lost > 0 {
                missing.push((offset + len - lost, lost));
            }
        }
        missing.sort_unstable();
        let mut merged = Vec::with_capacity(missing.len());
        for range in missing {
            push(&mut merged, range);
        }
        merged
    }

    /// The bytes in doubt that have not arrived.
    fn left_in_doubt(&self) -> u64 {
        let asked = self.asked.unwrap_or(0);
        asked.saturating_sub(self.delivered + self.refused)
    }

    /// Whether every requested byte arrived once.
    pub fn is_delivered(&self) -> bool {
        self.asked == Some(self.delivered)
    }

    /// Whether every requested byte arrived once and unchanged.
    pub fn is_whole(&self) -> bool {
        self.intact && self.is_delivered()
    }
}

/// Adds a range of offset and length to `ranges`.
fn push(ranges: &mut Vec<(u64, u64)>, (offset, len): (u64, u64)) {
    match ranges.last_mut() {
        Some((first, before)) if *first + *before == offset => *before += len,
        _ => ranges.push((offset, len)),
    }
}

fn total(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(_, len)| len).sum()
}

impl Meter {
    /// Creates a meter. `workloads` gives for each workload the number of its parts, and whether their latencies are measured together.
    pub fn new(workloads: impl Iterator<Item = (usize, bool)>) -> Self {
        let (mut flows, mut groups) = (Vec::new(), Vec::new());
        for (parts, is_measured_together) in workloads {
            let part = if is_measured_together {
                groups.push(Latencies::default());
                FlowMeter {
                    group: Some(groups.len() as u32 - 1),
                    ..FlowMeter::new()
                }
            } else {
                FlowMeter {
                    latencies: Some(Latencies::default()),
                    ..FlowMeter::new()
                }
            };
            flows.resize(flows.len() + parts, part);
        }
        Meter {
            open: flows.len(),
            parts: flows.len(),
            open_parts: flows.len(),
            flows,
            groups,
            ..Meter::default()
        }
    }

    /// With `later`, latencies are counted some time after they are recorded, when their counts are in the cache. Without `later`, all waiting
    /// latencies are counted now, so that histograms are complete.
    pub fn count_later(&mut self, later: bool) {
        self.counts_later = later;
        if !later {
            for (flow, latency) in std::mem::take(&mut self.uncounted) {
                self.count(flow, latency);
            }
        }
    }

    fn count(&mut self, flow: FlowId, latency: Span) {
        let meter = &mut self.flows[flow.0 as usize];
        if let Some(latencies) = &mut meter.latencies {
            latencies.count(latency);
        }
    }

    /// Queues a latency of a flow, to be counted later, and counts the oldest queued latency if enough others are queued behind it.
    fn put_off_count(&mut self, flow: FlowId, latency: Span) {
        self.uncounted.push_back((flow, latency));
        let waiting = self.uncounted.len();
        let loaded = waiting.checked_sub(1 + LOADED_AFTER);
        if let Some((flow, latency)) = loaded.and_then(|place| self.uncounted.get(place))
            && let Some(latencies) = &self.flows[flow.0 as usize].latencies
        {
            latencies.prefetch_count(*latency);
        }
        if waiting > COUNTED_AFTER
            && let Some((flow, latency)) = self.uncounted.pop_front()
        {
            self.count(flow, latency);
        }
    }

    /// Latencies of all parts of the workload of `part`. With a measured window, only messages that are created in the window count.
    pub fn latencies(&self, part: FlowId) -> &Latencies {
        let group = self.flow(part).group;
        &self.groups[group.expect("the parts of this workload are measured together") as usize]
    }

    /// Records that the links are up after the time `up`. If there is a `window`, whose bounds are counted from then on, rates are also measured
    /// within the window.
    pub fn begin(&mut self, up: Span, window: Option<(Time, Time)>) {
        self.up = up;
        self.window = window.map(|(from, until)| (from + up, until + up));
    }

    /// Lets `parts` continue after their planned amount of work is done, so that they never count as ended.
    pub fn go_on(&mut self, parts: Vec<Range<u32>>) {
        self.endless = parts;
    }

    /// Whether all parts are complete, except the parts that continue after their planned amount of work is done.
    pub fn are_others_complete(&self) -> bool {
        self.open_parts <= self.endless.iter().map(Range::len).sum()
    }

    /// The time from the beginning of the run until the links are up. Workloads begin this much later than planned.
    pub fn up(&self) -> Span {
        self.up
    }

    /// The window in which rates are also measured, if there is one.
    pub fn window(&self) -> Option<(Time, Time)> {
        self.window
    }

    /// Adds a flow for an access from outside.
    pub fn add(&mut self) -> FlowId {
        self.flows.push(FlowMeter::new());
        self.open += 1;
        FlowId(self.flows.len() as u32 - 1)
    }

    /// The measurements of `flow`.
    pub fn flow(&self, flow: FlowId) -> &FlowMeter {
        &self.flows[flow.0 as usize]
    }

    /// The number of flows that are not complete.
    pub fn open(&self) -> usize {
        self.open
    }

    /// The number of times that a flow has ended so far. A flow that its driver restarts can end more than once.
    pub fn ends(&self) -> u64 {
        self.ends
    }

    pub fn are_workloads_complete(&self) -> bool {
        self.open_parts == 0
    }

    /// Time of the last observation of a flow.
    pub fn progress(&self) -> Time {
        self.progress
    }

    /// Begins to load the measurements that an observation of a packet changes.
    pub fn prefetch(&self, what: &Observation) {
        match what {
            Observation::Sent { flow, .. } => {
                if let Some(meter) = self.flows.get(flow.0 as usize) {
                    kernel::prefetch(meter, 0..offset_of!(FlowMeter, delivered));
                }
            }
            Observation::Delivered { flow, .. } => self.prefetch_delivery(*flow),
            _ => {}
        }
    }

    /// Begins to load the measurements that the arrival of a packet changes.
    pub fn prefetch_delivery(&self, flow: FlowId) {
        if let Some(meter) = self.flows.get(flow.0 as usize) {
            kernel::prefetch(meter, 0..offset_of!(FlowMeter, steady));
        }
    }

    #[inline(always)]
    pub fn observe(&mut self, now: Time, what: &Observation) {
        match *what {
            Observation::Sent {
                flow,
                bytes,
                start,
                end,
            } => {
                let steady = self.is_within(end);
                let Some(meter) = self.flows.get_mut(flow.0 as usize) else {
                    return;
                };
                meter.sent = Some((meter.sent.map_or(start, |(first, _)| first), end));
                if steady {
                    meter.steady.0 += u64::from(bytes);
                }
            }
            Observation::Delivered {
                flow,
                bytes,
                born,
                last,
                intact,
                ..
            } => {
                let steady = self.is_within(now);
                if last {
                    self.record_latency(flow, born, now);
                }
                self.change(flow, now, |meter| {
                    if let Some(doorbells) = &mut meter.doorbells {
                        doorbells.arrive(born);
                    }
                    meter.delivered += u64::from(bytes);
                    meter.intact &= intact;
                    meter.arrived = Some((meter.arrived.map_or(now, |(first, _)| first), now));
                    if steady {
                        meter.steady.1 += u64::from(bytes);
                    }
                });
            }
            _ => self.observe_other(now, what),
        }
    }

    /// Processes an observation of a kind that does not occur for every packet.
    fn observe_other(&mut self, now: Time, what: &Observation) {
        match *what {
            Observation::Refused {
                why: Refusal::Unacknowledged,
                flow: Some(flow),
                bytes,
                offset,
            } => self.change(flow, now, |meter| {
                push(&mut meter.unsure, (offset.unwrap_or(0), bytes.into()));
            }),
            Observation::Refused {
                why,
                flow: Some(flow),
                bytes,
                offset,
            } => self.change(flow, now, |meter| {
                meter.lose(bytes, offset);
                meter.lost_as.get_or_insert(why);
                meter.timed_out |= why == Refusal::CompletionTimeout;
            }),
            Observation::Failed {
                flow,
                bytes,
                offset,
            } => self.change(flow, now, |meter| meter.lose(bytes, offset)),
            Observation::Ended { flow, bytes } => {
                self.change(flow, now, |meter| meter.asked = Some(bytes));
            }
            Observation::Forgotten { flow } => {
                self.change(flow, now, |meter| meter.forgotten = true);
            }
            Observation::Own { flow, note } => self.observe_note(flow, note, now),
            Observation::Refused { .. }
            | Observation::Up { .. }
            | Observation::Incident { .. }
            | Observation::Packet { .. }
            | Observation::Dllp { .. }
            | Observation::PacketArrival { .. }
            | Observation::DllpArrival { .. }
            | Observation::OrderedSets { .. }
            | Observation::Training { .. }
            | Observation::Fibre { .. }
            | Observation::Block { .. }
            | Observation::Stopped
            | Observation::Sent { .. }
            | Observation::Delivered { .. } => {}
        }
    }

    fn observe_note(&mut self, flow: FlowId, note: PackedNote, now: Time) {
        if let Some(call) = note.get::<CallNote>() {
            if matches!(call, CallNote::Interrupted | CallNote::Restarted { .. }) {
                self.reopen(flow);
            }
            self.change(flow, now, |meter| match call {
                CallNote::Called => {
                    meter.called.get_or_insert(now);
                }
                CallNote::Returned => {
                    meter.returned = Some(now);
                    meter.is_interrupted = false;
                    meter.arrived_at_return = meter.delivered;
                }
                CallNote::Interrupted => meter.is_interrupted = true,
                CallNote::Restarted { arrived, lost } => meter.restart(arrived, lost),
            });
        } else if let Some(message) = note.get::<MessageNote>() {
            let mut born = None;
            self.change(flow, now, |meter| match message {
                MessageNote::Rung => {
                    meter.doorbells.get_or_insert_default().rung.push_back(now);
                }
                MessageNote::Noticed => {
                    born = meter.doorbells.as_mut().and_then(|all| all.notice());
                }
            });
            if let Some(born) = born {
                self.record_latency(flow, born, now);
            }
        } else {
            self.change(flow, now, |_| {});
        }
    }

    #[inline(always)]
    fn record_latency(&mut self, flow: FlowId, born: Time, now: Time) {
        let counts = self.window.is_none() || self.is_within(born);
        let Some(meter) = self.flows.get_mut(flow.0 as usize) else {
            return;
        };
        match (&mut meter.latencies, meter.group) {
            (Some(latencies), _) if self.counts_later => {
                let latency = now.since(born);
                latencies.note(latency);
                latencies.prefetch_place(latency);
                self.put_off_count(flow, latency);
            }
            (Some(latencies), _) => latencies.record(now.since(born)),
            (None, Some(group)) if counts => {
                self.groups[group as usize].record(now.since(born));
            }
            _ => {}
        }
    }

    fn is_within(&self, time: Time) -> bool {
        self.window
            .is_some_and(|(from, until)| from <= time && time < until)
    }

    #[inline(always)]
    fn change(&mut self, flow: FlowId, now: Time, change: impl FnOnce(&mut FlowMeter)) {
        self.progress = self.progress.max(now);
        let Some(meter) = self.flows.get_mut(flow.0 as usize) else {
            // There may be no flow with this number, because a program can write any number into the registers of an engine.
            return;
        };
        change(meter);
        let is_over = meter.is_complete() || meter.forgotten && !meter.is_interrupted;
        let goes_on = || self.endless.iter().any(|parts| parts.contains(&flow.0));
        if is_over && !goes_on() && !std::mem::replace(&mut meter.closed, true) {
            meter.ended = now;
            self.open -= 1;
            self.ends += 1;
            self.open_parts -= usize::from((flow.0 as usize) < self.parts);
        }
    }

    /// Records that the driver continues a flow, which may already count as ended.
    fn reopen(&mut self, flow: FlowId) {
        let meter = self.flows.get_mut(flow.0 as usize);
        if meter.is_some_and(|meter| std::mem::replace(&mut meter.closed, false)) {
            self.open += 1;
            self.open_parts += usize::from((flow.0 as usize) < self.parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_that_are_counted_later_are_in_the_histogram_at_the_end() {
        let told = |counts_later| {
            let mut meter = Meter::new([(2, false)].into_iter());
            meter.count_later(counts_later);
            for number in 0..100 {
                let born = Time::from_fs(number * 1_000_000);
                let latency = Span::from_ns(1 + number * number % 37);
                let flow = FlowId(number as u32 % 2);
                meter.record_latency(flow, born, born + latency);
            }
            let uncounted = meter.uncounted.len();
            meter.count_later(false);
            let of = |flow| meter.flow(FlowId(flow)).latencies.as_ref()?.told();
            let told = [0, 1].map(|flow| of(flow).expect("there are latencies"));
            (uncounted, told.map(|one| (one.histogram_ps, one.p50)))
        };
        let (later, at_once) = (told(true), told(false));
        assert_eq!((later.0, at_once.0), (COUNTED_AFTER, 0));
        assert_eq!(later.1, at_once.1);
    }
}

//! What the flows reached: bytes, rates and latencies, from what the components tell.

use std::collections::VecDeque;

use host::queue_pair::MessageNote;
use kernel::Time;
use packet::{FlowId, Observation, PackedNote, Refusal};
use transaction::CallNote;

use super::latency::Latencies;

/// Every flow of a run.
#[derive(Clone, Debug)]
pub struct Meter {
    flows: Vec<FlowMeter>,
    /// The latencies of workloads, whose many flows have them together.
    groups: Vec<Latencies>,
    window: Option<(Time, Time)>,
    open: usize,
    /// When anything was last heard of a flow.
    progress: Time,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    /// Bytes asked for in all, once that is known.
    pub asked: Option<u64>,
    /// Bytes that arrived.
    pub delivered: u64,
    /// Whether a request of it was not answered in time.
    pub timed_out: bool,
    /// Whether it was complete once.
    closed: bool,
    /// Bytes that were lost with an error.
    pub refused: u64,
    /// Bytes that may have been lost, or have arrived: a severed fibre left it open.
    pub unsure: u64,
    /// Whether every byte that arrived was right.
    pub intact: bool,
    /// First bit of the first request out, and last bit of the last.
    pub sent: Option<(Time, Time)>,
    /// When the system call that moves it was made.
    pub called: Option<Time>,
    /// When that call returned.
    pub returned: Option<Time>,
    /// When its messages rang their doorbells that nobody has noticed yet.
    rung: VecDeque<Time>,
    /// When the first and the last payload arrived.
    pub arrived: Option<(Time, Time)>,
    /// Bytes sent and bytes arrived in the measured window.
    pub steady: (u64, u64),
    /// From the making of a request to its end; none where nobody will ask.
    pub latencies: Option<Latencies>,
    /// The workload that it is a part of.
    group: Option<u32>,
}

impl FlowMeter {
    fn new() -> Self {
        FlowMeter {
            asked: None,
            delivered: 0,
            timed_out: false,
            closed: false,
            refused: 0,
            unsure: 0,
            intact: true,
            sent: None,
            called: None,
            returned: None,
            rung: VecDeque::new(),
            arrived: None,
            steady: (0, 0),
            latencies: None,
            group: None,
        }
    }

    /// Whether everything asked for arrived or was lost, and its system call, if there was one, has returned, and its messages
    /// have been noticed.
    pub fn is_complete(&self) -> bool {
        let all = self
            .asked
            .is_some_and(|asked| self.delivered + self.refused >= asked);
        let noticed = self.rung.is_empty() || self.refused > 0;
        all && noticed && self.called.is_some() == self.returned.is_some()
    }

    /// The same, once nothing more will arrive: what is in doubt did arrive or was lost.
    pub fn is_accounted_for(&self) -> bool {
        let all = self
            .asked
            .is_some_and(|asked| self.delivered + self.refused + self.unsure >= asked);
        all && self.called.is_some() == self.returned.is_some()
    }

    /// Whether everything asked for arrived, once, as it was sent.
    pub fn is_whole(&self) -> bool {
        self.intact && self.asked == Some(self.delivered)
    }
}

impl Meter {
    /// A meter of workloads: of each the number of its parts, and whether their latencies are taken together.
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
            flows,
            groups,
            window: None,
            progress: Time::ZERO,
        }
    }

    /// The latencies of all parts of the workload that `part` belongs to: of messages that were made in the measured window, if
    /// there is one.
    pub fn latencies(&self, part: FlowId) -> &Latencies {
        let group = self.flow(part).group;
        &self.groups[group.expect("the parts of this workload are measured together") as usize]
    }

    /// Rates are also taken within `window`.
    pub fn measure(&mut self, window: Option<(Time, Time)>) {
        self.window = window;
    }

    /// The window in which rates are also taken.
    pub fn window(&self) -> Option<(Time, Time)> {
        self.window
    }

    /// One more flow, an access from outside.
    pub fn add(&mut self) -> FlowId {
        self.flows.push(FlowMeter::new());
        self.open += 1;
        FlowId(self.flows.len() as u32 - 1)
    }

    /// What a flow reached.
    pub fn flow(&self, flow: FlowId) -> &FlowMeter {
        &self.flows[flow.0 as usize]
    }

    /// How many flows are not complete.
    pub fn open(&self) -> usize {
        self.open
    }

    /// When anything was last heard of a flow.
    pub fn progress(&self) -> Time {
        self.progress
    }

    /// Takes in what a component told at `now`.
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
                meter.steady.0 += if steady { u64::from(bytes) } else { 0 };
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
                    meter.delivered += u64::from(bytes);
                    meter.intact &= intact;
                    meter.arrived = Some((meter.arrived.map_or(now, |(first, _)| first), now));
                    meter.steady.1 += if steady { u64::from(bytes) } else { 0 };
                });
            }
            Observation::Refused {
                why: Refusal::Unacknowledged,
                flow: Some(flow),
                bytes,
            } => self.change(flow, now, |meter| meter.unsure += u64::from(bytes)),
            Observation::Refused {
                why,
                flow: Some(flow),
                bytes,
            } => self.change(flow, now, |meter| {
                meter.refused += u64::from(bytes);
                meter.timed_out |= why == Refusal::CompletionTimeout;
            }),
            Observation::Failed { flow, bytes } => {
                self.change(flow, now, |meter| meter.refused += u64::from(bytes));
            }
            Observation::Ended { flow, bytes } => {
                self.change(flow, now, |meter| meter.asked = Some(bytes));
            }
            Observation::Own { flow, note } => self.observe_note(flow, note, now),
            Observation::Refused { .. }
            | Observation::Up { .. }
            | Observation::Packet { .. }
            | Observation::Dllp { .. }
            | Observation::Fibre { .. }
            | Observation::Block { .. } => {}
        }
    }

    fn observe_note(&mut self, flow: FlowId, note: PackedNote, now: Time) {
        if let Some(call) = note.get::<CallNote>() {
            self.change(flow, now, |meter| match call {
                CallNote::Called => meter.called = Some(now),
                CallNote::Returned => meter.returned = Some(now),
            });
        } else if let Some(message) = note.get::<MessageNote>() {
            let mut born = None;
            self.change(flow, now, |meter| match message {
                MessageNote::Rung => meter.rung.push_back(now),
                MessageNote::Noticed => born = meter.rung.pop_front(),
            });
            if let Some(born) = born {
                self.record_latency(flow, born, now);
            }
        } else {
            self.change(flow, now, |_| {});
        }
    }

    fn record_latency(&mut self, flow: FlowId, born: Time, now: Time) {
        let counts = self.window.is_none() || self.is_within(born);
        let Some(meter) = self.flows.get_mut(flow.0 as usize) else {
            return;
        };
        match (&mut meter.latencies, meter.group) {
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

    fn change(&mut self, flow: FlowId, now: Time, change: impl FnOnce(&mut FlowMeter)) {
        self.progress = self.progress.max(now);
        let Some(meter) = self.flows.get_mut(flow.0 as usize) else {
            // A label that somebody wrote into an engine by hand.
            return;
        };
        change(meter);
        if meter.is_complete() && !std::mem::replace(&mut meter.closed, true) {
            self.open -= 1;
        }
    }
}

//! What the flows reached: bytes, rates and latencies, from what the components tell.

use hdrhistogram::Histogram;
use kernel::{Span, Time};
use link::{FlowId, Observation, Refusal};

/// Every flow of a run.
#[derive(Clone, Debug)]
pub struct Meter {
    flows: Vec<FlowMeter>,
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
    /// Whether every byte that arrived was right.
    pub intact: bool,
    /// First bit of the first request out, and last bit of the last.
    pub sent: Option<(Time, Time)>,
    /// When the system call that moves it was made.
    pub called: Option<Time>,
    /// When that call returned.
    pub returned: Option<Time>,
    /// When the first and the last payload arrived.
    pub arrived: Option<(Time, Time)>,
    /// Bytes sent and bytes arrived in the measured window.
    pub steady: (u64, u64),
    /// From the making of a request to its end, in picoseconds; none where nobody will ask.
    pub latency: Option<Histogram<u32>>,
    /// Exact extremes, sum and count of the same, in femtoseconds.
    pub extremes: Option<(u64, u64)>,
    sum: u128,
    count: u64,
}

impl FlowMeter {
    fn new() -> Self {
        FlowMeter {
            asked: None,
            delivered: 0,
            timed_out: false,
            closed: false,
            refused: 0,
            intact: true,
            sent: None,
            called: None,
            returned: None,
            arrived: None,
            steady: (0, 0),
            latency: None,
            extremes: None,
            sum: 0,
            count: 0,
        }
    }

    /// Whether everything asked for arrived or was lost, and its system call, if there was one, has returned.
    pub fn is_complete(&self) -> bool {
        let all = self
            .asked
            .is_some_and(|asked| self.delivered + self.refused >= asked);
        all && self.called.is_some() == self.returned.is_some()
    }

    /// Whether everything asked for arrived, once, as it was sent.
    pub fn is_whole(&self) -> bool {
        self.intact && self.asked == Some(self.delivered)
    }

    /// Sum of the latencies in femtoseconds, and how many there are.
    pub fn latency_sum(&self) -> (u128, u64) {
        (self.sum, self.count)
    }

    fn record_latency(&mut self, latency: Span) {
        let fs = latency.as_fs();
        if let Some(histogram) = &mut self.latency {
            histogram
                .record(fs / 1000)
                .expect("the histogram grows with what it holds");
        }
        self.sum += u128::from(fs);
        self.count += 1;
        let (least, most) = self.extremes.unwrap_or((fs, fs));
        self.extremes = Some((least.min(fs), most.max(fs)));
    }
}

impl Meter {
    /// A meter of `flows` flows.
    pub fn new(flows: usize) -> Self {
        let histogram = Histogram::new(3).expect("three digits are a legal precision");
        let measured = FlowMeter {
            latency: Some(histogram),
            ..FlowMeter::new()
        };
        Meter {
            flows: vec![measured; flows],
            window: None,
            open: flows,
            progress: Time::ZERO,
        }
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
                self.change(flow, now, |meter| {
                    meter.delivered += u64::from(bytes);
                    meter.intact &= intact;
                    meter.arrived = Some((meter.arrived.map_or(now, |(first, _)| first), now));
                    meter.steady.1 += if steady { u64::from(bytes) } else { 0 };
                    if last {
                        meter.record_latency(now.since(born));
                    }
                });
            }
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
            Observation::Called { flow } => {
                self.change(flow, now, |meter| meter.called = Some(now));
            }
            Observation::Returned { flow } => {
                self.change(flow, now, |meter| meter.returned = Some(now));
            }
            Observation::Ended { flow, bytes } => {
                self.change(flow, now, |meter| meter.asked = Some(bytes));
            }
            Observation::Refused { .. } | Observation::Packet { .. } | Observation::Dllp { .. } => {
            }
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

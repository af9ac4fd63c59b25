//! Probes that a caller adds to a simulation: captures, samples of rates, samples of the causes for which flows wait, and checks of coherence.

use std::fs::File;
use std::num::NonZeroU64;

use kernel::Span;

use super::simulation::Simulation;
use crate::meters::coherence::{self, Incoherence, Watch};
use crate::model::Model;
use crate::observe::series::{Sample, Series};
use crate::observe::waits::Waits;
use crate::setup::Plan;
use capture::{Captures, Filter, FilterError, FilterOptions, Format, Pcap, Perfetto, Trace, Vcd};

/// A format of captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureFormat {
    /// The packet trace: one JSON object per line.
    Trace,
    /// A Perfetto trace.
    Perfetto,
    /// A value change dump.
    Vcd,
    /// A pcapng file for Wireshark.
    Pcap,
}

impl CaptureFormat {
    /// The format with a name, such as `trace`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "trace" => Some(CaptureFormat::Trace),
            "perfetto" => Some(CaptureFormat::Perfetto),
            "vcd" => Some(CaptureFormat::Vcd),
            "pcap" => Some(CaptureFormat::Pcap),
            _ => None,
        }
    }

    fn writer(self, plan: &Plan) -> Box<dyn Format> {
        match self {
            CaptureFormat::Trace => Box::new(Trace),
            CaptureFormat::Perfetto => Box::<Perfetto>::default(),
            CaptureFormat::Vcd => Box::<Vcd>::default(),
            CaptureFormat::Pcap => Box::new(Pcap::new(plan)),
        }
    }
}

impl Simulation {
    /// Writes everything that is sent on a wire from now on, and that passes the filter, to `file`. Captures are numbered from 0 in the order of
    /// these calls.
    pub fn capture(
        &mut self,
        format: CaptureFormat,
        filter: &FilterOptions,
        file: File,
    ) -> Result<(), FilterError> {
        let filter = self.filter(filter)?;
        let writer = format.writer(&self.plan);
        if self.engine.is_divided() && writer.needs_one_thread() {
            return Err(FilterError {
                part: "capture",
                written: format!("{format:?}").to_lowercase(),
                advice: "this format needs one thread, and the run has several; begin the capture before the run".to_owned(),
            });
        }
        self.engine.report_details();
        self.captures().add(writer, filter, file);
        Ok(())
    }

    /// Checks the parts of a filter.
    pub fn filter(&mut self, options: &FilterOptions) -> Result<Filter, FilterError> {
        Filter::new(options, self.captures().names())
    }

    fn captures(&mut self) -> &mut Captures {
        let plan = &self.plan;
        let captures = &mut self.probes.captures;
        captures.get_or_insert_with(|| {
            let all = plan.workloads.iter();
            let parts = all.flat_map(|one| vec![one.id().to_owned(); one.own.parts.len()]);
            Box::new(Captures::new(plan, parts.collect()))
        })
    }

    /// Writes the records of all captures so far to their files. The captures continue.
    pub fn flush_captures(&mut self) {
        if let Some(captures) = &mut self.probes.captures {
            captures.flush(self.engine.now());
        }
    }

    /// The numbers of the captures whose filter has let nothing pass.
    pub fn captures_without_events(&self) -> Vec<usize> {
        let captures = self.probes.captures.iter();
        captures.flat_map(|all| all.without_events()).collect()
    }

    /// The number of a capture whose file has failed, and the error; each only once. Nothing is written to such a file any more.
    pub fn take_capture_failure(&mut self) -> Option<(usize, std::io::Error)> {
        self.probes.captures.as_mut()?.take_failure()
    }

    /// Samples rates and queue lengths at the multiples of `interval` from now on. The interval doubles when there are too many samples.
    pub fn sample(&mut self, interval: Span) {
        let sampled = self.probes.sampled(&self.plan, self.engine.models());
        let now = Sample::take(sampled, self.now());
        self.probes.series = Some(Series::new(interval, now));
        self.halt();
    }

    /// Samples the causes for which flows wait from now on.
    pub fn watch_waits(&mut self) {
        let waits = Waits::new(&self.plan, self.engine.models());
        self.probes.waits = Some(Box::new(waits));
        self.halt();
    }

    /// Checks the coherence of every line in caches of coherent hosts and the accelerators below them, and counts the lines.
    pub fn check_coherence(&self) -> Result<usize, Incoherence> {
        coherence::check((&self.plan, self.engine.models(), self.now()))
    }

    /// Checks coherence after every `every` events from now on. The result holds the first violation. Returns false if no host is
    /// coherent, because there is nothing to check.
    pub fn watch_coherence(&mut self, every: NonZeroU64) -> bool {
        let mut hosts = self.engine.models().iter().filter_map(Model::host);
        let is_coherent = hosts.any(|host| host.cores().next().is_some());
        self.probes.watch = is_coherent.then(|| Box::new(Watch::new(every)));
        is_coherent
    }
}

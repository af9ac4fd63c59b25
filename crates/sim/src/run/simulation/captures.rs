//! The files to which a simulation writes what takes a wire.

use std::fs::File;

use super::Simulation;
use crate::observe::capture::{Captures, Filter, FilterError, FilterOptions, Format};
use crate::observe::pcap::Pcap;
use crate::observe::perfetto::Perfetto;
use crate::observe::trace::Trace;
use crate::observe::vcd::Vcd;
use crate::setup::Plan;

/// A format of captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureFormat {
    /// The packet trace: a JSON object a line.
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
    /// Writes what takes a wire from now on, and passes a filter, to `file`. Captures are numbered from 0 in the order of these calls.
    pub fn capture(
        &mut self,
        format: CaptureFormat,
        filter: &FilterOptions,
        file: File,
    ) -> Result<(), FilterError> {
        self.unite();
        let filter = self.filter(filter)?;
        self.world.watched = true;
        let writer = format.writer(&self.plan);
        self.captures().add(writer, filter, file);
        Ok(())
    }

    /// Checks the parts of a filter.
    pub fn filter(&mut self, options: &FilterOptions) -> Result<Filter, FilterError> {
        Filter::new(options, self.captures().names())
    }

    fn captures(&mut self) -> &mut Captures {
        let plan = &self.plan;
        let captures = &mut self.captures;
        captures.get_or_insert_with(|| Box::new(Captures::new(plan)))
    }

    /// Writes the records of all captures so far to their files. The captures go on.
    pub fn flush_captures(&mut self) {
        if let Some(captures) = &mut self.captures {
            captures.flush(self.world.now());
        }
    }

    /// The numbers of the captures whose filter has let nothing pass.
    pub fn captures_without_events(&self) -> Vec<usize> {
        let captures = self.captures.iter();
        captures.flat_map(|all| all.without_events()).collect()
    }

    /// The number of a capture whose file has failed, and the error; each only once. Nothing is written to such a file any more.
    pub fn take_capture_failure(&mut self) -> Option<(usize, std::io::Error)> {
        self.captures.as_mut()?.take_failure()
    }
}

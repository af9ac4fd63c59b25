//! The places of a flow's requests: their order in the window, and the socket of the memory.

use kernel::Bytes;

use crate::plan::address::show;
use crate::plan::{NodePlan, Region};
use crate::scenario::{NodeKind, ScenarioError};
use crate::workload::flow::section::{AddressOrder, Direction, Flow};
use crate::workload::planner::Planner;

use super::{FlowPlan, Places, Warning};

pub(in crate::workload) const PLACE_KEYS: [&str; 6] = [
    "requests",
    "addresses",
    "stride",
    "alignment",
    "socket",
    "read_after_write",
];

/// The memory of one socket of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    /// Offset of the socket's first byte in the memory of the host.
    pub(super) begin: u64,
    size: u64,
}

impl Socket {
    /// The addresses of the socket, where the host's memory is `memory`.
    pub(super) fn of(&self, memory: Region) -> Region {
        Region {
            base: memory.base + self.begin,
            size: self.size,
        }
    }
}

impl Planner<'_> {
    /// The places of the requests of `flow`, which are `request` bytes long.
    pub(super) fn places(&self, flow: &Flow, request: u64) -> Result<Places, ScenarioError> {
        let parameters = &flow.parameters;
        let error = |key, message: &str| Err(self.error(flow, key, message));
        let order = parameters.addresses;
        if parameters.stride.is_some() && order != AddressOrder::Strided {
            return error("stride", NOT_STRIDED);
        }
        if parameters.alignment.is_some() && order != AddressOrder::Random {
            return error("alignment", NOT_RANDOM);
        }
        if parameters.read_after_write && parameters.direction != Direction::Both {
            return error("read_after_write", NOT_BOTH);
        }
        if let Some(recording) = &parameters.requests {
            let fixed = [
                "addresses",
                "read_after_write",
                "request_size",
                "interval",
                "window",
            ];
            if let Some(key) = fixed.into_iter().find(|key| flow.lines.has(key)) {
                return error(key, IS_RECORDED);
            }
            if matches!(parameters.direction, Direction::Both | Direction::RoundTrip) {
                return error("direction", RECORDED_ONE_WAY);
            }
            if recording.has_times() && self.scenario.measure.steady.is_some() {
                return error("requests", HAS_END);
            }
            return Ok(Places::Recorded(recording.end()));
        }
        match order {
            AddressOrder::Sequential => Ok(Places::Sequential),
            AddressOrder::Strided => match parameters.stride {
                None => error("addresses", NO_STRIDE),
                Some(Bytes(0)) => error("stride", "0 B leads nowhere; write 1 B at least"),
                Some(Bytes(stride)) => Ok(Places::Strided(stride)),
            },
            AddressOrder::Random => match parameters.alignment {
                None => Ok(Places::Random(request)),
                Some(Bytes(0)) => {
                    error("alignment", "0 B is no alignment; write 1 B for any place")
                }
                Some(Bytes(alignment)) => Ok(Places::Random(alignment)),
            },
        }
    }

    /// The memory of the socket that the flow writes as `socket`; `None` if the flow has no such key.
    pub(super) fn socket(
        &self,
        flow: &Flow,
        from: usize,
        to: Option<usize>,
    ) -> Result<Option<Socket>, ScenarioError> {
        let Some(socket) = flow.parameters.socket else {
            return Ok(None);
        };
        let host = to.filter(|to| self.nodes[from].root == *to);
        let Some((host, NodeKind::Host(parameters, _))) =
            host.map(|host| (&self.nodes[host], &self.nodes[host].kind))
        else {
            return Err(self.error(flow, "socket", NOT_ABOVE));
        };
        let begin = parameters.memory_share() * u64::from(socket);
        let size = parameters.memory.0.saturating_sub(begin);
        if socket >= parameters.sockets {
            let message = format!(
                "{} has no socket {socket}; write one from 0 to {}, or a larger sockets = there",
                host.name,
                parameters.sockets - 1
            );
            return Err(self.error(flow, "socket", &message));
        }
        if size == 0 {
            let message = format!(
                "socket {socket} of {} has no share in a memory of {}; write a larger memory there",
                host.name,
                show(parameters.memory.0)
            );
            return Err(self.error(flow, "socket", &message));
        }
        let size = size.min(parameters.memory_share());
        Ok(Some(Socket { begin, size }))
    }
}

/// Returns a warning if the alignment or stride of a flow is so large that its window has only one place for a request.
pub(super) fn warnings(written: &Flow, flow: &FlowPlan, _nodes: &[NodePlan]) -> Vec<Warning> {
    let (key, step) = match flow.places {
        Places::Sequential | Places::Recorded(_) => return Vec::new(),
        Places::Strided(stride) => ("stride", stride),
        Places::Random(alignment) => ("alignment", alignment),
    };
    let request = match (flow.direction.writes(), flow.direction.reads()) {
        (true, true) => flow.write_size.min(flow.read_size),
        (true, false) => flow.write_size,
        (false, _) => flow.read_size,
    };
    let has_two = flow.window >= step.saturating_add(request);
    if has_two || written.parameters.window.is_none() || !written.lines.has(key) {
        return Vec::new();
    }
    let message = format!(
        ", {key}: {} leads beyond its window of {}, so that all requests begin at its first byte; write a larger window",
        show(step),
        show(flow.window)
    );
    vec![(key, message)]
}

const NOT_STRIDED: &str =
    "only strided requests have a stride; write addresses = \"strided\", or leave it out";
const NOT_RANDOM: &str =
    "only random requests have an alignment; write addresses = \"random\", or leave it out";
const IS_RECORDED: &str =
    "requests = \"...\" says which requests the flow makes; leave one of the two out";
const HAS_END: &str = "requests with times end with the last one, and have no steady state; leave the times out, or do not measure the steady state";
/// Why a flow of a device with a driver cannot have recorded requests.
pub(in crate::workload) const HAS_DRIVER: &str =
    "the driver of the device makes its own requests; write model = \"dma\" there, or leave it out";
const RECORDED_ONE_WAY: &str = "recorded requests are writes or reads; write direction = \"write\" or \"read\", and a second flow for the others";
const NOT_BOTH: &str =
    "this flow does not write and read; write direction = \"both\", or leave it out";
const NO_STRIDE: &str = "strided requests need a stride; write stride = \"4 KiB\"";
const NOT_ABOVE: &str =
    "only the memory of the host above has sockets; write it only where the flow goes there";

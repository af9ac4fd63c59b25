//! Flows from NVM Express drives: their blocks, the memory that the driver uses, and their system calls.

use device::Drive;
use host::nvme::{self as driver, Area, BlockTransfer};
use kernel::Bytes;
use nvme::NvmeParameters;

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::plan::address::show;
use crate::scenario::ScenarioError;
use crate::workload::flow::section::{Direction, Flow};
use crate::workload::planner::Planner;

use super::transfer::NO_DRIVER;
use super::{FlowPlan, Kind, Loading, Own};

/// Plan of a flow that the driver of a drive moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlocksPlan {
    /// The first block of the drive.
    pub first: u64,
    /// Size of a block in bytes.
    pub block: u64,
    /// Bytes per command.
    pub command: u64,
    /// The memory of the driver.
    pub area: Area,
    /// The flow whose system call must return before this flow begins.
    pub after: Option<u32>,
}

impl BlocksPlan {
    /// Starts the host thread that makes the system call for `flow`.
    pub(super) fn spawn_call(&self, flow: &FlowPlan, own: &Own, to: &mut Loading<'_>) {
        let drive = &to.plan.nodes[flow.from];
        let transfer = BlockTransfer {
            flow: own.first(),
            writes_blocks: flow.direction == Direction::Read,
            registers: drive.driven_bar(0),
            interrupt: to.interrupt(flow.from, 0),
            area: self.area,
            address: flow.address,
            len: flow.window,
            first_block: self.first,
            block: self.block,
            command: self.command,
            after: [
                self.after.and_then(|after| to.calls.get(&after).copied()),
                to.ready.get(&flow.from).copied(),
            ],
        };
        let start = flow.start() + to.up;
        to.spawn_call(drive.driver.host, own, start, transfer, driver::call);
    }

    /// Before the run, fills the blocks that `flow` reads from the drive.
    pub(super) fn fill(&self, flow: &FlowPlan, plan: &FabricPlan, models: &mut [Model]) {
        let drive = models[flow.from].device_mut::<Drive>();
        let drive = drive.and_then(Drive::model_mut);
        let (Direction::Write, Some(drive)) = (flow.direction, drive) else {
            return;
        };
        let (pattern, first) = (plan.pattern(flow.pattern), self.first * self.block);
        let mut bytes = vec![0; FILLED];
        for at in (0..flow.window).step_by(FILLED) {
            let here = (flow.window - at).min(FILLED as u64) as usize;
            pattern.fill(at, &mut bytes[..here]);
            drive.fill(first + at, &bytes[..here]);
        }
    }
}

impl Planner<'_> {
    /// The earlier flow that wrote the blocks that `flow` reads, if it names one.
    pub(super) fn carried_blocks(
        &self,
        flow: &Flow,
        earlier: &[FlowPlan],
    ) -> Result<Option<u32>, ScenarioError> {
        let Some(id) = &flow.parameters.carries else {
            return Ok(None);
        };
        let (_, writer) = self.above(flow, "carries", id, earlier)?;
        let is_own = self.nodes[writer.from].name == flow.from.value;
        let is_write = flow.parameters.direction == Direction::Write;
        if !is_own || !is_write || writer.direction != Direction::Read {
            return Err(self.error(flow, "carries", BLOCKS_OF_ANOTHER));
        }
        Ok(Some(writer.pattern))
    }

    /// If the flow is from an NVM Express drive: plans the blocks and the commands that its driver uses. `plan` is the flow as planned so far, and
    /// `earlier` are the flows above it in the scenario.
    pub(super) fn blocks(
        &mut self,
        flow: &Flow,
        plan: &FlowPlan,
        earlier: &[FlowPlan],
    ) -> Result<Option<BlocksPlan>, ScenarioError> {
        let Some(drive) = self.nodes[plan.from].drive().cloned() else {
            return Ok(None);
        };
        let Bytes(block) = drive.block_size;
        if plan.direction == Direction::RoundTrip {
            return Err(self.error(flow, "direction", NO_ROUND_TRIP));
        }
        if !plan.window.is_multiple_of(block) {
            let message = format!(
                "{} is not a whole number of blocks of {}; write a multiple",
                show(plan.window),
                show(block)
            );
            return Err(self.error(flow, "size", &message));
        }
        if !plan.address.is_multiple_of(4) {
            return Err(self.error(flow, "offset", WHOLE_DWORDS));
        }
        let wanted = flow.parameters.request_size;
        let Bytes(command) = wanted.unwrap_or(drive.max_transfer);
        if !command.is_multiple_of(block) || command > drive.max_transfer.0 {
            let message = format!(
                "{} is not a transfer size of this drive; write a multiple of its block size of {}, up to its max_transfer of {}",
                show(command),
                show(block),
                show(drive.max_transfer.0)
            );
            return Err(self.error(flow, "request_size", &message));
        }
        let writer = earlier.get(plan.pattern as usize);
        let own = earlier.iter().filter(|other| other.from == plan.from);
        let used = own.clone().filter_map(|other| {
            let blocks = other.blocks()?;
            Some(blocks.first + other.window / block)
        });
        let written = writer.and_then(|writer| Some((writer.window, writer.blocks()?.first)));
        let first = match written {
            Some((window, _)) if window != plan.window => {
                let message = format!(
                    "{} of the {} that were written; write the same size",
                    show(plan.window),
                    show(window)
                );
                return Err(self.error(flow, "size", &message));
            }
            Some((_, first)) => first,
            None => used.max().unwrap_or(0),
        };
        if (first * block).saturating_add(plan.window) > drive.used() {
            let message = format!(
                "the flows above leave {} of the drive's {}; write less, or a larger capacity",
                show(drive.used().saturating_sub(first * block)),
                show(drive.used())
            );
            return Err(self.error(flow, "size", &message));
        }
        let known = own.clone().find_map(|other| other.blocks());
        let area = match known {
            Some(blocks) => blocks.area,
            None => self.area(flow, plan.from, &drive)?,
        };
        let after = match &flow.parameters.after {
            Some(id) => {
                let (after, call) = self.above(flow, "after", id, earlier)?;
                if !call.is_driven() {
                    return Err(self.error(flow, "after", NO_DRIVER));
                }
                Some(after)
            }
            None => written.map(|_| plan.pattern),
        };
        Ok(Some(BlocksPlan {
            first,
            block,
            command,
            area,
            after,
        }))
    }

    /// Allocates the memory that the driver of the drive `from` uses, at the end of its host's memory.
    fn area(
        &mut self,
        flow: &Flow,
        from: usize,
        drive: &NvmeParameters,
    ) -> Result<Area, ScenarioError> {
        let host = self.nodes[from].driver.host;
        let area = Area {
            address: 0,
            entries: drive.queue_entries,
            max_transfer: drive.max_transfer.0,
        };
        let address = self.nodes[host].region().and_then(|memory| {
            let offset = self.claims.keep_list(host, memory, area.size())?;
            Some(memory.base + offset)
        });
        let address = address.ok_or_else(|| {
            let message = format!(
                "the queues of {} do not fit in the memory of {}; write a larger memory there",
                self.nodes[from].name, self.nodes[host].name
            );
            self.error(flow, "size", &message)
        })?;
        Ok(Area { address, ..area })
    }
}

/// Number of bytes that are filled at a time.
const FILLED: usize = 64 << 10;

const BLOCKS_OF_ANOTHER: &str = "a drive reads the blocks that one of its own flows has written; write it for direction = \"write\", with the id of a flow above from this drive with direction = \"read\"";
const NO_ROUND_TRIP: &str = "a drive makes no round trips; write \"write\" or \"read\"";
const WHOLE_DWORDS: &str = "a drive's buffer begins at a dword; write a multiple of 4 B";

//! Planning of accesses, with the nodes that make them.

use device::{AcceleratorParameters, BlockDmaParameters};
use host::commanded::Completion;
use kernel::Bytes;
use transaction::AccessKind;

use crate::plan::BufferPlan;
use crate::plan::address::show;
use crate::plan::buffers::buffer_of;
use crate::plan::tree::known;
use crate::scenario::{Lines, NodeKind, ScenarioError};
use crate::workload::access::section::{Access, Driven};
use crate::workload::planner::Planner;

use super::AccessPlan;

impl Planner<'_> {
    pub(in crate::workload) fn accesses(&mut self) -> Result<(), ScenarioError> {
        let all = &self.written.accesses;
        self.check_ids(all)?;
        for access in all {
            let plan = self.access(access, self.buffers)?;
            self.buffers[plan.buffer].is_written |= plan.parameters.kind != AccessKind::Read;
            self.workloads.push(plan.into());
        }
        Ok(())
    }

    fn access(&self, access: &Access, buffers: &[BufferPlan]) -> Result<AccessPlan, ScenarioError> {
        let parameters = &access.parameters;
        let error = |key: &str, message: &str| self.error(access, key, message);
        let buffer = buffer_of(&access.buffer.value, buffers);
        let buffer = buffer.map_err(|message| error("buffer", &message))?;
        let by = self.accessor(&access.by.value, &buffers[buffer]);
        let by = by.map_err(|message| error("by", &message))?;
        if buffers[buffer].moves.is_some() && !self.nodes[by].asks_for_translations() {
            let message = format!(
                "{} has physical addresses, and its buffer moves; write an accelerator with virtual_addresses = true, or moves = 0",
                self.nodes[by].name
            );
            return Err(error("by", &message));
        }
        self.check_size(access, by, &buffers[buffer])?;
        let first = parameters.first_core as usize;
        let cores = first..first + parameters.cores as usize;
        self.check_cores(by, cores.end, &access.lines)
            .map_err(|(key, message)| error(key, &message))?;
        if parameters.warm_translations && self.is_block_dma(by) {
            let message = format!("{} has physical addresses; leave it out", access.by.value);
            return Err(error("warm_translations", &message));
        }
        let completion = self.completion(access, by);
        let completion = completion.map_err(|(key, message)| error(key, &message))?;
        Ok(AccessPlan {
            id: access.id.value.clone(),
            by,
            cores,
            buffer,
            completion,
            parameters: parameters.clone(),
        })
    }

    /// How the host program detects the completion of accesses, if a program starts them.
    fn completion(
        &self,
        access: &Access,
        by: usize,
    ) -> Result<Option<Completion>, (&'static str, String)> {
        let name = &self.nodes[by].name;
        match access.parameters.driven {
            Driven::Program if matches!(self.nodes[by].kind, NodeKind::Host(..)) => {
                let message = format!(
                    "{name} is a host, whose own cores make the accesses; write driven = \"program\" for accesses of a device, or leave it out"
                );
                Err(("driven", message))
            }
            Driven::Program => Ok(Some(access.parameters.completion)),
            Driven::Device if access.lines.has("completion") => {
                let message = "no program waits for these accesses; write driven = \"program\", or leave it out";
                Err(("completion", message.to_owned()))
            }
            Driven::Device => Ok(None),
        }
    }

    pub(crate) fn is_block_dma(&self, node: usize) -> bool {
        let kind = &self.nodes[node].kind;
        kind.device::<BlockDmaParameters>().is_some()
    }

    /// Checks that an access is within the buffer, and that there are atomic operations of its size.
    fn check_size(
        &self,
        access: &Access,
        by: usize,
        buffer: &BufferPlan,
    ) -> Result<(), ScenarioError> {
        let Bytes(size) = access.parameters.size;
        let error = |message: &str| Err(self.error(access, "size", message));
        if size > buffer.size {
            return error(&format!(
                "{} are more than its buffer has; write {} at most",
                show(size),
                show(buffer.size)
            ));
        }
        let AccessKind::Atomic(kind) = access.parameters.kind else {
            return Ok(());
        };
        let (of, widest) = if self.is_block_dma(by) {
            (" of PCI Express", kind.operation().widest().into())
        } else {
            ("", 16)
        };
        if matches!(size, 4 | 8 | 16) && size <= widest {
            return Ok(());
        }
        let right = if widest == 16 {
            "4 B, 8 B or 16 B"
        } else {
            "4 B or 8 B"
        };
        let name = access.parameters.kind.name();
        error(&format!(
            "an {name}{of} is not on {}; write {right}",
            show(size)
        ))
    }

    /// Checks that the requester has at least `end` cores. A device has no cores, so the keys about cores are errors there.
    pub(crate) fn check_cores(
        &self,
        by: usize,
        end: usize,
        lines: &Lines,
    ) -> Result<(), (&'static str, String)> {
        if let Some(costs) = self.nodes[by].kind.costs() {
            if end <= costs.cores as usize {
                return Ok(());
            }
            let (name, most) = (&self.nodes[by].name, costs.cores);
            return Err(("cores", format!("{name} has {most} cores; write fewer")));
        }
        for key in ["cores", "first_core"] {
            if lines.has(key) {
                return Err((key, "a device has no cores; leave it out".to_owned()));
            }
        }
        Ok(())
    }

    /// The requester: the host of the buffer, or an accelerator or an engine for blocks below it.
    pub(crate) fn accessor(&self, name: &str, buffer: &BufferPlan) -> Result<usize, String> {
        let Some(&by) = self.names.get(name) else {
            let advice = known(self.scenario, name, |node| makes_accesses(&node.kind));
            return Err(format!(
                "there is no host, accelerator or block-dma {name:?}; {advice}"
            ));
        };
        let host = &self.nodes[buffer.host];
        let kind = &self.nodes[by].kind;
        if !makes_accesses(kind) {
            return Err(format!(
                "{name} makes no accesses; write a host, or a device with model = \"accelerator\" or \"block-dma\""
            ));
        }
        if self.nodes[by].driver.host != buffer.host {
            return Err(format!(
                "the memory of {}, where {} is, is not in its address space; write {}, or an accelerator or block-dma below it",
                host.name, buffer.name, host.name
            ));
        }
        if matches!(kind, NodeKind::Host(..)) && !host.coherence.coherent {
            return Err(format!(
                "the cores of {name} have no caches; write coherent = true there"
            ));
        }
        Ok(by)
    }
}

fn makes_accesses(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Host(..))
        || kind.device::<AcceleratorParameters>().is_some()
        || kind.device::<BlockDmaParameters>().is_some()
}

//! Planning of work under locks: its owners, the buffers of the locks and rows, and checks that all work in the same buffers fits together.

use kernel::Span;
use locktable::{Owner, Table, Width};
use protocol::coherence::LINE_BYTES;
use transaction::Rights;

use crate::plan::BufferPlan;
use crate::plan::address::show;
use crate::plan::buffers::buffer_of;
use crate::scenario::{NodeKind, ScenarioError, Wrong};
use crate::workload::lock::section::{LockParameters, LockedParameters, TransactionParameters};
use crate::workload::planner::Planner;
use crate::workload::{Entry, Workload};

use super::sharing::{check_accesses, check_sharing};
use super::{LockPlan, UnderPlan, UpdatePlan};

/// The keys that both kinds of work under locks have, as written.
struct Locked<'a> {
    by: &'a str,
    /// The key of the buffer with the lock table, and the buffer's name.
    table: (&'static str, &'a str),
    parameters: &'a LockedParameters,
    under: UnderWritten<'a>,
}

/// The work that is done while a lock is held, as written.
enum UnderWritten<'a> {
    /// No work: locks are only held.
    Hold(&'a LockParameters),
    /// Updates of rows in the named buffer.
    Update(&'a str, &'a TransactionParameters),
}

impl Planner<'_> {
    /// Plans all requests for locks alone.
    pub(in crate::workload) fn locks(&mut self) -> Result<(), ScenarioError> {
        self.locked(&self.written.locks, |one| Locked {
            by: &one.by.value,
            table: ("buffer", &one.buffer.value),
            parameters: &one.parameters,
            under: UnderWritten::Hold(&one.own),
        })
    }

    pub(in crate::workload) fn transactions(&mut self) -> Result<(), ScenarioError> {
        self.locked(&self.written.transactions, |one| Locked {
            by: &one.by.value,
            table: ("locks", &one.locks.value),
            parameters: &one.parameters,
            under: UnderWritten::Update(&one.buffer.value, &one.own),
        })
    }

    /// Plans all work under locks of one list. Returns an error if other workloads write its buffers.
    fn locked<E: Entry>(
        &mut self,
        written: &[E],
        content: impl Fn(&E) -> Locked<'_>,
    ) -> Result<(), ScenarioError> {
        self.check_ids(written)?;
        let mut plans: Vec<LockPlan> = Vec::new();
        for locked in written {
            let earlier: Vec<&LockPlan> = self.planned_locks().chain(&plans).collect();
            let next_owner = earlier.last().map_or(1, |plan| plan.next_owner());
            let plan = self.locked_work(locked, &content(locked), next_owner);
            let plan = plan.and_then(|plan| {
                check_sharing(&plan, &earlier, self.buffers)?;
                check_accesses(&plan, &self.workloads, self.buffers)?;
                Ok(plan)
            });
            let error = |(key, message): Wrong| self.error(locked, key, &message);
            plans.push(plan.map_err(error)?);
        }
        for buffer in plans.iter().flat_map(LockPlan::buffers) {
            self.buffers[buffer].is_written = true;
        }
        self.deal_rows(&mut plans, written)?;
        self.workloads.extend(plans.into_iter().map(Workload::from));
        Ok(())
    }

    /// The work under locks of the lists that are planned already.
    fn planned_locks(&self) -> impl Iterator<Item = &LockPlan> {
        self.workloads.iter().filter_map(|one| match one {
            Workload::Lock(plan) => Some(plan),
            _ => None,
        })
    }

    fn locked_work(
        &self,
        entry: &impl Entry,
        locked: &Locked<'_>,
        first_owner: u32,
    ) -> Result<LockPlan, Wrong> {
        let (buffers, parameters) = (&*self.buffers, locked.parameters);
        let (key, name) = locked.table;
        let table = buffer_of(name, buffers).map_err(|message| (key, message))?;
        let by = self.accessor(locked.by, &buffers[table]);
        let by = by.map_err(|message| ("by", message))?;
        if self.is_block_dma(by) {
            let message = format!(
                "{} has no lock engine; write a host or an accelerator",
                locked.by
            );
            return Err(("by", message));
        }
        self.check_buffer(by, key, &buffers[table])?;
        let first = parameters.first_core as usize;
        let cores = first..first + parameters.cores as usize;
        self.check_cores(by, cores.end, entry.lines())?;
        let is_host = matches!(self.nodes[by].kind, NodeKind::Host(..));
        if !is_host && entry.lines().has("software") {
            let message = "an accelerator has no software; leave it out".to_owned();
            return Err(("software", message));
        }
        Owner::new(first_owner + cores.len() as u32 - 1)
            .map_err(|error| ("by", format!("{error}; write fewer")))?;
        let under = match &locked.under {
            UnderWritten::Hold(own) => UnderPlan::Hold((*own).clone()),
            UnderWritten::Update(rows, own) => UnderPlan::Update(self.update(rows, own, by)?),
        };
        Ok(LockPlan {
            id: entry.id().value.clone(),
            by,
            cores,
            first_owner,
            table,
            width: width(parameters, &buffers[table])?,
            under,
            parameters: LockedParameters {
                software: if is_host {
                    parameters.software
                } else {
                    Span::ZERO
                },
                ..parameters.clone()
            },
        })
    }

    fn update(
        &self,
        name: &str,
        own: &TransactionParameters,
        by: usize,
    ) -> Result<UpdatePlan, Wrong> {
        let buffer = buffer_of(name, self.buffers).map_err(|message| ("buffer", message))?;
        let there = &self.buffers[buffer];
        let same = self.accessor(&self.nodes[by].name, there);
        same.map_err(|message| ("buffer", message))?;
        self.check_buffer(by, "buffer", there)?;
        if own.rows * LINE_BYTES as u64 > there.size {
            return Err(("rows", too_many("rows", own.rows, there)));
        }
        Ok(UpdatePlan {
            buffer,
            own: Vec::new(),
            parameters: own.clone(),
        })
    }

    /// Checks that the node `by` may write a buffer, and that the buffer does not move.
    fn check_buffer(&self, by: usize, key: &'static str, buffer: &BufferPlan) -> Result<(), Wrong> {
        if buffer.moves.is_some() {
            let message = format!(
                "{} moves, and locks do not; write moves = 0 there",
                buffer.name
            );
            return Err((key, message));
        }
        if self.nodes[by].has_virtual_addresses() && buffer.rights == Rights::Read {
            let message = format!(
                "devices may only read {}; write rights = \"read-write\" there",
                buffer.name
            );
            return Err((key, message));
        }
        Ok(())
    }

    /// Divides all rows except the first one equally among the cores. Each core alone updates its rows.
    fn deal_rows(
        &self,
        plans: &mut [LockPlan],
        written: &[impl Entry],
    ) -> Result<(), ScenarioError> {
        let all = plans.iter();
        let all = all.map(|plan| (plan.update().map(|one| one.buffer), plan.cores.len() as u64));
        let all: Vec<(Option<usize>, u64)> = all.collect();
        for (number, plan) in plans.iter_mut().enumerate() {
            let UnderPlan::Update(update) = &mut plan.under else {
                continue;
            };
            let with = |plans: &[(Option<usize>, u64)]| -> u64 {
                let here = |(buffer, _): &&(_, _)| *buffer == Some(update.buffer);
                plans.iter().filter(here).map(|(_, cores)| cores).sum()
            };
            let (before, total) = (with(&all[..number]), with(&all));
            let rows = update.parameters.rows;
            if total >= rows {
                let message = format!(
                    "{rows} are too few for all who update them; write {} or more",
                    total + 1
                );
                return Err(self.error(&written[number], "rows", &message));
            }
            let first = |core: u64| 1 + core * (rows - 1) / total;
            let cores = before..before + all[number].1;
            update.own = cores.map(|core| first(core)..first(core + 1)).collect();
        }
        Ok(())
    }
}

/// The width of a bucket in bits. Returns an error if the buffer is too small for the table.
fn width(parameters: &LockedParameters, buffer: &BufferPlan) -> Result<Width, Wrong> {
    let width = if parameters.width == 64 {
        Width::Bits64
    } else {
        Width::Bits128
    };
    let table = Table::new(0, parameters.buckets, width);
    let table = table.map_err(|error| ("buckets", error.to_string()))?;
    if table.addresses().end > buffer.size {
        return Err(("buckets", too_many("buckets", parameters.buckets, buffer)));
    }
    Ok(width)
}

fn too_many(what: &str, count: u64, buffer: &BufferPlan) -> String {
    format!(
        "{count} {what} of 64 B do not fit in {}, of {}; write fewer, or a larger size there",
        buffer.name,
        show(buffer.size)
    )
}

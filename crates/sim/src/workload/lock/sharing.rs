//! Checks of work under locks that shares buffers with other workloads.

use transaction::AccessKind;

use crate::plan::BufferPlan;
use crate::scenario::Wrong;
use crate::workload::Workload;
use crate::workload::access::AccessPlan;

use super::{LockPlan, UnderPlan};

/// Checks that all work under locks in the same buffers has the same tables, widths, rows and locks.
pub(crate) fn check_sharing(
    plan: &LockPlan,
    others: &[&LockPlan],
    buffers: &[BufferPlan],
) -> Result<(), Wrong> {
    let (table, rows) = match plan.under {
        UnderPlan::Hold(..) => ("buffer", "buffer"),
        UnderPlan::Update(_) => ("locks", "buffer"),
    };
    let both = |key, buffer: usize| {
        let message = format!(
            "{} cannot hold locks and rows; write another buffer",
            buffers[buffer].name
        );
        Err((key, message))
    };
    for other in others.iter().copied().chain([plan]) {
        let differs = |key: &'static str, there: String| {
            let message = format!("{} has {there}, and they share it; write that", other.id);
            Err((key, message))
        };
        if plan.update().is_some_and(|one| one.buffer == other.table) {
            return both(rows, other.table);
        }
        if other.update().is_some_and(|one| one.buffer == plan.table) {
            return both(table, plan.table);
        }
        if plan.table == other.table && plan.parameters.buckets != other.parameters.buckets {
            return differs("buckets", other.parameters.buckets.to_string());
        }
        if plan.table == other.table && plan.width != other.width {
            return differs("width", (other.width.bytes() * 8).to_string());
        }
        let (Some(one), Some(two)) = (plan.update(), other.update()) else {
            continue;
        };
        if one.buffer != two.buffer {
            continue;
        }
        if plan.table != other.table {
            return differs("locks", format!("{:?}", buffers[other.table].name));
        }
        if one.parameters.rows != two.parameters.rows {
            return differs("rows", two.parameters.rows.to_string());
        }
        if one.parameters.lock != two.parameters.lock {
            return differs("lock", format!("{:?}", two.parameters.lock.name()));
        }
    }
    Ok(())
}

/// Checks that no `[[accesses]]` entry writes the buffers of this work.
pub(crate) fn check_accesses(
    plan: &LockPlan,
    others: &[Workload],
    buffers: &[BufferPlan],
) -> Result<(), Wrong> {
    let writes = |access: &&AccessPlan| {
        access.parameters.kind != AccessKind::Read && plan.buffers().any(|one| one == access.buffer)
    };
    let mut accesses = others.iter().filter_map(|other| match other {
        Workload::Access(access) => Some(access),
        _ => None,
    });
    let Some(access) = accesses.find(writes) else {
        return Ok(());
    };
    let key = match plan.under {
        UnderPlan::Update(_) if access.buffer == plan.table => "locks",
        _ => "buffer",
    };
    let message = format!(
        "the accesses {:?} write to {}; write another buffer, or kind = \"read\" there",
        access.id, buffers[access.buffer].name
    );
    Err((key, message))
}

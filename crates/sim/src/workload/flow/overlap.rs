//! Flows that use the same bytes of their target.

use crate::scenario::Scenario;
use crate::workload::Workload;

use super::FlowPlan;

/// Marks flows that read bytes which another flow fills or writes with a pattern of its own, and returns a warning for each.
///
/// `flows` are those of `scenario`, in its order. Which pattern such a flow reads depends on the times of both, so that its data is
/// not compared.
pub(crate) fn mark(scenario: &Scenario, flows: &mut [Workload]) -> Vec<String> {
    let mut warnings = Vec::new();
    for number in 0..flows.len() {
        let Workload::Flow(reader) = &flows[number] else {
            continue;
        };
        if !reader.direction.reads() {
            continue;
        }
        let others = flows.iter().enumerate();
        let mut others = others.filter_map(|(other, workload)| match workload {
            Workload::Flow(flow) if other != number => Some(flow),
            _ => None,
        });
        let Some(other) = others.find(|other| disturbs(other, reader)) else {
            continue;
        };
        let line = scenario.flows[number].lines.of("offset");
        let message = format!(
            "flow {:?}, offset: flow {:?} uses bytes of the same place, so what is read is not compared; write an offset or a window of its own",
            reader.id, other.id
        );
        warnings.push(scenario.error(line, message).to_string());
        let Workload::Flow(reader) = &mut flows[number] else {
            continue;
        };
        reader.is_disturbed = true;
    }
    warnings
}

/// Whether `reader` may read bytes that `other` has filled or written with another pattern.
fn disturbs(other: &FlowPlan, reader: &FlowPlan) -> bool {
    let end = |flow: &FlowPlan| flow.offset + flow.window;
    reader.direction.reads()
        && reader.to.is_some()
        && (other.to, other.function) == (reader.to, reader.function)
        && other.pattern != reader.pattern
        && other.offset < end(reader)
        && reader.offset < end(other)
}

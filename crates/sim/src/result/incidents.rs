//! The log of incidents as a result.

use packet::{Incident, Site};
use protocol::{FunctionId, Severity};
use serde::Serialize;
use transaction::FunctionPlace;

use crate::observe::incidents::{Entry, Log};
use crate::plan::FabricPlan;
use crate::plan::ports;

/// An incident: an error that a function or link has detected, or another rare event. Equal errors of a function have one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentResult {
    /// Time of the first occurrence.
    pub at_ns: f64,
    /// Time of the last occurrence; equal to `at_ns` if there is only one.
    pub last_ns: f64,
    /// Number of occurrences.
    pub count: u64,
    /// The node that has the function or port; "h to d" is the port of h with d below it.
    #[serde(rename = "where")]
    pub place: String,
    /// The error or event, in the words of the specification.
    pub what: String,
    /// The severity with which the function treats the error; `None` for an event that is not an error.
    pub severity: Option<&'static str>,
    /// The function that has recorded the error or event, such as "01:00.0"; `None` if no function records it.
    pub function: Option<String>,
    /// The root port that received an error message for the error; `None` if no message was sent.
    pub reported_to: Option<String>,
}

/// The incidents of a run, in the order of time, and the number of incidents that the log left out.
pub(super) fn incidents(plan: &FabricPlan, log: &Log) -> (Vec<IncidentResult>, u64) {
    (those(plan, log, |_| true), log.left_out())
}

/// The incidents of a run that software may notice, in the order of time.
pub(crate) fn noticeable(plan: &FabricPlan, log: &Log) -> Vec<IncidentResult> {
    those(plan, log, |what| !what.is_repaired())
}

fn those(plan: &FabricPlan, log: &Log, are: impl Fn(Incident) -> bool) -> Vec<IncidentResult> {
    let mut entries = log.entries().to_vec();
    entries.sort_by_key(|entry| entry.first);
    let is_message = |entry: &Entry| matches!(entry.what, Incident::Message(..));
    let (messages, entries): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_message);
    let those = entries.iter().filter(|entry| are(entry.what));
    those
        .map(|entry| incident(plan, entry, reported_to(plan, entry, &messages)))
        .collect()
}

/// The root port that has received a message for an error, or has recorded it as its own.
fn reported_to(plan: &FabricPlan, entry: &Entry, messages: &[Entry]) -> Option<String> {
    let severity = match entry.what {
        Incident::Uncorrectable(_, detected) if detected.is_reported => detected.severity,
        Incident::Correctable(_) => Severity::Correctable,
        _ => return None,
    };
    let node = entry.component as usize;
    let source = function_at(plan, node, entry.site)?;
    let root = plan.nodes[node].root;
    let found = messages.iter().find(|message| {
        message.component as usize == root
            && message.what == Incident::Message(severity, source)
            && message.last >= entry.first
    });
    found.map(|message| place(plan, root, message.site))
}

fn incident(plan: &FabricPlan, entry: &Entry, reported_to: Option<String>) -> IncidentResult {
    let node = entry.component as usize;
    IncidentResult {
        at_ns: entry.first.as_ns(),
        last_ns: entry.last.as_ns(),
        count: entry.count,
        place: place(plan, node, entry.site),
        what: entry.what.to_string(),
        severity: entry.what.severity().map(Severity::name),
        function: function_at(plan, node, entry.site).map(|id| id.to_string()),
        reported_to,
    }
}

/// The name of a function or port in the log.
fn place(plan: &FabricPlan, node: usize, site: Site) -> String {
    let Some(plan_of_node) = plan.nodes.get(node) else {
        return place_of_controller(plan, node - plan.nodes.len(), site);
    };
    let name = &plan_of_node.name;
    match site {
        Site::Node => name.clone(),
        Site::Virtual(number) => format!("{name} VF {number}"),
        Site::Port(port) => {
            let below = plan.links.iter().find(|link| {
                let [upper, _] = ports::ends(plan, link);
                (upper.0.0 as usize, upper.1) == (node, u32::from(port))
            });
            match below {
                Some(link) => format!("{name} to {}", plan.nodes[link.downstream.0].name),
                None => name.clone(),
            }
        }
    }
}

/// The name of a controller, or of its port with a cable.
fn place_of_controller(plan: &FabricPlan, controller: usize, site: Site) -> String {
    let name = |number: usize| &plan.controllers[number].name;
    let own = |end: &(usize, u8)| site == Site::Port(end.1.into()) && end.0 == controller;
    let cable = plan.cables.iter().find(|cable| cable.ends.iter().any(own));
    match cable {
        Some(cable) => {
            let [one, other] = cable.ends;
            let far = if own(&one) { other.0 } else { one.0 };
            format!("{} to {}", name(controller), name(far))
        }
        None => name(controller).clone(),
    }
}

/// The function at `site`; a host bridge, and the ports of a controller, record nothing.
fn function_at(plan: &FabricPlan, node: usize, site: Site) -> Option<FunctionId> {
    let functions = &plan.nodes.get(node)?.functions;
    let place = match site {
        Site::Node => return None,
        Site::Virtual(number) => FunctionPlace::Virtual(number.into()),
        Site::Port(port) => functions.place_of_port(port.into())?,
    };
    let exists = functions.places().any(|one| one == place);
    exists.then(|| functions.id_of(place))
}

//! The log of incidents as a result.

use kernel::Time;
use packet::{Incident, Site};
use protocol::{Severity, UncorrectableError};
use serde::Serialize;
use transaction::FunctionPlace;

use crate::build;
use crate::model::Model;
use crate::observe::incidents::{Entry, Log};
use crate::plan::FabricPlan;

/// An incident: an error that a function or link has detected, or another rare event. Equal errors of a function are one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentResult {
    /// Time of the first.
    pub at_ns: f64,
    /// Time of the last; that of the first if there is one.
    pub last_ns: f64,
    /// How often it has happened.
    pub count: u64,
    /// The node that has the function or port; "h to d" is the port of h with d below it.
    #[serde(rename = "where")]
    pub place: String,
    /// The error or event, in the words of the specification.
    pub what: String,
    /// The severity with which the function treats the error; `None` of an event that is no error.
    pub severity: Option<&'static str>,
    /// The function that has recorded it, such as "01:00.0"; `None` where no function does.
    pub function: Option<String>,
    /// The root port that got an error message for it; `None` if none was sent.
    pub reported_to: Option<String>,
}

/// The incidents of a run, in the order of time, and the number of those that the log left out.
pub(super) fn incidents(
    plan: &FabricPlan,
    models: &[Model],
    (log, now): (&Log, Time),
) -> (Vec<IncidentResult>, u64) {
    let mut entries = log.entries().to_vec();
    for (component, model) in models.iter().enumerate() {
        for (port, at) in model.failed_links(now) {
            let functions = &plan.nodes[component].functions;
            let Some(place) = functions.place_of_port(port) else {
                continue;
            };
            let error = UncorrectableError::SurpriseDown;
            let severity = functions.space(place).error_control().severity(error);
            entries.push(Entry {
                component: component as u32,
                site: Site::Port(port as u16),
                what: Incident::Uncorrectable(error, severity),
                first: at,
                last: at,
                count: 1,
            });
        }
    }
    entries.sort_by_key(|entry| entry.first);
    let results = entries.iter().map(|entry| incident(plan, entry));
    (results.collect(), log.left_out())
}

fn incident(plan: &FabricPlan, entry: &Entry) -> IncidentResult {
    let node = entry.component as usize;
    IncidentResult {
        at_ns: entry.first.as_ns(),
        last_ns: entry.last.as_ns(),
        count: entry.count,
        place: place(plan, node, entry.site),
        what: entry.what.to_string(),
        severity: entry.what.severity().map(Severity::name),
        function: function(plan, node, entry.site),
        reported_to: None,
    }
}

/// The name of a function or port in the log.
fn place(plan: &FabricPlan, node: usize, site: Site) -> String {
    let Some(plan_of_node) = plan.nodes.get(node) else {
        return plan.controllers[node - plan.nodes.len()].name.clone();
    };
    let name = &plan_of_node.name;
    match site {
        Site::Node => name.clone(),
        Site::Virtual(number) => format!("{name} VF {number}"),
        Site::Port(port) => {
            let below = plan.links.iter().find(|link| {
                let (upper, _) = build::ends(plan, link);
                (upper.0.0 as usize, upper.1) == (node, u32::from(port))
            });
            match below {
                Some(link) => format!("{name} to {}", plan.nodes[link.downstream.0].name),
                None => name.clone(),
            }
        }
    }
}

/// The function at `site`; a host bridge, and the ports of a controller, record nothing.
fn function(plan: &FabricPlan, node: usize, site: Site) -> Option<String> {
    let functions = &plan.nodes.get(node)?.functions;
    let place = match site {
        Site::Node => return None,
        Site::Virtual(number) => FunctionPlace::Virtual(number.into()),
        Site::Port(port) => functions.place_of_port(port.into())?,
    };
    let exists = functions.places().any(|one| one == place);
    exists.then(|| functions.id_of(place).to_string())
}

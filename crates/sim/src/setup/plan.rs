//! The plan: a scenario that is checked, numbered and given addresses, as firmware would.
//!
//! A plan contains no errors; the run only follows it.

use std::ops::Deref;

use super::Scenario;
use super::expect::{self, Expectation};
use super::shortages;
use crate::incident::{self, IncidentPlan};
use crate::plan::memory::Memories;
use crate::plan::{self, Enumerated, FabricPlan, Places};
use crate::scenario::{Models, ScenarioError};
use crate::workload::flow::FlowPlan;
use crate::workload::{self, PlannedWorkload};

/// A fabric and its workloads, ready to be built and run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The fabric.
    pub fabric: FabricPlan,
    /// The workloads of the fabric, in the order of their kinds.
    pub workloads: Vec<PlannedWorkload>,
    /// Incidents, in the order of their times.
    pub incidents: Vec<IncidentPlan>,
    /// Expectations, in the order they are written.
    pub expectations: Vec<Expectation>,
}

impl Deref for Plan {
    type Target = FabricPlan;
    fn deref(&self) -> &FabricPlan {
        &self.fabric
    }
}

impl Plan {
    /// Reads and checks the TOML `text`; messages call it `file`.
    pub fn read(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::read_with(text, file, &Models::default())
    }

    /// Reads and checks the TOML `text`, whose devices may also have the models from outside; messages call it `file`.
    pub fn read_with(text: &str, file: &str, models: &Models) -> Result<Self, ScenarioError> {
        Self::new(&Scenario::read_with(text, file, models)?)
    }

    /// Plans `scenario`: places its nodes, enumerates them as firmware would, and plans incidents and workloads. The functions named `check` do not
    /// change anything.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let (fabric, written) = (&scenario.fabric, &scenario.workloads);
        plan::check(fabric)?;
        let places = Places::new(fabric)?;
        places.check(fabric)?;
        let mut enumerated = Enumerated::new(fabric, places)?;
        enumerated.check(fabric, written.are_between_hosts(fabric))?;
        let incidents = incident::plan(fabric, &scenario.incidents, &enumerated)?;
        expect::check(&scenario.expectations)
            .map_err(|(line, message)| fabric.error(line, message))?;
        let mut memories = Memories::new(fabric, &enumerated.nodes)?;
        let planned = workload::plan(fabric, written, &mut enumerated, &mut memories)?;
        let mut warnings = planned.warnings;
        warnings.extend_from_slice(&scenario.warnings);
        let workloads = planned.workloads;
        let mut kinds = workloads.iter().map(|one| one.workload.kind());
        if fabric.measure.steady.is_some() && kinds.all(|kind| kind.request().is_none()) {
            let message = "measure, steady: no workload goes on until its rate is known; write [[flows]], or leave it out";
            return Err(fabric.error(fabric.measure.line, message.to_owned()));
        }
        let mut planned = enumerated.make(fabric, memories, warnings);
        let flows = workloads.iter().filter_map(|one| one.workload.flow());
        let found = shortages::shortages(&planned, flows);
        let short = shortages::warnings(fabric, &planned, &found);
        planned.warnings.extend(short);
        Ok(Plan {
            fabric: planned,
            workloads,
            incidents,
            expectations: scenario.expectations.clone(),
        })
    }

    /// The flows, including the flows of messages, in the order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = &FlowPlan> {
        self.workloads.iter().filter_map(|one| one.workload.flow())
    }

    /// A copy of the plan before any firmware ran: every register has its reset value.
    pub fn cold(mut self, scenario: &Scenario) -> Result<Self, ScenarioError> {
        self.fabric.reset(&scenario.fabric)?;
        Ok(self)
    }
}

//! Collectives: schedules of the routers of a network, each in memory of its own.

mod algorithm;
pub(crate) mod section;

use device::RouterParameters;
use device::router::program::Step;
use kernel::{Bytes, Quantity};

use crate::plan::network::NetworkPlan;
use crate::scenario::{NetworkParameters, ScenarioError, position};
use crate::workload::planner::Planner;

use super::{Programs, SchedulePlan};

use algorithm::Builder;
use section::{Algorithm, Collective, Operation};

impl<'a> Planner<'a> {
    pub(super) fn collective(
        &mut self,
        written: &Collective,
    ) -> Result<SchedulePlan, ScenarioError> {
        let (index, shape) = self.network(written)?;
        let network = &self.networks.all[index];
        let parameters = &written.parameters;
        let taken = network
            .routers
            .iter()
            .map(|router| self.claims.taken(*router));
        let base = taken.max().unwrap_or(0);
        let mut builder = Builder::new(&shape.size, shape.shape.wraps(), base);
        self.build(written, &mut builder)?;
        self.check_memory(written, network, builder.top)?;
        for router in &network.routers {
            self.claims.take_to(*router, builder.top);
        }
        let sent = |steps: &Vec<Step>| steps.iter().map(Step::sent).sum();
        Ok(SchedulePlan {
            id: written.id.value.clone(),
            devices: network.routers.clone(),
            operation: parameters.operation.name(),
            algorithm: parameters.algorithm.name(),
            size: parameters.size.0,
            start: parameters.start,
            vectors: builder.vectors(),
            checks: builder.checks,
            first_parts: (0..builder.programs.len()).collect(),
            amounts: builder.programs.iter().map(sent).collect(),
            programs: Programs::Routers(index, builder.programs),
        })
    }

    /// The network whose nodes take part, and its parameters.
    fn network(
        &self,
        written: &Collective,
    ) -> Result<(usize, &'a NetworkParameters), ScenarioError> {
        let name = written.network.value.as_str();
        let generated = &self.scenario.networks;
        let names = generated.iter().map(|one| one.name.value.as_str());
        let none = "there is none; write [networks.NAME]";
        let found = position(name, &names.collect::<Vec<_>>(), "generated network", none);
        let found = found.map_err(|message| self.error(written, "network", &message))?;
        let mut all = self.networks.all.iter();
        let index = all.position(|network| network.name == name);
        let index = index.expect("every generated network is planned");
        Ok((index, &generated[found].parameters))
    }

    /// Checks that each router has `needed` bytes of memory, and that other nodes see all of them.
    fn check_memory(
        &self,
        written: &Collective,
        network: &NetworkPlan,
        needed: u64,
    ) -> Result<(), ScenarioError> {
        let right = Bytes(needed.next_power_of_two());
        let of_routers = |key| format!("{key} = {:?} for its routers, or ", right.show());
        let has_less =
            |router: &&usize| self.nodes[**router].bars[0].is_none_or(|bar| bar.size < needed);
        let seen = network.window.aperture();
        let (limit, advice) = if needed > seen {
            let is_possible = right <= RouterParameters::LARGEST_APERTURE;
            let advice = is_possible.then(|| of_routers("aperture"));
            (format!("other nodes see {}", Bytes(seen).show()), advice)
        } else if let Some(router) = network.routers.iter().find(has_less) {
            let limit = format!("{} has less", self.nodes[*router].name);
            (limit, Some(of_routers("bar")))
        } else {
            return Ok(());
        };
        let message = format!(
            "{} of memory are needed in each router, and {limit}; write {}a smaller size",
            Bytes(needed).show(),
            advice.unwrap_or_default()
        );
        Err(self.error(written, "size", &message))
    }

    /// Plans the steps of the operation.
    fn build(&self, written: &Collective, builder: &mut Builder) -> Result<(), ScenarioError> {
        let parameters = &written.parameters;
        let Bytes(size) = parameters.size;
        let error = |key: &str, message: &str| Err(self.error(written, key, message));
        if parameters.operation == Operation::Halo {
            if written.lines.has("algorithm") {
                let message =
                    "a halo exchange has none; leave it out, or write operation = \"all-reduce\"";
                return error("algorithm", message);
            }
            builder.halo(size, parameters.iterations);
            return Ok(());
        }
        let nodes = builder.programs.len();
        let parts = 4 * nodes as u64;
        if !size.is_multiple_of(parts) {
            let right = Bytes(size.next_multiple_of(parts)).show();
            let message = format!(
                "{} are not a whole number of 32-bit words for each of {nodes} nodes; write {right:?}",
                Bytes(size).show()
            );
            return error("size", &message);
        }
        if parameters.iterations > 1 {
            let message = "an all-reduce is made once; leave it out, or write another collective";
            return error("iterations", message);
        }
        let rings = match parameters.algorithm {
            Algorithm::Ring => builder.one_ring(),
            Algorithm::DimensionWise => builder.rings(),
        };
        builder.all_reduce(size, &rings);
        Ok(())
    }
}

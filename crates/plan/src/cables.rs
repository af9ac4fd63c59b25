//! Cables between controllers, and the port by which each controller reaches each processor.

use kernel::Quantity;

use crate::scenario::{At, Cable, FabricScenario, ScenarioError, position};

use super::controllers::{Attachment, CablePlan, Controllers};
use super::topology::Topology;

impl Controllers {
    /// Adds a cable between two controllers, and gives it the next port of each.
    pub(crate) fn lay(
        &mut self,
        scenario: &FabricScenario,
        cable: &Cable,
    ) -> Result<(), ScenarioError> {
        let find = |name: &At<String>| {
            let names: Vec<&str> = self.all.iter().map(|one| one.name.as_str()).collect();
            let none = "write [controllers.NAME]";
            position(&name.value, &names, "controller", none)
                .map_err(|message| scenario.error(name.line, message))
        };
        let (from, to) = (find(&cable.from)?, find(&cable.to)?);
        if from == to {
            let message = format!(
                "this cable begins and ends at {}; write two controllers",
                cable.from.value
            );
            return Err(scenario.error(cable.to.line, message));
        }
        let mut place = |controller: usize| {
            let plan = &mut self.all[controller];
            let port = plan.ports.len() + plan.io_ports.len() + plan.cables.len();
            plan.cables.push(self.cables.len());
            if port < MOST_PORTS {
                return Ok((controller, port as u8));
            }
            let message = format!(
                "{} has more than {MOST_PORTS} ports with this cable; leave some out",
                plan.name
            );
            Err(scenario.error(cable.lines.own(), message))
        };
        let ends = [place(from)?, place(to)?];
        let pair = format!("{}-{}", cable.from.value, cable.to.value);
        let controllers = ends.map(|(controller, _)| controller);
        let joined = |other: &CablePlan| other.ends.map(|(controller, _)| controller);
        let alike = self.cables.iter().map(joined);
        let id = match alike.filter(|ends| *ends == controllers).count() {
            0 => pair,
            more => format!("{pair}-{}", more + 1),
        };
        self.cables.push(CablePlan {
            id,
            ends,
            link: cable.link.clone(),
        });
        Ok(())
    }

    /// Finds the port by which each controller reaches each processor.
    pub(crate) fn find_routes(&mut self, scenario: &FabricScenario) -> Result<(), ScenarioError> {
        let count = self.all.len();
        let places = self.attachments.iter().chain(&self.io_ports);
        let places: Vec<Attachment> = places.flatten().copied().collect();
        let mut neighbours = vec![Vec::new(); count + places.len()];
        for cable in &self.cables {
            let [one, other] = cable.ends;
            neighbours[one.0].push((one.1, other.0));
            neighbours[other.0].push((other.1, one.0));
        }
        for (place, processor) in places.iter().zip(count..) {
            neighbours[place.controller].push((place.port, processor));
            neighbours[processor].push((0, place.controller));
        }
        for ports in &mut neighbours {
            ports.sort_unstable();
        }
        let topology = Topology::new(&neighbours, count..neighbours.len());
        let routes_between = topology.routes();
        for (number, controller) in self.all.iter_mut().enumerate() {
            let mut routes = Vec::new();
            for (place, port) in places.iter().zip(&routes_between[number][count..]) {
                let processor = usize::from(place.processor);
                if port.is_some() {
                    routes.resize(routes.len().max(processor + 1), None);
                    routes[processor] = *port;
                }
            }
            controller.routes = routes.into();
            let joined =
                |other: &usize| *other == number || routes_between[number][*other].is_some();
            controller.group = (0..count).find(joined).unwrap_or(number);
        }
        self.warnings.extend(self.unused(scenario));
        self.check_spaces(scenario)?;
        if let Some(circle) = topology.deadlock(&routes_between) {
            let names: Vec<&str> = circle
                .iter()
                .map(|one| self.all[*one].name.as_str())
                .collect();
            let line = scenario.cables.first().map_or(1, |cable| cable.lines.own());
            let message = format!(
                "the shortest paths between these controllers form a circle ({} and back), so that packets can wait for each other for ever (deadlock); leave out a cable of it",
                names.join(" to ")
            );
            self.warnings
                .push(scenario.error(line, message).to_string());
        }
        Ok(())
    }

    /// A warning for each cable that carries nothing because other cables join the same controllers.
    fn unused(&self, scenario: &FabricScenario) -> Vec<String> {
        let carries = |(controller, port): &(usize, u8)| {
            let mut routes = self.all[*controller].routes.iter();
            routes.any(|taken| *taken == Some(*port))
        };
        let joined = |cable: &CablePlan| {
            let [one, other] = cable.ends.map(|(controller, _)| controller);
            (one.min(other), one.max(other))
        };
        let warning = |number: usize| {
            let cable = &self.cables[number];
            let mut earlier = self.cables[..number].iter();
            let first = earlier.find(|first| joined(first) == joined(cable))?;
            if cable.ends.iter().any(carries) {
                return None;
            }
            let message = format!(
                "{} is never used, as {} joins both, too; leave it out, or write more lanes for that",
                cable.id, first.id
            );
            let line = scenario.cables[number].lines.own();
            Some(scenario.error(line, message).to_string())
        };
        (0..self.cables.len()).filter_map(warning).collect()
    }

    /// Checks that controllers with a cable between them have the same size of processor address space, and that both or neither have a separate
    /// channel for GETs.
    fn check_spaces(&self, scenario: &FabricScenario) -> Result<(), ScenarioError> {
        for cable in &self.cables {
            let [(one, _), (other, _)] = cable.ends;
            let (number, first) = (one.max(other), one.min(other));
            let [later, earlier] = [number, first].map(|controller| &self.all[controller]);
            let [own, far] = [&later.parameters, &earlier.parameters];
            let wrong = if own.processor_space != far.processor_space {
                let message = format!(
                    "{} is not that of {}, {}, which a cable joins to it; write the same for both",
                    own.processor_space.show(),
                    earlier.name,
                    far.processor_space.show()
                );
                ("processor_space", message)
            } else if own.get_channel != far.get_channel {
                let message = format!(
                    "{} is not that of {}, which a cable joins to it; write the same for both",
                    own.get_channel, earlier.name
                );
                ("get_channel", message)
            } else {
                continue;
            };
            let written = &scenario.controllers[number];
            return Err(scenario.error_at(&written.name, &written.lines, wrong));
        }
        Ok(())
    }
}

/// The most ports that a controller can have, cables included.
const MOST_PORTS: usize = 128;

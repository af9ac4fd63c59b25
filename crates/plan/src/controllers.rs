//! Controllers: the network interface controller at each port, and the number of each processor.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::nic::registers::PAGE;
use device::{Nic, NicParameters, Sharing, Weights};
use fabric::ControllerParameters;
use kernel::{Bytes, Quantity};
use link::PortParameters;
use protocol::Bar;

use crate::scenario::{
    Controller, FabricScenario, LinkParameters, Node, NodeKind, ScenarioError, position,
};

use super::address::show;

/// A controller.
#[derive(Clone, Debug)]
pub struct ControllerPlan {
    /// The controller's name.
    pub name: String,
    /// The controller's parameters.
    pub parameters: ControllerParameters,
    /// The parameters of every port with a cable.
    pub port: PortParameters,
    /// The network interface controller at each port.
    pub ports: Vec<usize>,
    /// The I/O ports; their port numbers follow the numbers of the network interface controllers.
    pub io_ports: Vec<usize>,
    /// The cables; their port numbers follow the numbers of the I/O ports.
    pub cables: Vec<usize>,
    /// The port that leads to each processor, up to the highest processor number in use.
    pub routes: Arc<[Option<u8>]>,
    /// The lowest number among the controllers that cables join, this one included.
    pub group: usize,
    /// The largest packet, in bytes of data, that fits into every buffer for messages of this controller and of all controllers that cables join to
    /// it.
    pub largest: u32,
}

impl ControllerPlan {
    /// The BAR through which each network interface controller reaches the global address space.
    pub fn window(&self) -> Bar {
        Nic::window(self.parameters.processor_space.0, self.routes.len())
    }

    /// The address at which the global address space begins for functions below I/O ports: the first multiple of the window's size, which is
    /// beyond the addresses of their owners.
    pub fn window_below(&self) -> u64 {
        self.window().size
    }

    /// The port that leads to a processor; none if the processor cannot be reached.
    pub fn port_to(&self, processor: u8) -> Option<u8> {
        self.routes.get(usize::from(processor)).copied().flatten()
    }

    /// The offset of a processor's addresses in the window.
    pub fn base(&self, processor: u8) -> u64 {
        self.parameters.processor_space.0 * u64::from(processor)
    }
}

/// A link between two controllers.
#[derive(Clone, Debug)]
pub struct CablePlan {
    /// The names of both controllers with a hyphen between; parallel cables also get a number.
    pub id: String,
    /// The controller and port at each end.
    pub ends: [(usize, u8); 2],
    /// The parameters of the link.
    pub link: LinkParameters,
}

/// The place of a network interface controller or an I/O port at a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The number of the controller.
    pub controller: usize,
    /// The port of the controller.
    pub port: u8,
    /// The processor number.
    pub processor: u8,
}

/// All controllers and cables, and the place of each node that is attached to a controller.
pub struct Controllers {
    /// The controllers, as written.
    pub all: Vec<ControllerPlan>,
    pub(crate) cables: Vec<CablePlan>,
    pub(crate) warnings: Vec<String>,
    /// The place of each node that is a network interface controller.
    pub(crate) attachments: Vec<Option<Attachment>>,
    pub(crate) io_ports: Vec<Option<Attachment>>,
}

impl Controllers {
    pub(crate) fn new(scenario: &FabricScenario) -> Result<Self, ScenarioError> {
        let plan = |controller: &Controller| ControllerPlan {
            name: controller.name.value.clone(),
            parameters: controller.parameters.clone(),
            port: controller.port.clone(),
            ports: Vec::new(),
            io_ports: Vec::new(),
            cables: Vec::new(),
            routes: Arc::from([]),
            group: 0,
            largest: 0,
        };
        let mut controllers = Self {
            all: scenario.controllers.iter().map(plan).collect(),
            cables: Vec::new(),
            warnings: Vec::new(),
            attachments: vec![None; scenario.nodes.len()],
            io_ports: vec![None; scenario.nodes.len()],
        };
        check_names(scenario)?;
        check_spaces(scenario)?;
        let mut numbers = written_numbers(scenario)?;
        // Network interface controllers get their port numbers first. I/O ports get the numbers after them.
        for (index, node) in scenario.nodes.iter().enumerate() {
            if nic(node).is_some() {
                check_nic(scenario, node)?;
                let place = controllers.attach(scenario, (index, node), &mut numbers)?;
                controllers.attachments[index] = place;
            }
        }
        for (index, node) in scenario.nodes.iter().enumerate() {
            if matches!(node.kind, NodeKind::IoPort(_)) {
                let place = controllers.attach(scenario, (index, node), &mut numbers)?;
                controllers.io_ports[index] = place;
            }
        }
        for cable in &scenario.cables {
            controllers.lay(scenario, cable)?;
        }
        controllers.find_routes(scenario)?;
        Ok(controllers)
    }

    fn attach(
        &mut self,
        scenario: &FabricScenario,
        (index, node): (usize, &Node),
        numbers: &mut BTreeMap<u8, usize>,
    ) -> Result<Option<Attachment>, ScenarioError> {
        let Some((controller, written)) = membership(node) else {
            return Ok(None);
        };
        let controller = find(scenario, node, controller)?;
        let plan = &mut self.all[controller];
        let port = (plan.ports.len() + plan.io_ports.len()) as u8;
        if u32::from(port) >= plan.parameters.ports {
            let message = format!(
                "no port of the controller {} is left ({} in all); write a larger ports there, up to 64",
                plan.name, plan.parameters.ports
            );
            return Err(scenario.error(node.name.line, message));
        }
        if matches!(node.kind, NodeKind::IoPort(_)) {
            plan.io_ports.push(index);
        } else {
            check_clock(scenario, node, plan)?;
            plan.ports.push(index);
        }
        let written = written.map(|number| number as u8);
        let free = || (0..=u8::MAX).find(|number| !numbers.contains_key(number));
        let Some(processor) = written.or_else(free) else {
            let message = "there are more than 256 processors; leave some out".to_owned();
            return Err(scenario.error(node.name.line, message));
        };
        numbers.insert(processor, index);
        Ok(Some(Attachment {
            controller,
            port,
            processor,
        }))
    }
}

/// The controller and the processor number that the scenario writes for a node, each optional; `None` for a node that does not belong to a
/// controller.
fn membership(node: &Node) -> Option<(Option<&String>, Option<u32>)> {
    match &node.kind {
        NodeKind::IoPort(port) => Some((port.controller.as_ref(), port.processor)),
        _ => nic(node).map(|nic| (nic.controller.as_ref(), nic.processor)),
    }
}

/// The parameters of `node`, if it is a network interface controller.
pub(crate) fn nic(node: &Node) -> Option<&NicParameters> {
    node.kind.device()
}

fn check_names(scenario: &FabricScenario) -> Result<(), ScenarioError> {
    for controller in &scenario.controllers {
        let same = |node: &&Node| node.name.value == controller.name.value;
        if let Some(node) = scenario.nodes.iter().find(same) {
            let message = format!(
                "{:?} is already the name of the {} on line {}; write another one",
                controller.name.value,
                node.kind.noun(),
                node.name.line
            );
            return Err(scenario.error(controller.name.line, message));
        }
    }
    Ok(())
}

fn check_spaces(scenario: &FabricScenario) -> Result<(), ScenarioError> {
    for controller in &scenario.controllers {
        let Bytes(space) = controller.parameters.processor_space;
        if !space.is_power_of_two() {
            let message = format!(
                "{} is not a power of two; write {:?}",
                show(space),
                show(space.next_power_of_two())
            );
            let wrong = ("processor_space", message);
            return Err(scenario.error_at(&controller.name, &controller.lines, wrong));
        }
    }
    Ok(())
}

/// The processor numbers that the scenario writes; each must be unique.
fn written_numbers(scenario: &FabricScenario) -> Result<BTreeMap<u8, usize>, ScenarioError> {
    let mut numbers = BTreeMap::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        let Some((_, Some(number))) = membership(node) else {
            continue;
        };
        if let Some(other) = numbers.insert(number as u8, index) {
            let message = format!(
                "{number} is already the number of {}; write another one",
                scenario.nodes[other].name.value
            );
            return Err(node.error(scenario, ("processor", message)));
        }
    }
    Ok(numbers)
}

fn check_nic(scenario: &FabricScenario, node: &Node) -> Result<(), ScenarioError> {
    let NodeKind::Device(endpoint, _) = &node.kind else {
        return Ok(());
    };
    if let Some(nic) = nic(node)
        && nic.sharing == Sharing::Message
        && nic.weights != Weights::EQUAL
    {
        let message = "with sharing = \"message\" the engine sends one message after the other; write sharing = \"packet\", or leave it out";
        return Err(node.error(scenario, ("weights", message.to_owned())));
    }
    if endpoint.bar.0 >= PAGE {
        return Ok(());
    }
    let message = format!(
        "{} do not hold the doorbells of a function, which take a page; write {:?} or more",
        endpoint.bar.show(),
        show(PAGE)
    );
    Err(node.error(scenario, ("bar", message)))
}

fn find(
    scenario: &FabricScenario,
    node: &Node,
    written: Option<&String>,
) -> Result<usize, ScenarioError> {
    let names: Vec<&str> = scenario
        .controllers
        .iter()
        .map(|controller| controller.name.value.as_str())
        .collect();
    let error = |message: String| Err(node.error(scenario, ("controller", message)));
    match (written, names.len()) {
        (_, 0) => error(
            "there is no controller; write [controllers.c0], the crossbar that it belongs to"
                .to_owned(),
        ),
        (None, 1) => Ok(0),
        (None, _) => error(format!(
            "none is written; write one of {}",
            names.join(", ")
        )),
        (Some(wanted), _) => position(wanted, &names, "controller", "").or_else(error),
    }
}

/// Checks that a network interface controller and its crossbar have the same clock frequency, because they share a bus.
fn check_clock(
    scenario: &FabricScenario,
    node: &Node,
    controller: &ControllerPlan,
) -> Result<(), ScenarioError> {
    let NodeKind::Device(endpoint, _) = &node.kind else {
        return Ok(());
    };
    let clock = controller.parameters.crossbar_clock;
    if endpoint.clock == clock {
        return Ok(());
    }
    let message = format!(
        "{} is not that of the crossbar of {}, {}, with which it shares a bus; write the same for both",
        endpoint.clock.show(),
        controller.name,
        clock.show()
    );
    Err(node.error(scenario, ("clock", message)))
}

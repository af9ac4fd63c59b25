//! Construction of network interface controllers and their crossbars from a plan.

use device::{EndpointConfig, Nic, NicConfig, NicParameters};
use fabric::{Controller, ControllerConfig, Plane};
use kernel::Span;
use link::{LinkConfig, LinkEnd};

use crate::plan::{CablePlan, FabricPlan};

use super::pipeline::Pipeline;
use super::{held, plain_end};

/// Builds the network interface controller at node `index`.
pub fn nic(
    plan: &FabricPlan,
    index: usize,
    endpoint: EndpointConfig,
    parameters: &NicParameters,
) -> Nic {
    let place = plan.nodes[index]
        .attachment
        .expect("every network interface controller belongs to a controller");
    let controller = &plan.controllers[place.controller];
    let crossbar = &controller.parameters;
    let channel = |port: u8| port % crossbar.virtual_channels as u8;
    let silent: Vec<u8> = io_processors(plan).collect();
    let channels = (0..=u8::MAX)
        .zip(controller.routes.iter())
        .map(|(processor, port)| {
            let takes_messages = !silent.contains(&processor);
            port.filter(|_| takes_messages).map(channel)
        });
    Nic::new(NicConfig {
        endpoint,
        parameters: parameters.clone(),
        processor: place.processor,
        channels: channels.collect(),
        data_channels: crossbar.virtual_channels as u8,
        get_channel: crossbar.get_channel,
        channel_buffer: crossbar.channel_buffer.0 as u32,
        processor_space: crossbar.processor_space.0,
        reach: controller.routes.clone(),
        largest: controller.largest,
        io_buffer: crossbar.io_buffer.0 as u32,
    })
}

/// The processor numbers of all I/O ports.
pub fn io_processors(plan: &FabricPlan) -> impl Iterator<Item = u8> {
    let io_ports = plan.io_ports.iter();
    let places = io_ports.filter_map(|port| plan.nodes[port.node].io_port);
    places.map(|place| place.processor)
}

/// Builds the controller with this number.
pub fn controller(plan: &FabricPlan, number: usize) -> Controller {
    let controller = &plan.controllers[number];
    let words = |node: &usize| {
        let nic = plan.nodes[*node].kind.device::<NicParameters>();
        nic.map_or(0, NicParameters::receive_buffer_words)
    };
    let io = controller.parameters.io_buffer.0 as u32 / 16;
    let io = controller.io_ports.iter().map(|_| io);
    let cables = controller.cables.iter();
    let cables = cables.map(|cable| cable_end(plan, number, *cable));
    Controller::new(ControllerConfig {
        parameters: controller.parameters.clone(),
        routes: controller.routes.clone(),
        buffer_words: controller.ports.iter().map(words).chain(io).collect(),
        cables: cables.collect(),
    })
}

/// The delays of a cable's wire in both directions.
pub fn delays(plan: &FabricPlan, cable: &CablePlan) -> [Span; 2] {
    let [one, other] = pipelines(plan, cable);
    one.delays(other, cable.link.delay)
}

/// The pipelines of the ports at both ends of a cable.
fn pipelines(plan: &FabricPlan, cable: &CablePlan) -> [Pipeline; 2] {
    let port = |number: usize| &plan.controllers[number].port;
    let of = |(number, _)| Pipeline::of_port(port(number), cable.link.generation.0);
    cable.ends.map(of)
}

/// Builds the end of a cable at a controller.
fn cable_end(plan: &FabricPlan, controller: usize, cable: usize) -> LinkEnd {
    let own = &plan.controllers[controller];
    let cable = &plan.cables[cable];
    let mut pipelines = pipelines(plan, cable);
    let mut direction = "back";
    if cable.ends[0].0 != controller {
        pipelines.reverse();
        direction = "forth";
    }
    let errors = (plan.seed, format!("errors {} {direction}", cable.id));
    let max_payload = own.port.max_payload_supported.0;
    let config = LinkConfig {
        max_payload: max_payload as u16,
        held: held::at_cable(&own.parameters, max_payload),
        channels: 1 + usize::from(own.parameters.get_channel),
        sources: Plane::ALL.len(),
        ..plain_end(&cable.link, pipelines, &errors)
    };
    LinkEnd::new(config, &own.port)
}

//! Construction of network interface controllers and their crossbars from a plan.

use device::{EndpointConfig, Nic, NicConfig, NicParameters};
use fabric::{Controller, ControllerConfig, Plane};
use kernel::{Span, Stream};
use link::{BitErrors, LinkConfig, LinkEnd};

use crate::plan::{CablePlan, FabricPlan};

use super::pipeline::Pipeline;

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
    let io_ports = plan
        .io_ports
        .iter()
        .filter_map(|port| plan.nodes[port.node].io_port);
    let silent: Vec<u8> = io_ports.map(|place| place.processor).collect();
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
    let generation = cable.link.generation.0;
    let [one, other] = cable
        .ends
        .map(|(number, _)| Pipeline::of_port(&plan.controllers[number].port, generation));
    one.delays(other, cable.link.delay)
}

/// Builds the end of a cable at a controller.
fn cable_end(plan: &FabricPlan, controller: usize, cable: usize) -> LinkEnd {
    let own = &plan.controllers[controller];
    let cable = &plan.cables[cable];
    let direction = if cable.ends[0].0 == controller {
        "back"
    } else {
        "forth"
    };
    let link = &cable.link;
    let stream = || Stream::named(plan.seed, &format!("errors {} {direction}", cable.id));
    let errors = (link.bit_error_rate > 0.0).then(|| BitErrors::new(link.bit_error_rate, stream()));
    let [there, back] = delays(plan, cable);
    let config = LinkConfig {
        generation: link.generation.0,
        lanes: link.lanes.0,
        max_payload: own.port.max_payload_supported.0 as u16,
        channels: 1 + usize::from(own.parameters.get_channel),
        has_channel_capability: false,
        sources: Plane::ALL.len(),
        weights: Vec::new(),
        cut_through: false,
        far_cut_through: false,
        infinite_completions: false,
        report_finished: true,
        own: None,
        transmit_pipeline: Pipeline::of_port(&own.port, link.generation.0).transmit,
        round_trip: there + back,
        has_separate_clocks: link.sris,
        far_l0s_exit: Span::ZERO,
        far_l0s_entry: Span::ZERO,
        is_upstream: false,
        errors,
        fails_at: link.failure(),
    };
    LinkEnd::new(config, &own.port)
}

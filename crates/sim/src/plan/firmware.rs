//! The firmware of each host, which enumerates the host's tree in no simulated time.

use host::Coroutine;
use host::firmware::{AssignedVectors, FirmwareError, Setting, Zone, apply, enumerate};
use protocol::{ConfigRequest, FunctionId, Tag};
use transaction::{Action, ConfigAccess, FunctionPlace, Functions, Reach};

use crate::scenario::{Node, NodeKind, Scenario, ScenarioError};

use super::address::show;
use super::channels;
use super::tree::Tree;

/// The functions of all nodes, and the tree through which firmware reaches them.
pub(crate) struct Firmware<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) tree: &'a Tree,
    pub(crate) functions: Vec<Functions>,
}

impl Firmware<'_> {
    /// Enumerates the tree of `host`; returns the vectors of its functions with MSI-X.
    pub(crate) fn enumerate(&mut self, host: usize) -> Result<Vec<AssignedVectors>, ScenarioError> {
        let done = Coroutine::new(enumerate).run(|access| self.access(host, &access));
        done.map_err(|error| self.error(host, error))
    }

    /// Applies the settings that the scenario writes for `node`, and returns them.
    pub(crate) fn set(&mut self, node: usize) -> Vec<(FunctionId, Setting)> {
        let functions = &self.functions[node];
        let mut settings = settings(&self.scenario.nodes[node], functions);
        settings.extend(channels::settings(
            self.scenario,
            self.tree,
            node,
            functions,
        ));
        if let NodeKind::Host(_, costs) = &self.scenario.nodes[self.tree.roots[node]].kind {
            let services = [
                (costs.error_reporting, Setting::ReportErrors),
                (costs.ecrc, Setting::Ecrc),
            ];
            for (_, setting) in services.iter().filter(|(is_set, _)| *is_set) {
                settings.extend(physical(functions).map(|id| (id, *setting)));
            }
        }
        let (host, program) = (self.tree.roots[node], settings.clone());
        Coroutine::new(|desk| apply(desk, program)).run(|access| self.access(host, &access));
        settings
    }

    /// Performs a configuration access of the CPU of `host`.
    fn access(&mut self, host: usize, access: &ConfigAccess) -> u32 {
        let (node, reached) = self.walk(host, access);
        reached.map_or(u32::MAX, |(place, request)| {
            self.functions[node].access(place, &request, access.action)
        })
    }

    /// The node at which a configuration access ends, and the function there that serves it.
    fn walk(
        &self,
        host: usize,
        access: &ConfigAccess,
    ) -> (usize, Option<(FunctionPlace, ConfigRequest)>) {
        let mut request = access.request(FunctionId::default(), Tag(0));
        let mut node = host;
        loop {
            match self.functions[node].reach(&request) {
                Reach::Here(place) => return (node, Some((place, request))),
                Reach::Nobody => return (node, None),
                Reach::Below(port, kind) => {
                    node = self.tree.children[node][port].node;
                    request.kind = kind;
                }
            }
        }
    }

    fn error(&self, host: usize, error: FirmwareError) -> ScenarioError {
        let name = &self.scenario.nodes[host].name.value;
        match error {
            FirmwareError::NoBus(bridge) => {
                let node = self.needing(host, bridge);
                let message = format!(
                    "the tree of {name} needs more than 256 buses by here; write a second host for the rest"
                );
                self.scenario.error(node.name.line, message)
            }
            FirmwareError::NoRoom { function, wide, .. } => {
                let node = self.needing(host, function);
                let (bits, zone, advice) = if wide {
                    (64, Zone::BEYOND, "write smaller ones")
                } else {
                    let advice = "write bar_address_bits = 64 for the large ones";
                    (32, Zone::BELOW_4_GIB, advice)
                };
                let room = show(zone.end - zone.base);
                let message =
                    format!("the {bits}-bit BARs below {name} do not fit in {room}; {advice}");
                self.scenario
                    .error(node.lines.of(largest_bar(node)), message)
            }
        }
    }

    /// The node of `function`; for a port, the node below the port.
    fn needing(&self, host: usize, function: FunctionId) -> &Node {
        let access = ConfigAccess {
            target: function,
            register: 0,
            action: Action::Read,
        };
        let node = match self.walk(host, &access) {
            (node, Some((FunctionPlace::Port(port), _))) => self.tree.children[node][port].node,
            (node, _) => node,
        };
        &self.scenario.nodes[node]
    }
}

/// The scenario key of the BAR that takes the most addresses at `node`.
fn largest_bar(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Device(endpoint, _) if endpoint.virtual_bytes() > endpoint.bar.0 => "virtual_bar",
        _ => "bar",
    }
}

/// The IDs of all functions but virtual ones, which follow their physical function.
fn physical(functions: &Functions) -> impl Iterator<Item = FunctionId> {
    let is_virtual = |place: &FunctionPlace| matches!(place, FunctionPlace::Virtual(_));
    let places = functions.places().filter(move |place| !is_virtual(place));
    places.map(|place| functions.id_of(place))
}

/// The settings of `node` that replace choices of the firmware. Virtual functions follow their physical function.
fn settings(node: &Node, functions: &Functions) -> Vec<(FunctionId, Setting)> {
    let all = || physical(functions);
    let mut settings = Vec::new();
    if let Some(size) = node.settings.max_payload {
        settings.extend(all().map(|id| (id, Setting::MaxPayload(size.0 as u32))));
    }
    if !node.settings.memory_enable {
        settings.extend(all().map(|id| (id, Setting::MemoryEnable(false))));
    }
    if let Some(on) = node.settings.ten_bit_tags {
        settings.extend(all().map(|id| (id, Setting::TenBitTags(on))));
    }
    // Only what differs from the choices of the firmware.
    let enables = [
        (
            node.settings.relaxed_ordering_enable,
            true,
            Setting::RelaxedOrdering(false),
        ),
        (node.settings.no_snoop_enable, true, Setting::NoSnoop(false)),
        (
            node.settings.id_ordering_enable,
            false,
            Setting::IdOrdering(true),
        ),
        (
            node.settings.id_ordering_completion_enable,
            false,
            Setting::CompletionsById(true),
        ),
    ];
    for (_, _, setting) in enables.iter().filter(|(on, usual, _)| on != usual) {
        settings.extend(all().map(|id| (id, *setting)));
    }
    match &node.kind {
        NodeKind::Switch(switch) => {
            let services = [
                (switch.acs_redirect, Setting::RedirectPeerRequests(true)),
                (
                    switch.acs_upstream_forwarding,
                    Setting::ForwardUpstream(true),
                ),
            ];
            for (_, setting) in services.iter().filter(|(is_set, _)| *is_set) {
                settings.extend(all().skip(1).map(|id| (id, *setting)));
            }
        }
        NodeKind::Device(endpoint, _) => {
            let size = endpoint.max_read_request.0 as u32;
            settings.extend(all().map(|id| (id, Setting::MaxReadRequest(size))));
        }
        NodeKind::Host(..) | NodeKind::IoPort(_) => {}
    }
    settings
}

//! The firmware of each host, which enumerates the host's tree in no simulated time.

use host::ContainedErrors;
use host::Coroutine;
use host::firmware::{AssignedVectors, FirmwareError, Free, Setting, apply, enumerate_from};
use kernel::Span;
use link::PortParameters;
use protocol::{AccessService, ConfigRequest, FunctionId, Tag};
use transaction::{Action, ConfigAccess, FunctionPlace, Functions, Reach};

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError};

use super::address::show;
use super::channels;
use super::tree::Tree;

/// The functions of all nodes, and the tree through which firmware reaches them.
pub(crate) struct Firmware<'a> {
    pub(crate) scenario: &'a FabricScenario,
    pub(crate) tree: &'a Tree,
    pub(crate) functions: Vec<Functions>,
}

impl Firmware<'_> {
    /// Enumerates the tree of `host`, in which these buses, vectors and addresses are free; returns the vectors of its functions with MSI-X, and the next
    /// free vector.
    pub(crate) fn enumerate(
        &mut self,
        host: usize,
        free: Free,
    ) -> Result<(Vec<AssignedVectors>, u32), ScenarioError> {
        let program = |desk| enumerate_from(desk, free);
        let done = Coroutine::new(program).run(|access| self.access(host, &access));
        done.map_err(|error| self.error(host, error))
    }

    /// Applies the settings that the scenario writes for `node`, and returns them.
    pub(crate) fn set(&mut self, node: usize) -> Vec<(FunctionId, Setting)> {
        let settings = self.settings(node);
        let (host, program) = (self.tree.roots[node], settings.clone());
        Coroutine::new(|desk| apply(desk, program)).run(|access| self.access(host, &access));
        settings
    }

    /// The states of Active State Power Management that firmware enables at ports of `node`.
    fn active_states(&self, node: usize) -> Vec<(FunctionId, Setting)> {
        let NodeKind::Host(_, costs) = &self.scenario.nodes[self.tree.roots[node]].kind else {
            return Vec::new();
        };
        let l0s = self.supporting_ports(node, |port| port.l0s_exit_latency.is_some());
        let l0s = l0s.filter(|_| costs.aspm_l0s);
        let l1 = self.supporting_ports(node, |port| port.l1_exit_latency.is_some());
        let l1 = l1.filter(|_| costs.aspm_l1);
        let l0s = l0s.map(|id| (id, Setting::EnterL0s));
        l0s.chain(l1.map(|id| (id, Setting::EnterL1))).collect()
    }

    /// The ports of `node` whose link supports a power state at both ends.
    fn supporting_ports(
        &self,
        node: usize,
        supports: impl Fn(&PortParameters) -> bool,
    ) -> impl Iterator<Item = FunctionId> {
        let supports = move |node: usize| supports(&self.scenario.nodes[node].port);
        let above = self.tree.upstream_link(node);
        let above = above.map(|link| (FunctionPlace::Own, self.tree.links[link].0));
        let below = self.tree.children[node].iter().enumerate();
        let below = below.map(|(index, child)| (FunctionPlace::Port(index), child.node));
        let links = above.into_iter().chain(below);
        let functions = &self.functions[node];
        links
            .filter(move |(_, far)| supports(node) && supports(*far))
            .map(|(place, _)| functions.id_of(place))
    }

    /// All register settings of `node` that the scenario requests beyond the choices of the firmware, including Access Control Services.
    fn settings(&self, node: usize) -> Vec<(FunctionId, Setting)> {
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
                (costs.hot_plug, Setting::HotPlug),
                (costs.bandwidth_notification, Setting::BandwidthNotification),
            ];
            for (_, setting) in services.iter().filter(|(is_set, _)| *is_set) {
                settings.extend(physical(functions).map(|id| (id, *setting)));
            }
            if costs.contains_errors() {
                let non_fatal = costs.containment == ContainedErrors::NonFatal;
                let setting = Setting::Containment(non_fatal);
                settings.extend(physical(functions).map(|id| (id, setting)));
            }
        }
        settings.extend(self.active_states(node));
        let services = access_services(&self.scenario.nodes[node].kind);
        let ports = (0..functions.ports().len()).map(FunctionPlace::Port);
        let ports: Vec<FunctionId> = ports.map(|port| functions.id_of(port)).collect();
        let is_set = |(_, is_set): &(AccessService, bool)| *is_set;
        for (service, _) in services.into_iter().filter(is_set) {
            let setting = Setting::Access(service, true);
            settings.extend(ports.iter().map(|port| (*port, setting)));
        }
        let children = self.tree.children[node].iter();
        let controlled = children.filter(|child| {
            let below = &self.scenario.nodes[child.node].settings;
            below.acs_egress_control
        });
        let numbers: Vec<u8> = controlled.map(|child| child.port as u8).collect();
        if !numbers.is_empty() {
            let enable = Setting::Access(AccessService::EgressControl, true);
            let vector = numbers.iter();
            let vector = vector.map(|number| Setting::EgressControl(*number, true));
            for setting in vector.chain([enable]) {
                settings.extend(ports.iter().map(|port| (*port, setting)));
            }
        }
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
        let (FirmwareError::NoBus(function)
        | FirmwareError::NoBusForVirtual(function)
        | FirmwareError::NoVector(function)
        | FirmwareError::NoRoom { function, .. }) = error;
        let node = self.needing(host, function);
        let first_bus = first_bus(&self.scenario.nodes[host].kind);
        let (line, message) = match error {
            FirmwareError::NoBus(_) | FirmwareError::NoBusForVirtual(_) if first_bus > 1 => (
                self.scenario.nodes[host].lines.of("first_bus"),
                format!(
                    "{name}.first_bus: from {first_bus} on there are {} buses, and the tree of {name} needs more, by {}; write a smaller one",
                    256 - u32::from(first_bus),
                    node.name.value
                ),
            ),
            FirmwareError::NoBus(_) => (
                node.name.line,
                format!(
                    "the tree of {name} needs more than 256 buses, one for each link and one inside each switch, from {} on; write a second host for the rest",
                    node.name.value
                ),
            ),
            FirmwareError::NoBusForVirtual(_) => (
                node.lines.of("virtual_functions"),
                format!(
                    "the tree of {name} needs more than 256 buses by the virtual functions of {}, more than 7 of which take a bus of their own without ARI; write ari_forwarding = true for the node above, or virtual_functions = 7",
                    node.name.value
                ),
            ),
            FirmwareError::NoVector(_) => (
                node.name.line,
                format!(
                    "the functions of {name} by here have more than 65536 interrupt vectors, as many as MSI can tell apart; write smaller msi_vectors or msix_vectors, or fewer virtual_functions"
                ),
            ),
            FirmwareError::NoRoom { wide, room, .. } => {
                let (bits, advice) = if wide {
                    (64, "write smaller ones")
                } else {
                    let advice = "write bar_address_bits = 64 for the large ones";
                    (32, advice)
                };
                let room = show(room);
                (
                    node.lines.of(largest_bar(node)),
                    format!("the {bits}-bit BARs below {name} do not fit in {room}; {advice}"),
                )
            }
        };
        self.scenario.error(line, message)
    }

    /// The node that an error about `function` is reported for. If the function is a port, this is the node below the port.
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

/// The first bus that firmware assigns below the root ports of a host, or below an I/O port.
pub(crate) fn first_bus(root: &NodeKind) -> u8 {
    match root {
        NodeKind::Host(_, costs) => costs.first_bus as u8,
        _ => 1,
    }
}

/// The scenario key of the BAR that takes the most addresses at `node`.
fn largest_bar(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Device(endpoint, _) if endpoint.virtual_bytes() > endpoint.bar.0 => "virtual_bar",
        _ => "bar",
    }
}

/// The IDs of all functions except virtual functions, whose settings follow their physical function.
fn physical(functions: &Functions) -> impl Iterator<Item = FunctionId> {
    let is_virtual = |place: &FunctionPlace| matches!(place, FunctionPlace::Virtual(_));
    let places = functions.places().filter(move |place| !is_virtual(place));
    places.map(|place| functions.id_of(place))
}

/// The register settings from the keys of `node` that replace choices of the firmware. Virtual functions have the settings of their physical
/// function.
fn settings(node: &Node, functions: &Functions) -> Vec<(FunctionId, Setting)> {
    let own = &node.settings;
    let timeout = completion_timeout(&node.kind).filter(|time| *time != USUAL_TIMEOUT);
    let (blocks_prefixes, blocks_atomics) = match &node.kind {
        NodeKind::Switch(switch) => (switch.tlp_prefix_blocking, switch.atomic_egress_blocking),
        _ => (false, false),
    };
    let max_read_request = match &node.kind {
        NodeKind::Device(endpoint, _) => Some(endpoint.max_read_request.0 as u32),
        NodeKind::Host(..) | NodeKind::Switch(_) | NodeKind::IoPort(_) => None,
    };
    // The list contains only the settings that differ from the choices of the firmware.
    let settings = [
        own.max_payload
            .map(|size| Setting::MaxPayload(size.0 as u32)),
        timeout.map(Setting::CompletionTimeout),
        (!own.memory_enable).then_some(Setting::MemoryEnable(false)),
        own.ten_bit_tags.map(Setting::TenBitTags),
        own.pasid_enable.map(Setting::AddressSpaces),
        blocks_prefixes.then_some(Setting::BlockPrefixes),
        blocks_atomics.then_some(Setting::BlockAtomics),
        (!own.relaxed_ordering_enable).then_some(Setting::RelaxedOrdering(false)),
        (!own.no_snoop_enable).then_some(Setting::NoSnoop(false)),
        own.id_ordering_enable.then_some(Setting::IdOrdering(true)),
        own.id_ordering_completion_enable
            .then_some(Setting::CompletionsById(true)),
        max_read_request.map(Setting::MaxReadRequest),
    ];
    let settings = settings.into_iter().flatten();
    let of_all = |setting| physical(functions).map(move |id| (id, setting));
    settings.flat_map(of_all).collect()
}

/// The completion timeout of a node's requests; `None` for a switch, which makes no requests.
fn completion_timeout(node: &NodeKind) -> Option<Span> {
    match node {
        NodeKind::Host(host, _) => Some(host.completion_timeout),
        NodeKind::IoPort(port) => Some(port.completion_timeout),
        NodeKind::Device(core, _) => Some(core.completion_timeout),
        NodeKind::Switch(_) => None,
    }
}

/// The default of completion timeouts, which is in the default range of Device Control 2.
const USUAL_TIMEOUT: Span = Span::from_us(10_000);

/// The Access Control Services that the downstream ports of a node have, and whether the scenario enables each.
fn access_services(node: &NodeKind) -> Vec<(AccessService, bool)> {
    match node {
        NodeKind::Host(host, _) => vec![
            (AccessService::SourceValidation, host.acs_source_validation),
            (
                AccessService::TranslationBlocking,
                host.acs_translation_blocking,
            ),
            (AccessService::RequestRedirect, host.acs_redirect),
            (
                AccessService::UpstreamForwarding,
                host.acs_upstream_forwarding,
            ),
            (AccessService::DirectTranslated, host.acs_direct_translated),
        ],
        NodeKind::Switch(switch) => vec![
            (
                AccessService::SourceValidation,
                switch.acs_source_validation,
            ),
            (
                AccessService::TranslationBlocking,
                switch.acs_translation_blocking,
            ),
            (AccessService::RequestRedirect, switch.acs_redirect),
            (
                AccessService::CompletionRedirect,
                switch.acs_completion_redirect,
            ),
            (
                AccessService::UpstreamForwarding,
                switch.acs_upstream_forwarding,
            ),
            (
                AccessService::DirectTranslated,
                switch.acs_direct_translated,
            ),
        ],
        NodeKind::IoPort(_) | NodeKind::Device(..) => Vec::new(),
    }
}

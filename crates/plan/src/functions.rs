//! The functions of each node in their state after reset.

use device::{EndpointParameters, Router};
use protocol::{
    Bar, BridgeFunction, ConfigSpace, DataLinkFeatures, EndpointFunction, Express, Generation,
    Identity, PortType,
};
use transaction::{Functions, PortFunction};

use crate::scenario::{Code, DeviceParameters, FabricScenario, Node, NodeKind, Slot};

use super::ControllerPlan;
use super::channels;
use super::network::{Networks, router};
use super::tree::{Child, Tree};

/// The functions of the node `index`. `window` is the BAR through which a router or network interface controller gives access to other hosts.
pub(crate) fn functions(
    scenario: &FabricScenario,
    tree: &Tree,
    index: usize,
    window: Option<Bar>,
) -> Functions {
    let node = &scenario.nodes[index];
    let children = tree.children[index].len();
    let ports = |kind, code| {
        let port = |child: &Child| {
            let below = &scenario.nodes[child.node];
            let mut space = bridge(node, kind, code, (below, below), child.port, children);
            if below.settings.slot != Slot::Fixed {
                // The slot number is our choice: the number of the node below, which is unique in the fabric.
                let number = child.node as u16 & 0x1fff;
                space.make_slot(number, below.settings.slot == Slot::Surprise);
            }
            PortFunction {
                device: child.function.0,
                function: child.function.1,
                space,
            }
        };
        tree.children[index].iter().map(port).collect()
    };
    let above = tree.upstream_link(index).map(|link| tree.links[link].0);
    let above = above.map_or(node, |above| &scenario.nodes[above]);
    match &node.kind {
        NodeKind::Host(..) | NodeKind::IoPort(_) => Functions::root(
            ConfigSpace::host_bridge(&identity(node, HOST_BRIDGE)),
            ports(PortType::RootPort, ROOT_PORT),
        ),
        NodeKind::Switch(_) => Functions::switch(
            bridge(
                node,
                PortType::Upstream,
                SWITCH_PORT,
                (node, above),
                0,
                children,
            ),
            ports(PortType::Downstream, SWITCH_PORT),
        ),
        NodeKind::Device(endpoint, device) => {
            let bars = bars(endpoint, device, window);
            let device = device.properties();
            let identity = identity(node, device.identity);
            let msi_vectors = endpoint.msi_vectors.max(device.interrupts) as u8;
            Functions::device(&EndpointFunction {
                identity,
                msix: endpoint.msix(&bars),
                bars,
                msi_vectors,
                express: express(node, PortType::Endpoint, (node, above), 0, 0),
                // Virtual functions have the device ID of the physical function plus one, as devices of several makers do.
                virtual_functions: endpoint.sriov(identity.device.wrapping_add(1), msi_vectors),
                address_translation: device.address_translation,
                address_spaces: endpoint.address_spaces(),
                is_resizable: device.has_resizable_bar,
            })
        }
    }
}

/// The BARs of a device. `window` is the BAR through which a router or network interface controller gives access to other hosts.
pub(crate) fn bars(
    endpoint: &EndpointParameters,
    device: &DeviceParameters,
    window: Option<Bar>,
) -> Vec<Bar> {
    let mut bars = device.parameters().bars(endpoint, window);
    bars.extend(endpoint.msix_bar());
    bars
}

/// The BAR through which the router or network interface controller at `index` gives access to other hosts; `None` for other nodes.
pub(crate) fn window(
    scenario: &FabricScenario,
    networks: &Networks,
    controllers: &[ControllerPlan],
    index: usize,
) -> Option<Bar> {
    let node = &scenario.nodes[index];
    if let Some(router) = router(node) {
        return Some(Router::bar(router, networks.routers_around(index)));
    }
    let own = controllers.iter().find(|one| one.ports.contains(&index));
    own.map(ControllerPlan::window)
}

/// The configuration space of a port of `node`. [`express`] describes the meaning of `link`.
fn bridge(
    node: &Node,
    port: PortType,
    code: Identity,
    link: (&Node, &Node),
    number: u32,
    below: usize,
) -> ConfigSpace {
    ConfigSpace::bridge(&BridgeFunction {
        identity: identity(node, code),
        express: express(node, port, link, number, below),
    })
}

/// The PCI Express capability of a port of `node`. Its link is the link above the node `below`, which is `node` itself for an upstream port; `far` is
/// the node at the other end of the link.
fn express(
    node: &Node,
    port: PortType,
    (below, far): (&Node, &Node),
    number: u32,
    children: usize,
) -> Express {
    let link = below.upstream.as_ref().map(|upstream| &upstream.link);
    let generation = link.map_or(Generation::Gen1, |link| link.generation.0);
    let features = node.port.offers_scaled_flow_control(generation);
    let features = features.then(|| DataLinkFeatures {
        are_exchanged: far.port.offers_scaled_flow_control(generation),
    });
    let tags = node.kind.tags();
    Express {
        port,
        max_payload_supported: node.port.max_payload_supported.0 as u32,
        generation,
        lanes: link.map_or(1, |link| link.lanes.0),
        number: number as u8,
        tags: tags as u16,
        ten_bit_tag_completer: match &node.kind {
            NodeKind::Host(host, _) => host.ten_bit_tag_completer,
            NodeKind::Device(endpoint, _) => endpoint.ten_bit_tag_completer,
            NodeKind::Switch(_) | NodeKind::IoPort(_) => true,
        },
        read_completion_boundary: match &node.kind {
            NodeKind::Host(host, _) => host.read_completion_boundary.0 as u32,
            _ => 64,
        },
        ari_forwarding: match &node.kind {
            NodeKind::Host(host, _) => host.ari_forwarding,
            NodeKind::Switch(switch) => switch.ari_forwarding,
            NodeKind::IoPort(_) | NodeKind::Device(..) => true,
        },
        atomic_routing: match &node.kind {
            NodeKind::Switch(switch) => switch.atomic_routing,
            NodeKind::Host(..) | NodeKind::IoPort(_) | NodeKind::Device(..) => true,
        },
        tlp_prefixes: match &node.kind {
            NodeKind::Host(host, _) => host.tlp_prefixes,
            NodeKind::Switch(switch) => switch.tlp_prefixes,
            NodeKind::Device(endpoint, _) => endpoint.pasid_width.is_some(),
            NodeKind::IoPort(_) => false,
        },
        data_link_features: features,
        virtual_channels: channels::capability(node, below, link, children),
        l0s_exit_ns: node.port.l0s_exit_latency.map(|exit| exit.as_ns() as u64),
        l1_exit_ns: node.port.l1_exit_latency.map(|exit| exit.as_ns() as u64),
        has_separate_clocks: link.is_some_and(|link| link.sris),
    }
}

/// The vendor, device and class codes that the scenario writes; codes that it does not write are taken from `code`.
fn identity(node: &Node, code: Identity) -> Identity {
    let settings = &node.settings;
    let id = |written: Option<Code>, default: u16| written.map_or(default, |code| code.0 as u16);
    let is_bridge = code.class == BRIDGE || code.class == HOST_BRIDGE.class;
    Identity {
        vendor: id(settings.vendor_id, code.vendor),
        device: id(settings.device_id, code.device),
        class: match settings.class_code {
            Some(class) if !is_bridge => class.0,
            _ => code.class,
        },
        ..code
    }
}

const BRIDGE: u32 = 0x06_0400;

/// The IDs of QEMU's host bridge and root port. No hardware has these IDs.
const HOST_BRIDGE: Identity = Identity {
    vendor: 0x1b36,
    device: 0x0008,
    revision: 0,
    class: 0x06_0000,
};
const ROOT_PORT: Identity = Identity {
    vendor: 0x1b36,
    device: 0x000c,
    revision: 0,
    class: BRIDGE,
};

/// The IDs of the PEX 8732, a Gen3 switch of PLX Technology.
const SWITCH_PORT: Identity = Identity {
    vendor: 0x10b5,
    device: 0x8732,
    revision: 0xca,
    class: BRIDGE,
};

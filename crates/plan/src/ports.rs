//! The component numbers and port numbers at both ends of each link, fibre and cable of a plan.

use kernel::ComponentId;

use super::controllers::CablePlan;
use super::fabric_plan::FabricPlan;
use super::network::FibrePlan;
use super::node::LinkPlan;
use crate::scenario::NodeKind;

/// The number of a component and of one of its ports.
pub type End = (ComponentId, u32);

/// A link, fibre or cable, with its ends.
#[derive(Clone, Copy, Debug)]
pub struct WirePlan<'p> {
    /// The plan of the link, fibre or cable.
    pub medium: Medium<'p>,
    /// The name of the link, fibre or cable.
    pub id: &'p str,
    /// Both ends. The first end of a link is the upper one; the ends of fibres and cables are in the order in which they are written.
    pub ends: [End; 2],
}

/// The plan of a link, fibre or cable.
#[derive(Clone, Copy, Debug)]
pub enum Medium<'p> {
    /// A link in a tree.
    Link(&'p LinkPlan),
    /// A fibre between two routers.
    Fibre(&'p FibrePlan),
    /// A cable between two controllers.
    Cable(&'p CablePlan),
}

impl Medium<'_> {
    /// The names of both directions in results: from the first end, and from the second.
    pub fn directions(&self) -> [&'static str; 2] {
        match self {
            Medium::Link(_) => ["down", "up"],
            Medium::Fibre(_) | Medium::Cable(_) => ["forth", "back"],
        }
    }
}

/// All links, then all fibres, then all cables.
pub fn wires(plan: &FabricPlan) -> impl Iterator<Item = WirePlan<'_>> {
    let links = plan.links.iter().map(|link| WirePlan {
        medium: Medium::Link(link),
        id: &link.id,
        ends: ends(plan, link),
    });
    let fibres = plan.fibres.iter().map(|fibre| WirePlan {
        medium: Medium::Fibre(fibre),
        id: &fibre.id,
        ends: fibre
            .ends
            .map(|(node, fibre)| (ComponentId(node as u32), fibre_port(fibre))),
    });
    let cables = plan.cables.iter().map(|cable| WirePlan {
        medium: Medium::Cable(cable),
        id: &cable.id,
        ends: cable.ends.map(|(controller, port)| {
            let component = plan.nodes.len() + controller;
            (ComponentId(component as u32), port.into())
        }),
    });
    links.chain(fibres).chain(cables)
}

/// The ends of a link, the upper one first.
pub fn ends(plan: &FabricPlan, link: &LinkPlan) -> [End; 2] {
    let (node, number) = link.upstream;
    let position = plan.nodes[node]
        .downstream
        .iter()
        .position(|below| plan.links[*below].upstream.1 == number);
    let position = position.expect("a link hangs on a downstream port of its upper node");
    let port = position + usize::from(matches!(plan.nodes[node].kind, NodeKind::Switch(_)));
    [
        (ComponentId(node as u32), port as u32),
        (ComponentId(link.downstream.0 as u32), 0),
    ]
}

/// The component port of the router's optical port with number `fibre`. Port 0 of the component is the PCI Express port.
pub fn fibre_port(fibre: u8) -> u32 {
    u32::from(fibre) + 1
}

#[cfg(test)]
mod tests {
    use scenario::{Section, Source};

    use super::*;
    use crate::memory::Memories;
    use crate::scenario::{FabricScenario, Models};
    use crate::{Enumerated, Places};

    fn plan(text: &str) -> FabricPlan {
        let source = Source::new("test", text, |_, _| scenario::Elsewhere::default());
        let table = source.parse(text).expect("the text is TOML");
        let mut root = Section::new(&source, String::new(), 1, &table);
        let scenario = FabricScenario::read(&mut root, source.file(), &Models::default());
        let scenario = scenario.expect("the scenario is right");
        let places = Places::new(&scenario).expect("every node has a place");
        let enumerated = Enumerated::new(&scenario, places).expect("firmware finds all nodes");
        let memories =
            Memories::new(&scenario, &enumerated.nodes).expect("the memories are enough");
        enumerated.make(&scenario, memories, Vec::new())
    }

    /// The name, the directions and the ends of each wire, with components by their names.
    fn told(plan: &FabricPlan) -> Vec<String> {
        let nodes = plan.nodes.iter().map(|node| node.name.as_str());
        let controllers = plan.controllers.iter().map(|one| one.name.as_str());
        let names: Vec<&str> = nodes.chain(controllers).collect();
        let wire = |wire: WirePlan<'_>| {
            let end = |(component, port): End| format!("{}.{port}", names[component.0 as usize]);
            let ([one, other], [forth, back]) = (wire.ends.map(end), wire.medium.directions());
            format!("{}: {one} {forth} {other} {back}", wire.id)
        };
        wires(plan).map(wire).collect()
    }

    #[test]
    fn port_0_of_a_switch_is_its_upstream_port_and_a_root_complex_has_none() {
        let plan = plan(
            r#"
            [hosts.h]
            [switches.s]
            upstream = { to = "h", port = 3 }
            [devices.a]
            upstream = { to = "s", port = 4 }
            [devices.b]
            upstream = { to = "s", port = 1 }
            [devices.c]
            upstream = { to = "h", port = 0 }
            "#,
        );
        // Only ports with a link have numbers in a component. The numbers are in the order of the ports.
        let all = [
            "h-c: h.0 down c.0 up",
            "h-s: h.1 down s.0 up",
            "s-b: s.1 down b.0 up",
            "s-a: s.2 down a.0 up",
        ];
        assert_eq!(told(&plan), all);
    }

    #[test]
    fn fibres_and_cables_are_between_ports_behind_those_of_links() {
        let plan = plan(
            r#"
            [hosts.h]
            [hosts.i]
            [controllers.c]
            [controllers.d]
            [[cables]]
            from = "c"
            to = "d"
            [devices.n]
            model = "nic"
            upstream = "h"
            controller = "c"
            [devices.m]
            model = "nic"
            upstream = "i"
            controller = "d"
            [devices.q]
            model = "router"
            upstream = "h"
            [devices.r]
            model = "router"
            upstream = "i"
            [[fibres]]
            from = "q"
            from_port = 1
            to = "r"
            to_port = 2
            "#,
        );
        let wires = told(&plan);
        assert_eq!(wires.len(), 6);
        assert_eq!(wires[4], "q-r: q.2 forth r.3 back");
        assert_eq!(wires[5], "c-d: c.1 forth d.1 back");
    }
}

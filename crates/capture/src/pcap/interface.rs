//! The interfaces of a capture: each direction of each link, fibre and cable.

use std::collections::BTreeMap;

use protocol::aurora::BLOCK_BYTES;

use plan::FabricPlan;
use plan::scenario::{Lanes, LinkParameters, Speed};

use super::pcapng::Interface;

/// The description of a link, fibre or cable for the interfaces of its two directions.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    /// A text with the kind, the speed and the width.
    kind: String,
    /// Bits per second in each direction, without the bits of the line coding.
    speed: u64,
    /// The names of the upper and the lower node, or of both ends as they are written.
    ends: [String; 2],
}

impl Medium {
    fn link(parameters: &LinkParameters, ends: [String; 2]) -> Self {
        const FS_X64: u128 = 64 * 1_000_000_000_000_000;
        let (Speed(generation), Lanes(lanes)) = (parameters.generation, parameters.lanes);
        let bits = u128::from(lanes) * 8 * FS_X64;
        Medium {
            kind: format!("PCI Express {} GT/s x{lanes}", generation.gigatransfers()),
            speed: (bits / u128::from(generation.lane_byte_fs_x64())) as u64,
            ends,
        }
    }

    /// The interface of a direction, and whether the direction is from the second end to the first.
    pub(super) fn interface(&self, link: &str, direction: &str) -> (Interface, bool) {
        let [one, other] = &self.ends;
        let is_up = direction == "up" || direction == format!("{other}-{one}");
        let (from, to) = if is_up { (other, one) } else { (one, other) };
        let interface = Interface {
            name: format!("{link} {direction}"),
            description: format!("{}, {from} to {to}", self.kind),
            speed: self.speed,
        };
        (interface, is_up)
    }
}

/// Every link, fibre and cable of `plan`, by its name.
pub(super) fn media(plan: &FabricPlan) -> BTreeMap<String, Medium> {
    let node = |index: usize| plan.nodes[index].name.clone();
    let links = plan.links.iter().map(|link| {
        let ends = [link.upstream.0, link.downstream.0].map(node);
        let medium = Medium::link(&link.parameters, ends);
        (link.id.clone(), medium)
    });
    let fibres = plan.fibres.iter().map(|fibre| {
        let ends = fibre.ends.map(|(router, _)| router);
        let (kind, speed) = optical(plan, ends[0]);
        let ends = ends.map(node);
        (fibre.id.clone(), Medium { kind, speed, ends })
    });
    let cables = plan.cables.iter().map(|cable| {
        let ends = cable.ends;
        let ends = ends.map(|(controller, _)| plan.controllers[controller].name.clone());
        let medium = Medium::link(&cable.link, ends);
        (cable.id.clone(), medium)
    });
    links.chain(fibres).chain(cables).collect()
}

/// The kind and the speed of the fibres of a router.
fn optical(plan: &FabricPlan, router: usize) -> (String, u64) {
    let network = plan.nodes[router].member.map(|(network, _)| network);
    let optical = &plan.networks[network.expect("every router is in a network")].optical;
    let lanes = optical.optical_lanes;
    let bits = u128::from(lanes * BLOCK_BYTES) * 8 * 1_000_000_000_000_000;
    let speed = (bits / u128::from(optical.cycle().as_fs())) as u64;
    (format!("fibre x{lanes}"), speed)
}

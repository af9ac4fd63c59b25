//! Data that a switch damages after it has checked the LCRC of a packet and before it computes the LCRC for the next link: only an ECRC detects the
//! damage (PCIe Base 2.7.1).

use super::{Incident, Place, Scene, Wrong};
use crate::model::Model;
use crate::scenario::NodeKind;

kernel::parameters! {
    /// Keys of damaged data.
    pub struct Damage {
        /// Number of packets with data in which the switch damages one bit.
        count: u32 = 1, within 1..=1_000_000, from "our choice: one";
    }
}

impl Incident for Damage {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let node = place.own();
        if matches!(node.kind, NodeKind::Switch(_)) {
            return Ok(());
        }
        let advice = "write the name of a switch";
        Err(("node", format!("{} is no switch; {advice}", node.name)))
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        if let Model::Switch(switch) = &mut scene.models[node] {
            switch.damage_next(self.count);
        }
    }
}

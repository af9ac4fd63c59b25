//! Bytes of a device that can no longer be accessed: the device completes requests for them with Completer Abort (PCIe Base 2.3.1).

use kernel::Bytes;

use super::{Incident, Place, Scene, Wrong};
use crate::scenario::NodeKind;

kernel::parameters! {
    /// Keys of bytes that cannot be accessed.
    pub struct CompleterAbort {
        /// First byte, an offset in BAR 0.
        offset: Bytes = Bytes(0), from "our choice: the beginning";
        /// Number of bytes; 0 for all up to the end of BAR 0.
        size: Bytes = Bytes(0), from "our choice: the whole BAR";
    }
}

impl Incident for CompleterAbort {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let node = place.own();
        let (NodeKind::Device(..), Some(bar)) = (&node.kind, node.bars[0]) else {
            let message = format!(
                "{} has no BAR 0; write the name of a device that has one",
                node.name
            );
            return Err(("node", message));
        };
        let end = self.offset.0.saturating_add(self.size.0);
        if end > bar.size || self.offset.0 >= bar.size {
            let message = format!(
                "the bytes up to {end} are outside the {} bytes of BAR 0 of {}; write a smaller offset or size",
                bar.size, node.name
            );
            return Err(("offset", message));
        }
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let Some(bar) = scene.plan.nodes[node].bars[0] else {
            return;
        };
        let end = match self.size.0 {
            0 => bar.size,
            size => self.offset.0 + size,
        };
        if let Some(leaf) = scene.models[node].leaf_mut() {
            leaf.endpoint_mut().make_inaccessible(self.offset.0..end);
        }
    }
}

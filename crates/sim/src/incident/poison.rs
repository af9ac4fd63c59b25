//! Data that becomes poisoned: bytes of a memory, or the data of the next packets that a node sends (PCIe Base 2.7.2).

use kernel::Bytes;

use super::{Incident, Place, Scene, Wrong};
use crate::scenario::NodeKind;

kernel::parameters! {
    /// Keys of poisoned data.
    pub struct Poison {
        /// First byte that becomes poisoned: an offset in the memory of a host, or behind BAR 0 of a device.
        offset: Bytes = Bytes(0), from "our choice: the beginning";
        /// Number of bytes that become poisoned; with 0, the data of the next packets that the node sends becomes poisoned, instead of a memory.
        size: Bytes = Bytes(0), from "our choice: data on its way";
        /// With size = 0, number of packets: memory writes and completions of a device, reads that a host answers.
        count: u32 = 1, within 1..=1_000_000, from "our choice: one";
    }
}

impl Incident for Poison {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let node = place.own();
        if !matches!(node.kind, NodeKind::Host(..) | NodeKind::Device(..)) {
            let message = format!(
                "{} has no memory and sends no data of its own; write the name of a host or of a device",
                node.name
            );
            return Err(("node", message));
        }
        if self.size.0 > 0 {
            place.with_memory()?;
        }
        let region = node.memory.or(node.bars[0]).map_or(0, |region| region.size);
        let end = self.offset.0.saturating_add(self.size.0);
        if self.size.0 > 0 && end > region {
            let message = format!(
                "the bytes up to {end} are outside the {region} bytes of {}; write a smaller offset or size",
                node.name
            );
            return Err(("size", message));
        }
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let model = &mut scene.models[node];
        if self.size.0 > 0 {
            if let Some(memory) = model.memory_mut() {
                memory.poison(self.offset.0, self.size.0);
            }
        } else if let Some(host) = model.host_mut() {
            host.poison_next_reads(self.count);
        } else if let Some(leaf) = model.leaf_mut() {
            leaf.endpoint_mut().poison_next(self.count);
        }
    }
}

//! A node that is removed or inserted while the fabric runs (PCIe Base 6.7).

use host::recovery::{finish, prepare, set_up};
use kernel::Span;
use link::LinkCommand;

use super::{Incident, Place, Presence, Scene, Wrong};

kernel::parameters! {
    /// A surprise removal. It has no keys.
    pub struct Removal {}
}

impl Incident for Removal {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        place.upstream_link()?;
        place.without_coherence()
    }

    fn presence(&self) -> Option<Presence> {
        Some(Presence::Absent)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        scene.log(node, "surprise removal");
        scene.command_lower_end(node, LinkCommand::TakeDown);
    }
}

kernel::parameters! {
    /// Keys of an insertion.
    pub struct Insertion {
        /// Time from the insertion to the first configuration request of the host to the node.
        wait: Span = Span::from_us(100_000), from "PCIe Base 6.6.1: 100 ms from the end of training";
        /// Whether the host then restores the registers of the node, and of all nodes below it, to the values that its firmware has set. A host with
        /// hot_plug always restores them for nodes with a slot, after its own link_up_wait.
        restore: bool = true, from "our choice: as operating systems do, with the resources of the slot";
        /// Whether the host notifies the drivers of the inserted devices: the drivers set the devices up and repeat the transfers that were lost. If
        /// software of the host handles the slot (hot_plug), the host's key driver_recovery decides this instead.
        drivers: bool = false, from "our choice: drivers know of no removal";
    }
}

impl Incident for Insertion {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        place.upstream_link()?;
        place.host()?;
        place.with_drivers(self.drivers)
    }

    fn presence(&self) -> Option<Presence> {
        Some(Presence::Present)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        scene.log(node, "insertion");
        scene.command_lower_end(node, LinkCommand::Train);
        // If software handles the slot, it sets up the node after an interrupt from the port.
        if self.restore && !scene.is_slot_served(node) {
            let (wait, states) = (self.wait, scene.saved_below(node));
            let mut drivers = scene.drivers_below(node);
            drivers.retain(|_| self.drivers);
            scene.spawn(node, move |system| async move {
                prepare(&system, &drivers).await;
                system.sleep(wait).await;
                let works = set_up(&system, &states).await;
                finish(&system, &drivers, works).await;
            });
        }
    }
}

kernel::parameters! {
    /// A press of an attention button. It has no keys.
    pub struct AttentionButton {}
}

impl Incident for AttentionButton {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let link = place.upstream_link()?;
        place.host()?;
        place.without_coherence()?;
        let above = &place.nodes[link.upstream.0];
        let slot = above.functions.ports().zip(&above.downstream);
        let mut slot = slot.filter(|(_, below)| Some(**below) == place.own().upstream);
        if slot.any(|(space, _)| space.has_slot()) {
            return Ok(());
        }
        let name = &place.own().name;
        let message = format!("{name} is in no slot; write slot = \"hot-plug\" at {name}");
        Err(("node", message))
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        scene.log(node, "attention button pressed");
        scene.press_attention_button(node);
    }
}

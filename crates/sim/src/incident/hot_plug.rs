//! A node that is taken out or put in while the fabric runs (PCIe Base 6.7).

use host::recovery::set_up;
use kernel::Span;
use link::LinkCommand;

use super::{Incident, Misplaced, Place, Presence, Scene};

kernel::parameters! {
    /// Keys of a surprise removal: none.
    pub struct Removal {}
}

impl Incident for Removal {
    fn check(&self, place: &Place<'_>) -> Result<(), Misplaced> {
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
        /// Whether the host then writes the registers of the node, and of all nodes below it, that its firmware has set.
        restore: bool = true, from "our choice: as operating systems do, with the resources of the slot";
    }
}

impl Incident for Insertion {
    fn check(&self, place: &Place<'_>) -> Result<(), Misplaced> {
        place.upstream_link()?;
        place.host().map(drop)
    }

    fn presence(&self) -> Option<Presence> {
        Some(Presence::Present)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        scene.log(node, "insertion");
        scene.command_lower_end(node, LinkCommand::Train);
        if self.restore {
            let (wait, states) = (self.wait, scene.saved_below(node));
            scene.spawn(node, move |system| async move {
                system.sleep(wait).await;
                set_up(&system, &states).await;
            });
        }
    }
}

//! A link that software disables and enables: Link Disable of the port above (PCIe Base 7.5.3.7, 4.2.6.9).

use super::{Incident, Place, Scene, Wrong};

kernel::parameters! {
    /// Software disables a link. The incident has no keys.
    pub struct DisableLink {}
}

kernel::parameters! {
    /// Keys of a link that software enables again.
    pub struct EnableLink {
        /// Whether the host then restores the registers of everything below to the values that its firmware has set.
        restore: bool = true, from "our choice: as operating systems do";
        /// Whether the host notifies the drivers of the devices below of the reset: the drivers set the devices up again and repeat the transfers
        /// that were lost.
        drivers: bool = false, from "our choice: drivers know of no disabled link";
    }
}

impl Incident for DisableLink {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        check(place)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        set(node, scene, true, (false, false));
    }
}

impl Incident for EnableLink {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        check(place)?;
        place.with_drivers(self.drivers)
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        // If software handles the slot, it sets up the node in the slot itself.
        let restores = self.restore && !scene.is_slot_served(node);
        set(node, scene, false, (restores, self.drivers));
    }
}

fn check(place: &Place<'_>) -> Result<(), Wrong> {
    place.upstream_link()?;
    place.host()?;
    place.without_coherence()
}

/// Writes Link Disable of the port above `node`. Afterwards, the host sets up everything below if `restores` is true. It notifies the drivers of the
/// devices below if `tells` is true.
fn set(node: usize, scene: &mut Scene<'_>, is_disabled: bool, (restores, tells): (bool, bool)) {
    let (Some(function), Some(costs)) = (scene.port_above(node), scene.costs(node)) else {
        return;
    };
    let port = scene.port_below(function, node, tells);
    scene.spawn(node, move |system| {
        port.disable(system, costs, is_disabled, restores)
    });
}

//! What software does to all that is below a port: it resets the secondary bus (PCIe Base 7.5.1.3.13), or contains it (PCIe Base 6.2.10).

use host::containment::{PortBelow, trigger};
use kernel::Span;

use super::{Incident, Misplaced, Place, Scene};
use crate::scenario::NodeKind;

kernel::parameters! {
    /// Keys of a secondary bus reset.
    pub struct SecondaryBusReset {
        /// Time for which the host holds the bus in reset.
        hold: Span = Span::from_us(2_000), from "our choice: as Linux does; PCIe Base 7.5.1.3.13 asks for 1 ms";
        /// Whether the host then writes the registers below again that its firmware has set.
        restore: bool = true, from "our choice: as operating systems do";
    }
}

impl Incident for SecondaryBusReset {
    fn check(&self, place: &Place<'_>) -> Result<(), Misplaced> {
        place.upstream_link()?;
        place.host()?;
        place.without_coherence()
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let (Some(function), Some(costs)) = (scene.port_above(node), scene.costs(node)) else {
            return;
        };
        let port = PortBelow {
            function,
            below: scene.saved_below(node),
        };
        let (hold, restores) = (self.hold, self.restore);
        scene.spawn(node, move |system| {
            port.reset(system, costs, hold, restores)
        });
    }
}

kernel::parameters! {
    /// Keys of containment by software: none.
    pub struct Containment {}
}

impl Incident for Containment {
    fn check(&self, place: &Place<'_>) -> Result<(), Misplaced> {
        place.upstream_link()?;
        let host = place.host()?;
        if let NodeKind::Host(_, costs) = &host.kind
            && !costs.contains_errors()
        {
            let message = format!(
                "containment of the ports below {name} is off; write containment = \"fatal\" in hosts.{name}",
                name = host.name
            );
            return Err(("what", message));
        }
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        if let Some(port) = scene.port_above(node) {
            scene.spawn(node, move |system| trigger(system, port));
        }
    }
}

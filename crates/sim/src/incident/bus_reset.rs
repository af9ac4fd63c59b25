//! Actions of software on everything below a port: a reset of the secondary bus (PCIe Base 7.5.1.3.13), or containment (PCIe Base 6.2.10).

use host::containment::trigger;
use kernel::Span;

use super::{Incident, Place, Scene, Wrong};

kernel::parameters! {
    /// Keys of a secondary bus reset.
    pub struct SecondaryBusReset {
        /// The bus that is reset: "above" sets Secondary Bus Reset of the port above the node, which resets the node and everything below it; "below"
        /// sets Secondary Bus Reset of the node's own upstream port, which resets everything below a switch.
        bus: ResetBus = ResetBus::Above, from "our choice: the node itself is reset";
        /// Time for which the host holds the bus in reset.
        hold: Span = Span::from_us(2_000), from "our choice: as Linux does; PCIe Base 7.5.1.3.13 requires 1 ms";
        /// Whether the host then restores the registers of everything below to the values that its firmware has set.
        restore: bool = true, from "our choice: as operating systems do";
        /// Whether the host notifies the drivers of the devices below before and after the reset: the drivers do not use their devices during the
        /// reset, then set them up again and repeat the transfers that were lost.
        drivers: bool = false, from "our choice: a reset that nobody expects; Linux tells drivers of resets that it makes";
    }
}

impl Incident for SecondaryBusReset {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        place.upstream_link()?;
        place.host()?;
        if self.bus == ResetBus::Below && place.own().downstream.is_empty() {
            let message = format!(
                "there is no bus below {}; write bus = \"above\", or the name of a switch",
                place.own().name
            );
            return Err(("bus", message));
        }
        place.with_drivers(self.drivers)?;
        place.without_coherence()
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let (Some(above), Some(costs)) = (scene.port_above(node), scene.costs(node)) else {
            return;
        };
        let mut port = scene.port_below(above, node, self.drivers);
        if self.bus == ResetBus::Below {
            // The upstream port keeps its registers; the registers of the downstream ports are reset.
            port.function = port.below[0].remove(0).function;
            port.has_link = false;
        }
        let (hold, restores) = (self.hold, self.restore);
        scene.spawn(node, move |system| async move {
            port.reset(&system, &costs, hold, restores).await;
        });
    }
}

kernel::choices! {
    /// The bus that is reset.
    pub enum ResetBus {
        /// The bus between the node and the port above it.
        Above = "above",
        /// The bus behind the upstream port of a switch.
        Below = "below",
    }
}

kernel::parameters! {
    /// Containment by software. It has no keys.
    pub struct Containment {}
}

impl Incident for Containment {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        place.upstream_link()?;
        let host = place.host()?;
        let costs = host.kind.costs();
        if costs.is_some_and(|costs| !costs.contains_errors()) {
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

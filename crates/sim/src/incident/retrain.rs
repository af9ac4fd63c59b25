//! A link that software retrains: Retrain Link of the port above (PCIe Base 7.5.3.7).

use protocol::register;

use super::{Incident, Place, Scene, Wrong};
use crate::scenario::Speed;

kernel::parameters! {
    /// Keys of a link that software retrains.
    pub struct Retrain {
        /// The rate that the host first writes to Target Link Speed of the port above, as a generation or as a speed; none leaves the register as it
        /// is.
        generation: Option<Speed> = None, from "our choice: the link keeps its rate";
    }
}

impl Incident for Retrain {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let link = place.upstream_link()?;
        place.host()?;
        let Speed(highest) = link.parameters.generation;
        match self.generation {
            Some(Speed(generation)) if generation > highest => {
                let (rate, number) = (highest.gigatransfers(), highest.number());
                let message =
                    format!("the port above has no rate above {rate} GT/s; write 1 to {number}");
                Err(("generation", message))
            }
            _ => Ok(()),
        }
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let Some(port) = scene.port_above(node) else {
            return;
        };
        let target = self.generation.map(|speed| u32::from(speed.0.number()));
        scene.spawn(node, move |system| async move {
            if let Some(target) = target {
                let field = (register::TARGET_LINK_SPEED, target);
                let control = (port, register::LINK_CONTROL_2);
                system.change_register(control, field).await;
            }
            let retrain = (register::RETRAIN_LINK, register::RETRAIN_LINK);
            let control = (port, register::LINK_CONTROL);
            system.change_register(control, retrain).await;
        });
    }
}

//! A function level reset (PCIe Base 6.6.2), which the software of a host initiates by a configuration request.

use host::recovery::{function_level_reset, informed_reset};
use kernel::Span;
use protocol::register;
use transaction::FunctionPlace;

use super::{Incident, Place, Scene, Wrong};
use crate::build::errors::has_driver;

kernel::parameters! {
    /// Keys of a function level reset.
    pub struct FunctionLevelReset {
        /// The function of the device: 0 for the physical one, 1 and more for its virtual functions.
        function: u32 = 0, from "our choice: the physical function";
        /// Time from the request to the next request of the host to the function.
        wait: Span = Span::from_us(100_000), from "PCIe Base 6.6.2: 100 ms";
        /// Whether the host then restores the registers of the function to the values that its firmware has set.
        restore: bool = true, from "our choice: as operating systems do";
        /// Whether the host notifies the drivers of the device before and after the reset: the drivers do not use the device during the reset, then
        /// set it up again and repeat the transfers that the reset has lost.
        drivers: bool = false, from "our choice: a reset that nobody expects; Linux tells drivers of resets that it makes, by reset_prepare and reset_done";
    }
}

impl FunctionLevelReset {
    fn place(&self) -> FunctionPlace {
        match self.function.checked_sub(1) {
            None => FunctionPlace::Own,
            Some(number) => FunctionPlace::Virtual(number as usize),
        }
    }
}

impl Incident for FunctionLevelReset {
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong> {
        let node = place.own();
        place.host_of(self.function as usize)?;
        let capabilities = node
            .functions
            .space(FunctionPlace::Own)
            .read(register::DEVICE_CAPABILITIES);
        if capabilities & register::FUNCTION_LEVEL_RESET == 0 {
            let message = format!(
                "{} has no function level reset; write the name of a device",
                node.name
            );
            return Err(("node", message));
        }
        let last = node.functions.virtual_places().count();
        if self.function as usize > last {
            let message = format!(
                "{} has no function {}; write 0 to {last}",
                node.name, self.function
            );
            return Err(("function", message));
        }
        if self.drivers && (self.function > 0 || !has_driver(node)) {
            let message = format!(
                "no driver of the host works with function {} of {}; write it for function 0 of a device with model = \"sg-dma\", \"nvme\", \"block-dma\" or \"accelerator\"",
                self.function, node.name
            );
            return Err(("drivers", message));
        }
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let place = self.place();
        let target = scene.plan.nodes[node].functions.id_of(place);
        let mut states = scene.saved(node);
        if !self.restore {
            states.clear();
        } else if place != FunctionPlace::Own {
            states.retain(|state| state.function == target);
        } else {
            // Functions of other hosts are reset, too, and their hosts set them up.
            let plan = scene.plan;
            let host = |function| plan.configuring_host(node, function).map(|(host, _)| host);
            let mut functions = 0..;
            states.retain(|_| functions.next().and_then(host) == host(0));
        }
        let wait = self.wait;
        let informed = self.drivers.then(|| scene.drivers_of(node)).flatten();
        scene.spawn_for((node, self.function as usize), move |system| async move {
            match informed {
                Some(informed) => informed_reset(system, target, wait, states, informed).await,
                None => drop(function_level_reset(system, target, wait, states).await),
            }
        });
    }
}

//! A function level reset (PCIe Base 6.6.2), which the software of a host initiates by a configuration request.

use protocol::register;
use transaction::{Action, ConfigAccess, FunctionPlace};

use super::{Incident, Misplaced, Place, Scene};

kernel::parameters! {
    /// Keys of a function level reset.
    pub struct FunctionLevelReset {
        /// The function of the device: 0 for the physical one, 1 and more for its virtual functions.
        function: u32 = 0, from "our choice: the physical function";
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
    fn check(&self, place: &Place<'_>) -> Result<(), Misplaced> {
        let node = place.own();
        place.host()?;
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
        Ok(())
    }

    fn happen(&self, node: usize, scene: &mut Scene<'_>) {
        let functions = &scene.plan.nodes[node].functions;
        let target = functions.id_of(self.place());
        // The upper half of the register has status bits, which a one would clear.
        let control = ConfigAccess {
            target,
            register: register::DEVICE_CONTROL,
            action: Action::Read,
        };
        scene.spawn(node, move |system| async move {
            let Some(value) = system.configure(control).await else {
                return;
            };
            let action = Action::Write {
                value: value | register::INITIATE_FUNCTION_LEVEL_RESET,
                enables: 0b0011,
            };
            system.configure(ConfigAccess { action, ..control }).await;
        });
    }
}

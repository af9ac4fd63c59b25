//! The service of an operating system for slots: it sets up inserted cards, and turns the power off when the attention button requests it (PCIe
//! Base 6.7.1).

use protocol::{FunctionId, register};

use crate::containment::PortBelow;
use crate::recovery::{finish, prepare};
use crate::{DriverParameters, System};

/// Serves the events of the slot of `port`. Returns whether there were any.
pub(crate) async fn serve_once(
    port: &PortBelow,
    system: &System,
    costs: &DriverParameters,
) -> bool {
    let events = take_events(port, system).await;
    if events & register::ATTENTION_BUTTON_PRESSED != 0 {
        press(port, system, costs).await;
    } else if events != 0 {
        if is_link_active(port.function, system).await {
            system.log("slot: card present").await;
            prepare(system, &port.drivers).await;
            port.set_up_below(system, costs).await;
            take_events(port, system).await;
        } else {
            system.log("slot: link down").await;
            lose(port, system, costs).await;
        }
    }
    events != 0
}

/// Notifies the drivers below the port that their devices are removed. A reset by software also takes the link down. In this case the
/// notification waits for the end of the reset, after which the link is active and the devices are set up.
async fn lose(port: &PortBelow, system: &System, costs: &DriverParameters) {
    if port.drivers.is_empty() {
        return;
    }
    prepare(system, &port.drivers).await;
    if is_link_active(port.function, system).await {
        port.set_up_below(system, costs).await;
        take_events(port, system).await;
    } else {
        finish(system, &port.drivers, false).await;
    }
}

/// Reads the events of the slot, and clears them.
pub(crate) async fn take_events(port: &PortBelow, system: &System) -> u32 {
    let control = (port.function, register::SLOT_CONTROL);
    let status = system.read_register(control.0, control.1).await;
    let events = status.unwrap_or_default() & register::SLOT_EVENTS;
    if events != 0 {
        system.write_register(control, events, 0b1100).await;
    }
    events
}

/// Turns the power of the slot on if it is off. Otherwise turns it off after the time in which the user may cancel the removal.
async fn press(port: &PortBelow, system: &System, costs: &DriverParameters) {
    let control = (port.function, register::SLOT_CONTROL);
    let off = register::SLOT_POWER_OFF;
    let value = system.read_register(control.0, control.1).await;
    if value.unwrap_or_default() & off != 0 {
        system.log("slot: power on").await;
        prepare(system, &port.drivers).await;
        system.change_register(control, (off, 0)).await;
        port.set_up_below(system, costs).await;
    } else {
        system.sleep(costs.attention_wait).await;
        if take_events(port, system).await & register::ATTENTION_BUTTON_PRESSED != 0 {
            return system.log("slot: removal cancelled").await;
        }
        prepare(system, &port.drivers).await;
        let enables = register::BUS_MASTER | register::MEMORY_SPACE;
        for state in port.below.iter().flatten() {
            let command = (state.function, register::COMMAND);
            system.change_register(command, (enables, 0)).await;
        }
        system.change_register(control, (off, off)).await;
        system.log("slot: power off").await;
        finish(system, &port.drivers, false).await;
    }
    take_events(port, system).await;
}

async fn is_link_active(port: FunctionId, system: &System) -> bool {
    let link = system.read_register(port, register::LINK_CONTROL).await;
    link.unwrap_or_default() & register::LINK_ACTIVE != 0
}

//! The service of an operating system for slots: it sets up what was put in, and turns the power off when the attention button asks for
//! it (PCIe Base 6.7.1).

use packet::{Incident, Observation, Site};
use protocol::register;
use transaction::{Action, ConfigAccess};

use crate::containment::PortBelow;
use crate::recovery::{change, finish, prepare, read};
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
        let link = read(system, port.function, register::LINK_CONTROL).await;
        if link.unwrap_or_default() & register::LINK_ACTIVE != 0 {
            report(system, "slot: card present").await;
            prepare(system, &port.drivers).await;
            port.set_up_below(system, costs).await;
            take_events(port, system).await;
        } else {
            report(system, "slot: link down").await;
            lose(port, system, costs).await;
        }
    }
    events != 0
}

/// Tells the drivers below that their devices are gone. A reset that software itself has made takes the link down, too: the drivers know
/// of that, and it is over when they can be told.
async fn lose(port: &PortBelow, system: &System, costs: &DriverParameters) {
    if port.drivers.is_empty() {
        return;
    }
    prepare(system, &port.drivers).await;
    let link = read(system, port.function, register::LINK_CONTROL).await;
    if link.unwrap_or_default() & register::LINK_ACTIVE != 0 {
        port.set_up_below(system, costs).await;
        take_events(port, system).await;
    } else {
        finish(system, &port.drivers, false).await;
    }
}

/// Reads the events of the slot, and clears them.
pub(crate) async fn take_events(port: &PortBelow, system: &System) -> u32 {
    let status = read(system, port.function, register::SLOT_CONTROL).await;
    let events = status.unwrap_or_default() & register::SLOT_EVENTS;
    if events != 0 {
        let action = Action::Write {
            value: events,
            enables: 0b1100,
        };
        system
            .configure(ConfigAccess {
                target: port.function,
                register: register::SLOT_CONTROL,
                action,
            })
            .await;
    }
    events
}

/// Turns the power of the slot off after the time in which the user may change their mind, or on.
async fn press(port: &PortBelow, system: &System, costs: &DriverParameters) {
    let control = (port.function, register::SLOT_CONTROL);
    let off = register::SLOT_POWER_OFF;
    let is_off = read(system, control.0, control.1)
        .await
        .is_some_and(|value| value & off != 0);
    if is_off {
        report(system, "slot: power on").await;
        prepare(system, &port.drivers).await;
        change(system, control, (off, 0)).await;
        port.set_up_below(system, costs).await;
    } else {
        system.sleep(costs.attention_wait).await;
        if take_events(port, system).await & register::ATTENTION_BUTTON_PRESSED != 0 {
            return report(system, "slot: removal cancelled").await;
        }
        prepare(system, &port.drivers).await;
        let enables = register::BUS_MASTER | register::MEMORY_SPACE;
        for state in port.below.iter().flatten() {
            change(system, (state.function, register::COMMAND), (enables, 0)).await;
        }
        change(system, control, (off, off)).await;
        report(system, "slot: power off").await;
        finish(system, &port.drivers, false).await;
    }
    take_events(port, system).await;
}

async fn report(system: &System, what: &'static str) {
    let (site, what) = (Site::Node, Incident::Event(what));
    system.report(Observation::Incident { site, what }).await;
}

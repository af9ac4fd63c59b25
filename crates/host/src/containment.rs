//! Software that releases ports from Downstream Port Containment and sets up again the functions below them, as an operating system does (PCIe
//! Base 6.2.10), and software that resets the functions below a port.

use kernel::Span;
use protocol::{FunctionId, register};

use crate::recovery::{Informed, SavedState, finish, prepare, report_set_up, set_up};
use crate::{DriverParameters, System};

/// A downstream port or the upstream port of a switch, with the saved configuration of the functions below the port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortBelow {
    /// The port.
    pub function: FunctionId,
    /// The saved states of the functions below the port, one list for each node, the upper nodes first.
    pub below: Vec<Vec<SavedState>>,
    /// Whether there is a link below the port. An upstream port of a switch has the downstream ports of the switch below it, and no link.
    pub has_link: bool,
    /// The drivers of the devices below the port. They are notified of resets and errors, in the order of their interrupt messages.
    pub drivers: Vec<Informed>,
}

impl PortBelow {
    /// Releases the port if it is in containment, and sets up again the functions below the port. Returns whether the port was in containment.
    pub(crate) async fn release(&self, system: &System, costs: &DriverParameters) -> bool {
        let at = (self.function, register::CONTAINMENT_STATUS);
        let status = system.read_register(at.0, at.1).await;
        if status.unwrap_or_default() & register::TRIGGER_STATUS == 0 {
            return false;
        }
        prepare(system, &self.drivers).await;
        // PCIe Base 6.2.10: software must not release the port before the link is down.
        self.wait_for_link(system, false).await;
        let errors = (self.function, register::UNCORRECTABLE_STATUS);
        if let Some(found) = system.read_register(errors.0, errors.1).await {
            system.write_register(errors, found, 0b1111).await;
        }
        let triggered = register::TRIGGER_STATUS | register::CONTAINMENT_INTERRUPT_STATUS;
        system.write_register(at, triggered, 0b0001).await;
        system.log("containment released").await;
        self.set_up_below(system, costs).await;
        true
    }

    /// Resets the functions below the port by Secondary Bus Reset, which is set for the time `hold`. Sets up the functions again if `restores`.
    pub async fn reset(
        &self,
        system: &System,
        costs: &DriverParameters,
        hold: Span,
        restores: bool,
    ) {
        prepare(system, &self.drivers).await;
        let at = (self.function, register::BRIDGE_CONTROL);
        let reset = register::SECONDARY_BUS_RESET;
        system.change_register(at, (reset, reset)).await;
        system.sleep(hold).await;
        system.change_register(at, (reset, 0)).await;
        self.end(system, costs, restores).await;
    }

    /// Sets or clears Link Disable of the port. Sets up again the functions below the port if `restores`.
    pub async fn disable(
        self,
        system: System,
        costs: DriverParameters,
        is_disabled: bool,
        restores: bool,
    ) {
        let (at, mask) = (
            (self.function, register::LINK_CONTROL),
            register::LINK_DISABLE,
        );
        let value = if is_disabled { mask } else { 0 };
        prepare(&system, &self.drivers).await;
        system.change_register(at, (mask, value)).await;
        self.end(&system, &costs, restores).await;
    }

    /// Ends a reset of the functions below the port: sets up the functions again if `restores`, and otherwise notifies the drivers that their
    /// devices do not work.
    async fn end(&self, system: &System, costs: &DriverParameters, restores: bool) {
        if restores {
            self.set_up_below(system, costs).await;
        } else {
            finish(system, &self.drivers, false).await;
        }
    }

    /// Waits until the link is up, and then for the time that functions need after a reset. Restores the registers of the functions, and
    /// notifies the drivers that the reset is over. The caller must have notified the drivers that the reset begins.
    pub(crate) async fn set_up_below(&self, system: &System, costs: &DriverParameters) {
        let is_up = !self.has_link || self.wait_for_link(system, true).await;
        let works = if is_up {
            system.sleep(costs.link_up_wait).await;
            set_up(system, &self.below).await
        } else {
            report_set_up(system, false).await;
            false
        };
        finish(system, &self.drivers, works).await;
    }

    /// Waits until Data Link Layer Link Active of the port has the value `is_active`. Returns false if the bit does not have this value in less
    /// than a second.
    async fn wait_for_link(&self, system: &System, is_active: bool) -> bool {
        let mut pause = FIRST_PAUSE;
        loop {
            let status = system
                .read_register(self.function, register::LINK_CONTROL)
                .await;
            if status.is_some_and(|status| (status & register::LINK_ACTIVE != 0) == is_active) {
                return true;
            }
            if pause > LONGEST_PAUSE {
                return false;
            }
            system.sleep(pause).await;
            pause = pause * 2;
        }
    }
}

/// Triggers containment of the port `function` by software.
pub async fn trigger(system: System, function: FunctionId) {
    let at = (function, register::CONTAINMENT);
    let trigger = register::SOFTWARE_TRIGGER;
    system.change_register(at, (trigger, trigger)).await;
}

/// The first and the longest pause between two reads of the link status. The pause doubles after each read, and all pauses together are less
/// than a second. Our choice, as operating systems do.
const FIRST_PAUSE: Span = Span::from_us(10);
const LONGEST_PAUSE: Span = Span::from_us(500_000);

//! The services of an operating system for the interrupts of downstream ports: for errors, containment, slots, and the bandwidth of links.

use protocol::{FunctionId, register};

use crate::containment::PortBelow;
use crate::errors::ErrorPort;
use crate::{DriverParameters, System, slots};

/// The interrupt of a downstream port, and the services that an operating system has for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortService {
    /// The message of the interrupt.
    pub message: u32,
    /// The errors that a root port reports, if they are served.
    pub errors: Option<ErrorPort>,
    /// The containment of the port, if it is enabled.
    pub containment: Option<PortBelow>,
    /// The slot of the port, if it is served.
    pub slot: Option<PortBelow>,
    /// The port, if the bandwidth of its link is served.
    pub bandwidth: Option<FunctionId>,
}

/// Serves the interrupts of one port for ever.
pub async fn serve(system: System, costs: DriverParameters, service: PortService) {
    loop {
        system.interrupt(service.message).await;
        system.sleep(costs.interrupt_latency).await;
        // Other events may occur during the service, without another interrupt.
        while service.serve_once(&system, &costs).await {}
    }
}

/// Clears Link Bandwidth Management Status of a port. Returns whether it was set.
async fn serve_bandwidth(port: FunctionId, system: &System) -> bool {
    let status = system.read_register(port, register::LINK_CONTROL).await;
    let event = register::BANDWIDTH_MANAGEMENT;
    if status.unwrap_or_default() & event == 0 {
        return false;
    }
    let control = (port, register::LINK_CONTROL);
    system.write_register(control, event, 0b1000).await;
    system.log("link bandwidth notification").await;
    true
}

impl PortService {
    /// Serves the events that the port has recorded. Returns whether there were any.
    async fn serve_once(&self, system: &System, costs: &DriverParameters) -> bool {
        let mut any = false;
        if let Some(errors) = &self.errors {
            any |= errors.serve_once(system, costs).await;
        }
        if let Some(port) = &self.containment
            && port.release(system, costs).await
        {
            // These slot events are discarded: the link has gone down and up because of containment, and not because of a card.
            if let Some(port) = &self.slot {
                slots::take_events(port, system).await;
            }
            any = true;
        }
        if let Some(port) = &self.slot {
            any |= slots::serve_once(port, system, costs).await;
        }
        if let Some(port) = self.bandwidth {
            any |= serve_bandwidth(port, system).await;
        }
        any
    }
}

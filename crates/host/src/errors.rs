//! The error service of an operating system: it waits for the interrupt of a root port, finds the functions that reported errors, and
//! clears their status (PCIe Base 6.2.4.1).

use packet::{Incident, Observation, Site};
use protocol::{FunctionId, Severity, register};

use kernel::Span;

use crate::containment::PortBelow;
use crate::{DriverParameters, System};

/// A root port whose errors are served.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorPort {
    /// The root port.
    pub function: FunctionId,
    /// The functions below the root port. If the root port has received several messages, the service reads the status of all of them.
    pub below: Vec<FunctionId>,
    /// The ports whose links the service resets after fatal errors. Each entry has the functions whose fatal errors cause the reset: the port
    /// itself, and the functions of the node at the lower end of its link. The list is empty if drivers are not notified of errors.
    pub links: Vec<(Vec<FunctionId>, PortBelow)>,
}

impl ErrorPort {
    /// Serves the messages that the root port has recorded. Returns whether there were any.
    pub(crate) async fn serve_once(&self, system: &System, costs: &DriverParameters) -> bool {
        let service = Service { system, port: self };
        let (any, served) = service.serve_once().await;
        service.recover(costs, &served).await;
        any
    }
}

struct Service<'a> {
    system: &'a System,
    port: &'a ErrorPort,
}

impl Service<'_> {
    /// Serves the messages that the root port has recorded. Returns whether there were any, and the functions that reported errors. If there
    /// were any, the caller checks the root port again: other messages may have arrived without another interrupt.
    async fn serve_once(&self) -> (bool, Vec<(FunctionId, Severity)>) {
        let mut served = Vec::new();
        let root = self.port.function;
        let Some(status) = self
            .system
            .read_register(root, register::ROOT_ERROR_STATUS)
            .await
        else {
            return (false, served);
        };
        let source = self
            .system
            .read_register(root, register::ERROR_SOURCE)
            .await;
        let source = source.unwrap_or_default();
        let received = [
            (register::CORRECTABLE_RECEIVED, source as u16),
            (register::UNCORRECTABLE_RECEIVED, (source >> 16) as u16),
        ];
        self.system
            .write_register((root, register::ROOT_ERROR_STATUS), status, 0b1111)
            .await;
        let mut any = false;
        for (bit, source) in received {
            if status & bit == 0 {
                continue;
            }
            any = true;
            if status & bit << 1 == 0 {
                served.extend(self.clear(FunctionId(source), bit, status).await);
                continue;
            }
            served.extend(self.clear(root, bit, status).await);
            for function in &self.port.below {
                served.extend(self.clear(*function, bit, status).await);
            }
        }
        (any, served)
    }

    /// Resets the links of functions with fatal errors, and notifies the drivers of functions with other errors, as Linux does
    /// (`error_detected`, `slot_reset`, `resume`).
    async fn recover(&self, costs: &DriverParameters, served: &[(FunctionId, Severity)]) {
        for (functions, port) in &self.port.links {
            let mut fatal = served
                .iter()
                .filter(|(_, severity)| *severity == Severity::Fatal);
            if fatal.any(|(function, _)| functions.contains(function)) {
                self.system.log("link reset after a fatal error").await;
                port.reset(self.system, costs, RESET_HOLD, true).await;
                continue;
            }
            let warned = served
                .iter()
                .filter(|(_, severity)| *severity == Severity::NonFatal);
            for (function, _) in warned.filter(|(function, _)| functions.contains(function)) {
                let mut drivers = port.drivers.iter();
                if let Some(driver) = drivers.find(|one| one.function == *function) {
                    self.system
                        .log("a driver is notified of a non-fatal error")
                        .await;
                    self.system.warn(&driver.messages).await;
                }
            }
        }
    }

    /// Reads and clears the error status of a function. The bit `received` selects correctable or uncorrectable errors, and `root` is the Root
    /// Error Status of the root port. Returns the function with the severity if there was an error.
    async fn clear(
        &self,
        function: FunctionId,
        received: u32,
        root: u32,
    ) -> Option<(FunctionId, Severity)> {
        let is_correctable = received == register::CORRECTABLE_RECEIVED;
        let register = if is_correctable {
            register::CORRECTABLE_STATUS
        } else {
            register::UNCORRECTABLE_STATUS
        };
        let Some(status) = self.system.read_register(function, register).await else {
            self.system
                .report(incident(Incident::NoAnswer(function)))
                .await;
            return None;
        };
        if status == 0 {
            return None;
        }
        let severity = match self
            .system
            .read_register(function, register::UNCORRECTABLE_SEVERITY)
            .await
        {
            _ if is_correctable => Severity::Correctable,
            // The severity of an internal error is the severity of the received message. The function's severity register is ignored for it.
            Some(fatal)
                if fatal & status & !register::INTERNAL_ERROR != 0
                    || status & register::INTERNAL_ERROR != 0
                        && root & register::FATAL_RECEIVED != 0 =>
            {
                Severity::Fatal
            }
            _ => Severity::NonFatal,
        };
        let at = (function, register);
        self.system.write_register(at, status, 0b1111).await;
        // The upper half of this register is Device Status, in which writing a one clears a bit.
        let device_status = (function, register::DEVICE_CONTROL);
        self.system
            .write_register(device_status, u32::MAX, 0b1100)
            .await;
        let served = Incident::Served(severity, function, status);
        self.system.report(incident(served)).await;
        Some((function, severity))
    }
}

fn incident(what: Incident) -> Observation {
    let site = Site::Node;
    Observation::Incident { site, what }
}

/// The time for which Secondary Bus Reset stays set, as in Linux.
const RESET_HOLD: Span = Span::from_us(2_000);

//! Changes to the configuration of functions after enumeration, as an administrator makes them with `setpci`.

use protocol::{AccessService, Express, FunctionId, register};
use transaction::ConfigAccess;

use super::access::Registers;
use crate::Desk;

/// A change to the configuration of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Max payload size in bytes.
    MaxPayload(u32),
    /// Max read request size in bytes.
    MaxReadRequest(u32),
    /// Memory Space Enable.
    MemoryEnable(bool),
    /// An Access Control Service.
    Access(AccessService, bool),
    /// The bit of the port with this number in the Egress Control Vector of Access Control Services.
    EgressControl(u8, bool),
}

/// A program that makes each change, in order, if the function has the capability.
pub async fn apply(desk: Desk<ConfigAccess, u32>, settings: Vec<(FunctionId, Setting)>) {
    let registers = Registers(desk);
    for (function, setting) in settings {
        registers.make(function, setting).await;
    }
}

impl Registers {
    async fn make(&self, function: FunctionId, setting: Setting) {
        let register = match setting {
            Setting::MaxPayload(_) | Setting::MaxReadRequest(_) => {
                self.device_control(function).await
            }
            Setting::MemoryEnable(_) => Some(register::COMMAND),
            Setting::Access(..) => self.access_control(function).await,
            Setting::EgressControl(number, _) => {
                let access_control = self.access_control(function).await;
                access_control.map(|at| at + 1 + u16::from(number / 32))
            }
        };
        let field = match setting {
            Setting::MaxPayload(bytes) => Express::max_payload_field(bytes),
            Setting::MaxReadRequest(bytes) => Express::max_read_request_field(bytes),
            Setting::MemoryEnable(on) => flag(register::MEMORY_SPACE, on),
            Setting::Access(service, on) => flag(service.control(), on),
            Setting::EgressControl(number, on) => flag(1 << (number % 32), on),
        };
        if let Some(register) = register {
            self.replace(function, register, field).await;
        }
    }

    /// The register of ACS Control. It is in an extended capability, above the header's capabilities.
    async fn access_control(&self, function: FunctionId) -> Option<u16> {
        let capability = self.extended(function, register::ACS_ID).await;
        capability.map(|at| at + 1)
    }

    /// The offset of Device Control, in the lower half of its register.
    async fn device_control(&self, function: FunctionId) -> Option<u16> {
        let express = self.capability(function, register::EXPRESS_ID).await;
        express.map(|at| at + (register::DEVICE_CONTROL - register::EXPRESS))
    }
}

/// The bit `mask` and its value.
fn flag(mask: u32, on: bool) -> (u32, u32) {
    (mask, if on { mask } else { 0 })
}

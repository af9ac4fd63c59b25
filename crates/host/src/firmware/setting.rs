//! Changes to the configuration of functions after enumeration, as an administrator makes them with `setpci`.

use kernel::Span;
use protocol::{AccessService, Express, FunctionId, register};
use transaction::ConfigAccess;

use super::access::Registers;
use super::channels::ChannelSetting;
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
    /// The Completion Timeout Value that represents a time.
    CompletionTimeout(Span),
    /// 10-Bit Tag Requester Enable.
    TenBitTags(bool),
    /// Enable Relaxed Ordering.
    RelaxedOrdering(bool),
    /// Enable No Snoop.
    NoSnoop(bool),
    /// IDO Request Enable.
    IdOrdering(bool),
    /// IDO Completion Enable.
    CompletionsById(bool),
    /// A change to the virtual channels of a port.
    Channels(ChannelSetting),
    /// All bits in Device Control, Command and Bridge Control that enable error messages, and all bits in Root Error Command that enable
    /// interrupts.
    ReportErrors,
    /// ECRC Generation Enable and ECRC Check Enable, of functions that have them.
    Ecrc,
    /// Downstream Port Containment of a port that supports it, and its interrupt. It is for fatal errors, and if true also for non-fatal errors.
    Containment(bool),
    /// The hot-plug events of a port's slot, and their interrupt.
    HotPlug,
    /// Link Bandwidth Management Interrupt Enable of a port.
    BandwidthNotification,
    /// L0s Entry Enabled in ASPM Control.
    EnterL0s,
    /// L1 Entry Enabled in ASPM Control.
    EnterL1,
    /// PASID Enable, with the enable bits of the permissions that the function supports.
    AddressSpaces(bool),
    /// End-End TLP Prefix Blocking.
    BlockPrefixes,
    /// `AtomicOp` Egress Blocking.
    BlockAtomics,
    /// An Access Control Service.
    Access(AccessService, bool),
    /// The bit of the port with this number in the Egress Control Vector of Access Control Services.
    EgressControl(u8, bool),
}

/// The place of the register with the field that a setting changes.
#[derive(Clone, Copy)]
enum Place {
    /// In the header.
    Header(u16),
    /// In the PCI Express capability. The value is the number that the register has in [`register`].
    Express(u16),
    /// In the extended capability of Access Control Services, at this offset in dwords.
    AccessControl(u16),
}

/// A program that makes the changes in order. A change is skipped if the function does not have the capability.
pub async fn apply(desk: Desk<ConfigAccess, u32>, settings: Vec<(FunctionId, Setting)>) {
    let registers = Registers(desk);
    for (function, setting) in settings {
        registers.apply(function, setting).await;
    }
}

impl Registers {
    async fn apply(&self, function: FunctionId, setting: Setting) {
        let control = Place::Express(register::DEVICE_CONTROL);
        let control_2 = Place::Express(register::DEVICE_CONTROL_2);
        let link = Place::Express(register::LINK_CONTROL);
        let (place, field) = match setting {
            Setting::Channels(setting) => return self.make_channels(function, setting).await,
            Setting::ReportErrors => return self.report_errors(function).await,
            Setting::Ecrc => return self.enable_ecrc(function).await,
            Setting::HotPlug => return self.enable_hot_plug(function).await,
            Setting::AddressSpaces(on) => return self.enable_address_spaces(function, on).await,
            Setting::BandwidthNotification => {
                return self.enable_bandwidth_notification(function).await;
            }
            Setting::Containment(non_fatal) => {
                return self.enable_containment(function, non_fatal).await;
            }
            Setting::MaxPayload(bytes) => (control, Express::max_payload_field(bytes)),
            Setting::MaxReadRequest(bytes) => (control, Express::max_read_request_field(bytes)),
            Setting::RelaxedOrdering(on) => (control, flag(register::RELAXED_ORDERING_ENABLE, on)),
            Setting::NoSnoop(on) => (control, flag(register::NO_SNOOP_ENABLE, on)),
            Setting::CompletionTimeout(time) => {
                (control_2, Express::completion_timeout_field(time.as_fs()))
            }
            Setting::TenBitTags(on) => {
                (control_2, flag(register::TEN_BIT_TAG_REQUESTER_ENABLE, on))
            }
            Setting::IdOrdering(on) => (control_2, flag(register::IDO_REQUEST_ENABLE, on)),
            Setting::CompletionsById(on) => (control_2, flag(register::IDO_COMPLETION_ENABLE, on)),
            Setting::BlockPrefixes => (control_2, flag(register::PREFIX_BLOCKING, true)),
            Setting::BlockAtomics => (control_2, flag(register::ATOMIC_EGRESS_BLOCKING, true)),
            Setting::EnterL0s => (link, flag(register::L0S_ENABLE, true)),
            Setting::EnterL1 => (link, flag(register::L1_ENABLE, true)),
            Setting::MemoryEnable(on) => (
                Place::Header(register::COMMAND),
                flag(register::MEMORY_SPACE, on),
            ),
            Setting::Access(service, on) => (Place::AccessControl(1), flag(service.control(), on)),
            Setting::EgressControl(number, on) => {
                let vector = Place::AccessControl(2 + u16::from(number / 32));
                (vector, flag(1 << (number % 32), on))
            }
        };
        let register = match place {
            Place::Header(register) => Some(register),
            Place::Express(register) => self.express(function, register).await,
            Place::AccessControl(offset) => {
                let capability = self.extended(function, register::ACS_ID).await;
                capability.map(|at| at + offset)
            }
        };
        if let Some(register) = register {
            self.replace(function, register, field).await;
        }
    }

    /// Enables the error messages of a function. In a bridge, also enables the forwarding of error messages and the interrupts in Root Error
    /// Command.
    async fn report_errors(&self, function: FunctionId) {
        let Some(control) = self.express(function, register::DEVICE_CONTROL).await else {
            return;
        };
        self.set(function, control, register::ERROR_REPORTING).await;
        self.set(function, register::COMMAND, register::SERR).await;
        let header = self.read(function, register::HEADER_TYPE).await;
        if header & register::HEADER_LAYOUT != register::TYPE_1 {
            return;
        }
        let forwarding = register::SERR_FORWARDING;
        self.set(function, register::BRIDGE_CONTROL, forwarding)
            .await;
        if let Some(errors) = self.extended(function, register::AER_ID).await {
            let command = errors + (register::ROOT_ERROR_COMMAND - register::AER);
            let interrupts = register::ROOT_ERROR_INTERRUPTS;
            self.set(function, command, interrupts).await;
        }
    }

    async fn enable_containment(&self, function: FunctionId, non_fatal: bool) {
        if let Some(capability) = self.extended(function, register::CONTAINMENT_ID).await {
            let trigger = if non_fatal {
                register::TRIGGER_NON_FATAL
            } else {
                register::TRIGGER_FATAL
            };
            let mask = register::TRIGGER_ENABLE | register::CONTAINMENT_INTERRUPT;
            let value = trigger | register::CONTAINMENT_INTERRUPT;
            self.replace(function, capability + 1, (mask, value)).await;
        }
    }

    /// Enables the hot-plug events of a port's slot and their interrupt, if the slot supports hot plug.
    async fn enable_hot_plug(&self, function: FunctionId) {
        let Some(capabilities) = self.express(function, register::SLOT_CAPABILITIES).await else {
            return;
        };
        let header = self.read(function, register::HEADER_TYPE).await;
        let slot = self.read(function, capabilities).await;
        if header & register::HEADER_LAYOUT == register::TYPE_1
            && slot & register::HOT_PLUG_CAPABLE != 0
        {
            let enables = register::SLOT_ENABLES;
            self.set(function, capabilities + 1, enables).await;
        }
    }

    /// Sets or clears PASID Enable and the enable bits of the permissions that the function supports.
    pub(super) async fn enable_address_spaces(&self, function: FunctionId, on: bool) {
        if let Some(pasid) = self.extended(function, register::PASID_ID).await {
            let enables = register::pasid_enables(self.read(function, pasid + 1).await);
            self.replace(function, pasid + 1, flag(enables, on)).await;
        }
    }

    /// Enables the Link Bandwidth Management Interrupt, if the port supports it.
    async fn enable_bandwidth_notification(&self, function: FunctionId) {
        let Some(capabilities) = self.express(function, register::LINK_CAPABILITIES).await else {
            return;
        };
        let link = self.read(function, capabilities).await;
        if link & register::BANDWIDTH_NOTIFICATION != 0 {
            let enable = register::BANDWIDTH_INTERRUPT;
            self.set(function, capabilities + 1, enable).await;
        }
    }

    async fn enable_ecrc(&self, function: FunctionId) {
        if let Some(errors) = self.extended(function, register::AER_ID).await {
            let control = errors + (register::ERROR_CONTROL - register::AER);
            self.set(function, control, register::ECRC_ENABLES).await;
        }
    }

    /// The offset of a register of the PCI Express capability, such as Device Control.
    async fn express(&self, function: FunctionId, register: u16) -> Option<u16> {
        let express = self.capability(function, register::EXPRESS_ID).await;
        express.map(|at| at + (register - register::EXPRESS))
    }
}

/// The mask of a field, and the value that sets or clears all its bits.
fn flag(mask: u32, on: bool) -> (u32, u32) {
    (mask, if on { mask } else { 0 })
}

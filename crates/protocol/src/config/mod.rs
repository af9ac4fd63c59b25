//! Configuration space (PCIe Base chapter 7): the properties that a function reports, and the settings that software controls.
//!
//! Registers are dwords, numbered from 0. Each capability has one file, with its registers and their meaning for the component.

/// Declares methods that return whether a bit of a register of the function is set.
macro_rules! bits {
    ($($(#[$doc:meta])* $seen:vis $name:ident: $register:ident, $bit:ident;)*) => {
        $($(#[$doc])*
        $seen fn $name(&self) -> bool {
            self.read($register) & $bit != 0
        })*
    };
}

mod acs;
mod ari;
mod ats;
mod bar;
mod bridge;
mod channels;
mod containment;
mod data_link;
mod errors;
mod express;
mod function;
mod header;
mod interrupts;
mod link;
mod page_requests;
mod pasid;
mod power;
mod resizable;
mod slot;
mod space;
mod sriov;

pub use acs::AccessService;
pub use ats::Ats;
pub use bar::Bar;
pub use bridge::{Interval, LinkHold, WINDOW_BYTES};
pub use channels::{Arbitration, ChannelControl, ChannelsControl, MOST_CHANNELS, VirtualChannels};
pub use containment::TriggerReason;
pub use data_link::DataLinkFeatures;
pub use errors::{
    CorrectableError, Detected, ErrorControl, ErrorRecord, Severity, UncorrectableError,
};
pub use express::timeout::CompletionTimeout;
pub use express::{Express, PortType};
pub use function::{AddressTranslation, BridgeFunction, EndpointFunction};
pub use header::Identity;
pub use interrupts::{MsixTable, Signalling};
pub use page_requests::PageRequests;
pub use pasid::{AddressSpaces, PasidControl};
pub use space::ConfigSpace;
pub use sriov::{SrIov, VirtualBar};

/// Numbers of the registers that software accesses, and the bits in them.
pub mod register {
    pub use super::acs::*;
    pub use super::ari::*;
    pub use super::ats::*;
    pub use super::bridge::*;
    pub use super::channels::*;
    pub use super::containment::*;
    pub use super::data_link::*;
    pub use super::errors::root::*;
    pub use super::errors::*;
    pub use super::express::*;
    pub use super::header::*;
    pub use super::interrupts::*;
    pub use super::page_requests::*;
    pub use super::pasid::*;
    pub use super::resizable::*;
    pub use super::slot::*;
    pub use super::sriov::*;
}

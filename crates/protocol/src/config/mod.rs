//! Configuration space (PCIe Base chapter 7): what a function reports about itself, and what software controls.
//!
//! Registers are dwords, numbered from 0. Each capability has one file, with its registers and their meaning for the component.

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
    pub use super::acs::{ACS, EGRESS_CONTROL_VECTOR, ID as ACS_ID};
    pub use super::ari::ID as ARI_ID;
    pub use super::ats::{ATS, ATS_ENABLE, ATS_UNIT_SHIFT, ID as ATS_ID};
    pub use super::bridge::{
        BRIDGE_CONTROL, BUSES, MEMORY_WINDOW, PREFETCHABLE_BASE_HIGH, PREFETCHABLE_LIMIT_HIGH,
        PREFETCHABLE_WINDOW, SECONDARY_BUS_RESET, SERR_FORWARDING,
    };
    pub use super::channels::{
        CHANNEL_ENABLE, CHANNEL_ID, CHANNEL_ID_SHIFT, CHANNEL_RESOURCES, CHANNELS, CLASS_MAP,
        EXTENDED_COUNT, ID as CHANNELS_ID, LOAD_PORT_TABLE, LOAD_VC_TABLE, NEGOTIATION_PENDING,
        PORT_ARBITRATION_SELECT, PORT_ARBITRATION_SHIFT, PORT_CHANNELS, PORT_CHANNELS_2,
        PORT_CHANNELS_CONTROL, RESOURCE_REGISTERS, TABLE_OFFSET_SHIFT, TABLE_UNIT,
        VC_ARBITRATION_SELECT, VC_ARBITRATION_SHIFT, is_channel_control, with_load,
    };
    pub use super::containment::{
        CONTAINMENT, CONTAINMENT_COMPLETION, CONTAINMENT_INTERRUPT, CONTAINMENT_INTERRUPT_STATUS,
        CONTAINMENT_MESSAGE, CONTAINMENT_STATUS, ID as CONTAINMENT_ID, SOFTWARE_TRIGGER,
        TRIGGER_ENABLE, TRIGGER_FATAL, TRIGGER_NON_FATAL, TRIGGER_STATUS,
    };
    pub use super::data_link::{
        DATA_LINK_FEATURES, FEATURE_EXCHANGE, ID as DATA_LINK_ID, SCALED_FLOW_CONTROL,
    };
    pub use super::errors::root::{
        CORRECTABLE_RECEIVED, ERROR_SOURCE, FATAL_RECEIVED, ROOT_ERROR_COMMAND,
        ROOT_ERROR_INTERRUPTS, ROOT_ERROR_STATUS, UNCORRECTABLE_RECEIVED,
    };
    pub use super::errors::{
        ADVISORY_NON_FATAL, AER, CORRECTABLE_STATUS, ECRC_ENABLES, ERROR_CONTROL, ID as AER_ID,
        INTERNAL_ERROR, UNCORRECTABLE_SEVERITY, UNCORRECTABLE_STATUS,
    };
    pub use super::express::{
        ARI_FORWARDING, ARI_FORWARDING_ENABLE, ATOMIC_COMPLETER_BASE, ATOMIC_EGRESS_BLOCKING,
        ATOMIC_REQUESTER_ENABLE, ATOMIC_ROUTING, BANDWIDTH_INTERRUPT, BANDWIDTH_MANAGEMENT,
        BANDWIDTH_NOTIFICATION, DEVICE_CAPABILITIES, DEVICE_CAPABILITIES_2, DEVICE_CONTROL,
        DEVICE_CONTROL_2, END_TO_END_PREFIX, ERROR_REPORTING, EXPRESS, EXTENDED_TAGS,
        EXTENDED_TAGS_ENABLE, FUNCTION_LEVEL_RESET, ID as EXPRESS_ID, IDO_COMPLETION_ENABLE,
        IDO_REQUEST_ENABLE, INITIATE_FUNCTION_LEVEL_RESET, L0S_ENABLE, L1_ENABLE, LINK_ACTIVE,
        LINK_CAPABILITIES, LINK_CONTROL, LINK_CONTROL_2, LINK_DISABLE, LINK_SPEED, LINK_TRAINING,
        LINK_WIDTH, LINK_WIDTH_SHIFT, NO_SNOOP_ENABLE, PREFIX_BLOCKING, RELAXED_ORDERING_ENABLE,
        RETRAIN_LINK, TARGET_LINK_SPEED, TEN_BIT_TAG_COMPLETER, TEN_BIT_TAG_REQUESTER,
        TEN_BIT_TAG_REQUESTER_ENABLE,
    };
    pub use super::header::{
        BARS, BUS_MASTER, CAPABILITIES, CAPABILITY_LIST, CLASS, COMMAND, HEADER_LAYOUT,
        HEADER_TYPE, ID, INTERRUPT, MEMORY_SPACE, MULTIFUNCTION, SECONDARY_STATUS, SERR, TYPE_1,
    };
    pub use super::interrupts::{
        MSI, MSI_CAPABLE_SHIFT, MSI_COUNT_SHIFT, MSI_ENABLE, MSI_ID, MSIX, MSIX_ENABLE, MSIX_ENTRY,
        MSIX_FUNCTION_MASK, MSIX_ID, MSIX_SIZE_SHIFT, MSIX_VECTOR_CONTROL, MSIX_VECTOR_MASK,
    };
    pub use super::page_requests::{
        ID as PAGE_REQUESTS_ID, PAGE_REQUEST_ALLOCATION, PAGE_REQUEST_CAPACITY,
        PAGE_REQUEST_ENABLE, PAGE_REQUEST_RESET, PAGE_REQUESTS,
    };
    pub use super::pasid::{ID as PASID_ID, PASID, PASID_ENABLE, pasid_enables};
    pub use super::slot::{
        ATTENTION_BUTTON_PRESSED, CARD_PRESENT, HOT_PLUG_CAPABLE, LINK_STATE_CHANGED,
        PRESENCE_CHANGED, SLOT_CAPABILITIES, SLOT_CONTROL, SLOT_ENABLES, SLOT_EVENTS,
        SLOT_POWER_OFF,
    };
    pub use super::sriov::{
        ARI_CAPABLE_HIERARCHY, ID as SRIOV_ID, NUM_VFS, SRIOV, SRIOV_CONTROL, SYSTEM_PAGE_SIZE,
        TOTAL_VFS, VF_BARS, VF_ENABLE, VF_MEMORY_SPACE, VF_OFFSET_AND_STRIDE,
    };
}

//! The Data Link Feature capability (PCIe Base 7.7.4): the features that the two ends of a link exchanged before the initialisation of flow
//! control.

use super::ConfigSpace;

/// Data Link Feature Capabilities, followed by Data Link Feature Status.
pub const DATA_LINK_FEATURES: u16 = DATA_LINK_BYTES / 4 + 1;
/// Scaled Flow Control Supported: in the capabilities for this end of the link, in the status for the far end.
pub const SCALED_FLOW_CONTROL: u32 = 1;
/// Data Link Feature Exchange Enable in the capabilities; Remote Data Link Feature Supported Valid in the status.
pub const FEATURE_EXCHANGE: u32 = 1 << 31;

/// Byte offset of the capability, after page requests.
const DATA_LINK_BYTES: u16 = 0x1c0;
/// ID of the capability.
pub const DATA_LINK_ID: u16 = 0x0025;

/// The features of one end of a link, if this end exchanges features. Each end that exchanges features supports scaled flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLinkFeatures {
    /// Whether the far end exchanges features, too. If not, flow control is not scaled.
    pub are_exchanged: bool,
}

impl ConfigSpace {
    /// Declares the capability with the values that the registers have when the link is up.
    pub(super) fn declare_data_link(&mut self, features: DataLinkFeatures) {
        self.append_extended(DATA_LINK_BYTES, DATA_LINK_ID, 1);
        let supported = FEATURE_EXCHANGE | SCALED_FLOW_CONTROL;
        self.declare(DATA_LINK_FEATURES, supported, 0, 0);
        let remote = if features.are_exchanged { supported } else { 0 };
        self.declare(DATA_LINK_FEATURES + 1, remote, 0, 0);
    }
}

//! Access Control Services (PCIe Base 7.7.8): whether requests between peers are forced up to the root.

use super::ConfigSpace;

/// The register of the control, above that of the capabilities.
pub const ACS: u16 = ACS_BYTES / 4 + 1;
/// P2P Request Redirect in ACS Control.
pub const P2P_REQUEST_REDIRECT: u32 = 1 << 18;

/// Where the capability is, in bytes.
pub(super) const ACS_BYTES: u16 = 0x148;
/// ID of the capability.
pub const ID: u16 = 0x000d;

impl ConfigSpace {
    /// Of all services only the one that the switch model carries out.
    pub(super) fn declare_acs(&mut self) {
        self.declare(ACS, P2P_REQUEST_REDIRECT >> 16, P2P_REQUEST_REDIRECT, 0);
    }

    /// Whether requests from below this port to a peer go up to the root first.
    pub fn redirects_peer_requests(&self) -> bool {
        self.read(ACS) & P2P_REQUEST_REDIRECT != 0
    }
}

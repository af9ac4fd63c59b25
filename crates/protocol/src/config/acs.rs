//! Access Control Services (PCIe Base 7.7.8): whether peer-to-peer requests are redirected to the root, and whether redirected requests
//! pass.

use super::ConfigSpace;

/// The register with ACS Control in the upper half and ACS Capability in the lower half.
pub const ACS: u16 = ACS_BYTES / 4 + 1;
/// P2P Request Redirect in ACS Control.
pub const P2P_REQUEST_REDIRECT: u32 = 1 << 18;
/// Upstream Forwarding in ACS Control.
pub const UPSTREAM_FORWARDING: u32 = 1 << 20;

/// Byte offset of the capability.
pub(super) const ACS_BYTES: u16 = 0x148;
/// ID of the capability.
pub const ID: u16 = 0x000d;

impl ConfigSpace {
    /// Declares the registers with the services that the switch model implements.
    pub(super) fn declare_acs(&mut self) {
        let services = P2P_REQUEST_REDIRECT | UPSTREAM_FORWARDING;
        self.declare(ACS, services >> 16, services, 0);
    }

    /// Whether this port redirects peer-to-peer requests from below to the root.
    pub fn redirects_peer_requests(&self) -> bool {
        self.read(ACS) & P2P_REQUEST_REDIRECT != 0
    }

    /// Whether this port forwards upstream what comes from below and is routed back to this port: a request that a port below has
    /// redirected.
    pub fn forwards_upstream(&self) -> bool {
        self.read(ACS) & UPSTREAM_FORWARDING != 0
    }
}

//! Access Control Services (PCIe Base 7.7.8): how a downstream port handles packets from below if they are routed to a peer port, or if no
//! function below the port has their Requester ID.

use super::ConfigSpace;
use crate::enumerated::enumerated;

/// The register with ACS Control in the upper half and ACS Capability in the lower half.
pub const ACS: u16 = ACS_BYTES / 4 + 1;
/// The first dword of the Egress Control Vector. Bit n of the vector belongs to the port with Port Number n.
pub const EGRESS_CONTROL_VECTOR: u16 = ACS + 1;

/// Byte offset of the capability.
const ACS_BYTES: u16 = 0x148;
/// ID of the capability.
pub const ACS_ID: u16 = 0x000d;

/// Bits of the Egress Control Vector: the largest switch has 64 ports.
const VECTOR_BITS: u32 = 64;
const VECTOR_SIZE: u32 = VECTOR_BITS << 8;

enumerated! {
    /// An Access Control Service. The value of a service is the number of its bit in ACS Capability and in ACS Control.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AccessService {
        /// A request is an ACS Violation if its requester is on none of the buses below the port.
        SourceValidation = 0,
        /// A memory request with an address type other than untranslated is an ACS Violation.
        TranslationBlocking = 1,
        /// The port redirects requests for a peer port upstream.
        RequestRedirect = 2,
        /// The port redirects completions for a peer port upstream, unless they have the attribute Relaxed Ordering.
        CompletionRedirect = 3,
        /// The port forwards a packet upstream if the packet is routed to the port that received it.
        UpstreamForwarding = 4,
        /// The Egress Control Vector selects peer ports. Requests to a selected port are ACS Violations; with Request Redirect, they are
        /// redirected upstream.
        EgressControl = 5,
        /// Memory requests with translated addresses are routed directly to a peer port.
        DirectTranslated = 6,
    }
}

impl AccessService {
    /// The service's bit in ACS Control, within the register [`ACS`].
    pub const fn control(self) -> u32 {
        1 << (16 + self as u32)
    }
}

impl ConfigSpace {
    /// Declares the registers of a downstream port, which has all services.
    pub(super) fn declare_acs(&mut self) {
        self.append_extended(ACS_BYTES, ACS_ID, 1);
        let services = AccessService::ALL.iter();
        let services = services.fold(0, |bits, service| bits | service.control());
        self.declare(ACS, services >> 16 | VECTOR_SIZE, services, 0);
        for dword in 0..(VECTOR_BITS / 32) as u16 {
            self.declare(EGRESS_CONTROL_VECTOR + dword, 0, u32::MAX, 0);
        }
    }

    /// Whether software has enabled `service`.
    pub fn has_enabled(&self, service: AccessService) -> bool {
        self.read(ACS) & service.control() != 0
    }

    /// Whether software has enabled any Access Control Service.
    pub fn has_access_control(&self) -> bool {
        self.read(ACS) >> 16 != 0
    }

    /// Whether the bit of the port with `number` in the Egress Control Vector is set.
    pub fn controls_egress(&self, number: u8) -> bool {
        let number = u32::from(number);
        let dword = self.read(EGRESS_CONTROL_VECTOR + (number / 32) as u16);
        number < VECTOR_BITS && dword >> (number % 32) & 1 != 0
    }
}

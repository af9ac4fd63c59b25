//! The PCI Express capability, version 2 (PCIe Base 7.5.3): the port, its link, and the sizes of its packets.

mod declared;
pub(super) mod timeout;

use super::{ConfigSpace, DataLinkFeatures, VirtualChannels};
use crate::{Attributes, Generation};

/// The register with PCI Express Capabilities in the upper half, and the capability's header in the lower half.
pub const EXPRESS: u16 = EXPRESS_BYTES / 4;
/// Device Capabilities.
pub const DEVICE_CAPABILITIES: u16 = EXPRESS + 1;
/// Device Status and Device Control.
pub const DEVICE_CONTROL: u16 = EXPRESS + 2;

/// Device Capabilities 2.
pub const DEVICE_CAPABILITIES_2: u16 = EXPRESS + 9;
/// Device Control 2.
pub const DEVICE_CONTROL_2: u16 = EXPRESS + 10;

/// Byte offset of the capability.
const EXPRESS_BYTES: u16 = 0x70;
/// ID of the capability.
pub const EXPRESS_ID: u8 = 0x10;

/// Link Capabilities.
pub const LINK_CAPABILITIES: u16 = EXPRESS + 3;
/// Link Status and Link Control.
pub const LINK_CONTROL: u16 = EXPRESS + 4;
const ROOT_CONTROL: u16 = EXPRESS + 7;
const ROOT_STATUS: u16 = EXPRESS + 8;
const LINK_CAPABILITIES_2: u16 = EXPRESS + 11;
/// Link Status 2 and Link Control 2.
pub const LINK_CONTROL_2: u16 = EXPRESS + 12;

/// Link Disable in Link Control of a downstream port.
pub const LINK_DISABLE: u32 = 1 << 4;
/// Link Bandwidth Management Interrupt Enable in Link Control of a downstream port.
pub const BANDWIDTH_INTERRUPT: u32 = 1 << 10;
/// Link Autonomous Bandwidth Interrupt Enable in Link Control of a downstream port.
const AUTONOMOUS_BANDWIDTH_INTERRUPT: u32 = 1 << 11;
/// Retrain Link in Link Control; reads as 0.
pub const RETRAIN_LINK: u32 = 1 << 5;
/// Current Link Speed in Link Status.
pub const LINK_SPEED: u32 = 0xf << 16;
/// Negotiated Link Width in Link Status.
pub const LINK_WIDTH: u32 = 0x3f << LINK_WIDTH_SHIFT;
/// The number of bits below Negotiated Link Width.
pub const LINK_WIDTH_SHIFT: u32 = 20;
/// Link Training in Link Status.
pub const LINK_TRAINING: u32 = 1 << 27;
/// Data Link Layer Link Active in Link Status.
pub const LINK_ACTIVE: u32 = 1 << 29;
/// Link Bandwidth Management Status in Link Status.
pub const BANDWIDTH_MANAGEMENT: u32 = 1 << 30;
/// Target Link Speed in Link Control 2.
pub const TARGET_LINK_SPEED: u32 = 0xf;

/// Link Bandwidth Notification Capability in Link Capabilities, which a downstream port has.
pub const BANDWIDTH_NOTIFICATION: u32 = 1 << 21;

/// Initiate Function Level Reset in Device Control; reads as 0.
pub const INITIATE_FUNCTION_LEVEL_RESET: u32 = 1 << 15;
/// Function Level Reset Capability in Device Capabilities.
pub const FUNCTION_LEVEL_RESET: u32 = 1 << 28;

const VERSION_2: u32 = 2 << 16;
/// Extended Tag Field Supported in Device Capabilities: the function supports 8-bit tags.
pub const EXTENDED_TAGS: u32 = 1 << 5;
/// Endpoints accept any exit latency of L0s and L1.
const LATENCIES_WITHOUT_LIMIT: u32 = 0b11_1111 << 6;
const ROLE_BASED_ERRORS: u32 = 1 << 15;
/// Writable bits of Device Control: error reporting, relaxed ordering, MPS, no snoop, MRRS.
const DEVICE_CONTROL_BITS: u32 = 0x78ff;
/// Extended Tag Field Enable in Device Control.
pub const EXTENDED_TAGS_ENABLE: u32 = 1 << 8;
/// Reset value of Device Control: relaxed ordering and no snoop are enabled, the maximum read request size is 512 bytes (PCIe Base
/// 7.5.3.4).
const DEVICE_CONTROL_RESET: u32 = RELAXED_ORDERING_ENABLE | NO_SNOOP_ENABLE | 2 << MRRS;
/// The enables of messages for correctable, non-fatal and fatal errors and for unsupported requests, in Device Control.
pub const ERROR_REPORTING: u32 = 0xf;
const DEVICE_STATUS_CLEARED: u32 = 0xf << 16;
const MPS: u32 = 5;
const MRRS: u32 = 12;
const SURPRISE_DOWN_REPORTING: u32 = 1 << 19;
const LINK_ACTIVE_REPORTING: u32 = 1 << 20;
/// Writable bits of Link Control: common clock configuration and extended synch, which have no effect in the model.
const LINK_CONTROL_BITS: u32 = 0x00c0;
const BOUNDARY_128: u32 = 1 << 3;
const SLOT_CLOCK: u32 = 1 << 28;
/// ARI Forwarding Supported in Device Capabilities 2.
pub const ARI_FORWARDING: u32 = 1 << 5;
/// ARI Forwarding Enable in Device Control 2.
pub const ARI_FORWARDING_ENABLE: u32 = 1 << 5;
const L0S_SUPPORT: u32 = 1 << 10;
/// L0s Entry Enabled in ASPM Control of Link Control.
pub const L0S_ENABLE: u32 = 1;
const L1_SUPPORT: u32 = 1 << 11;
/// L1 Entry Enabled in ASPM Control of Link Control.
pub const L1_ENABLE: u32 = 2;
/// `AtomicOp` Routing Supported in Device Capabilities 2 (PCIe Base 6.15.3.1).
pub const ATOMIC_ROUTING: u32 = 1 << 6;
/// Atomic operations of 32 and 64 bits, and compare and swap of 128 bits.
const ATOMIC_COMPLETER: u32 = 0b111 << 7;
/// Atomic operations of 32 and 64 bits, of the `AtomicOp` Completer bits in Device Capabilities 2.
pub const ATOMIC_COMPLETER_BASE: u32 = 0b11 << 7;
/// `AtomicOp` Requester Enable in Device Control 2.
pub const ATOMIC_REQUESTER_ENABLE: u32 = 1 << 6;
/// `AtomicOp` Egress Blocking in Device Control 2, of a port that routes atomic operations.
pub const ATOMIC_EGRESS_BLOCKING: u32 = 1 << 7;
/// Enable Relaxed Ordering in Device Control.
pub const RELAXED_ORDERING_ENABLE: u32 = 1 << 4;
/// Enable No Snoop in Device Control.
pub const NO_SNOOP_ENABLE: u32 = 1 << 11;
/// IDO Request Enable in Device Control 2.
pub const IDO_REQUEST_ENABLE: u32 = 1 << 8;
/// IDO Completion Enable in Device Control 2.
pub const IDO_COMPLETION_ENABLE: u32 = 1 << 9;
/// 10-Bit Tag Completer Supported in Device Capabilities 2.
pub const TEN_BIT_TAG_COMPLETER: u32 = 1 << 16;
/// 10-Bit Tag Requester Supported in Device Capabilities 2.
pub const TEN_BIT_TAG_REQUESTER: u32 = 1 << 17;
/// 10-Bit Tag Requester Enable in Device Control 2.
pub const TEN_BIT_TAG_REQUESTER_ENABLE: u32 = 1 << 12;
/// Extended Fmt Field Supported.
const EXTENDED_FMT: u32 = 1 << 20;
/// End-End TLP Prefix Supported in Device Capabilities 2.
pub const END_TO_END_PREFIX: u32 = 1 << 21;
/// Max End-End TLP Prefixes: one. The value 0 stands for four.
const ONE_PREFIX: u32 = 1 << 22;
/// End-End TLP Prefix Blocking in Device Control 2.
pub const PREFIX_BLOCKING: u32 = 1 << 15;

/// Device/Port Type (PCIe Base 7.5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortType {
    /// An endpoint, a leaf of the tree.
    Endpoint,
    /// A root port of a root complex.
    RootPort,
    /// The upstream port of a switch.
    Upstream,
    /// A downstream port of a switch.
    Downstream,
}

impl PortType {
    const ENCODING: [(Self, u32); 4] = [
        (Self::Endpoint, 0),
        (Self::RootPort, 4),
        (Self::Upstream, 5),
        (Self::Downstream, 6),
    ];

    fn field(self) -> u32 {
        let found = Self::ENCODING.iter().find(|(port, _)| *port == self);
        found.map_or(0, |(_, field)| *field)
    }

    /// The port type in a value of the register [`EXPRESS`]; `None` if the type is not modelled.
    pub fn in_register(value: u32) -> Option<Self> {
        let field = value >> 20 & 0xf;
        let found = Self::ENCODING.iter().find(|(_, known)| *known == field);
        found.map(|(port, _)| *port)
    }

    /// Whether the port is the upper end of its link: a root port or a downstream port of a switch.
    pub fn is_downstream(self) -> bool {
        matches!(self, Self::RootPort | Self::Downstream)
    }
}

/// The properties of a function's port and of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Express {
    /// The type of the port.
    pub port: PortType,
    /// `Max_Payload_Size Supported` in bytes, a power of two from 128 to 4096.
    pub max_payload_supported: u32,
    /// Data rate of the link.
    pub generation: Generation,
    /// Width of the link.
    pub lanes: u8,
    /// Port number.
    pub number: u8,
    /// Most non-posted requests that the function may have outstanding.
    pub tags: u16,
    /// Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported.
    pub ten_bit_tag_completer: bool,
    /// Read completion boundary of a root port in bytes, 64 or 128.
    pub read_completion_boundary: u32,
    /// Whether a root port or a downstream port of a switch can pass on configuration requests for all 256 functions of the device
    /// below: ARI Forwarding Supported.
    pub ari_forwarding: bool,
    /// Whether a port of a switch passes on requests for atomic operations: `AtomicOp` Routing Supported.
    pub atomic_routing: bool,
    /// Whether the port receives packets with End-End TLP prefixes, and a port of a switch passes them on.
    pub tlp_prefixes: bool,
    /// The features of the data link layer, if the port exchanges them with the far end.
    pub data_link_features: Option<DataLinkFeatures>,
    /// The virtual channels of the port, if it has the capability.
    pub virtual_channels: Option<VirtualChannels>,
    /// The time in nanoseconds in which the port's receiver exits L0s, if the port supports ASPM L0s.
    pub l0s_exit_ns: Option<u64>,
    /// The time in nanoseconds in which the port goes from L1 to L0, if the port supports ASPM L1.
    pub l1_exit_ns: Option<u64>,
    /// Whether the ends of the link have separate reference clocks.
    pub has_separate_clocks: bool,
}

impl ConfigSpace {
    /// Port Number.
    pub fn port_number(&self) -> u8 {
        (self.read(LINK_CAPABILITIES) >> 24) as u8
    }

    bits! {
        /// Whether the port's transmitter may enter L0s: ASPM Control in Link Control.
        pub enables_l0s: LINK_CONTROL, L0S_ENABLE;
        /// Whether the port may enter L1 or accept the request to enter L1: ASPM Control in Link Control.
        pub enables_l1: LINK_CONTROL, L1_ENABLE;
        /// Whether the function may send atomic operation requests (PCIe Base 6.15.3.1).
        pub atomic_requester_enable: DEVICE_CONTROL_2, ATOMIC_REQUESTER_ENABLE;
        /// Whether a port passes on requests for atomic operations: `AtomicOp` Routing Supported (PCIe Base 6.15.3.1).
        pub routes_atomics: DEVICE_CAPABILITIES_2, ATOMIC_ROUTING;
        /// Whether the port blocks requests for atomic operations: `AtomicOp` Egress Blocking (PCIe Base 7.5.3.16).
        pub blocks_atomics: DEVICE_CONTROL_2, ATOMIC_EGRESS_BLOCKING;
        /// Whether the function sets the attribute of ID-based ordering in its completions: IDO Completion Enable (PCIe Base 7.5.3.16).
        pub completions_by_id: DEVICE_CONTROL_2, IDO_COMPLETION_ENABLE;
        /// Whether a downstream port forwards type 0 configuration requests with any device number, which then contains the upper bits of a
        /// function number: ARI Forwarding Enable (PCIe Base 6.13).
        pub forwards_ari: DEVICE_CONTROL_2, ARI_FORWARDING_ENABLE;
        /// Whether the function's completions repeat all ten bits of a tag (10-Bit Tag Completer Supported).
        pub completes_ten_bit_tags: DEVICE_CAPABILITIES_2, TEN_BIT_TAG_COMPLETER;
        /// Whether the port supports packets with End-End TLP prefixes (PCIe Base 2.2.10.2).
        pub supports_prefixes: DEVICE_CAPABILITIES_2, END_TO_END_PREFIX;
        /// Whether the port blocks packets with an End-End TLP prefix at its egress: End-End TLP Prefix Blocking (PCIe Base 7.5.3.16).
        pub blocks_prefixes: DEVICE_CONTROL_2, PREFIX_BLOCKING;
    }

    /// Whether a write of `value` to the bytes `enables` of `register` initiates a function level reset of this function.
    pub fn initiates_reset(&self, register: u16, value: u32, enables: u8) -> bool {
        register == DEVICE_CONTROL
            && enables & 0b0010 != 0
            && value & INITIATE_FUNCTION_LEVEL_RESET != 0
            && self.read(DEVICE_CAPABILITIES) & FUNCTION_LEVEL_RESET != 0
    }

    /// `Max_Payload_Size` in Device Control, in bytes.
    pub fn max_payload(&self) -> u32 {
        size(self.read(DEVICE_CONTROL) >> MPS)
    }

    /// `Max_Read_Request_Size` in Device Control, in bytes.
    pub fn max_read_request(&self) -> u32 {
        size(self.read(DEVICE_CONTROL) >> MRRS)
    }

    /// The attributes that the function may set in its requests: Enable Relaxed Ordering, Enable No Snoop and IDO Request Enable (PCIe
    /// Base 7.5.3.4, 7.5.3.16). The attributes of a physical function apply to its virtual functions.
    pub fn attributes_allowed(&self) -> Attributes {
        let (control, more) = (self.read(DEVICE_CONTROL), self.read(DEVICE_CONTROL_2));
        Attributes {
            relaxed_ordering: control & RELAXED_ORDERING_ENABLE != 0,
            id_ordering: more & IDO_REQUEST_ENABLE != 0,
            no_snoop: control & NO_SNOOP_ENABLE != 0,
        }
    }

    /// Number of tags that the function may use, which depends on the enabled tag width (PCIe Base 2.2.6.2).
    pub fn tags_allowed(&self) -> u16 {
        if self.read(DEVICE_CONTROL_2) & TEN_BIT_TAG_REQUESTER_ENABLE != 0 {
            768
        } else if self.read(DEVICE_CONTROL) & EXTENDED_TAGS_ENABLE != 0 {
            256
        } else {
            32
        }
    }

    /// Sets error bits in Device Status.
    pub(super) fn raise_device_status(&mut self, bits: u32) {
        if self.read(EXPRESS) & 0xff == u32::from(EXPRESS_ID) {
            self.raise(DEVICE_CONTROL, bits << 16 & DEVICE_STATUS_CLEARED);
        }
    }
}

impl Express {
    /// `Max_Payload_Size Supported` in bytes, in a value of the register [`DEVICE_CAPABILITIES`].
    pub fn supported_in(capabilities: u32) -> u32 {
        size(capabilities)
    }

    /// `Max_Payload_Size` in Device Control: the mask, and the value for `bytes`.
    pub fn max_payload_field(bytes: u32) -> (u32, u32) {
        (7 << MPS, size_field(bytes) << MPS)
    }

    /// `Max_Read_Request_Size` in Device Control: the mask, and the value for `bytes`.
    pub fn max_read_request_field(bytes: u32) -> (u32, u32) {
        (7 << MRRS, size_field(bytes) << MRRS)
    }
}

/// The size in a 3-bit field: 128 bytes times a power of two; reserved encodings count as the largest size.
fn size(field: u32) -> u32 {
    128 << (field & 7).min(5)
}

fn size_field(bytes: u32) -> u32 {
    (bytes.max(128) / 128).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: PortType) -> ConfigSpace {
        with_tags(port, 32)
    }

    fn with_tags(port: PortType, tags: u16) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_express(&express(port, tags));
        space
    }

    fn express(port: PortType, tags: u16) -> Express {
        Express {
            port,
            max_payload_supported: 512,
            generation: Generation::Gen3,
            lanes: 8,
            number: 3,
            tags,
            ten_bit_tag_completer: true,
            read_completion_boundary: 128,
            ari_forwarding: port != PortType::RootPort,
            atomic_routing: true,
            tlp_prefixes: false,
            data_link_features: None,
            virtual_channels: None,
            l0s_exit_ns: None,
            l1_exit_ns: None,
            has_separate_clocks: false,
        }
    }

    #[test]
    fn after_reset_packets_carry_128_bytes_and_reads_ask_for_512() {
        let space = endpoint(PortType::Endpoint);
        assert_eq!((space.max_payload(), space.max_read_request()), (128, 512));
    }

    #[test]
    fn sizes_are_powers_of_two_from_128_bytes_to_4_kib() {
        let mut space = endpoint(PortType::Endpoint);
        for bytes in [128, 256, 512, 1024, 2048, 4096] {
            let control =
                Express::max_payload_field(bytes).1 | Express::max_read_request_field(bytes).1;
            space.write(DEVICE_CONTROL, control, 0b0011);
            assert_eq!(
                (space.max_payload(), space.max_read_request()),
                (bytes, bytes)
            );
        }
        assert_eq!(Express::supported_in(space.read(DEVICE_CAPABILITIES)), 512);
    }

    #[test]
    fn a_port_says_which_one_it_is() {
        for (port, _) in PortType::ENCODING {
            assert_eq!(
                PortType::in_register(endpoint(port).read(EXPRESS)),
                Some(port)
            );
        }
    }

    #[test]
    fn link_status_tells_speed_and_width() {
        let status = endpoint(PortType::Endpoint).read(LINK_CONTROL) >> 16;
        assert_eq!((status & 0xf, status >> 4 & 0x3f), (3, 8));
    }

    #[test]
    fn endpoints_alone_are_reset_by_a_write() {
        for (port, _) in PortType::ENCODING {
            let mut space = endpoint(port);
            let initiate = INITIATE_FUNCTION_LEVEL_RESET;
            let initiates = space.initiates_reset(DEVICE_CONTROL, initiate, 0b0010);
            assert_eq!(initiates, port == PortType::Endpoint);
            assert!(!space.initiates_reset(DEVICE_CONTROL, initiate, 0b1101));
            assert!(!space.initiates_reset(DEVICE_CONTROL, !initiate, 0b1111));
            space.write(DEVICE_CONTROL, initiate, 0b0011);
            assert_eq!(space.read(DEVICE_CONTROL) & initiate, 0);
        }
    }

    #[test]
    fn a_function_level_reset_leaves_the_max_payload_size() {
        let mut space = endpoint(PortType::Endpoint);
        let sizes = Express::max_payload_field(512).1 | Express::max_read_request_field(4096).1;
        space.write(DEVICE_CONTROL, sizes, 0b0011);
        space.function_level_reset();
        assert_eq!((space.max_payload(), space.max_read_request()), (512, 512));
    }

    #[test]
    fn wider_tags_are_enabled_where_they_are_supported() {
        for (tags, extended, ten_bits) in [(32, 32, 32), (33, 256, 256), (257, 256, 768)] {
            let mut space = with_tags(PortType::Endpoint, tags);
            assert_eq!(space.tags_allowed(), 32);
            space.write(DEVICE_CONTROL, EXTENDED_TAGS_ENABLE, 0b0011);
            assert_eq!(space.tags_allowed(), extended);
            space.write(DEVICE_CONTROL_2, TEN_BIT_TAG_REQUESTER_ENABLE, 0b0011);
            assert_eq!(space.tags_allowed(), ten_bits);
        }
    }

    #[test]
    fn atomic_operations_are_routed_by_ports_completed_by_roots_and_enabled_at_requesters() {
        for (port, routes, completes, asks) in [
            (PortType::Endpoint, 0, 0, true),
            (PortType::RootPort, 1, 7, true),
            (PortType::Upstream, 1, 0, false),
            (PortType::Downstream, 1, 0, false),
        ] {
            let mut space = endpoint(port);
            let offered = space.read(DEVICE_CAPABILITIES_2);
            assert_eq!((offered >> 6 & 1, offered >> 7 & 7), (routes, completes));
            assert_eq!(space.routes_atomics(), routes == 1);
            assert!(!space.atomic_requester_enable());
            assert_eq!(ATOMIC_REQUESTER_ENABLE, 1 << 6);
            space.write(DEVICE_CONTROL_2, ATOMIC_REQUESTER_ENABLE, 0b0001);
            assert_eq!(space.atomic_requester_enable(), asks);
        }
    }

    /// PCIe Base 6.15.3.1, 7.5.3.15, 7.5.3.16.
    #[test]
    fn a_switch_may_leave_the_routing_of_atomic_operations_out_and_has_no_blocking_then() {
        for (port, atomic_routing, expected) in [
            (PortType::Upstream, true, true),
            (PortType::Downstream, true, true),
            (PortType::Upstream, false, false),
            (PortType::Downstream, false, false),
        ] {
            let mut space = ConfigSpace::empty();
            space.declare_express(&Express {
                atomic_routing,
                ..express(port, 32)
            });
            assert_eq!(space.routes_atomics(), expected);
            assert!(!space.blocks_atomics());
            space.write(DEVICE_CONTROL_2, ATOMIC_EGRESS_BLOCKING, 0b0001);
            assert_eq!(space.blocks_atomics(), expected);
        }
    }

    #[test]
    fn ari_forwarding_is_enabled_at_downstream_ports_that_support_it() {
        for (port, _) in PortType::ENCODING {
            let mut space = endpoint(port);
            let offered = space.read(DEVICE_CAPABILITIES_2) & ARI_FORWARDING != 0;
            assert!(!space.forwards_ari());
            space.write(DEVICE_CONTROL_2, ARI_FORWARDING_ENABLE, 0b0001);
            let is_enabled = space.forwards_ari();
            let expected = port == PortType::Downstream;
            assert_eq!((offered, is_enabled), (expected, expected), "{port:?}");
        }
    }

    #[test]
    fn software_selects_the_completion_timeout_of_functions_that_send_requests() {
        for (port, _) in PortType::ENCODING {
            let mut space = endpoint(port);
            space.write(DEVICE_CONTROL_2, u32::MAX, 0xf);
            let offered = space.read(DEVICE_CAPABILITIES_2) & 0x1f;
            let expected = match port {
                PortType::Endpoint | PortType::RootPort => (0x1f, 0x1f),
                PortType::Upstream | PortType::Downstream => (0, 0),
            };
            assert_eq!((offered, space.read(DEVICE_CONTROL_2) & 0x1f), expected);
        }
    }
}

//! The registers of the PCI Express capability, with their values after reset.

use super::{
    ARI_FORWARDING, ARI_FORWARDING_ENABLE, ATOMIC_COMPLETER, ATOMIC_EGRESS_BLOCKING,
    ATOMIC_REQUESTER_ENABLE, ATOMIC_ROUTING, AUTONOMOUS_BANDWIDTH_INTERRUPT, BANDWIDTH_INTERRUPT,
    BANDWIDTH_MANAGEMENT, BANDWIDTH_NOTIFICATION, BOUNDARY_128, ConfigSpace, DEVICE_CAPABILITIES,
    DEVICE_CAPABILITIES_2, DEVICE_CONTROL, DEVICE_CONTROL_2, DEVICE_CONTROL_BITS,
    DEVICE_CONTROL_RESET, DEVICE_STATUS_CLEARED, END_TO_END_PREFIX, EXPRESS, EXPRESS_BYTES,
    EXPRESS_ID, EXTENDED_FMT, EXTENDED_TAGS, EXTENDED_TAGS_ENABLE, Express, FUNCTION_LEVEL_RESET,
    IDO_COMPLETION_ENABLE, IDO_REQUEST_ENABLE, L0S_ENABLE, L0S_SUPPORT, L1_ENABLE, L1_SUPPORT,
    LATENCIES_WITHOUT_LIMIT, LINK_ACTIVE, LINK_ACTIVE_REPORTING, LINK_CAPABILITIES,
    LINK_CAPABILITIES_2, LINK_CONTROL, LINK_CONTROL_2, LINK_CONTROL_BITS, LINK_DISABLE, ONE_PREFIX,
    PREFIX_BLOCKING, PortType, ROLE_BASED_ERRORS, ROOT_CONTROL, ROOT_STATUS, SLOT_CLOCK,
    SURPRISE_DOWN_REPORTING, TEN_BIT_TAG_COMPLETER, TEN_BIT_TAG_REQUESTER,
    TEN_BIT_TAG_REQUESTER_ENABLE, VERSION_2, size_field, timeout,
};
use crate::config::space::bits_if;

impl ConfigSpace {
    pub(in crate::config) fn declare_express(&mut self, express: &Express) {
        self.append_capability(EXPRESS_BYTES, EXPRESS_ID);
        let Express { port, tags, .. } = *express;
        let is_endpoint = port == PortType::Endpoint;
        // Ports of switches send no non-posted requests.
        let is_requester = port.ends_packets();
        self.declare(EXPRESS, VERSION_2 | port.field() << 20, 0, 0);
        let of_endpoint = LATENCIES_WITHOUT_LIMIT | FUNCTION_LEVEL_RESET;
        let capabilities = size_field(express.max_payload_supported)
            | bits_if(tags > 32, EXTENDED_TAGS)
            | bits_if(is_endpoint, of_endpoint)
            | ROLE_BASED_ERRORS;
        self.declare(DEVICE_CAPABILITIES, capabilities, 0, 0);
        self.declare(
            DEVICE_CONTROL,
            DEVICE_CONTROL_RESET,
            DEVICE_CONTROL_BITS | bits_if(tags > 32, EXTENDED_TAGS_ENABLE),
            DEVICE_STATUS_CLEARED,
        );
        self.declare_kept(DEVICE_CONTROL, Express::max_payload_field(0).0);
        self.declare_link_registers(express);
        if port == PortType::RootPort {
            self.declare(ROOT_CONTROL, 0, 0xf, 0);
            self.declare(ROOT_STATUS, 0, 0, 1 << 16);
        }
        let (atomics, atomics_enable) = match port {
            PortType::Endpoint => (0, ATOMIC_REQUESTER_ENABLE),
            PortType::RootPort => (ATOMIC_ROUTING | ATOMIC_COMPLETER, ATOMIC_REQUESTER_ENABLE),
            PortType::Upstream | PortType::Downstream if express.atomic_routing => {
                (ATOMIC_ROUTING, ATOMIC_EGRESS_BLOCKING)
            }
            PortType::Upstream | PortType::Downstream => (0, 0),
        };
        let has_wide_tags = tags > 256;
        let forwards_ari = port.is_downstream() && express.ari_forwarding;
        let capabilities = express.completer_bits()
            | bits_if(has_wide_tags, TEN_BIT_TAG_REQUESTER)
            | atomics
            | bits_if(forwards_ari, ARI_FORWARDING)
            | bits_if(is_requester, timeout::CAPABILITIES);
        self.declare(DEVICE_CAPABILITIES_2, capabilities, 0, 0);
        // Ports of switches send no requests with the attribute, so that IDO Request Enable may be read-only (PCIe Base 7.5.3.16). Root
        // ports do not forward prefixes to each other, so they have no End-End TLP Prefix Blocking.
        let enables = bits_if(has_wide_tags, TEN_BIT_TAG_REQUESTER_ENABLE)
            | atomics_enable
            | IDO_COMPLETION_ENABLE
            | bits_if(is_requester, IDO_REQUEST_ENABLE | timeout::CONTROL)
            | bits_if(forwards_ari, ARI_FORWARDING_ENABLE)
            | bits_if(!is_requester && express.tlp_prefixes, PREFIX_BLOCKING);
        self.declare(DEVICE_CONTROL_2, 0, enables, 0);
    }

    fn declare_link_registers(&mut self, express: &Express) {
        let port = express.port;
        let is_downstream = port.is_downstream();
        let speed = u32::from(express.generation.number());
        let link = speed | u32::from(express.lanes) << 4;
        let reporting = LINK_ACTIVE_REPORTING | SURPRISE_DOWN_REPORTING | BANDWIDTH_NOTIFICATION;
        let l0s = express.l0s_exit_ns.map(exit_latency_field);
        let l1 = express.l1_exit_ns.map(l1_exit_latency_field);
        self.declare(
            LINK_CAPABILITIES,
            link | bits_if(is_downstream, reporting)
                | l0s.map_or(0, |latency| L0S_SUPPORT | latency)
                | l1.map_or(0, |latency| L1_SUPPORT | latency)
                | u32::from(express.number) << 24,
            0,
            0,
        );
        // Read Completion Boundary: software sets it in an endpoint; a root port has a fixed value (PCIe Base 7.5.3.7).
        let is_fixed = port == PortType::RootPort && express.read_completion_boundary == 128;
        let of_downstream = LINK_DISABLE | BANDWIDTH_INTERRUPT | AUTONOMOUS_BANDWIDTH_INTERRUPT;
        self.declare(
            LINK_CONTROL,
            link << 16
                | bits_if(!express.has_separate_clocks, SLOT_CLOCK)
                | bits_if(is_downstream, LINK_ACTIVE)
                | bits_if(is_fixed, BOUNDARY_128),
            LINK_CONTROL_BITS
                | bits_if(port == PortType::Endpoint, BOUNDARY_128)
                | bits_if(l0s.is_some(), L0S_ENABLE)
                | bits_if(l1.is_some(), L1_ENABLE)
                | bits_if(is_downstream, of_downstream),
            bits_if(is_downstream, BANDWIDTH_MANAGEMENT),
        );
        self.declare_kept(LINK_CONTROL, u32::MAX);
        let speeds = (1_u32 << speed) - 1;
        self.declare(LINK_CAPABILITIES_2, speeds << 1, 0, 0);
        self.declare(LINK_CONTROL_2, speed, 0xf, 0);
        self.declare_sticky(LINK_CONTROL_2);
    }

    /// Declares the capability of a virtual function. The sizes, the tags and the link of its physical function apply to it (PCIe
    /// Base 9.3.5).
    pub(in crate::config) fn declare_virtual_express(&mut self, express: &Express) {
        self.append_capability(EXPRESS_BYTES, EXPRESS_ID);
        let mut physical = Self::empty();
        physical.declare_express(express);
        for register in [
            EXPRESS,
            DEVICE_CAPABILITIES,
            LINK_CAPABILITIES,
            LINK_CAPABILITIES_2,
        ] {
            self.declare(register, physical.read(register), 0, 0);
        }
        self.declare(DEVICE_CONTROL, 0, 0, DEVICE_STATUS_CLEARED);
        let capabilities = express.completer_bits() | timeout::CAPABILITIES;
        self.declare(DEVICE_CAPABILITIES_2, capabilities, 0, 0);
    }
}

impl PortType {
    /// Whether packets start and end at the function. Other ports only forward packets.
    fn ends_packets(self) -> bool {
        matches!(self, Self::Endpoint | Self::RootPort)
    }
}

impl Express {
    /// The bits of Device Capabilities 2 for 10-bit tags of completers and for End-End TLP prefixes. Ports of switches forward the maximum
    /// number of prefixes; other functions receive one prefix (PCIe Base 7.5.3.15).
    fn completer_bits(&self) -> u32 {
        let prefixes =
            EXTENDED_FMT | END_TO_END_PREFIX | bits_if(self.port.ends_packets(), ONE_PREFIX);
        bits_if(self.ten_bit_tag_completer, TEN_BIT_TAG_COMPLETER)
            | bits_if(self.tlp_prefixes, prefixes)
    }
}

/// L0s Exit Latency in Link Capabilities: 0 stands for less than 64 ns, and each further value doubles this limit.
fn exit_latency_field(ns: u64) -> u32 {
    let field = (ns / 32).checked_ilog2().unwrap_or(0).min(7);
    field << 12
}

/// L1 Exit Latency in Link Capabilities: 0 stands for less than 1 us, and each further value doubles this limit; 7 stands for more than 64
/// us.
fn l1_exit_latency_field(ns: u64) -> u32 {
    let field = if ns > 64_000 {
        7
    } else {
        // 32 us to 64 us has the value 6.
        (ns / 500).checked_ilog2().unwrap_or(0).min(6)
    };
    field << 15
}

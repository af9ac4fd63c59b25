//! The capability's registers as a function has them after reset.

use super::{
    ARI_FORWARDING, ARI_FORWARDING_ENABLE, ATOMIC_COMPLETER, ATOMIC_EGRESS_BLOCKING,
    ATOMIC_REQUESTER_ENABLE, ATOMIC_ROUTING, AUTONOMOUS_BANDWIDTH_INTERRUPT, BANDWIDTH_INTERRUPT,
    BANDWIDTH_MANAGEMENT, BANDWIDTH_NOTIFICATION, BOUNDARY_128, ConfigSpace, DEVICE_CAPABILITIES,
    DEVICE_CAPABILITIES_2, DEVICE_CONTROL, DEVICE_CONTROL_2, DEVICE_CONTROL_BITS,
    DEVICE_CONTROL_RESET, DEVICE_STATUS_CLEARED, END_TO_END_PREFIX, EXPRESS, EXTENDED_FMT,
    EXTENDED_TAGS, EXTENDED_TAGS_ENABLE, Express, FUNCTION_LEVEL_RESET, IDO_COMPLETION_ENABLE,
    IDO_REQUEST_ENABLE, L0S_ENABLE, L0S_SUPPORT, L1_ENABLE, L1_SUPPORT, LATENCIES_WITHOUT_LIMIT,
    LINK_ACTIVE, LINK_ACTIVE_REPORTING, LINK_CAPABILITIES, LINK_CAPABILITIES_2, LINK_CONTROL,
    LINK_CONTROL_2, LINK_CONTROL_BITS, LINK_DISABLE, ONE_PREFIX, PREFIX_BLOCKING, PortType,
    ROLE_BASED_ERRORS, ROOT_CONTROL, ROOT_STATUS, SLOT_CLOCK, SURPRISE_DOWN_REPORTING,
    TEN_BIT_TAG_COMPLETER, TEN_BIT_TAG_REQUESTER, TEN_BIT_TAG_REQUESTER_ENABLE, VERSION_2,
    size_field, timeout,
};

impl ConfigSpace {
    pub(in crate::config) fn declare_express(&mut self, express: &Express) {
        let Express {
            port,
            max_payload_supported,
            tags,
            ..
        } = *express;
        self.declare(EXPRESS, VERSION_2 | port.field() << 20, 0, 0);
        let latencies = if port == PortType::Endpoint {
            LATENCIES_WITHOUT_LIMIT
        } else {
            0
        };
        let (extended, extended_enable) = if tags > 32 {
            (EXTENDED_TAGS, EXTENDED_TAGS_ENABLE)
        } else {
            (0, 0)
        };
        let reset = if port == PortType::Endpoint {
            FUNCTION_LEVEL_RESET
        } else {
            0
        };
        let capabilities =
            size_field(max_payload_supported) | extended | latencies | ROLE_BASED_ERRORS | reset;
        self.declare(DEVICE_CAPABILITIES, capabilities, 0, 0);
        self.declare(
            DEVICE_CONTROL,
            DEVICE_CONTROL_RESET,
            DEVICE_CONTROL_BITS | extended_enable,
            DEVICE_STATUS_CLEARED,
        );
        self.declare_kept(DEVICE_CONTROL, Express::max_payload_field(0).0);
        self.declare_link_registers(express);
        if port == PortType::RootPort {
            self.declare(ROOT_CONTROL, 0, 0xf, 0);
            self.declare(ROOT_STATUS, 0, 0, 1 << 16);
        }
        let (wide_tags, wide_enable) = if tags > 256 {
            (TEN_BIT_TAG_REQUESTER, TEN_BIT_TAG_REQUESTER_ENABLE)
        } else {
            (0, 0)
        };
        // Ports of switches send no non-posted requests.
        let (timeouts, timeout_control) = match port {
            PortType::Endpoint | PortType::RootPort => (timeout::CAPABILITIES, timeout::CONTROL),
            PortType::Upstream | PortType::Downstream => (0, 0),
        };
        let (atomics, atomics_enable) = match port {
            PortType::Endpoint => (0, ATOMIC_REQUESTER_ENABLE),
            PortType::RootPort => (ATOMIC_ROUTING | ATOMIC_COMPLETER, ATOMIC_REQUESTER_ENABLE),
            PortType::Upstream | PortType::Downstream if express.atomic_routing => {
                (ATOMIC_ROUTING, ATOMIC_EGRESS_BLOCKING)
            }
            PortType::Upstream | PortType::Downstream => (0, 0),
        };
        let (ari, ari_enable) = if port.is_downstream() && express.ari_forwarding {
            (ARI_FORWARDING, ARI_FORWARDING_ENABLE)
        } else {
            (0, 0)
        };
        self.declare(
            DEVICE_CAPABILITIES_2,
            express.ten_bit_tag_completer_bit()
                | wide_tags
                | atomics
                | ari
                | timeouts
                | express.prefixes(),
            0,
            0,
        );
        // Ports of switches send no requests with these attributes, and may have the bit read-only (PCIe Base 7.5.3.16).
        let by_id = match port {
            PortType::Endpoint | PortType::RootPort => IDO_REQUEST_ENABLE | IDO_COMPLETION_ENABLE,
            PortType::Upstream | PortType::Downstream => IDO_COMPLETION_ENABLE,
        };
        // Root ports pass no prefixes on to each other.
        let blocking = match port {
            PortType::Upstream | PortType::Downstream if express.tlp_prefixes => PREFIX_BLOCKING,
            _ => 0,
        };
        let enables =
            wide_enable | atomics_enable | by_id | ari_enable | blocking | timeout_control;
        self.declare(DEVICE_CONTROL_2, 0, enables, 0);
    }

    /// Declares the registers of the link.
    fn declare_link_registers(&mut self, express: &Express) {
        let Express {
            port,
            generation,
            lanes,
            number,
            read_completion_boundary,
            ..
        } = *express;
        let speed = u32::from(generation.number());
        let link = speed | u32::from(lanes) << 4;
        let (reporting, active, changed) = if port.is_downstream() {
            let errors = LINK_ACTIVE_REPORTING | SURPRISE_DOWN_REPORTING;
            let reporting = errors | BANDWIDTH_NOTIFICATION;
            (reporting, LINK_ACTIVE, BANDWIDTH_MANAGEMENT)
        } else {
            (0, 0, 0)
        };
        let (l0s, l0s_control) = match express.l0s_exit_ns {
            Some(exit) => (L0S_SUPPORT | exit_latency_field(exit), L0S_ENABLE),
            None => (0, 0),
        };
        let (l1, l1_control) = match express.l1_exit_ns {
            Some(exit) => (L1_SUPPORT | l1_exit_latency_field(exit), L1_ENABLE),
            None => (0, 0),
        };
        let (active_state, active_state_control) = (l0s | l1, l0s_control | l1_control);
        self.declare(
            LINK_CAPABILITIES,
            link | reporting | active_state | u32::from(number) << 24,
            0,
            0,
        );
        let clock = if express.has_separate_clocks {
            0
        } else {
            SLOT_CLOCK
        };
        // Read completion boundary: software sets it, except in a root port, which has a fixed one (PCIe Base 7.5.3.7).
        let (boundary, writable) = match port {
            PortType::RootPort if read_completion_boundary == 128 => (BOUNDARY_128, 0),
            PortType::Endpoint => (0, BOUNDARY_128),
            _ => (0, 0),
        };
        let of_downstream_ports = if port.is_downstream() {
            LINK_DISABLE | BANDWIDTH_INTERRUPT | AUTONOMOUS_BANDWIDTH_INTERRUPT
        } else {
            0
        };
        self.declare(
            LINK_CONTROL,
            link << 16 | clock | active | boundary,
            LINK_CONTROL_BITS | writable | active_state_control | of_downstream_ports,
            changed,
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
        self.declare(
            DEVICE_CAPABILITIES_2,
            express.ten_bit_tag_completer_bit() | timeout::CAPABILITIES | express.prefixes(),
            0,
            0,
        );
    }
}

impl Express {
    fn ten_bit_tag_completer_bit(&self) -> u32 {
        if self.ten_bit_tag_completer {
            TEN_BIT_TAG_COMPLETER
        } else {
            0
        }
    }

    /// The bits of Device Capabilities 2 about End-End TLP prefixes: ports of switches pass on as many as there may be, other functions
    /// receive one (PCIe Base 7.5.3.15).
    fn prefixes(&self) -> u32 {
        let most = match self.port {
            PortType::Endpoint | PortType::RootPort => ONE_PREFIX,
            PortType::Upstream | PortType::Downstream => 0,
        };
        if self.tlp_prefixes {
            EXTENDED_FMT | END_TO_END_PREFIX | most
        } else {
            0
        }
    }
}

/// L0s Exit Latency in Link Capabilities: less than 64 ns, and then twice as much for each value.
fn exit_latency_field(ns: u64) -> u32 {
    let field = (ns / 32).checked_ilog2().unwrap_or(0).min(7);
    field << 12
}

/// L1 Exit Latency in Link Capabilities: less than 1 us, and then twice as much for each value; 7 stands for more than 64 us.
fn l1_exit_latency_field(ns: u64) -> u32 {
    let field = if ns > 64_000 {
        7
    } else {
        // 32 us to 64 us has the value 6.
        (ns / 500).checked_ilog2().unwrap_or(0).min(6)
    };
    field << 15
}

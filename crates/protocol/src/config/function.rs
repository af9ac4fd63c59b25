//! Configuration spaces of complete functions: a host bridge, an endpoint and a bridge, with headers and capabilities.

use super::{
    AddressSpaces, Ats, Bar, ConfigSpace, Express, Identity, MsixTable, PageRequests, SrIov,
};

/// The function of an endpoint, with its virtual functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointFunction {
    /// Vendor, device and class.
    pub identity: Identity,
    /// The BARs, which must not share registers.
    pub bars: Vec<Bar>,
    /// Number of MSI vectors that the function requests, 1 to 32.
    pub msi_vectors: u8,
    /// The MSI-X table, if any.
    pub msix: Option<MsixTable>,
    /// The port and its link.
    pub express: Express,
    /// The virtual functions, if the function supports any.
    pub virtual_functions: Option<SrIov>,
    /// Address translation, if the function supports it.
    pub address_translation: Option<AddressTranslation>,
    /// The address spaces of processes, if the function has the PASID capability. Its virtual functions use the same capability (PCIe
    /// Base 9.3.7).
    pub address_spaces: Option<AddressSpaces>,
    /// Whether software can make the first BAR smaller, which then is 64 bits wide and has 1 MiB at least.
    pub is_resizable: bool,
}

/// Address translation of a function; page requests are possible only together with translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressTranslation {
    /// The address translation cache.
    pub ats: Ats,
    /// The page requests, if the function supports them.
    pub page_requests: Option<PageRequests>,
}

/// The function of a root port or of a port of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeFunction {
    /// Vendor, device and class.
    pub identity: Identity,
    /// The port and its link.
    pub express: Express,
}

impl ConfigSpace {
    /// The host bridge of a root complex: a type 0 header without capabilities.
    pub fn host_bridge(identity: &Identity) -> Self {
        let mut space = Self::empty();
        space.declare_header(identity);
        space.declare_subsystem(identity);
        space
    }

    /// A function with a type 0 header.
    pub fn endpoint(function: &EndpointFunction) -> Self {
        let mut space = Self::host_bridge(&function.identity);
        for bar in &function.bars {
            space.declare_bar(*bar);
        }
        space.declare_power();
        space.declare_msi(function.msi_vectors);
        if let Some(table) = &function.msix {
            space.declare_msix(table);
        }
        space.declare_port(&function.express);
        if let Some(virtual_functions) = &function.virtual_functions {
            space.declare_ari();
            space.declare_sriov(virtual_functions);
        }
        if let Some(translation) = &function.address_translation {
            space.declare_ats(&translation.ats);
            // Virtual functions use the page requests of their physical function (PCIe Base 10.5.2).
            if let Some(requests) = translation.page_requests {
                space.declare_page_requests(requests);
            }
        }
        if let Some(spaces) = function.address_spaces {
            space.declare_pasid(spaces);
        }
        if let (true, Some(bar)) = (function.is_resizable, function.bars.first()) {
            space.declare_resizable(*bar);
        }
        space.declare_link(&function.express);
        space
    }

    /// A virtual function of `function`; `None` if `function` supports no virtual functions (PCIe Base 9.3.4).
    pub fn virtual_function(function: &EndpointFunction) -> Option<Self> {
        let virtual_functions = function.virtual_functions.as_ref()?;
        let mut space = Self::empty();
        space.declare_virtual_header(&function.identity);
        space.declare_subsystem(&Identity {
            device: virtual_functions.device,
            ..function.identity
        });
        space.declare_msi(virtual_functions.msi_vectors);
        if let Some(table) = &virtual_functions.msix {
            space.declare_msix(table);
        }
        space.declare_virtual_express(&function.express);
        space.declare_virtual_errors();
        space.declare_ari();
        if let Some(AddressTranslation { ats, .. }) = &function.address_translation {
            space.declare_virtual_ats(ats);
        }
        Some(space)
    }

    /// A function with a type 1 header.
    pub fn bridge(function: &BridgeFunction) -> Self {
        let mut space = Self::empty();
        space.declare_header(&function.identity);
        space.declare_type_1();
        space.declare_bridge();
        space.declare_secondary_bus_reset();
        space.declare_power();
        space.declare_msi(1);
        space.declare_port(&function.express);
        if function.express.port.is_downstream() {
            space.declare_acs();
            space.declare_containment();
        }
        space.declare_link(&function.express);
        space
    }

    /// Declares PCI Express and error reporting.
    fn declare_port(&mut self, port: &Express) {
        self.declare_express(port);
        self.declare_errors(port.port, port.tlp_prefixes);
    }

    /// Declares the capabilities of the link of `port`: data link features and virtual channels.
    fn declare_link(&mut self, port: &Express) {
        if let Some(features) = port.data_link_features {
            self.declare_data_link(features);
        }
        if let Some(channels) = port.virtual_channels {
            self.declare_channels(channels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generation;
    use crate::Pasid;
    use crate::config::register::{
        BARS, CAPABILITIES, DATA_LINK_FEATURES, FEATURE_EXCHANGE, HEADER_TYPE, ID,
        SCALED_FLOW_CONTROL,
    };
    use crate::config::{DataLinkFeatures, ErrorRecord, PortType, UncorrectableError};
    use crate::config::{ats, express, pasid, sriov};

    const IDENTITY: Identity = Identity {
        vendor: 0x10ee,
        device: 0x7024,
        revision: 1,
        class: 0x12_0000,
    };

    fn express(port: PortType) -> Express {
        Express {
            port,
            max_payload_supported: 512,
            generation: Generation::Gen2,
            lanes: 4,
            number: 0,
            tags: 32,
            ten_bit_tag_completer: true,
            read_completion_boundary: 64,
            ari_forwarding: true,
            atomic_routing: true,
            tlp_prefixes: false,
            data_link_features: None,
            virtual_channels: None,
            l0s_exit_ns: None,
            l1_exit_ns: None,
            has_separate_clocks: false,
        }
    }

    /// IDs of the capabilities in the order of the list.
    fn capabilities(space: &ConfigSpace) -> Vec<u32> {
        let mut at = space.read(CAPABILITIES) & 0xff;
        let mut ids = Vec::new();
        while at != 0 {
            let header = space.read((at / 4) as u16);
            ids.push(header & 0xff);
            at = header >> 8 & 0xff;
        }
        ids
    }

    fn extended(space: &ConfigSpace) -> Vec<u32> {
        let mut at = 0x100;
        let mut ids = Vec::new();
        while at != 0 {
            let header = space.read((at / 4) as u16);
            ids.push(header & 0xffff);
            at = header >> 20;
        }
        ids
    }

    const BAR: Bar = Bar {
        index: 0,
        size: 4096,
        wide: false,
    };

    fn function(msix: Option<MsixTable>) -> EndpointFunction {
        EndpointFunction {
            identity: IDENTITY,
            bars: vec![BAR],
            msi_vectors: 4,
            msix,
            express: express(PortType::Endpoint),
            virtual_functions: None,
            address_translation: None,
            address_spaces: None,
            is_resizable: false,
        }
    }

    fn with_translation(capacity: Option<u32>) -> EndpointFunction {
        EndpointFunction {
            address_translation: Some(AddressTranslation {
                ats: Ats {
                    invalidate_queue_depth: 16,
                    global_invalidate: false,
                },
                page_requests: capacity.map(|capacity| PageRequests { capacity }),
            }),
            ..with_virtual_functions()
        }
    }

    fn endpoint(msix: Option<MsixTable>) -> ConfigSpace {
        ConfigSpace::endpoint(&function(msix))
    }

    fn with_virtual_functions() -> EndpointFunction {
        EndpointFunction {
            virtual_functions: Some(SrIov {
                total: 7,
                device: 0x7025,
                bars: vec![BAR],
                msi_vectors: 2,
                msix: None,
            }),
            ..function(None)
        }
    }

    #[test]
    fn an_endpoint_lists_its_capabilities() {
        assert_eq!(capabilities(&endpoint(None)), [0x01, 0x05, 0x10]);
        let table = MsixTable {
            vectors: 8,
            bar: 0,
            table: 0x800,
            pending: 0xc00,
        };
        assert_eq!(
            capabilities(&endpoint(Some(table))),
            [0x01, 0x05, 0x11, 0x10]
        );
        assert_eq!(extended(&endpoint(None)), [0x0001]);
        assert_eq!(endpoint(None).read(ID), 0x7024_10ee);
        assert!(!endpoint(None).is_bridge());
    }

    #[test]
    fn a_physical_function_tells_of_its_virtual_functions() {
        let space = ConfigSpace::endpoint(&with_virtual_functions());
        assert_eq!(extended(&space), [0x0001, 0x000e, 0x0010]);
        let totals = space.read(sriov::TOTAL_VFS);
        assert_eq!((totals & 0xffff, totals >> 16), (7, 7));
        assert_eq!(ConfigSpace::virtual_function(&function(None)), None);
    }

    #[test]
    fn a_virtual_function_has_no_ids_addresses_or_sizes_of_its_own() {
        let own = ConfigSpace::virtual_function(&with_virtual_functions());
        let mut space = own.expect("it can have some");
        for register in 0..1024 {
            space.write(register, u32::MAX, 0xf);
        }
        assert_eq!(space.read(ID), u32::MAX);
        assert!((BARS..BARS + 6).all(|register| space.read(register) == 0));
        assert!(space.bus_master_enable() && !space.memory_enable());
        assert_eq!(space.read(express::DEVICE_CONTROL), 0);
        assert_eq!(space.msi(1).map(|(address, _)| address), Some(!3));
        assert_eq!(capabilities(&space), [0x05, 0x10]);
        assert_eq!(extended(&space), [0x0001, 0x000e]);
    }

    #[test]
    fn a_function_that_translates_says_so_and_is_else_the_same() {
        let plain = ConfigSpace::endpoint(&with_virtual_functions());
        let cache = ConfigSpace::endpoint(&with_translation(None));
        let pages = ConfigSpace::endpoint(&with_translation(Some(32)));
        assert_eq!(extended(&cache), [0x0001, 0x000e, 0x0010, 0x000f]);
        assert_eq!(extended(&pages), [0x0001, 0x000e, 0x0010, 0x000f, 0x0013]);
        let alone = EndpointFunction {
            virtual_functions: None,
            ..with_translation(None)
        };
        assert_eq!(extended(&ConfigSpace::endpoint(&alone)), [0x0001, 0x000f]);
        let pointer = usize::from(sriov::SRIOV_BYTES) + 2;
        let own = usize::from(ats::ATS_BYTES)..usize::from(ats::ATS_BYTES) + 0x20;
        for (at, (byte, other)) in plain.bytes().iter().zip(pages.bytes()).enumerate() {
            assert!(*byte == other || (pointer..pointer + 2).contains(&at) || own.contains(&at));
        }
    }

    #[test]
    fn a_virtual_function_enables_translation_in_the_units_and_queue_of_its_physical_one() {
        let own = ConfigSpace::virtual_function(&with_translation(Some(32)));
        let mut space = own.expect("it can have some");
        assert_eq!(extended(&space), [0x0001, 0x000e, 0x000f]);
        assert_eq!(space.read(ats::ATS), 0x20);
        space.write(ats::ATS, u32::MAX, 0xf);
        assert_eq!(space.read(ats::ATS), ats::ATS_ENABLE | 0x20);
    }

    #[test]
    fn a_port_with_a_link_below_has_access_control_and_containment() {
        let bridge = |port| {
            ConfigSpace::bridge(&BridgeFunction {
                identity: IDENTITY,
                express: express(port),
            })
        };
        assert_eq!(
            extended(&bridge(PortType::RootPort)),
            [0x0001, 0x000d, 0x001d]
        );
        assert_eq!(
            extended(&bridge(PortType::Downstream)),
            [0x0001, 0x000d, 0x001d]
        );
        assert_eq!(extended(&bridge(PortType::Upstream)), [0x0001]);
        assert_eq!(
            capabilities(&bridge(PortType::Upstream)),
            [0x01, 0x05, 0x10]
        );
        assert!(bridge(PortType::Upstream).is_bridge());
    }

    #[test]
    fn a_host_bridge_has_no_capabilities() {
        let space = ConfigSpace::host_bridge(&IDENTITY);
        assert!(capabilities(&space).is_empty());
        assert_eq!(space.read(HEADER_TYPE), 0);
    }

    #[test]
    fn a_port_tells_the_features_that_it_exchanges() {
        let port = |kind: PortType, are_exchanged: bool| BridgeFunction {
            identity: IDENTITY,
            express: Express {
                data_link_features: Some(DataLinkFeatures { are_exchanged }),
                ..express(kind)
            },
        };
        let space = ConfigSpace::bridge(&port(PortType::Downstream, true));
        assert_eq!(extended(&space), [0x0001, 0x000d, 0x001d, 0x0025]);
        let supported = FEATURE_EXCHANGE | SCALED_FLOW_CONTROL;
        assert_eq!(space.read(DATA_LINK_FEATURES), supported);
        assert_eq!(space.read(DATA_LINK_FEATURES + 1), supported);
        let space = ConfigSpace::bridge(&port(PortType::Upstream, false));
        assert_eq!(extended(&space), [0x0001, 0x0025]);
        assert_eq!(space.read(DATA_LINK_FEATURES), supported);
        assert_eq!(space.read(DATA_LINK_FEATURES + 1), 0);
        let endpoint = EndpointFunction {
            express: port(PortType::Endpoint, true).express,
            ..with_translation(Some(1))
        };
        let space = ConfigSpace::endpoint(&endpoint);
        assert_eq!(extended(&space).last(), Some(&0x0025));
    }

    /// The configuration space of a function that supports prefixes and has a port of type `port`.
    fn with_prefixes(port: PortType) -> ConfigSpace {
        let express = Express {
            tlp_prefixes: true,
            ..express(port)
        };
        if port == PortType::Endpoint {
            return ConfigSpace::endpoint(&EndpointFunction {
                express,
                address_spaces: Some(AddressSpaces {
                    width: 8,
                    execute: false,
                    privileged: true,
                }),
                ..function(None)
            });
        }
        ConfigSpace::bridge(&BridgeFunction {
            identity: IDENTITY,
            express,
        })
    }

    /// PCIe Base 7.5.3.15, 7.5.3.16.
    #[test]
    fn every_port_tells_how_many_prefixes_it_supports_and_those_of_switches_can_block_them() {
        for (port, most) in [
            (PortType::Endpoint, 1),
            (PortType::RootPort, 1),
            (PortType::Upstream, 0),
            (PortType::Downstream, 0),
        ] {
            let mut space = with_prefixes(port);
            let more = space.read(express::DEVICE_CAPABILITIES_2);
            assert_eq!((more >> 20 & 3, more >> 22 & 3), (0b11, most), "{port:?}");
            assert!(space.supports_prefixes() && !space.blocks_prefixes());
            space.write(express::DEVICE_CONTROL_2, 1 << 15, 0xf);
            let is_of_switch = matches!(port, PortType::Upstream | PortType::Downstream);
            assert_eq!(space.blocks_prefixes(), is_of_switch);
        }
        assert!(!endpoint(None).supports_prefixes());
    }

    #[test]
    fn a_function_with_address_spaces_has_the_pasid_capability() {
        let space = with_prefixes(PortType::Endpoint);
        assert_eq!(extended(&space), [0x0001, 0x001b]);
        assert_eq!(space.read(pasid::PASID), 8 << 8 | 1 << 2);
    }

    #[test]
    fn the_prefix_of_a_packet_is_logged_with_its_header() {
        let record = |prefix: Option<u32>| ErrorRecord {
            error: UncorrectableError::UnsupportedRequest,
            header: Some([1; 16]),
            prefix: prefix.and_then(Pasid::new),
            advisory: false,
        };
        let logged = |space: &ConfigSpace| (space.read(0x118 / 4) >> 11 & 1, space.read(0x138 / 4));
        let mut space = with_prefixes(PortType::Endpoint);
        let control = space.error_control();
        space.record(&record(Some(0x1_2345)), control);
        assert_eq!(logged(&space), (1, 0x9101_2345));
        space.write(0x104 / 4, u32::MAX, 0xf);
        space.record(&record(None), control);
        assert_eq!(logged(&space).0, 0);
        // A function that supports no prefixes does not log prefixes.
        let mut space = endpoint(None);
        space.record(&record(Some(7)), control);
        assert_eq!(logged(&space), (0, 0));
    }
}

//! Tests of virtual functions on an endpoint alone, without a fabric.

use super::*;
use std::sync::Arc;

use crate::EndpointConfig;
use kernel::Bytes;
use link::{LinkConfig, LinkEnd, PortParameters};
use protocol::register::{
    BARS, BUS_MASTER, COMMAND, MEMORY_SPACE, MSI, MSI_ENABLE, NUM_VFS, SRIOV_CONTROL,
    SYSTEM_PAGE_SIZE, VF_BARS, VF_ENABLE, VF_MEMORY_SPACE,
};
use protocol::{
    ConfigKind, ConfigRequest, EndpointFunction, Express, Generation, Identity, PortType, Tag,
};
use transaction::{Action, ConfigAccess, Functions, Reach};

const BASE: u64 = 0xc000_0000;

fn parameters() -> EndpointParameters {
    EndpointParameters {
        virtual_functions: 4,
        virtual_bar: Bytes(8192),
        ..EndpointParameters::default()
    }
}

fn function() -> EndpointFunction {
    EndpointFunction {
        identity: Identity {
            vendor: 0x1b36,
            device: 1,
            revision: 0,
            class: 0,
        },
        bars: parameters().bar().into_iter().collect(),
        msi_vectors: 1,
        msix: None,
        express: Express {
            port: PortType::Endpoint,
            max_payload_supported: 512,
            generation: Generation::Gen3,
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
        },
        virtual_functions: parameters().sriov(2, 1),
        address_translation: None,
        address_spaces: None,
        is_resizable: false,
    }
}

fn physical(settings: &[(u16, u32)]) -> ConfigSpace {
    let mut space = ConfigSpace::endpoint(&function());
    for (register, value) in settings {
        space.write(*register, *value, 0xf);
    }
    space
}

fn behind(settings: &[(u16, u32)]) -> VirtualMemory {
    let behind = VirtualMemory::of(&parameters());
    let mut behind = behind.expect("there can be virtual functions");
    behind.apply_registers(&physical(settings));
    *behind
}

fn base_for(behind: &VirtualMemory, address: u64, len: u32) -> Option<u64> {
    let header = Header::memory_write(FunctionId(0), address, len).expect("a legal write");
    let Kind::MemoryWrite(request) = &header.kind else {
        panic!("a write is a write");
    };
    behind.base_for(request)
}

const ENABLED: [(u16, u32); 3] = [
    (VF_BARS, BASE as u32),
    (NUM_VFS, 3),
    (SRIOV_CONTROL, VF_ENABLE | VF_MEMORY_SPACE),
];

#[test]
fn an_address_belongs_to_the_virtual_function_whose_share_it_is_in() {
    let behind = behind(&ENABLED);
    for (address, expected) in [
        (BASE - 1, None),
        (BASE, Some((0, 0))),
        (BASE + 8191, Some((0, 8191))),
        (BASE + 8192, Some((1, 0))),
        (BASE + 3 * 8192 - 1, Some((2, 8191))),
        (BASE + 3 * 8192, None),
    ] {
        assert_eq!(behind.locate(address), expected, "{address:#x}");
    }
}

#[test]
fn no_virtual_function_answers_before_its_memory_is_enabled() {
    for control in [0, VF_ENABLE, VF_MEMORY_SPACE] {
        let [bar, number, (register, _)] = ENABLED;
        let behind = behind(&[bar, number, (register, control)]);
        assert_eq!(behind.locate(BASE), None);
    }
}

#[test]
fn a_request_is_held_by_the_memory_of_the_function_that_it_is_for() {
    let behind = behind(&ENABLED);
    assert_eq!(base_for(&behind, BASE + 8192, 8), Some(BASE));
    assert_eq!(base_for(&behind, BASE + 8188, 4), Some(BASE));
    assert_eq!(base_for(&behind, BASE + 3 * 8192, 4), None);
}

#[test]
fn what_is_beyond_the_bar_in_a_larger_page_is_held_by_nobody() {
    let page = (SYSTEM_PAGE_SIZE, 1 << 4);
    let behind = behind(&[page, ENABLED[0], ENABLED[1], ENABLED[2]]);
    let second = BASE + (64 << 10);
    assert_eq!(behind.locate(second + 4), Some((1, 4)));
    assert_eq!(base_for(&behind, second, 4), Some(second - 8192));
    assert_eq!(base_for(&behind, second - 4, 4), None);
}

/// An endpoint on bus 5; its BAR 0 is just below the BARs of its virtual functions.
pub(crate) fn endpoint() -> Endpoint {
    let link = LinkConfig {
        infinite_completions: true,
        own: Some(0),
        is_upstream: true,
        ..LinkConfig::default()
    };
    let mut endpoint = Endpoint::new(EndpointConfig {
        parameters: parameters(),
        functions: Functions::device(&function()),
        link: LinkEnd::new(link, &PortParameters::default()),
        patterns: Arc::default(),
        marks: Arc::default(),
    });
    write(&mut endpoint, 0, BARS, OWN_BASE as u32);
    write(&mut endpoint, 0, COMMAND, MEMORY_SPACE);
    for (register, value) in ENABLED {
        write(&mut endpoint, 0, register, value);
    }
    endpoint
}

const OWN_BASE: u64 = BASE - (64 << 10);

pub(crate) fn write(endpoint: &mut Endpoint, function: u8, register: u16, value: u32) {
    let access = ConfigAccess {
        target: FunctionId::new(5, 0, function),
        register,
        action: Action::Write {
            value,
            enables: 0xf,
        },
    };
    let request = ConfigRequest {
        kind: ConfigKind::Type0,
        ..access.request(FunctionId(0), Tag(0))
    };
    let Reach::Here(place) = endpoint.functions.reach(&request) else {
        panic!("function {function} is not there");
    };
    endpoint.functions.access(place, &request, access.action);
    endpoint.apply_registers();
}

#[test]
fn every_address_belongs_to_one_function() {
    let mut endpoint = endpoint();
    let of = |endpoint: &Endpoint, address| endpoint.function_of(address);
    assert_eq!(of(&endpoint, OWN_BASE - 1), None);
    assert_eq!(of(&endpoint, OWN_BASE + 5), Some((FunctionPlace::Own, 5)));
    assert_eq!(
        of(&endpoint, BASE - 1),
        Some((FunctionPlace::Own, (64 << 10) - 1))
    );
    assert_eq!(of(&endpoint, BASE), Some((FunctionPlace::Virtual(0), 0)));
    let third = BASE + 2 * 8192;
    assert_eq!(
        of(&endpoint, third + 7),
        Some((FunctionPlace::Virtual(2), 7))
    );
    assert_eq!(of(&endpoint, third + 8192), None);
    write(&mut endpoint, 0, COMMAND, 0);
    assert_eq!(of(&endpoint, OWN_BASE), None);
    assert_eq!(of(&endpoint, BASE), Some((FunctionPlace::Virtual(0), 0)));
    write(&mut endpoint, 0, SRIOV_CONTROL, VF_ENABLE);
    assert_eq!(of(&endpoint, BASE), None);
}

#[test]
fn each_function_makes_requests_of_its_own() {
    let mut endpoint = endpoint();
    let second = FunctionPlace::Virtual(1);
    assert_eq!(endpoint.id_of(second), FunctionId::new(5, 0, 2));
    assert!(!endpoint.is_bus_master_at(second));
    write(&mut endpoint, 2, COMMAND, BUS_MASTER);
    assert!(endpoint.is_bus_master_at(second));
    assert!(!endpoint.is_bus_master_at(FunctionPlace::Own));
    assert!(!endpoint.is_bus_master_at(FunctionPlace::Virtual(0)));
    write(&mut endpoint, 0, SRIOV_CONTROL, 0);
    assert!(!endpoint.is_bus_master_at(second));
}

#[test]
fn each_function_signals_interrupts_of_its_own() {
    let mut endpoint = endpoint();
    let second = FunctionPlace::Virtual(1);
    assert_eq!(endpoint.msi_of(second, 0), None);
    write(&mut endpoint, 2, MSI + 1, 0xfee0_0000);
    write(&mut endpoint, 2, MSI + 3, 0x42);
    write(&mut endpoint, 2, MSI, MSI_ENABLE);
    assert_eq!(endpoint.msi_of(second, 0), Some((0xfee0_0000, 0x42)));
    assert_eq!(endpoint.msi_of(FunctionPlace::Own, 0), None);
    write(&mut endpoint, 0, SRIOV_CONTROL, 0);
    assert_eq!(endpoint.msi_of(second, 0), None);
}

#[test]
fn a_read_is_completed_by_the_function_that_it_is_for() {
    let endpoint = endpoint();
    for (address, place) in [
        (OWN_BASE, FunctionPlace::Own),
        (BASE + 8192, FunctionPlace::Virtual(1)),
        (BASE + 4 * 8192, FunctionPlace::Own),
    ] {
        let read = Header::memory_read(FunctionId(0), Tag(0), address, 4);
        assert_eq!(endpoint.addressee(&read.expect("a legal read")), place);
    }
}

#[test]
fn what_is_stored_for_a_function_is_behind_its_bar() {
    let mut endpoint = endpoint();
    endpoint.store(FunctionPlace::Own, 16, &[1; 4]);
    endpoint.store(FunctionPlace::Virtual(2), 16, &[3; 4]);
    let mut bytes = [0; 4];
    endpoint.bar().read(16, &mut bytes);
    assert_eq!(bytes, [1; 4]);
    let behind = endpoint.virtual_memory.expect("there are some");
    for (number, expected) in [(0, [0; 4]), (1, [0; 4]), (2, [3; 4])] {
        behind.memory.read(number * 8192 + 16, &mut bytes);
        assert_eq!(bytes, expected);
    }
}

#[test]
fn a_request_may_be_served_where_the_bar_of_one_function_holds_it() {
    let endpoint = endpoint();
    for (address, own, any) in [
        (OWN_BASE - 4, false, false),
        (BASE - 4, true, true),
        (BASE, false, true),
        (BASE + 3 * 8192 - 4, false, true),
        (BASE + 3 * 8192, false, false),
    ] {
        let read = Header::memory_read(FunctionId(0), Tag(0), address, 4);
        let read = read.expect("a legal read");
        assert_eq!(endpoint.verdict(&read).is_ok(), any, "{address:#x}");
        assert_eq!(endpoint.is_own(&read), own, "{address:#x}");
    }
}

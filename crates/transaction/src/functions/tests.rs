//! Tests of the function that a configuration request reaches.

use kernel::{ComponentId, Port, World};

use super::*;
use protocol::register::{
    AER, ARI_CAPABLE_HIERARCHY, ARI_FORWARDING_ENABLE, BUS_MASTER, BUSES, COMMAND,
    DEVICE_CONTROL_2, MEMORY_SPACE, NUM_VFS, SRIOV_CONTROL, VF_ENABLE,
};
use protocol::{
    BridgeFunction, EndpointFunction, Express, Generation, Identity, PortType, SrIov, Tag,
};

const IDENTITY: Identity = Identity {
    vendor: 0x1b36,
    device: 1,
    revision: 0,
    class: 0,
};

fn express(port: PortType) -> Express {
    Express {
        port,
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
    }
}

fn port(kind: PortType, device: u8, function: u8, buses: u32) -> PortFunction {
    let mut space = ConfigSpace::bridge(&BridgeFunction {
        identity: IDENTITY,
        express: express(kind),
    });
    space.write(BUSES, buses, 0xf);
    PortFunction {
        device,
        function,
        space,
    }
}

fn request(kind: ConfigKind, target: FunctionId) -> ConfigRequest {
    ConfigRequest {
        requester: FunctionId(0),
        tag: Tag(0),
        target,
        register: COMMAND,
        first_be: 0xf,
        kind,
    }
}

/// A switch on bus 1 with buses 2 to 6. Bus 3 is below its first port, buses 4 to 6 are below its second port.
fn switch() -> Functions {
    let upstream = port(PortType::Upstream, 0, 0, 0x06_02_01).space;
    let ports = vec![
        port(PortType::Downstream, 0, 0, 0x03_03_02),
        port(PortType::Downstream, 5, 0, 0x06_04_02),
    ];
    Functions::switch(upstream, ports)
}

fn device(virtual_functions: Option<SrIov>) -> Functions {
    Functions::device(&EndpointFunction {
        identity: IDENTITY,
        bars: Vec::new(),
        msi_vectors: 1,
        msix: None,
        express: express(PortType::Endpoint),
        virtual_functions,
        address_translation: None,
        address_spaces: None,
        is_resizable: false,
    })
}

/// A device on bus 9 that can have four virtual functions.
fn physical() -> Functions {
    physical_with(4)
}

fn physical_with(total: u8) -> Functions {
    let mut device = device(Some(SrIov {
        total,
        device: 2,
        bars: Vec::new(),
        msi_vectors: 1,
        msix: None,
    }));
    write(&mut device, 0, COMMAND, MEMORY_SPACE);
    device
}

fn write(device: &mut Functions, function: u8, register: u16, value: u32) {
    let request = ConfigRequest {
        register,
        ..request(ConfigKind::Type0, FunctionId::new(9, 0, function))
    };
    let Reach::Here(place) = device.reach(&request) else {
        panic!("function {function} is not there");
    };
    let enables = 0xf;
    device.access(place, &request, Action::Write { value, enables });
}

fn enable(device: &mut Functions, number: u32, control: u32) {
    write(device, 0, NUM_VFS, number);
    write(device, 0, SRIOV_CONTROL, control);
}

fn reach(device: &Functions, function: u8) -> Reach {
    device.reach(&request(ConfigKind::Type0, FunctionId::new(9, 0, function)))
}

#[test]
fn a_request_is_turned_into_type_0_when_it_reaches_its_bus() {
    let reach =
        |bus, device| switch().reach(&request(ConfigKind::Type1, FunctionId::new(bus, device, 0)));
    assert_eq!(reach(2, 5), Reach::Here(FunctionPlace::Port(1)));
    assert_eq!(reach(2, 4), Reach::Nobody);
    assert_eq!(reach(3, 0), Reach::Below(0, ConfigKind::Type0));
    assert_eq!(reach(3, 1), Reach::Nobody);
    assert_eq!(reach(4, 0), Reach::Below(1, ConfigKind::Type0));
    assert_eq!(reach(6, 7), Reach::Below(1, ConfigKind::Type1));
    assert_eq!(reach(7, 0), Reach::Nobody);
}

#[test]
fn with_ari_all_device_numbers_are_below_a_port() {
    let mut switch = switch();
    let port = request(ConfigKind::Type1, FunctionId::new(2, 0, 0));
    let value = ARI_FORWARDING_ENABLE;
    let control = ConfigRequest {
        register: DEVICE_CONTROL_2,
        ..port
    };
    let enables = 0b0001;
    switch.access(
        FunctionPlace::Port(0),
        &control,
        Action::Write { value, enables },
    );
    let reach =
        |bus, device| switch.reach(&request(ConfigKind::Type1, FunctionId::new(bus, device, 5)));
    assert_eq!(reach(3, 31), Reach::Below(0, ConfigKind::Type0));
    assert_eq!(reach(4, 31), Reach::Nobody);
}

#[test]
fn a_virtual_function_is_reached_by_eight_bits_or_on_the_next_bus() {
    let reached = |control: u32, kind, bus, device, function| {
        let mut physical = physical_with(20);
        enable(&mut physical, 20, VF_ENABLE | control);
        physical.reach(&request(kind, FunctionId::new(bus, device, function)))
    };
    let here = |number| Reach::Here(FunctionPlace::Virtual(number));
    let (ari, type_0, type_1) = (ARI_CAPABLE_HIERARCHY, ConfigKind::Type0, ConfigKind::Type1);
    assert_eq!(reached(ari, type_0, 9, 0, 1), here(0));
    assert_eq!(reached(ari, type_0, 9, 2, 4), here(19));
    assert_eq!(reached(ari, type_0, 9, 2, 5), Reach::Nobody);
    assert_eq!(reached(ari, type_1, 10, 0, 0), Reach::Nobody);
    assert_eq!(reached(0, type_0, 9, 0, 1), Reach::Nobody);
    assert_eq!(reached(0, type_1, 10, 0, 0), here(0));
    assert_eq!(reached(0, type_1, 10, 2, 3), here(19));
    assert_eq!(reached(0, type_1, 10, 2, 4), Reach::Nobody);
    assert_eq!(reached(0, type_1, 9, 0, 0), Reach::Nobody);
}

#[test]
fn a_write_to_a_virtual_function_on_the_next_bus_leaves_the_captured_bus() {
    let mut physical = physical_with(20);
    enable(&mut physical, 20, VF_ENABLE);
    let request = request(ConfigKind::Type1, FunctionId::new(10, 0, 3));
    let Reach::Here(place) = physical.reach(&request) else {
        panic!("VF 4 is there");
    };
    let action = Action::Write {
        value: BUS_MASTER,
        enables: 0b0001,
    };
    physical.access(place, &request, action);
    assert!(
        physical
            .space(FunctionPlace::Virtual(3))
            .bus_master_enable()
    );
    assert_eq!(physical.id(), FunctionId::new(9, 0, 0));
}

#[test]
fn a_bridge_without_bus_numbers_forwards_nothing() {
    let upstream = port(PortType::Upstream, 0, 0, 0).space;
    let ports = vec![port(PortType::Downstream, 0, 0, 0)];
    let switch = Functions::switch(upstream, ports);
    for bus in 0..=255 {
        let request = request(ConfigKind::Type1, FunctionId::new(bus, 0, 0));
        assert_eq!(switch.reach(&request), Reach::Nobody);
    }
}

#[test]
fn a_switch_forwards_to_no_bus_beyond_those_of_its_upstream_port() {
    let mut switch = switch();
    switch.own.write(BUSES, 0x04_02_01, 0b0111);
    let reach = |bus| switch.reach(&request(ConfigKind::Type1, FunctionId::new(bus, 0, 0)));
    assert_eq!(reach(4), Reach::Below(1, ConfigKind::Type0));
    assert_eq!(reach(5), Reach::Nobody);
}

#[test]
fn a_device_takes_its_number_from_a_write_and_answers_for_function_0_only() {
    let mut device = device(None);
    let write = request(ConfigKind::Type0, FunctionId::new(9, 0, 0));
    assert_eq!(device.reach(&write), Reach::Here(FunctionPlace::Own));
    assert_eq!(device.id(), FunctionId(0));
    device.write(FunctionPlace::Own, &write, MEMORY_SPACE);
    assert_eq!(device.id(), FunctionId::new(9, 0, 0));
    assert!(device.space(FunctionPlace::Own).memory_enable());
    let other = request(ConfigKind::Type0, FunctionId::new(9, 0, 1));
    assert_eq!(device.reach(&other), Reach::Nobody);
    let behind = request(ConfigKind::Type1, FunctionId::new(9, 0, 0));
    assert_eq!(device.reach(&behind), Reach::Nobody);
}

#[test]
fn a_root_complex_has_its_functions_on_bus_0() {
    let ports = vec![
        port(PortType::RootPort, 1, 0, 0x02_01_00),
        port(PortType::RootPort, 1, 1, 0x03_03_00),
    ];
    let root = Functions::root(ConfigSpace::host_bridge(&IDENTITY), ports);
    let reach = |bus, device, function| {
        let id = FunctionId::new(bus, device, function);
        root.reach(&request(ConfigKind::Type1, id))
    };
    assert_eq!(reach(0, 0, 0), Reach::Here(FunctionPlace::Own));
    assert_eq!(reach(0, 1, 1), Reach::Here(FunctionPlace::Port(1)));
    assert_eq!(reach(0, 2, 0), Reach::Nobody);
    assert_eq!(reach(2, 3, 0), Reach::Below(0, ConfigKind::Type1));
    assert_eq!(reach(3, 0, 0), Reach::Below(1, ConfigKind::Type0));
    let multifunction = |index| root.space(FunctionPlace::Port(index)).read(3) >> 23 & 1;
    assert_eq!((multifunction(0), multifunction(1)), (1, 0));
}

#[test]
fn a_virtual_function_is_reached_while_it_is_enabled() {
    let mut device = physical();
    assert_eq!(reach(&device, 1), Reach::Nobody);
    for (number, control) in [(3, VF_ENABLE), (3, 0), (1, VF_ENABLE)] {
        enable(&mut device, number, control);
        for function in 1..8 {
            let there = control == VF_ENABLE && u32::from(function) <= number;
            let place = FunctionPlace::Virtual(usize::from(function) - 1);
            let expected = if there {
                Reach::Here(place)
            } else {
                Reach::Nobody
            };
            assert_eq!(reach(&device, function), expected);
        }
        assert_eq!(reach(&device, 0), Reach::Here(FunctionPlace::Own));
    }
}

#[test]
fn a_virtual_function_has_the_bus_of_its_physical_function() {
    let mut device = physical();
    enable(&mut device, 2, VF_ENABLE);
    let ids = |device: &Functions| -> Vec<String> {
        let ids = device.places().map(|place| device.id_of(place).to_string());
        ids.collect()
    };
    assert_eq!(ids(&device), ["09:00.0", "09:00.1", "09:00.2"]);
    let place_of = |id: &str| device.place_of(id.parse().expect("a function"));
    assert_eq!(place_of("09:00.2"), Some(FunctionPlace::Virtual(1)));
    assert_eq!(place_of("09:00.3"), None);
}

#[test]
fn virtual_functions_begin_as_after_reset_each_time_they_are_enabled() {
    let mut device = physical();
    enable(&mut device, 2, VF_ENABLE);
    write(&mut device, 2, COMMAND, BUS_MASTER);
    let masters = |device: &Functions| -> Vec<bool> {
        let places = device.virtual_places();
        let masters = places.map(|place| device.space(place).bus_master_enable());
        masters.collect()
    };
    assert_eq!(masters(&device), [false, true]);
    enable(&mut device, 2, 0);
    enable(&mut device, 2, VF_ENABLE);
    assert_eq!(masters(&device), [false, false]);
}

/// A component that does nothing.
struct Device;

impl Component for Device {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = Port;
    fn start(&mut self, _: &mut Effects<'_, Self>) {}
    fn receive(&mut self, _: Port, _: packet::Frame, _: &mut Effects<'_, Self>) {}
    fn expire(&mut self, _: Port, _: &mut Effects<'_, Self>) {}
}

#[test]
fn a_virtual_function_records_its_own_errors() {
    let mut device = physical();
    enable(&mut device, 2, VF_ENABLE);
    let mut world = World::<Pcie>::default();
    let fx: &mut Effects<'_, Device> = &mut world.effects(ComponentId(0));
    device.record_timeout(FunctionPlace::Virtual(1), fx);
    let recorded = |place| device.space(place).read(AER + 1);
    assert_eq!(recorded(FunctionPlace::Virtual(1)), 1 << 14);
    assert_eq!(
        (
            recorded(FunctionPlace::Own),
            recorded(FunctionPlace::Virtual(0))
        ),
        (0, 0)
    );
}

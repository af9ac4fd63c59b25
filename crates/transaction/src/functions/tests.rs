//! Which function a configuration request reaches.

use super::*;
use protocol::register::{BUSES, COMMAND, MEMORY_SPACE};
use protocol::{BridgeFunction, EndpointFunction, Express, Generation, Identity, PortType, Tag};

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
        read_completion_boundary: 64,
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

/// A switch on bus 1 with buses 2 to 6; 3 below its first port, 4 to 6 below its second.
fn switch() -> Functions {
    let upstream = port(PortType::Upstream, 0, 0, 0x06_02_01).space;
    let ports = vec![
        port(PortType::Downstream, 0, 0, 0x03_03_02),
        port(PortType::Downstream, 5, 0, 0x06_04_02),
    ];
    Functions::switch(upstream, ports)
}

fn device() -> Functions {
    Functions::device(ConfigSpace::endpoint(&EndpointFunction {
        identity: IDENTITY,
        bars: Vec::new(),
        msi_vectors: 1,
        msix: None,
        express: express(PortType::Endpoint),
        virtual_functions: None,
    }))
}

#[test]
fn a_request_is_turned_into_type_0_when_it_reaches_its_bus() {
    let reach =
        |bus, device| switch().reach(&request(ConfigKind::Type1, FunctionId::new(bus, device, 0)));
    assert_eq!(reach(2, 5), Reach::Here(Place::Port(1)));
    assert_eq!(reach(2, 4), Reach::Nobody);
    assert_eq!(reach(3, 0), Reach::Below(0, ConfigKind::Type0));
    assert_eq!(reach(3, 1), Reach::Nobody);
    assert_eq!(reach(4, 0), Reach::Below(1, ConfigKind::Type0));
    assert_eq!(reach(6, 7), Reach::Below(1, ConfigKind::Type1));
    assert_eq!(reach(7, 0), Reach::Nobody);
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
    let mut device = device();
    let write = request(ConfigKind::Type0, FunctionId::new(9, 0, 0));
    assert_eq!(device.reach(&write), Reach::Here(Place::Own));
    assert_eq!(device.id(), FunctionId(0));
    device.write(Place::Own, &write, MEMORY_SPACE);
    assert_eq!(device.id(), FunctionId::new(9, 0, 0));
    assert!(device.space(Place::Own).memory_enable());
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
    assert_eq!(reach(0, 0, 0), Reach::Here(Place::Own));
    assert_eq!(reach(0, 1, 1), Reach::Here(Place::Port(1)));
    assert_eq!(reach(0, 2, 0), Reach::Nobody);
    assert_eq!(reach(2, 3, 0), Reach::Below(0, ConfigKind::Type1));
    assert_eq!(reach(3, 0, 0), Reach::Below(1, ConfigKind::Type0));
    let multifunction = |index| root.space(Place::Port(index)).read(3) >> 23 & 1;
    assert_eq!((multifunction(0), multifunction(1)), (1, 0));
}

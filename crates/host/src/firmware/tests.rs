//! Tests of the firmware on trees of functions, without a fabric.

use proptest::prelude::*;
use protocol::{
    AccessService, Bar, BridgeFunction, ConfigSpace, EndpointFunction, Express, FunctionId,
    Generation, Identity, MsixTable, PortType, Signalling, SrIov, Tag,
};
use transaction::{FunctionPlace, Functions, PortFunction, Reach};

use super::*;
use crate::Coroutine;
use transaction::Action;

/// A tree of components. Each has the indices of the components below its ports.
struct Tree {
    nodes: Vec<(Functions, Vec<usize>)>,
}

/// The component at a port.
#[derive(Clone, Debug)]
enum Shape {
    Device(Vec<Bar>, u32, Option<SrIov>),
    Switch(Vec<Shape>),
    /// A component below a port without ARI Forwarding.
    WithoutAri(Box<Shape>),
}

impl Shape {
    /// The component itself, and whether the port above has ARI Forwarding.
    fn component(&self) -> (&Self, bool) {
        match self {
            Shape::WithoutAri(shape) => (shape.component().0, false),
            shape => (shape, true),
        }
    }
}

const IDENTITY: Identity = Identity {
    vendor: 0x1b36,
    device: 1,
    revision: 0,
    class: 0,
};

fn express(port: PortType, max_payload_supported: u32) -> Express {
    Express {
        port,
        max_payload_supported,
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

fn bridge(port: PortType) -> ConfigSpace {
    ConfigSpace::bridge(&BridgeFunction {
        identity: IDENTITY,
        express: express(port, 4096),
    })
}

impl Tree {
    fn below_a_host(shapes: &[Shape]) -> Self {
        let mut tree = Tree { nodes: Vec::new() };
        let host = ConfigSpace::host_bridge(&IDENTITY);
        tree.add(shapes, PortType::RootPort, 1, &|ports| {
            Functions::root(host.clone(), ports)
        });
        tree
    }

    fn add(
        &mut self,
        shapes: &[Shape],
        port: PortType,
        first: u8,
        make: &dyn Fn(Vec<PortFunction>) -> Functions,
    ) -> usize {
        let port = |(device, shape): (u8, &Shape)| PortFunction {
            device,
            function: 0,
            space: ConfigSpace::bridge(&BridgeFunction {
                identity: IDENTITY,
                express: Express {
                    ari_forwarding: shape.component().1,
                    tlp_prefixes: false,
                    ..express(port, 4096)
                },
            }),
        };
        let ports = (first..).zip(shapes).map(port).collect();
        let index = self.nodes.len();
        self.nodes.push((make(ports), Vec::new()));
        for shape in shapes {
            let child = match shape.component().0 {
                Shape::WithoutAri(_) => panic!("it is around a component"),
                Shape::Device(bars, supported, virtual_functions) => {
                    self.add(&[], PortType::Downstream, 0, &|_| {
                        Functions::device(&EndpointFunction {
                            identity: IDENTITY,
                            bars: bars.clone(),
                            msi_vectors: 4,
                            msix: None,
                            express: express(PortType::Endpoint, *supported),
                            virtual_functions: virtual_functions.clone(),
                            address_translation: None,
                            address_spaces: None,
                            is_resizable: false,
                        })
                    })
                }
                Shape::Switch(shapes) => {
                    let upstream = bridge(PortType::Upstream);
                    self.add(shapes, PortType::Downstream, 0, &|ports| {
                        Functions::switch(upstream.clone(), ports)
                    })
                }
            };
            self.nodes[index].1.push(child);
        }
        index
    }

    fn answer(&mut self, access: ConfigAccess) -> u32 {
        let mut node = 0;
        let mut request = access.request(FunctionId::default(), Tag(0));
        loop {
            let (functions, below) = &mut self.nodes[node];
            match functions.reach(&request) {
                Reach::Below(port, kind) => (node, request.kind) = (below[port], kind),
                Reach::Nobody => return u32::MAX,
                Reach::Here(place) => return functions.access(place, &request, access.action),
            }
        }
    }

    fn enumerate(&mut self) -> Result<(), FirmwareError> {
        self.assigned().map(drop)
    }

    /// Enumerates the tree. Returns the vectors of functions with MSI-X.
    fn assigned(&mut self) -> Result<Vec<AssignedVectors>, FirmwareError> {
        Coroutine::new(enumerate).run(|access| self.answer(access))
    }

    fn own(&self, node: usize) -> &ConfigSpace {
        self.nodes[node].0.space(FunctionPlace::Own)
    }

    /// The first and last address of each BAR of the devices at and below `node`, and whether it is a 64-bit BAR.
    fn bars(&self, shapes: &[Shape], node: usize) -> Vec<(u64, u64, bool)> {
        let mut all = Vec::new();
        for (port, (shape, child)) in shapes.iter().zip(&self.nodes[node].1).enumerate() {
            let below = match shape.component().0 {
                Shape::WithoutAri(_) => panic!("it is around a component"),
                Shape::Device(bars, _, virtual_functions) => {
                    let space = self.own(*child);
                    let own = bars.iter().map(|bar| range(bar, space.bar_base(bar.index)));
                    let virtual_bars = virtual_functions.iter().flat_map(|one| {
                        assert_eq!(space.virtual_functions(), usize::from(one.total));
                        one.bars
                            .iter()
                            .flat_map(|bar| virtual_ranges(space, bar, one.total))
                    });
                    own.chain(virtual_bars).collect()
                }
                Shape::Switch(shapes) => {
                    let below = self.bars(shapes, *child);
                    assert!(all_within(self.own(*child), &below));
                    below
                }
            };
            let above = self.nodes[node].0.space(FunctionPlace::Port(port));
            assert!(all_within(above, &below));
            all.extend(below);
        }
        all
    }
}

/// The first and last address of a BAR, and whether it is a 64-bit BAR.
fn range(bar: &Bar, base: u64) -> (u64, u64, bool) {
    (base, base + (bar.size - 1), bar.wide)
}

/// The first and last address of the BAR in each virtual function, and whether it is a 64-bit BAR.
fn virtual_ranges(space: &ConfigSpace, bar: &Bar, total: u8) -> Vec<(u64, u64, bool)> {
    let place = space.virtual_bar(bar.index).expect("it has that BAR");
    assert_eq!(place.share, bar.size);
    (0..total)
        .map(|number| range(bar, place.base + place.share * u64::from(number)))
        .collect()
}

fn all_within(bridge: &ConfigSpace, bars: &[(u64, u64, bool)]) -> bool {
    bars.iter().all(|(first, last, wide)| {
        let window = if *wide {
            bridge.prefetchable_window()
        } else {
            bridge.memory_window()
        };
        window.0 <= *first && *last <= window.1
    })
}

fn device(size: u64) -> Shape {
    let bar = Bar {
        index: 0,
        size,
        wide: false,
    };
    Shape::Device(vec![bar], 512, None)
}

fn physical(total: u8, bars: Vec<Bar>) -> Shape {
    let virtual_functions = SrIov {
        total,
        device: 2,
        bars,
        msi_vectors: 2,
        msix: None,
    };
    Shape::Device(Vec::new(), 512, Some(virtual_functions))
}

#[test]
fn buses_are_numbered_depth_first() {
    let shapes = [
        Shape::Switch(vec![device(4096), device(4096)]),
        device(4096),
    ];
    let mut tree = Tree::below_a_host(&shapes);
    assert_eq!(tree.enumerate(), Ok(()));
    let ids: Vec<String> = tree
        .nodes
        .iter()
        .map(|node| node.0.id().to_string())
        .collect();
    assert_eq!(ids, ["00:00.0", "01:00.0", "03:00.0", "04:00.0", "05:00.0"]);
    let (root, _) = &tree.nodes[0];
    assert_eq!(root.space(FunctionPlace::Port(0)).buses(), (1, 4));
    assert_eq!(root.space(FunctionPlace::Port(1)).buses(), (5, 5));
    assert_eq!(tree.own(1).buses(), (2, 4));
}

#[test]
fn the_max_payload_size_is_the_smallest_supported_below_a_root_port() {
    let shapes = [
        Shape::Switch(vec![Shape::Device(Vec::new(), 256, None)]),
        device(4096),
    ];
    let mut tree = Tree::below_a_host(&shapes);
    assert_eq!(tree.enumerate(), Ok(()));
    for (functions, _) in &tree.nodes[1..3] {
        for place in functions.places() {
            assert_eq!(functions.space(place).max_payload(), 256);
        }
    }
    let root = &tree.nodes[0].0;
    let ports = [0, 1].map(|port| root.space(FunctionPlace::Port(port)).max_payload());
    let other = tree.own(3).max_payload();
    assert_eq!((ports, other), ([256, other], other));
    assert!(other > 256);
}

#[test]
fn endpoints_ask_for_atomic_operations_where_a_root_port_completes_them() {
    let shapes = [Shape::Switch(vec![device(4096)]), device(4096)];
    let mut tree = Tree::below_a_host(&shapes);
    assert_eq!(tree.enumerate(), Ok(()));
    for (functions, below) in &tree.nodes {
        for place in functions.places() {
            let asks = functions.space(place).atomic_requester_enable();
            let is_device = place == FunctionPlace::Own && below.is_empty();
            assert_eq!(asks, is_device, "{} {place:?}", functions.id());
        }
    }
    // The port above the device is not a root port, and atomic operations are not completed there.
    let mut tree = Tree { nodes: Vec::new() };
    let host = ConfigSpace::host_bridge(&IDENTITY);
    tree.add(&[device(4096)], PortType::Downstream, 1, &|ports| {
        Functions::root(host.clone(), ports)
    });
    assert_eq!(tree.enumerate(), Ok(()));
    assert!(!tree.own(1).atomic_requester_enable());
}

#[test]
fn each_function_has_interrupt_vectors_of_its_own() {
    let mut tree = Tree::below_a_host(&[device(4096), device(4096)]);
    assert_eq!(tree.enumerate(), Ok(()));
    // Each of the two root ports has one vector, and each device has an aligned group of four vectors.
    let data = |node: usize, vector| tree.own(node).msi(vector);
    assert_eq!(data(1, 0), Some((MSI_ADDRESS, 36)));
    assert_eq!(data(1, 3), Some((MSI_ADDRESS, 39)));
    assert_eq!(data(2, 0), Some((MSI_ADDRESS, 44)));
    assert_eq!(data(2, 4), None);
}

#[test]
fn each_virtual_function_is_a_bus_master_with_interrupt_vectors_of_its_own() {
    let mut tree = Tree::below_a_host(&[physical(3, Vec::new()), device(4096)]);
    assert_eq!(tree.enumerate(), Ok(()));
    let functions = &tree.nodes[1].0;
    // Lower vectors are used by the root ports, one each, and by the physical function, an aligned group of four.
    let data: Vec<_> = functions
        .virtual_places()
        .map(|place| {
            let space = functions.space(place);
            assert!(space.bus_master_enable());
            (space.msi(0), space.msi(2))
        })
        .collect();
    let expected = [40, 42, 44].map(|vector| (Some((MSI_ADDRESS, vector)), None));
    assert_eq!(data, expected);
    assert_eq!(tree.own(2).msi(0), Some((MSI_ADDRESS, 48)));
}

#[test]
fn a_function_with_msix_has_it_enabled_instead_of_msi_and_vectors_as_many_as_its_table() {
    let Shape::Device(bars, payload, Some(mut virtual_functions)) = physical(2, Vec::new()) else {
        panic!("a physical function is a device");
    };
    virtual_functions.msix = Some(MsixTable {
        vectors: 5,
        bar: 4,
        table: 0,
        pending: 2048,
    });
    let shape = Shape::Device(bars, payload, Some(virtual_functions));
    let mut tree = Tree::below_a_host(&[shape, device(4096)]);
    let assigned = tree.assigned().expect("there is room for all");
    let functions = &tree.nodes[1].0;
    // Lower vectors are used by the root ports, one each, and by the physical function, an aligned group of four.
    for (place, first) in functions.virtual_places().zip([40, 45]) {
        let function = functions.id_of(place);
        assert!(assigned.contains(&AssignedVectors { function, first }));
        let signalling = functions.space(place).signalling();
        assert_eq!(signalling, Signalling::Msix { is_masked: false });
    }
    assert_eq!(assigned.len(), 2);
    assert_eq!(tree.own(2).msi(0), Some((MSI_ADDRESS, 52)));
}

#[test]
fn message_data_of_msi_holds_every_vector() {
    let with_table = |count: usize| {
        let Shape::Device(bars, payload, Some(mut virtual_functions)) = physical(255, Vec::new())
        else {
            panic!("a physical function is a device");
        };
        virtual_functions.msix = Some(MsixTable {
            vectors: 128,
            bar: 4,
            table: 0,
            pending: 2048,
        });
        let shape = Shape::Device(bars, payload, Some(virtual_functions));
        let mut shapes = vec![shape; count];
        shapes.push(device(4096));
        Tree::below_a_host(&shapes).enumerate()
    };
    assert_eq!(with_table(2), Ok(()));
    let error = FirmwareError::NoVector(FunctionId::new(0, 4, 0));
    assert_eq!(with_table(3), Err(error));
}

#[test]
fn bars_of_virtual_functions_take_no_more_room_than_they_fill() {
    let bar = |size| Bar {
        index: 0,
        size,
        wide: false,
    };
    // Seven BARs of 1 MiB take 7 MiB and not 8 MiB, so another BAR of 1 MiB fits behind them.
    let shapes = [
        physical(7, vec![bar(1 << 20)]),
        Shape::Device(vec![bar(1 << 20)], 512, None),
    ];
    let mut tree = Tree::below_a_host(&shapes);
    assert_eq!(tree.enumerate(), Ok(()));
    let base = tree.own(1).virtual_bar(0).map(|place| place.base);
    assert_eq!(base, Some(Zone::BELOW_4_GIB.base));
    assert_eq!(tree.own(2).bar_base(0), Zone::BELOW_4_GIB.base + (7 << 20));
    let port = tree.nodes[0].0.space(FunctionPlace::Port(0));
    assert_eq!(port.memory_window(), (0xc000_0000, 0xc06f_ffff));
}

#[test]
fn bars_of_virtual_functions_without_room_are_told_with_their_physical_function() {
    let bar = Bar {
        index: 0,
        size: 256 << 20,
        wide: false,
    };
    let error = Tree::below_a_host(&[device(512 << 20), physical(4, vec![bar])]).enumerate();
    let expected = FirmwareError::NoRoom {
        function: FunctionId::new(2, 0, 0),
        wide: false,
        room: 0x3ec0_0000,
    };
    assert_eq!(error, Err(expected));
}

#[test]
fn a_window_with_nothing_behind_is_closed() {
    let mut tree = Tree::below_a_host(&[Shape::Device(Vec::new(), 512, None)]);
    assert_eq!(tree.enumerate(), Ok(()));
    let port = tree.nodes[0].0.space(FunctionPlace::Port(0));
    for (first, last) in [port.memory_window(), port.prefetchable_window()] {
        assert!(first > last);
    }
}

#[test]
fn a_chain_longer_than_the_bus_numbers_ends_at_the_bridge_without_one() {
    let chain = (0..200).fold(device(4096), |below, _| Shape::Switch(vec![below]));
    let error = Tree::below_a_host(&[chain]).enumerate();
    assert_eq!(error, Err(FirmwareError::NoBus(FunctionId::new(255, 0, 0))));
}

#[test]
fn bars_that_are_more_than_there_is_room_for_are_told_with_the_largest() {
    let error = Tree::below_a_host(&[device(4096), device(1 << 30)]).enumerate();
    let expected = FirmwareError::NoRoom {
        function: FunctionId::new(2, 0, 0),
        wide: false,
        room: 0x3ec0_0000,
    };
    assert_eq!(error, Err(expected));
}

#[test]
fn a_setting_is_made_after_enumeration() {
    let mut tree = Tree::below_a_host(&[device(4096)]);
    assert_eq!(tree.enumerate(), Ok(()));
    let id = FunctionId::new(1, 0, 0);
    let port = FunctionId::new(0, 1, 0);
    let settings = vec![
        (id, Setting::MaxPayload(128)),
        (id, Setting::MaxReadRequest(4096)),
        (id, Setting::MemoryEnable(false)),
        (port, Setting::Access(AccessService::RequestRedirect, true)),
        (port, Setting::Access(AccessService::EgressControl, true)),
        (port, Setting::EgressControl(33, true)),
    ];
    Coroutine::new(|desk| apply(desk, settings)).run(|access| tree.answer(access));
    let own = tree.own(1);
    assert_eq!((own.max_payload(), own.max_read_request()), (128, 4096));
    assert!(!own.memory_enable() && own.bus_master_enable());
    let port = tree.nodes[0].0.space(FunctionPlace::Port(0));
    let enabled = AccessService::ALL.map(|service| port.has_enabled(service));
    assert_eq!(enabled, [false, false, true, false, false, true, false]);
    assert!(port.controls_egress(33) && !port.controls_egress(1));
}

fn any_bars(sizes: std::ops::Range<u32>) -> impl Strategy<Value = Vec<Bar>> {
    let bar = (sizes, any::<bool>());
    prop::collection::vec(bar, 0..3).prop_map(|bars| {
        (0..)
            .step_by(2)
            .zip(bars)
            .map(|(index, (size, wide))| Bar {
                index,
                size: 1 << size,
                wide,
            })
            .collect()
    })
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let total = prop_oneof![1..8_u8, 8..=255_u8];
    let virtual_functions = prop::option::of((total, any_bars(12..16), 1..5_u8));
    let device = (any_bars(7..24), 0..6_u32, virtual_functions).prop_map(
        |(bars, supported, virtual_functions)| {
            let of = |(total, bars, msi_vectors)| SrIov {
                total,
                device: 2,
                bars,
                msi_vectors,
                msix: None,
            };
            Shape::Device(bars, 128 << supported, virtual_functions.map(of))
        },
    );
    let shape = device.prop_recursive(3, 24, 4, |below| {
        prop::collection::vec(any_port(below), 1..4).prop_map(Shape::Switch)
    });
    any_port(shape)
}

fn any_port(below: impl Strategy<Value = Shape>) -> impl Strategy<Value = Shape> {
    (below, any::<bool>()).prop_map(|(shape, has_ari)| below_port(shape, has_ari))
}

/// The component below a port with ARI Forwarding or without.
fn below_port(shape: Shape, has_ari: bool) -> Shape {
    if has_ari {
        shape
    } else {
        Shape::WithoutAri(Box::new(shape))
    }
}

/// The ID of a device with `total` virtual functions, the IDs of its first and its last virtual function, the bus numbers below its port, and
/// the ID of the next device. The port has ARI Forwarding if `has_ari`.
fn virtual_ids(total: u8, has_ari: bool) -> (String, [String; 2], (u8, u8), FunctionId) {
    let shape = below_port(physical(total, Vec::new()), has_ari);
    let mut tree = Tree::below_a_host(&[shape, device(4096)]);
    assert_eq!(tree.enumerate(), Ok(()));
    let functions = &tree.nodes[1].0;
    let numbers = [0, usize::from(total) - 1];
    let ids = numbers.map(|number| functions.id_of(FunctionPlace::Virtual(number)));
    let port = tree.nodes[0].0.space(FunctionPlace::Port(0));
    assert_eq!(port.forwards_ari(), has_ari);
    let next = tree.nodes[2].0.id();
    let own = functions.id().to_string();
    (own, ids.map(|id| id.to_string()), port.buses(), next)
}

#[test]
fn virtual_functions_without_space_behind_their_physical_function_take_the_next_bus() {
    for (total, has_ari, first, last, buses) in [
        (7, true, "01:00.1", "01:00.7", (1, 1)),
        (7, false, "01:00.1", "01:00.7", (1, 1)),
        (8, true, "01:00.1", "01:01.0", (1, 1)),
        (8, false, "02:00.0", "02:00.7", (1, 2)),
        (255, true, "01:00.1", "01:1f.7", (1, 1)),
        (255, false, "02:00.0", "02:1f.6", (1, 2)),
    ] {
        let (own, ids, found, next) = virtual_ids(total, has_ari);
        assert_eq!(
            (own.as_str(), ids),
            ("01:00.0", [first, last].map(str::to_owned))
        );
        assert_eq!(found, buses);
        assert_eq!(next, FunctionId::new(buses.1 + 1, 0, 0));
    }
}

#[test]
fn virtual_functions_beyond_the_last_bus_are_told_with_their_physical_function() {
    let chain = |shape| (0..126).fold(shape, |below, _| Shape::Switch(vec![below]));
    let mut tree = Tree::below_a_host(&[chain(device(4096)), physical(8, Vec::new())]);
    assert_eq!(tree.enumerate(), Ok(()));
    assert_eq!(tree.nodes.last().map(|node| node.0.id().bus()), Some(254));
    let narrow = Shape::WithoutAri(Box::new(physical(8, Vec::new())));
    let mut tree = Tree::below_a_host(&[chain(device(4096)), narrow.clone()]);
    assert_eq!(tree.enumerate(), Ok(()));
    let mut tree = Tree::below_a_host(&[chain(device(4096)), device(4096), narrow]);
    let error = FirmwareError::NoBusForVirtual(FunctionId::new(255, 0, 0));
    assert_eq!(tree.enumerate(), Err(error));
}

proptest! {
    #[test]
    fn no_two_bars_overlap_and_each_is_aligned_in_every_window_above(
        shapes in prop::collection::vec(any_shape(), 1..4)
    ) {
        let mut tree = Tree::below_a_host(&shapes);
        prop_assert_eq!(tree.enumerate(), Ok(()));
        let mut bars = tree.bars(&shapes, 0);
        bars.sort_unstable();
        for (first, last, wide) in &bars {
            prop_assert_eq!(first % (last - first + 1), 0);
            let zone = if *wide { Zone::BEYOND } else { Zone::BELOW_4_GIB };
            prop_assert!(zone.base <= *first && *last < zone.end);
        }
        prop_assert!(bars.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn each_function_has_an_id_of_its_own_by_which_it_is_reached(
        shapes in prop::collection::vec(any_shape(), 1..4)
    ) {
        let mut tree = Tree::below_a_host(&shapes);
        prop_assert_eq!(tree.enumerate(), Ok(()));
        let all = tree.nodes.iter().map(|(functions, _)| {
            functions.places().map(|place| (functions.id_of(place), place)).collect::<Vec<_>>()
        });
        let mut ids = Vec::new();
        for (node, places) in all.collect::<Vec<_>>().into_iter().enumerate() {
            for (id, place) in places {
                ids.push(id);
                prop_assert_eq!(tree.nodes[node].0.place_of(id), Some(place));
                // The test writes a register without effect here: Message Address in virtual functions, and Interrupt Line in other functions.
                let (register, value) = match place {
                    FunctionPlace::Virtual(_) => (register::MSI + 1, u32::from(id.0) << 2),
                    _ => (register::INTERRUPT, u32::from(id.0) & 0xff),
                };
                let action = Action::Write { value, enables: 0xf };
                tree.answer(ConfigAccess { target: id, register, action });
                let space = tree.nodes[node].0.space(place);
                prop_assert_eq!(space.read(register), value, "{} {:?}", id, place);
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), count);
        // The bus number of each function below a bridge is within the bus numbers of the bridge.
        for (functions, below) in &tree.nodes {
            for (port, child) in below.iter().enumerate() {
                let (first, last) = functions.space(FunctionPlace::Port(port)).buses();
                let child = &tree.nodes[*child].0;
                for place in child.places() {
                    let bus = child.id_of(place).bus();
                    prop_assert!((first..=last).contains(&bus), "{bus} in {first} to {last}");
                }
            }
        }
    }
}

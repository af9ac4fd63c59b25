//! Test devices around a switch or a root complex, which send packets on command.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use fabric::{
    IdentityMapping, IommuParameters, RootComplexConfig, RootComplexParameters, Switch,
    SwitchConfig, SwitchParameters, TranslationConfig,
};
use host::{Host, Processor};
use kernel::{
    Action, Bandwidth, Component, ComponentId, Effects, Label, Port, Span, Stream, Time, World,
};
use link::{Arrival, At, BitErrors, LinkConfig, LinkEnd, LinkTimer, PortParameters, Waiting};
use packet::{Charge, Frame, Pcie, Stamp};
use protocol::{
    Attributes, BridgeFunction, Class, ConfigSpace, Express, FunctionId, Generation, Header,
    Identity, PortType, Tag, TrafficClass, register,
};
use transaction::{Functions, Marks, PageSize, PortFunction};

/// A device that sends packets on command, and keeps each packet that it receives until a command frees the packet.
pub struct Stub {
    link: LinkEnd,
    pub held: VecDeque<Charge>,
    /// The numbers of the packets that have arrived.
    pub given: Vec<u64>,
}

#[derive(Clone, Copy)]
pub struct StubTimer(LinkTimer);

impl Label for StubTimer {
    fn number(self) -> u32 {
        self.0 as u32
    }
    fn from_number(number: u32) -> Self {
        StubTimer(LinkTimer::from_number(number))
    }
}

impl From<(Port, LinkTimer)> for StubTimer {
    fn from((_, timer): (Port, LinkTimer)) -> Self {
        StubTimer(timer)
    }
}

const PORT: Port = Port(0);

/// The function that sends a packet, and fields of its header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marked {
    pub function: u8,
    pub traffic_class: TrafficClass,
    pub attributes: Attributes,
}

impl Component for Stub {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = StubTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        let _ = self.link.start(&mut At::new(fx, PORT));
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let (arrival, _) = self.link.receive(frame, &mut At::new(fx, PORT));
        if let Some(Arrival::Packet(delivery)) = arrival {
            let packet = &fx.store()[delivery.packet];
            self.held.push_back(Charge::of(packet.header()));
            self.given.push(packet.stamp.offset);
            fx.store().release(delivery.packet);
        }
    }

    fn expire(&mut self, StubTimer(timer): StubTimer, fx: &mut Effects<'_, Self>) {
        let _ = self.link.expire(timer, &mut At::new(fx, PORT));
    }
}

impl Stub {
    fn send(&mut self, header: Header, number: u64, fx: &mut Effects<'_, Self>) {
        let packet = fx.store().claim();
        let stamp = Stamp {
            offset: number,
            ..Stamp::default()
        };
        fx.store()[packet].write(header, stamp).fill(0);
        let now = fx.now();
        let waiting = Waiting::new(packet, fx.store(), now);
        let _ = self.link.enqueue(0, waiting, &mut At::new(fx, PORT));
    }

    /// Frees the oldest packet of `class`, if there is one.
    fn free(&mut self, class: Class, fx: &mut Effects<'_, Self>) {
        let oldest = self.held.iter().position(|charge| charge.class == class);
        if let Some(charge) = oldest.and_then(|at| self.held.remove(at)) {
            let _ = self.link.free(charge, &mut At::new(fx, PORT));
        }
    }
}

/// The component between the stubs.
enum Middle {
    Switch(Box<Switch>),
    Root(Box<Host>),
}

/// Stubs around a switch or a root complex. Stub `n` is component `n`, and the switch or root complex is the last component.
pub struct Star {
    pub stubs: Vec<Stub>,
    middle: Middle,
    world: World<Pcie>,
    /// For each packet, the stub that sent it and its header.
    pub headers: Vec<(usize, Header)>,
}

fn end(
    port: &PortParameters,
    errors: Option<BitErrors>,
    sources: usize,
    cut_through: (bool, bool),
    finished: bool,
) -> LinkEnd {
    let config = LinkConfig {
        max_payload: 512,
        sources,
        cut_through: cut_through.0,
        far_cut_through: cut_through.1,
        report_finished: finished,
        is_upstream: true,
        errors,
        ..LinkConfig::default()
    };
    LinkEnd::new(config, port)
}

/// The first address of the BAR of a stub.
const fn base(stub: usize) -> u64 {
    0xc000_0000 + ((stub as u64) << 20)
}

/// An address outside of all BARs and of the memory.
const NOWHERE: u64 = 0xe000_0000;

/// The ID of a stub. Stub 0 is on bus 4, above a switch with bus 5.
const fn function(stub: usize) -> FunctionId {
    FunctionId::new(stub as u8 * 2 + 4, 0, 0)
}

/// The functions of the switch or root complex, set up in the same way as by firmware. Stub `n` is below the port with this number.
fn functions(kind: Kind, stubs: Range<usize>) -> Functions {
    let identity = Identity {
        vendor: 0x1b36,
        device: 1,
        revision: 0,
        class: 0x06_0400,
    };
    let bridge = |port, buses: u32, window| {
        let mut space = ConfigSpace::bridge(&BridgeFunction {
            identity,
            express: Express {
                port,
                max_payload_supported: 512,
                generation: Generation::Gen3,
                lanes: 4,
                number: 0,
                tags: 32,
                ten_bit_tag_completer: true,
                read_completion_boundary: 64,
                atomic_routing: true,
                ari_forwarding: true,
                tlp_prefixes: false,
                data_link_features: None,
                virtual_channels: None,
                l0s_exit_ns: None,
                l1_exit_ns: None,
                has_separate_clocks: false,
            },
        });
        let enable = register::MEMORY_SPACE | register::BUS_MASTER;
        space.write(register::COMMAND, enable, 0b0011);
        space.write(register::BUSES, buses, 0b0111);
        space.write(register::MEMORY_WINDOW, window, 0b1111);
        space.write(register::PREFETCHABLE_WINDOW, CLOSED, 0b1111);
        let payload = Express::max_payload_field(512).1;
        space.write(register::DEVICE_CONTROL, payload, 0b0011);
        space
    };
    let port = |kind| {
        move |stub: usize| {
            let bus = u32::from(function(stub).bus());
            let window = (base(stub) >> 16) as u32;
            PortFunction {
                device: stub as u8,
                function: 0,
                space: bridge(kind, bus << 16 | bus << 8, window << 16 | window),
            }
        }
    };
    if kind.is_root() {
        let ports = stubs.map(port(PortType::RootPort)).collect();
        return Functions::root(ConfigSpace::host_bridge(&identity), ports);
    }
    let window = (base(stubs.end - 1) | base(stubs.start) >> 16) as u32;
    let upstream = bridge(PortType::Upstream, 0xff_05_04, window);
    let ports = stubs.map(port(PortType::Downstream)).collect();
    Functions::switch(upstream, ports)
}

/// The value for an empty window, whose limit is below its base.
const CLOSED: u32 = 0x0000_fff0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    CutThrough,
    StoreAndForward,
    Root,
    /// A root complex with two sockets. The stubs are connected to the two sockets in turn.
    Sockets,
    /// A root complex that translates addresses, and soon invalidates its translations.
    Translating,
}

impl Kind {
    fn is_root(self) -> bool {
        matches!(self, Kind::Root | Kind::Sockets | Kind::Translating)
    }

    /// The parameters of a root complex. The connection of its sockets is slower than the links, so that packets wait for it.
    fn root_parameters(self) -> RootComplexParameters {
        RootComplexParameters {
            sockets: if self == Kind::Sockets { 2 } else { 1 },
            socket_bandwidth: Bandwidth(2_000_000_000),
            memory_address_bits: 32,
            ..RootComplexParameters::default()
        }
    }

    /// The configuration of a translation agent that maps only the pages of `stubs`. Half of the requests wait for a walk.
    fn translation(self, stubs: Range<usize>) -> Option<TranslationConfig> {
        let parameters = IommuParameters {
            iotlb_entries: 2,
            iotlb_ways: 1,
            walkers: 2,
            iommu_requests: 5,
            invalidate_after: Some(kernel::Bytes(700)),
            ..IommuParameters::default()
        };
        let page = |stub| (base(stub)..base(stub) + 4096, PageSize::Kib4);
        (self == Kind::Translating).then(|| TranslationConfig {
            parameters,
            asking: Vec::new(),
            others: Vec::new(),
            tables: None,
            present: Vec::new(),
            absent: Vec::new(),
            identity: Some(IdentityMapping {
                tables: 0..1 << 20,
                ranges: stubs.map(page).collect(),
            }),
            processes: Vec::new(),
        })
    }
}

impl Star {
    /// Creates a star with `stubs` stubs. `inner` describes the ports of the component in the middle, and `outer` describes the ports of the stubs.
    pub fn new(kind: Kind, stubs: usize, inner: &PortParameters, outer: &PortParameters) -> Self {
        Self::with_errors(kind, stubs, inner, outer, 0.0, 1)
    }

    /// Creates a star in the same way as [`Self::new`], with the bit error rate `rate` on all wires.
    pub fn with_errors(
        kind: Kind,
        stubs: usize,
        inner: &PortParameters,
        outer: &PortParameters,
        rate: f64,
        seed: u64,
    ) -> Self {
        let errors =
            |name: String| (rate > 0.0).then(|| BitErrors::new(rate, Stream::named(seed, &name)));
        let cut_through = kind == Kind::CutThrough;
        let first = usize::from(!kind.is_root());
        let functions = functions(kind, first..stubs);
        let links = (0..stubs)
            .map(|stub| {
                let errors = errors(format!("up {stub}"));
                end(inner, errors, stubs + 2, (cut_through, false), true)
            })
            .collect();
        let middle = if kind.is_root() {
            let parameters = kind.root_parameters();
            Middle::Root(Box::new(Host::new(RootComplexConfig {
                functions,
                links,
                sockets: (0..stubs as u32)
                    .map(|stub| stub % parameters.sockets)
                    .collect(),
                quadrants: vec![0; stubs],
                patterns: Arc::new([]),
                marks: Marks::default(),
                jitter: Stream::named(1, "jitter"),
                coherence: None,
                translation: kind.translation(0..stubs),
                cpu: Processor::new(FunctionId(0), parameters.limits(), 1),
                parameters,
            })))
        } else {
            Middle::Switch(Box::new(Switch::new(SwitchConfig {
                parameters: SwitchParameters {
                    cut_through,
                    ..SwitchParameters::default()
                },
                functions,
                links,
            })))
        };
        let mut world = World::default();
        let hub = ComponentId(stubs as u32);
        for stub in 0..stubs as u32 {
            world.connect((hub, stub), (ComponentId(stub), 0), Span::from_ns(1));
        }
        let stub = |stub| Stub {
            link: end(
                outer,
                errors(format!("down {stub}")),
                1,
                (false, cut_through),
                false,
            ),
            held: VecDeque::new(),
            given: Vec::new(),
        };
        let mut star = Star {
            stubs: (0..stubs).map(stub).collect(),
            middle,
            world,
            headers: Vec::new(),
        };
        for (id, stub) in star.stubs.iter_mut().enumerate() {
            stub.start(&mut star.world.effects(ComponentId(id as u32)));
        }
        match &mut star.middle {
            Middle::Switch(switch) => switch.start(&mut star.world.effects(hub)),
            Middle::Root(root) => root.start(&mut star.world.effects(hub)),
        }
        star
    }

    pub fn run_for(&mut self, span: Span) {
        let limit = Time::from_fs(self.world.now().as_fs() + span.as_fs());
        while let Some(what) = self.world.advance(limit) {
            let id = what.target();
            if let Some(stub) = self.stubs.get_mut(id.0 as usize) {
                pass(stub, what.action(), &mut self.world.effects(id));
            } else {
                match &mut self.middle {
                    Middle::Switch(it) => {
                        pass(&mut **it, what.action(), &mut self.world.effects(id));
                    }
                    Middle::Root(it) => pass(&mut **it, what.action(), &mut self.world.effects(id)),
                }
            }
        }
        self.world.pass_to(limit);
        self.world.observations.clear();
    }

    /// Makes stub `from` send a packet of `class` to stub `to`.
    pub fn send(&mut self, from: usize, to: usize, class: Class, len: u32) {
        self.send_marked(from, to, (class, len), Marked::default());
    }

    /// Makes stub `from` send a packet to stub `to`, with the function, the traffic class and the attributes of `marked`.
    pub fn send_marked(
        &mut self,
        from: usize,
        to: usize,
        (class, len): (Class, u32),
        marked: Marked,
    ) {
        let function_of = |stub: usize| {
            let one = function(stub);
            FunctionId::new(one.bus(), one.device(), marked.function)
        };
        let number = self.headers.len() as u64;
        let read = |requester, address| {
            let tag = Tag(number as u16 % 256);
            Header::memory_read(requester, tag, address, len).expect("a legal read")
        };
        let header = match class {
            Class::Posted => Header::memory_write(function_of(from), base(to), len),
            Class::NonPosted => Ok(read(function_of(from), base(to))),
            Class::Completion => {
                Header::completion_with_data(&read(function(to), 0), function_of(from), 0, len)
            }
        };
        let header = Header {
            traffic_class: marked.traffic_class,
            attributes: marked.attributes,
            ..header.expect("a legal packet")
        };
        self.headers.push((from, header));
        let id = ComponentId(from as u32);
        self.stubs[from].send(header, number, &mut self.world.effects(id));
    }

    /// Makes stub `from` send a packet to an address that belongs to no component.
    pub fn send_nowhere(&mut self, from: usize, class: Class) {
        let number = self.headers.len() as u64;
        let header = match class {
            Class::Posted => Header::memory_write(function(from), NOWHERE, 64),
            _ => Header::memory_read(function(from), Tag(0), NOWHERE, 64),
        };
        let header = header.expect("a legal packet");
        self.headers.push((from, header));
        let id = ComponentId(from as u32);
        self.stubs[from].send(header, number, &mut self.world.effects(id));
    }

    pub fn free(&mut self, stub: usize, class: Class) {
        let id = ComponentId(stub as u32);
        self.stubs[stub].free(class, &mut self.world.effects(id));
    }

    /// Frees all packets that arrive, until no packet has arrived for a long time.
    pub fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < 10 {
            let before = self.arrived();
            for stub in 0..self.stubs.len() {
                while let Some(charge) = self.stubs[stub].held.front().copied() {
                    self.free(stub, charge.class);
                }
            }
            self.run_for(Span::from_us(70));
            quiet = if self.arrived() == before {
                quiet + 1
            } else {
                0
            };
        }
    }

    /// The number of packets that have arrived.
    pub fn arrived(&self) -> usize {
        self.stubs.iter().map(|stub| stub.given.len()).sum()
    }

    /// The number of packets that are in use.
    pub fn packets_in_use(&self) -> usize {
        self.world.store.in_use()
    }
}

fn pass<C: Component<Traffic = Pcie>>(it: &mut C, action: Action<Frame>, fx: &mut Effects<'_, C>) {
    match action {
        Action::Receive(port, frame) => it.receive(C::Port::from_number(port), frame, fx),
        Action::Expire(timer) => it.expire(C::Timer::from_number(timer), fx),
    }
}

pub fn buffers(headers: [u32; 3], data: u64) -> PortParameters {
    PortParameters {
        posted_headers: Some(headers[0]),
        nonposted_headers: Some(headers[1]),
        completion_headers: Some(headers[2]),
        posted_data: Some(kernel::Bytes(data)),
        completion_data: Some(kernel::Bytes(data)),
        ..PortParameters::default()
    }
}

/// All kinds of components that queue packets.
pub const KINDS: [Kind; 5] = [
    Kind::CutThrough,
    Kind::StoreAndForward,
    Kind::Root,
    Kind::Sockets,
    Kind::Translating,
];

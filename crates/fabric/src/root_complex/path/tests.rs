//! Tests of each stage alone: whether it passes a packet or keeps it, and where a kept packet arrives.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Action, Bytes, Component, ComponentId, Label, Span, Stream, World};
use link::{Concern, LinkConfig, LinkEnd, PortParameters};
use packet::{FlowId, Packets, Pcie, Stamp};
use protocol::{
    BridgeFunction, Completion, CompletionTimeout, ConfigSpace, Express, FunctionId, Generation,
    Identity, PortType, Tag, register,
};
use transaction::{ConfigAccess, Functions, Marks, Next, PageSize, PortFunction, Taken};

use super::*;
use crate::root_complex::{CoherenceConfig, TranslationConfig};
use crate::{
    CoherenceParameters, CoreAccess, CoreOperation, IdentityMapping, IommuParameters, Ram,
    RootComplexConfig, RootComplexParameters, RootTimer, TranslationOrder,
};

/// Software that executes the requests of a test, and records everything that it receives.
#[derive(Debug, Default)]
struct Software {
    accesses: VecDeque<CoreAccess>,
    interrupts: Vec<u32>,
}

impl Cpu for Software {
    fn next(&mut self, _: Time, _: &mut Packets, _: Ram<'_>) -> Next {
        Next::Nothing
    }
    fn next_of_programs(&mut self, _: Time, _: &mut Packets, _: Ram<'_>) -> Next {
        Next::Nothing
    }
    fn take(&mut self, _: &Completion, _: &[u8]) -> Option<Taken> {
        None
    }
    fn take_load(&mut self, _: &Completion, _: &[u8], _: Time) -> bool {
        false
    }
    fn give_up_load(&mut self, _: Time) -> Option<(u64, u32)> {
        None
    }
    fn complete_round_trip(&mut self, _: FlowId, _: Time) -> bool {
        false
    }
    fn set_max_payload(&mut self, _: u32) {}
    fn time_out_after(&mut self, _: CompletionTimeout) {}
    fn address_of(&self, _: FlowId) -> Option<u64> {
        None
    }
    fn interrupt(&mut self, message: u32) {
        self.interrupts.push(message);
    }
    fn next_access(&mut self) -> Option<CoreAccess> {
        self.accesses.pop_front()
    }
    fn accessed(&mut self, _: u32, _: Vec<u8>, _: Time) {}
    fn next_order(&mut self) -> Option<TranslationOrder> {
        None
    }
    fn ordered(&mut self, _: u32, _: Time) {}
    fn next_configuration(&mut self) -> Option<(u32, ConfigAccess)> {
        None
    }
    fn configured(&mut self, _: u32, _: Option<u32>, _: Time) {}
    fn watches(&self, _: u64, _: u32) -> bool {
        false
    }
    fn written(&mut self, _: u64, _: u32) {}
}

const ROOT: ComponentId = ComponentId(0);
/// The root port at which packets arrive, and another root port.
const PORT: Port = Port(0);
const PEER: Port = Port(1);
const DEVICE: FunctionId = FunctionId::new(4, 0, 0);
/// The addresses below the other root port.
const PEER_WINDOW: u64 = 0xc010_0000;
const NOWHERE: u64 = 0xe000_0000;
/// Half of the memory. With two sockets, the second socket has the memory from this offset on.
const FAR_MEMORY: u64 = 512 << 20;

/// A root complex with two root ports whose links never come up, so that packets for the links stay in the ports.
struct Bench {
    root: RootComplex<Software>,
    world: World<Pcie>,
}

fn port(number: u8) -> PortFunction {
    let identity = Identity {
        vendor: 0x1b36,
        device: 1,
        revision: 0,
        class: 0x06_0400,
    };
    let express = Express {
        port: PortType::RootPort,
        max_payload_supported: 512,
        generation: Generation::Gen3,
        lanes: 4,
        number,
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
    };
    let mut space = ConfigSpace::bridge(&BridgeFunction { identity, express });
    let (bus, window) = (4 + u32::from(number), 0xc000 + 0x10 * u32::from(number));
    let enable = register::MEMORY_SPACE | register::BUS_MASTER;
    space.write(register::COMMAND, enable, 0b0011);
    space.write(register::BUSES, bus << 16 | bus << 8, 0b0111);
    space.write(register::MEMORY_WINDOW, window << 16 | window, 0b1111);
    space.write(register::PREFETCHABLE_WINDOW, 0x0000_fff0, 0b1111);
    PortFunction {
        device: number,
        function: 0,
        space,
    }
}

fn link() -> LinkEnd {
    let config = LinkConfig {
        max_payload: 512,
        sources: 3,
        report_finished: true,
        ..LinkConfig::default()
    };
    // The receive buffers are unlimited, because no packet of these tests arrives over the link.
    LinkEnd::new(
        config,
        &PortParameters {
            posted_headers: Some(0),
            posted_data: Some(Bytes(0)),
            nonposted_headers: Some(0),
            nonposted_data: Some(Bytes(0)),
            completion_headers: Some(0),
            completion_data: Some(Bytes(0)),
            ..PortParameters::default()
        },
    )
}

impl Bench {
    fn new(change: impl FnOnce(&mut RootComplexConfig<Software>)) -> Self {
        let identity = Identity {
            vendor: 0x1b36,
            device: 8,
            revision: 0,
            class: 0x06_0000,
        };
        let ports = vec![port(0), port(1)];
        let mut config = RootComplexConfig {
            parameters: RootComplexParameters {
                memory_address_bits: 32,
                ..RootComplexParameters::default()
            },
            functions: Functions::root(ConfigSpace::host_bridge(&identity), ports),
            links: vec![link(), link()],
            sockets: vec![0, 0],
            quadrants: vec![0, 0],
            patterns: Arc::new([]),
            marks: Marks::default(),
            jitter: Stream::named(1, "jitter"),
            coherence: None,
            translation: None,
            cpu: Software::default(),
        };
        change(&mut config);
        let mut world = World::default();
        for port in [PORT, PEER] {
            let far = (ComponentId(1), port.number());
            world.connect((ROOT, port.number()), far, Span::ZERO);
        }
        world.pass_to(Time::ZERO + Span::from_us(1));
        Bench {
            root: RootComplex::new(config),
            world,
        }
    }

    /// The result of one stage for a packet with this header and payload.
    fn step(
        &mut self,
        header: Header,
        payload: &[u8],
        stage: impl FnOnce(&mut RootComplex<Software>, Inbound<'_>, &mut Fx<'_>) -> Step,
    ) -> Step {
        let packet = self.world.store.make(header, Stamp::default(), payload);
        let inbound = Inbound::new(PORT, packet, &header, self.world.now());
        stage(&mut self.root, inbound, &mut self.world.effects(ROOT))
    }

    /// Delivers a packet without the stages before the delivery.
    fn deliver(&mut self, header: Header, payload: &[u8]) {
        let step = self.step(header, payload, |root, inbound, fx| {
            root.deliver(inbound, fx);
            Step::Kept
        });
        assert_eq!(step, Step::Kept);
        self.run();
    }

    /// Handles all events of the next millisecond.
    fn run(&mut self) {
        let end = self.world.now() + Span::from_us(1000);
        while let Some(event) = self.world.advance(end) {
            if let Action::Expire(number) = event.action() {
                let timer = RootTimer::from_number(number);
                self.root.expire(timer, &mut self.world.effects(ROOT));
            }
        }
    }

    fn memory(&self, address: u64) -> [u8; 4] {
        let mut bytes = [0; 4];
        self.root.memory().read(address, &mut bytes);
        bytes
    }

    /// Whether a packet waits at this root port to be sent.
    fn waits_at(&self, port: Port) -> bool {
        let link = self.root.links().nth(port.index());
        let why = link.and_then(|link| link.why(Concern::Any, self.world.now(), &self.world.store));
        why.is_some()
    }
}

type Fx<'w> = Effects<'w, RootComplex<Software>>;

fn write(address: u64, len: u32) -> Header {
    Header::memory_write(DEVICE, address, len).expect("a legal write")
}

fn read(address: u64) -> Header {
    Header::memory_read(DEVICE, Tag(1), address, 4).expect("a legal read")
}

fn poisoned(header: Header) -> Header {
    Header {
        poisoned: true,
        ..header
    }
}

/// A translation agent that has mappings for the pages of these addresses.
fn translation(pages: &[u64]) -> TranslationConfig {
    let page = |address: &u64| (*address..*address + 4096, PageSize::Kib4);
    TranslationConfig {
        parameters: IommuParameters::default(),
        asking: Vec::new(),
        others: Vec::new(),
        tables: None,
        present: Vec::new(),
        absent: Vec::new(),
        identity: Some(IdentityMapping {
            tables: 0..1 << 20,
            ranges: pages.iter().map(page).collect(),
        }),
        processes: Vec::new(),
    }
}

const PAGE: u64 = 2 << 20;

#[test]
fn a_root_port_admits_what_its_registers_permit() {
    let admit = |header, len| {
        let mut bench = Bench::new(|_| ());
        let step = bench.step(header, &vec![7; len], RootComplex::admit);
        assert_eq!(
            bench.world.store.in_use() == 0,
            step == Step::Kept && !bench.waits_at(PORT)
        );
        step
    };
    assert_eq!(admit(write(PAGE, 128), 128), Step::Pass);
    assert_eq!(admit(write(PAGE, 132), 132), Step::Kept);
    assert_eq!(admit(read(PAGE), 0), Step::Pass);
}

#[test]
fn memory_takes_poisoned_data_and_nobody_else_serves_a_poisoned_request() {
    let mut bench = Bench::new(|_| ());
    let mut admit = |header, payload: &[u8]| bench.step(header, payload, RootComplex::admit);
    assert_eq!(admit(poisoned(write(PAGE, 4)), &[7; 4]), Step::Pass);
    assert_eq!(admit(poisoned(read(PAGE)), &[]), Step::Kept);
    let interrupt = write(crate::INTERRUPTS.start, 4);
    assert_eq!(admit(poisoned(interrupt), &[7; 4]), Step::Kept);
}

#[test]
fn a_request_of_a_function_that_may_not_send_any_is_refused() {
    let mut bench = Bench::new(|config| {
        let mut silent = port(0);
        silent
            .space
            .write(register::COMMAND, register::MEMORY_SPACE, 0b0011);
        let identity = Identity {
            vendor: 0x1b36,
            device: 8,
            revision: 0,
            class: 0x06_0000,
        };
        let bridge = ConfigSpace::host_bridge(&identity);
        config.functions = Functions::root(bridge, vec![silent, port(1)]);
    });
    let step = bench.step(read(PAGE), &[], RootComplex::admit);
    assert_eq!((step, bench.waits_at(PORT)), (Step::Kept, true));
}

#[test]
fn a_packet_passes_where_no_address_is_translated() {
    let mut bench = Bench::new(|_| ());
    let step = bench.step(write(PAGE, 4), &[7; 4], RootComplex::translate);
    assert_eq!(step, Step::Pass);
}

#[test]
fn a_packet_is_kept_until_its_address_is_translated() {
    let mut bench = Bench::new(|config| config.translation = Some(translation(&[PAGE])));
    let step = bench.step(write(PAGE + 64, 4), &[7; 4], RootComplex::translate);
    assert_eq!((step, bench.memory(PAGE + 64)), (Step::Kept, [0; 4]));
    bench.run();
    assert_eq!(bench.memory(PAGE + 64), [7; 4]);
}

#[test]
fn a_packet_whose_address_has_no_translation_is_refused() {
    let mut bench = Bench::new(|config| config.translation = Some(translation(&[PAGE])));
    let step = bench.step(read(PAGE + 4096), &[], RootComplex::translate);
    assert_eq!((step, bench.waits_at(PORT)), (Step::Kept, false));
    bench.run();
    assert!(bench.waits_at(PORT));
}

fn two_sockets(config: &mut RootComplexConfig<Software>) {
    config.parameters.sockets = 2;
}

#[test]
fn a_packet_crosses_to_the_socket_of_its_target_and_no_other() {
    let mut bench = Bench::new(two_sockets);
    let step = bench.step(write(FAR_MEMORY - 4, 4), &[7; 4], RootComplex::cross);
    assert_eq!(step, Step::Pass);
    let step = bench.step(write(FAR_MEMORY, 4), &[7; 4], RootComplex::cross);
    assert_eq!((step, bench.memory(FAR_MEMORY)), (Step::Kept, [0; 4]));
    bench.run();
    assert_eq!(bench.memory(FAR_MEMORY), [7; 4]);
    let mut alone = Bench::new(|_| ());
    let step = alone.step(write(FAR_MEMORY, 4), &[7; 4], RootComplex::cross);
    assert_eq!(step, Step::Pass);
}

#[test]
fn a_packet_crosses_only_once_it_is_translated() {
    let mut bench = Bench::new(|config| {
        two_sockets(config);
        config.translation = Some(translation(&[FAR_MEMORY]));
    });
    let header = write(FAR_MEMORY, 4);
    let packet = bench.world.store.make(header, Stamp::default(), &[7; 4]);
    bench
        .root
        .take(PORT, packet, &mut bench.world.effects(ROOT));
    let crossed = |bench: &Bench| {
        let links = bench.root.socket_links(bench.world.now());
        links.map(|(_, counters)| counters.packets).sum::<u64>()
    };
    assert_eq!(crossed(&bench), 0);
    bench.run();
    assert_eq!((crossed(&bench), bench.memory(FAR_MEMORY)), (1, [7; 4]));
}

#[test]
fn a_packet_is_kept_until_the_path_of_its_quadrant_is_free() {
    let mut bench = Bench::new(|config| {
        config.parameters.quadrants = 2;
        config.parameters.quadrant_bandwidth = Some(kernel::Bandwidth(1_000_000_000));
        config.quadrants = vec![0, 0];
    });
    let step = bench.step(write(PAGE, 4), &[7; 4], RootComplex::leave);
    assert_eq!(step, Step::Pass);
    let step = bench.step(write(PAGE + 64, 4), &[7; 4], RootComplex::leave);
    assert_eq!((step, bench.memory(PAGE + 64)), (Step::Kept, [0; 4]));
    bench.run();
    assert_eq!(bench.memory(PAGE + 64), [7; 4]);
    // A packet to a root port of the same quadrant, and a packet for nobody, do not take the path.
    bench.step(write(PAGE, 128), &[7; 128], RootComplex::leave);
    for address in [PEER_WINDOW, NOWHERE] {
        let step = bench.step(write(address, 4), &[7; 4], RootComplex::leave);
        assert_eq!(step, Step::Pass);
    }
}

#[test]
fn a_packet_is_kept_while_a_cache_has_a_line_of_it() {
    let mut bench = Bench::new(|config| {
        config.coherence = Some(CoherenceConfig {
            parameters: CoherenceParameters {
                coherent: true,
                ..CoherenceParameters::default()
            },
            cores: 1,
            agents: vec![false; 2],
            fails_at: vec![Time::NEVER; 2],
            cached: Vec::new(),
        });
        config.cpu.accesses.push_back(CoreAccess {
            ticket: 0,
            core: 0,
            address: PAGE,
            operation: CoreOperation::Store(vec![9; 8]),
        });
    });
    bench.root.ask(&mut bench.world.effects(ROOT));
    bench.run();
    let step = bench.step(write(PAGE + 64, 4), &[7; 4], RootComplex::cohere);
    assert_eq!(step, Step::Pass);
    let step = bench.step(write(PAGE, 4), &[7; 4], RootComplex::cohere);
    assert_eq!((step, bench.memory(PAGE)), (Step::Kept, [0; 4]));
    bench.run();
    assert_eq!(
        (bench.memory(PAGE), bench.memory(PAGE + 4)),
        ([7; 4], [9; 4])
    );
}

#[test]
fn a_write_is_delivered_to_the_memory_the_cpu_or_another_root_port() {
    let mut bench = Bench::new(|_| ());
    bench.deliver(write(PAGE, 4), &[7; 4]);
    assert_eq!(bench.memory(PAGE), [7; 4]);
    bench.deliver(write(crate::INTERRUPTS.start, 4), &[1, 2, 0, 0]);
    assert_eq!(bench.root.cpu().interrupts, [0x201]);
    assert!(!bench.waits_at(PEER));
    bench.deliver(write(PEER_WINDOW, 4), &[7; 4]);
    assert!(bench.waits_at(PEER) && !bench.waits_at(PORT));
}

#[test]
fn a_request_for_nobody_and_a_completion_of_no_request_are_refused() {
    let mut bench = Bench::new(|_| ());
    bench.deliver(write(NOWHERE, 4), &[7; 4]);
    let request = Header::memory_read(FunctionId::default(), Tag(1), PAGE, 4);
    let request = request.expect("a legal read");
    let answer = Header::completion_with_data(&request, DEVICE, 0, 4);
    bench.deliver(answer.expect("a legal completion"), &[7; 4]);
    assert!(!bench.waits_at(PORT));
    bench.deliver(read(NOWHERE), &[]);
    assert!(bench.waits_at(PORT));
}

#[test]
fn a_read_of_memory_is_answered_at_the_port_that_it_came_in_by() {
    let mut bench = Bench::new(|_| ());
    bench.root.memory_mut().write(PAGE, &[5; 4]);
    let header = read(PAGE);
    let packet = bench.world.store.make(header, Stamp::default(), &[]);
    let inbound = Inbound::new(PORT, packet, &header, bench.world.now());
    bench.root.deliver(inbound, &mut bench.world.effects(ROOT));
    assert!(!bench.waits_at(PORT));
    bench.run();
    assert!(bench.waits_at(PORT) && !bench.waits_at(PEER));
}

#[test]
fn a_stage_that_keeps_a_packet_leaves_the_stages_behind_it_out() {
    for (address, is_admitted) in [(PAGE, true), (NOWHERE, false)] {
        let mut bench = Bench::new(|config| config.translation = Some(translation(&[PAGE])));
        let header = poisoned(if is_admitted {
            write(address, 4)
        } else {
            read(address)
        });
        let payload: &[u8] = if is_admitted { &[7; 4] } else { &[] };
        let packet = bench.world.store.make(header, Stamp::default(), payload);
        bench
            .root
            .take(PORT, packet, &mut bench.world.effects(ROOT));
        // A packet that its port has refused does not reach the translation agent.
        assert_eq!(bench.waits_at(PORT), !is_admitted);
        bench.run();
        let translations = bench.root.translations().expect("there is an agent");
        assert_eq!(translations.requests > 0, is_admitted);
    }
}

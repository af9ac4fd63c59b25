//! Configuration spaces: after any sequence of configuration requests and errors, the properties that software relies on hold.

use kernel::{ComponentId, Effects, Port, World};
use packet::{Frame, Pcie};
use protocol::{
    AddressSpaces, AddressTranslation, Arbitration, Ats, Bar, BridgeFunction, ChannelsControl,
    ConfigKind, ConfigRequest, ConfigSpace, CorrectableError, EndpointFunction, ErrorRecord,
    Express, FunctionId, Generation, Header, Identity, Kind, MsixTable, PageRequests, Pasid,
    PortType, SrIov, Status, Tag, UncorrectableError, VirtualChannels, WINDOW_BYTES, register,
};
use transaction::{Action, FunctionPlace, Functions, PortFunction, Reach};

/// Takes four bytes that describe a component, and then eight bytes for each request or error.
pub fn check(bytes: &[u8]) {
    let Some((shape, steps)) = bytes.split_first_chunk() else {
        return;
    };
    let mut component = Component::new(*shape);
    for step in steps.as_chunks().0 {
        component.step(*step);
    }
    component.holds();
}

/// A device, a switch or a root complex, and the bits of its registers that never change.
struct Component {
    functions: Functions,
    bars: Vec<Bar>,
    own: Fixed,
    ports: Vec<Fixed>,
    virtual_function: Option<Fixed>,
}

impl Component {
    fn new([role, capabilities, sizes, counts]: [u8; 4]) -> Self {
        let channels = channels(role);
        match role % 3 {
            0 => Self::device(&endpoint(capabilities, (sizes, channels), counts)),
            1 => {
                let upstream = bridge(PortType::Upstream, (sizes, channels));
                let ports = ports(PortType::Downstream, (sizes, channels), counts);
                Self::with_ports(Functions::switch(upstream, ports))
            }
            _ => {
                let ports = ports(PortType::RootPort, (sizes, channels), counts);
                Self::with_ports(Functions::root(ConfigSpace::host_bridge(&IDENTITY), ports))
            }
        }
    }

    fn device(function: &EndpointFunction) -> Self {
        let virtual_function = ConfigSpace::virtual_function(function);
        Component {
            functions: Functions::device(function),
            bars: function.bars.clone(),
            own: Fixed::of(&ConfigSpace::endpoint(function)),
            ports: Vec::new(),
            virtual_function: virtual_function.as_ref().map(Fixed::of),
        }
    }

    fn with_ports(functions: Functions) -> Self {
        Component {
            bars: Vec::new(),
            own: Fixed::of(functions.space(FunctionPlace::Own)),
            ports: functions.ports().map(Fixed::of).collect(),
            virtual_function: None,
            functions,
        }
    }

    /// Makes a configuration request to the component, or records an error of the function that the request would reach.
    fn step(&mut self, [what, bus, target, register, value @ ..]: [u8; 8]) {
        let kind = match what & 1 {
            0 => ConfigKind::Type0,
            _ => ConfigKind::Type1,
        };
        let request = ConfigRequest {
            requester: FunctionId(0),
            tag: Tag(0),
            target: FunctionId::new(bus & 0xf, target >> 3, target & 7),
            register: u16::from(bus & 0x30) << 4 | u16::from(register),
            first_be: what >> 4,
            kind,
        };
        let value = u32::from_le_bytes(value);
        let place = match self.functions.reach(&request) {
            Reach::Here(place) => place,
            Reach::Below(port, _) => return assert!(port < self.ports.len()),
            Reach::Nobody => return,
        };
        match what >> 1 & 7 {
            0 => self.record_timeout(place),
            1 => self.record_abort(place),
            2 => self.functions.record_correctable(place, CORRECTABLE),
            3 => self.read(place, &request),
            _ => self.write(place, &request, value),
        }
    }

    fn record_timeout(&mut self, place: FunctionPlace) {
        let mut world = World::<Pcie>::default();
        let fx: &mut Effects<'_, Silent> = &mut world.effects(ComponentId(0));
        self.functions.record_timeout(place, fx);
    }

    fn record_abort(&mut self, place: FunctionPlace) {
        let read = Header::memory_read(self.functions.id_of(place), Tag(0), 0, 4);
        let read = read.expect("a legal read");
        let answer = Header::completion(&read, FunctionId(0), Status::UnsupportedRequest);
        if let Kind::Completion(completion) = answer.expect("a read has a completion").kind {
            self.functions.record_abort(&completion);
        }
    }

    fn read(&mut self, place: FunctionPlace, request: &ConfigRequest) {
        let before = self.functions.clone();
        let value = self.functions.access(place, request, Action::Read);
        assert_eq!(value, before.space(place).read(request.register));
        assert_eq!(self.functions, before, "a read changes nothing");
    }

    /// Makes a write and checks its effects. A write changes the enabled bytes of its register, and aligns the BARs of virtual functions to a
    /// larger page. A write that sets Secondary Bus Reset of an upstream port resets the downstream ports.
    fn write(&mut self, place: FunctionPlace, request: &ConfigRequest, value: u32) {
        let before = self.functions.clone();
        let enables = request.first_be;
        let action = Action::Write { value, enables };
        self.functions.access(place, request, action);
        let bytes = (0..4).filter(|byte| enables >> byte & 1 == 1);
        let written = bytes.fold(0, |mask, byte| mask | 0xff_u32 << (8 * byte));
        let own = |functions: &Functions| functions.space(FunctionPlace::Own).link_hold();
        let is_bus_reset =
            place == FunctionPlace::Own && own(&before).is_none() && own(&self.functions).is_some();
        let virtual_bars = register::VF_BARS..register::VF_BARS + Bar::COUNT as u16;
        for other in before.places() {
            let is_gone = self.functions.places().all(|place| place != other);
            if is_gone || before.space(other) == self.functions.space(other) {
                continue;
            }
            let (old, new) = (before.space(other), self.functions.space(other));
            if matches!(other, FunctionPlace::Port(_)) && is_bus_reset {
                let mut reset = old.clone();
                reset.hot_reset();
                assert_eq!(new, &reset, "{other:?} after a hot reset");
                continue;
            }
            for register in 0..declared(old) {
                let cleared = match other {
                    FunctionPlace::Own if virtual_bars.contains(&register) => old.read(register),
                    // First VF Offset depends on ARI Capable Hierarchy.
                    FunctionPlace::Own if register == register::VF_OFFSET_AND_STRIDE => 0xffff,
                    // The status bit of a table depends on the entries of the table.
                    _ if has_table_status(register) => TABLE_STATUS,
                    _ => 0,
                };
                let is_named = other == place && register == request.register;
                let may_change = if is_named { written } else { 0 } | cleared;
                let changed = old.read(register) ^ new.read(register);
                assert_eq!(changed & !may_change, 0, "{register:#x} of {other:?}");
            }
        }
    }

    /// Checks the properties that hold after any step.
    fn holds(&self) {
        let own = self.functions.space(FunctionPlace::Own);
        let count = self.functions.virtual_places().count();
        assert_eq!(count, own.virtual_functions());
        for place in self.functions.places() {
            let fixed = match place {
                FunctionPlace::Own => Some(&self.own),
                FunctionPlace::Port(index) => self.ports.get(index),
                FunctionPlace::Virtual(_) => self.virtual_function.as_ref(),
            };
            let space = self.functions.space(place);
            fixed.expect("this function can be here").hold(space);
            values_are_legal(space);
        }
        if self.ports.is_empty() {
            for place in self.functions.places() {
                let found = self.functions.place_of(self.functions.id_of(place));
                assert_eq!(found, Some(place), "all functions have IDs of their own");
            }
        }
        for bar in &self.bars {
            assert_eq!(own.bar_base(bar.index) % bar.size, 0, "{bar:?}");
            if let Some(virtual_bar) = own.virtual_bar(bar.index) {
                let share = virtual_bar.share;
                assert!(share >= bar.size && share.is_power_of_two(), "{share:#x}");
                assert_eq!(virtual_bar.base % share, 0, "{virtual_bar:?}");
            }
        }
    }
}

/// The registers after reset, and the masks of the bits that no write, error or hot reset changes.
struct Fixed {
    reset: ConfigSpace,
    masks: Vec<u32>,
}

impl Fixed {
    fn of(reset: &ConfigSpace) -> Self {
        let mut fixed = Fixed {
            masks: vec![u32::MAX; declared(reset).into()],
            reset: reset.clone(),
        };
        for value in [0, u32::MAX] {
            let mut space = reset.clone();
            for register in 0..declared(reset) {
                space.write(register, value, 0xf);
            }
            space.apply_virtual_registers();
            fixed.except(&space);
        }
        let mut space = reset.clone();
        space.hot_reset();
        fixed.except(&space);
        for error in UNCORRECTABLE {
            for advisory in [false, true] {
                let mut space = reset.clone();
                // With SERR# Enable, the errors also set Signaled System Error.
                space.write(register::COMMAND, u32::MAX, 0b0011);
                let control = space.error_control();
                let header = Some([0xff; 16]);
                let record = ErrorRecord {
                    error,
                    header,
                    prefix: header.and_then(|_| Pasid::new(0x1_2345)),
                    advisory,
                };
                space.record(&record, control);
                space.record_master_abort();
                space.record_correctable(CORRECTABLE);
                fixed.except(&space);
            }
        }
        fixed
    }

    fn except(&mut self, changed: &ConfigSpace) {
        for (mask, register) in self.masks.iter_mut().zip(0..) {
            *mask &= !(self.reset.read(register) ^ changed.read(register));
        }
    }

    fn hold(&self, space: &ConfigSpace) {
        let mut rest = declared(space)..ConfigRequest::REGISTERS;
        assert!(rest.all(|register| space.read(register) == 0));
        for (mask, register) in self.masks.iter().zip(0..) {
            let changed = (self.reset.read(register) ^ space.read(register)) & mask;
            assert_eq!(
                changed, 0,
                "bits of register {register:#x} that never change"
            );
        }
    }
}

fn values_are_legal(space: &ConfigSpace) {
    for size in [space.max_payload(), space.max_read_request()] {
        assert!(
            (128..=4096).contains(&size) && size.is_power_of_two(),
            "{size}"
        );
    }
    assert!([32, 256, 768].contains(&space.tags_allowed()));
    assert!(space.virtual_functions() <= 255);
    assert!((1..=32).contains(&space.invalidate_queue_depth()));
    assert!(space.smallest_translation_unit() >= 4096);
    for vector in 0..32 {
        if let Some((address, _)) = space.msi(vector) {
            assert_eq!(address % 4, 0, "{address:#x}");
        }
    }
    if let Some(control) = space.channels_control() {
        channels_are_legal(&control);
    }
    if space.is_bridge() {
        for (first, last) in [space.memory_window(), space.prefetchable_window()] {
            let is_whole = first % WINDOW_BYTES == 0 && last % WINDOW_BYTES == WINDOW_BYTES - 1;
            assert!(is_whole, "{first:#x} to {last:#x}");
        }
    }
}

/// The virtual channels of each port. Roles from 128 on have virtual channels.
fn channels(role: u8) -> Option<VirtualChannels> {
    let extended = role >> 4 & 7;
    (role >= 128).then_some(VirtualChannels {
        extended,
        low_priority: extended.min(role >> 2 & 7),
        ports: (!role.is_multiple_of(3)).then_some(5),
    })
}

fn endpoint(
    capabilities: u8,
    (sizes, channels): (u8, Option<VirtualChannels>),
    counts: u8,
) -> EndpointFunction {
    let has = |bit: u8| capabilities >> bit & 1 == 1;
    let bars = bars(sizes, has(0), has(1));
    let msix = has(2).then_some(MsixTable {
        vectors: u16::from(counts) << 3,
        bar: 0,
        table: 0x800,
        pending: 0xc00,
    });
    let is_resizable = bars
        .first()
        .is_some_and(|bar| bar.wide && bar.size >= 1 << 20);
    EndpointFunction {
        identity: IDENTITY,
        bars: bars.clone(),
        msi_vectors: counts & 0x1f,
        msix,
        express: express(PortType::Endpoint, (sizes, channels)),
        virtual_functions: has(3).then_some(SrIov {
            total: counts,
            device: 0x5679,
            bars,
            msi_vectors: counts & 3,
            msix,
        }),
        address_translation: has(4).then_some(AddressTranslation {
            ats: Ats {
                invalidate_queue_depth: counts & 0x1f,
                global_invalidate: has(5),
            },
            page_requests: has(6).then_some(PageRequests {
                capacity: counts.into(),
            }),
        }),
        address_spaces: has(7).then_some(AddressSpaces {
            width: counts % 21,
            execute: has(5),
            privileged: has(6),
        }),
        is_resizable,
    }
}

/// Returns one or two BARs, of 4 KiB to 128 MiB.
fn bars(sizes: u8, wide: bool, two: bool) -> Vec<Bar> {
    let bar = |index, size: u8| Bar {
        index,
        size: 4096 << size,
        wide,
    };
    let second = two.then(|| bar(2, sizes >> 4));
    [Some(bar(0, sizes & 0xf)), second]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns one to four ports, as functions of one device or as separate devices.
fn ports(port: PortType, sizes: (u8, Option<VirtualChannels>), counts: u8) -> Vec<PortFunction> {
    let place = |number| match counts & 8 {
        0 => (number + 1, 0),
        _ => (1, number),
    };
    let port = |number| {
        let (device, function) = place(number);
        let space = bridge(port, sizes);
        PortFunction {
            device,
            function,
            space,
        }
    };
    (0..=counts & 3).map(port).collect()
}

fn bridge(port: PortType, sizes: (u8, Option<VirtualChannels>)) -> ConfigSpace {
    ConfigSpace::bridge(&BridgeFunction {
        identity: IDENTITY,
        express: express(port, sizes),
    })
}

fn express(port: PortType, (sizes, channels): (u8, Option<VirtualChannels>)) -> Express {
    let boundary = if sizes & 1 == 1 { 128 } else { 64 };
    Express {
        port,
        max_payload_supported: 128 << (sizes % 6),
        generation: Generation::Gen3,
        lanes: 4,
        number: sizes,
        tags: [32, 256, 768][usize::from(sizes % 3)],
        ten_bit_tag_completer: sizes & 2 == 2,
        read_completion_boundary: boundary,
        ari_forwarding: true,
        atomic_routing: true,
        tlp_prefixes: sizes & 4 == 4,
        data_link_features: None,
        virtual_channels: channels,
        l0s_exit_ns: None,
        l1_exit_ns: None,
        has_separate_clocks: false,
    }
}

/// The component that contains the functions. Their errors are reported in its effects.
struct Silent;

impl kernel::Component for Silent {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = Port;
    fn start(&mut self, _: &mut Effects<'_, Self>) {}
    fn receive(&mut self, _: Port, _: Frame, _: &mut Effects<'_, Self>) {}
    fn expire(&mut self, _: Port, _: &mut Effects<'_, Self>) {}
}

/// The number of the first register after the capabilities. A function with virtual channels has tables of port arbitration up to the last
/// register.
fn declared(space: &ConfigSpace) -> u16 {
    if space.has_channels() {
        ConfigRequest::REGISTERS
    } else {
        128
    }
}

/// VC Arbitration Table Status and Port Arbitration Table Status.
const TABLE_STATUS: u32 = 1 << 16;

/// Whether a register contains the status bit of an arbitration table, if the function has virtual channels.
fn has_table_status(register: u16) -> bool {
    let resources =
        register::CHANNEL_RESOURCES..register::CHANNEL_RESOURCES + 8 * register::RESOURCE_REGISTERS;
    register == register::PORT_CHANNELS_CONTROL
        || resources.contains(&register)
            && (register - resources.start) % register::RESOURCE_REGISTERS == 2
}

/// Checks that VC0 is enabled and has TC0, which no other channel has (PCIe Base 7.9.1.8), and that a table has a phase for each turn.
fn channels_are_legal(control: &ChannelsControl) {
    for (id, channel) in control.channels.iter().enumerate() {
        let classes = channel.as_ref().map(|channel| channel.classes);
        assert_eq!(classes.is_some_and(|classes| classes & 1 == 1), id == 0);
        let ports = channel.as_ref().map(|channel| &channel.ports);
        phases_are_legal(ports.unwrap_or(&Arbitration::Fixed), 16);
    }
    phases_are_legal(&control.arbitration, 8);
}

fn phases_are_legal(arbitration: &Arbitration, names: u8) {
    if let Arbitration::Phases(phases) = arbitration {
        assert!([32, 64, 128, 256].contains(&phases.len()));
        assert!(phases.iter().all(|name| *name < names));
    }
}

const IDENTITY: Identity = Identity {
    vendor: 0x1234,
    device: 0x5678,
    revision: 1,
    class: 0x12_0000,
};

const UNCORRECTABLE: [UncorrectableError; 4] = [
    UncorrectableError::CompletionTimeout,
    UncorrectableError::UnexpectedCompletion,
    UncorrectableError::MalformedTlp,
    UncorrectableError::UnsupportedRequest,
];

const CORRECTABLE: u32 = CorrectableError::BadTlp.bit() | CorrectableError::BadDllp.bit();

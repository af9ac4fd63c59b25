//! The interface between a device model and the fabric: the parameters that a plan reads before the device is built, and the access to the
//! device between events.

use std::any::Any;

use kernel::{Component, ComponentId, Effects, Parameters, Time, World};
use link::LinkCommand;
use packet::{Observation, Pcie, Why};
use protocol::{AddressTranslation, Bar, Identity};
use transaction::{AccessLoop, Flow, FunctionPlace, Requester};

use crate::endpoint::Device;
use crate::{Endpoint, EndpointParameters};

/// The parameters of a device model, and the properties of the device that follow from them.
pub trait LeafParameters: Parameters + Any {
    /// The BARs of the device. `window` is the BAR for accesses to other devices of the network, if the device has one.
    fn bars(&self, endpoint: &EndpointParameters, window: Option<Bar>) -> Vec<Bar> {
        endpoint.bar().into_iter().chain(window).collect()
    }

    /// The properties of the device besides its BARs.
    fn properties(&self) -> Properties;

    /// The circuit that can take the place of the model with these parameters; none if the model has no circuit. If the circuit cannot do what a
    /// parameter requires, the key of the parameter and a message.
    fn circuit(
        &self,
        _: &EndpointParameters,
    ) -> Option<Result<CircuitChoice, (&'static str, String)>> {
        None
    }
}

/// The properties of a device that a plan needs.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// Most outstanding non-posted requests.
    pub tags: u32,
    /// Most virtual functions of a device of the model.
    pub most_virtual_functions: u32,
    /// Number of interrupts that the physical function signals. Each has its own vector, from 0 on.
    pub interrupts: u32,
    /// The address translation capability, if the device requests translations (ATS).
    pub address_translation: Option<AddressTranslation>,
    /// Whether the addresses in requests are virtual.
    pub has_virtual_addresses: bool,
    /// The identity of the physical function, if the scenario does not set another one.
    pub identity: Identity,
    /// Whether the device connects hosts. If so, the packets that it sends by PCI Express originate at other devices.
    pub joins_hosts: bool,
    /// Whether a flow can begin at the device. If so, the device makes the requests of flows by itself or at the command of its driver.
    pub begins_flows: bool,
    /// Whether real programs use the device, which they find in the tree of their host.
    pub serves_processes: bool,
    /// Whether the device exchanges coherence messages with its host, on a separate virtual channel.
    pub is_coherent: bool,
    /// Number of bytes of registers at the beginning of BAR 0 of each function. The device defines the data that a read of them returns. The
    /// rest of the BAR is memory, except an MSI-X table.
    pub bar_registers: u64,
    /// Whether the model answers all accesses to its registers itself. If so, there is no memory behind BAR 0.
    pub keeps_registers: bool,
    /// Whether software can make BAR 0 smaller (Resizable BAR).
    pub has_resizable_bar: bool,
    /// Whether writes to BAR 0 go into a FIFO, so that a read does not return their data.
    pub has_fifo: bool,
}

impl Default for Properties {
    /// A device that makes no requests and has memory behind BAR 0. Its identity is that of a Xilinx FPGA with a DMA engine: a processing
    /// accelerator.
    fn default() -> Self {
        Properties {
            tags: 0,
            most_virtual_functions: 255,
            interrupts: 0,
            address_translation: None,
            has_virtual_addresses: false,
            identity: Identity {
                vendor: 0x10ee,
                device: 0x9038,
                revision: 0,
                class: 0x12_0000,
            },
            joins_hosts: false,
            begins_flows: false,
            serves_processes: false,
            is_coherent: false,
            bar_registers: 0,
            keeps_registers: false,
            has_resizable_bar: false,
            has_fifo: false,
        }
    }
}

/// The circuit that takes the place of a device model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitChoice {
    /// The name of the circuit in `gateware/circuits.toml`.
    pub name: String,
    /// The handling of writes to BAR 0 by the circuit.
    pub peer_writes: PeerWrites,
    /// Whether the circuit answers every read of BAR 0 with Unsupported Request.
    pub refuses_reads: bool,
    /// A register of 32 bits whose value after reset must differ from the circuit's, because a parameter requires it: its BAR, its offset and
    /// this value.
    pub preset: Option<(u8, u64, u32)>,
    /// Whether the circuit makes the data of flows. The data is a sequence of words; the driver writes the first one to a register.
    pub makes_data: bool,
}

impl CircuitChoice {
    /// A circuit that has only the BARs of the model, and nothing else in common with it.
    pub fn named(name: &str) -> Self {
        CircuitChoice {
            name: name.into(),
            peer_writes: PeerWrites::Stored,
            refuses_reads: false,
            preset: None,
            makes_data: false,
        }
    }
}

/// The handling of writes to BAR 0 by a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerWrites {
    /// The writes end in the circuit. The memory behind BAR 0 stores their data.
    Stored,
    /// The writes end in a FIFO of the circuit, which passes the data on. If the FIFO cannot accept a write, the circuit drops it and reports an
    /// error.
    Passed,
    /// The circuit sends each write back, with its label.
    Returned,
}

/// A component that contains the PCI Express core of a device.
pub trait HasEndpoint {
    /// The PCI Express core.
    fn endpoint(&self) -> &Endpoint;

    /// The PCI Express core, mutable, to be filled before a run.
    fn endpoint_mut(&mut self) -> &mut Endpoint;
}

/// A device model.
pub trait Leaf: HasEndpoint + Any {
    /// The requester that has the flows of a function, if there is one. Function 0 is the physical function.
    fn requester(&self, _function: u8) -> Option<&Requester> {
        None
    }

    /// The requester that has the flows of a function, mutable, to take the data that it has read.
    fn requester_mut(&mut self, _function: u8) -> Option<&mut Requester> {
        None
    }

    /// The next time at which an outstanding request times out. A run does not wait for this time if no other event is left.
    fn deadline(&mut self, _now: Time) -> Time {
        Time::NEVER
    }

    /// The reason why the engine of a device without a requester makes no request at a time when none of its packets waits: software that
    /// commands no work, the engine's own processing, its tags, or its memory.
    fn engine(&self, _now: Time) -> Why {
        Why::Datapath
    }

    /// Adds a flow to a function. Returns false if the function has no requester.
    fn add_flow(&mut self, function: u8, flow: Flow) -> bool {
        let requester = self.requester_mut(function);
        requester.map(|requester| requester.add(flow)).is_some()
    }

    /// Discards the work of the function at `place`, because it was reset. Its queues and registers return to their state after reset, and
    /// completions of its earlier requests are unexpected. A reset of the physical function resets all functions.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>)
    where
        Self: Component<Traffic = Pcie>;

    /// Handles arrived packets, advances the work and sends packets.
    fn run(&mut self, fx: &mut Effects<'_, Self>)
    where
        Self: Component<Traffic = Pcie>;
}

/// A [`Leaf`] of any model, with the actions that are possible between events.
pub trait AnyLeaf: Leaf {
    /// Continues with work that was added between events. The leaf is component `id`.
    fn go_on(&mut self, id: ComponentId, world: &mut World<Pcie>);

    /// Gives the link end of the leaf a command. The leaf is component `id`.
    fn command_link(&mut self, command: LinkCommand, id: ComponentId, world: &mut World<Pcie>);
}

impl<L: Leaf + Device> AnyLeaf for L {
    fn go_on(&mut self, id: ComponentId, world: &mut World<Pcie>) {
        run(self, &mut world.effects(id));
    }

    fn command_link(&mut self, command: LinkCommand, id: ComponentId, world: &mut World<Pcie>) {
        self.endpoint_mut()
            .command_link(command, &mut world.effects::<L>(id));
    }
}

/// Runs `leaf` after an event, and applies the resets that the event has caused. At the end, completions use the capacity of the send path that
/// the engine's requests do not use.
pub(crate) fn run<L: Leaf + Device>(leaf: &mut L, fx: &mut Effects<'_, L>) {
    leaf.run(fx);
    while let Some(place) = leaf.endpoint_mut().take_reset() {
        leaf.reset(place, fx);
        leaf.run(fx);
    }
    leaf.endpoint_mut().send_rest(fx);
}

/// Resets `requester` because its function was reset, and reports the flows that it abandons.
pub(crate) fn forget<C: Device>(requester: &mut Requester, fx: &mut Effects<'_, C>) {
    for flow in requester.reset(fx.now()) {
        fx.observe(Observation::Forgotten { flow });
    }
}

/// Ends a sequence of accesses because its function was reset, or because its link has failed.
pub(crate) fn abandon<C: Device>(accesses: &mut AccessLoop, fx: &mut Effects<'_, C>) {
    let (flow, bytes) = (accesses.what.flow, accesses.what.size as u32);
    for _ in 0..accesses.abandon() {
        fx.observe(Observation::failed(flow, bytes, None));
    }
}

/// Implements [`HasEndpoint`] for a device with a field `endpoint`.
macro_rules! has_endpoint {
    ($leaf:ty $(, $model:ident: $bound:path)?) => {
        impl$(<$model: $bound>)? $crate::HasEndpoint for $leaf {
            fn endpoint(&self) -> &$crate::Endpoint {
                &self.endpoint
            }

            fn endpoint_mut(&mut self) -> &mut $crate::Endpoint {
                &mut self.endpoint
            }
        }
    };
}

/// Implements [`Component`] for a [`Leaf`]. The endpoint has the only port and all timers, and the leaf runs after each event.
macro_rules! one_port {
    ($leaf:ty $(, $model:ident: $bound:path)?) => {
        $crate::leaf::has_endpoint!($leaf $(, $model: $bound)?);

        impl$(<$model: $bound>)? ::kernel::Component for $leaf {
            type Traffic = ::packet::Pcie;
            type Port = ::kernel::Port;
            type Timer = $crate::EndpointTimer;

            fn start(&mut self, fx: &mut ::kernel::Effects<'_, Self>) {
                self.endpoint.start(fx);
                $crate::leaf::run(self, fx);
            }

            fn receive(
                &mut self,
                _: ::kernel::Port,
                frame: ::packet::Frame,
                fx: &mut ::kernel::Effects<'_, Self>,
            ) {
                self.endpoint.receive(frame, fx);
                $crate::leaf::run(self, fx);
            }

            fn expire(
                &mut self,
                timer: $crate::EndpointTimer,
                fx: &mut ::kernel::Effects<'_, Self>,
            ) {
                self.endpoint.expire(timer, fx);
                $crate::leaf::run(self, fx);
            }

            fn prefetch(&self, action: &::kernel::Action<::packet::Frame>) {
                self.endpoint.prefetch(action);
            }

            fn prefetch_rest(
                &self,
                _: &::kernel::Action<::packet::Frame>,
                store: &::packet::Packets,
            ) {
                self.endpoint.prefetch_rest(store);
            }
        }
    };
}

pub(crate) use {has_endpoint, one_port};

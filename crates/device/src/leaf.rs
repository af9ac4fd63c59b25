//! The contract of a device model with the fabric: the parameters that a plan reads before the device is built, and the access to
//! the device outside events.

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
    /// The BARs, with the window to other devices of the network if the device has one.
    fn bars(&self, endpoint: &EndpointParameters, window: Option<Bar>) -> Vec<Bar> {
        endpoint.bar().into_iter().chain(window).collect()
    }

    /// The properties of the device besides its BARs.
    fn properties(&self) -> Properties;

    /// The circuit that can take the place of the model with these parameters, if the model has one; the key and a message if the
    /// circuit cannot do what a parameter requires.
    fn circuit(
        &self,
        _: &EndpointParameters,
    ) -> Option<Result<CircuitChoice, (&'static str, String)>> {
        None
    }
}

/// The properties of a device that a plan needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// Most outstanding non-posted requests.
    pub tags: u32,
    /// Most virtual functions of a device of the model.
    pub most_virtual_functions: u32,
    /// Number of interrupts that the physical function signals, each with a vector of its own, from 0 on.
    pub interrupts: u32,
    /// The address translation capability, if the device requests translations (ATS).
    pub address_translation: Option<AddressTranslation>,
    /// Whether the addresses in requests are virtual.
    pub has_virtual_addresses: bool,
    /// The identity of the physical function, where the scenario does not set another.
    pub identity: Identity,
    /// Whether the device connects hosts: packets that it sends by PCI Express come from elsewhere.
    pub joins_hosts: bool,
    /// Whether a flow can begin at the device: it makes the requests of flows, by itself or when its driver commands it to.
    pub begins_flows: bool,
    /// Whether the device does nothing without a driver or a program on the host above it.
    pub needs_driver: bool,
    /// Whether the device exchanges coherence messages with its host, on a virtual channel of their own.
    pub is_coherent: bool,
    /// Number of bytes of registers at the beginning of BAR 0 of each function; the device defines what a read of them returns. The rest of
    /// the BAR is memory, up to an MSI-X table.
    pub bar_registers: u64,
    /// Whether the model answers all accesses to its registers itself, so that there is no memory behind BAR 0.
    pub keeps_registers: bool,
    /// Whether writes to BAR 0 go into a FIFO, so that a read does not return their data.
    pub has_fifo: bool,
}

impl Default for Properties {
    /// A device with memory behind BAR 0 that makes no requests, as a Xilinx FPGA with a DMA engine: a processing accelerator.
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
            needs_driver: false,
            is_coherent: false,
            bar_registers: 0,
            keeps_registers: false,
            has_fifo: false,
        }
    }
}

/// A circuit that takes the place of a device model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitChoice {
    /// Its name in `gateware/circuits.toml`.
    pub name: String,
    /// The use of writes to BAR 0.
    pub peer_writes: PeerWrites,
    /// Whether reads of BAR 0 are known to end with Unsupported Request.
    pub refuses_reads: bool,
    /// A register of 32 bits, by BAR and offset, and its value after reset where a parameter requires another than the circuit's.
    pub preset: Option<(u8, u64, u32)>,
    /// Whether the circuit makes the data of flows: words from a start value that the driver writes to a register.
    pub makes_data: bool,
}

impl CircuitChoice {
    /// A circuit that has nothing in common with the model but the BARs.
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

/// The use that a circuit makes of writes to BAR 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerWrites {
    /// They end in the circuit. The memory behind BAR 0 keeps what was written.
    Stored,
    /// They end in a FIFO of the circuit, which sends the data on, or the circuit drops them and reports an error.
    Passed,
    /// The circuit sends each back with its label.
    Returned,
}

/// A component around the PCI Express core of a device.
pub trait HasEndpoint {
    /// The PCI Express core.
    fn endpoint(&self) -> &Endpoint;

    /// The PCI Express core, mutable, to be filled before a run.
    fn endpoint_mut(&mut self) -> &mut Endpoint;
}

/// A device model.
pub trait Leaf: HasEndpoint + Any {
    /// The requester with the flows of a function, if it has one; function 0 is the physical one.
    fn requester(&self, _function: u8) -> Option<&Requester> {
        None
    }

    /// The requester with the flows of a function, mutable, to take the data that it read.
    fn requester_mut(&mut self, _function: u8) -> Option<&mut Requester> {
        None
    }

    /// The time at which an outstanding request times out, of those for which the device is woken in the background.
    fn deadline(&mut self, _now: Time) -> Time {
        Time::NEVER
    }

    /// Returns the reason why the engine of a device without a requester makes no request, for a time at which none of its packets waits
    /// anywhere: software that gives it no work, its own work, its tags, or its memory.
    fn engine(&self, _now: Time) -> Why {
        Why::Datapath
    }

    /// Adds a flow to a function. False if it has no requester.
    fn add_flow(&mut self, function: u8, flow: Flow) -> bool {
        let requester = self.requester_mut(function);
        requester.map(|requester| requester.add(flow)).is_some()
    }

    /// Forgets the work of the function at `place`, which was reset: queues and registers are as after reset, and completions of its
    /// requests are not expected any more. The physical function's reset is one of all functions.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>)
    where
        Self: Component<Traffic = Pcie>;

    /// Handles arrived packets, advances the work and sends packets.
    fn run(&mut self, fx: &mut Effects<'_, Self>)
    where
        Self: Component<Traffic = Pcie>;
}

/// A [`Leaf`] of any model, and its acts outside events.
pub trait AnyLeaf: Leaf {
    /// Lets the leaf, which is component `id`, continue with work that it was given outside events.
    fn go_on(&mut self, id: ComponentId, world: &mut World<Pcie>);

    /// Gives the end of the link of the leaf, which is component `id`, a command.
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

/// Runs `leaf` after an event, and applies the resets that the event has caused. At the end, completions take the part of the send path
/// that the engine's requests leave free.
pub(crate) fn run<L: Leaf + Device>(leaf: &mut L, fx: &mut Effects<'_, L>) {
    leaf.run(fx);
    while let Some(place) = leaf.endpoint_mut().take_reset() {
        leaf.reset(place, fx);
        leaf.run(fx);
    }
    leaf.endpoint_mut().send_rest(fx);
}

/// Reports the flows that `requester` forgets because its function was reset.
pub(crate) fn forget<C: Device>(requester: &mut Requester, fx: &mut Effects<'_, C>) {
    for flow in requester.reset(fx.now()) {
        fx.observe(Observation::Forgotten { flow });
    }
}

/// Ends a sequence of accesses because its function was reset, or has lost its link.
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

/// Implements [`Component`] for a [`Leaf`] whose endpoint has the only port and all timers, and which runs after each event.
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

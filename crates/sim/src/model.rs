//! The components of a fabric: dispatch of events to them, and access to them outside events.

use std::any::Any;

use capture::Links;
use device::{AnyLeaf, Leaf};
use host::Host;
use kernel::{Action, Component, ComponentId, Label, Occurrence, Port, Span, Time, World};
use link::{LinkCommand, LinkEnd, LinkTimer};
use packet::{FlowId, Frame, Packets, Pcie, Why};
use transaction::{Flow, FunctionPlace, Functions, Memory, Requester};

use plan::registry;

macro_rules! models {
    (
        $($(#[doc = $help:literal])+ $name:literal => $leaf:ident($type:ty, $parameters:ty)$(, built by $builder:expr)?;)+
    ) => {
        /// Any component of a fabric. Components are stored side by side, and each takes as much space as the largest component. Therefore, large
        /// parts are boxed.
        // Each kind has its own discriminant. The compiler could also store the kind in unused values of a field, but decoding it there takes longer
        // at each event.
        #[derive(Debug)]
        #[repr(u32)]
        pub enum Model {
            /// A host.
            Host(host::Host),
            /// A port of a controller for an endpoint.
            IoPort(fabric::IoPort),
            /// A switch.
            Switch(fabric::Switch),
            /// A crossbar between network interface controllers.
            Controller(fabric::Controller),
            /// A circuit in the place of a device model.
            Circuit(device::Circuit),
            /// A device with a model from outside.
            Foreign(device::Foreign),
            $($(#[doc = $help])+ $leaf($type),)+
        }

        /// Evaluates an expression with the component of any model.
        macro_rules! each {
            ($any:expr, $model:ident => $run:expr) => {
                match $any {
                    Model::Host($model) => $run,
                    Model::IoPort($model) => $run,
                    Model::Switch($model) => $run,
                    Model::Controller($model) => $run,
                    Model::Foreign($model) => $run,
                    Model::Circuit($model) => $run,
                    $(Model::$leaf($model) => $run,)+
                }
            };
        }

        impl Model {
            /// Starts component `id`.
            pub fn start(&mut self, id: ComponentId, world: &mut World<Pcie>) {
                each!(self, model => model.start(&mut world.effects(id)));
            }

            /// Passes an event to component `id`.
            // Inlined into each loop over events, because a separate call would save registers once more.
            #[inline(always)]
            pub fn happen(&mut self, id: ComponentId, what: Occurrence<Frame>, world: &mut World<Pcie>) {
                each!(self, model => pass(model, id, what, world));
            }

            /// Begins to load the data that a coming event needs. If the event `is_next`, this is the data to which the data loaded before points.
            pub fn prefetch(&self, what: &Occurrence<Frame>, is_next: bool, packets: &Packets) {
                let action = what.action();
                if is_next {
                    each!(self, model => model.prefetch_rest(&action, packets));
                } else {
                    each!(self, model => model.prefetch(&action));
                }
            }

            /// The device; none for a component that is not a device.
            pub fn leaf(&self) -> Option<&dyn AnyLeaf> {
                match self {
                    $(Model::$leaf(leaf) => Some(leaf),)+
                    Model::Foreign(leaf) => Some(leaf),
                    Model::Circuit(leaf) => Some(leaf),
                    _ => None,
                }
            }

            /// The device, mutable; none for a component that is not a device.
            pub fn leaf_mut(&mut self) -> Option<&mut dyn AnyLeaf> {
                match self {
                    $(Model::$leaf(leaf) => Some(leaf),)+
                    Model::Foreign(leaf) => Some(leaf),
                    Model::Circuit(leaf) => Some(leaf),
                    _ => None,
                }
            }
        }
    };
}

registry!(models);

impl Model {
    /// The host; none for any other component.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Model::Host(host) => Some(host),
            _ => None,
        }
    }

    /// The host, mutable; none for any other component.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Model::Host(host) => Some(host),
            _ => None,
        }
    }

    /// The time at which the circuit of a device has stopped, and the reason; none for any other component.
    pub fn stopped_circuit(&self) -> Option<(Time, String)> {
        match self {
            Model::Circuit(circuit) => {
                let (time, failure) = circuit.failure()?;
                Some((*time, failure.to_string()))
            }
            _ => None,
        }
    }

    /// The link end at port `index`.
    pub fn link(&self, index: usize) -> Option<&LinkEnd> {
        match self {
            Model::Host(host) => host.links().nth(index),
            Model::IoPort(port) => Some(port.link()),
            Model::Switch(switch) => switch.links().nth(index),
            Model::Controller(controller) => controller.link(index),
            _ => Some(self.leaf()?.endpoint().link()),
        }
    }

    /// The time of the shortest frame at a port whose frames follow each other on the wire, which is a port with a PCI Express link. `None` for other
    /// ports.
    pub fn shortest_frame(&self, port: u32) -> Option<Span> {
        let mut shortest = None;
        self.each_link(&mut |own, link| {
            if own == port as usize {
                shortest = Some(link.timing().shortest_frame());
            }
        });
        shortest
    }

    /// Whether an event is the transmission timer of a link end that [sends only refreshes](LinkEnd::only_refreshes) of flow-control limits.
    pub fn only_refreshes(&self, what: &Occurrence<Frame>, now: Time) -> bool {
        let Action::Expire(timer) = what.action() else {
            return false;
        };
        let mut only = false;
        self.each_link(&mut |port, link| {
            let wire = each!(self, model => wire_timer(model, port));
            only |= wire == timer && link.only_refreshes(now);
        });
        only
    }

    /// The component's functions with their registers at `now`, including the registers for the states that its links have recorded.
    pub fn functions(&self, now: Time) -> Functions {
        let (functions, links): (_, Vec<&LinkEnd>) = match self {
            Model::Host(host) => (host.functions(), host.links().collect()),
            Model::IoPort(port) => (port.functions(), vec![port.link()]),
            Model::Switch(switch) => return switch.functions(now),
            _ => {
                let endpoint = self.leaf().expect("no host sees a controller").endpoint();
                (endpoint.functions(), vec![endpoint.link()])
            }
        };
        let mut functions = functions.clone();
        // A host bridge has no link of its own.
        let own = usize::from(matches!(self, Model::Host(_) | Model::IoPort(_)));
        for (place, link) in functions.places().skip(own).zip(links) {
            if matches!(place, FunctionPlace::Port(_)) && link.fails_at() <= now {
                functions.show_failure(place);
            }
            functions.show_link(place, link, now);
        }
        functions
    }

    /// The memory of a host, or the memory behind a device's BAR 0; none where a model keeps its registers itself.
    pub fn memory(&self) -> Option<&Memory> {
        let host = self.host().map(Host::memory);
        let memory = host.or_else(|| Some(self.leaf()?.endpoint().bar()));
        memory.filter(|memory| memory.size() > 0)
    }

    /// The memory that [`memory`](Self::memory) returns, mutable.
    pub fn memory_mut(&mut self) -> Option<&mut Memory> {
        let memory = match self {
            Model::Host(host) => host.memory_mut(),
            _ => self.leaf_mut()?.endpoint_mut().bar_mut(),
        };
        Some(memory).filter(|memory| memory.size() > 0)
    }

    /// The memory behind a device's virtual functions, mutable, and the offset of function `number` in it.
    pub fn virtual_memory_mut(&mut self, number: usize) -> Option<(&mut Memory, u64)> {
        let endpoint = self.leaf_mut()?.endpoint_mut();
        endpoint.virtual_memory_mut(number)
    }

    /// The requester of a host's processor, or of a device's physical function.
    pub fn requester(&self) -> Option<&Requester> {
        let host = self.host().map(|host| host.cpu().requester());
        host.or_else(|| self.leaf()?.requester(0))
    }

    /// The requester of a host's processor, or of a device's physical function, mutable.
    pub fn requester_mut(&mut self) -> Option<&mut Requester> {
        match self {
            Model::Host(host) => Some(host.cpu_mut().requester_mut()),
            _ => self.leaf_mut()?.requester_mut(0),
        }
    }

    /// Returns the reason why `flow` makes no request at `now`, or `None` if no requester of this component has the flow, or the flow has sent its
    /// last request.
    pub fn why(&self, flow: FlowId, now: Time) -> Option<Why> {
        if let Some(host) = self.host() {
            return host.cpu().requester().why(flow, now);
        }
        let leaf = self.leaf()?;
        let mut requesters = (0..=u8::MAX).map_while(|function| leaf.requester(function));
        requesters.find_map(|requester| requester.why(flow, now))
    }

    /// Whether some bytes of a message of a flow have not left the controller, so that the flow is not complete.
    pub fn sends_flows(&self) -> bool {
        match self {
            Model::Nic(nic) => nic.sends_flows(),
            _ => false,
        }
    }

    /// The time at which an outstanding request of a device times out. Only requests whose time-outs are events in the background count.
    pub fn deadline(&mut self, now: Time) -> Time {
        self.leaf_mut()
            .map_or(Time::NEVER, |leaf| leaf.deadline(now))
    }

    /// Adds a flow to a host's processor, or to this function of a device. Returns false if there is no requester.
    pub fn add_flow(&mut self, function: u8, flow: Flow) -> bool {
        if let Some(host) = self.host_mut() {
            host.cpu_mut().add_flow(flow);
            return true;
        }
        let leaf = self.leaf_mut();
        leaf.is_some_and(|leaf| leaf.add_flow(function, flow))
    }

    /// Gives a command to the end of the link at a port of component `id`. The link end carries it out at the present time.
    pub fn command_link(
        &mut self,
        (id, port): (ComponentId, u16),
        command: LinkCommand,
        world: &mut World<Pcie>,
    ) {
        match self {
            Model::Host(host) => host.command_link(Port(port), command, &mut world.effects(id)),
            Model::IoPort(port) => port.command_link(command, &mut world.effects(id)),
            Model::Switch(switch) => {
                switch.command_link(Port(port), command, &mut world.effects(id));
            }
            // Commands do not apply to cables.
            Model::Controller(_) => {}
            _ => {
                if let Some(leaf) = self.leaf_mut() {
                    leaf.command_link(command, id, world);
                }
            }
        }
    }

    /// Notifies the component that an incident removes the signal from the link at a port at `time`. Only cut-through ports need this, and only
    /// switches have these ports.
    pub fn expect_cut(&mut self, port: u16, time: Time) {
        if let Model::Switch(switch) = self {
            switch.expect_cut(Port(port), time);
        }
    }

    /// Presses the attention button of the slot at a port of component `id`.
    pub fn press_attention_button(
        &mut self,
        (id, port): (ComponentId, u16),
        world: &mut World<Pcie>,
    ) {
        match self {
            Model::Host(host) => host.press_attention_button(Port(port), &mut world.effects(id)),
            Model::Switch(switch) => {
                switch.press_attention_button(Port(port), &mut world.effects(id));
            }
            // No other component has slots.
            _ => {}
        }
    }

    /// Lets component `id` continue with work that it received outside events.
    pub fn ask(&mut self, id: ComponentId, world: &mut World<Pcie>) {
        if let Some(host) = self.host_mut() {
            host.ask(&mut world.effects(id));
        } else if let Some(leaf) = self.leaf_mut() {
            leaf.go_on(id, world);
        }
    }
}

impl Model {
    /// The device, if it is of type `L`.
    pub fn device<L: Leaf + 'static>(&self) -> Option<&L> {
        let any: &dyn Any = self.leaf()?;
        any.downcast_ref()
    }

    /// The device, mutable, if it is of type `L`.
    pub fn device_mut<L: Leaf + 'static>(&mut self) -> Option<&mut L> {
        let any: &mut dyn Any = self.leaf_mut()?;
        any.downcast_mut()
    }
}

#[inline]
fn pass<C: Component<Traffic = Pcie>>(
    model: &mut C,
    id: ComponentId,
    what: Occurrence<Frame>,
    world: &mut World<Pcie>,
) {
    let mut fx = world.effects(id);
    match what.action() {
        Action::Receive(port, frame) => model.receive(C::Port::from_number(port), frame, &mut fx),
        Action::Expire(timer) => model.expire(C::Timer::from_number(timer), &mut fx),
    }
}

fn wire_timer<C>(_: &C, port: usize) -> u32
where
    C: Component,
    C::Timer: From<(C::Port, LinkTimer)>,
{
    let port = C::Port::from_number(port as u32);
    C::Timer::from((port, LinkTimer::Wire)).number()
}

impl Links for Model {
    fn each_link(&self, visit: &mut dyn FnMut(usize, &LinkEnd)) {
        let mut visit = |(port, link)| visit(port, link);
        match self {
            Model::Host(host) => host.links().enumerate().for_each(visit),
            Model::IoPort(port) => visit((0, port.link())),
            Model::Switch(switch) => switch.links().enumerate().for_each(visit),
            Model::Controller(controller) => controller.links().for_each(visit),
            _ => {
                if let Some(leaf) = self.leaf() {
                    visit((0, leaf.endpoint().link()));
                }
            }
        }
    }

    fn link(&self, index: usize) -> Option<&LinkEnd> {
        Model::link(self, index)
    }
}

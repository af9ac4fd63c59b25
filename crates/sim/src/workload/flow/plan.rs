//! Planning of flows: finds the ends of each flow and checks its sizes.

use device::{DmaParameters, ReflectorParameters, UserLogic};
use kernel::{Bytes, Span};
use protocol::{FunctionId, TrafficClass};
use transaction::Disguise;

use crate::plan::NodePlan;
use crate::plan::address::{Region, show};
use crate::plan::tree::known;
use crate::scenario::{NodeKind, ScenarioError};
use crate::workload::Workload;
use crate::workload::flow::section::{AddressOrder, Direction, Flow, Target};
use crate::workload::planner::Planner;

use super::{Amount, FlowPlan, Mover, Warning, attributes, classes, pasid, places};

/// Default bytes of a round trip: the size of a doorbell.
const DOORBELL: u64 = 4;

/// Maximum bytes of one request, which the engine splits into packets.
const LARGEST_REQUEST: u64 = 64 << 20;

impl Planner<'_> {
    /// Plans all flows, also the flows of messages.
    pub(in crate::workload) fn flows(&mut self) -> Result<(), ScenarioError> {
        let (scenario, nodes, written) = (self.scenario, self.nodes, &self.written.flows);
        self.check_ids(written)?;
        let mut flows = Vec::with_capacity(written.len());
        for flow in written {
            let one = self.flow(flow, &flows)?;
            flows.push(one);
        }
        self.check_tables(&flows)?;
        classes::check(scenario, nodes)?;
        let disturbed = self.mark_disturbed(&mut flows);
        self.warnings.extend(disturbed);
        for warnings in RISKS {
            for (written, flow) in written.iter().zip(&flows) {
                let all = warnings(written, flow, nodes).into_iter();
                self.warnings.extend(all.map(|(key, message)| {
                    let message = format!("flow {:?}{message}", flow.id);
                    scenario.error(written.lines.of(key), message).to_string()
                }));
            }
        }
        self.workloads.extend(flows.into_iter().map(Workload::from));
        Ok(())
    }

    /// Checks that no flow uses the bytes of page tables.
    fn check_tables(&self, flows: &[FlowPlan]) -> Result<(), ScenarioError> {
        for (written, flow) in self.written.flows.iter().zip(flows) {
            let Some(host) = flow.to else { continue };
            let (Some(tables), Some(memory)) =
                (self.identities[host].tables(), self.nodes[host].memory)
            else {
                continue;
            };
            let used = Region {
                base: memory.base + flow.offset,
                size: flow.window,
            };
            if used.base < tables.end && tables.start < used.end() {
                let message = format!(
                    "it reaches the page tables of {}, which take the last {}; write a smaller offset or window, or a larger memory there",
                    self.nodes[host].name,
                    show(memory.end() - tables.start)
                );
                return Err(self.error(written, "offset", &message));
            }
        }
        Ok(())
    }

    /// Plans `flow`. The flows above it in the scenario are `earlier`.
    fn flow(&mut self, flow: &Flow, earlier: &[FlowPlan]) -> Result<FlowPlan, ScenarioError> {
        let from = self.find(flow, "from", &flow.from.value)?;
        self.check_pasid(flow, from)?;
        if let Some(messages) = self.message_flow(flow, from, earlier)? {
            return Ok(messages);
        }
        self.check_source(flow, from)?;
        self.check_driven(flow, &self.nodes[from])?;
        let functions = self.functions(flow, from)?;
        let (to, region) = self.target(flow, from, functions)?;
        self.check_reads(flow, to)?;
        let socket = self.socket(flow, from, to)?;
        let region = socket.as_ref().map_or(region, |socket| socket.of(region));
        let (write_size, read_size) = self.request_sizes(flow, &self.nodes[from])?;
        let amount = self.amount(flow)?;
        let direction = flow.parameters.direction;
        let request = match (direction.writes(), direction.reads()) {
            (true, true) => write_size.max(read_size),
            (true, false) => write_size,
            _ => read_size,
        };
        let places = self.places(flow, request)?;
        let (offset, window) = self.place(
            flow,
            (to, region),
            (amount, request),
            places,
            socket.as_ref(),
        )?;
        self.check_class(flow, from)?;
        let carried = self.carried(flow, &self.nodes[from], earlier)?;
        let plan = FlowPlan {
            id: flow.id.value.clone(),
            from,
            to,
            address: region.base + offset,
            functions,
            disguise: self.disguise(flow, from)?,
            offset: socket.map_or(0, |socket| socket.begin) + offset,
            window,
            reply: self.reply(flow, from, write_size)?,
            direction,
            places,
            amount,
            sized: is_sized(flow),
            write_size,
            read_size,
            parameters: flow.parameters.clone(),
            pattern: carried.unwrap_or(earlier.len() as u32),
            is_disturbed: false,
            mover: Mover::Requester,
        };
        let transfer = self.transfer(flow, &plan, earlier)?;
        let blocks = self.blocks(flow, &plan, earlier)?;
        let driver = transfer.map(Mover::Engine).or(blocks.map(Mover::Drive));
        let mover = driver.unwrap_or(Mover::Requester);
        Ok(FlowPlan { mover, ..plan })
    }

    /// The node that a flow names as its target, if a node has this name.
    pub(in crate::workload) fn named_target(&self, flow: &Flow) -> Option<usize> {
        match &flow.to.value {
            Target::Node(name) => self.names.get(name.as_str()).copied(),
            Target::Address(_) => None,
        }
    }

    pub(crate) fn find(&self, flow: &Flow, key: &str, name: &str) -> Result<usize, ScenarioError> {
        let Some(&index) = self.names.get(name) else {
            let advice = known(self.scenario, name, |node| {
                !matches!(node.kind, NodeKind::Switch(_) | NodeKind::IoPort(_))
            });
            let message = format!("there is no host or device {name:?}; {advice}");
            return Err(self.error(flow, key, &message));
        };
        let kind = &self.nodes[index].kind;
        if matches!(kind, NodeKind::Switch(_) | NodeKind::IoPort(_)) {
            let article = if matches!(kind, NodeKind::Switch(_)) {
                "a"
            } else {
                "an"
            };
            let message = format!(
                "{name} is {article} {}, and flows end at hosts and devices; write one of those",
                kind.noun()
            );
            return Err(self.error(flow, key, &message));
        }
        Ok(index)
    }

    fn check_source(&self, flow: &Flow, from: usize) -> Result<(), ScenarioError> {
        let NodeKind::Device(_, device) = &self.nodes[from].kind else {
            return Ok(());
        };
        if device.properties().begins_flows {
            return Ok(());
        }
        let message = format!(
            "{} has model = {:?}, which makes no requests of flows; write a host or a device with model = \"dma\"",
            flow.from.value,
            device.name()
        );
        Err(self.error(flow, "from", &message))
    }

    /// Returns an error if the flow reads from a target that does not support reads.
    fn check_reads(&self, flow: &Flow, to: Option<usize>) -> Result<(), ScenarioError> {
        let Some(target) = to.map(|to| &self.nodes[to]) else {
            return Ok(());
        };
        if !flow.parameters.direction.reads() || !target.refuses_reads_as_circuit() {
            return Ok(());
        }
        let message = format!(
            "the circuit of {} keeps nothing of what is written to BAR 0, and answers reads of it with Unsupported Request; write implementation = \"model\" there, or direction = \"write\"",
            target.name
        );
        Err(self.error(flow, "direction", &message))
    }

    /// Returns an error if the flow has the traffic class of coherence messages and its host sends coherence messages.
    fn check_class(&self, flow: &Flow, from: usize) -> Result<(), ScenarioError> {
        let class = u32::from(TrafficClass::COHERENCE.number());
        let root = &self.scenario.nodes[self.nodes[from].root];
        if flow.parameters.traffic_class == class && root.coherence.coherent {
            let message = format!(
                "class {class} is that of the coherence messages of {}; write another one",
                root.name.value
            );
            return Err(self.error(flow, "traffic_class", &message));
        }
        Ok(())
    }

    /// The target node, if one is written, and its addresses.
    fn target(
        &mut self,
        flow: &Flow,
        from: usize,
        functions: [u8; 2],
    ) -> Result<(Option<usize>, Region), ScenarioError> {
        let round_trip = flow.parameters.direction == Direction::RoundTrip;
        let name = match &flow.to.value {
            Target::Node(name) => name,
            Target::Address(_) if round_trip => {
                let message = no_round_trip(&self.nodes[from]);
                return Err(self.error(flow, "to", &message));
            }
            Target::Address(_)
                if self.networks.members[from].is_some()
                    && flow.parameters.direction != Direction::Write =>
            {
                let message = "the user logic of a router only writes to its network; write direction = \"write\"";
                return Err(self.error(flow, "direction", message));
            }
            Target::Address(address) => {
                let size = u64::MAX - address;
                return Ok((
                    None,
                    Region {
                        base: *address,
                        size,
                    },
                ));
            }
        };
        let to = self.find(flow, "to", name)?;
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        if to == from {
            let message =
                format!("{name} is also where it comes from; write another host or device");
            return Err(self.error(flow, "to", &message));
        }
        let region = match functions[1] {
            0 => target.region(),
            function => target.registers(function),
        };
        if let Some(region) = self.shared(flow, (from, to), functions, region)? {
            if round_trip && !reflects(source, target) {
                return Err(self.error(flow, "to", &no_round_trip(&self.nodes[from])));
            }
            return Ok((Some(to), region));
        }
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        if source.root != target.root || self.networks.members[from].is_some() {
            let region = self.passage(flow, from, to)?;
            return Ok((Some(to), region));
        }
        if round_trip && !reflects(source, target) {
            return Err(self.error(flow, "to", &no_round_trip(source)));
        }
        region.map_or_else(
            || {
                let message = format!("{name} has nothing to write to; give it a bar");
                Err(self.error(flow, "to", &message))
            },
            |region| Ok((Some(to), region)),
        )
    }

    /// The functions of both ends. A flow names a function of the device where it begins, or else where it ends. If both ends are below I/O
    /// ports, the other end is the first function of the same owner.
    fn functions(&self, flow: &Flow, from: usize) -> Result<[u8; 2], ScenarioError> {
        let to = self.named_target(flow);
        let Some(number) = flow.parameters.function else {
            return Ok([0, to.map_or(0, |to| self.function_beside((from, 0), to))]);
        };
        let is_device = |node: &usize| matches!(self.nodes[*node].kind, NodeKind::Device(..));
        let Some(node) = [Some(from), to].into_iter().flatten().find(is_device) else {
            let message = "there is no device at either end; leave it out";
            return Err(self.error(flow, "function", message));
        };
        let device = &self.nodes[node];
        if device.registers(number as u8).is_none() {
            let message = format!(
                "{} has no function {number}; write a smaller one, or virtual_functions = {number} or more there",
                device.name
            );
            return Err(self.error(flow, "function", &message));
        }
        let is_dma = device.kind.device::<DmaParameters>().is_some();
        if node == from && number > 0 && !is_dma {
            let message = format!(
                "only function 0 of {} makes requests; write 0, or model = \"dma\" there",
                device.name
            );
            return Err(self.error(flow, "function", &message));
        }
        let number = number as u8;
        Ok(match to {
            Some(to) if node == from => [number, self.function_beside((from, number), to)],
            _ if node == from => [number, 0],
            _ => [0, number],
        })
    }

    /// The wrong header fields that the scenario requests for the flow, such as another requester ID; `None` if it requests none.
    pub(crate) fn disguise(
        &self,
        flow: &Flow,
        from: usize,
    ) -> Result<Option<Disguise>, ScenarioError> {
        let parameters = &flow.parameters;
        let requester = parameters.requester_id.as_ref().map(|id| {
            id.parse::<FunctionId>()
                .map_err(|wrong| self.error(flow, "requester_id", &wrong.to_string()))
        });
        let disguise = Disguise {
            requester: requester.transpose()?,
            is_translated: parameters.translated_addresses,
        };
        if disguise == Disguise::default() {
            return Ok(None);
        }
        let device = &self.nodes[from];
        if device.kind.device::<DmaParameters>().is_none() {
            let key = if disguise.is_translated {
                "translated_addresses"
            } else {
                "requester_id"
            };
            let message = format!(
                "{} writes its headers itself; write a device with model = \"dma\", or leave it out",
                device.name
            );
            return Err(self.error(flow, key, &message));
        }
        Ok(Some(disguise))
    }

    fn request_sizes(&self, flow: &Flow, from: &NodePlan) -> Result<(u64, u64), ScenarioError> {
        let direction = flow.parameters.direction;
        let recording = flow.parameters.requests.as_ref();
        let largest = recording.map(|recording| Bytes(recording.largest()));
        let key = if recording.is_some() {
            "requests"
        } else {
            "request_size"
        };
        let Some(Bytes(wanted)) = largest.or(flow.parameters.request_size) else {
            if is_sized(flow) && direction == Direction::Both {
                let size = from.max_payload.min(from.max_read_request).into();
                return Ok((size, size));
            }
            let user = self.networks.members[self.names[from.name.as_str()]];
            return Ok(match direction {
                Direction::Write if let Some((network, _)) = user => {
                    let packet = self.networks.all[network].optical.packet_size.0;
                    (packet, packet)
                }
                Direction::RoundTrip => (DOORBELL, DOORBELL),
                _ => (from.max_payload.into(), from.max_read_request.into()),
            });
        };
        if wanted == 0 {
            return Err(self.error(flow, key, "0 B moves nothing; write 1 B at least"));
        }
        let largest = match direction {
            // A reflector answers each packet with one packet, so a round trip must fit into one packet.
            Direction::RoundTrip => u64::from(self.whole_packet(flow, from)),
            _ => LARGEST_REQUEST,
        };
        if wanted > largest {
            let (wanted, largest) = (show(wanted), show(largest));
            let message = format!("{wanted} is too much for one request; write {largest} at most");
            return Err(self.error(flow, key, &message));
        }
        Ok((wanted, wanted))
    }

    /// The largest payload of a packet that a root complex does not split between the hierarchies of `from` and of the target of `flow`.
    fn whole_packet(&self, flow: &Flow, from: &NodePlan) -> u32 {
        let to = self.named_target(flow);
        let far = to.map_or(u32::MAX, |to| self.nodes[to].max_payload);
        from.max_payload.min(far)
    }

    pub(crate) fn amount(&self, flow: &Flow) -> Result<Amount, ScenarioError> {
        let parameters = &flow.parameters;
        if let Some(recording) = &parameters.requests {
            let amounts = ["size", "count", "duration"];
            return match amounts.into_iter().find(|key| flow.lines.has(key)) {
                Some(key) => Err(self.error(flow, key, "the flow makes the requests that requests = \"...\" lists; leave one of the two out")),
                None => Ok(Amount::Bytes(recording.bytes())),
            };
        }
        let (key, amount) = match (parameters.size, parameters.count, parameters.duration) {
            (Some(Bytes(size)), None, None) => ("size", Amount::Bytes(size)),
            (None, Some(count), None) => ("count", Amount::Requests(count)),
            (None, None, Some(duration)) => ("duration", Amount::Lasting(duration)),
            (None, None, None) => {
                let message =
                    "there is none; write size = \"4 MiB\", count = 1000 or duration = \"1 ms\"";
                return Err(self.error(flow, "size", message));
            }
            (_, _, Some(_)) => {
                let message = "this is not the only amount; write one of size, count and duration";
                return Err(self.error(flow, "duration", message));
            }
            _ => {
                let message = "this is not the only amount; write one of size, count and duration";
                return Err(self.error(flow, "count", message));
            }
        };
        let nothing = [
            Amount::Bytes(0),
            Amount::Requests(0),
            Amount::Lasting(Span::ZERO),
        ];
        if nothing.contains(&amount) {
            return Err(self.error(flow, key, "this moves nothing; write more than 0"));
        }
        Ok(amount)
    }

    fn reply(
        &mut self,
        flow: &Flow,
        from: usize,
        request: u64,
    ) -> Result<Option<u64>, ScenarioError> {
        if flow.parameters.direction != Direction::RoundTrip {
            return Ok(None);
        }
        match self.nodes[from].region() {
            Some(region) if request <= region.size => {
                Ok(Some(region.base + self.claims.free(from, region, request)))
            }
            _ => {
                let name = &flow.from.value;
                let message = format!("{name} cannot take the answers; give it a larger bar");
                Err(self.error(flow, "from", &message))
            }
        }
    }
}

/// A function that returns warnings about a flow; its arguments are the flow as written and as planned.
type Warnings = fn(&Flow, &FlowPlan, &[NodePlan]) -> Vec<Warning>;

/// The functions that return warnings about a flow, in the order of the warnings.
const RISKS: [Warnings; 4] = [
    attributes::warnings,
    pasid::warnings,
    classes::warnings,
    places::warnings,
];

/// Whether each request of `flow` has its full size at any address, also across page boundaries.
fn is_sized(flow: &Flow) -> bool {
    let parameters = &flow.parameters;
    parameters.request_size.is_some()
        || parameters.direction == Direction::RoundTrip
        || parameters.addresses != AddressOrder::Sequential
        || parameters.read_after_write
}

/// The error message that a round trip from `source` needs a reflector as its target.
fn no_round_trip(source: &NodePlan) -> String {
    let right = match source.engine() {
        Some(_) => "model = \"sg-dma\" and user = \"reflector\"",
        None => "model = \"reflector\"",
    };
    format!("a round trip needs someone who answers; write a device with {right}")
}

/// Whether `target` answers the writes of `source` with writes. If both are engines, the driver of `source` writes the address for the answers into
/// `target`.
fn reflects(source: &NodePlan, target: &NodePlan) -> bool {
    match (source.engine(), target.engine()) {
        (Some(_), Some(target)) => target.user == UserLogic::Reflector,
        (None, None) => target.kind.device::<ReflectorParameters>().is_some(),
        _ => false,
    }
}

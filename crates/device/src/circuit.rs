//! A circuit in the place of a device model: a Verilated core behind the PCI Express core of an endpoint.
//!
//! The circuit runs behind the time of the fabric, a batch of cycles at once: what arrives waits with its cycle until the batch, and
//! what leaves is given the time of its first beat, from which the send path counts. That is exact while a batch and a packet
//! together take no longer than `send_latency`; the signal that the send queue is full comes up to a batch late.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cosim::{Failure, Happening, Settings, Tlp};
use kernel::{Effects, Span, Time};
use packet::{Charge, FlowId, Observation, PacketId, Stamp};
use protocol::{Class, Completion, Header, Kind, Status};
use transaction::{FunctionPlace, Pattern, arrived};

use crate::leaf::{Engine, one_port};
use crate::{Endpoint, EndpointConfig, Leaf, LeafParameters};

/// A circuit in the place of a device model.
#[derive(Debug)]
pub struct Circuit {
    endpoint: Endpoint,
    core: cosim::Circuit,
    name: String,
    settings: Settings,
    /// The period of the circuit's clock.
    period: Span,
    /// Most cycles from one run of the circuit to the next while it works.
    batch: u64,
    /// The packets that wait for the circuit, oldest first: the receive buffer that each takes.
    held: VecDeque<Charge>,
    labels: Labels,
    patterns: Arc<[Pattern]>,
    failure: Option<Failure>,
}

/// The flows to which the circuit's packets belong, by their labels.
#[derive(Debug, Default)]
struct Labels {
    /// Bytes of the requests of each label so far.
    begun: BTreeMap<u32, u64>,
    /// The outstanding reads by tag.
    reads: BTreeMap<u16, Read>,
}

/// An outstanding read.
#[derive(Clone, Copy, Debug)]
struct Read {
    flow: Option<FlowId>,
    /// Offset in the flow of the next byte, and the bytes still to come.
    offset: u64,
    left: u32,
    born: Time,
}

one_port!(Circuit);

impl Leaf for Circuit {
    type Parameters = CircuitParameters;

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn engine(&self, _: Time) -> Engine {
        if self.core.is_active() {
            Engine::Busy
        } else {
            Engine::Idle
        }
    }

    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.core.reset();
        for charge in std::mem::take(&mut self.held) {
            self.endpoint.free(charge, fx);
        }
        self.labels = Labels::default();
        self.configure();
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((packet, charge)) = self.endpoint.take_held(fx) {
            self.take(packet, charge, fx);
        }
        self.endpoint.is_open(fx);
        if self.failure.is_none() && (self.core.is_active() || !self.held.is_empty()) {
            self.advance(fx);
        }
    }
}

impl Circuit {
    /// The circuit `core` at an endpoint.
    pub fn new(config: EndpointConfig, core: cosim::Circuit) -> Self {
        let parameters = &config.parameters;
        let period = parameters.clock.period();
        let patterns = config.patterns.clone();
        let ahead = parameters.send_latency.as_fs() / period.as_fs();
        let endpoint = Endpoint::new(config);
        let packet = (LONGEST_HEADER + endpoint.max_payload() as usize).div_ceil(core.width());
        let mut circuit = Circuit {
            batch: ahead.saturating_sub(packet as u64).max(1),
            endpoint,
            name: core.name(),
            core,
            settings: Settings::default(),
            period,
            held: VecDeque::new(),
            labels: Labels::default(),
            patterns,
            failure: None,
        };
        circuit.configure();
        circuit
    }

    /// The reason why the circuit has stopped, if it has.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Applies the registers of the function to the circuit.
    fn configure(&mut self) {
        let settings = Settings {
            function_id: self.endpoint.id().0,
            max_payload: size_code(self.endpoint.max_payload()),
            max_read_request: size_code(self.endpoint.max_read_request()),
            bus_master: self.endpoint.is_bus_master(),
        };
        if settings != self.settings {
            self.core.configure(settings);
            self.settings = settings;
        }
    }

    /// Gives a packet to the circuit, unless it is one for the PCI Express core.
    fn take(&mut self, packet: PacketId, charge: Charge, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let content = &fx.store()[packet];
        let header = *content.header();
        if let Err(why) = self.endpoint.check_size(&header) {
            self.endpoint.free(charge, fx);
            return self.endpoint.refuse(packet, why, fx);
        }
        let label = content.stamp.flow.map_or(0, |flow| flow.0);
        let told = match &header.kind {
            Kind::MemoryWrite(request) => arrived(content, request, &self.patterns),
            Kind::MemoryRead(_) => None,
            Kind::Completion(completion) => {
                self.labels
                    .answered(completion, content.payload(), &self.patterns)
            }
            _ => {
                self.endpoint.free(charge, fx);
                self.endpoint.serve(packet, fx);
                if header.is_config() {
                    self.configure();
                }
                return;
            }
        };
        let cycle = now.since(Time::ZERO).as_fs().div_ceil(self.period.as_fs());
        self.core.push(&Tlp {
            bytes: content.bytes(),
            cycle,
            label,
        });
        self.held.push_back(charge);
        if let Some(told) = told {
            fx.observe(told);
        }
        fx.store().release(packet);
    }

    /// Runs the circuit up to now.
    fn advance(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let until = now.since(Time::ZERO).as_fs() / self.period.as_fs() + 1;
        self.core.allow(self.endpoint.openings(now));
        let events = match self.core.run(until) {
            Ok(events) => events,
            Err(failure) => {
                self.failure = Some(failure);
                return;
            }
        };
        for ((first, last), label, happening) in events.iter() {
            match happening {
                Happening::Taken => {
                    if let Some(charge) = self.held.pop_front() {
                        self.endpoint.free(charge, fx);
                    }
                }
                Happening::Sent(bytes) => {
                    let began = Time::ZERO + self.period * first;
                    let (header, payload) = match parse(bytes) {
                        Ok(parts) => parts,
                        Err(message) => {
                            let circuit = self.name.clone();
                            self.failure = Some(Failure {
                                circuit,
                                cycle: last,
                                message,
                            });
                            return;
                        }
                    };
                    let stamp = self.labels.stamp(&header, label, began);
                    let packet = fx.store().claim();
                    fx.store()[packet]
                        .write(header, stamp)
                        .copy_from_slice(payload);
                    self.endpoint.hand_over_at(began, packet, fx);
                }
                Happening::Interrupt => {
                    let message = self
                        .endpoint
                        .interrupt(FunctionPlace::Own, label as u16, fx);
                    if let Some(packet) = message {
                        self.endpoint.hand_over_at(now, packet, fx);
                    }
                }
            }
        }
        if self.core.is_active() || !self.held.is_empty() {
            let next = Time::ZERO + self.period * (until + self.batch - 1);
            self.endpoint.wake_engine(next, fx);
        }
    }
}

impl Labels {
    /// The stamp of a packet of the circuit with this label, which began to leave at `began`.
    fn stamp(&mut self, header: &Header, label: u32, began: Time) -> Stamp {
        let (Kind::MemoryWrite(request) | Kind::MemoryRead(request)) = &header.kind else {
            return Stamp::default();
        };
        let flow = (label > 0).then(|| FlowId(label));
        let len = request.byte_len();
        let begun = self.begun.entry(label).or_default();
        let offset = *begun;
        *begun += u64::from(len);
        if header.class() == Class::NonPosted {
            let read = Read {
                flow,
                offset,
                left: len,
                born: began,
            };
            self.reads.insert(request.tag.0, read);
        }
        Stamp {
            flow,
            offset,
            born: began,
            last: true,
        }
    }

    /// The observation of a completion of a read.
    fn answered(
        &mut self,
        completion: &Completion,
        payload: &[u8],
        patterns: &[Pattern],
    ) -> Option<Observation> {
        let read = self.reads.get_mut(&completion.tag.0)?;
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = payload.get(lead..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(read.left as usize)];
        let (offset, born, flow) = (read.offset, read.born, read.flow);
        let is_good = completion.status == Status::Successful;
        let len = if is_good {
            bytes.len() as u32
        } else {
            read.left
        };
        read.offset += u64::from(len);
        read.left -= len;
        let last = read.left == 0;
        if last {
            self.reads.remove(&completion.tag.0);
        }
        let flow = flow?;
        let pattern = patterns.get(flow.0 as usize);
        Some(if is_good {
            let intact = pattern.is_none_or(|pattern| pattern.matches(offset, bytes));
            Observation::Delivered {
                flow,
                bytes: len,
                offset,
                born,
                last,
                intact,
            }
        } else {
            Observation::Failed {
                flow,
                bytes: len,
                offset: Some(offset),
            }
        })
    }
}

/// The header and the payload of a TLP that the circuit has sent.
fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let (header, len) =
        Header::parse(bytes).map_err(|error| format!("it sent a malformed TLP: {error}"))?;
    let (payload, told) = (&bytes[len..], header.payload_len());
    if payload.len() != told {
        return Err(format!(
            "it sent a TLP whose header tells of {told} bytes of payload with {} bytes",
            payload.len()
        ));
    }
    Ok((header, payload))
}

/// The code of a size in Device Control.
fn size_code(bytes: u32) -> u8 {
    (bytes / 128).max(1).ilog2() as u8
}

/// Bytes of the longest header of a request.
const LONGEST_HEADER: usize = 16;

kernel::parameters! {
    /// The parameters of a circuit; those of the model that it replaces are the plan's.
    pub struct CircuitParameters {}
}

impl LeafParameters for CircuitParameters {}

//! A circuit in the place of a device model: a Verilated core behind the PCI Express core of an endpoint.
//!
//! The circuit is simulated in batches of cycles, behind the time of the fabric. A packet that arrives waits, with its cycle, for the next
//! batch. A packet that leaves has the time of its first beat, from which the latency of the send path counts. The times are exact as long as a
//! batch and a packet together take no longer than `send_latency`. If an event frees space in the send queue, the circuit can use the space from
//! the time of this event on.

mod arrivals;
mod errors;
mod labels;
mod reset;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use cosim::{Failure, Happening, Settings, Tlp};
use kernel::{Effects, Span, Time};
use packet::{Charge, Observation, Packet, PacketId, Refusal, Stamp, Why};
use protocol::{Bar, Class, Header, Kind, MemoryRequest};
use transaction::{FunctionPlace, Pattern, arrived, deliver};

use crate::leaf::one_port;
use crate::{CircuitChoice, Endpoint, EndpointConfig, Leaf, PeerWrites};
use arrivals::{Arrivals, Held, Request};
pub use errors::CIRCUIT_ERRORS;
use labels::{Labels, flow_of, label_of};

/// A circuit in the place of a device model.
#[derive(Debug)]
pub struct Circuit {
    endpoint: Endpoint,
    core: cosim::Circuit,
    choice: CircuitChoice,
    bars: Vec<Bar>,
    settings: Settings,
    /// The period of the circuit's clock.
    period: Span,
    /// The most cycles from one batch of the circuit to the next while it works.
    batch: u64,
    arrivals: Arrivals,
    labels: Labels,
    /// If the circuit is in a function-level reset: the earliest time at which the reset may end, and the latest time at which it must have
    /// ended.
    resetting: Option<(Time, Time)>,
    patterns: Arc<[Pattern]>,
    failure: Option<(Time, Failure)>,
    /// The file for the waveforms, and the cycles at which the recording begins and ends, as far as they are not reached yet.
    waves: Option<(PathBuf, VecDeque<u64>)>,
}

one_port!(Circuit);

impl Leaf for Circuit {
    fn engine(&self, _: Time) -> Why {
        if self.core.is_active() {
            Why::Datapath
        } else {
            Why::Software
        }
    }

    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        if let Some(end) = self.endpoint.function_reset_end(place)
            && self.core.resets_function()
        {
            return self.begin_function_reset(end, fx);
        }
        self.resetting = None;
        while let Some(told) = self.arrivals.settle(self.core.cycle(), false) {
            fx.observe(told);
        }
        self.core.reset();
        for charge in self.arrivals.forget() {
            self.endpoint.free(charge, fx);
        }
        for label in self.labels.forget() {
            if let Some(flow) = flow_of(label) {
                fx.observe(Observation::Forgotten { flow });
            }
        }
        self.configure();
        self.preset(self.cycle_at(fx.now()));
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if self.failure.is_some() {
            return;
        }
        while let Some((packet, charge)) = self.endpoint.take_held(fx) {
            self.take(packet, charge, fx);
        }
        if self.is_working() {
            self.advance(fx);
        }
        if self.resetting.is_some() {
            self.end_function_reset(fx);
        }
    }
}

impl Request {
    /// The request `content`, with the header as the circuit receives it.
    fn of(content: &Packet) -> Self {
        let mut bytes = [0; 16];
        let (from, payload) = (content.header_behind_prefix(), content.payload());
        for (to, from) in bytes.iter_mut().zip(from.iter().chain(payload)) {
            *to = *from;
        }
        bytes[TD.0] &= !TD.1;
        Request {
            header: bytes,
            header_len: from.len(),
            stamp: content.stamp,
            bytes: content.data_len(),
            arrival: None,
        }
    }
}

impl Circuit {
    /// The circuit `core` at an endpoint with these BARs.
    pub fn new(
        config: EndpointConfig,
        core: cosim::Circuit,
        choice: CircuitChoice,
        (bars, name): (Vec<Bar>, &str),
    ) -> Self {
        let parameters = &config.parameters;
        let period = parameters.clock.period();
        let cycle = |time: Span| time.as_fs() / period.as_fs();
        let waves = parameters.waves.map(|window| {
            let bounds = [cycle(window.from), cycle(window.to)];
            (PathBuf::from(format!("{name}.vcd")), bounds.into())
        });
        let patterns = config.patterns.clone();
        let ahead = parameters.send_latency.as_fs() / period.as_fs();
        let endpoint = Endpoint::new(config);
        let packet = (LONGEST_HEADER + endpoint.max_payload() as usize).div_ceil(core.width());
        let mut circuit = Circuit {
            batch: ahead.saturating_sub(packet as u64).max(1),
            endpoint,
            core,
            bars,
            settings: Settings::default(),
            period,
            arrivals: Arrivals::default(),
            labels: Labels::default(),
            resetting: None,
            choice,
            patterns,
            failure: None,
            waves,
        };
        circuit.configure();
        circuit.preset(0);
        circuit
    }

    /// The time at which the circuit has stopped and the reason; none if it has not stopped.
    pub fn failure(&self) -> Option<&(Time, Failure)> {
        self.failure.as_ref()
    }

    /// The first cycle that begins at `time` or later.
    pub fn cycle_at(&self, time: Time) -> u64 {
        time.since(Time::ZERO).as_fs().div_ceil(self.period.as_fs())
    }

    fn is_working(&self) -> bool {
        self.core.is_active() || !self.arrivals.is_empty()
    }

    /// Applies the registers of the function to the circuit.
    fn configure(&mut self) {
        let settings = Settings {
            function_id: self.endpoint.id().0,
            max_payload: size_code(self.endpoint.max_payload()),
            max_read_request: size_code(self.endpoint.max_read_request()),
            bus_master: self.endpoint.is_bus_master(),
            ext_tag: self.endpoint.requests_allowed().tags > SHORT_TAGS,
            flr: self.resetting.is_some(),
        };
        if settings != self.settings {
            self.core.configure(settings);
            self.settings = settings;
        }
    }

    /// Writes the register that must have another value after a reset than the circuit gives it. The write is the first packet for the circuit.
    fn preset(&mut self, cycle: u64) {
        let Some((bar, offset, value)) = self.choice.preset else {
            return;
        };
        let write = Header::memory_write(self.endpoint.id(), offset, size_of_val(&value) as u32);
        let (header, len) = write.expect("a register is within a page").emit();
        let bytes = [&header[..len], &value.to_le_bytes()].concat();
        self.core.push(&Tlp {
            bytes: &bytes,
            cycle,
            label: 0,
            bar,
            is_non_posted: false,
        });
        let held = Held {
            charge: None,
            earliest: cycle,
            request: None,
        };
        let beats = bytes.len().div_ceil(self.core.width());
        self.arrivals.push(held, beats as u64, false);
    }

    /// Passes a packet to the circuit, or to the PCI Express core if the packet is for the core.
    fn take(&mut self, packet: PacketId, charge: Charge, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        if let Err(why) = self.endpoint.check_size(&header) {
            self.endpoint.free(charge, fx);
            return self.endpoint.refuse(packet, why, fx);
        }
        let bar = match &header.kind {
            Kind::MemoryWrite(request) | Kind::MemoryRead(request) => {
                let Some(bar) = self.bar_of(request) else {
                    self.endpoint.free(charge, fx);
                    return self
                        .endpoint
                        .refuse(packet, Refusal::UnsupportedRequest, fx);
                };
                bar
            }
            Kind::Completion(completion) if self.labels.expects(completion, self.endpoint.id()) => {
                0
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
        let cycle = self.cycle_at(fx.now());
        let content = &fx.store()[packet];
        let mut request = Request::of(content);
        let told = match &header.kind {
            Kind::MemoryWrite(write) if bar == PEERS => match self.choice.peer_writes {
                PeerWrites::Stored => {
                    let base = self.endpoint.base_of(PEERS.into());
                    let memory = self.endpoint.bar_mut();
                    deliver(content, write, memory, base, &self.patterns)
                }
                PeerWrites::Passed => {
                    request.arrival = arrived(content, write, &self.patterns);
                    None
                }
                PeerWrites::Returned => {
                    let label = label_of(content.stamp.flow);
                    let stamps = self.labels.returning.entry(label).or_default();
                    stamps.push_back(content.stamp);
                    None
                }
            },
            Kind::MemoryWrite(write) => arrived(content, write, &self.patterns),
            Kind::Completion(completion) => {
                self.labels
                    .answered(completion, content.payload(), &self.patterns)
            }
            _ => None,
        };
        let beats = give(&mut self.core, content, cycle, bar);
        if told.is_some() {
            // The bytes have arrived, even if the circuit reports an error for the packet.
            request.stamp = Stamp::default();
            request.bytes = 0;
        }
        let held = Held {
            charge: Some(charge),
            earliest: cycle,
            request: (header.class() != Class::Completion).then_some(request),
        };
        self.arrivals
            .push(held, beats, header.class() == Class::NonPosted);
        if let Some(told) = told {
            fx.observe(told);
        }
        fx.store().release(packet);
    }

    /// The BAR that contains all bytes of a request.
    fn bar_of(&self, request: &MemoryRequest) -> Option<u8> {
        let offset = |bar: &Bar| self.endpoint.offset_in(bar.index, bar.size, request);
        let mut bars = self.bars.iter();
        bars.find_map(|bar| offset(bar).and(Some(bar.index)))
    }

    /// Reports that the circuit has stopped.
    fn stop(&mut self, failure: Failure, fx: &mut Effects<'_, Self>) {
        fx.observe(Observation::Stopped);
        let stopped = Time::ZERO + self.period * failure.cycle;
        self.failure = Some((stopped, failure));
    }

    /// Runs the circuit up to the current time.
    fn advance(&mut self, fx: &mut Effects<'_, Self>) {
        if let Err(failure) = self.run_until_now(fx) {
            self.stop(failure, fx);
        }
    }

    fn run_until_now(&mut self, fx: &mut Effects<'_, Self>) -> Result<(), Failure> {
        let now = fx.now();
        let until = now.since(Time::ZERO).as_fs() / self.period.as_fs() + 1;
        if self.waves.is_some() {
            self.write_waves(until)?;
        }
        let events = self.core.run(until)?;
        for ((first, last), label, happening) in events.iter() {
            let began = Time::ZERO + self.period * first;
            match happening {
                Happening::Taken | Happening::RequestTaken => {
                    let is_non_posted = happening == Happening::RequestTaken;
                    if let Some(charge) = self.arrivals.take(is_non_posted, last) {
                        self.endpoint.free(charge, fx);
                    }
                    while let Some(told) = self.arrivals.settle(last, true) {
                        fx.observe(told);
                    }
                }
                Happening::Sent(bytes) => {
                    let (header, payload) = parse(bytes).map_err(|message| Failure {
                        circuit: self.choice.name.clone(),
                        cycle: last,
                        message,
                    })?;
                    let stamp = self.labels.stamp(&header, label, began);
                    let packet = fx.store().claim();
                    fx.store()[packet]
                        .write(header, stamp)
                        .copy_from_slice(payload);
                    self.endpoint.hand_over_at(began, packet, fx);
                }
                Happening::Error(header) => {
                    let expected = (&mut self.labels, &mut self.arrivals);
                    errors::record((label, header), &mut self.endpoint, expected, fx);
                }
                Happening::Interrupt => {
                    let place = FunctionPlace::Own;
                    let message = self.endpoint.interrupt(place, label as u16, fx);
                    if let Some(packet) = message {
                        self.endpoint.hand_over_at(began, packet, fx);
                    }
                }
            }
        }
        let (cycle, is_active) = (self.core.cycle(), self.core.is_active());
        while let Some(told) = self.arrivals.settle(cycle, is_active) {
            fx.observe(told);
        }
        let openings = self.endpoint.openings();
        let begun = u32::from(self.core.is_sending());
        self.core.allow(openings.saturating_sub(begun));
        if self.is_working() {
            self.endpoint.wake_engine(self.next_run(until), fx);
        }
        Ok(())
    }

    /// Begins the recording of waveforms before a run (up to the cycle `until`) that reaches the first cycle of the recording. Ends it after the
    /// run that reaches its last cycle.
    fn write_waves(&mut self, until: u64) -> Result<(), Failure> {
        let Some((path, bounds)) = &mut self.waves else {
            return Ok(());
        };
        let cycle = self.core.cycle();
        if bounds.len() == BOUNDS && bounds.pop_front_if(|from| *from < until).is_some() {
            self.core.open_waves(path).map_err(|error| Failure {
                circuit: self.choice.name.clone(),
                cycle,
                message: format!("{} cannot be written: {error}", path.display()),
            })?;
        }
        if bounds.len() < BOUNDS && bounds.pop_front_if(|to| *to <= cycle).is_some() {
            self.core.close_waves();
        }
        Ok(())
    }

    /// The time of the next run of the circuit, if no event causes an earlier one.
    fn next_run(&self, cycle: u64) -> Time {
        let mut next = cycle + self.batch - 1;
        if let Some(earliest) = self.arrivals.first() {
            // The run at this cycle frees the receive buffer, because the circuit can have taken the last beat then.
            next = next.min(earliest.max(cycle + STALLED - 1));
        }
        Time::ZERO + self.period * next
    }
}

/// Passes a packet to a circuit, without its prefix and its digest, and returns the number of its beats.
fn give(core: &mut cosim::Circuit, content: &Packet, cycle: u64, bar: u8) -> u64 {
    let label = label_of(content.stamp.flow);
    let (header, payload) = (content.header_behind_prefix(), content.payload());
    let len = header.len() + payload.len();
    let is_non_posted = content.header().class() == Class::NonPosted;
    let mut bare = Vec::new();
    let mut bytes = content.bytes();
    if len != bytes.len() {
        bare.extend([header, payload].concat());
        bare[TD.0] &= !TD.1;
        bytes = &bare;
    }
    core.push(&Tlp {
        bytes,
        cycle,
        label,
        bar,
        is_non_posted,
    });
    len.div_ceil(core.width()) as u64
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

/// The code in Device Control for a size in bytes.
fn size_code(bytes: u32) -> u8 {
    (bytes / 128).max(1).ilog2() as u8
}

/// The number of tags of a function if Extended Tag Field Enable is not set.
const SHORT_TAGS: u16 = 32;

/// Bytes of the longest header of a request.
const LONGEST_HEADER: usize = 16;

/// The number of the BAR to which peers write data.
const PEERS: u8 = 0;

/// Cycles from one run of a circuit to the next while the circuit does not accept a packet that waits.
const STALLED: u64 = 8;

const BOUNDS: usize = 2;

/// The index of the header byte with the bit TD, and the mask of the bit.
const TD: (usize, u8) = (2, 0x80);

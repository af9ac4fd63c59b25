//! A scatter/gather DMA engine with a list of descriptors for each direction, four FIFOs, and a user circuit between them.
//!
//! As a master, it writes to the ranges of its list for writes, reads from the ranges of its list for reads, and writes to peers. As a slave, it
//! answers register accesses in BAR 2 and accepts writes of peers in BAR 0. It receives and sends at the same time. It follows the published
//! engine of the system `rosta`. The blocks and FIFOs are from the publication; the register map is our choice.

mod circuit;
mod list;
mod reader;
mod receive;
pub mod registers;
mod sender;
mod transmit;
mod user;

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Bytes, Effects, Frequency, Span, Time};
use packet::{FlowId, Observation, PacketId, Why};
use protocol::Bar;
use transaction::{FunctionPlace, Pattern};

use crate::leaf::one_port;
use crate::requests::Tags;
use crate::{
    CircuitChoice, Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters, Properties,
};
use reader::{Purpose, Reader};
use registers::{CROSSED, Registers, Unit};
use sender::Sender;
use user::{User, UserClock};

pub use user::UserLogic;

kernel::parameters! {
    /// The parameters of a scatter/gather DMA engine.
    pub struct SgDmaParameters {
        /// Circuit between the FIFOs: "source-sink", "loopback", "matrix" or "reflector".
        user: UserLogic = UserLogic::SourceSink, from "the authors of rosta measure rates with it";
        /// Whether the matrix is crossed: RX_FIFO feeds EP_TX_FIFO, and EP_RX_FIFO feeds TX_FIFO. A register changes it.
        crossed: bool = false, from "off after reset";
        /// Size of each of the four FIFOs. The engine requests no more data than a FIFO has space for.
        fifo: Bytes = Bytes(4096), within Bytes(4096)..=Bytes(1 << 20), lifts "datapath", from "the authors of rosta";
        /// Clock of the user circuit, which fills or empties each FIFO by as many bytes each cycle as `datapath` has (8 B if that has no limit). With
        /// none, the circuit has the engine's clock, which is as fast as the link. A reflector uses no FIFO, and has no such limit.
        user_clock: Option<Frequency> = None, within Some(Frequency(1_000_000))..=Some(Frequency(10_000_000_000)), lifts "datapath" to ["none"], from "the authors of rosta: any frequency; their experiments have that of the core";
        /// Number of descriptors in the engine's memory, for each direction.
        descriptors: u32 = 2048, within 1..=4096, from "our choice: 8 MiB in pages";
        /// Whether lists stay in host memory, and the engine fetches descriptors while it works.
        descriptor_fetch: bool = false, lifts "datapath", from "planned by the authors of rosta";
        /// Size of a fetch of descriptors.
        fetch_size: Bytes = Bytes(512), within Bytes(16)..=Bytes(4096), from "our choice: 32 descriptors";
        /// Traffic class of fetches of descriptors.
        descriptor_traffic_class: u32 = 0, within 0..=7, from "our choice: the class that every path carries";
        /// Cycles from the end of the work on one descriptor to the first packet of the next one. If lists are fetched, cycles from the arrival
        /// of a descriptor to its first packet.
        descriptor_cycles: u32 = 8, within 0..=100_000, lifts "datapath" to ["0"], from "our choice: a short state machine";
        /// Most outstanding read requests for data.
        outstanding_reads: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "our choice: the FIFO decides";
        /// Most outstanding non-posted requests of any kind.
        tags: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2: 32 without extended tags";
    }
}

/// A scatter/gather DMA engine.
#[derive(Clone, Debug)]
pub struct SgDma {
    endpoint: Endpoint,
    parameters: SgDmaParameters,
    cycle: Span,
    lookup: Span,
    user_clock: Option<UserClock>,
    registers: Registers,
    user: Box<User>,
    tags: Tags<Purpose>,
    reader: Option<Box<Reader>>,
    writer: Option<Box<Sender>>,
    peer: Option<Box<Sender>>,
    /// The time since which the oldest write of a peer waits for space in `EP_RX_FIFO`.
    waits_since: Option<Time>,
    /// Whether writes of peers are dropped if the FIFO has no space for them. This is the case after a write has waited too long, until a write
    /// is accepted.
    is_full: bool,
    /// Writes of peers that the engine will send back.
    reflections: VecDeque<PacketId>,
    interrupts: VecDeque<u8>,
    /// The index of the source that sends next.
    turn: usize,
    patterns: Arc<[Pattern]>,
}

const REGISTERS: usize = 2;
/// Bytes of a word of the published engine's streams.
const WORD: usize = 8;
/// The largest number of cycles for which a write of a peer waits for space in `EP_RX_FIFO`, in the model and in the circuit: 2 us at 250 MHz,
/// longer than the pauses of a shared link. After this time the write is dropped with Completer Abort, because the acceptance of posted requests
/// must not depend on the packets that the engine sends (PCIe Base 2.4.1). Until the FIFO accepts a write again, each write for which it has no
/// space is dropped at once.
const ACCEPTANCE_CYCLES: u64 = 512;

one_port!(SgDma);

impl LeafParameters for SgDmaParameters {
    fn bars(&self, endpoint: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        let registers = Bar {
            index: REGISTERS as u8,
            size: registers::SIZE,
            wide: false,
        };
        endpoint.bar().into_iter().chain([registers]).collect()
    }

    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            // One interrupt for each unit.
            interrupts: Unit::ALL.len() as u32,
            begins_flows: true,
            has_fifo: !self.user.never_stalls(),
            ..Properties::default()
        }
    }

    fn circuit(
        &self,
        core: &EndpointParameters,
    ) -> Option<Result<CircuitChoice, (&'static str, String)>> {
        Some(circuit::choice(self, core))
    }
}

impl Leaf for SgDma {
    fn engine(&self, now: Time) -> Why {
        if self.reader.is_none() && self.writer.is_none() && self.peer.is_none() {
            Why::Software
        } else if !self.tags.is_open(FunctionPlace::Own, now) {
            Why::Tags
        } else {
            Why::Datapath
        }
    }

    /// Returns the registers to their state after reset, empties the FIFOs, and ends all transfers.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        let senders = [self.writer.take(), self.peer.take()];
        let mut labels: Vec<FlowId> = senders
            .iter()
            .flatten()
            .filter_map(|one| one.work.label)
            .collect();
        labels.extend(self.reader.take().and_then(|reader| reader.work.label));
        for flow in labels {
            fx.observe(Observation::Forgotten { flow });
        }
        for packet in self.reflections.drain(..) {
            fx.store().release(packet);
        }
        self.waits_since = None;
        self.is_full = false;
        self.interrupts.clear();
        self.tags.forget(|_| true);
        self.registers = Registers::new();
        self.registers.set(CROSSED, self.parameters.crossed.into());
        let fifo = self.parameters.fifo.0 as usize;
        *self.user = User::new(self.parameters.user, fifo, self.user_clock);
        self.turn = 0;
        self.tags.apply_registers(&self.endpoint);
    }

    /// Handles arrived packets and sends packets, until nothing more can be done at this time.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            let received = self.receive_all(fx);
            let is_crossed = self.registers.word(CROSSED) & 1 != 0;
            let passed = self.user.pass(is_crossed, fx.now());
            let sent = self.send_one(fx);
            if !(received || passed || sent) {
                break;
            }
        }
        let passes_at = self.user.passes_at(fx.now());
        self.endpoint.wake_engine(passes_at, fx);
    }
}

impl SgDma {
    /// A DMA engine without work.
    pub fn new(config: EndpointConfig, parameters: &SgDmaParameters) -> Self {
        let cycle = config.parameters.clock.period();
        let patterns = config.patterns.clone();
        let limits = config.parameters.outstanding(parameters.tags);
        let width = config.parameters.datapath.0 as usize;
        let user_clock = parameters.user_clock.map(|clock| UserClock {
            cycle: clock.period(),
            width: if width == 0 { WORD } else { width },
        });
        let endpoint = Endpoint::new(config);
        let mut registers = Registers::new();
        registers.set(CROSSED, parameters.crossed.into());
        SgDma {
            cycle,
            lookup: cycle * u64::from(parameters.descriptor_cycles),
            user_clock,
            registers,
            user: Box::new(User::new(
                parameters.user,
                parameters.fifo.0 as usize,
                user_clock,
            )),
            tags: Tags::new(limits, &endpoint),
            reader: None,
            writer: None,
            peer: None,
            waits_since: None,
            is_full: false,
            reflections: VecDeque::new(),
            interrupts: VecDeque::new(),
            turn: 0,
            patterns,
            parameters: parameters.clone(),
            endpoint,
        }
    }
}

/// The pattern of a flow, against which data is checked.
fn pattern(patterns: &[Pattern], label: Option<FlowId>) -> Option<Pattern> {
    patterns.get(label?.0 as usize).copied()
}

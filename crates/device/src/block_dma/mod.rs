//! A DMA engine that transfers blocks of the host's memory, one after the other, at the request of software.
//!
//! Software writes an address, a length and a direction to the engine's [registers](crate::commands::registers), and gets an interrupt or polls
//! at the end; the time for both is not part of the measured transfer. The measured time begins and ends with the transfer in the engine. A
//! sequence of transfers may also start without software.

mod transfer;

use kernel::{Effects, Span, Time};
use packet::PacketId;
use protocol::{Bar, Kind};
use transaction::{AccessKind, AccessLoop, Accesses, FunctionPlace, Memory};

use crate::commands::{Abilities, Command, Commands, REGISTERS, Served, Works};
use crate::leaf::{abandon, one_port};
use crate::requests::{Mark, Posted, Requests, Sent};
use crate::{Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters, Properties};
use transfer::{Stage, Transfer};

kernel::parameters! {
    /// The parameters of a DMA engine for blocks.
    pub struct BlockDmaParameters {
        /// Most outstanding non-posted requests.
        tags: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Time from the start of a transfer to its first request: command decoding and request generation.
        start_latency: Span = Span::from_ns(100), from "our choice: 25 cycles of 250 MHz";
        /// Time from the last data of a transfer, received or transmitted, to its end in the engine.
        end_latency: Span = Span::from_ns(40), from "our choice: 10 cycles of 250 MHz";
        /// Least time between two requests of a transfer.
        request_interval: Span = Span::ZERO, lifts "datapath", from "our choice: as fast as the datapath takes them";
        /// Whether the engine's addresses are virtual and translated by its host (IOMMU). The engine sends no translation requests.
        virtual_addresses: bool = false, from "our choice: physical addresses";
    }
}

/// A DMA engine that transfers blocks.
#[derive(Debug)]
pub struct BlockDma {
    endpoint: Endpoint,
    requests: Requests<(), ()>,
    parameters: BlockDmaParameters,
    commands: Commands,
    /// The access that software has started, as long as its transfer has not begun.
    commanded: Option<Command>,
    works: Works<()>,
    /// The sequence that is served first in the next search for a sequence that is due.
    turn: usize,
    transfer: Option<Transfer>,
    /// The time at which the current transfer may send its next request.
    next_request: Time,
    /// The time at which the last transfer ended.
    free: Time,
}

one_port!(BlockDma);

impl LeafParameters for BlockDmaParameters {
    fn bars(&self, endpoint: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        endpoint.bar().into_iter().chain([REGISTERS]).collect()
    }

    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            // One interrupt signals the end of an access that software has started.
            interrupts: 1,
            has_virtual_addresses: self.virtual_addresses,
            ..Properties::default()
        }
    }
}

impl Leaf for BlockDma {
    fn deadline(&mut self, now: Time) -> Time {
        self.requests.deadline(now)
    }

    /// The accesses that have begun end with an error.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.requests.forget(|_| true);
        self.commands.reset();
        (self.commanded, self.transfer) = (None, None);
        (self.next_request, self.free) = (fx.now(), fx.now());
        let now = fx.now();
        let works = self.works.all.iter_mut().map(|work| &mut work.accesses);
        for accesses in works.filter(|accesses| accesses.what.start <= now) {
            abandon(accesses, fx);
        }
        self.requests.apply_registers(&self.endpoint);
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        self.works.announce(fx);
        self.give_up(fx);
        while self.go_on(fx) {}
        let is_open = |endpoint: &mut Endpoint, fx: &mut Effects<'_, Self>| endpoint.is_open(fx);
        self.commands
            .send_interrupts(&mut self.endpoint, is_open, fx);
        self.wake(fx);
    }
}

impl BlockDma {
    /// A DMA engine without work.
    pub fn new(config: EndpointConfig, parameters: &BlockDmaParameters) -> Self {
        let limits = config.parameters.outstanding(parameters.tags);
        let abilities = Abilities {
            card: Some(config.parameters.bar.0),
            is_bound_by_pcie: true,
        };
        let commands = Commands::new(abilities, config.parameters.clock.period());
        let endpoint = Endpoint::new(config);
        BlockDma {
            commands,
            commanded: None,
            requests: Requests::new(limits, &endpoint),
            endpoint,
            parameters: parameters.clone(),
            works: Works::default(),
            turn: 0,
            transfer: None,
            next_request: Time::ZERO,
            free: Time::ZERO,
        }
    }

    /// Adds a sequence of transfers, and returns the number by which software can start them, from 1. Several sequences take turns. Atomic
    /// operations must have an operand width of PCI Express, and addresses that are multiples of it.
    pub fn add_accesses(&mut self, accesses: Accesses) -> u32 {
        self.works.add(accesses)
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        match self.commands.serve(packet, &mut self.endpoint, fx) {
            Served::Start(command) => return self.commanded = Some(command),
            Served::Here => return,
            Served::Elsewhere => {}
        }
        let header = *fx.store()[packet].header();
        let Kind::Completion(completion) = &header.kind else {
            self.endpoint.serve(packet, fx);
            if matches!(header.kind, Kind::ConfigWrite(_)) {
                self.requests.apply_registers(&self.endpoint);
            }
            return;
        };
        if let Err(why) = self.endpoint.verdict(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        let (transfer, works) = (&mut self.transfer, &self.works.all);
        let keep = |(): &mut (), offset: u64, bytes: &[u8], memory: &mut Memory| {
            if let Some(transfer) = transfer {
                let what = &works[transfer.work].accesses.what;
                transfer.keep(offset, bytes, what, memory);
            }
        };
        let requests = &mut self.requests;
        let ended = requests.take(packet, completion, &mut self.endpoint, fx, keep);
        if let (Some(ended), Some(transfer)) = (ended, &mut self.transfer) {
            transfer.answered(&ended);
        }
    }

    /// Ends requests that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        let transfer = &mut self.transfer;
        let works = &self.works.all;
        loop {
            let flow = |(): &()| {
                let transfer = transfer.as_ref()?;
                transfer.flow(&works[transfer.work].accesses.what)
            };
            let Some(ended) = self.requests.give_up(flow, &mut self.endpoint, fx) else {
                return;
            };
            if let Some(transfer) = &mut *transfer {
                transfer.answered(&ended);
            }
        }
    }

    /// Executes the next step of the current transfer, or begins a transfer. Returns false if neither is possible now.
    fn go_on(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        match &self.transfer {
            None => self.begin(fx.now()),
            Some(_) => self.ask(fx) || self.end(fx),
        }
    }

    /// Begins the next transfer, if one is due.
    fn begin(&mut self, now: Time) -> bool {
        if self.free > now {
            return false;
        }
        let (number, one, card) = if let Some(command) = self.commanded.take() {
            let (number, one, is_free) = self.works.begin_commanded(&command, now);
            (number, one, is_free.then_some(command.card))
        } else {
            let works = &mut self.works.all;
            let is_due = |one: &AccessLoop| !one.is_over() && one.next_start() <= now;
            let mut turns = (self.turn..works.len()).chain(0..self.turn);
            let Some(number) = turns.find(|work| is_due(&works[*work].accesses)) else {
                return false;
            };
            self.turn = (number + 1) % works.len();
            (number, works[number].accesses.begin(now), None)
        };
        self.transfer = Some(Transfer::new(number, one, card));
        self.next_request = now + self.parameters.start_latency;
        true
    }

    /// Sends the next packet of the current transfer. Returns false if none can be sent now.
    fn ask(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let Some(transfer) = &mut self.transfer else {
            return false;
        };
        if self.next_request > fx.now() {
            return false;
        }
        let what = &self.works.all[transfer.work].accesses.what;
        if transfer.stage == Stage::Starting {
            let atomic = transfer.atomic();
            if atomic.is_some() && !self.endpoint.is_atomic_requester_at(FunctionPlace::Own) {
                return false;
            }
            let range = (what.address + transfer.one.offset, transfer.one.size);
            let (own, mark) = (FunctionPlace::Own, Mark::default());
            match transfer.one.kind {
                AccessKind::Write => self.requests.post(own, Posted::write((), mark, range)),
                _ => self.requests.begin(own, ((), mark), range, atomic),
            }
            transfer.stage = Stage::Moving;
        }
        let fill = |(): &(), offset: u64, into: &mut [u8], memory: &Memory| {
            transfer.fill(offset, into, what, memory);
        };
        if let Sent::Nothing = self.requests.send(&mut self.endpoint, fx, fill) {
            return false;
        }
        self.next_request = fx.now() + self.parameters.request_interval;
        true
    }

    /// Ends the current transfer if it is complete. Returns false if it is not.
    fn end(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let Some(done) = self.done(fx.now()) else {
            return false;
        };
        let Some(transfer) = self.transfer.take() else {
            return false;
        };
        self.free = done + self.parameters.end_latency;
        let work = &mut self.works.all[transfer.work].accesses;
        if work.what.driven {
            self.commands.end(self.free, transfer.failed);
        }
        if let Some(told) = transfer.end(work, self.free) {
            fx.foresee(self.free, told);
        }
        true
    }

    /// The time at which the current transfer is complete, if it is known. Writes have no completion: a write is complete when it has been
    /// transmitted.
    fn done(&self, now: Time) -> Option<Time> {
        let transfer = self.transfer.as_ref()?;
        match (transfer.stage, transfer.one.kind) {
            (Stage::Answered, _) => Some(now),
            (Stage::Moving, AccessKind::Write) if self.requests.waiting() == 0 => {
                self.endpoint.posted_gone()
            }
            _ => None,
        }
    }

    /// Schedules a wake-up for the next event.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let next = if let Some(transfer) = &self.transfer {
            let is_asked = transfer.stage != Stage::Starting && self.requests.are_sent();
            (!is_asked).then_some(self.next_request)
        } else {
            let all = self.works.all.iter().map(|work| &work.accesses);
            let left = all.filter(|accesses| !accesses.is_over());
            let first = left.map(AccessLoop::next_start).min();
            first.map(|start| start.max(self.free))
        };
        let next = self.commands.next_time().min(next.unwrap_or(Time::NEVER));
        if next > now {
            self.endpoint.wake_engine(next, fx);
        }
        let deadline = self.requests.deadline(now);
        self.endpoint.wake_engine_in_background(deadline, fx);
    }
}

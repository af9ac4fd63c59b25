//! A DMA engine that transfers blocks of the host's memory, one after the other, at the request of software.
//!
//! Software writes an address, a length and a direction to its [registers](crate::commands::registers), and learns of the end by an
//! interrupt or by polling; this time is outside the measured transfer. The engine's own clock begins and ends with the transfer.
//! A sequence of transfers may also start by itself, without software.

mod transfer;

use kernel::{Effects, Span, Time};
use packet::{Observation, PacketId, Refusal};
use protocol::{Bar, Kind};
use transaction::{AccessKind, AccessLoop, Accesses, FunctionPlace, Outstanding};

use crate::commands::{Abilities, Command, Commands, REGISTERS, Served};
use crate::leaf::{abandon, one_port};
use crate::{Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters};
use transfer::{Limits, Transfer};

kernel::parameters! {
    /// The parameters of a DMA engine for blocks.
    pub struct BlockDmaParameters {
        /// Most outstanding non-posted requests.
        tags: u32 = 32, within 1..=768, from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Time from the start of a transfer to its first request: command decoding and request generation.
        start_latency: Span = Span::from_ns(100), from "our choice: 25 cycles of 250 MHz";
        /// Time from the last data of a transfer, received or transmitted, to its end in the engine.
        end_latency: Span = Span::from_ns(40), from "our choice: 10 cycles of 250 MHz";
        /// Least time between two requests of a transfer.
        request_interval: Span = Span::ZERO, from "our choice: as fast as the datapath takes them";
        /// Whether its addresses are virtual, translated by its host (IOMMU); it sends no translation requests.
        virtual_addresses: bool = false, from "our choice: physical addresses";
        /// Completion timeout of non-posted requests.
        /// Device Control 2 has the range of times that contains it. Software can select another range: the timeout is then the time
        /// of that range that is nearest to this one. For a time between two ranges, Device Control 2 has the longer range.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

/// A DMA engine for blocks.
#[derive(Debug)]
pub struct BlockDma {
    endpoint: Endpoint,
    /// Outstanding requests, with their offsets in the transfer.
    outstanding: Outstanding<u64>,
    start_latency: Span,
    end_latency: Span,
    request_interval: Span,
    commands: Commands,
    /// The access that software has started, until its transfer begins.
    commanded: Option<Command>,
    works: Vec<AccessLoop>,
    /// The number of the sequence of the accesses that software has started and no measurement counts.
    unmeasured: Option<usize>,
    /// Number of sequences of accesses that were reported.
    announced: usize,
    /// The sequence that is served next among those that are due.
    turn: usize,
    transfer: Option<Transfer>,
    /// The time at which the current transfer may send its next request.
    next_request: Time,
    /// The time at which the last transfer ended.
    free: Time,
}

one_port!(BlockDma);

impl LeafParameters for BlockDmaParameters {
    fn completion_timeout(&self) -> Option<Span> {
        Some(self.completion_timeout)
    }

    fn bars(&self, endpoint: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        endpoint.bar().into_iter().chain([REGISTERS]).collect()
    }

    fn tags(&self) -> u32 {
        self.tags
    }

    /// One for the end of an access that software has started.
    fn interrupts(&self) -> u32 {
        1
    }

    fn has_virtual_addresses(&self) -> bool {
        self.virtual_addresses
    }

    fn needs_driver(&self) -> bool {
        true
    }
}

impl Leaf for BlockDma {
    type Parameters = BlockDmaParameters;

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn deadline(&mut self, now: Time) -> Time {
        self.outstanding.next_change(now)
    }

    /// Accesses that have begun end with an error.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.outstanding.forget(|_| true);
        self.commands.reset();
        (self.commanded, self.transfer) = (None, None);
        (self.next_request, self.free) = (fx.now(), fx.now());
        let now = fx.now();
        for work in self.works.iter_mut().filter(|work| work.what.start <= now) {
            abandon(work, fx);
        }
        self.apply_registers();
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        for told in self.works[self.announced..]
            .iter()
            .filter_map(AccessLoop::announced)
        {
            fx.observe(told);
        }
        self.announced = self.works.len();
        self.give_up(fx);
        while self.go_on(fx) {}
        self.interrupt(fx);
        self.wake(fx);
    }
}

impl BlockDma {
    /// An engine without work.
    pub fn new(config: EndpointConfig, parameters: &BlockDmaParameters) -> Self {
        let timeout = parameters.completion_timeout;
        let limits = config.parameters.outstanding(parameters.tags, timeout);
        let abilities = Abilities {
            card: Some(config.parameters.bar.0),
            is_bound_by_pcie: true,
        };
        let mut engine = BlockDma {
            commands: Commands::new(abilities, config.parameters.clock.period()),
            commanded: None,
            endpoint: Endpoint::new(config),
            outstanding: Outstanding::new(limits),
            start_latency: parameters.start_latency,
            end_latency: parameters.end_latency,
            request_interval: parameters.request_interval,
            works: Vec::new(),
            unmeasured: None,
            announced: 0,
            turn: 0,
            transfer: None,
            next_request: Time::ZERO,
            free: Time::ZERO,
        };
        engine.apply_registers();
        engine
    }

    /// Adds a sequence of transfers, and returns the number by which software can start them, from 1; several sequences take turns. Atomic operations must have a width of PCI Express, at multiples
    /// of it.
    pub fn add_accesses(&mut self, accesses: Accesses) -> u32 {
        self.works.push(AccessLoop::new(accesses));
        self.works.len() as u32
    }

    /// Applies the registers.
    fn apply_registers(&mut self) {
        self.outstanding.allow(self.endpoint.requests_allowed());
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        match self.commands.serve(packet, &mut self.endpoint, fx) {
            Served::Start(command) => return self.commanded = Some(command),
            Served::Here => return,
            Served::Elsewhere => {}
        }
        let content = &fx.store()[packet];
        let header = *content.header();
        let Kind::Completion(completion) = &header.kind else {
            self.endpoint.serve(packet, fx);
            if matches!(header.kind, Kind::ConfigWrite(_)) {
                self.apply_registers();
            }
            return;
        };
        if let Err(why) = self.endpoint.verdict(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        let is_own = completion.requester == self.endpoint.id();
        let part = is_own.then(|| self.outstanding.take(completion)).flatten();
        let (Some(part), Some(transfer)) = (part, &mut self.transfer) else {
            return self
                .endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        };
        let what = &self.works[transfer.work()].what;
        let answer = (completion, content.payload());
        transfer.take(&part, answer, what, self.endpoint.bar_mut());
        fx.store().release(packet);
    }

    /// Ends requests that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while self.outstanding.give_up(fx.now()).is_some() {
            self.endpoint.record_timeout(FunctionPlace::Own, fx);
            if let Some(transfer) = &mut self.transfer {
                if transfer.one().measured {
                    let flow = self.works[transfer.work()].what.flow;
                    fx.observe(Observation::timed_out(flow, 0, 0));
                }
                transfer.lose();
            }
        }
    }

    /// Does the next step of the current transfer, or begins one. False if that must wait.
    fn go_on(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        match &self.transfer {
            None => self.begin(fx.now()),
            Some(transfer) if transfer.is_asked() => self.end(fx),
            Some(_) => self.ask(fx),
        }
    }

    /// Sends the interrupt after the end of an access that software has started.
    fn interrupt(&mut self, fx: &mut Effects<'_, Self>) {
        while self.commands.owes_interrupt(fx.now())
            && self.endpoint.is_bus_master()
            && self.endpoint.is_open(fx)
            && let Some(packet) = self.commands.next_interrupt(&mut self.endpoint, fx)
        {
            self.endpoint.hand_over(packet, fx);
        }
    }

    /// The number of the sequence of accesses that no measurement counts.
    fn unmeasured(&mut self) -> usize {
        *self.unmeasured.get_or_insert_with(|| {
            self.works.push(AccessLoop::new(Accesses::unmeasured()));
            self.works.len() - 1
        })
    }

    /// Begins the transfer that software has started.
    fn begin_commanded(&mut self, command: Command, now: Time) {
        let Command {
            kind, address, len, ..
        } = command;
        let sequence = command.sequence.and_then(|number| {
            let offset = self.works.get(number)?.offset_of(kind, address, len)?;
            Some((number, offset))
        });
        let (number, offset) = sequence.unwrap_or_else(|| (self.unmeasured(), address));
        let one = self.works[number].begin_commanded(kind, (offset, len), now);
        let transfer = Transfer::new(number, one, &self.works[number].what);
        self.transfer = Some(match sequence {
            Some(_) => transfer,
            None => transfer.with_card_memory(command.card),
        });
        self.next_request = now + self.start_latency;
    }

    /// Begins the next transfer, if one is due.
    fn begin(&mut self, now: Time) -> bool {
        if self.free <= now
            && let Some(command) = self.commanded.take()
        {
            self.begin_commanded(command, now);
            return true;
        }
        let works = self.works.len();
        let is_due = |work: &AccessLoop| !work.is_over() && work.next_start() <= now;
        let mut turns = (self.turn..works).chain(0..self.turn);
        let due = turns.find(|work| is_due(&self.works[*work]));
        let Some(number) = due.filter(|_| self.free <= now) else {
            return false;
        };
        self.turn = (number + 1) % works;
        let one = self.works[number].begin(now);
        self.transfer = Some(Transfer::new(number, one, &self.works[number].what));
        self.next_request = now + self.start_latency;
        true
    }

    /// Sends the next request of the current transfer.
    fn ask(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let Some(transfer) = &mut self.transfer else {
            return false;
        };
        let may = match transfer.one().kind {
            AccessKind::Write | AccessKind::Read => self.endpoint.is_bus_master(),
            AccessKind::Atomic(_) => self.endpoint.is_atomic_requester(),
        };
        let limits = Limits {
            id: self.endpoint.id(),
            max_payload: self.endpoint.max_payload(),
            max_read_request: self.endpoint.max_read_request(),
        };
        let range = transfer.next_range(limits);
        let fits = range.is_none_or(|(at, len)| self.outstanding.fits(at, len, now));
        if self.next_request > now || !may || !fits || !self.endpoint.is_open(fx) {
            return false;
        }
        let what = &self.works[transfer.work()].what;
        let stores = (self.endpoint.bar(), fx.store());
        let packet = transfer.next(what, limits, &mut self.outstanding, now, stores);
        self.endpoint.hand_over(packet, fx);
        self.next_request = now + self.request_interval;
        true
    }

    /// Ends the current transfer, for which all requests were sent, if it is complete.
    fn end(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let Some(done) = self.done(fx.now()) else {
            return false;
        };
        let Some(transfer) = self.transfer.take() else {
            return false;
        };
        self.free = done + self.end_latency;
        let work = &mut self.works[transfer.work()];
        if work.what.driven {
            self.commands.end(self.free, transfer.has_failed());
        }
        if let Some(told) = transfer.end(work, self.free) {
            fx.foresee(self.free, told);
        }
        true
    }

    /// The time at which the current transfer is complete, if it is known. Writes have no completion: they are complete when they
    /// are transmitted.
    fn done(&self, now: Time) -> Option<Time> {
        let transfer = self.transfer.as_ref()?;
        match transfer.one().kind {
            AccessKind::Write => self.endpoint.posted_gone(),
            AccessKind::Read | AccessKind::Atomic(_) => (!transfer.is_awaited()).then_some(now),
        }
    }

    /// Schedules a wake-up for the next event.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let next = match &self.transfer {
            Some(transfer) if !transfer.is_asked() => Some(self.next_request),
            Some(_) => None,
            None => {
                let left = self.works.iter().filter(|work| !work.is_over());
                let first = left.map(AccessLoop::next_start).min();
                first.map(|start| start.max(self.free))
            }
        };
        let ended = self.commands.next_time();
        let next = Some(next.map_or(ended, |time| time.min(ended)));
        if let Some(next) = next.filter(|time| *time > now && *time < Time::NEVER) {
            self.endpoint.wake_engine(next, fx);
        }
        let deadline = self.outstanding.next_change(now);
        self.endpoint.wake_engine_in_background(deadline, fx);
    }
}

//! A DMA engine that moves blocks of the host's memory, one transfer after the other, as software asks.
//!
//! Software gives it an address, a length and a direction, and hears of the end by an interrupt or a poll: what that takes is
//! around the transfers. The engine's own clock begins with the transfer and stops at its end.

mod transfer;

use kernel::{Component, Effects, Port, Span, Time};
use packet::{Frame, Observation, PacketId, Pcie, Refusal};
use protocol::Kind;
use transaction::{AccessKind, AccessLoop, Accesses, Outstanding, Place};

use crate::{Endpoint, EndpointConfig, EndpointTimer};
use transfer::{Limits, Transfer};

kernel::parameters! {
    /// What a DMA engine for blocks can be told.
    pub struct BlockDmaParameters {
        /// Non-posted requests that may wait for completions.
        tags: u32 = 32, within 1..=768, from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Time from the start of a transfer to its first request: the command is decoded, and the request made.
        start_latency: Span = Span::from_ns(100), from "our choice: 25 cycles of 250 MHz";
        /// Time from the last data of a transfer, taken in or off to the wire, to its end in the engine.
        end_latency: Span = Span::from_ns(40), from "our choice: 10 cycles of 250 MHz";
        /// Least time from one request of a transfer to the next.
        request_interval: Span = Span::ZERO, from "our choice: as fast as the datapath takes them";
        /// Whether its addresses are virtual, and its host translates them (IOMMU); it asks for no translations itself.
        virtual_addresses: bool = false, from "our choice: physical addresses";
        /// How long a non-posted request waits for its completions.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

/// A DMA engine for blocks.
#[derive(Debug)]
pub struct BlockDma {
    endpoint: Endpoint,
    /// Requests, by where in their transfer they begin.
    outstanding: Outstanding<u64>,
    start_latency: Span,
    end_latency: Span,
    request_interval: Span,
    works: Vec<AccessLoop>,
    /// Of how many works the probes know how much they will ask for.
    announced: usize,
    /// Whose transfer is next, of those that are due.
    turn: usize,
    transfer: Option<Transfer>,
    /// When the transfer under way may make its next request.
    next_request: Time,
    /// When the last transfer was at its end.
    free: Time,
}

impl Component for BlockDma {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        self.endpoint.receive(frame, fx);
        self.run(fx);
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        self.run(fx);
    }
}

impl BlockDma {
    /// An engine with nothing to do.
    pub fn new(config: EndpointConfig, parameters: &BlockDmaParameters) -> Self {
        let tags = parameters.tags as u16;
        let mut engine = BlockDma {
            endpoint: Endpoint::new(config),
            outstanding: Outstanding::new(tags, parameters.completion_timeout),
            start_latency: parameters.start_latency,
            end_latency: parameters.end_latency,
            request_interval: parameters.request_interval,
            works: Vec::new(),
            announced: 0,
            turn: 0,
            transfer: None,
            next_request: Time::ZERO,
            free: Time::ZERO,
        };
        engine.obey();
        engine
    }

    /// Its core.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its core, to be filled before a run.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Gives it transfers to make, one after the other; those of several such works take turns. Atomic operations have a
    /// width that PCI Express has, at multiples of it.
    pub fn add_accesses(&mut self, accesses: Accesses) {
        self.works.push(AccessLoop::new(accesses));
    }

    /// Takes over what the registers say.
    fn obey(&mut self) {
        self.outstanding.allow(self.endpoint.tags_allowed());
    }

    /// Takes in what has arrived, goes on with the transfers and sends what may go.
    pub fn run(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        for work in &self.works[self.announced..] {
            fx.observe(work.announced());
        }
        self.announced = self.works.len();
        self.give_up(fx);
        while self.go_on(fx) {}
        // Completions of reads to BAR 0 go even when nothing is to be asked for.
        self.endpoint.is_open(fx);
        self.wake(fx);
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        let Kind::Completion(completion) = &header.kind else {
            self.endpoint.serve(packet, fx);
            if matches!(header.kind, Kind::ConfigWrite(_)) {
                self.obey();
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
        let pattern = self.works[transfer.work()].what.expected();
        transfer.take(&part, completion, content.payload(), pattern);
        fx.store().release(packet);
    }

    /// Requests that were not answered in time never will be.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while self.outstanding.give_up(fx.now()).is_some() {
            self.endpoint.record_timeout(Place::Own);
            if let Some(transfer) = &mut self.transfer {
                let flow = self.works[transfer.work()].what.flow;
                fx.observe(Observation::timed_out(flow, 0));
                transfer.lose();
            }
        }
    }

    /// Makes the next step of the transfer under way, or begins one. False if that must wait.
    fn go_on(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        match &self.transfer {
            None => self.begin(fx.now()),
            Some(transfer) if transfer.is_asked() => self.end(fx),
            Some(_) => self.ask(fx),
        }
    }

    /// Begins the transfer that is next, if one is due.
    fn begin(&mut self, now: Time) -> bool {
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

    /// Makes the next request of the transfer under way.
    fn ask(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let Some(transfer) = &mut self.transfer else {
            return false;
        };
        let what = &self.works[transfer.work()].what;
        let (may, has_tag) = match what.kind {
            AccessKind::Write => (self.endpoint.is_bus_master(), true),
            AccessKind::Read => (self.endpoint.is_bus_master(), self.outstanding.is_open()),
            AccessKind::Atomic(_) => (
                self.endpoint.is_atomic_requester(),
                self.outstanding.is_open(),
            ),
        };
        if self.next_request > now || !may || !has_tag || !self.endpoint.is_open(fx) {
            return false;
        }
        let limits = Limits {
            id: self.endpoint.id(),
            max_payload: self.endpoint.max_payload(),
            max_read_request: self.endpoint.max_read_request(),
        };
        let packet = transfer.next(what, limits, &mut self.outstanding, now, fx.store());
        self.endpoint.hand_over(packet, fx);
        self.next_request = now + self.request_interval;
        true
    }

    /// Ends the transfer under way, of which nothing more is asked for, if all of it is done.
    fn end(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let Some(done) = self.done(fx.now()) else {
            return false;
        };
        let Some(transfer) = self.transfer.take() else {
            return false;
        };
        self.free = done + self.end_latency;
        let work = &mut self.works[transfer.work()];
        if let Some(told) = transfer.end(work, self.free) {
            fx.foresee(self.free, told);
        }
        true
    }

    /// When the transfer under way is done, if that is known. Nobody answers writes: they are done when they are off to the
    /// wire.
    fn done(&self, now: Time) -> Option<Time> {
        let transfer = self.transfer.as_ref()?;
        match self.works[transfer.work()].what.kind {
            AccessKind::Write => self.endpoint.posted_gone(),
            AccessKind::Read | AccessKind::Atomic(_) => (!transfer.is_awaited()).then_some(now),
        }
    }

    /// Asks to be woken for what is due next.
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
        let deadline = self.outstanding.oldest_deadline();
        let all = next.into_iter().chain([deadline]);
        if let Some(next) = all.filter(|time| *time > now && *time < Time::NEVER).min() {
            self.endpoint.wake_engine(next, fx);
        }
    }
}

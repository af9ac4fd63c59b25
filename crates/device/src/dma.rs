//! A generic DMA engine. Each of its functions reads and writes the data of any number of flows, and has memory behind BAR 0 for flows of other
//! devices.

use std::iter;

use kernel::{Bandwidth, Effects, Span, Time};
use packet::{Observation, PacketId, Refusal};
use protocol::Kind;
use transaction::{FunctionPlace, Next, Requester, Staging};

use crate::leaf::{forget, one_port};
use crate::place::place_of;
use crate::{Endpoint, EndpointConfig, Leaf, LeafParameters, Properties};

kernel::parameters! {
    /// The parameters of a DMA engine.
    pub struct DmaParameters {
        /// Most outstanding non-posted requests.
        tags: u32 = 32, within 1..=768, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Time from the begin of a request in the engine to its tag and its first packet. The engine begins requests early enough that this
        /// latency does not limit their rate.
        request_latency: Span = Span::ZERO, from "our choice: none";
        /// Rate at which the engine collects a whole request of a flow: a write before its first packet, a read after its last completion; none
        /// if the data of each packet is passed on at once. The engine collects any number of requests at the same time, so the rate adds a
        /// latency and does not limit the throughput.
        store_and_forward: Option<Bandwidth> = None, within None..=Some(Bandwidth(1_000_000_000_000_000)), lifts "datapath", from "our choice: packets go on as they come";
        /// Least time between two packets with requests of the engine.
        request_interval: Span = Span::ZERO, lifts "datapath", from "our choice: as fast as the datapath takes them";
    }
}

/// A DMA engine.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Dma {
    endpoint: Endpoint,
    /// The function that is served next.
    turn: usize,
    request_interval: Span,
    /// The requester of each virtual function.
    others: Vec<Requester>,
    /// The requester of the physical function. It is stored here and not in a list, because nearly all engines have no other requester.
    requester: Requester,
}

one_port!(Dma);

impl LeafParameters for DmaParameters {
    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            begins_flows: true,
            ..Properties::default()
        }
    }
}

impl Leaf for Dma {
    fn requester(&self, function: u8) -> Option<&Requester> {
        iter::once(&self.requester)
            .chain(&self.others)
            .nth(function.into())
    }

    fn requester_mut(&mut self, function: u8) -> Option<&mut Requester> {
        self.requesters_mut().nth(function.into())
    }

    fn deadline(&mut self, now: Time) -> Time {
        let all = self.requesters_mut();
        all.map(|requester| requester.deadline(now))
            .min()
            .unwrap_or(Time::NEVER)
    }

    fn reset(&mut self, function: FunctionPlace, fx: &mut Effects<'_, Self>) {
        for (number, requester) in self.requesters_mut().enumerate() {
            if [place_of(number), FunctionPlace::Own].contains(&function) {
                forget(requester, fx);
            }
        }
        self.configure_requesters();
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if self.endpoint.has_work(fx.now()) {
            while let Some(packet) = self.endpoint.take(fx) {
                self.take(packet, fx);
            }
        }
        while self.endpoint.is_open(fx) && self.ask(fx) {}
    }
}

impl Dma {
    /// A DMA engine without flows.
    pub fn new(config: EndpointConfig, parameters: &DmaParameters) -> Self {
        let endpoint = Endpoint::new(config);
        let staging = Staging {
            latency: parameters.request_latency,
            store_and_forward: parameters.store_and_forward,
        };
        let limits = endpoint.requester_limits(parameters.tags, staging);
        let functions = endpoint.functions().virtual_places().count();
        let mut dma = Dma {
            turn: 0,
            request_interval: parameters.request_interval,
            others: vec![Requester::new(endpoint.id(), limits); functions],
            requester: Requester::new(endpoint.id(), limits),
            endpoint,
        };
        dma.configure_requesters();
        dma
    }

    /// The requesters of all functions, by number, mutable.
    fn requesters_mut(&mut self) -> impl Iterator<Item = &mut Requester> {
        iter::once(&mut self.requester).chain(&mut self.others)
    }

    fn of(&mut self, number: usize) -> &mut Requester {
        match number.checked_sub(1) {
            None => &mut self.requester,
            Some(other) => &mut self.others[other],
        }
    }

    /// Applies the configuration registers to the requesters of all functions.
    fn configure_requesters(&mut self) {
        let requesters = iter::once(&mut self.requester).chain(&mut self.others);
        for (number, requester) in requesters.enumerate() {
            self.endpoint
                .configure_requester_of(place_of(number), requester);
        }
    }

    /// Sends the next packet of the next function that can send one, or reports its next observation. Returns false if no function has either
    /// now.
    fn ask(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let (now, count) = (fx.now(), 1 + self.others.len());
        let (mut earliest, mut deadline) = (Time::NEVER, Time::NEVER);
        let turn = self.turn;
        for step in turn..turn + count {
            let number = if step < count { step } else { step - count };
            match self.of(number).next(now, fx.store()) {
                Next::Packet(packet) => {
                    self.endpoint.hand_over(packet, fx);
                    if self.request_interval > Span::ZERO {
                        let next = now + self.request_interval;
                        let all = self.requesters_mut();
                        all.for_each(|requester| requester.hold_until(next));
                    }
                }
                Next::Report(what) => fx.observe(what),
                Next::Ended(flow, bytes) => fx.observe(Observation::Ended { flow, bytes }),
                Next::TimedOut(flow, bytes, offset) => {
                    self.endpoint.record_timeout(place_of(number), fx);
                    fx.observe(Observation::timed_out(flow, bytes, offset));
                }
                Next::NotBefore(time) => {
                    let own = self.of(number).deadline(now);
                    deadline = deadline.min(own);
                    if time != own {
                        earliest = earliest.min(time);
                    }
                    continue;
                }
                // The end of a tag quarantine is a deadline even if no flow requests a tag now, such as without Bus Master Enable.
                Next::Nothing => {
                    deadline = deadline.min(self.of(number).deadline(now));
                    continue;
                }
            }
            self.turn = if number + 1 == count { 0 } else { number + 1 };
            return true;
        }
        self.endpoint.wake_engine(earliest, fx);
        self.endpoint.wake_engine_in_background(deadline, fx);
        false
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let (header, stamp) = (*content.header(), content.stamp);
        if let Kind::Completion(completion) = &header.kind {
            if let Err(why) = self.endpoint.verdict(&header) {
                return self.endpoint.refuse(packet, why, fx);
            }
            let payload = content.payload();
            let taken = self
                .requesters_mut()
                .find_map(|one| one.take(completion, payload));
            let Some(taken) = taken else {
                return self
                    .endpoint
                    .refuse(packet, Refusal::UnexpectedCompletion, fx);
            };
            fx.foresee(fx.now() + taken.collecting, taken.observation());
            return fx.store().release(packet);
        }
        self.endpoint.serve(packet, fx);
        if matches!(header.kind, Kind::ConfigWrite(_)) {
            self.configure_requesters();
        }
        if let Some(flow) = stamp.flow {
            for requester in self.requesters_mut() {
                requester.complete_round_trip(flow, fx.now());
            }
        }
    }
}

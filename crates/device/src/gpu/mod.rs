//! A GPU: copy engines and kernels, which move data between the memory of the GPU and other addresses.

mod parameters;
pub mod program;
mod running;

use std::collections::VecDeque;

use kernel::{Effects, Span, Time};
use packet::{Charge, FlowId, Observation, PacketId, Refusal};
use protocol::{Header, Kind};
use transaction::{
    CallNote, Content, Direction, Flow, FunctionPlace, Next, Requester, Staging, completed,
};

use crate::leaf::{forget, one_port};
use crate::{Endpoint, EndpointConfig, Leaf};
use program::{Engine, FLAG, Move, Program, Work};
use running::{Costs, Event, Running};

pub use parameters::GpuParameters;

/// A GPU. Each flow stands for the work of a copy engine of its own; programs share the copy engines.
#[derive(Clone, Debug)]
pub struct Gpu {
    endpoint: Endpoint,
    parameters: GpuParameters,
    requester: Requester,
    programs: Vec<Running>,
    ingress: Ingress,
}

/// The queue of requests from others to the memory, if the rate of the memory is limited.
#[derive(Clone, Debug, Default)]
struct Ingress {
    /// Requests that wait, oldest first, each with the time at which the memory has taken it, and with the receive buffer that it holds.
    waiting: VecDeque<(Time, PacketId, Charge)>,
    /// The time at which the memory has taken the last request.
    free_at: Time,
}

one_port!(Gpu);

impl Leaf for Gpu {
    fn requester(&self, function: u8) -> Option<&Requester> {
        (function == 0).then_some(&self.requester)
    }

    fn requester_mut(&mut self, function: u8) -> Option<&mut Requester> {
        (function == 0).then_some(&mut self.requester)
    }

    fn deadline(&mut self, now: Time) -> Time {
        self.requester.deadline(now)
    }

    fn reset(&mut self, function: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if function == FunctionPlace::Own {
            forget(&mut self.requester, fx);
            let now = fx.now();
            for program in self.programs.extract_if(.., |one| !one.begins_after(now)) {
                for flow in program.unfinished() {
                    fx.observe(Observation::Forgotten { flow });
                }
            }
            for (_, packet, charge) in std::mem::take(&mut self.ingress).waiting {
                self.endpoint.free(charge, fx);
                fx.store().release(packet);
            }
        }
        self.configure_requester();
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.arrive(fx);
        self.advance(fx);
        while self.endpoint.is_open(fx) && self.send(fx) {}
    }
}

impl Gpu {
    /// A GPU without programs and flows.
    pub fn new(config: EndpointConfig, parameters: &GpuParameters) -> Self {
        let config = EndpointConfig {
            parameters: parameters.core(config.parameters),
            ..config
        };
        let endpoint = Endpoint::new(config);
        let limits = endpoint.requester_limits(parameters.tags, Staging::default());
        let mut gpu = Gpu {
            requester: Requester::new(endpoint.id(), limits),
            parameters: parameters.clone(),
            programs: Vec::new(),
            ingress: Ingress::default(),
            endpoint,
        };
        gpu.configure_requester();
        gpu
    }

    /// Adds a program. Its copies use copy engines that other programs do not use.
    pub fn add_program(&mut self, program: Program) {
        let engines = self.parameters.copy_engines;
        self.programs.push(Running::new(program, engines));
    }

    /// Applies the configuration registers to the requester. Its packets have at most the payload of a copy engine.
    fn configure_requester(&mut self) {
        self.endpoint
            .configure_requester_of(FunctionPlace::Own, &mut self.requester);
        let most = self.parameters.copy_payload.0 as u32;
        self.requester
            .set_max_payload(self.endpoint.write_payload().min(most));
    }

    fn costs(&self) -> Costs {
        Costs {
            memory_bandwidth: self.parameters.memory_bandwidth,
            poll_latency: self.parameters.poll_latency,
        }
    }

    /// Handles the packets that have arrived. Each packet waits until the memory has taken the writes before it.
    fn arrive(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        if !self.endpoint.has_work(now) && self.ingress.waiting.is_empty() {
            return;
        }
        while let Some((packet, charge)) = self.endpoint.take_held(fx) {
            let due = self.taken_at(fx.store()[packet].header(), now);
            self.ingress.waiting.push_back((due, packet, charge));
        }
        while let Some((_, packet, charge)) =
            self.ingress.waiting.pop_front_if(|(due, ..)| *due <= now)
        {
            self.endpoint.free(charge, fx);
            self.take(packet, fx);
        }
        if let Some((due, ..)) = self.ingress.waiting.front() {
            self.endpoint.wake_engine(*due, fx);
        }
    }

    /// The time at which a packet that has arrived can be handled.
    fn taken_at(&mut self, header: &Header, now: Time) -> Time {
        let begin = now.max(self.ingress.free_at);
        if let (Some(rate), Kind::MemoryWrite(request)) =
            (self.parameters.ingress_bandwidth, &header.kind)
        {
            self.ingress.free_at = begin + rate.time_of(request.byte_len().into());
            return self.ingress.free_at;
        }
        begin
    }

    /// Begins and ends the steps of the programs for which it is time.
    fn advance(&mut self, fx: &mut Effects<'_, Self>) {
        let (now, costs) = (fx.now(), self.costs());
        for index in 0..self.programs.len() {
            loop {
                let program = &mut self.programs[index];
                match program.next(now, &costs, self.endpoint.bar_mut()) {
                    Event::Begin(step) => {
                        let flow = program.flow_of(step);
                        fx.observe(Observation::own(flow, CallNote::Called));
                        if let Some(transfer) = self.transfer(index, step, now) {
                            self.requester.add(transfer);
                        }
                    }
                    Event::End(step) => {
                        let flow = program.flow_of(step);
                        fx.observe(Observation::Ended { flow, bytes: 0 });
                        fx.observe(Observation::own(flow, CallNote::Returned));
                    }
                    Event::NotBefore(time) => {
                        self.endpoint.wake_engine(time, fx);
                        break;
                    }
                    Event::Nothing => break,
                }
            }
        }
    }

    /// The flow of a step, if the step makes requests.
    fn transfer(&self, program: usize, step: usize, now: Time) -> Option<Flow> {
        let program = &self.programs[program];
        let (own, id) = (&self.parameters, program.flow_of(step));
        match program.work(step) {
            Work::Signal(address) => {
                let content = Content::Bytes(FLAG.to_vec());
                let range = (*address, FLAG.len() as u64);
                Some(Flow::once(id, Direction::Write, range, now, content))
            }
            Work::Move(transfer) => {
                let (direction, range) = (transfer.direction, (transfer.address, transfer.bytes));
                let (request_size, latency) = match (transfer.engine, direction) {
                    (Engine::Copy, _) => (None, own.copy_latency),
                    (Engine::Kernel, Direction::Read) => (Some(own.load_size.0), Span::ZERO),
                    (Engine::Kernel, _) => (Some(own.store_payload.0), Span::ZERO),
                };
                Some(Flow {
                    request_size,
                    ..Flow::once(id, direction, range, now + latency, Content::Device)
                })
            }
            Work::Reduce { .. } | Work::Duplicate { .. } | Work::Wait(_) | Work::Compute(_) => None,
        }
    }

    /// Sends the next packet, or reports the next observation. Returns false if there is neither now.
    fn send(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        match self.requester.next(now, fx.store()) {
            Next::Packet(packet) => {
                self.fill(packet, fx);
                self.endpoint.hand_over(packet, fx);
            }
            Next::Report(what) => fx.observe(what),
            Next::Ended(flow, bytes) => {
                fx.observe(Observation::Ended { flow, bytes });
                self.sent(flow, bytes, fx);
            }
            Next::TimedOut(flow, bytes, offset) => {
                self.endpoint.record_timeout(FunctionPlace::Own, fx);
                fx.observe(Observation::timed_out(flow, bytes, offset));
                self.arrived(flow, bytes, fx);
            }
            Next::NotBefore(time) => {
                let deadline = self.requester.deadline(now);
                if time != deadline {
                    self.endpoint.wake_engine(time, fx);
                }
                self.endpoint.wake_engine_in_background(deadline, fx);
                return false;
            }
            Next::Nothing => {
                let deadline = self.requester.deadline(now);
                self.endpoint.wake_engine_in_background(deadline, fx);
                return false;
            }
        }
        true
    }

    /// The program and the transfer of the step that has this flow.
    fn transfer_of(&self, flow: FlowId) -> Option<(usize, usize, Option<Move>)> {
        self.programs
            .iter()
            .enumerate()
            .find_map(|(index, program)| {
                let step = program.step_of(flow)?;
                let transfer = match program.work(step) {
                    Work::Move(transfer) => Some(*transfer),
                    _ => None,
                };
                Some((index, step, transfer))
            })
    }

    /// Copies the payload of a step's write from the memory into its packet.
    fn fill(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let (header, stamp) = (*content.header(), content.stamp);
        let Kind::MemoryWrite(request) = &header.kind else {
            return;
        };
        let of = stamp.flow.and_then(|flow| self.transfer_of(flow));
        let Some((_, _, Some(transfer))) = of else {
            return;
        };
        let lead = (request.first_byte() % 4) as usize;
        let len = request.byte_len() as usize;
        let payload = &mut fx.store()[packet].payload_mut()[lead..lead + len];
        self.endpoint
            .bar()
            .read(transfer.offset + stamp.offset, payload);
    }

    /// Continues a program after a flow has sent its last request. A read has not ended then.
    fn sent(&mut self, flow: FlowId, bytes: u64, fx: &mut Effects<'_, Self>) {
        if let Some((program, step, transfer)) = self.transfer_of(flow)
            && transfer.is_none_or(|transfer| transfer.direction == Direction::Write)
        {
            self.count(program, step, bytes, fx);
        }
    }

    /// Continues a program after bytes of a read have arrived, or are lost.
    fn arrived(&mut self, flow: FlowId, bytes: u32, fx: &mut Effects<'_, Self>) {
        if let Some((program, step, _)) = self.transfer_of(flow) {
            self.count(program, step, bytes.into(), fx);
        }
    }

    fn count(&mut self, program: usize, step: usize, bytes: u64, fx: &mut Effects<'_, Self>) {
        let flow = self.programs[program].flow_of(step);
        if self.programs[program].moved(step, bytes) {
            fx.observe(Observation::own(flow, CallNote::Returned));
            self.advance(fx);
        }
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        let Kind::Completion(completion) = &header.kind else {
            self.endpoint.serve(packet, fx);
            match &header.kind {
                Kind::ConfigWrite(_) => self.configure_requester(),
                Kind::MemoryWrite(request) if request.byte_len() as usize == FLAG.len() => {
                    let size = self.endpoint.bar().size();
                    if let Some(flag) = self.endpoint.offset_in(0, size, request) {
                        let (now, costs) = (fx.now(), self.costs());
                        for program in &mut self.programs {
                            program.poll(flag, now, &costs, self.endpoint.bar());
                        }
                    }
                }
                _ => {}
            }
            return;
        };
        if let Err(why) = self.endpoint.verdict(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        let Some(taken) = self.requester.take(completion, content.payload()) else {
            return self
                .endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        };
        let data = completed(completion, content.payload(), taken.bytes);
        if taken.intact
            && let Some((_, _, Some(transfer))) = self.transfer_of(taken.flow)
            && let Some(data) = data
        {
            let at = transfer.offset + taken.offset;
            self.endpoint.bar_mut().write(at, data);
        }
        fx.observe(taken.observation());
        fx.store().release(packet);
        self.arrived(taken.flow, taken.bytes, fx);
    }
}

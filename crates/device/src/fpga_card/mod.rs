//! An FPGA card with a slot for accelerator functional units, like the Intel Programmable Acceleration Card.
//!
//! BAR 0 begins with the management engine (FME). BAR 2 is the port: its registers, then those of the unit in the slot. Software
//! finds them by feature headers, each with the distance to the next. The unit, an [`Afu`], accesses host memory, the card's own
//! memory and interrupts through the [`Shell`]. A slot is configured with a [`BuiltInAfu`] or with a user's unit. Register maps are
//! those of the published designs, so that their drivers work.
//!
//! While the port is in reset, or the slot is empty, loads from the unit's registers return all ones and stores have no effect;
//! both set bits of the port's error register. The upper half of BAR 0 is reserved in the published design; here it is memory, so
//! that flows can end at the card.
//!
//! The port and the management engine each have an interrupt for errors, after the interrupts of the unit. Errors are violations of
//! the port's rules by the unit, failed requests on the link, and errors that software injects.

mod afu;
mod afu_id;
mod builtin;
mod dma;
mod errors;
mod features;
mod host_interface;
mod interrupts;
mod local_memory;
mod management;
mod misuse;
mod msgdma;
mod nlb;
mod parameters;
mod port;
pub mod registers;
mod service;
mod shell;
mod streaming;
mod words;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use kernel::{Bytes, Component, Effects, Port, Span, Time};
use packet::{Frame, Pcie};
use protocol::{Bar, Identity};
use transaction::{FunctionPlace, Memory};

use crate::{
    Endpoint, EndpointConfig, EndpointParameters, EndpointTimer, Leaf, LeafParameters, leaf,
};
use host_interface::{Data, HostInterface, LONGEST, Limits, Outgoing, ReadEnd, Taken};
use management::Management;
use port::{PortRegisters, ResetChange};

pub use afu::{Afu, MMIO_SIZE};
pub use afu_id::{AfuId, NotAnAfuId};
pub use builtin::BuiltInAfu;
pub use interrupts::{INTERRUPTS, MANAGEMENT_ALERT, PORT_ALERT, VECTORS};
pub use local_memory::{LocalMemory, NoSuchMemory};
pub use management::{BITSTREAM as BITSTREAM_ID, INTERFACE};
pub use misuse::{Misuse, ReadError};
pub use parameters::FpgaCardParameters;
pub use shell::{MemoryPort, Shell};

/// An FPGA card.
#[derive(Debug)]
pub struct FpgaCard {
    endpoint: Endpoint,
    management: Management,
    port: PortRegisters,
    slot: Slot,
    host: HostInterface,
    memory: LocalMemory,
    /// Names of features that software has started and units do not have.
    missing: Vec<&'static str>,
    cycle: Span,
    /// The data of the last completed read.
    answer: Data,
    /// Data loaded from registers, for the completion.
    loaded: Memory,
    /// The times of the next wake-ups: for the unit, and for the next timeout.
    armed: [Time; 2],
}

/// The unit in the slot. A unit need not be `Sync`, although the card must be.
struct Slot {
    afu: Option<Mutex<Box<dyn Afu>>>,
    id: Option<AfuId>,
    next_feature: Option<u32>,
}

impl LeafParameters for FpgaCardParameters {
    /// The BARs of management, and of the port with its slot.
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        let bars = [0, PORT_BAR as u8].map(|index| Bar {
            index,
            size: BAR_SIZE,
            wide: true,
        });
        bars.into()
    }

    fn tags(&self) -> u32 {
        self.tags
    }

    fn interrupts(&self) -> u32 {
        VECTORS.into()
    }

    /// An Intel Programmable Acceleration Card with Arria 10 GX FPGA.
    fn identity(&self) -> Identity {
        Identity {
            vendor: 0x8086,
            device: 0x09c4,
            revision: 0,
            class: 0x12_0000,
        }
    }

    fn needs_driver(&self) -> bool {
        true
    }
}

/// Size of each BAR.
const BAR_SIZE: u64 = 512 * 1024;

/// The BAR of the port.
const PORT_BAR: usize = 2;

impl Component for FpgaCard {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
        self.with_afu(fx, |afu, shell| afu.wake(shell));
        self.run(fx);
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        self.endpoint.receive(frame, fx);
        leaf::run(self, fx);
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        leaf::run(self, fx);
    }
}

impl Leaf for FpgaCard {
    type Parameters = FpgaCardParameters;

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The registers of management and port are as after reset, and the port takes its slot through a reset. The unit stays configured,
    /// and the card's memory keeps its contents.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.management = Management::default();
        self.port = PortRegisters::default();
        self.host.forget();
        self.host.apply_registers(limits(&self.endpoint));
        self.change_reset(ResetChange::Begins, fx);
        if !self.port.is_in_reset() {
            self.change_reset(ResetChange::Ends, fx);
        }
    }

    /// Handles arrived packets, and advances the unit and the link, until nothing more can be done now.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.give_up(fx);
        loop {
            let received = self.receive_all(fx);
            let sent = self.send_all(fx);
            let woken = self.wake(fx);
            if !(received || sent || woken) {
                break;
            }
        }
        self.arm(fx);
    }
}

impl FpgaCard {
    /// A card with the configuration of its parameters.
    pub fn new(mut config: EndpointConfig, parameters: &FpgaCardParameters) -> Self {
        config.parameters.bar = Bytes(BAR_SIZE);
        let timeout = parameters.completion_timeout;
        let outstanding = config.parameters.outstanding(parameters.tags, timeout);
        let endpoint = Endpoint::new(config);
        let limits = limits(&endpoint);
        let requests = (parameters.outstanding_reads, parameters.waiting_writes);
        let mut card = FpgaCard {
            management: Management::default(),
            port: PortRegisters::default(),
            slot: Slot::of(parameters.afu.make()),
            host: HostInterface::new(limits, outstanding, requests),
            memory: LocalMemory::new(
                parameters.memory.0,
                parameters.memory_channels,
                parameters.memory_bandwidth,
                parameters.memory_latency,
            ),
            missing: Vec::new(),
            cycle: parameters.afu_clock.period(),
            answer: vec![0; LONGEST],
            loaded: Memory::new(BAR_SIZE),
            armed: [Time::ZERO; 2],
            endpoint,
        };
        card.host.apply_registers(limits);
        card
    }

    /// The card's own memory.
    pub fn memory(&self) -> &LocalMemory {
        &self.memory
    }

    /// The ID of the unit in the slot.
    pub fn afu_id(&self) -> Option<AfuId> {
        self.slot.id
    }

    /// Number of violations of the port's rules, by the unit in the slot or by software.
    pub fn port_errors(&self) -> u64 {
        self.port.errors.count
    }

    /// Errors on the link to the host, from the management engine's register `PCIE0_ERROR`.
    pub fn link_errors(&self) -> u64 {
        self.management.errors.link
    }

    /// Names of features that software has started although the models of units do not have them, each once.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Reconfigures the slot, as partial reconfiguration does, and resets the unit; without a unit, it becomes empty. Answers to
    /// requests of the previous unit are dropped. The card's memory keeps its content.
    pub fn load(&mut self, afu: Option<Box<dyn Afu>>, fx: &mut Effects<'_, Self>) {
        self.host.abandon(fx.store());
        self.slot = Slot::of(afu);
        self.with_afu(fx, |afu, _| afu.reset());
        if !self.port.is_in_reset() {
            self.with_afu(fx, |afu, shell| afu.wake(shell));
        }
        self.run(fx);
    }

    /// Calls the unit in the slot, if there is one, with the shell.
    fn with_afu<R>(
        &mut self,
        fx: &mut Effects<'_, Self>,
        what: impl FnOnce(&mut dyn Afu, &mut Shell<'_>) -> R,
    ) -> Option<R> {
        let afu = self.slot.afu.as_mut()?;
        let afu = afu.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut shell = Shell {
            now: fx.now(),
            cycle: self.cycle,
            host: &mut self.host,
            memory: &mut self.memory,
            missing: &mut self.missing,
            errors: &mut self.port.errors,
            packets: fx.store(),
        };
        Some(what(afu.as_mut(), &mut shell))
    }

    /// Sends all items that may be sent; returns whether there were any.
    fn send_all(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while self.endpoint.is_open(fx) && self.endpoint.is_bus_master() {
            if let Some(vector) = self.alert() {
                any = true;
                self.signal(vector, fx);
                continue;
            }
            let Some(next) = self.host.next(fx.now(), fx.store()) else {
                break;
            };
            any = true;
            match next {
                Outgoing::Packet(packet, written) => {
                    self.endpoint.hand_over(packet, fx);
                    if let Some(tag) = written {
                        self.with_afu(fx, |afu, shell| afu.write_done(tag, shell));
                    }
                }
                Outgoing::Interrupt(vector) => self.signal(vector, fx),
            }
        }
        any
    }

    /// The interrupt of a part of the card that has new errors.
    fn alert(&mut self) -> Option<u8> {
        if self.management.errors.take_alert() {
            return Some(MANAGEMENT_ALERT);
        }
        self.port.errors.take_alert().then_some(PORT_ALERT)
    }

    /// Sends the write that signals an interrupt; none while it is masked, or while software has not enabled it.
    fn signal(&mut self, vector: u8, fx: &mut Effects<'_, Self>) {
        let place = FunctionPlace::Own;
        if let Some(packet) = self.endpoint.interrupt(place, vector.into(), fx) {
            self.endpoint.hand_over(packet, fx);
        }
    }

    /// Wakes the unit if it may continue; returns whether it was woken.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let is_due = self.host.alarm <= fx.now();
        if is_due {
            self.host.alarm = Time::NEVER;
        }
        let is_relieved = self.host.is_relieved();
        if !(is_due || is_relieved) || self.port.is_in_reset() {
            return false;
        }
        self.with_afu(fx, |afu, shell| afu.wake(shell)).is_some()
    }

    /// Ends reads that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(taken) = self.host.give_up(fx.now(), &mut self.answer) {
            self.endpoint.record_timeout(FunctionPlace::Own, fx);
            self.management.errors.record(ReadError::TimedOut.into());
            if let Taken::Read(answer) = taken {
                self.report(answer, fx);
            }
        }
    }

    /// Reports the end of a read to the unit.
    fn report(&mut self, answer: ReadEnd, fx: &mut Effects<'_, Self>) {
        let data = std::mem::take(&mut self.answer);
        let result = answer.result.map(|len| &data[..len]);
        self.with_afu(fx, |afu, shell| afu.read_done(answer.tag, result, shell));
        self.answer = data;
    }

    /// Puts the slot into reset, or releases it.
    fn change_reset(&mut self, change: ResetChange, fx: &mut Effects<'_, Self>) {
        match change {
            ResetChange::Begins => {
                self.host.abandon(fx.store());
                self.with_afu(fx, |afu, _| afu.reset());
            }
            ResetChange::Ends => {
                self.with_afu(fx, |afu, shell| afu.wake(shell));
            }
        }
    }

    /// Schedules wake-ups for the next events, unless they are scheduled already.
    fn arm(&mut self, fx: &mut Effects<'_, Self>) {
        let due = [self.host.alarm, self.host.next_change(fx.now())];
        for (armed, due) in self.armed.iter_mut().zip(due) {
            let is_on_its_way = *armed > fx.now() && *armed <= due;
            if due < Time::NEVER && !is_on_its_way {
                *armed = due;
                fx.wake(EndpointTimer::Engine, due.since(fx.now()));
            }
        }
    }
}

impl Slot {
    fn of(afu: Option<Box<dyn Afu>>) -> Self {
        Slot {
            id: afu.as_ref().map(|afu| afu.id()),
            next_feature: afu.as_ref().and_then(|afu| afu.next_feature()),
            afu: afu.map(Mutex::new),
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Slot").field(&self.id).finish()
    }
}

/// The limits for requests, from the registers.
fn limits(endpoint: &Endpoint) -> Limits {
    Limits {
        id: endpoint.id(),
        max_payload: endpoint.max_payload(),
        max_read_request: endpoint.max_read_request(),
        tags: endpoint.tags_allowed(),
    }
}

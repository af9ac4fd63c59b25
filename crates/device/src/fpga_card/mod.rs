//! An FPGA card with slots for accelerator functional units, like the Intel Programmable Acceleration Card.
//!
//! BAR 0 begins with the management engine (FME). BAR 2 has a port for each slot: the registers of the port, then the registers of the unit in
//! the slot. Software finds all registers by feature headers, each with the distance to the next one, and finds the ports by a list in the
//! management engine. The unit, an [`Afu`], accesses host memory, the card's own memory and interrupts through the [`Shell`]. A slot is
//! configured with a [`BuiltInAfu`] or with a user's unit while the other slots work. The register maps of the published designs are used, so
//! that the drivers of these designs work.
//!
//! While the port is in reset, or the slot is empty, loads from the unit's registers return all ones and stores have no effect;
//! both set bits of the port's error register. The upper half of BAR 0 is reserved in the published design; here it is memory, so
//! that flows can end at the card.
//!
//! Each port and the management engine have an interrupt for errors. Errors are violations of the port's rules by the unit, failed requests on
//! the link, and errors that software injects.

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
mod performance;
mod port;
pub mod registers;
mod service;
mod slot;
mod streaming;
mod words;

use kernel::{Bytes, Effects, Span, Time};
use packet::{Incident, Observation, Site};
use peerlane_device::Failure;
use protocol::{Bar, Identity};
use transaction::{FunctionPlace, Memory};

use crate::requests::{Ended, Tags};
use crate::{Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters, Properties, leaf};
use host_interface::{HostInterface, Outgoing, Purpose, Read};
use management::Management;
use performance::Event;
use port::{PortRegisters, ResetChange};
use slot::Unit;

pub use afu::{Afu, MMIO_SIZE};
pub use afu_id::{AfuId, NotAnAfuId};
pub use builtin::BuiltInAfu;
pub use host_interface::Shell;
pub use interrupts::{INTERRUPTS, first_vector, management_alert, port_alert};
pub use local_memory::{LocalMemory, NoSuchMemory};
pub use management::{BITSTREAM as BITSTREAM_ID, INTERFACE};
pub use misuse::Misuse;
pub use parameters::FpgaCardParameters;
pub use slot::Slot;

/// An FPGA card.
#[derive(Debug)]
pub struct FpgaCard {
    endpoint: Endpoint,
    management: Management,
    slots: Vec<Slot>,
    /// The slot that may send next.
    turn: usize,
    tags: Tags<Purpose>,
    memory: LocalMemory,
    /// Number of write packets that the units have handed over to the endpoint.
    posted: u64,
    /// Names of features that software has started and the models of the units do not have.
    missing: Vec<&'static str>,
    /// The reasons why requests of a unit were rejected, until they are reported.
    rejected: Vec<&'static str>,
    /// A cycle of the interface clock.
    cycle: Span,
    /// Data loaded from registers, for the completion.
    loaded: Memory,
    idle: Idle,
    /// Whether the units were woken after power-on.
    is_started: bool,
}

/// The conditions under which an FPGA card runs its slots again without an arriving packet: a time, or space in the endpoint's send path. Until
/// then the card skips every event, because most events at a card concern its link only.
#[derive(Clone, Copy, Debug)]
struct Idle {
    /// The time of the next alarm of a slot, or of the next timeout of a request.
    until: Time,
    /// Whether a slot has a request or an interrupt that the endpoint did not accept.
    sends: bool,
    /// Whether a unit waits for the departure of its writes.
    departs: bool,
}

impl LeafParameters for FpgaCardParameters {
    /// The BAR of the management engine, and the BAR of the ports with their slots.
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        let ports = ports_size(self.slot_count());
        let bars = [(0, BAR_SIZE), (PORT_BAR as u8, ports)].map(|(index, size)| Bar {
            index,
            size,
            wide: true,
        });
        bars.into()
    }

    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            interrupts: interrupts::vectors(self.slot_count()).into(),
            // The identity of the Intel Programmable Acceleration Card with Arria 10 GX FPGA.
            identity: Identity {
                vendor: 0x8086,
                device: 0x09c4,
                revision: 0,
                class: 0x12_0000,
            },
            serves_processes: true,
            bar_registers: management::SIZE,
            ..Properties::default()
        }
    }
}

/// Size of the BAR of the management engine.
const BAR_SIZE: u64 = 512 * 1024;

const PORT_BAR: usize = 2;

/// Size of the BAR that contains the ports of `slots` slots.
fn ports_size(slots: u8) -> u64 {
    (u64::from(slots) * port::DISTANCE).next_power_of_two()
}

leaf::one_port!(FpgaCard);

impl Leaf for FpgaCard {
    fn deadline(&mut self, now: Time) -> Time {
        self.tags.next_change(now)
    }

    /// Returns the registers of the management engine and of the ports to their state after reset, and resets the unit in each slot. The units
    /// stay configured with their clocks, and the card's memory keeps its contents.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.management = Management::new(self.slots.len() as u8, self.cycle);
        self.tags.forget(|_| true);
        for (number, slot) in self.slots.iter_mut().enumerate() {
            slot.port = PortRegisters::new(number as u8);
            slot.host.forget();
        }
        self.tags.apply_registers(&self.endpoint);
        for slot in 0..self.slots.len() {
            self.change_reset(slot, ResetChange::Begins, fx);
            self.change_reset(slot, ResetChange::Ends, fx);
        }
    }

    /// Handles arrived packets, and advances the units and the link, until nothing more can be done at this time.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if !std::mem::replace(&mut self.is_started, true) {
            for slot in 0..self.slots.len() {
                self.with_afu(slot, fx, |afu, shell| afu.wake(shell));
            }
        }
        if self.is_idle(fx) {
            return;
        }
        self.give_up(fx);
        if self.endpoint.has_work(fx.now()) {
            self.receive_all(fx);
        }
        // No packet arrives during this loop, so only a unit that was woken can have more to send.
        let is_shut = loop {
            let is_shut = self.send_all(fx);
            self.note_departures();
            if !self.wake(fx) {
                break is_shut;
            }
        };
        self.rest(is_shut, fx);
    }
}

impl FpgaCard {
    /// A card with the configuration of its parameters.
    pub fn new(mut config: EndpointConfig, parameters: &FpgaCardParameters) -> Self {
        config.parameters.bar = Bytes(BAR_SIZE);
        let outstanding = config.parameters.outstanding(parameters.tags);
        let endpoint = Endpoint::new(config);
        let places = (parameters.outstanding_reads, parameters.waiting_writes);
        let slots = parameters.units().into_iter().zip(0..);
        let slots = slots.map(|(unit, number)| Slot {
            port: PortRegisters::new(number),
            host: HostInterface::new(number, places),
            unit: Unit::of(unit.make()),
            clock: parameters.afu_clock,
            made_for: None,
            last_posted: 0,
        });
        let slots: Vec<Slot> = slots.collect();
        let cycle = parameters.afu_clock.period();
        FpgaCard {
            management: Management::new(slots.len() as u8, cycle),
            loaded: Memory::new(ports_size(slots.len() as u8)),
            slots,
            turn: 0,
            tags: Tags::new(outstanding, &endpoint),
            memory: LocalMemory::new(
                parameters.memory.0,
                parameters.memory_channels,
                parameters.memory_bandwidth,
                parameters.memory_latency,
            ),
            posted: 0,
            missing: Vec::new(),
            rejected: Vec::new(),
            cycle,
            idle: Idle::NO,
            is_started: false,
            endpoint,
        }
    }

    /// The slots, by number.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slot with this number, mutable, if it exists.
    pub fn slot_mut(&mut self, slot: usize) -> Option<&mut Slot> {
        self.slots.get_mut(slot)
    }

    /// The card's own memory.
    pub fn memory(&self) -> &LocalMemory {
        &self.memory
    }

    /// Number of violations of the ports' rules by units in their slots or by software.
    pub fn port_errors(&self) -> u64 {
        self.slots.iter().map(|slot| slot.port.errors.count).sum()
    }

    /// Errors on the link to the host, from the management engine's register `PCIE0_ERROR`.
    pub fn link_errors(&self) -> u64 {
        self.management.errors.link
    }

    /// Names of features that software has started although the models of the units do not have them. Each name is in the list once.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Whether no unit has an outstanding request or waits for a time.
    pub fn is_quiet(&self) -> bool {
        self.slots.iter().all(|slot| slot.host.is_idle())
    }

    /// Replaces the unit in a slot, as partial reconfiguration does, and resets the new unit; without a new unit, the slot becomes empty.
    /// Answers to requests of the previous unit are dropped. The card's memory keeps its content, and the other slots continue. Returns false if
    /// the slot does not exist.
    pub fn load(
        &mut self,
        slot: usize,
        afu: Option<Box<dyn Afu>>,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(place) = self.slots.get_mut(slot) else {
            return false;
        };
        place.host.abandon();
        place.unit = Unit::of(afu);
        place.made_for = None;
        self.with_afu(slot, fx, |afu, _| afu.reset());
        if !self.slots[slot].port.is_in_reset() {
            self.with_afu(slot, fx, |afu, shell| afu.wake(shell));
        }
        leaf::run(self, fx);
        true
    }

    /// Calls the unit in a slot with a shell, if the slot has a unit.
    fn with_afu<R>(
        &mut self,
        slot: usize,
        fx: &mut Effects<'_, Self>,
        what: impl FnOnce(&mut dyn Afu, &mut Shell<'_>) -> R,
    ) -> Option<R> {
        self.idle = Idle::NO;
        let has_atomics = self.endpoint.is_atomic_requester_at(FunctionPlace::Own);
        let number = slot;
        let slot = &mut self.slots[slot];
        let afu = slot.unit.get()?;
        let mut shell = Shell {
            now: fx.now(),
            cycle: slot.clock.period(),
            host: &mut slot.host,
            memory: &mut self.memory,
            missing: &mut self.missing,
            rejected: &mut self.rejected,
            has_atomics,
            errors: &mut slot.port.errors,
        };
        let done = what(afu, &mut shell);
        for why in self.rejected.drain(..) {
            fx.observe(Observation::incident(
                Site::Node,
                Incident::Misuse(number as u8, why),
            ));
        }
        Some(done)
    }

    /// Sends all items that may be sent now. Returns whether items may be left because the endpoint accepts no more.
    fn send_all(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        while self.may_send(fx) {
            if let Some(vector) = self.alert() {
                self.signal(vector, fx);
                continue;
            }
            let Some((slot, next)) = self.next(fx) else {
                return false;
            };
            let number = slot as u8;
            match next {
                Outgoing::Read => self.management.performance.count(number, Event::LinkRead),
                Outgoing::Write(written) => {
                    self.management.performance.count(number, Event::LinkWrite);
                    self.posted += 1;
                    self.slots[slot].last_posted = self.posted;
                    if let Some(tag) = written {
                        self.with_afu(slot, fx, |afu, shell| afu.write_done(tag, shell));
                    }
                }
                Outgoing::Interrupt => {}
                Outgoing::Ended(ended) => self.report(slot, &ended, fx),
            }
        }
        true
    }

    /// Passes the time of departure, if it is known, to the units that wait for the departure of their writes.
    fn note_departures(&mut self) {
        let waiting = |slot: &&mut Slot| slot.host.awaits_departure();
        for slot in self.slots.iter_mut().filter(waiting) {
            let later = self.posted - slot.last_posted;
            if let Some(time) = self.endpoint.posted_gone_but(later) {
                slot.host.depart(time);
            }
        }
    }

    fn may_send(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        self.endpoint.is_open(fx) && self.endpoint.is_bus_master()
    }

    /// Sends the next item of a slot, and returns the number of the slot and the result. Slots take turns.
    fn next(&mut self, fx: &mut Effects<'_, Self>) -> Option<(usize, Outgoing)> {
        let count = self.slots.len();
        for step in self.turn..self.turn + count {
            let slot = if step < count { step } else { step - count };
            let host = &mut self.slots[slot].host;
            if let Some(next) = host.send(&mut self.tags, &mut self.endpoint, fx) {
                self.turn = if slot + 1 < count { slot + 1 } else { 0 };
                return Some((slot, next));
            }
        }
        None
    }

    /// The error interrupt of the management engine or of a port that has new errors.
    fn alert(&mut self) -> Option<u8> {
        if self.management.errors.take_alert() {
            return Some(management_alert(self.slots.len() as u8));
        }
        let mut slots = self.slots.iter_mut();
        let slot = slots.position(|slot| slot.port.errors.take_alert())?;
        Some(port_alert(slot as u8))
    }

    /// Sends the write that signals an interrupt. Nothing is sent while the interrupt is masked, or while software has not enabled it.
    fn signal(&mut self, vector: u8, fx: &mut Effects<'_, Self>) {
        let place = FunctionPlace::Own;
        if let Some(packet) = self.endpoint.interrupt(place, vector.into(), fx) {
            self.endpoint.hand_over(packet, fx);
        }
    }

    /// Wakes the units that may continue. Returns whether at least one unit was woken.
    fn wake(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            let is_due = slot.host.is_due(fx.now());
            let is_relieved = slot.host.is_relieved();
            if (is_due || is_relieved) && !slot.port.is_in_reset() {
                any |= self
                    .with_afu(number, fx, |afu, shell| afu.wake(shell))
                    .is_some();
            }
        }
        any
    }

    /// Ends reads that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((_, part)) = self.tags.give_up(|_, _| None, &mut self.endpoint, fx) {
            self.management.errors.record(Failure::TimedOut.into());
            let slot = usize::from(part.what.slot);
            let ended = self.slots[slot].host.put(&part, Err(Failure::TimedOut));
            if let Some(ended) = ended {
                self.report(slot, &ended, fx);
            }
        }
    }

    /// Reports the end of a read to the unit in a slot.
    fn report(&mut self, slot: usize, ended: &Ended<Read>, fx: &mut Effects<'_, Self>) {
        let read = &ended.what;
        let data = ended.failed.map_or(Ok(&*read.data), Err);
        self.with_afu(slot, fx, |afu, shell| afu.read_done(read.tag, data, shell));
    }

    /// Begins or ends the reset of a slot.
    fn change_reset(&mut self, slot: usize, change: ResetChange, fx: &mut Effects<'_, Self>) {
        match change {
            ResetChange::Begins => {
                self.slots[slot].host.abandon();
                self.with_afu(slot, fx, |afu, _| afu.reset());
            }
            ResetChange::Ends => {
                self.with_afu(slot, fx, |afu, shell| afu.wake(shell));
            }
        }
    }

    /// Whether none of the conditions for which the card [waits](Idle) has occurred.
    fn is_idle(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        if fx.now() >= self.idle.until || self.idle.departs {
            return false;
        }
        !(self.endpoint.has_work(fx.now()) || self.idle.sends && self.may_send(fx))
    }

    /// Schedules the next wake-ups, and records the conditions for which the card waits: the times, and space in the endpoint if it `is_shut`.
    /// If the endpoint has space, a request that was not sent waits for a tag, which becomes free by a completion or at a known time.
    fn rest(&mut self, is_shut: bool, fx: &mut Effects<'_, Self>) {
        let alarms = self.slots.iter().map(|slot| slot.host.next_alarm());
        let alarm = alarms.min().unwrap_or(Time::NEVER);
        let deadline = self.tags.next_change(fx.now());
        self.endpoint.wake_engine(alarm, fx);
        self.endpoint.wake_engine_in_background(deadline, fx);
        let has_more =
            || self.management.errors.is_alerting || self.slots.iter().any(Slot::has_work);
        self.idle = Idle {
            until: self.endpoint.next_wake(),
            sends: is_shut && has_more(),
            departs: self.slots.iter().any(|slot| slot.host.awaits_departure()),
        };
    }
}

impl Idle {
    /// No conditions are recorded: the card must run at the next event.
    const NO: Self = Idle {
        until: Time::ZERO,
        sends: false,
        departs: false,
    };
}

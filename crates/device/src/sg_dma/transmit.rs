//! The sending state machine. It decides about the order of packets, and ends transfers.

use kernel::{Effects, Time};
use packet::{Observation, PacketId, Packets, Stamp};
use protocol::TrafficClass;
use transaction::{FunctionPlace, Pattern};

use super::reader::Purpose;
use super::registers::{Status, Unit, offset};
use super::sender::{Ended, Offer, Sender, Source};
use super::{SgDma, UserLogic, pattern, user};
use crate::endpoint_parameters::class;

/// A source of packets. Completions and interrupts are sent first; the sources take turns for the rest.
#[derive(Clone, Copy, Debug)]
enum Sends {
    Reads,
    Reflections,
    Writes,
    PeerWrites,
    Fetches(Unit),
}

const TURNS: [Sends; 6] = [
    Sends::Reads,
    Sends::Reflections,
    Sends::Writes,
    Sends::PeerWrites,
    Sends::Fetches(Unit::Write),
    Sends::Fetches(Unit::Read),
];

impl SgDma {
    /// Sends a packet or ends a transfer, if either is possible now. Returns whether one of them was done.
    pub(super) fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        self.give_up(fx);
        let is_open = self.endpoint.is_open(fx);
        if !is_open && !self.endpoint.has_channels() {
            return false;
        }
        if !self.endpoint.is_bus_master() {
            return self.wait_for_answers(fx);
        }
        let now = fx.now();
        let is_open_to =
            |engine: &Self, class| is_open || engine.endpoint.is_open_besides(class, now);
        if is_open_to(self, self.endpoint.interrupt_class())
            && let Some(packet) = self.next_interrupt(fx)
        {
            self.endpoint.hand_over(packet, fx);
            return true;
        }
        let mut earliest = self.tags.next_change(now);
        for place in (self.turn..TURNS.len()).chain(0..self.turn) {
            if !is_open && !is_open_to(self, self.class_of(TURNS[place])) {
                continue;
            }
            match self.offer(TURNS[place], now, fx.store()) {
                Offer::Packet(packet) => {
                    self.turn = (place + 1) % TURNS.len();
                    let passed = self.endpoint.hand_over(packet, fx);
                    self.passed(TURNS[place], passed);
                    return true;
                }
                Offer::Ended(ended) => {
                    self.end(ended.unit, &ended, fx);
                    return true;
                }
                Offer::NotBefore(time) => earliest = earliest.min(time),
                Offer::Nothing => {}
            }
        }
        self.endpoint.wake_engine(earliest, fx);
        false
    }

    /// Waits for outstanding reads while Bus Master Enable is clear, and nothing may be requested. Returns whether a transfer has ended.
    fn wait_for_answers(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let over = self.reader.as_ref().and_then(|reader| reader.over());
        if let Some(ended) = over {
            self.end(Unit::Read, &ended, fx);
            return true;
        }
        let deadline = self.tags.next_change(fx.now());
        self.endpoint.wake_engine(deadline, fx);
        false
    }

    /// The traffic class of the packets of a source.
    fn class_of(&self, sends: Sends) -> TrafficClass {
        match sends {
            Sends::Reads => self.registers.class(Unit::Read),
            Sends::Reflections => TrafficClass::default(),
            Sends::Writes => self.registers.class(Unit::Write),
            Sends::PeerWrites => self.registers.class(Unit::Peer),
            Sends::Fetches(_) => class(self.parameters.descriptor_traffic_class),
        }
    }

    fn offer(&mut self, sends: Sends, now: Time, packets: &mut Packets) -> Offer {
        let id = self.endpoint.id();
        match sends {
            Sends::Reads => self.reader.as_mut().map_or(Offer::Nothing, |reader| {
                let most = self.parameters.outstanding_reads as usize;
                let parts = (&self.user.rx, &self.registers);
                let tags = (&mut self.tags, &self.endpoint);
                reader.next(now, most, parts, tags, packets)
            }),
            Sends::Writes => self.writer.as_mut().map_or(Offer::Nothing, |writer| {
                let source = source(self.user.logic, &mut self.user.tx, &self.patterns, writer);
                writer.next(now, id, source, &self.registers, packets)
            }),
            Sends::Reflections => {
                let back = self.reflections.pop_front();
                back.map_or(Offer::Nothing, Offer::Packet)
            }
            Sends::PeerWrites => self.peer.as_mut().map_or(Offer::Nothing, |peer| {
                let source = source(self.user.logic, &mut self.user.ep_tx, &self.patterns, peer);
                peer.next(now, id, source, &self.registers, packets)
            }),
            Sends::Fetches(unit) => self.fetch(unit, now, packets),
        }
    }

    /// Requests the next descriptors of a unit's list.
    fn fetch(&mut self, unit: Unit, now: Time, packets: &mut Packets) -> Offer {
        let largest = self
            .endpoint
            .max_read_request()
            .min(self.parameters.fetch_size.0 as u32);
        let own = FunctionPlace::Own;
        if !self.tags.fits_anywhere(own, largest, now) {
            return Offer::Nothing;
        }
        let Some(range) = self.list(unit).and_then(|list| list.fetch(largest)) else {
            return Offer::Nothing;
        };
        let (purpose, source) = (Purpose::Descriptors(unit), Sends::Fetches(unit));
        let marks = (self.class_of(source), Stamp::default());
        let (endpoint, packets) = (&self.endpoint, (now, packets));
        let tags = &mut self.tags;
        Offer::Packet(tags.read(purpose, (own, range), marks, endpoint, packets))
    }

    /// Records that an offered packet occupies the datapath until `time`.
    fn passed(&mut self, sends: Sends, time: Time) {
        let sender = match sends {
            Sends::Writes => &mut self.writer,
            Sends::PeerWrites => &mut self.peer,
            Sends::Reads | Sends::Reflections | Sends::Fetches(_) => return,
        };
        if let Some(sender) = sender {
            sender.passed(time);
        }
    }

    /// Ends a transfer: sets the unit's registers and signals an interrupt.
    fn end(&mut self, unit: Unit, ended: &Ended, fx: &mut Effects<'_, Self>) {
        match unit {
            Unit::Read => self.reader = None,
            Unit::Write => self.writer = None,
            Unit::Peer => self.peer = None,
        }
        let status = if ended.failed {
            Status::Failed
        } else {
            Status::Done
        };
        self.registers
            .set(unit.base() + offset::STATUS, status as u32);
        let cycles = ended.took.as_fs() / self.cycle.as_fs();
        self.registers
            .set(unit.base() + offset::TIMER, cycles as u32);
        self.interrupts.push_back(unit.vector());
        if let Some(flow) = ended.label {
            let bytes = ended.bytes;
            fx.observe(if ended.is_cut_off {
                Observation::Forgotten { flow }
            } else {
                Observation::Ended { flow, bytes }
            });
        }
    }

    /// The message of the next interrupt that can be signalled. It follows all data that was sent before.
    fn next_interrupt(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        while let Some(vector) = self.interrupts.pop_front() {
            let place = FunctionPlace::Own;
            if let Some(packet) = self.endpoint.interrupt(place, vector.into(), fx) {
                return Some(packet);
            }
        }
        None
    }

    /// Ends requests that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            let label = self.reader.as_ref().and_then(|reader| reader.work.label);
            let flow = |_, what: &Purpose| label.filter(|_| matches!(what, Purpose::Data { .. }));
            let Some((_, part)) = self.tags.give_up(flow, &mut self.endpoint, fx) else {
                return;
            };
            self.answered(&part, None, fx);
        }
    }
}

/// The source of the data that a unit sends.
fn source<'f>(
    logic: UserLogic,
    fifo: &'f mut user::Fifo,
    patterns: &[Pattern],
    sender: &Sender,
) -> Source<'f> {
    if logic.never_stalls() {
        let pattern = pattern(patterns, sender.work.label).unwrap_or(Pattern::new(0, 0));
        Source::Pattern(pattern, fifo)
    } else {
        Source::Fifo(fifo)
    }
}

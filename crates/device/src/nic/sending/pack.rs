//! The packing of messages into packets: the order of messages, and their ends.

use kernel::{Effects, Span, Time};
use packet::{Fault, Frame, Observation};
use protocol::QueuePairId;

use super::job::{Address, Job, Way, refusal};
use crate::nic::event::{Event, EventKind};
use crate::nic::registers::FUNCTIONS;
use crate::nic::{BUS, Nic};

/// The sharing of the engine by functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One message after the other, of any function.
    Message,
    /// A packet of each function in turn; each function has its own places for messages.
    Packet,
}

impl Sharing {
    const NAMES: [(&str, Self); 2] = [("message", Self::Message), ("packet", Self::Packet)];
}

kernel::choices!(Sharing);

impl Nic {
    /// Makes packets of messages, as far as data has arrived and the interface to the crossbar accepts packets.
    pub(in crate::nic) fn pack(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(index) = self.next_to_pack(fx.now()) {
            any = true;
            if self.jobs[index].is_lost() {
                self.give_up_message(index, fx);
            } else {
                self.pack_one(index, fx);
            }
        }
        any
    }

    /// The message of the next packet.
    fn next_to_pack(&self, now: Time) -> Option<usize> {
        self.in_turn()
            .find(|index| self.can_pack(&self.jobs[*index], now))
    }

    /// The messages that may continue: the oldest one, or one of each function in round-robin order.
    pub(in crate::nic) fn in_turn(&self) -> impl Iterator<Item = usize> + '_ {
        let steps = match self.parameters.sharing {
            Sharing::Message => 0,
            Sharing::Packet => FUNCTIONS,
        };
        let oldest = (steps == 0 && !self.jobs.is_empty()).then_some(0);
        let each = (0..steps).filter_map(move |step| {
            let function = (self.packed_last + 1 + step) % FUNCTIONS;
            let mut jobs = self.jobs.iter();
            jobs.position(|job| usize::from(job.address.source.function()) == function)
        });
        oldest.into_iter().chain(each)
    }

    fn channel(&self, job: &Job) -> u8 {
        let there = usize::from(job.address.destination.processor());
        self.channels[there].unwrap_or(0)
    }

    fn can_pack(&self, job: &Job, now: Time) -> bool {
        let len = job.next_len(self.parameters.network_payload.0 as u32);
        let is_paced = matches!(job.way, Way::Nap { .. }) && self.nap_free_at > now;
        self.bus.is_open(self.channel(job)) && (job.is_lost() || !is_paced && job.has(len))
    }

    fn pack_one(&mut self, index: usize, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let channel = self.channel(&self.jobs[index]);
        let source = self.jobs[index].address.source;
        let requester = self.requester(source);
        let job = &mut self.jobs[index];
        let len = job.next_len(self.parameters.network_payload.0 as u32);
        let packet = job.pack(len, requester, fx.store());
        let is_done = job.left == 0;
        if let Way::Nap { is_immediate } = job.way {
            let words = u32::from(crate::nic::bus::words(packet, fx.store()));
            let more = if is_immediate { words } else { 0 };
            let more = more * self.parameters.immediate_cycles;
            self.nap_free_at = now + self.cycles(self.parameters.nap_cycles + more);
        }
        self.packed_last = usize::from(source.function());
        let ready = now + self.cycles(self.parameters.packetise_cycles);
        self.bus.push(channel, packet, ready, fx.store());
        if is_done {
            self.end_message(index, None, fx);
        }
    }

    /// Ends a message whose data cannot be read.
    fn give_up_message(&mut self, index: usize, fx: &mut Effects<'_, Self>) {
        let job = &self.jobs[index];
        let (owner, flow, left) = (job.address.source, job.address.probe.flow, job.left);
        if matches!(job.way, Way::Nap { .. }) && job.packed > 0 {
            let packet = job.abort(self.requester(owner), fx.store());
            let channel = self.channel(job);
            self.bus.push(channel, packet, fx.now(), fx.store());
        }
        if job.address.is_answer {
            let Address {
                destination,
                key,
                label,
                ..
            } = job.address;
            let reason = (label, Fault::Source);
            self.refuse_get((owner, destination), key, reason, fx);
        }
        let lost = u32::try_from(left).unwrap_or(u32::MAX);
        self.stop(owner.function(), Fault::Source, (flow, lost), fx);
        self.end_message(index, Some(Fault::Source), fx);
    }

    /// Reports to the other side, in the channel of data, why the data that it requested will not follow.
    pub(in crate::nic) fn refuse_get(
        &mut self,
        (from, to): (QueuePairId, QueuePairId),
        key: u16,
        reason: (u32, Fault),
        fx: &mut Effects<'_, Self>,
    ) {
        let there = usize::from(to.processor());
        let Some(channel) = self.channels.get(there).copied().flatten() else {
            return;
        };
        let requester = self.requester(from);
        let packet = refusal((from, to), key, reason, requester, fx.store());
        self.bus.push(channel, packet, fx.now(), fx.store());
    }

    /// Ends a message: the sender gets an event if it wants one, or if there was an error.
    fn end_message(&mut self, index: usize, fault: Option<Fault>, fx: &mut Effects<'_, Self>) {
        let Some(job) = self.jobs.remove(index) else {
            return;
        };
        let Address {
            source,
            epoch,
            destination,
            tell_sender,
            is_answer,
            label,
            ..
        } = job.address;
        if is_answer || !self.has_kept(source, epoch) {
            return;
        }
        self.pair(source).sent.give_back();
        if tell_sender || fault.is_some() {
            let event = Event {
                kind: EventKind::Sent,
                fault,
                peer: destination,
                len: job.packed as u32,
                word: label.into(),
            };
            self.tell_sender(source, &event, fx);
        }
    }

    /// Sends packets to the crossbar.
    pub(in crate::nic) fn put_on_bus(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some((frame, end)) = self.bus.next(fx.now()) {
            any = true;
            let start = fx.now();
            if let Some(told) = Observation::sent(&fx.store()[frame.packet], start, end) {
                fx.observe(told);
            }
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
        }
        any
    }
}

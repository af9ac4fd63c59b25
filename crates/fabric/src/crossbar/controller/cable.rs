//! The ports of a controller with a cable to another controller: PCI Express links that carry TLPs.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Port, Span, Time};
use link::{Arrival, At, Finished, LinkEnd, Waiting};
use packet::{BusFrame, Charge, Frame, PacketId, Packets, Stamp};
use protocol::{Class, FunctionId, Header, Kind, Tag};

use super::{Controller, ControllerParameters, ControllerTimer, Plane};
use crate::crossbar::Entry;

/// A link end, and the packets between it and the crossbars.
#[derive(Clone, Debug)]
pub(super) struct CableEnd {
    pub(super) link: LinkEnd,
    send_latency: Span,
    receive_latency: Span,
    /// Packets on their way from a crossbar to the wire: the time at which each packet reaches the wire, its plane and its charge.
    leaving: VecDeque<(Time, Plane, Charge)>,
    /// Received packets, with the time at which each reaches the crossbar.
    arrived: VecDeque<(Time, PacketId)>,
    /// The loads that were sent by a cable that will fail, and are not answered yet.
    loads: BTreeMap<(FunctionId, Tag), (Header, Stamp)>,
}

/// The maximum number of packets of a plane, class and channel that wait for the wire of a cable: one more besides the packet in
/// transmission.
const AHEAD: usize = 2;

impl CableEnd {
    pub(super) fn new(link: LinkEnd, parameters: &ControllerParameters) -> Self {
        Self {
            link,
            send_latency: parameters.cable_send_latency,
            receive_latency: parameters.cable_receive_latency,
            leaving: VecDeque::new(),
            arrived: VecDeque::new(),
            loads: BTreeMap::new(),
        }
    }

    /// Removes the loads that were sent and are not answered.
    pub(super) fn take_loads(&mut self) -> impl Iterator<Item = (Header, Stamp)> + use<> {
        std::mem::take(&mut self.loads).into_values()
    }

    /// Whether a crossbar may send a packet towards the wire. Only few packets may wait there, so that a packet without credit does not
    /// block packets of other classes.
    pub(super) fn takes(&self, plane: Plane, entry: &Entry, now: Time) -> bool {
        let charge = &entry.charge;
        let coming = self.leaving.iter().filter(|(ready, other, coming)| {
            let class = (coming.class, coming.traffic_class);
            *ready > now && *other == plane && class == (charge.class, charge.traffic_class)
        });
        self.link.waiting_like(plane as u16, charge) < AHEAD + coming.count()
    }

    /// Whether the cable has failed, so that the controller answers a load for it.
    pub(super) fn answers_itself(&self, entry: &Entry, now: Time) -> bool {
        entry.charge.class == Class::NonPosted && self.link.has_failed(now)
    }

    /// Handles a frame from the wire. Returns the packet whose transmission the link has finished, if there is one.
    pub(super) fn receive(
        &mut self,
        port: Port,
        frame: Frame,
        fx: &mut Effects<'_, Controller>,
    ) -> Option<Finished> {
        let (arrival, finished) = self.link.receive(frame, &mut At::new(fx, port));
        if let Some(Arrival::Packet(delivery)) = arrival {
            if let Kind::Completion(completion) = fx.store()[delivery.packet].header().kind
                && completion.is_last()
            {
                self.loads.remove(&(completion.requester, completion.tag));
            }
            let after = self.receive_latency;
            self.arrived.push_back((fx.now() + after, delivery.packet));
            fx.wake(ControllerTimer::Arrival(port.0 as u8), after);
        }
        finished
    }

    /// The next packet that has reached the crossbars by `now`.
    pub(super) fn next_arrived(&mut self, now: Time, packets: &Packets) -> Option<BusFrame> {
        let (_, packet) = self.arrived.pop_front_if(|(due, _)| *due <= now)?;
        Some(frame_of(packet, packets))
    }

    /// Sends a packet of a crossbar. Returns the packet whose transmission the link has finished, if there is one.
    pub(super) fn send(
        &mut self,
        port: Port,
        plane: Plane,
        entry: &Entry,
        fx: &mut Effects<'_, Controller>,
    ) -> Option<Finished> {
        let now = fx.now();
        let is_gone = |(ready, ..): &mut (Time, Plane, Charge)| *ready <= now;
        while self.leaving.pop_front_if(is_gone).is_some() {}
        if entry.charge.class == Class::NonPosted && self.link.fails_at() < Time::NEVER {
            let content = &fx.store()[entry.frame.packet];
            let (load, stamp) = (*content.header(), content.stamp);
            self.loads
                .insert((load.requester(), load.tag()), (load, stamp));
        }
        let ready = now + self.send_latency;
        if ready > now {
            self.leaving.push_back((ready, plane, entry.charge));
        }
        let waiting = Waiting::new(entry.frame.packet, fx.store(), ready);
        self.link
            .enqueue(plane as u16, waiting, &mut At::new(fx, port))
    }
}

/// The frame with which a packet from outside of the chip goes to its crossbar.
pub(super) fn frame_of(packet: PacketId, packets: &Packets) -> BusFrame {
    let content = &packets[packet];
    let header = content.header();
    let channel = match header.kind {
        Kind::Network(_) => 0,
        _ => BusFrame::IO + header.class().index() as u8,
    };
    BusFrame {
        packet,
        cycles: content.bytes().len().div_ceil(16) as u16,
        channel,
    }
}

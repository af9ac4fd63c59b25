//! The ports of a controller with a cable to another controller: PCI Express links with TLPs as packets.

use std::collections::VecDeque;

use kernel::{Effects, Port, Span, Time};
use link::{Arrival, At, Finished, LinkEnd, LinkTimer, Waiting};
use packet::{BusFrame, Charge, Frame, PacketId};
use protocol::Kind;

use super::crossbar::Entry;
use super::{Controller, ControllerParameters, ControllerTimer, Plane};

/// A link end, with the packets between it and the crossbars.
#[derive(Clone, Debug)]
pub(super) struct CableEnd {
    link: LinkEnd,
    send_latency: Span,
    receive_latency: Span,
    /// Packets between a crossbar and the wire: the time at which each reaches the wire, its plane and its charge.
    leaving: VecDeque<(Time, Plane, Charge)>,
    /// Received packets, with the time at which each reaches the crossbar.
    arrived: VecDeque<(Time, PacketId)>,
}

/// Most packets of a plane, class and channel that wait for the wire of a cable: one behind the packet in transmission.
const AHEAD: usize = 2;

impl CableEnd {
    pub(super) fn new(link: LinkEnd, parameters: &ControllerParameters) -> Self {
        Self {
            link,
            send_latency: parameters.cable_send_latency,
            receive_latency: parameters.cable_receive_latency,
            leaving: VecDeque::new(),
            arrived: VecDeque::new(),
        }
    }

    /// Whether a crossbar may send a packet towards the wire: only few packets wait there, so a packet without credit does not
    /// block packets of other classes.
    pub(super) fn takes(&self, plane: Plane, entry: &Entry, now: Time) -> bool {
        let charge = &entry.charge;
        let coming = self.leaving.iter().filter(|(ready, other, coming)| {
            let class = (coming.class, coming.traffic_class);
            *ready > now && *other == plane && class == (charge.class, charge.traffic_class)
        });
        self.link.waiting_like(plane as u16, charge) < AHEAD + coming.count()
    }
}

impl Controller {
    /// The link end at a port; none if the port has no cable.
    pub fn link(&self, port: usize) -> Option<&LinkEnd> {
        let cable = self.cables.get(port.checked_sub(self.own)?)?;
        Some(&cable.link)
    }

    fn end(&mut self, port: Port) -> &mut CableEnd {
        &mut self.cables[port.index() - self.own]
    }

    pub(super) fn start_cable(&mut self, cable: usize, fx: &mut Effects<'_, Self>) {
        let port = Port((self.own + cable) as u16);
        let finished = self.end(port).link.start(&mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    pub(super) fn receive_by_cable(
        &mut self,
        port: Port,
        frame: Frame,
        fx: &mut Effects<'_, Self>,
    ) {
        let end = self.end(port);
        let (arrival, finished) = end.link.receive(frame, &mut At::new(fx, port));
        if let Some(Arrival::Packet(delivery)) = arrival {
            let after = end.receive_latency;
            end.arrived.push_back((fx.now() + after, delivery.packet));
            fx.wake(ControllerTimer::Arrival(port.0 as u8), after);
        }
        self.settle(port, finished, fx);
    }

    /// Moves packets that have arrived by the cable at `port` into the queues of the crossbars.
    pub(super) fn take_from_cable(&mut self, port: usize, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let place = Port(port as u16);
        while let Some((_, packet)) = self.end(place).arrived.pop_front_if(|(due, _)| *due <= now) {
            let content = &fx.store()[packet];
            let header = content.header();
            let channel = match header.kind {
                Kind::Network(_) => 0,
                _ => BusFrame::IO + header.class().index() as u8,
            };
            let frame = BusFrame {
                packet,
                cycles: content.bytes().len().div_ceil(16) as u16,
                channel,
            };
            self.take(port, frame, fx);
        }
    }

    pub(super) fn expire_of_cable(
        &mut self,
        port: Port,
        timer: LinkTimer,
        fx: &mut Effects<'_, Self>,
    ) {
        let finished = self.end(port).link.expire(timer, &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    /// Handles the end of a transmission by a cable: the crossbars may send more.
    fn settle(&mut self, port: Port, finished: Option<Finished>, fx: &mut Effects<'_, Self>) {
        if finished.is_some() {
            self.serve(Plane::Messages, port.index(), fx);
            self.serve(Plane::Io, port.index(), fx);
        }
    }

    pub(super) fn send_by_cable(
        &mut self,
        plane: Plane,
        entry: &Entry,
        fx: &mut Effects<'_, Self>,
    ) {
        let port = Port(entry.output as u16);
        let (now, end) = (fx.now(), self.end(port));
        while end
            .leaving
            .pop_front_if(|(ready, ..)| *ready <= now)
            .is_some()
        {}
        let ready = now + end.send_latency;
        if ready > now {
            end.leaving.push_back((ready, plane, entry.charge));
        }
        let waiting = Waiting::new(entry.frame.packet, fx.store(), ready);
        let source = plane as u16;
        let finished = end.link.enqueue(source, waiting, &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    /// Frees the buffer of a packet that arrived by a cable; the packet leaves it at `due`.
    pub(super) fn free_cable(
        &mut self,
        input: usize,
        charge: Charge,
        due: Time,
        fx: &mut Effects<'_, Self>,
    ) {
        let port = Port(input as u16);
        let end = self.end(port);
        end.link.free_later(charge, due, &mut At::new(fx, port));
    }
}

//! The window: loads and stores between processors in a global address space.
//!
//! BAR 2 contains the addresses of all processors, one processor after the other. A request to it passes a [`Bridge`] and the crossbar for loads
//! and stores. The controller of the target processor then sends it as a request of its own.

use std::sync::Arc;

use kernel::{Effects, Span, Time};
use packet::{BusFrame, Charge, Fault, Frame, PacketId, Refusal};
use protocol::{Bar, Header, Kind};
use transaction::{AnsweredPart, Bridge, BridgeConfig};

use super::reads::{Purpose, Reads};
use super::shared::{Context, Shared};
use super::{BUS, Nic};

/// The window, with the loads and stores that are in progress.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Whether the bridge may have something to do.
    is_used: bool,
    pub(super) bridge: Bridge,
    /// Size of each processor's part of the address space, and of the whole window.
    space: u64,
    size: u64,
    /// The port of the crossbar to each processor; none for a processor that cannot be reached.
    reach: Arc<[Option<u8>]>,
}

const WINDOW: usize = 2;

/// The size of the largest load: that of the largest read request (PCIe Base 2.2.7).
const LARGEST_LOAD: u32 = 4096;

impl Window {
    /// A window to the processors in `reach`.
    pub(super) fn new(config: BridgeConfig, reach: Arc<[Option<u8>]>) -> Self {
        Self {
            is_used: false,
            bridge: Bridge::new(config),
            space: config.space,
            size: bar(config.space, reach.len()).size,
            reach,
        }
    }

    /// Whether the window reaches a processor at a global address.
    fn reaches(&self, address: u64) -> bool {
        let there = usize::try_from(address / self.space).unwrap_or(usize::MAX);
        self.reach.get(there).is_some_and(Option::is_some)
    }

    /// The global address of a request to the window; none for other packets.
    pub(super) fn address_of(&self, header: &Header, shared: &Shared) -> Option<u64> {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                let base = shared.endpoint.base_of(WINDOW);
                let address = request.first_byte().checked_sub(base)?;
                (address < self.size).then_some(address)
            }
            _ => None,
        }
    }

    /// Sends a request of this side to the global `address`.
    pub(super) fn enter(
        &mut self,
        (packet, charge): (PacketId, Charge),
        address: u64,
        cx: &mut Context<'_>,
    ) {
        let header = *cx.fx.store()[packet].header();
        let refusal = if let Err(why) = cx.shared.endpoint.check_size(&header) {
            Some(why)
        } else if !self.reaches(address) {
            cx.stop(0, Fault::NoDestination, None);
            Some(Refusal::UnsupportedRequest)
        } else {
            None
        };
        if let Some(why) = refusal {
            cx.shared.endpoint.refuse(packet, why, &mut cx.fx);
            return cx.shared.endpoint.free(charge, &mut cx.fx);
        }
        let ready = cx.after(cx.shared.parameters.window_cycles);
        self.is_used = true;
        let to = (self.bridge.global_id(), address);
        self.bridge
            .forward_request((packet, charge), to, ready, cx.fx.store());
    }

    /// Sends loads, stores and answers to the crossbar, and sends the answers of other processors as completions by PCI Express.
    pub(super) fn put_on_bus(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.is_used {
            return false;
        }
        let mut any = false;
        while let Some(answer) = self.bridge.next_completion(cx.fx.now(), cx.fx.store()) {
            any = true;
            cx.shared.endpoint.reply(cx.fx.now(), answer);
        }
        while let Some((frame, charge)) = self.bridge.next_packet(cx.fx.now(), cx.fx.store()) {
            any = true;
            cx.fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                cx.shared.endpoint.free(charge, &mut cx.fx);
            }
        }
        any
    }

    /// Handles a packet from the crossbar for loads and stores.
    pub(super) fn take_from_bus(&mut self, frame: BusFrame, cx: &mut Context<'_>) {
        let due = cx.after(cx.shared.parameters.window_cycles);
        let header = *cx.fx.store()[frame.packet].header();
        self.is_used = true;
        let (side, bridge) = (cx.shared.side(), &mut self.bridge);
        let is_lost = cx.shared.endpoint.link().has_failed(cx.fx.now());
        let is_over = match &header.kind {
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) if is_lost || !cx.shared.is_master(0) => {
                cx.stop(0, Fault::NoDestination, None);
                bridge.reject(frame.packet, cx.fx.now(), cx.fx.store());
                true
            }
            _ => {
                let received = bridge.receive(frame, (side, due), cx.fx.store());
                received.unwrap_or_else(|why| {
                    cx.shared.endpoint.refuse(frame.packet, why, &mut cx.fx);
                    true
                })
            }
        };
        if is_over {
            cx.return_space(frame.space());
        }
    }

    /// The next write request of another processor.
    pub(super) fn next_store(&mut self, cx: &mut Context<'_>) -> Option<PacketId> {
        if !self.is_used {
            return None;
        }
        let store = self.bridge.next_store(cx.fx.now())?;
        cx.return_space(store.space);
        Some(store.packet)
    }

    /// The next read request for a load of another processor. Its tag is from `reads`, which must have a free one.
    pub(super) fn next_load(
        &mut self,

        reads: &mut Reads,
        cx: &mut Context<'_>,
    ) -> Option<PacketId> {
        if !self.is_used {
            return None;
        }
        let largest = cx.shared.endpoint.max_read_request();
        let load = self.bridge.next_load(cx.fx.now(), largest, |_| true)?;
        cx.return_space(load.space);
        let id = cx.shared.side().id;
        let asked = (id, Purpose::Load(load.number));
        let range = (load.address, load.len);
        let tag = reads.outstanding.begin(asked, range, cx.fx.now());
        Some(load.request(id, tag, cx.fx.store()))
    }

    /// Answers the load of another processor with this number.
    pub(super) fn answer(
        &mut self,
        number: u64,
        part: &AnsweredPart<Purpose>,
        bytes: &[u8],
        cx: &mut Context<'_>,
    ) {
        let when = (cx.fx.now(), cx.shared.endpoint.max_payload());
        let space = self
            .bridge
            .complete(number, part, bytes, when, cx.fx.store());
        cx.return_space(space);
    }

    /// Answers the waiting loads of other processors as failed, because the link is down.
    pub(super) fn refuse_loads(&mut self, cx: &mut Context<'_>) {
        while let Some(load) = self.bridge.next_load(cx.fx.now(), LARGEST_LOAD, |_| true) {
            cx.return_space(load.space);
            let part = AnsweredPart {
                what: Purpose::Load(load.number),
                offset: 0,
                len: load.len,
                last: true,
            };
            self.answer(load.number, &part, &[], cx);
        }
    }

    /// Ends loads of this side that have timed out.
    pub(super) fn give_up(&mut self, now: Time) {
        if self.is_used {
            self.bridge.give_up(now);
        }
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&mut self, fx: &mut Effects<'_, Nic>) -> Time {
        if !self.is_used {
            return Time::NEVER;
        }
        let now = fx.now();
        let due = self.bridge.due_after(now, fx.store());
        self.is_used = !self.bridge.is_idle();
        due
    }
}

/// The BAR with the window to `processors` processors, each with `space` addresses.
pub(super) fn bar(space: u64, processors: usize) -> Bar {
    Bar {
        index: WINDOW as u8,
        size: space * processors.next_power_of_two() as u64,
        wide: true,
    }
}

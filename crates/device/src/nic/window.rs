//! The window: loads and stores between processors in a global address space.
//!
//! BAR 2 contains the addresses of all processors, one processor after the other. A request to it goes by a [`Bridge`] to the
//! crossbar for loads and stores, and leaves the controller of the target processor as that controller's own request.

use std::sync::Arc;

use kernel::{Effects, Span, Time};
use packet::{BusFrame, Charge, Fault, Frame, PacketId, Refusal};
use protocol::{Bar, Header, Kind};
use transaction::{AnsweredPart, Bridge, BridgeConfig};

use super::reads::{Purpose, Reads};
use super::shared::Shared;
use super::{BUS, Nic, return_space};

/// The window, with loads and stores in progress.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Whether the bridge may have something to do.
    is_used: bool,
    pub(super) bridge: Bridge,
    /// Size of each processor's part of the address space, and of the whole window.
    space: u64,
    size: u64,
    /// The port to each processor.
    reach: Arc<[Option<u8>]>,
}

/// The BAR of the window.
const WINDOW: usize = 2;

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

    /// Whether a processor is at a global address.
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
        shared: &mut Shared,
        fx: &mut Effects<'_, Nic>,
    ) {
        let header = *fx.store()[packet].header();
        let refusal = if let Err(why) = shared.endpoint.check_size(&header) {
            Some(why)
        } else if !self.reaches(address) {
            shared.stop(0, Fault::NoDestination, None, fx);
            Some(Refusal::UnsupportedRequest)
        } else {
            None
        };
        if let Some(why) = refusal {
            shared.endpoint.refuse(packet, why, fx);
            return shared.endpoint.free(charge, fx);
        }
        let ready = fx.now() + shared.cycles(shared.parameters.window_cycles);
        self.is_used = true;
        self.bridge
            .forward_request((packet, charge), address, ready, fx.store());
    }

    /// Sends loads, stores and answers to the crossbar, and answers of others to PCI Express.
    pub(super) fn put_on_bus(&mut self, shared: &mut Shared, fx: &mut Effects<'_, Nic>) -> bool {
        if !self.is_used {
            return false;
        }
        let mut any = false;
        while let Some(answer) = self.bridge.next_completion(fx.now(), fx.store()) {
            any = true;
            shared.endpoint.reply(fx.now(), answer);
        }
        while let Some((frame, charge)) = self.bridge.next_packet(fx.now(), fx.store()) {
            any = true;
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                shared.endpoint.free(charge, fx);
            }
        }
        any
    }

    /// Handles a packet from the crossbar for loads and stores.
    pub(super) fn take_from_bus(
        &mut self,
        frame: BusFrame,
        shared: &mut Shared,
        fx: &mut Effects<'_, Nic>,
    ) {
        let due = fx.now() + shared.cycles(shared.parameters.window_cycles);
        let header = *fx.store()[frame.packet].header();
        self.is_used = true;
        let (side, bridge) = (shared.side(), &mut self.bridge);
        let is_over = match &header.kind {
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) if !shared.is_master(0) => {
                shared.stop(0, Fault::NoDestination, None, fx);
                bridge.reject(frame.packet, fx.now(), fx.store());
                true
            }
            _ => {
                let received = bridge.receive(frame, (side, due), fx.store());
                received.unwrap_or_else(|why| {
                    shared.endpoint.refuse(frame.packet, why, fx);
                    true
                })
            }
        };
        if is_over {
            return_space(frame.space(), fx);
        }
    }

    /// The next write request of another processor.
    pub(super) fn next_store(&mut self, fx: &mut Effects<'_, Nic>) -> Option<PacketId> {
        if !self.is_used {
            return None;
        }
        let store = self.bridge.next_store(fx.now())?;
        if let Some(space) = store.space {
            return_space(space, fx);
        }
        Some(store.packet)
    }

    /// The next read request for a load of another processor, under a tag of `reads`, which has one.
    pub(super) fn next_load(
        &mut self,
        shared: &Shared,
        reads: &mut Reads,
        fx: &mut Effects<'_, Nic>,
    ) -> Option<PacketId> {
        if !self.is_used {
            return None;
        }
        let largest = shared.endpoint.max_read_request();
        let load = self.bridge.next_load(fx.now(), largest)?;
        if let Some(space) = load.space {
            return_space(space, fx);
        }
        let id = shared.side().id;
        let asked = (id, Purpose::Load(load.number));
        let range = (load.address, load.len);
        let tag = reads.outstanding.begin(asked, range, fx.now());
        Some(load.request(id, tag, fx.store()))
    }

    /// Answers the load of another processor with this number.
    pub(super) fn answer(
        &mut self,
        number: u64,
        part: &AnsweredPart<Purpose>,
        bytes: &[u8],
        shared: &Shared,
        fx: &mut Effects<'_, Nic>,
    ) {
        let when = (fx.now(), shared.endpoint.max_payload());
        self.bridge.complete(number, part, bytes, when, fx.store());
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

/// The window to `processors` processors, each with `space` addresses.
pub(super) fn bar(space: u64, processors: usize) -> Bar {
    Bar {
        index: WINDOW as u8,
        size: space * processors.next_power_of_two() as u64,
        wide: true,
    }
}

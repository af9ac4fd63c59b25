//! The window: loads and stores between processors in a global address space.
//!
//! BAR 2 contains the addresses of all processors, one processor after the other. A request to it goes by a [`Bridge`] to the
//! crossbar for loads and stores, and leaves the controller of the target processor as that controller's own request.

use std::sync::Arc;

use kernel::{Effects, Span};
use packet::{BusFrame, Charge, Fault, Frame, PacketId, Refusal};
use protocol::{Bar, Header, Kind};
use transaction::{Bridge, BridgeConfig, BridgeSide};

use super::reads::Purpose;
use super::{BUS, Nic};

/// The window, with loads and stores in progress.
#[derive(Clone, Debug)]
pub(super) struct Window {
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
            bridge: Bridge::new(config),
            space: config.space,
            size: Nic::window(config.space, reach.len()).size,
            reach,
        }
    }

    /// Whether a processor is at a global address.
    fn reaches(&self, address: u64) -> bool {
        let there = usize::try_from(address / self.space).unwrap_or(usize::MAX);
        self.reach.get(there).is_some_and(Option::is_some)
    }
}

impl Nic {
    /// The window to `processors` processors, each with `space` addresses.
    pub fn window(space: u64, processors: usize) -> Bar {
        Bar {
            index: WINDOW as u8,
            size: space * processors.next_power_of_two() as u64,
            wide: true,
        }
    }

    /// This side of the bridge, for requests of others.
    fn side(&self) -> BridgeSide {
        BridgeSide {
            id: self.functions[0].id,
            max_payload: self.endpoint.max_payload(),
        }
    }

    /// The global address of a request to the window; none for other packets.
    pub(super) fn in_window(&self, header: &Header) -> Option<u64> {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                let base = self.endpoint.base_of(WINDOW);
                let address = request.first_byte().checked_sub(base)?;
                (address < self.window.size).then_some(address)
            }
            _ => None,
        }
    }

    /// Sends a request of this side to the global `address`.
    pub(super) fn enter(
        &mut self,
        (packet, charge): (PacketId, Charge),
        address: u64,
        fx: &mut Effects<'_, Self>,
    ) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.endpoint.check_size(&header) {
            self.endpoint.refuse(packet, why, fx);
            return self.endpoint.free(charge, fx);
        }
        if !self.window.reaches(address) {
            self.stop(0, Fault::NoDestination, (None, 0), fx);
            self.endpoint
                .refuse(packet, Refusal::UnsupportedRequest, fx);
            return self.endpoint.free(charge, fx);
        }
        let ready = fx.now() + self.cycles(self.parameters.window_cycles);
        let bridge = &mut self.window.bridge;
        bridge.set_out((packet, charge), address, ready, fx.store());
    }

    /// Sends loads, stores and answers to the crossbar, and answers of others to PCI Express.
    pub(super) fn put_io_on_bus(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(answer) = self.window.bridge.next_answer(fx.now()) {
            any = true;
            self.endpoint.reply(fx.now(), answer);
        }
        while let Some((frame, charge)) = self.window.bridge.next_out(fx.now(), fx.store()) {
            any = true;
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                self.endpoint.free(charge, fx);
            }
        }
        any
    }

    /// Handles frames from the crossbar.
    pub(super) fn take_io(&mut self, frame: BusFrame, fx: &mut Effects<'_, Self>) {
        let due = fx.now() + self.cycles(self.parameters.window_cycles);
        let header = *fx.store()[frame.packet].header();
        let room = frame.room();
        let (side, bridge) = (self.side(), &mut self.window.bridge);
        let is_over = match &header.kind {
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) if !self.functions[0].is_master => {
                self.stop(0, Fault::NoDestination, (None, 0), fx);
                let bridge = &mut self.window.bridge;
                bridge.turn_away(frame.packet, fx.now(), fx.store());
                true
            }
            Kind::MemoryWrite(_) => bridge.store_here(frame, side, due, fx.store()),
            Kind::MemoryRead(_) => {
                bridge.load_here(frame, due, fx.store());
                false
            }
            Kind::Completion(completion) => {
                if !bridge.answer_here(frame.packet, completion, (side, due), fx.store()) {
                    let why = Refusal::UnexpectedCompletion;
                    self.endpoint.refuse(frame.packet, why, fx);
                }
                true
            }
            _ => {
                fx.store().release(frame.packet);
                true
            }
        };
        if is_over {
            fx.send(BUS, Frame::Room(room), Span::ZERO);
        }
    }

    /// The next write request of another processor.
    pub(super) fn next_store(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let store = self.window.bridge.next_store(fx.now())?;
        if let Some(room) = store.room {
            fx.send(BUS, Frame::Room(room), Span::ZERO);
        }
        Some(store.packet)
    }

    /// The next read request for a load of another processor.
    pub(super) fn next_load(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.reads.is_open() {
            return None;
        }
        let largest = self.endpoint.max_read_request();
        let load = self.window.bridge.next_load(fx.now(), largest)?;
        if let Some(room) = load.room {
            fx.send(BUS, Frame::Room(room), Span::ZERO);
        }
        let purpose = Purpose::Load(load.number);
        let tag = self.reads.begin(purpose, load.len, fx.now());
        Some(load.request(self.functions[0].id, tag, fx.store()))
    }
}

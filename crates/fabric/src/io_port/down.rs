//! The packets that an I/O port sends down to its endpoint: answers, stores and loads of the hosts, and accesses to configuration registers.

use kernel::{Effects, Time};
use packet::{Packet, PacketId};
use protocol::{Class, ConfigRequest, FunctionId, Kind, Tag};
use transaction::{Action, BridgedStore, ConfigAccess, Reach, written};

use super::{
    AHEAD, Awaited, IoPort, PHANTOM_FUNCTIONS, ROOT_PORT, SOURCE, register_at, return_space, set_of,
};

impl IoPort {
    /// The next packet for the endpoint. Answers, stores and loads take turns.
    pub(super) fn next_down(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let now = fx.now();
        for step in 0..3 {
            let place = (self.turn + step) % 3;
            let class = [Class::Completion, Class::Posted, Class::NonPosted][place];
            if self.link.waiting_of(SOURCE, class) >= AHEAD {
                continue;
            }
            let packet = match place {
                0 if let Some(refusal) = self.refusals.pop_front() => Some(refusal),
                0 => self.bridge.next_completion(now, fx.store()),
                1 => self.next_store(fx),
                _ => self.next_non_posted(fx),
            };
            if packet.is_some() {
                self.turn = (place + 1) % 3;
                return packet;
            }
        }
        None
    }

    /// The next store to memory of the endpoint. Stores to configuration space join the non-posted requests, so that they do not delay others.
    fn next_store(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        loop {
            let store = self.bridge.next_store(fx.now())?;
            if stored_register(&fx.store()[store.packet]).is_some() {
                self.settings.push_back(store);
                continue;
            }
            if let Some(space) = store.space {
                return_space(space, fx);
            }
            return Some(store.packet);
        }
    }

    /// The next request for the endpoint that needs a tag. Loads of a host do not pass its older configuration writes.
    fn next_non_posted(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let now = fx.now();
        let (owned, outstanding) = (&self.owned, &self.outstanding);
        let may = |address| outstanding[set_of(owned, address)].is_open(now);
        let mut settings = self.settings.iter();
        let setting = settings.position(|store| may(store_address(&fx.store()[store.packet])));
        if let Some(store) = setting.and_then(|place| self.settings.remove(place)) {
            return Some(self.set(store, fx));
        }
        let (owned, outstanding) = (&self.owned, &self.outstanding);
        let may = |address| outstanding[set_of(owned, address)].is_open(now);
        let load = self.bridge.next_load(now, LARGEST_LOAD, may)?;
        if let Some(space) = load.space {
            return_space(space, fx);
        }
        if let Some(at) = register_at(load.address, load.len) {
            let awaited = Awaited::Register {
                number: load.number,
                first: load.address % 4,
                len: load.len,
            };
            let request = self.configure(at, (Action::Read, awaited), now);
            let kind = Kind::ConfigRead(request);
            return Some(fx.store().make(kind.into(), load.stamp(), &[]));
        }
        let range = (load.address, load.len);
        let set = set_of(&self.owned, load.address);
        let (requester, tag) = self.begin(set, (Awaited::Load(load.number), range), now);
        Some(load.request(requester, tag, fx.store()))
    }

    /// Begins a request to the endpoint for a range of bytes; returns its requester and tag.
    fn begin(
        &mut self,
        set: usize,
        (awaited, range): (Awaited, (u64, u32)),
        now: Time,
    ) -> (FunctionId, Tag) {
        let timeout = self.functions.space(ROOT_PORT).completion_timeout();
        let outstanding = &mut self.outstanding[set];
        outstanding.time_out_after(timeout);
        let phantom = FunctionId(self.functions.id().0 + set as u16);
        (phantom, outstanding.begin(awaited, range, now))
    }

    /// The configuration write of a store to configuration space.
    fn set(&mut self, store: BridgedStore, fx: &mut Effects<'_, Self>) -> PacketId {
        let content = &fx.store()[store.packet];
        let (at, first, bytes) = stored_register(content).expect("the store is for a register");
        let stamp = content.stamp;
        let mut value = [0; 4];
        value[first..first + bytes.len()].copy_from_slice(bytes);
        let enables = ((1 << bytes.len()) - 1) << first;
        fx.store().release(store.packet);
        if let Some(space) = store.space {
            return_space(space, fx);
        }
        let action = Action::Write {
            value: u32::from_le_bytes(value),
            enables,
        };
        let request = self.configure(at, (action, Awaited::Written), fx.now());
        let kind = Kind::ConfigWrite(request);
        fx.store().make(kind.into(), stamp, &value)
    }

    /// The configuration request for a register of a function below the port, with a tag.
    fn configure(
        &mut self,
        (target, register): (FunctionId, u16),
        (action, awaited): (Action, Awaited),
        now: Time,
    ) -> ConfigRequest {
        let len = match action {
            Action::Read => 4,
            Action::Write { .. } => 0,
        };
        let set = self.owned.iter().position(|owned| owned.id == target);
        let set = set.unwrap_or(0) % PHANTOM_FUNCTIONS;
        let (requester, tag) = self.begin(set, (awaited, (0, len)), now);
        let access = ConfigAccess {
            target,
            register,
            action,
        };
        let request = access.request(requester, tag);
        match self.functions.reach(&request) {
            Reach::Below(_, kind) => ConfigRequest { kind, ..request },
            _ => request,
        }
    }
}

/// The largest load. Software sets no max read request size for the port.
const LARGEST_LOAD: u32 = 4096;

/// The register that a store is for, with the first of its bytes and the data; none for stores to memory.
fn stored_register(packet: &Packet) -> Option<((FunctionId, u16), usize, &[u8])> {
    let Kind::MemoryWrite(request) = &packet.header().kind else {
        return None;
    };
    let at = register_at(request.first_byte(), request.byte_len())?;
    let first = request.first_byte() % 4;
    Some((at, first as usize, written(packet, request)))
}

/// The address of a store.
fn store_address(packet: &Packet) -> u64 {
    match &packet.header().kind {
        Kind::MemoryWrite(request) => request.first_byte(),
        _ => 0,
    }
}

//! A small simulation for the tests of the library: one card with scratch registers, an engine that writes to memory after a delay, and
//! interrupts.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;

use session::{
    Attribute, Call, Channel, Clock, Costs, ErrorRegister, Event as Heard, Failure, Kind, Listener,
    Object, Reply, Request, Response, SharedMemory, Until, WaitEnd, Welcome,
};

const NANOSECOND: u64 = 1_000_000;
const REGISTERS: u64 = 256 << 10;
/// Address of the first buffer, and the distance between two buffers.
const FIRST_ADDRESS: u64 = 0x10_0000_0000;
/// Size of the host's memory.
const MEMORY: u64 = 8 << 30;

/// The address to which the engine writes.
const ENGINE_ADDRESS: u64 = 0x800;
/// The word that the engine writes.
const ENGINE_WORD: u64 = 0x808;
/// Number of words that the engine writes, one after the other.
const ENGINE_COUNT: u64 = 0x810;
/// A store to this register starts the engine. The engine writes after the stored number of nanoseconds.
const ENGINE_START: u64 = 0x818;
/// A store to one of these registers signals an interrupt after the stored number of nanoseconds.
const INTERRUPTS: [u64; 2] = [0x820, 0x828];
/// The register with the bytes of the last store, and the registers with the numbers of stores and loads of other registers.
const LAST_STORE: u64 = 0x840;
const STORES: u64 = 0x848;
const LOADS: u64 = 0x850;
/// A store to this register ends the simulation.
const END: u64 = 0x860;

/// The first bytes of a bitstream for the card.
pub const BITSTREAM: &[u8] = b"XeonFPGA";

/// Serves processes at a socket until the test ends. Each process has its own card.
pub fn serve(clock: Clock, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{}.socket", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = Listener::bind(&path).expect("a socket");
    thread::spawn(move || {
        while let Ok(channel) = listener.accept() {
            thread::spawn(move || Card::new(clock).serve(&channel));
        }
    });
    path
}

enum Event {
    Write { address: u64, word: u64, count: u64 },
    Interrupt(u32),
}

struct Card {
    clock: Clock,
    now: u64,
    registers: Vec<u8>,
    open: BTreeMap<u64, (u32, bool)>,
    buffers: BTreeMap<u64, (u64, SharedMemory)>,
    listeners: BTreeMap<Heard, OwnedFd>,
    /// Errors that software has injected. The card has no other errors.
    injected: u64,
    events: BTreeMap<(u64, u64), Event>,
    next: u64,
}

impl Card {
    fn new(clock: Clock) -> Self {
        Card {
            clock,
            now: 0,
            registers: vec![0; REGISTERS as usize],
            open: BTreeMap::new(),
            buffers: BTreeMap::new(),
            listeners: BTreeMap::new(),
            injected: 0,
            events: BTreeMap::new(),
            next: 1,
        }
    }

    fn serve(mut self, channel: &Channel) {
        while let Ok((call, file)) = channel.receive::<Call>() {
            if matches!(call.request, Request::Store { offset: END, .. }) {
                return;
            }
            self.pass(self.now + call.worked.total());
            let outcome = self.answer(call.request, file);
            if self.clock == Clock::Wall {
                // A simulation with the wall clock runs as fast as it can.
                while self.step().is_some() {}
            }
            let answer = Response {
                now: self.now,
                active: !self.events.is_empty(),
                outcome,
            };
            if channel.send(&answer, None).is_err() {
                return;
            }
        }
    }

    /// Lets time pass. Returns the writes and the interrupts in this time.
    fn pass(&mut self, until: u64) {
        while let Some((&(at, _), _)) = self.events.first_key_value() {
            if at > until {
                break;
            }
            self.step();
        }
        self.now = self.now.max(until);
    }

    fn step(&mut self) -> Option<Event> {
        let ((at, _), event) = self.events.pop_first()?;
        self.now = self.now.max(at);
        match &event {
            Event::Write {
                address,
                word,
                count,
            } => {
                let (base, memory) = self.buffers.range(..=address).next_back()?.1;
                for index in 0..*count {
                    let offset = (address - base + 8 * index) as usize;
                    if offset + 8 <= memory.size() {
                        memory.write(offset, &word.to_le_bytes());
                    }
                }
            }
            Event::Interrupt(vector) => {
                self.tell(Heard::Interrupt(*vector));
            }
        }
        Some(event)
    }

    fn tell(&self, event: Heard) {
        if let Some(file) = self.listeners.get(&event) {
            rustix::io::write(file, &1_u64.to_ne_bytes()).expect("an eventfd");
        }
    }

    fn answer(&mut self, request: Request, file: Option<OwnedFd>) -> Result<Reply, Failure> {
        match request {
            Request::Hello { .. } => Ok(Reply::Welcome(Welcome {
                clock: self.clock,
                realtime: 1_700_000_000_000_000_000,
                monotonic: 5_000_000_000,
                costs: Costs {
                    written_byte: 100_000,
                    read_byte: 100_000,
                    clock: 20 * NANOSECOND,
                    system_call: 100 * NANOSECOND,
                    poll: 50 * NANOSECOND,
                },
                release: None,
            })),
            Request::Objects => Ok(Reply::Objects(self.objects())),
            Request::Open { object, shared } => self.open(object, shared),
            Request::Close { handle } => {
                self.open.remove(&handle);
                self.listeners.clear();
                Ok(Reply::Done)
            }
            Request::Reset { .. } => {
                self.events.clear();
                Ok(Reply::Done)
            }
            Request::Load { offset, len, .. } => Ok(Reply::Bytes(self.load(offset, len))),
            Request::Store { offset, bytes, .. } => {
                self.store(offset, &bytes);
                Ok(Reply::Done)
            }
            Request::Pin { size, page, .. } => self.pin(size, page, file),
            Request::Unpin { buffer, .. } => {
                self.buffers.remove(&buffer).ok_or(Failure::NotFound)?;
                Ok(Reply::Done)
            }
            Request::Listen { event, .. } => {
                self.listeners.insert(event, file.ok_or(Failure::Invalid)?);
                Ok(Reply::Done)
            }
            Request::Ignore { event, .. } => {
                self.listeners.remove(&event).ok_or(Failure::Invalid)?;
                Ok(Reply::Done)
            }
            Request::LoadAttribute { attribute, .. } => Ok(Reply::Value(match attribute {
                Attribute::Error(ErrorRegister::Injected) => self.injected,
                Attribute::Error(ErrorRegister::Fatal) => self.injected << 8,
                _ => 0,
            })),
            Request::StoreAttribute { value, .. } => {
                self.injected = value;
                self.tell(Heard::Error);
                Ok(Reply::Done)
            }
            Request::SetClock { .. } => Ok(Reply::Done),
            Request::Configure { size, .. } => {
                let bitstream = SharedMemory::map(file.ok_or(Failure::Invalid)?, size);
                let mut first = [0; BITSTREAM.len()];
                bitstream.map_err(|_| Failure::Invalid)?.read(0, &mut first);
                if first != BITSTREAM {
                    return Err(Failure::NotABitstream);
                }
                Ok(Reply::Done)
            }
            Request::Wait { until, limit } => Ok(Reply::Woken(self.wait(until, limit))),
        }
    }

    fn objects(&self) -> Vec<Object> {
        let device = Object {
            kind: Kind::Device,
            parent: None,
            name: "card".into(),
            segment: 0,
            bus: 1,
            device: 0,
            function: 0,
            socket: 0,
            vendor_id: 0x8086,
            device_id: 0x09c4,
            subsystem_vendor_id: 0x8086,
            subsystem_id: 0,
            object_id: 0x100,
            guid: *b"interface of it!",
            assigned: false,
            mmio: 0,
            mmio_size: 0,
            interrupts: 0,
            slots: 1,
            slot: 0,
            bitstream_id: 0x1234_0000_0000_0001,
            local_memory: 8 << 30,
        };
        let accelerator = Object {
            kind: Kind::Accelerator,
            parent: Some(0),
            object_id: 0x101,
            guid: *b"what it does....",
            assigned: self
                .open
                .values()
                .any(|&(object, shared)| object == 1 && !shared),
            mmio: 1,
            mmio_size: REGISTERS,
            interrupts: 2,
            slots: 0,
            bitstream_id: 0,
            local_memory: 0,
            ..device.clone()
        };
        let other = Object {
            bus: 2,
            parent: None,
            object_id: 0x201,
            guid: *b"something else..",
            assigned: false,
            ..accelerator.clone()
        };
        vec![device, accelerator, other]
    }

    fn open(&mut self, object: u32, shared: bool) -> Result<Reply, Failure> {
        let taken = |&(other, its): &(u32, bool)| other == object && !(its && shared);
        if self.open.values().any(taken) {
            return Err(Failure::Busy);
        }
        let handle = self.name();
        self.open.insert(handle, (object, shared));
        Ok(Reply::Opened { handle })
    }

    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn pin(&mut self, size: u64, page: u64, file: Option<OwnedFd>) -> Result<Reply, Failure> {
        let end = self.buffers.last_key_value();
        let end = end.map_or(FIRST_ADDRESS, |(_, (base, memory))| {
            base + memory.size() as u64
        });
        let address = end.next_multiple_of(page);
        if address + size > FIRST_ADDRESS + MEMORY {
            return Err(Failure::NoMemory);
        }
        let memory = SharedMemory::map(file.ok_or(Failure::Invalid)?, size);
        let memory = memory.map_err(|_| Failure::Invalid)?;
        self.buffers.insert(address, (address, memory));
        Ok(Reply::Pinned {
            buffer: address,
            address,
        })
    }

    fn load(&mut self, offset: u64, len: u32) -> Vec<u8> {
        assert!([4, 8, 64].contains(&len) && offset.is_multiple_of(len.into()));
        self.pass(self.now + 1000 * NANOSECOND);
        if !(LAST_STORE..=LOADS).contains(&offset) {
            self.count(LOADS);
        }
        let at = offset as usize;
        self.registers[at..at + len as usize].to_vec()
    }

    fn store(&mut self, offset: u64, bytes: &[u8]) {
        let len = bytes.len() as u64;
        assert!([4, 8, 64].contains(&len) && offset.is_multiple_of(len));
        self.pass(self.now + 100 * NANOSECOND);
        let at = offset as usize;
        self.registers[at..at + bytes.len()].copy_from_slice(bytes);
        self.set(LAST_STORE, len);
        self.count(STORES);
        let event = match offset {
            ENGINE_START => Event::Write {
                address: self.get(ENGINE_ADDRESS),
                word: self.get(ENGINE_WORD),
                count: self.get(ENGINE_COUNT),
            },
            _ => match INTERRUPTS.iter().position(|&register| register == offset) {
                Some(vector) => Event::Interrupt(vector as u32),
                None => return,
            },
        };
        let at = self.now + self.get(offset) * NANOSECOND;
        let name = self.name();
        self.events.insert((at, name), event);
    }

    fn get(&self, register: u64) -> u64 {
        let at = register as usize;
        u64::from_le_bytes(self.registers[at..at + 8].try_into().expect("8 bytes"))
    }

    fn set(&mut self, register: u64, value: u64) {
        let at = register as usize;
        self.registers[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn count(&mut self, register: u64) {
        self.set(register, self.get(register) + 1);
    }

    fn wait(&mut self, until: Until, limit: u64) -> WaitEnd {
        while let Some((&(at, _), _)) = self.events.first_key_value() {
            if at > limit {
                self.now = self.now.max(limit);
                return WaitEnd::Limit;
            }
            let Some(event) = self.step() else { continue };
            let happened = match (event, until) {
                (Event::Interrupt(_), Until::Interrupt) => true,
                (
                    Event::Write { address, count, .. },
                    Until::Written {
                        buffer,
                        offset,
                        len,
                    },
                ) => address < buffer + offset + len && buffer + offset < address + 8 * count,
                _ => false,
            };
            if happened {
                return WaitEnd::Happened;
            }
        }
        if limit == u64::MAX {
            return WaitEnd::Quiet;
        }
        self.now = self.now.max(limit);
        match until {
            Until::Limit => WaitEnd::Limit,
            _ => WaitEnd::Quiet,
        }
    }
}

//! The server's work for each call of a process.

use std::io::{Write, stderr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use kernel::{Frequency, Span};
use rustix::fs::{FileType, fstat, readlink};
use rustix::io::{Errno, pread};
use session::{
    Call, Clock, Costs, Failure, Reply, Request, USER_CLOCK, Until, VERSION, WaitEnd, Welcome,
};
use sim::{SlotPlace, Woken};

use crate::cards;
use crate::handles::{Named, State};
use crate::pages::expect_transfer;
use crate::server::{Server, Watch, is_called};

/// Real time of a wait after which the server checks for calls of other processes, and serves them first.
const SLICE: Duration = Duration::from_millis(10);

/// Size of the largest accepted bitstream in bytes.
const LARGEST_BITSTREAM: u64 = 1 << 28;

/// How a slot is configured.
#[derive(Clone, Copy)]
struct How {
    /// Whether the slot is also configured if its accelerator is open.
    force: bool,
    keeps_clock: bool,
}

impl Server {
    pub(crate) fn answer(
        &mut self,
        place: usize,
        call: Call,
        file: Option<OwnedFd>,
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        let client = self.clients[place].number;
        if let Request::Hello { version } = call.request {
            return self.hello(place, version);
        }
        if !self.clients[place].is_welcome {
            return Err(Failure::Invalid);
        }
        match call.request {
            Request::Hello { .. } => Err(Failure::Invalid),
            Request::Objects => {
                let objects = cards::objects(&self.simulation, &self.cards, &self.handles);
                Ok(Reply::Objects(objects))
            }
            Request::Open { object, shared } => {
                let what = cards::named(object, &self.cards)?;
                let handle = self.handles.open(client, what, shared)?;
                Ok(Reply::Opened { handle })
            }
            Request::Close { handle } => {
                self.handles.of(client, handle)?;
                self.close(handle);
                Ok(Reply::Done)
            }
            Request::Reset { handle } => {
                self.slot_of(client, handle)?;
                let object = self.handles.of(client, handle)?.object;
                self.reset(object, watch).map(|()| Reply::Done)
            }
            Request::Load {
                handle,
                offset,
                len,
            } => self.load(client, handle, (offset, len), watch),
            Request::Store {
                handle,
                offset,
                bytes,
            } => {
                let address = self.register(client, handle, (offset, bytes.len() as u64))?;
                self.store(address, &bytes, watch).map(|()| Reply::Done)
            }
            Request::Pin { handle, size, page } => {
                let object = self.handles.of(client, handle)?.object;
                let file = file.ok_or(Failure::Invalid)?;
                let pinned = self.pin((handle, object), &file, (size, page))?;
                expect_transfer(size);
                let pages = size.div_ceil(page);
                let costs = self.thread.costs();
                let took = costs.system_call + costs.page_pin * pages;
                self.pass(took, watch);
                let (buffer, address) = pinned;
                Ok(Reply::Pinned { buffer, address })
            }
            Request::Unpin { handle, buffer } => {
                self.handles.of(client, handle)?;
                let named = (handle, buffer);
                self.buffers
                    .unpin(&mut self.simulation, &self.host, named)?;
                self.pass(self.thread.costs().system_call, watch);
                Ok(Reply::Done)
            }
            Request::Listen { handle, event } => {
                let file = file.filter(is_eventfd).ok_or(Failure::Invalid)?;
                let slots = self.slots_of(client, handle)?;
                self.handles
                    .of(client, handle)?
                    .listen(event, slots, file)?;
                Ok(Reply::Done)
            }
            Request::Ignore { handle, event } => {
                let slots = self.slots_of(client, handle)?;
                self.handles.of(client, handle)?.ignore(event, slots)?;
                Ok(Reply::Done)
            }
            Request::LoadAttribute { object, attribute } => {
                let value = self.load_attribute(object, attribute, watch)?;
                Ok(Reply::Value(value))
            }
            Request::StoreAttribute {
                object,
                attribute,
                value,
            } => self.store_attribute(object, attribute, value, watch),
            Request::SetClock { handle, hertz } => self.set_clock(client, handle, hertz, watch),
            Request::Configure {
                handle,
                slot,
                size,
                force,
                keeps_clock,
            } => {
                let file = file.ok_or(Failure::Invalid)?;
                let how = How { force, keeps_clock };
                self.configure((client, handle), (slot, how), (&file, size), watch)
            }
            Request::Wait { until, limit } => self.wait(client, until, limit, watch),
        }
    }

    fn hello(&mut self, place: usize, version: u32) -> Result<Reply, Failure> {
        self.clients[place].is_welcome = version == VERSION;
        if version == VERSION {
            Ok(Reply::Welcome(self.welcome()))
        } else {
            Err(Failure::NotSupported)
        }
    }

    fn welcome(&self) -> Welcome {
        let costs = self.thread.costs();
        Welcome {
            clock: if self.settings.is_wall {
                Clock::Wall
            } else {
                Clock::Virtual
            },
            realtime: self.settings.realtime,
            monotonic: self.settings.monotonic,
            costs: Costs {
                written_byte: costs.buffer_write_rate.time_of(1).as_fs(),
                read_byte: costs.buffer_read_rate.time_of(1).as_fs(),
                clock: costs.clock_read.as_fs(),
                system_call: costs.system_call.as_fs(),
                poll: costs.poll.as_fs(),
            },
            release: costs
                .opae_release
                .map(|release| (release.major, release.minor, release.patch)),
        }
    }

    /// Lets time pass while a process works.
    pub(crate) fn pass(&mut self, span: Span, watch: Watch<'_>) {
        // The only error is an interruption by `watch`; the work then ends before the next access.
        let _ = self.thread.work(&mut self.simulation, span, watch);
    }

    /// The address of `len` bytes of an accelerator's registers at `offset`, which must be aligned.
    fn register(
        &mut self,
        client: u64,
        handle: u64,
        (offset, len): (u64, u64),
    ) -> Result<u64, Failure> {
        let place = self.slot_of(client, handle)?;
        let is_within = offset
            .checked_add(len)
            .is_some_and(|end| end <= SlotPlace::REGISTERS_SIZE);
        if ![4, 8, 64].contains(&len) || offset % len != 0 || !is_within {
            return Err(Failure::Invalid);
        }
        Ok(place.registers + offset)
    }

    fn slots_of(&mut self, client: u64, handle: u64) -> Result<usize, Failure> {
        let object = self.handles.of(client, handle)?.object;
        Ok(self.cards[object.card].place.slots.len())
    }

    /// The slot of an open accelerator.
    fn slot_of(&mut self, client: u64, handle: u64) -> Result<&SlotPlace, Failure> {
        let object = self.handles.of(client, handle)?.object;
        let slot = object.slot.ok_or(Failure::NotSupported)?;
        let slots = &self.cards[object.card].place.slots;
        slots.get(slot).ok_or(Failure::NotFound)
    }

    /// Sets the user clock of an accelerator, as its driver does. The registers of the clock's PLL are not modelled. A clock above the clock
    /// that the accelerator was built for is also set, as in the published library, with a warning on standard error.
    fn set_clock(
        &mut self,
        client: u64,
        handle: u64,
        hertz: u64,
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        let object = self.handles.of(client, handle)?.object;
        let slot = object.slot.ok_or(Failure::NotSupported)?;
        let name = self.cards[object.card].place.name.clone();
        if !USER_CLOCK.contains(&hertz) {
            return Err(Failure::Invalid);
        }
        self.pass(self.thread.costs().system_call, watch);
        let clock = Frequency(hertz);
        let card = self.simulation.card(&name).ok();
        let limit = card.and_then(|card| card.slots().get(slot)?.made_for);
        if let Some(limit) = limit.filter(|limit| *limit < clock) {
            let [clock, limit] = [clock, limit].map(|one| one.0 as f64 / 1e6);
            let _ = writeln!(
                stderr(),
                "peerlane: the user clock of {name} is set to {clock} MHz, but the bitstream was made for {limit} MHz; the circuit may fail at this clock, the model does not"
            );
        }
        let slot = self.simulation.slot(&name, slot);
        slot.map_err(|_| Failure::Exception)?.clock = clock;
        Ok(Reply::Done)
    }

    /// Stores bytes at an address, as a core of the host does.
    pub(crate) fn store(
        &mut self,
        address: u64,
        bytes: &[u8],
        watch: Watch<'_>,
    ) -> Result<(), Failure> {
        let (thread, simulation) = (&self.thread, &mut self.simulation);
        let stored = thread.store(simulation, address, bytes, watch);
        stored.map_err(|_| Failure::Exception)
    }

    fn load(
        &mut self,
        client: u64,
        handle: u64,
        (offset, len): (u64, u32),
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        let address = self.register(client, handle, (offset, len.into()))?;
        let loaded = self.thread.load(&mut self.simulation, address, len, watch);
        loaded.map(Reply::Bytes).map_err(|_| Failure::Exception)
    }

    fn configure(
        &mut self,
        (client, handle): (u64, u64),
        (slot, how): (u32, How),
        (file, size): (&OwnedFd, u64),
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        let Named { card, slot: None } = self.handles.of(client, handle)?.object else {
            return Err(Failure::NotSupported);
        };
        let place = &self.cards[card].place;
        let slot = slot as usize;
        if slot >= place.slots.len() || size == 0 || size > LARGEST_BITSTREAM {
            return Err(Failure::Invalid);
        }
        let accelerator = Named {
            card,
            slot: Some(slot),
        };
        if self.handles.state(accelerator) != State::Free && !how.force {
            return Err(Failure::Busy);
        }
        let bytes = read(file, size).ok_or(Failure::Invalid)?;
        let loaded = cards::accelerator(&bytes, place, self.loader.as_ref());
        let loaded = loaded.map_err(|why| {
            let name = &place.name;
            let _ = writeln!(
                stderr(),
                "peerlane: the bitstream for slot {slot} of {name} is refused: {why}"
            );
            Failure::NotABitstream
        })?;
        let took = place.configuration_rate.time_of(size);
        // The accelerator that is replaced must not run during the configuration.
        self.begin_reset(accelerator, watch)?;
        self.pass(took, watch);
        let name = &self.cards[card].place.name;
        let to = (name.as_str(), slot);
        let done = cards::configure(&mut self.simulation, to, loaded, how.keeps_clock);
        self.end_reset(accelerator, watch)?;
        done.map(|()| Reply::Done).map_err(|_| Failure::Exception)
    }

    fn wait(
        &mut self,
        client: u64,
        until: Until,
        limit: u64,
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        // A limit beyond the largest time saturates.
        let limit = self.began + Span::from_fs(limit);
        let what = match until {
            Until::Limit => sim::Until::Limit,
            Until::Interrupt => sim::Until::Interrupt,
            Until::Written {
                buffer,
                offset,
                len,
            } => {
                let buffer = self.buffers.find(buffer)?;
                let end = offset.checked_add(len).filter(|end| *end <= buffer.size);
                let end = end.ok_or(Failure::Invalid)?;
                self.handles.of(client, buffer.handle)?;
                sim::Until::Written(buffer.address + offset..buffer.address + end)
            }
        };
        let mut until = Instant::now() + SLICE;
        loop {
            let (listener, clients) = (self.listener.as_ref(), &self.clients);
            // Only a call of another process interrupts a wait, so that real time has no effect on a program that runs alone.
            let mut goes_on = || {
                if Instant::now() >= until {
                    until = Instant::now() + SLICE;
                    return watch() && !is_called(listener, clients);
                }
                watch()
            };
            let woken = self
                .thread
                .wait(&mut self.simulation, &what, limit, &mut goes_on);
            let why = match woken {
                Woken::Happened if what == sim::Until::Interrupt => {
                    if !self.signal_interrupts().contains(&client) {
                        continue;
                    }
                    self.pass(self.thread.costs().interrupt_latency, watch);
                    WaitEnd::Happened
                }
                Woken::Happened => WaitEnd::Happened,
                Woken::Limit => WaitEnd::Limit,
                Woken::Quiet => WaitEnd::Quiet,
                Woken::Broken => WaitEnd::Interrupted,
            };
            return Ok(Reply::Woken(why));
        }
    }
}

/// Whether a file is an `eventfd`, to which the server can write without waiting for a reader.
fn is_eventfd(file: &OwnedFd) -> bool {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    readlink(link, Vec::new()).is_ok_and(|target| target.to_bytes() == b"anon_inode:[eventfd]")
}

/// The first `size` bytes of `file`. `None` if the file is shorter, or not a regular file. A process may change the file while it is read.
fn read(file: &OwnedFd, size: u64) -> Option<Vec<u8>> {
    let status = fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if !is_file || u64::try_from(status.st_size).ok()? < size {
        return None;
    }
    let mut bytes = vec![0; size as usize];
    let mut done = 0;
    while done < bytes.len() {
        match pread(file, &mut bytes[done..], done as u64) {
            Ok(0) => return None,
            Ok(got) => done += got,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

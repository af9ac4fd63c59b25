//! The server's work for each call of a process.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use kernel::Span;
use rustix::fs::{FileType, fstat, readlink};
use rustix::io::{Errno, pread};
use session::{Call, Clock, Costs, Failure, Reply, Request, Until, VERSION, WaitEnd, Welcome};
use sim::Woken;
use sim::card_registers::PORT_CONTROL;

use crate::cards;
use crate::handles::State;
use crate::server::{Server, is_called};

/// Real time of a wait after which calls of others are looked for, and served first.
const SLICE: Duration = Duration::from_millis(10);

/// Size of the largest accepted bitstream in bytes.
const LARGEST_BITSTREAM: u64 = 1 << 28;

/// Bits of the port's control register: the reset request, and its acknowledgement.
const IN_RESET: u64 = 1;
const RESET_DONE: u64 = 1 << 4;

/// Number of reads of the control register after which a reset is given up.
const RESET_LOOKS: u32 = 1000;

impl Server {
    pub(crate) fn answer(
        &mut self,
        place: usize,
        call: Call,
        file: Option<OwnedFd>,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let client = self.clients[place].number;
        if let Request::Hello { version } = call.request {
            self.clients[place].is_welcome = version == VERSION;
            return if version == VERSION {
                Ok(Reply::Welcome(self.welcome()))
            } else {
                Err(Failure::NotSupported)
            };
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
            Request::Reset { handle } => self.reset(client, handle, watch),
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
                let stored = self
                    .thread
                    .store(&mut self.simulation, address, &bytes, watch);
                stored.map(|()| Reply::Done).map_err(|_| Failure::Exception)
            }
            Request::Pin { handle, size, page } => {
                self.handles.of(client, handle)?;
                let file = file.ok_or(Failure::Invalid)?;
                let simulation = &mut self.simulation;
                let pinned =
                    self.buffers
                        .pin(simulation, &self.host, handle, &file, (size, page))?;
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
                self.handles.of(client, handle)?.listen(event, file)?;
                Ok(Reply::Done)
            }
            Request::Ignore { handle, event } => {
                self.handles.of(client, handle)?.ignore(event)?;
                Ok(Reply::Done)
            }
            Request::LoadErrors { object, register } => {
                let value = self.load_errors((object, register), watch)?;
                Ok(Reply::Value(value))
            }
            Request::StoreErrors {
                object,
                register,
                value,
            } => self.store_errors((object, register), value, watch),
            Request::Configure {
                handle,
                slot,
                size,
                force,
            } => {
                let file = file.ok_or(Failure::Invalid)?;
                self.configure((client, handle), (slot, force), (&file, size), watch)
            }
            Request::Wait { until, limit } => self.wait(client, until, limit, watch),
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
        }
    }

    /// Lets time pass while a process works.
    pub(crate) fn pass(&mut self, span: Span, watch: &mut dyn FnMut() -> bool) {
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
        let opened = self.handles.of(client, handle)?;
        if !opened.is_accelerator {
            return Err(Failure::NotSupported);
        }
        let card = &self.cards[opened.card];
        let is_within = offset
            .checked_add(len)
            .is_some_and(|end| end <= card.place.registers_size);
        if ![4, 8, 64].contains(&len) || offset % len != 0 || !is_within {
            return Err(Failure::Invalid);
        }
        Ok(card.registers() + offset)
    }

    fn load(
        &mut self,
        client: u64,
        handle: u64,
        (offset, len): (u64, u32),
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let address = self.register(client, handle, (offset, len.into()))?;
        let loaded = self.thread.load(&mut self.simulation, address, len, watch);
        loaded.map(Reply::Bytes).map_err(|_| Failure::Exception)
    }

    /// Puts the port of an accelerator into reset and releases it, as its driver does.
    pub(crate) fn reset(
        &mut self,
        client: u64,
        handle: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let opened = self.handles.of(client, handle)?;
        if !opened.is_accelerator {
            return Err(Failure::NotSupported);
        }
        let control = self.cards[opened.card].place.port + PORT_CONTROL;
        let (thread, simulation) = (&self.thread, &mut self.simulation);
        let mut turn = || {
            thread.work(simulation, thread.costs().system_call, watch)?;
            thread.store(simulation, control, &IN_RESET.to_le_bytes(), watch)?;
            for _ in 0..RESET_LOOKS {
                let word = thread.load_word(simulation, control, watch)?;
                if word & RESET_DONE != 0 {
                    break;
                }
            }
            thread.store(simulation, control, &0_u64.to_le_bytes(), watch)
        };
        turn().map(|()| Reply::Done).map_err(|_| Failure::Exception)
    }

    pub(crate) fn close(&mut self, handle: u64) {
        self.buffers
            .unpin_all(&mut self.simulation, &self.host, handle);
        self.handles.close(handle);
    }

    fn configure(
        &mut self,
        (client, handle): (u64, u64),
        (slot, force): (u32, bool),
        (file, size): (&OwnedFd, u64),
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let opened = self.handles.of(client, handle)?;
        let (number, is_accelerator) = (opened.card, opened.is_accelerator);
        if is_accelerator {
            return Err(Failure::NotSupported);
        }
        if slot > 0 || size == 0 || size > LARGEST_BITSTREAM {
            return Err(Failure::Invalid);
        }
        if self.handles.state(number, true) != State::Free && !force {
            return Err(Failure::Busy);
        }
        let bytes = read(file, size).ok_or(Failure::Invalid)?;
        let card = &self.cards[number];
        let afu = cards::accelerator(&bytes, &card.place, self.loader.as_ref());
        let afu = afu.map_err(|_| Failure::NotABitstream)?;
        let took = card.place.configuration_rate.time_of(size);
        self.pass(took, watch);
        let name = &self.cards[number].place.name;
        let loaded = self.simulation.load_afu(name, afu);
        loaded.map(|()| Reply::Done).map_err(|_| Failure::Exception)
    }

    fn wait(
        &mut self,
        client: u64,
        until: Until,
        limit: u64,
        watch: &mut dyn FnMut() -> bool,
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
            // Only a call of somebody breaks a wait off, so that real time makes no difference to a program that is alone.
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

/// The first `size` bytes of `file`; none if it is shorter, or no file. A process may change it meanwhile.
fn read(file: &OwnedFd, size: u64) -> Option<Vec<u8>> {
    let held = fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(held.st_mode) == FileType::RegularFile;
    if !is_file || u64::try_from(held.st_size).ok()? < size {
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

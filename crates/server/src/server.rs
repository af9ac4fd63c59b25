//! The calls of all processes, one after the other.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use kernel::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use session::{
    Answer, Call, ChannelError, Clock, Costs, Failure, Listener, Reply, Request, Until, VERSION,
    Welcome, Why,
};
use sim::{AccessError, Hand, Simulation, Woken};
use thiserror::Error;

use crate::buffers::Buffers;
use crate::cards::{self, Card, Loader};
use crate::client::Client;
use crate::opened::{State, Table};

/// Why there is no session.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The scenario does not have what is asked for.
    #[error("{0}")]
    Access(#[from] AccessError),
    /// No host has a card.
    #[error("{0} has no card below it; write a device with model = \"fpga-card\"")]
    NoCards(String),
    /// The socket cannot be made.
    #[error("{0}")]
    Channel(#[from] ChannelError),
    /// The system refuses something else.
    #[error("the session's socket: {0}")]
    System(#[from] Errno),
}

/// How a session is.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether processes read the clock of the machine, while the simulation runs as fast as it can; else that of the simulation.
    pub is_wall: bool,
    /// The real time at its beginning, in nanoseconds since 1970.
    pub realtime: u64,
    /// The monotonic time at its beginning, in nanoseconds.
    pub monotonic: u64,
}

/// A host that processes run on.
#[derive(Debug)]
pub struct Server {
    simulation: Simulation,
    hand: Hand,
    host: String,
    settings: Settings,
    /// When the session began.
    began: Time,
    listener: Listener,
    clients: Vec<Client>,
    /// How many there have been.
    known: u64,
    cards: Vec<Card>,
    opened: Table,
    buffers: Buffers,
    loader: Box<dyn Loader>,
}

/// Real time between two looks at whether to stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Real time that one wait takes at most, before others have their turn.
const SLICE: Duration = Duration::from_millis(10);

/// Simulated time by which the fabric goes on by itself between two looks at the processes, with the clock of the wall.
const STRIDE: Span = Span::from_us(20);

/// Bytes of the largest bitstream that is taken.
const LARGEST_BITSTREAM: u64 = 1 << 28;

impl Server {
    /// A session on `host` of `simulation`, or on the first one with a card, at the socket `path`.
    pub fn new(
        mut simulation: Simulation,
        host: Option<&str>,
        path: &Path,
        settings: Settings,
        loader: Box<dyn Loader>,
    ) -> Result<Self, ServerError> {
        let cards = Card::all(&simulation, host);
        let nobody = || ServerError::NoCards(host.unwrap_or("no host").to_owned());
        let first = cards.first().ok_or_else(nobody)?;
        let host = first.place.host.clone();
        let hand = Hand::new(&mut simulation, &host)?;
        Ok(Server {
            cards,
            began: simulation.now(),
            listener: Listener::bind(path)?,
            simulation,
            hand,
            host,
            settings,
            clients: Vec::new(),
            known: 0,
            opened: Table::default(),
            buffers: Buffers::default(),
            loader,
        })
    }

    /// Simulated time since the session began.
    pub fn elapsed(&self) -> Span {
        self.simulation.now().since(self.began)
    }

    /// Loads a bitstream into the card with that name, in no time, as if somebody had before the session began.
    pub fn load_image(&mut self, card: &str, bitstream: &[u8]) -> Result<(), String> {
        cards::load_image(&mut self.simulation, card, bitstream, self.loader.as_ref())
    }

    /// Answers calls while `watch`, asked now and then, says to go on.
    pub fn serve(&mut self, watch: &mut dyn FnMut() -> bool) -> Result<(), ServerError> {
        while watch() {
            let is_moving = self.settings.is_wall && !self.simulation.is_at_rest();
            let ready = self.ready(if is_moving { &AT_ONCE } else { &LOOK })?;
            if ready.first() == Some(&0) {
                self.admit()?;
            }
            for number in ready.into_iter().filter(|number| *number > 0) {
                self.attend(number, watch);
            }
            if is_moving {
                let limit = self.simulation.now() + STRIDE;
                self.simulation.run_until(limit, &mut || true);
                self.tell_interrupts();
            }
        }
        Ok(())
    }

    /// Who wants something, within that time: 0 who wants in, others by their number.
    fn ready(&self, patience: &Timespec) -> Result<Vec<u64>, Errno> {
        let listener = PollFd::new(&self.listener, PollFlags::IN);
        let channels = self.clients.iter();
        let channels = channels.map(|client| PollFd::new(&client.channel, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = [listener].into_iter().chain(channels).collect();
        match poll(&mut all, Some(patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let numbers = [0]
            .into_iter()
            .chain(self.clients.iter().map(|client| client.number));
        let ready = all.iter().zip(numbers);
        let ready = ready.filter(|(file, _)| !file.revents().is_empty());
        Ok(ready.map(|(_, number)| number).collect())
    }

    fn admit(&mut self) -> Result<(), ServerError> {
        self.known += 1;
        self.clients.push(Client {
            number: self.known,
            channel: self.listener.accept()?,
            is_welcome: false,
        });
        Ok(())
    }

    /// Answers the call of a process, or lets go of it.
    fn attend(&mut self, number: u64, watch: &mut dyn FnMut() -> bool) {
        let Some(place) = self
            .clients
            .iter()
            .position(|client| client.number == number)
        else {
            return;
        };
        let said = self.clients[place].receive();
        let Ok((call, file)) = said else {
            return self.dismiss(place, watch);
        };
        if !self.settings.is_wall {
            self.pass(Span::from_fs(call.worked), watch);
        }
        let outcome = self.answer(place, call, file, watch);
        self.tell_interrupts();
        let answer = Answer {
            now: self.now(),
            active: !self.simulation.is_at_rest(),
            outcome,
        };
        if self.clients[place].channel.send(&answer, None).is_err() {
            self.dismiss(place, watch);
        }
    }

    fn now(&self) -> u64 {
        self.elapsed().as_fs()
    }

    /// A process is gone, and all that it had.
    fn dismiss(&mut self, place: usize, watch: &mut dyn FnMut() -> bool) {
        let client = self.clients.remove(place);
        for handle in self.opened.handles_of(client.number) {
            // The port of an accelerator whose process has died is reset, as its driver does.
            let _ = self.reset(client.number, handle, watch);
            self.close(handle);
        }
    }

    fn answer(
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
                let objects = cards::objects(&self.simulation, &self.cards, &self.opened);
                Ok(Reply::Objects(objects))
            }
            Request::Open { object, shared } => {
                let what = cards::named(object, &self.cards)?;
                let handle = self.opened.open(client, what, shared)?;
                Ok(Reply::Opened { handle })
            }
            Request::Close { handle } => {
                self.opened.of(client, handle)?;
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
                    .hand
                    .store(&mut self.simulation, address, &bytes, watch);
                stored.map(|()| Reply::Done).map_err(|_| Failure::Exception)
            }
            Request::Pin { handle, size, page } => {
                self.opened.of(client, handle)?;
                let file = file.ok_or(Failure::Invalid)?;
                let simulation = &mut self.simulation;
                let pinned =
                    self.buffers
                        .pin(simulation, &self.host, handle, &file, (size, page))?;
                let pages = size.div_ceil(page);
                let costs = self.hand.costs();
                let took = costs.system_call + costs.page_pin * pages;
                self.pass(took, watch);
                let (buffer, address) = pinned;
                Ok(Reply::Pinned { buffer, address })
            }
            Request::Unpin { handle, buffer } => {
                self.opened.of(client, handle)?;
                let named = (handle, buffer);
                self.buffers
                    .unpin(&mut self.simulation, &self.host, named)?;
                self.pass(self.hand.costs().system_call, watch);
                Ok(Reply::Done)
            }
            Request::Listen { handle, vector } => {
                let opened = self.opened.of(client, handle)?;
                let file = file.ok_or(Failure::Invalid)?;
                if !opened.is_accelerator {
                    return Err(Failure::NotSupported);
                }
                if vector >= cards::INTERRUPTS {
                    return Err(Failure::Invalid);
                }
                opened.listening.insert(vector, file);
                Ok(Reply::Done)
            }
            Request::Ignore { handle, vector } => {
                let opened = self.opened.of(client, handle)?;
                let heard = opened.listening.remove(&vector);
                heard.map(|_| Reply::Done).ok_or(Failure::NotFound)
            }
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
        let costs = self.hand.costs();
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

    /// Time passes while a process works.
    fn pass(&mut self, span: Span, watch: &mut dyn FnMut() -> bool) {
        // Only who does not go on any more does not wait for its end.
        let _ = self.hand.work(&mut self.simulation, span, watch);
    }

    /// Where the `len` bytes of registers at `offset` are: of an accelerator, aligned.
    fn register(
        &mut self,
        client: u64,
        handle: u64,
        (offset, len): (u64, u64),
    ) -> Result<u64, Failure> {
        let opened = self.opened.of(client, handle)?;
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
        let loaded = self.hand.load(&mut self.simulation, address, len, watch);
        loaded.map(Reply::Bytes).map_err(|_| Failure::Exception)
    }

    /// Puts the port of an accelerator into reset and out of it again, as its driver does.
    fn reset(
        &mut self,
        client: u64,
        handle: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let opened = self.opened.of(client, handle)?;
        if !opened.is_accelerator {
            return Err(Failure::NotSupported);
        }
        let control = self.cards[opened.card].place.port_control;
        let (hand, simulation) = (&self.hand, &mut self.simulation);
        let mut turn = || {
            hand.work(simulation, hand.costs().system_call, watch)?;
            hand.store(simulation, control, &IN_RESET.to_le_bytes(), watch)?;
            for _ in 0..RESET_LOOKS {
                let bytes = hand.load(simulation, control, 8, watch)?;
                let word = bytes
                    .first_chunk()
                    .map_or(0, |bytes| u64::from_le_bytes(*bytes));
                if word & RESET_DONE != 0 {
                    break;
                }
            }
            hand.store(simulation, control, &0_u64.to_le_bytes(), watch)
        };
        turn().map(|()| Reply::Done).map_err(|_| Failure::Exception)
    }

    fn close(&mut self, handle: u64) {
        self.buffers
            .unpin_all(&mut self.simulation, &self.host, handle);
        self.opened.close(handle);
    }

    fn configure(
        &mut self,
        (client, handle): (u64, u64),
        (slot, force): (u32, bool),
        (file, size): (&OwnedFd, u64),
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let opened = self.opened.of(client, handle)?;
        let (number, is_accelerator) = (opened.card, opened.is_accelerator);
        if is_accelerator {
            return Err(Failure::NotSupported);
        }
        if slot > 0 || size == 0 || size > LARGEST_BITSTREAM {
            return Err(Failure::Invalid);
        }
        if self.opened.state(number, true) != State::Free && !force {
            return Err(Failure::Busy);
        }
        let held = session::SharedMemory::map(file, size).map_err(|_| Failure::Invalid)?;
        let mut bytes = vec![0; size as usize];
        held.read(0, &mut bytes);
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
        let limit = match limit {
            u64::MAX => Time::NEVER,
            limit => self.began + Span::from_fs(limit),
        };
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
                self.opened.of(client, buffer.handle)?;
                sim::Until::Written(buffer.address + offset..buffer.address + end)
            }
        };
        let until = Instant::now() + SLICE;
        let mut watch = || Instant::now() < until && watch();
        loop {
            let woken = self
                .hand
                .wait(&mut self.simulation, &what, limit, &mut watch);
            let why = match woken {
                Woken::Happened if what == sim::Until::Interrupt => {
                    if !self.tell_interrupts().contains(&client) {
                        continue;
                    }
                    self.pass(self.hand.costs().interrupt_latency, &mut watch);
                    Why::Happened
                }
                Woken::Happened => Why::Happened,
                Woken::Limit => Why::Limit,
                Woken::Quiet => Why::Quiet,
                Woken::Broken => Why::Interrupted,
            };
            return Ok(Reply::Woken(why));
        }
    }

    /// Tells processes of the interrupts that they listen to: which of them.
    fn tell_interrupts(&mut self) -> Vec<u64> {
        // The host is there.
        let came = self
            .simulation
            .take_interrupts(&self.host)
            .unwrap_or_default();
        let mut told = Vec::new();
        for (message, count) in came {
            for opened in self.opened.iter() {
                let card = &self.cards[opened.card].place.name;
                for (vector, file) in &opened.listening {
                    let own = self.simulation.interrupt_message(card, *vector as u8);
                    if own.ok().flatten() == Some(message) {
                        // Whoever has closed its end does not want to know.
                        let _ = rustix::io::write(file, &u64::from(count).to_ne_bytes());
                        told.push(opened.client);
                    }
                }
            }
        }
        told
    }
}

/// Bits of the register that controls a port: it is to be in reset, and it is.
const IN_RESET: u64 = 1;
const RESET_DONE: u64 = 1 << 4;

/// A port that does not say within so many looks that it is in reset never will.
const RESET_LOOKS: u32 = 1000;

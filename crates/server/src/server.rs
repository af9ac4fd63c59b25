//! The server of a session: it serves the calls of all processes one after the other.

use std::collections::BTreeSet;
use std::io::{Write, stderr};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

use kernel::{Span, Time};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use session::{ChannelError, LINGER, Listener, Request, Response, Until, VERSION, has_one_core};
use sim::scenario::advice;
use sim::{AccessError, HostThread, Simulation};
use thiserror::Error;

use crate::buffers::Buffers;
use crate::cards::{Card, Loader};
use crate::client::{BRIEF, Client, Patience};
use crate::handles::OpenHandles;
use crate::pages::ReadyPages;

/// The reason why a session cannot start or continue.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The host has no processor.
    #[error("{0}")]
    Access(#[from] AccessError),
    /// The scenario has no card.
    #[error("the scenario has no FPGA card; write a device with model = \"fpga-card\"")]
    NoCards,
    /// No host of this name has a card, but other hosts have. The second text is the most similar name, or a list of all names.
    #[error("there is no host {0:?} with an FPGA card; {1}")]
    NoCardsThere(String, String),
    /// The socket cannot be created.
    #[error("{0}")]
    Channel(#[from] ChannelError),
    /// The operating system returned another error.
    #[error("the session's socket: {0}")]
    System(#[from] Errno),
}

/// The settings of a session.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether processes read the wall clock, while the simulation runs as fast as it can; otherwise they read simulated time.
    pub is_wall: bool,
    /// The real time at the beginning of the session, in nanoseconds since 1970.
    pub realtime: u64,
    /// The monotonic time at the beginning of the session, in nanoseconds.
    pub monotonic: u64,
}

/// A function that is called regularly, and returns whether the simulation may continue.
pub(crate) type Watch<'w> = &'w mut dyn FnMut() -> bool;

/// A host on which processes run.
#[derive(Debug)]
pub struct Server {
    pub(crate) simulation: Simulation,
    pub(crate) thread: HostThread,
    pub(crate) host: String,
    pub(crate) settings: Settings,
    /// The simulated time at which the session began.
    pub(crate) began: Time,
    /// The socket. `None` after the end of the session.
    pub(crate) listener: Option<Listener>,
    /// A spare descriptor. It is closed if no other descriptors are left, so that the server can accept and close the connection of a process.
    spare: Option<OwnedFd>,
    pub(crate) clients: Vec<Client>,
    /// Number of processes that have connected so far.
    known: u64,
    pub(crate) cards: Vec<Card>,
    pub(crate) handles: OpenHandles,
    pub(crate) buffers: Buffers,
    pub(crate) loader: Box<dyn Loader>,
    pub(crate) times: Times,
    _pages: ReadyPages,
}

/// Simulated time of a session, by its use. The remaining time is spent by the programs themselves: sleep, reads of the clock, polling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Accesses to registers, and waits for devices: until they write to memory or signal an interrupt.
    pub devices: Span,
    /// Copies to and from buffers.
    pub copies: Span,
    /// System calls, including those that pin and release buffers.
    pub system_calls: Span,
    /// Configuration of slots.
    pub configuration: Span,
}

/// Real time between two checks of whether to stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Largest number of calls of one process before the server checks for calls of other processes.
const MOST_IN_A_ROW: u32 = 64;

/// Longest simulated time that a process can have worked between two calls. A longer time would delay the other processes.
const LONGEST_WORK: Span = Span::from_us(1_000_000);

/// Largest number of processes of a session.
const MOST_CLIENTS: usize = 1024;

/// With the wall clock, the simulated time that passes between two checks for calls.
const STRIDE: Span = Span::from_us(20);

/// The error for a scenario in which the host `wanted` has no card, or no host has a card.
fn no_cards(simulation: &Simulation, wanted: Option<&str>) -> ServerError {
    let all = Card::all(simulation, None);
    let hosts: BTreeSet<&str> = all.iter().map(|card| card.place.host.as_str()).collect();
    match wanted {
        Some(wanted) if !hosts.is_empty() => {
            let hosts: Vec<&str> = hosts.into_iter().collect();
            ServerError::NoCardsThere(wanted.to_owned(), advice(wanted, &hosts))
        }
        _ => ServerError::NoCards,
    }
}

impl Server {
    /// Creates a session on `host` of `simulation`, or on the first host with a card. The socket of the session is at `path`.
    pub fn new(
        mut simulation: Simulation,
        host: Option<&str>,
        path: &Path,
        settings: Settings,
        loader: Box<dyn Loader>,
    ) -> Result<Self, ServerError> {
        let cards = Card::all(&simulation, host);
        let first = cards.first().ok_or_else(|| no_cards(&simulation, host))?;
        let host = first.place.host.clone();
        let thread = HostThread::new(&mut simulation, &host)?;
        Ok(Server {
            cards,
            began: simulation.now(),
            listener: Some(Listener::bind(path)?),
            spare: Some(spare()?),
            simulation,
            thread,
            host,
            settings,
            clients: Vec::new(),
            known: 0,
            handles: OpenHandles::default(),
            buffers: Buffers::default(),
            loader,
            times: Times::default(),
            _pages: ReadyPages::new(),
        })
    }

    /// Simulated time since the session began.
    pub fn elapsed(&self) -> Span {
        self.simulation.now().since(self.began)
    }

    /// Simulated time by its use.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Ends the session: the connection and the handles of each process are closed, as if the process had ended. Returns the process IDs.
    pub fn end(&mut self) -> Vec<i32> {
        self.listener = None;
        let clients = self.clients.drain(..);
        let processes = clients
            .filter_map(|client| client.channel.process())
            .collect();
        self.close_all();
        processes
    }

    /// The simulation, at the end of the session.
    pub fn into_simulation(self) -> Simulation {
        self.simulation
    }

    /// Serves calls while `watch`, which is called regularly, returns true, and until a model or a circuit stops the simulation.
    pub fn serve(&mut self, watch: Watch<'_>) -> Result<(), ServerError> {
        while watch() && !self.simulation.has_stopped() {
            let is_moving = self.settings.is_wall && !self.simulation.is_at_rest();
            let patience = if is_moving { &AT_ONCE } else { &LOOK };
            let ready = ready(self.listener.as_ref(), &self.clients, patience)?;
            if ready.first() == Some(&0) {
                self.admit();
            }
            for number in ready.into_iter().filter(|number| *number > 0) {
                if self.serve_client(number, Patience::None, watch) {
                    self.linger(number, watch);
                }
            }
            if is_moving {
                let limit = self.simulation.now() + STRIDE;
                self.simulation.run_until(limit, &mut || true);
                self.signal_interrupts();
            }
        }
        Ok(())
    }

    /// Accepts a connection. If there are too many processes, or no descriptors are left, closes the connection at once.
    fn admit(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        let Ok(channel) = listener.accept() else {
            // Without the spare descriptor, the server has one descriptor to accept the connection, and then closes it.
            self.spare = None;
            drop(listener.accept());
            self.spare = spare().ok();
            return;
        };
        if self.clients.len() == MOST_CLIENTS || channel.set_patience(BRIEF).is_err() {
            return;
        }
        self.known += 1;
        self.clients.push(Client::new(self.known, channel));
    }

    /// Serves the calls of a process that follow soon. First waits for them without a sleep, if that [saves time](session::Pace), because a
    /// wake-up takes longer than a call. Then, if there is no other process, waits for the next call only, without a check for other calls.
    fn linger(&mut self, number: u64, watch: Watch<'_>) {
        let mut served = 0;
        while watch() && !self.simulation.has_stopped() {
            let begins = |client: &mut Client| !client.looks() && client.pace.begins();
            if self.client(number).is_some_and(begins) {
                self.await_awake(number, watch);
            }
            if !self.is_alone() || !self.serve_client(number, Patience::Brief, watch) {
                break;
            }
            served += 1;
            if served % MOST_IN_A_ROW == 0 && is_called(self.listener.as_ref(), &self.clients) {
                break;
            }
        }
        if self.client(number).is_some_and(|client| client.looks()) {
            self.serve_client(number, Patience::Last, watch);
        }
    }

    /// Whether there is only one process, and no work between its calls, so that the server can wait for its next call only.
    fn is_alone(&self) -> bool {
        self.clients.len() == 1 && !self.settings.is_wall
    }

    /// Serves the calls of a process that follow each other within [`LINGER`], without a sleep. A server with only one core does not wait,
    /// because the process may need the core.
    fn await_awake(&mut self, number: u64, watch: Watch<'_>) {
        let mut last = Instant::now();
        let mut served = 0;
        let may_wait = !has_one_core();
        while may_wait && served < MOST_IN_A_ROW && last.elapsed() < LINGER {
            if self.serve_client(number, Patience::None, watch) {
                last = Instant::now();
                served += 1;
            } else {
                std::hint::spin_loop();
            }
        }
        if let Some(client) = self.client(number) {
            if served > 0 {
                client.pace.record_in_time();
            } else {
                client.pace.record_late();
            }
        }
    }

    fn client(&mut self, number: u64) -> Option<&mut Client> {
        let mut clients = self.clients.iter_mut();
        clients.find(|client| client.number == number)
    }

    /// Serves the call of a process, or removes the process; returns whether there was a call.
    fn serve_client(&mut self, number: u64, patience: Patience, watch: Watch<'_>) -> bool {
        let Some(place) = self
            .clients
            .iter()
            .position(|client| client.number == number)
        else {
            return false;
        };
        let (call, file) = match self.clients[place].receive(patience) {
            Ok(received) => received,
            Err(ChannelError::System(Errno::AGAIN)) => return false,
            Err(_) => {
                self.remove_client(place);
                return false;
            }
        };
        if !self.settings.is_wall {
            let left = Time::NEVER.since(self.simulation.now()).as_fs() / 2;
            // The work is limited, so that simulated time does not reach its largest value.
            let worked = call.worked.total().min(LONGEST_WORK.as_fs()).min(left);
            self.pass(Span::from_fs(worked), watch);
            let copies = call.worked.copies.min(worked);
            let system_calls = call.worked.system_calls.min(worked - copies);
            self.times.copies += Span::from_fs(copies);
            self.times.system_calls += Span::from_fs(system_calls);
        }
        let spent_on = purpose(&call.request);
        let is_hello = matches!(call.request, Request::Hello { version: VERSION });
        let before = self.simulation.now();
        let outcome = self.answer(place, call, file, watch);
        if let Some(spent_on) = spent_on {
            *spent_on(&mut self.times) += self.simulation.now().since(before);
        }
        self.signal_interrupts();
        self.say_missing();
        if !watch() {
            // The session ends. The outcome is not sent, because the operation in the fabric may be incomplete.
            return false;
        }
        let answer = Response {
            now: self.elapsed().as_fs(),
            active: !self.simulation.is_at_rest(),
            outcome,
        };
        let may_look = patience != Patience::Last && self.is_alone();
        let client = &mut self.clients[place];
        let file = is_hello.then(|| client.share_page()).flatten();
        if client.answer(&answer, file.as_ref(), may_look).is_err() {
            self.remove_client(place);
        }
        true
    }

    /// Reports once each feature that a program has used and that the model of its accelerator does not have. Some programs fail at once without
    /// the feature, and others may wait for ever.
    fn say_missing(&mut self) {
        for card in &mut self.cards {
            let Some(model) = self.simulation.card_in(&card.place) else {
                continue;
            };
            for what in &model.missing()[card.said..] {
                let name = &card.place.name;
                let _ = writeln!(
                    stderr(),
                    "peerlane: the accelerator in {name} does not model {what}; a program that relies on it gets an error, or may wait for ever"
                );
            }
            card.said = model.missing().len();
        }
    }

    /// Removes a process, with its handles.
    fn remove_client(&mut self, place: usize) {
        let client = self.clients.remove(place);
        for handle in self.handles.handles_of(client.number) {
            self.close(handle);
        }
    }

    /// Signals interrupts to the processes that have subscribed; returns the numbers of these processes.
    pub(crate) fn signal_interrupts(&mut self) -> Vec<u64> {
        let came = self.thread.take_interrupts(&mut self.simulation);
        let mut signalled = Vec::new();
        for (message, count) in came {
            for opened in self.handles.iter() {
                let card = &self.cards[opened.object.card].place.name;
                for (vector, file) in &opened.listening {
                    let own = self.simulation.interrupt_message(card, (*vector).into());
                    if own.ok().flatten() == Some(message) {
                        signal(file, count);
                        signalled.push(opened.client);
                    }
                }
            }
        }
        signalled
    }
}

/// Waits for calls, for at most `patience`. Returns the numbers of the processes with a call, and 0 for a new connection.
fn ready(
    listener: Option<&Listener>,
    clients: &[Client],
    patience: &Timespec,
) -> Result<Vec<u64>, Errno> {
    let connections = listener.map(|listener| PollFd::new(listener, PollFlags::IN));
    let channels = clients
        .iter()
        .map(|client| PollFd::new(&client.channel, PollFlags::IN));
    let mut all: Vec<PollFd<'_>> = connections.into_iter().chain(channels).collect();
    match poll(&mut all, Some(patience)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error),
    }
    let connections = listener.map(|_| 0);
    let numbers = connections
        .into_iter()
        .chain(clients.iter().map(|client| client.number));
    let ready = all.iter().zip(numbers);
    let ready = ready.filter(|(file, _)| !file.revents().is_empty());
    Ok(ready.map(|(_, number)| number).collect())
}

/// Whether a process makes a call, connects or closes its connection.
pub(crate) fn is_called(listener: Option<&Listener>, clients: &[Client]) -> bool {
    ready(listener, clients, &AT_ONCE).map_or(true, |ready| !ready.is_empty())
}

/// The field of [`Times`] to which the time of a request is added. `None` if the process itself spends the time.
fn purpose(request: &Request) -> Option<fn(&mut Times) -> &mut Span> {
    match request {
        Request::Pin { .. } | Request::Unpin { .. } => Some(|times| &mut times.system_calls),
        Request::Configure { .. } => Some(|times| &mut times.configuration),
        Request::Wait {
            until: Until::Limit,
            ..
        } => None,
        _ => Some(|times| &mut times.devices),
    }
}

/// Adds to the counter of an `eventfd`. A full counter is not changed, because it already signals the event to the process.
fn signal(file: &OwnedFd, count: u32) {
    let mut files = [PollFd::new(file, PollFlags::OUT)];
    let has_space = poll(&mut files, Some(&AT_ONCE)) == Ok(1);
    if has_space && files[0].revents() == PollFlags::OUT {
        // The counter has space, so the write does not fail.
        let _ = rustix::io::write(file, &u64::from(count).to_ne_bytes());
    }
}

fn spare() -> Result<OwnedFd, Errno> {
    eventfd(0, EventfdFlags::CLOEXEC)
}

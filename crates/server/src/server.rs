//! The calls of all processes, one after the other.

use std::path::Path;

use kernel::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use session::{Answer, ChannelError, Listener};
use sim::{AccessError, Hand, Simulation};
use thiserror::Error;

use crate::buffers::Buffers;
use crate::cards::{self, Card, Loader};
use crate::client::Client;
use crate::opened::Table;

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
    pub(crate) simulation: Simulation,
    pub(crate) hand: Hand,
    pub(crate) host: String,
    pub(crate) settings: Settings,
    /// When the session began.
    pub(crate) began: Time,
    listener: Listener,
    pub(crate) clients: Vec<Client>,
    /// How many there have been.
    known: u64,
    pub(crate) cards: Vec<Card>,
    pub(crate) opened: Table,
    pub(crate) buffers: Buffers,
    pub(crate) loader: Box<dyn Loader>,
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

/// Simulated time by which the fabric goes on by itself between two looks at the processes, with the clock of the wall.
const STRIDE: Span = Span::from_us(20);

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
            let left = Time::NEVER.since(self.simulation.now()).as_fs() / 2;
            // Nobody works until time ends, whatever he says.
            self.pass(Span::from_fs(call.worked.min(left)), watch);
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

    /// Tells processes of the interrupts that they listen to: which of them.
    pub(crate) fn tell_interrupts(&mut self) -> Vec<u64> {
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
                    let own = self.simulation.interrupt_message(card, *vector);
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

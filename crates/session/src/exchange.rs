//! A page of memory that a process shares with the server, for calls that follow each other closely.
//!
//! A packet over the socket takes two system calls, one on each side. A message in the page is written to memory, and a system call is only made
//! to wake a side that sleeps. A side that expects a message soon does not sleep: it polls the page. If both sides are on one core, it yields
//! the core between two polls, which takes less time than a wake-up.
//!
//! The page has one half for each direction. The reader of a half records there whether it reads from the half. If it does not, or if a message
//! is long or has a file, the message is sent over the socket. The sender then leaves a note in the half, for a reader that waits there.
//!
//! The other side may write anything to the page at any time. Therefore each message is copied and read only once, and a reader never sleeps
//! longer than its own time limit.

use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::io::Errno;
use rustix::thread::{futex, sched_getcpu, sched_yield};
use rustix::time::Timespec;
use serde::{Serialize, de::DeserializeOwned};

use crate::channel::ChannelError;
use crate::memory::SharedMemory;
use crate::pace::{LINGER, Pace, real_time};

/// One side of the page, which reads messages of type `In` and writes messages of type `Out`.
#[derive(Debug)]
pub struct Exchange<In, Out> {
    memory: SharedMemory,
    /// The offsets of the half that this side reads, and of the half that it writes.
    inward: usize,
    outward: usize,
    /// The core on which the other side has written its last message.
    core: AtomicU32,
    /// Whether the other side was asleep when this side wrote its last message.
    was_asleep: AtomicBool,
    messages: PhantomData<fn(Out) -> In>,
}

/// A message, or the note that the other side has sent it over the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// A message.
    Message(T),
    /// The message is in the socket.
    InSocket,
}

/// Size of the page in bytes.
pub const PAGE: u64 = 4096;

/// Offsets of the half for calls, and of the half for answers.
const HALVES: [usize; 2] = [0, 2048];
/// Offsets in a half: of a message's head, which is its length and the core on which it was written, and of the message.
const HEAD: usize = 4;
const BYTES: usize = HEAD + size_of::<[u32; 2]>();
/// Longest message in the page in bytes. It is enough for an access of 64 bytes, and for all answers except lists.
const LONGEST: usize = 244;

/// State of a half: its reader does not read from the half.
const AWAY: u32 = 0;
/// State of a half: its reader polls the half.
const LOOKS: u32 = 1;
/// State of a half: its reader sleeps and must be woken. In the next state, its writer has written a message.
const SLEEPS: u32 = 2;
const WRITTEN: u32 = 3;
/// State of a half: its writer has sent the message over the socket.
const IN_SOCKET: u32 = 4;

/// Number of polls between two reads of the clock, for a reader that does not sleep.
const LOOKS_PER_TIME: u32 = 16;

impl<In, Out> Exchange<In, Out> {
    /// Creates a page. Returns the server's side, and the file for the process.
    pub fn create() -> Result<(Self, OwnedFd), Errno> {
        let file = SharedMemory::create(PAGE)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = SharedMemory::map(&file, PAGE)?;
        let [calls, answers] = HALVES;
        Ok((Self::new(memory, calls, answers), file))
    }

    /// The process's side of a page that the server has created.
    pub fn join(file: &OwnedFd) -> Result<Self, Errno> {
        let [calls, answers] = HALVES;
        Ok(Self::new(SharedMemory::map(file, PAGE)?, answers, calls))
    }

    fn new(memory: SharedMemory, inward: usize, outward: usize) -> Self {
        Exchange {
            memory,
            inward,
            outward,
            core: AtomicU32::new(u32::MAX),
            was_asleep: AtomicBool::new(true),
            messages: PhantomData,
        }
    }

    /// Begins to wait for a message, so that the other side may write it to the page.
    pub fn look(&self) {
        self.inward().store(LOOKS, Ordering::SeqCst);
    }

    /// Stops waiting for a message. The caller is sure that no message has arrived.
    pub fn look_away(&self) {
        self.inward().store(AWAY, Ordering::SeqCst);
    }

    /// Whether the other side waits for a message in the page.
    pub fn is_wanted(&self) -> bool {
        let state = self.memory.word(self.outward).load(Ordering::SeqCst);
        matches!(state, LOOKS | SLEEPS)
    }

    /// Writes a note that the message is in the socket, for a reader that waits in the page.
    pub fn point_to_socket(&self) {
        self.pass(IN_SOCKET);
    }

    fn inward(&self) -> &AtomicU32 {
        self.memory.word(self.inward)
    }

    /// Sets the state of the outward half if its reader waits there, and wakes a reader that sleeps. Returns whether the reader waits. A reader
    /// may begin to sleep after it has polled, but does not poll again before it has slept, so polling is checked first.
    fn pass(&self, state: u32) -> bool {
        let word = self.memory.word(self.outward);
        let passes = |from| {
            let passed = word.compare_exchange(from, state, Ordering::SeqCst, Ordering::SeqCst);
            passed.is_ok()
        };
        if passes(LOOKS) {
            self.was_asleep.store(false, Ordering::Relaxed);
            return true;
        }
        let was_asleep = passes(SLEEPS);
        self.was_asleep.store(was_asleep, Ordering::Relaxed);
        if was_asleep {
            // A futex in a mapped page is valid, so this does not fail.
            let _ = futex::wake(word, futex::Flags::empty(), 1);
        }
        was_asleep
    }
}

impl<In: DeserializeOwned, Out: Serialize> Exchange<In, Out> {
    /// Writes a message to the page. Returns false if the other side does not wait there, or if the message is too long.
    pub fn write(&self, message: &Out) -> bool {
        if !self.is_wanted() {
            return false;
        }
        let mut space = [0; LONGEST];
        let Ok(bytes) = postcard::to_slice(message, &mut space) else {
            return false;
        };
        let head = bytes.len() as u64 | (sched_getcpu() as u64) << 32;
        self.memory.write(self.outward + HEAD, &head.to_le_bytes());
        self.memory.write(self.outward + BYTES, bytes);
        self.pass(WRITTEN)
    }

    /// The message, if there is one.
    pub fn read(&self) -> Result<Option<Found<In>>, ChannelError> {
        match self.inward().load(Ordering::SeqCst) {
            LOOKS | SLEEPS => Ok(None),
            found => self.take(found).map(Some),
        }
    }

    /// Waits without a sleep for the server's next call, for [`LINGER`] or a little longer, if this [saves time](Pace). Returns `None` if no
    /// call arrives.
    pub fn read_next(&self, pace: &mut Pace) -> Result<Option<Found<In>>, ChannelError> {
        if !self.shares_core() {
            return if pace.begins() {
                self.read_awake(pace)
            } else {
                Ok(None)
            };
        }
        // The process decides for both sides: if it slept until the last answer, the server sleeps until the next call. The server cannot decide
        // because the process may work for long before its next call.
        if self.was_asleep.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (found, _) = self.read_in_turns()?;
        Ok(found)
    }

    /// Waits without a sleep for the answer to a process's call, for [`LINGER`] or a little longer. Returns `None` if no answer arrives.
    pub fn read_soon(&self, pace: &mut Pace) -> Result<Option<Found<In>>, ChannelError> {
        if !self.shares_core() {
            return self.read_awake(pace);
        }
        let (found, waited) = self.read_in_turns()?;
        if u128::from(waited) > LINGER.as_nanos() {
            pace.record_late();
        } else {
            pace.record_in_time();
        }
        Ok(found)
    }

    fn shares_core(&self) -> bool {
        self.core.load(Ordering::Relaxed) == sched_getcpu() as u32
    }

    /// Polls for the message without a pause, for [`LINGER`].
    fn read_awake(&self, pace: &mut Pace) -> Result<Option<Found<In>>, ChannelError> {
        let began = real_time();
        loop {
            let found = self.read_at_once()?;
            if found.is_some() {
                pace.record_in_time();
                return Ok(found);
            }
            if u128::from(real_time() - began) > LINGER.as_nanos() {
                pace.record_late();
                return Ok(None);
            }
        }
    }

    /// Polls for the message for [`LINGER`], and yields the core to other threads before each poll. Also returns the real time of the wait in
    /// nanoseconds.
    fn read_in_turns(&self) -> Result<(Option<Found<In>>, u64), ChannelError> {
        let began = real_time();
        loop {
            sched_yield();
            let found = self.read()?;
            let waited = real_time() - began;
            if found.is_some() || u128::from(waited) > LINGER.as_nanos() {
                return Ok((found, waited));
            }
        }
    }

    /// Polls for the message a few times.
    fn read_at_once(&self) -> Result<Option<Found<In>>, ChannelError> {
        for _ in 0..LOOKS_PER_TIME {
            let found = self.read()?;
            if found.is_some() {
                return Ok(found);
            }
            std::hint::spin_loop();
        }
        Ok(None)
    }

    /// Sleeps until the message arrives, until `patience` has passed, or until this thread is woken for another reason. Then returns the message
    /// if there is one.
    pub fn read_asleep(&self, patience: Duration) -> Result<Option<Found<In>>, ChannelError> {
        let word = self.inward();
        let asleep = word.compare_exchange(LOOKS, SLEEPS, Ordering::SeqCst, Ordering::SeqCst);
        if matches!(asleep, Ok(_) | Err(SLEEPS)) {
            let patience = Timespec::try_from(patience).ok();
            match futex::wait(word, futex::Flags::empty(), SLEEPS, patience.as_ref()) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.read()
    }

    /// Stops waiting for a message. Returns a message that has arrived before.
    pub fn leave(&self) -> Result<Option<Found<In>>, ChannelError> {
        match self.inward().swap(AWAY, Ordering::SeqCst) {
            AWAY | LOOKS | SLEEPS => Ok(None),
            found => self.take(found).map(Some),
        }
    }

    /// Takes the message or the note from the inward half, whose state is `found`.
    fn take(&self, found: u32) -> Result<Found<In>, ChannelError> {
        let taken = match found {
            WRITTEN => Found::Message(self.message()?),
            IN_SOCKET => Found::InSocket,
            _ => return Err(ChannelError::Garbled),
        };
        self.inward().store(AWAY, Ordering::SeqCst);
        Ok(taken)
    }

    fn message(&self) -> Result<In, ChannelError> {
        let mut head = [0; size_of::<u64>()];
        self.memory.read(self.inward + HEAD, &mut head);
        let head = u64::from_le_bytes(head);
        self.core.store((head >> 32) as u32, Ordering::Relaxed);
        let mut space = [0; LONGEST];
        let len = head as u32 as usize;
        let bytes = space.get_mut(..len).ok_or(ChannelError::Garbled)?;
        self.memory.read(self.inward + BYTES, bytes);
        postcard::from_bytes(bytes).map_err(|_| ChannelError::Garbled)
    }
}

//! The state of the library, protected by one lock, and its connection to a session.

use std::ffi::{CStr, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use session::{Clock, Reply, Request, SOCKET, Until, WaitEnd};

use crate::abi::Code;
use crate::memory::faults::Faults;
use crate::memory::guard::Buffers;
use crate::registers::mappings::Mappings;
use crate::registry::Registry;
use crate::threads::lock::{Guard, Lock, deferrable, this_thread};
use crate::threads::ticks;
use crate::time::link::Link;
use crate::time::waiters::Waiters;

/// Number of consecutive clock reads after which the cost of further reads doubles, and the largest number of doublings: up to a factor of 512.
const LOOKS: u32 = 4096;
const MOST_DOUBLINGS: u32 = 9;

/// The state of the library.
pub struct State {
    link: Option<Link>,
    /// The existing tokens, handles, properties, event handles and system objects.
    pub objects: Registry,
    /// The memory shared with devices.
    pub buffers: Buffers,
    /// The mapped registers.
    pub mappings: Mappings,
    /// The last rounds of faults of each thread, by which polling is detected.
    pub faults: Faults,
    /// The waiting threads.
    pub waiters: Waiters,
    /// The number of the last buffer.
    pub last_wsid: u64,
    /// Number of consecutive clock reads while no operation is outstanding.
    idle_looks: u32,
}

/// The clock that the functions of this library show to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The library has not yet connected to a session, so the clock is not known.
    Unknown,
    /// There is no session, or the session belongs to the parent process.
    None,
    /// Real time.
    Wall,
    /// Simulated time.
    Virtual,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Unknown as u8);
/// Whether the library is initialised. Calls before the initialisation are made by libraries that were loaded before this library.
static READY: AtomicBool = AtomicBool::new(false);
/// The simulated time that was reported last, for a signal handler that cannot take the lock.
static REPORTED: AtomicU64 = AtomicU64::new(0);

/// The time of day and the monotonic time at the beginning of the session, in nanoseconds.
static BEGAN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

static STATE: Lock<State> = Lock::new(State {
    link: None,
    objects: Registry::new(),
    buffers: Buffers::new(),
    mappings: Mappings::new(),
    faults: Faults::new(),
    waiters: Waiters::new(),
    last_wsid: 0,
    idle_looks: 0,
});

/// Takes the lock. Returns `None` if this thread already holds it.
pub fn lock() -> Option<Guard<'static, State>> {
    STATE.lock()
}

/// Takes the lock. Returns `None` if another thread holds it for a longer time.
///
/// The clock functions use this function: an allocator may read the clock while it holds its own lock, and the holder of this lock may wait for
/// the allocator's lock.
pub fn lock_soon() -> Option<Guard<'static, State>> {
    STATE.lock_soon(ticks::is_watch_mark)
}

/// Runs `body` with the state of the library. Returns `None` in a signal handler that has interrupted the holder of the lock.
pub fn with_state<T>(body: impl FnOnce(&mut State) -> T) -> Option<T> {
    lock().map(|mut state| body(&mut state))
}

/// Whether another thread waits for the lock, which this thread holds.
pub fn is_wanted() -> bool {
    STATE.is_wanted()
}

/// The clock of the process, if it is known.
pub fn known_mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        0 => Mode::Unknown,
        2 => Mode::Wall,
        3 => Mode::Virtual,
        _ => Mode::None,
    }
}

/// Whether the library is initialised. Later calls are made by the program itself.
pub fn ready() -> bool {
    READY.load(Ordering::Relaxed)
}

/// The time of day and the monotonic time at the beginning of a session with virtual time, in nanoseconds. `None` for other sessions.
pub fn began() -> Option<(u64, u64)> {
    let [realtime, monotonic] = &BEGAN;
    (known_mode() == Mode::Virtual).then(|| {
        (
            realtime.load(Ordering::Relaxed),
            monotonic.load(Ordering::Relaxed),
        )
    })
}

/// The simulated time that was reported last, in femtoseconds.
pub fn reported_time() -> u64 {
    REPORTED.load(Ordering::Relaxed)
}

impl State {
    /// Stores the connection to the session, with the time of day and the monotonic time at its beginning. `None` means that there is no
    /// session.
    pub fn join(&mut self, session: Option<(Link, [u64; 2])>) {
        let mode = match session {
            None => Mode::None,
            Some((link, began)) => {
                for (time, began) in BEGAN.iter().zip(began) {
                    time.store(began, Ordering::Relaxed);
                }
                let clock = link.welcome.clock;
                self.link = Some(link);
                match clock {
                    Clock::Virtual => Mode::Virtual,
                    Clock::Wall => Mode::Wall,
                }
            }
        };
        MODE.store(mode as u8, Ordering::Relaxed);
    }

    /// The connection to the session.
    pub fn link(&mut self) -> Result<&mut Link, Code> {
        self.link.as_mut().ok_or(Code::NoDriver)
    }

    /// The connection, if the session has virtual time.
    pub fn timed(&mut self) -> Option<&mut Link> {
        let virtually = known_mode() == Mode::Virtual;
        self.link.as_mut().filter(|_| virtually)
    }

    /// Sends a request to the session. Pages of buffers are protected before a load or store, and also after time has passed while an operation is
    /// outstanding.
    pub fn call(&mut self, request: Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Code> {
        if matches!(request, Request::Load { .. } | Request::Store { .. }) {
            self.buffers.begin();
        }
        self.faults.forget(this_thread());
        self.idle_looks = 0;
        let reply = self.link().inspect_err(|_| advise())?.call(request, file);
        self.time_passed();
        reply
    }

    /// Waits in simulated time for the program.
    pub fn wait(&mut self, until: Until, limit: u64) -> WaitEnd {
        self.faults.forget(this_thread());
        self.look(until, limit)
    }

    /// Waits in simulated time for a program that polls.
    pub fn look(&mut self, until: Until, limit: u64) -> WaitEnd {
        self.idle_looks = 0;
        let Ok(link) = self.link() else {
            return WaitEnd::Quiet;
        };
        let why = link.wait(until, limit);
        self.time_passed();
        why
    }

    /// Charges work; returns the simulated time after it.
    pub fn charge(&mut self, work: impl FnOnce(&mut Link)) -> u64 {
        if let Some(link) = self.timed() {
            work(link);
        }
        self.time_passed();
        reported_time()
    }

    /// Number of doublings of the cost of a clock read. If no operation is outstanding, a program that only reads the clock waits for its own
    /// time-out. Therefore simulated time passes in larger and larger steps.
    pub fn idle_doublings(&mut self) -> u32 {
        self.idle_looks = if self.active() {
            0
        } else {
            self.idle_looks.saturating_add(1)
        };
        (self.idle_looks / LOOKS).min(MOST_DOUBLINGS)
    }

    /// Whether an operation may still write to memory or signal an interrupt.
    pub fn active(&self) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| link.active && !link.gone)
    }

    fn time_passed(&mut self) {
        ticks::tick();
        let Some(link) = self.timed() else { return };
        REPORTED.store(link.time(), Ordering::Relaxed);
        if link.active {
            self.buffers.close();
        }
    }
}

/// Prints once that there is no session, and how to start a program with a session.
fn advise() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let program = std::env::args_os().next().unwrap_or_default();
    let program = Path::new(&program).display();
    let advice = format!("start the program with: peerlane opae run {program}");
    match socket() {
        None => eprintln!("peerlane: there is no session, so there are no devices; {advice}"),
        Some(path) => eprintln!(
            "peerlane: there is no session at {} ({SOCKET}), so there are no devices; {advice}",
            path.display()
        ),
    }
}

/// The socket of the session, if the environment contains it.
pub fn socket() -> Option<&'static Path> {
    let mut name = [0; SOCKET.len() + 1];
    name[..SOCKET.len()].copy_from_slice(SOCKET.as_bytes());
    // SAFETY: the name ends with a zero; the result belongs to the environment, which is not changed while it is read.
    let path = unsafe {
        let value = libc::getenv(name.as_ptr().cast());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value)
    };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

extern "C" fn before_fork() {
    STATE.acquire();
}

extern "C" fn after_fork() {
    STATE.release();
}

/// Runs in the child process after a fork. The child has no session: shared buffers stay as normal memory, and time is real.
extern "C" fn after_fork_in_child() {
    // SAFETY: this thread has taken the lock before the fork.
    let state = unsafe { STATE.held() };
    state.buffers.open_for_good();
    state.waiters.0.clear();
    // If the parent was not connected, the child can connect to the session itself.
    if let Some(link) = &mut state.link {
        MODE.store(Mode::None as u8, Ordering::Relaxed);
        link.gone = true;
    }
    STATE.forget_others();
    STATE.release();
}

/// Records that the library is initialised, and installs the functions that take the lock around a fork.
pub fn set_ready() {
    deferrable();
    // SAFETY: the three handlers live as long as the library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(
            Some(before_fork),
            Some(after_fork),
            Some(after_fork_in_child),
        )
    };
    READY.store(true, Ordering::Relaxed);
}

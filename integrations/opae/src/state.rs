//! All that the library knows, behind one lock, and how it comes to a session.

#![expect(
    unsafe_code,
    reason = "the environment is read, and handlers set, through C"
)]

use std::ffi::{CStr, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use session::{Clock, Reply, Request, SOCKET, Until, Why};

use crate::abi::Code;
use crate::access::Opened;
use crate::event::Event;
use crate::guard::Buffers;
use crate::interpose::{Waiter, give_way};
use crate::link::Link;
use crate::lock::{Guard, Lock, this_thread};
use crate::mmio::Windows;
use crate::polling::Faults;
use crate::properties::Properties;
use crate::registry::{Names, Registry};
use crate::sysobject::Sysobject;
use crate::token::Token;

/// Looks at the clock in a row after which the next ones cost twice as much, and how often that is done: up to 512 times.
const LOOKS: u32 = 4096;
const MOST_DOUBLINGS: u32 = 9;

/// All that the library knows.
pub struct State {
    link: Option<Link>,
    /// What new objects are called.
    pub names: Names,
    /// Tokens that live.
    pub tokens: Registry<Token>,
    /// What is open.
    pub handles: Registry<Opened>,
    /// Properties that live.
    pub properties: Registry<Properties>,
    /// Event handles that live.
    pub events: Registry<Event>,
    /// Objects of descriptions that live.
    pub sysobjects: Registry<Sysobject>,
    /// Memory that is shared with devices.
    pub buffers: Buffers,
    /// Registers that are mapped.
    pub windows: Windows,
    /// The last faults of threads.
    pub faults: Faults,
    /// Threads that wait.
    pub waiters: Vec<Waiter>,
    /// What the last buffer was called.
    pub last_wsid: u64,
    /// Looks at the clock in a row while nothing is under way.
    idle_looks: u32,
}

/// Whose clock there is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Nobody has asked yet.
    Unknown,
    /// There is no session, or it is that of the parent process.
    None,
    /// The machine's.
    Wall,
    /// The simulation's.
    Virtual,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Unknown as u8);
/// Whether the library has been initialised: what is called before comes from those that were loaded before it.
static READY: AtomicBool = AtomicBool::new(false);
/// The last time that anybody was told, for a signal handler that cannot have the lock.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// The time of day and the monotonic time at which the session began, in nanoseconds.
static BEGAN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

static STATE: Lock<State> = Lock::new(State {
    link: None,
    names: Names::new(),
    tokens: Registry::new(),
    handles: Registry::new(),
    properties: Registry::new(),
    events: Registry::new(),
    sysobjects: Registry::new(),
    buffers: Buffers::new(),
    windows: Windows::new(),
    faults: Faults::new(),
    waiters: Vec::new(),
    last_wsid: 0,
    idle_looks: 0,
});

/// Takes the lock, unless this thread has it.
pub fn lock() -> Option<Guard<'static, State>> {
    STATE.lock()
}

/// Takes the lock, unless somebody keeps it.
///
/// The clock is read so: an allocator may read it while it has a lock of its own, which whoever has this one may need.
pub fn lock_soon() -> Option<Guard<'static, State>> {
    STATE.lock_soon()
}

/// Whether somebody waits for the lock, which this thread has.
pub fn is_wanted() -> bool {
    STATE.is_wanted()
}

/// Does `body` on what the library knows; it must not touch memory of the program.
pub fn with<T>(body: impl FnOnce(&mut State) -> Result<T, Code>) -> Result<T, Code> {
    let mut state = lock().ok_or(Code::Exception)?;
    state.connect();
    let result = body(&mut state);
    drop(state);
    give_way();
    result
}

/// Whose clock there is; connects if nobody has yet.
pub fn mode() -> Mode {
    let known = known_mode();
    if known != Mode::Unknown || !READY.load(Ordering::Relaxed) {
        return known;
    }
    let Some(mut state) = lock() else {
        return Mode::Unknown;
    };
    state.connect();
    known_mode()
}

/// Whose clock there is, as far as is known.
pub fn known_mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        0 => Mode::Unknown,
        2 => Mode::Wall,
        3 => Mode::Virtual,
        _ => Mode::None,
    }
}

/// Whether what is called is called by a program, and not while it is loaded.
pub fn ready() -> bool {
    READY.load(Ordering::Relaxed)
}

/// The time of day and the monotonic time at which a session of virtual time began, in nanoseconds.
pub fn began() -> Option<(u64, u64)> {
    let [realtime, monotonic] = &BEGAN;
    (known_mode() == Mode::Virtual).then(|| {
        (
            realtime.load(Ordering::Relaxed),
            monotonic.load(Ordering::Relaxed),
        )
    })
}

/// The last time that anybody was told, in femtoseconds.
pub fn told() -> u64 {
    TOLD.load(Ordering::Relaxed)
}

impl State {
    fn connect(&mut self) {
        if known_mode() != Mode::Unknown {
            return;
        }
        let mode = match socket().and_then(Link::connect) {
            None => Mode::None,
            Some(link) => {
                let clock = link.welcome.clock;
                BEGAN[0].store(link.welcome.realtime, Ordering::Relaxed);
                BEGAN[1].store(link.welcome.monotonic, Ordering::Relaxed);
                self.link = Some(link);
                match clock {
                    Clock::Virtual => Mode::Virtual,
                    Clock::Wall => Mode::Wall,
                }
            }
        };
        MODE.store(mode as u8, Ordering::Relaxed);
        if mode == Mode::Virtual {
            crate::watch::start();
        }
    }

    /// The session.
    pub fn link(&mut self) -> Result<&mut Link, Code> {
        self.link.as_mut().ok_or(Code::NoDriver)
    }

    /// The session, if its clock is the one that counts.
    pub fn timed(&mut self) -> Option<&mut Link> {
        let virtually = known_mode() == Mode::Virtual;
        self.link.as_mut().filter(|_| virtually)
    }

    /// Asks the simulation. Buffers are closed before a device hears of something, and after time has passed while one is active.
    pub fn call(&mut self, request: Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Code> {
        if matches!(request, Request::Load { .. } | Request::Store { .. }) {
            self.buffers.begin();
        }
        self.faults.forget(this_thread());
        self.idle_looks = 0;
        let reply = self.link()?.call(request, file);
        self.time_passed();
        reply
    }

    /// Waits on behalf of the program.
    pub fn wait(&mut self, until: Until, limit: u64) -> Why {
        self.faults.forget(this_thread());
        self.look(until, limit)
    }

    /// Waits on behalf of a program that looks at a byte over and over.
    pub fn look(&mut self, until: Until, limit: u64) -> Why {
        self.idle_looks = 0;
        let Ok(link) = self.link() else {
            return Why::Quiet;
        };
        let why = link.wait(until, limit);
        self.time_passed();
        why
    }

    /// Charges `work` and says what time it is then.
    pub fn charge(&mut self, work: u64) -> u64 {
        if let Some(link) = self.timed() {
            link.charge(work);
        }
        self.time_passed();
        told()
    }

    /// How often what a look at the clock costs is doubled: a program that does nothing else while nothing is under way waits for its
    /// own time-out, and takes larger steps the longer it does.
    pub fn idle_doublings(&mut self) -> u32 {
        self.idle_looks = if self.active() {
            0
        } else {
            self.idle_looks.saturating_add(1)
        };
        (self.idle_looks / LOOKS).min(MOST_DOUBLINGS)
    }

    /// Whether something is under way that may write to memory or interrupt.
    pub fn active(&self) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| link.active && !link.gone)
    }

    fn time_passed(&mut self) {
        crate::watch::tick();
        let Some(link) = self.timed() else { return };
        TOLD.store(link.time(), Ordering::Relaxed);
        if link.active {
            self.buffers.close();
        }
    }
}

fn socket() -> Option<&'static Path> {
    let mut name = [0; SOCKET.len() + 1];
    name[..SOCKET.len()].copy_from_slice(SOCKET.as_bytes());
    // SAFETY: the name ends with a zero; what comes back belongs to the environment, which nobody changes while it is read.
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

/// The child has not the parent's session: what was shared stays as memory, and time is real.
extern "C" fn after_fork_in_child() {
    // SAFETY: the lock was taken before the fork, by the thread that is this one.
    let state = unsafe { STATE.held() };
    state.buffers.let_go();
    state.waiters.clear();
    // Where the parent had none, the child comes to one of its own.
    if let Some(link) = &mut state.link {
        MODE.store(Mode::None as u8, Ordering::Relaxed);
        link.gone = true;
    }
    STATE.forget_others();
    STATE.release();
}

extern "C" fn initialise() {
    crate::interpose::resolve();
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

#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = initialise;

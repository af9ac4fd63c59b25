//! The way into the library: the first call connects to the session, and every call gets the state of the library.

#![expect(unsafe_code, reason = "the linker calls a function at the start")]

use rustix::time::{ClockId, clock_gettime};

use crate::abi::Code;
#[cfg(target_arch = "x86_64")]
use crate::late;
use crate::link::Link;
use crate::state::{Mode, State, known_mode, lock, ready, set_ready, socket};
use crate::turns::give_way;
use crate::{real, watch};

/// Runs `body` with the state of the library; it must not access memory of the program.
pub fn with<T>(body: impl FnOnce(&mut State) -> Result<T, Code>) -> Result<T, Code> {
    let mut state = lock().ok_or(Code::Exception)?;
    connect(&mut state);
    let result = body(&mut state);
    drop(state);
    give_way();
    result
}

/// The clock of the process; connects to the session on the first call.
pub fn mode() -> Mode {
    let known = known_mode();
    if known != Mode::Unknown || !ready() {
        return known;
    }
    let Some(mut state) = lock() else {
        return Mode::Unknown;
    };
    connect(&mut state);
    known_mode()
}

fn connect(state: &mut State) {
    if known_mode() != Mode::Unknown {
        return;
    }
    // Objects may have been loaded since this library was.
    adopt();
    crate::lock::find_handlers();
    let link = socket().and_then(Link::connect);
    state.join(link.map(|link| {
        let began = beginning(&link);
        (link, began)
    }));
    if known_mode() == Mode::Virtual {
        watch::start();
    }
}

/// The time of day and the monotonic time at the begin of the session. A program that has read real clocks before goes on from there,
/// so that no clock runs backwards.
fn beginning(link: &Link) -> [u64; 2] {
    #[cfg(target_arch = "x86_64")]
    if late::is_late() {
        let passed = link.now / 1_000_000;
        let clocks = [ClockId::Realtime, ClockId::Monotonic].map(clock_gettime);
        return clocks.map(|now| {
            let seconds = now.tv_sec.cast_unsigned().saturating_mul(1_000_000_000);
            (seconds + now.tv_nsec.cast_unsigned()).saturating_sub(passed)
        });
    }
    [link.welcome.realtime, link.welcome.monotonic]
}

/// In a program of a session, lets objects that were loaded before this library read simulated time.
fn adopt() {
    #[cfg(target_arch = "x86_64")]
    if socket().is_some() {
        late::adopt();
    }
}

extern "C" fn initialise() {
    real::resolve();
    set_ready();
    adopt();
}

#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = initialise;

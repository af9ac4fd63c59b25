//! The entry of all calls of the library: the first call connects to the session, and every call receives the state of the library.

use std::any::Any;

use rustix::time::{ClockId, clock_gettime};

use crate::abi::{Code, entry, user_pointer};
#[cfg(target_arch = "x86_64")]
use crate::late;
use crate::state::{Mode, State, known_mode, lock, ready, set_ready, socket};
use crate::time::link::Link;
use crate::turns::give_way;
use crate::{real, watch};

/// Runs `body` with the state of the library. `body` must not access memory of the program.
pub fn with<T>(body: impl FnOnce(&mut State) -> Result<T, Code>) -> Result<T, Code> {
    let mut state = lock().ok_or(Code::Exception)?;
    connect(&mut state);
    let result = body(&mut state);
    drop(state);
    give_way();
    result
}

/// Runs `body` with the state of the library for a C function; returns its `fpga_result`.
pub fn perform(body: impl FnOnce(&mut State) -> Result<(), Code>) -> u32 {
    entry(|| with(body))
}

/// Implements a C function with a result: writes the value of `body` to `place`, which must not be null. Returns the `fpga_result`.
pub fn answer<T>(place: *mut T, body: impl FnOnce(&mut State) -> Result<T, Code>) -> u32 {
    entry(|| {
        let place = user_pointer(place)?;
        place.put(with(body)?);
        Ok(())
    })
}

/// Implements a C function that destroys the object whose name is at `place`. Returns the `fpga_result`. The closure `end` ends operations that the
/// object has begun.
pub fn destroy<T: Any>(
    place: *mut usize,
    end: impl FnOnce(&mut State, T) -> Result<(), Code>,
) -> u32 {
    entry(|| {
        let place = user_pointer(place)?;
        let name = place.take();
        with(|state| {
            let object = state.objects.remove::<T>(name)?;
            end(state, object)
        })?;
        place.put(0);
        Ok(())
    })
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
    // The program may have loaded other shared objects after this library was initialised.
    adopt();
    crate::threads::lock::find_handlers();
    let link = socket().and_then(Link::connect);
    state.join(link.map(|link| {
        let began = beginning(&link);
        (link, began)
    }));
    if known_mode() == Mode::Virtual {
        watch::start();
    }
}

/// The time of day and the monotonic time at the beginning of the session. If the program may have read real clocks before, simulated time
/// continues from the real time, so that no clock runs backwards.
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

/// In a program of a session, redirects function calls of shared objects that were loaded before this library to this library, so that they read
/// simulated time.
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

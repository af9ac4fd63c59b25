//! The user clock of an accelerator: the clock at which the simulated unit runs.

use std::ffi::c_int;

use session::{Attribute, Request, USER_CLOCK};

use crate::abi::{Code, entry, user_pointer};
use crate::enter::{perform, with};

const MHZ: u64 = 1_000_000;

/// Sets the higher clock, in MHz. The lower clock is half of the higher clock.
#[unsafe(no_mangle)]
extern "C" fn fpgaSetUserClock(handle: usize, high: u64, low: u64, _flags: c_int) -> u32 {
    perform(|state| {
        let handle = state.handle(handle)?.accelerator()?.handle;
        let hertz = high.saturating_mul(MHZ);
        if !USER_CLOCK.contains(&hertz) || low > high {
            return Err(Code::InvalidParam);
        }
        state
            .call(Request::SetClock { handle, hertz }, None)
            .map(drop)
    })
}

/// Returns the clocks in Hz.
#[unsafe(no_mangle)]
extern "C" fn fpgaGetUserClock(
    handle: usize,
    high_clk: *mut u64,
    low_clk: *mut u64,
    _flags: c_int,
) -> u32 {
    entry(|| {
        let (high, low) = (user_pointer(high_clk)?, user_pointer(low_clk)?);
        let hertz = with(|state| {
            let token = state.handle(handle)?.accelerator()?.token();
            state.load_attribute(token, Attribute::UserClock)
        })?;
        high.put(hertz);
        low.put(hertz / 2);
        Ok(())
    })
}

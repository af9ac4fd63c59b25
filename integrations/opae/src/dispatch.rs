//! Determines the cause of a fault. The possible causes are, in the order of the checks: the end of a store to registers, an access to a protected
//! page of a buffer, and an access to registers.

use crate::memory::guard;
use crate::registers::context::Context;
use crate::registers::instructions::{self, Bus};
use crate::registers::mappings::Register;
use crate::state::{State, lock, with_state};

/// Handles a fault of the program at `address`. Returns whether the fault has one of these three causes, so that the program can continue.
pub fn dispatch(address: usize, context: &mut Context<'_>) -> bool {
    if instructions::finish(address, context, &Locked) {
        return true;
    }
    if guard::may_touch(address, 1) {
        let Some(mut state) = lock() else {
            return false;
        };
        let touched = state.touch(address, context.instruction(), context.touch());
        drop(state);
        if touched {
            instructions::restart(context);
            return true;
        }
    }
    Locked.stretch(address).0 && instructions::begin(context, &Locked)
}

/// The registers of open handles. Each access takes the library's lock. If the lock cannot be taken, no address counts as a register.
struct Locked;

impl Bus for Locked {
    fn stretch(&self, address: usize) -> (bool, usize) {
        lock().map_or((false, usize::MAX), |state| state.mappings.stretch(address))
    }

    fn load(&self, address: usize, bytes: &mut [u8]) -> bool {
        with_register(address, bytes.len(), |state, register| {
            state.load_or_ones(register, bytes);
        })
    }

    fn store(&self, address: usize, bytes: &[u8]) -> bool {
        // The program receives no error if a posted write is lost.
        with_register(address, bytes.len(), |state, register| {
            _ = state.store(register, bytes);
        })
    }
}

/// Runs `access` with the register at `address`. Returns false if not all `len` bytes at this address are registers.
fn with_register(address: usize, len: usize, access: impl FnOnce(&mut State, Register)) -> bool {
    with_state(|state| {
        let register = state.mappings.register(address, len);
        register.map(|register| access(state, register)).is_some()
    })
    .unwrap_or(false)
}

//! The state of the processor at a fault.

use std::ffi::c_int;

#[cfg(target_arch = "x86_64")]
use crate::memory::Touch;

/// The state of the processor at a fault.
#[derive(Debug)]
pub struct Context<'a>(&'a mut libc::ucontext_t);

impl<'a> Context<'a> {
    /// The state in the context that the operating system passes to a handler.
    pub fn of(context: &'a mut libc::ucontext_t) -> Self {
        Context(context)
    }
}

#[cfg(target_arch = "x86_64")]
impl Context<'_> {
    /// The address of the instruction.
    pub fn instruction(&self) -> usize {
        self.register(libc::REG_RIP) as usize
    }

    /// The kind of the access at the address of the fault: read or write (Intel SDM 3A 4.7: bit 1 of the error code).
    pub fn touch(&self) -> Touch {
        if self.register(libc::REG_ERR) & 2 == 0 {
            Touch::Read
        } else {
            Touch::Write
        }
    }

    /// Continues at `address`.
    pub fn go_on_at(&mut self, address: usize) {
        self.set_register(libc::REG_RIP, address as u64);
    }

    /// The value of a register.
    pub fn register(&self, register: c_int) -> u64 {
        self.0.uc_mcontext.gregs[register as usize].cast_unsigned()
    }

    pub fn set_register(&mut self, register: c_int, value: u64) {
        self.0.uc_mcontext.gregs[register as usize] = value.cast_signed();
    }
}

//! `fpgaOpen`, `fpgaClose` and all other functions for handles of devices and accelerators.

use std::ffi::c_int;

use session::{Kind, Object, Reply, Request};

use crate::abi::Code;
use crate::enter::{answer, perform};
use crate::state::State;
use crate::token::Token;

const SHARED: c_int = 1;
const HAS_PARENT: c_int = 2;

#[derive(Clone, Debug)]
pub struct OpenHandle {
    /// The handle in the session.
    pub handle: u64,
    /// The properties of the object at the time when it was opened.
    pub object: Object,
}

impl OpenHandle {
    /// A token for the object.
    pub fn token(&self) -> Token {
        Token {
            object_id: self.object.object_id,
        }
    }

    /// This handle, if its object is an accelerator.
    pub fn accelerator(&self) -> Result<&Self, Code> {
        if self.object.kind != Kind::Accelerator {
            return Err(Code::InvalidParam);
        }
        Ok(self)
    }
}

impl State {
    pub fn handle(&self, name: usize) -> Result<&OpenHandle, Code> {
        self.objects.find(name)
    }
}

#[unsafe(no_mangle)]
extern "C" fn fpgaOpen(token: usize, handle: *mut usize, flags: c_int) -> u32 {
    answer(handle, |state| {
        if flags & HAS_PARENT != 0 {
            return Err(Code::NotSupported);
        }
        if flags & !SHARED != 0 {
            return Err(Code::InvalidParam);
        }
        let token = state.token(token)?;
        let (mut objects, place) = state.object(token)?;
        let request = Request::Open {
            object: place as u32,
            shared: flags & SHARED != 0,
        };
        let Reply::Opened { handle } = state.call(request, None)? else {
            return Err(Code::Exception);
        };
        let object = objects.swap_remove(place);
        let opened = OpenHandle { handle, object };
        state.objects.insert(opened)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClose(handle: usize) -> u32 {
    perform(|state| {
        let opened = state.objects.remove::<OpenHandle>(handle)?;
        state.mappings.forget(handle);
        state.buffers.forget(handle);
        state.forget_events(handle);
        let handle = opened.handle;
        state.call(Request::Close { handle }, None).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReset(handle: usize) -> u32 {
    perform(|state| {
        let handle = state.handle(handle)?.accelerator()?.handle;
        state.call(Request::Reset { handle }, None).map(drop)
    })
}

/// Simulated accelerators have no children.
#[unsafe(no_mangle)]
extern "C" fn fpgaGetChildren(
    handle: usize,
    _max_children: u32,
    _children: *mut usize,
    num_children: *mut u32,
) -> u32 {
    answer(num_children, |state| state.handle(handle).map(|_| 0))
}

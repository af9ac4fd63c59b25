//! Events: an `eventfd` signals an interrupt of an accelerator, or an error of an accelerator or a device.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use session::{Event as What, Request};

use crate::abi::Code;
use crate::enter::{answer, destroy, perform};
use crate::state::State;

const INTERRUPT: u32 = 0;
const ERROR: u32 = 1;
const POWER_THERMAL: u32 = 2;

/// A bit for each descriptor, which is one if the descriptor belongs to an event. Descriptors for which there is no bit are treated as descriptors of
/// events.
static DESCRIPTORS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Whether a descriptor may belong to an event.
pub fn may_be_event(descriptor: c_int) -> bool {
    let Ok(number) = usize::try_from(descriptor) else {
        return false;
    };
    DESCRIPTORS
        .get(number / 64)
        .is_none_or(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 != 0)
}

fn mark(descriptor: c_int, is_event: bool) {
    let number = descriptor as usize;
    let Some(word) = DESCRIPTORS.get(number / 64) else {
        return;
    };
    let bit = 1 << (number % 64);
    if is_event {
        word.fetch_or(bit, Ordering::Relaxed);
    } else {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// An event handle.
#[derive(Debug)]
pub struct Event {
    descriptor: OwnedFd,
    /// Whether an event was registered. Before the registration, an event handle of the original library has no descriptor.
    was_registered: bool,
    subscription: Option<Subscription>,
}

#[derive(Clone, Copy, Debug)]
struct Subscription {
    name: usize,
    handle: u64,
    what: What,
}

impl Drop for Event {
    fn drop(&mut self) {
        mark(self.descriptor.as_raw_fd(), false);
    }
}

impl State {
    /// Removes the subscriptions of a handle that is closed.
    pub fn forget_events(&mut self, name: usize) {
        for event in self.objects.all::<Event>() {
            event.subscription = event.subscription.filter(|one| one.name != name);
        }
    }

    /// Whether a descriptor belongs to an event.
    pub fn is_event(&mut self, descriptor: c_int) -> bool {
        may_be_event(descriptor)
            && self
                .objects
                .all::<Event>()
                .any(|event| event.descriptor.as_raw_fd() == descriptor)
    }

    /// Whether this process has any subscription.
    pub fn has_subscription(&mut self) -> bool {
        self.objects
            .all::<Event>()
            .any(|event| event.subscription.is_some())
    }

    fn ignore(&mut self, subscription: Subscription) -> Result<(), Code> {
        let Subscription {
            handle,
            what: event,
            ..
        } = subscription;
        self.call(Request::Ignore { handle, event }, None).map(drop)
    }
}

#[unsafe(no_mangle)]
extern "C" fn fpgaCreateEventHandle(event_handle: *mut usize) -> u32 {
    answer(event_handle, |state| {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC).map_err(|_| Code::Exception)?;
        mark(descriptor.as_raw_fd(), true);
        let event = Event {
            descriptor,
            was_registered: false,
            subscription: None,
        };
        state.objects.insert(event)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyEventHandle(event_handle: *mut usize) -> u32 {
    destroy(event_handle, |state, event: Event| {
        event.subscription.map_or(Ok(()), |one| state.ignore(one))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetOSObjectFromEventHandle(event_handle: usize, fd: *mut c_int) -> u32 {
    answer(fd, |state| {
        let event = state.objects.find::<Event>(event_handle)?;
        let is_there = event.was_registered.then(|| event.descriptor.as_raw_fd());
        is_there.ok_or(Code::InvalidParam)
    })
}

/// For an interrupt, `flags` is the number of the interrupt.
#[unsafe(no_mangle)]
extern "C" fn fpgaRegisterEvent(
    handle: usize,
    event_type: u32,
    event_handle: usize,
    flags: u32,
) -> u32 {
    perform(|state| {
        let opened = state.handle(handle)?;
        let event = state.objects.find::<Event>(event_handle)?;
        let what = match event_type {
            INTERRUPT if flags < opened.accelerator()?.object.interrupts => What::Interrupt(flags),
            INTERRUPT => return Err(Code::InvalidParam),
            _ => is_known(event_type).map(|()| What::Error)?,
        };
        if event.subscription.is_some() {
            return Err(Code::Busy);
        }
        let subscription = Subscription {
            name: handle,
            handle: opened.handle,
            what,
        };
        // The library's lock is held, and the descriptor is used only during this call.
        let descriptor = event.descriptor.try_clone().map_err(|_| Code::Exception)?;
        let request = Request::Listen {
            handle: subscription.handle,
            event: subscription.what,
        };
        state.call(request, Some(descriptor.as_fd()))?;
        let event = state.objects.find_mut::<Event>(event_handle)?;
        event.was_registered = true;
        event.subscription = Some(subscription);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaUnregisterEvent(handle: usize, event_type: u32, event_handle: usize) -> u32 {
    perform(|state| {
        state.handle(handle)?;
        let event = state.objects.find_mut::<Event>(event_handle)?;
        is_known(event_type)?;
        let is_meant = |subscription: &Subscription| {
            subscription.name == handle
                && (subscription.what == What::Error) == (event_type == ERROR)
        };
        let subscription = event.subscription.filter(is_meant);
        let subscription = subscription.ok_or(Code::InvalidParam)?;
        event.subscription = None;
        state.ignore(subscription)
    })
}

fn is_known(event_type: u32) -> Result<(), Code> {
    match event_type {
        INTERRUPT | ERROR => Ok(()),
        POWER_THERMAL => Err(Code::NotSupported),
        _ => Err(Code::InvalidParam),
    }
}

//! Resets of devices, of which the operating system notifies their drivers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kernel::Time;

use super::{Processor, State};
use crate::ThreadId;
use crate::system::{DeviceRequest, ResetPhase, Wake};

/// The state of the resets of each device, by the message of its interrupt.
#[derive(Debug, Default)]
pub(super) struct Resets(BTreeMap<u32, Device>);

/// The state of the resets of one device.
#[derive(Clone, Debug, Default)]
struct Device {
    begun: u32,
    /// Whether a reset has begun and has not ended.
    is_in_reset: bool,
    /// Whether the device does not work after the last reset.
    is_lost: bool,
    /// Whether the device has reported an error of which no driver was notified.
    has_error: bool,
    /// Calls that use the device.
    users: Vec<ThreadId>,
}

impl Resets {
    pub(super) fn begun(&self, message: u32) -> u32 {
        self.0.get(&message).map_or(0, |device| device.begun)
    }

    /// Answers a call that checks whether the device works, and that uses the device from then on. The answer is the number of resets, or empty
    /// if the device does not work. Returns `None` while the device is in reset.
    pub(super) fn answer(&mut self, message: u32, thread: ThreadId) -> Option<Vec<u8>> {
        let device = self.0.entry(message).or_default();
        if device.is_in_reset {
            return None;
        }
        if device.is_lost {
            return Some(Vec::new());
        }
        device.users.push(thread);
        Some(device.begun.to_le_bytes().to_vec())
    }

    /// Records that the call of `thread` uses no device any more.
    pub(super) fn release(&mut self, thread: ThreadId) {
        for device in self.0.values_mut() {
            device.users.retain(|user| *user != thread);
        }
    }

    /// Whether no call uses the devices with these messages.
    fn are_idle(&self, messages: &[u32]) -> bool {
        let mut devices = messages.iter().filter_map(|message| self.0.get(message));
        devices.all(|device| device.users.is_empty())
    }
}

impl Processor {
    /// Whether a reset of which drivers were notified has not ended.
    pub fn is_resetting(&self) -> bool {
        self.resets.0.values().any(|device| device.is_in_reset)
    }

    /// Notifies the drivers of devices of a phase of a reset, and wakes the threads that wait for it. Returns false if the caller's thread must
    /// wait, because a call still uses a device that is about to be reset.
    fn announce(&mut self, messages: &[u32], phase: ResetPhase) -> bool {
        for message in messages {
            let device = self.resets.0.entry(*message).or_default();
            device.begun += u32::from(phase == ResetPhase::Prepare);
            device.is_in_reset = phase == ResetPhase::Prepare;
            device.is_lost = phase == ResetPhase::Lost;
            // Interrupts from before the reset are dropped, because their causes do not exist after the reset.
            self.interrupts.remove(message);
            for number in 0..self.threads.len() {
                let thread = ThreadId(number);
                let loaded = match self.threads[number].state {
                    State::InterruptOrReset(waits) if waits == *message => {
                        (phase == ResetPhase::Prepare).then(|| Wake::Reset.emit())
                    }
                    State::Ready(waits) if waits == *message => self.resets.answer(waits, thread),
                    _ => None,
                };
                if let Some(loaded) = loaded {
                    self.threads[number].loaded = loaded;
                    self.end_wait(thread);
                }
            }
        }
        phase != ResetPhase::Prepare || self.resets.are_idle(messages)
    }

    /// Notifies a driver of each device of an error. If no driver waits for an interrupt of the device, the next driver that begins to wait is
    /// notified.
    fn warn(&mut self, messages: &[u32]) {
        for message in messages {
            let waits = State::InterruptOrReset(*message);
            let waiting = self.threads.iter().position(|one| one.state == waits);
            match waiting {
                Some(number) => {
                    self.threads[number].loaded = Wake::Check.emit();
                    self.end_wait(ThreadId(number));
                }
                None => self.resets.0.entry(*message).or_default().has_error = true,
            }
        }
    }

    /// Ends the wait of a driver for an interrupt, and the time limit of the wait.
    pub(super) fn end_wait(&mut self, thread: ThreadId) {
        if matches!(self.threads[thread.0].state, State::InterruptOrReset(_)) {
            self.timed.retain(|Reverse((_, other))| *other != thread);
        }
        self.want_core(thread);
    }

    /// Begins the wait of a driver for an interrupt. If the driver does not need to wait, returns the reason.
    fn await_interrupt(
        &mut self,
        thread: ThreadId,
        (message, resets): (u32, u32),
        until: Option<Time>,
    ) -> Option<Wake> {
        if self.resets.begun(message) != resets {
            return Some(Wake::Reset);
        }
        if self.take_interrupt(message) {
            return Some(Wake::Interrupt);
        }
        if let Some(device) = self.resets.0.get_mut(&message)
            && std::mem::take(&mut device.has_error)
        {
            return Some(Wake::Check);
        }
        if let Some(until) = until {
            self.timed.push(Reverse((until, thread)));
        }
        None
    }

    /// Serves a request of a driver about its device, and stores the answer in `bytes`. Returns the state in which the thread waits, or `None`
    /// if the thread continues at once.
    pub(super) fn serve_driver(
        &mut self,
        thread: ThreadId,
        request: DeviceRequest,
        (bytes, now): (&mut Vec<u8>, Time),
    ) -> Option<State> {
        match request {
            DeviceRequest::InterruptOrReset(message, resets, limit) => {
                let until = limit.map(|limit| now + limit);
                let wake = self.await_interrupt(thread, (message, resets), until);
                let Some(wake) = wake else {
                    return Some(State::InterruptOrReset(message));
                };
                *bytes = wake.emit();
                None
            }
            DeviceRequest::Warn(messages) => {
                self.warn(&messages);
                None
            }
            DeviceRequest::Ready(message) => {
                self.release_devices(thread);
                let Some(answer) = self.resets.answer(message, thread) else {
                    return Some(State::Ready(message));
                };
                *bytes = answer;
                None
            }
            DeviceRequest::Resets(message) => {
                *bytes = self.resets.begun(message).to_le_bytes().to_vec();
                None
            }
            DeviceRequest::Announce(messages, phase) => {
                let goes_on = self.announce(&messages, phase);
                let first = messages.first().filter(|_| !goes_on);
                first.map(|message| State::Preparing(*message))
            }
        }
    }

    /// Records that the call of `thread` uses no device any more. Resets that have waited for the end of this use begin.
    pub(super) fn release_devices(&mut self, thread: ThreadId) {
        if self.resets.0.is_empty() {
            return;
        }
        self.resets.release(thread);
        for number in 0..self.threads.len() {
            let State::Preparing(message) = self.threads[number].state else {
                continue;
            };
            if self.resets.are_idle(&[message]) {
                self.want_core(ThreadId(number));
            }
        }
    }
}

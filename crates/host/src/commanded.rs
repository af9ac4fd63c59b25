//! A program that starts accesses of a device by its registers, one after the other, and waits for the end of each.

use device::commands::registers::{ADDRESS, BUSY, CARD, COMMAND, LENGTH, STATUS, command};
use transaction::{AccessLoop, Accesses, CallNote};

use crate::interrupts::Interrupt;
use crate::{DriverParameters, System, ThreadId};

kernel::choices! {
    /// The way in which a program learns of the end of an access.
    pub enum Completion {
        /// It reads `STATUS` until no access is in progress.
        Poll = "poll",
        /// It sleeps until the device's interrupt.
        Interrupt = "interrupt",
    }
}

/// Accesses of a device that a program starts.
#[derive(Clone, Debug)]
pub struct Commanded {
    /// The accesses; their order and intervals are the program's.
    pub what: Accesses,
    /// The number of the sequence in the device, from 1.
    pub sequence: u32,
    /// The address of the device's registers.
    pub registers: u64,
    /// The device's interrupt.
    pub interrupt: Interrupt,
    /// Whether the device has memory of its own, whose address each command gives.
    pub has_card_memory: bool,
    /// The way in which the program learns of the end.
    pub completion: Completion,
    /// The thread that must have ended before: that of the set-up of vectors.
    pub after: Option<ThreadId>,
}

/// Starts the accesses, each by a system call that writes the registers and waits. The device's interrupt message is also the lock
/// that one call holds at a time.
pub async fn run(system: System, costs: DriverParameters, commanded: Commanded) {
    if let Some(thread) = commanded.after {
        system.join(thread).await;
    }
    let flow = commanded.what.flow;
    let mut all = AccessLoop::new(Accesses {
        driven: false,
        ..commanded.what.clone()
    });
    let driver = Driver {
        system: &system,
        costs: &costs,
        commanded: &commanded,
    };
    for number in 0..all.what.warm_up + all.what.count {
        system.sleep_until(all.next_start()).await;
        if number == all.what.warm_up {
            system.note(flow, CallNote::Called).await;
        }
        let one = all.begin(system.now().await);
        system.work(costs.system_call).await;
        system.lock(commanded.interrupt.message).await;
        let resets = system.ready(commanded.interrupt.message).await;
        let has_ended = match resets {
            Some(resets) => {
                driver.start(commanded.what.address + one.offset).await;
                driver.wait(resets).await
            }
            None => false,
        };
        system.unlock(commanded.interrupt.message).await;
        if !has_ended {
            // The device does not answer any more, or was reset: what is left stays undone.
            break;
        }
        all.leave(system.now().await);
    }
    system.note(flow, CallNote::Returned).await;
}

struct Driver<'c> {
    system: &'c System,
    costs: &'c DriverParameters,
    commanded: &'c Commanded,
}

impl Driver<'_> {
    /// Starts the access at `address`.
    async fn start(&self, address: u64) {
        let what = &self.commanded.what;
        self.set(ADDRESS, &address.to_le_bytes()).await;
        if self.commanded.has_card_memory {
            self.set(CARD, &[0; 8]).await;
        }
        self.set(LENGTH, &what.size.to_le_bytes()).await;
        let interrupt = self.commanded.completion == Completion::Interrupt;
        let word = command(what.kind, interrupt, self.commanded.sequence);
        self.set(COMMAND, &word.to_le_bytes()).await;
    }

    /// Waits for the end of the access; returns false if the device does not answer, or is reset.
    async fn wait(&self, resets: u32) -> bool {
        match self.commanded.completion {
            Completion::Interrupt => {
                let interrupt = self.commanded.interrupt;
                interrupt.take(self.system, self.costs, resets).await
            }
            Completion::Poll => loop {
                let status = self.commanded.registers + STATUS;
                let bytes = self.system.read(status, 4).await;
                let Some(word) = bytes.first_chunk() else {
                    return false;
                };
                if u32::from_le_bytes(*word) & BUSY == 0 {
                    return true;
                }
            },
        }
    }

    async fn set(&self, register: u64, bytes: &[u8]) {
        let address = self.commanded.registers + register;
        self.system.set(self.costs, address, bytes).await;
    }
}

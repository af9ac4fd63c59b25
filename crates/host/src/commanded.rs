//! A program that makes a device perform accesses: for each access it writes the device's registers and waits for the end.

use device::commands::registers::{ADDRESS, BUSY, CARD, COMMAND, LENGTH, STATUS, command};
use transaction::{AccessLoop, Accesses, CallNote};

use crate::interrupts::Interrupt;
use crate::{DriverParameters, System, ThreadId};

kernel::choices! {
    /// The method by which a program detects the end of an access.
    pub enum Completion {
        /// The program reads `STATUS` until no access is in progress.
        Poll = "poll",
        /// The program sleeps until the device's interrupt.
        Interrupt = "interrupt",
    }
}

/// The accesses that a program starts in a device.
#[derive(Clone, Debug)]
pub struct Commanded {
    /// The accesses. The program controls their order and their intervals.
    pub what: Accesses,
    /// The number that identifies the accesses in measurements, written with each command, from 1.
    pub sequence: u32,
    /// The address of the device's registers.
    pub registers: u64,
    /// The device's interrupt.
    pub interrupt: Interrupt,
    /// Whether the device has its own memory. Each command then also gives an address in this memory.
    pub has_card_memory: bool,
    /// The method by which the program detects the end of each access.
    pub completion: Completion,
    /// The thread that sets up the interrupt vectors. The program starts after the end of this thread.
    pub after: Option<ThreadId>,
}

/// Performs the accesses, each by a system call that writes the device's registers and waits for the end. Only one call uses the device at a
/// time: each call holds a lock, whose number is the device's interrupt message.
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
            // The device does not answer, or was reset. The remaining accesses are not performed.
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

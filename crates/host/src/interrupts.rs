//! The part of a driver that deals with the MSI-X table of its function: it writes the entries, and masks vectors.

use protocol::register::{MSIX_ENTRY, MSIX_VECTOR_CONTROL, MSIX_VECTOR_MASK};

use crate::firmware::MSI_ADDRESS;
use crate::system::Wake;
use crate::{DriverParameters, System};

/// The entries of an MSI-X table that a driver uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorEntries {
    /// Address of the table.
    pub address: u64,
    /// Number of entries, from vector 0 on.
    pub count: u16,
    /// The Message Data of vector 0. The other vectors have the next numbers.
    pub first: u32,
}

/// Address of Vector Control of a vector in the MSI-X table at `table`.
pub fn vector_control(table: u64, vector: u16) -> u64 {
    table + u64::from(vector) * MSIX_ENTRY + MSIX_VECTOR_CONTROL
}

/// Writes the entries, with a message for each vector, and unmasks them.
pub async fn set_up(system: System, costs: DriverParameters, entries: VectorEntries) {
    for vector in 0..entries.count {
        let entry = entries.address + u64::from(vector) * MSIX_ENTRY;
        let message = u64::from(entries.first + u32::from(vector));
        // Message Data and Vector Control are the halves of a quadword. Vector Control is written as 0, which unmasks the vector.
        for (at, value) in [(entry, MSI_ADDRESS), (entry + 8, message)] {
            system.set(&costs, at, &value.to_le_bytes()).await;
        }
    }
}

/// An interrupt of a device, for the driver that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The message.
    pub message: u32,
    /// Address of Vector Control, if the driver masks the vector while it serves the device.
    pub control: Option<u64>,
}

impl Interrupt {
    /// Sleeps until the interrupt arrives and the waiting thread runs again, and unmasks the vector. Returns false if a reset of the device
    /// begins first; `resets` is the number of resets that the caller has counted before.
    pub async fn take(&self, system: &System, costs: &DriverParameters, resets: u32) -> bool {
        loop {
            match self.wait(system, costs, resets).await {
                Wake::Interrupt => break,
                Wake::Reset => return false,
                Wake::Check => {}
            }
        }
        self.rearm(system, costs).await;
        true
    }

    /// Sleeps until the interrupt arrives and the waiting thread runs again. The vector may then be masked. Returns early if a reset of the
    /// device begins; `resets` is the number of resets that the caller has counted before. Also returns early if the driver must check the
    /// device: the device has reported an error, or the driver masks the vector and a time limit has passed. The limit is necessary because an
    /// interrupt may arrive before the data that it signals, and no other interrupt may follow.
    pub async fn wait(&self, system: &System, costs: &DriverParameters, resets: u32) -> Wake {
        let limit = self.control.map(|_| costs.interrupt_timeout);
        let wake = system.interrupt_or_reset(self.message, resets, limit).await;
        if wake != Wake::Interrupt {
            return wake;
        }
        if let Some(control) = self.control {
            let mask = MSIX_VECTOR_MASK.to_le_bytes();
            system.set(costs, control, &mask).await;
            // The completion of this read does not pass an interrupt message that was sent before the vector was masked (PCIe Base 6.1.4).
            system.read(control, 4).await;
        }
        system.sleep(costs.interrupt_latency).await;
        Wake::Interrupt
    }

    /// Unmasks the vector, if the driver masks it. Interrupts that occurred while the vector was masked are signalled once.
    pub async fn rearm(&self, system: &System, costs: &DriverParameters) {
        if let Some(control) = self.control {
            system.set(costs, control, &0_u32.to_le_bytes()).await;
        }
    }
}

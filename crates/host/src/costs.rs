//! The time that software takes.

use kernel::{Bandwidth, Span};

use crate::contained_errors::ContainedErrors;
use crate::release::Release;

kernel::parameters! {
    /// The time that software on a host takes.
    pub struct DriverParameters {
        /// Number of threads that can run at the same time; a thread keeps its core until it sleeps.
        cores: u32 = 8, within 1..=1024, from "four cores of two threads each";
        /// Time of a system call, without the work of its driver.
        system_call: Span = Span::from_ns(300), lifts "software", from "common on Linux, with entry, file and exit";
        /// Time to pin and unpin one page of a buffer.
        page_pin: Span = Span::from_ns(100), lifts "software", from "common on Linux, for pages that are there";
        /// Time for which a store to a device blocks its core.
        register_write: Span = Span::from_ns(100), lifts "software", from "our choice: an uncached store";
        /// Time for which a store to memory blocks its core.
        memory_write: Span = Span::from_ns(2), lifts "software", from "our choice: a store that the cache takes";
        /// Time from the end of a write to memory until a polling program has seen it.
        poll: Span = Span::from_ns(80), lifts "software", from "common for a line that is in no cache any more: a memory read";
        /// Time from the arrival of an interrupt until the waiting thread is ready to run. The thread uses no core while it waits.
        interrupt_latency: Span = Span::from_us(3), lifts "software", from "common on Linux, with handler and scheduler";
        /// Whether a driver masks the MSI-X vector of an interrupt from the interrupt handler until the driver has served the device. All
        /// interrupts in this time are signalled as one.
        interrupt_masking: bool = false, from "our choice: a mask costs a store and a read; Linux does so for threaded handlers";
        /// Time without an interrupt after which a driver that masks its interrupt vector checks its device: the last interrupt may have arrived
        /// before the data that it signals.
        interrupt_timeout: Span = Span::from_us(30_000_000), from "Linux: nvme_core.io_timeout, 30 s";
        /// Number of the first bus below the root ports that firmware assigns. The bus of the root ports is 0.
        first_bus: u32 = 1, within 1..=255, from "Linux, pci_scan_child_bus: the next free number";
        /// Whether firmware enables error messages of all functions of the host, and its operating system serves the interrupts of
        /// root ports for errors: it reads and clears the status of the functions that reported them.
        error_reporting: bool = false, from "our choice: only some firmware leaves error reporting to the operating system; then Linux does so";
        /// The errors for which firmware enables Downstream Port Containment of all ports below the host that have it: "none", "fatal", or
        /// "non-fatal" for both severities. The operating system then releases a port that has contained an error, and sets up again the devices
        /// below the port.
        containment: ContainedErrors = ContainedErrors::None, from "PCIe Base 7.9.14.3: off after reset; Linux enables it for fatal errors";
        /// Whether firmware enables the hot-plug interrupt of slots below the host, and its operating system sets up inserted cards, and turns
        /// the power of a slot off or on when its attention button is pressed.
        hot_plug: bool = false, from "PCIe Base 7.5.3.10: off after reset; Linux enables it where firmware lets it";
        /// Whether the services for errors, containment and slots notify the drivers of sg-dma, nvme, block-dma and accelerator of errors and
        /// resets of their devices, so that the drivers begin again. The service for errors then also resets the link above a function that
        /// reports a fatal error.
        driver_recovery: bool = false, from "our choice: drivers know of no errors; in Linux each driver chooses, by its error handlers";
        /// Whether firmware enables the interrupt of all ports below the host for the bandwidth of their links (Link Bandwidth Management
        /// Interrupt Enable), and its operating system reads and clears Link Bandwidth Management Status.
        bandwidth_notification: bool = false, from "PCIe Base 7.5.3.7: off after reset; Linux has enabled it in some versions";
        /// Time from a press of a slot's attention button until software turns the slot's power off. A second press in this time cancels the
        /// removal.
        attention_wait: Span = Span::from_us(5_000_000), from "PCIe Base 6.7.1.5: 5 s";
        /// Time from when the link below a port is up again until software makes the first configuration request to the functions below the
        /// port.
        link_up_wait: Span = Span::from_us(100_000), from "PCIe Base 6.6.1: 100 ms";
        /// Whether software enables the end-to-end CRC in all functions of the host that have it: they add a TLP digest of 4 bytes to each
        /// packet that they send, and check the digest of packets that they receive.
        ecrc: bool = false, from "PCIe Base 7.8.4.7: disabled after reset; Linux leaves it as firmware has set it";
        /// Whether firmware enables ASPM L0s at the links below the host whose two ports support it (l0s_exit_latency).
        aspm_l0s: bool = false, from "PCIe Base 7.5.3.7: off after reset; firmware may enable it at any link that supports it";
        /// Whether firmware enables ASPM L1 at the links below the host whose two ports support it (l1_exit_latency).
        aspm_l1: bool = false, from "PCIe Base 7.5.3.7: off after reset; firmware may enable it at any link that supports it";
        /// Time to read the clock before and after a measured memory access.
        timed_access: Span = Span::ZERO, from "our choice: none";
        /// Time for which a process reads the clock.
        clock_read: Span = Span::from_ns(25), from "common on Linux, without a system call";
        /// Rate at which a process copies its own bytes to a buffer shared with a device.
        buffer_write_rate: Bandwidth = Bandwidth(10_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "common for one core and memory that no cache holds";
        /// Rate at which a process copies bytes from a buffer shared with a device, after the device has written them.
        buffer_read_rate: Bandwidth = Bandwidth(10_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "common for one core and memory that no cache holds";
        /// Release that the OPAE C library reports to programs; "none" for its own, 2.14.0. The library has the same functions in any case.
        opae_release: Option<Release> = None, from "our choice: the release whose interface the library has";
        /// Time from a link failure until software removes the accelerator below the link from all lock queues.
        failure_latency: Span = Span::from_us(1000), within Span::from_us(1)..=Span::from_us(1_000_000), from "our choice: an interrupt, its handler and a driver that looks; Linux takes some milliseconds";
        /// Time between the wake-ups of two threads that leave a barrier.
        thread_wake: Span = Span::from_us(2), from "common on Linux: each waiter is woken in turn";
    }
}

impl DriverParameters {
    /// Whether firmware enables Downstream Port Containment.
    pub fn contains_errors(&self) -> bool {
        self.containment != ContainedErrors::None
    }
}

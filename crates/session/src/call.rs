//! The calls of a process, and their answers.

use serde::{Deserialize, Serialize};

/// A call of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The work of the process since its last call; its time passes before the request is served.
    pub worked: Work,
    /// The request.
    pub request: Request,
}

/// Simulated time that a process has worked, in femtoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Copies to and from buffers.
    pub copies: u64,
    /// System calls.
    pub system_calls: u64,
    /// Reads of the clock and of words that are polled.
    pub looks: u64,
}

impl Work {
    /// The time of all work.
    pub fn total(self) -> u64 {
        self.copies
            .saturating_add(self.system_calls)
            .saturating_add(self.looks)
    }
}

/// A request of a process. Handles and buffers are numbers from earlier replies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The first call; the reply is [`Reply::Welcome`].
    Hello {
        /// The process's [version](crate::VERSION) of the protocol.
        version: u32,
    },
    /// Requests the list of objects; the reply is [`Reply::Objects`].
    Objects,
    /// Opens an object; the reply is [`Reply::Opened`].
    Open {
        /// Index of the object in the list.
        object: u32,
        /// Whether others may open the object at the same time.
        shared: bool,
    },
    /// Closes a handle, with its interrupts. The close of the last handle of an accelerator resets its port, and ends the sharing of its
    /// buffers.
    Close {
        /// The handle.
        handle: u64,
    },
    /// Resets the port of an accelerator.
    Reset {
        /// The handle.
        handle: u64,
    },
    /// Loads from the registers; the reply is [`Reply::Bytes`].
    Load {
        /// The handle.
        handle: u64,
        /// Offset from the first register.
        offset: u64,
        /// Number of bytes: 4, 8 or 64; `offset` is a multiple of it.
        len: u32,
    },
    /// Stores to the registers.
    Store {
        /// The handle.
        handle: u64,
        /// Offset from the first register.
        offset: u64,
        /// The data: 4, 8 or 64 bytes; `offset` is a multiple of their number.
        bytes: Vec<u8>,
    },
    /// Shares memory with devices. The call contains the memory as a file. The reply is [`Reply::Pinned`].
    Pin {
        /// The handle.
        handle: u64,
        /// Number of bytes at the beginning of the file, a multiple of `page`.
        size: u64,
        /// Page size of the memory in the process; the address for devices will be a multiple of it.
        page: u64,
    },
    /// Ends the sharing of a buffer.
    Unpin {
        /// The handle.
        handle: u64,
        /// The buffer.
        buffer: u64,
    },
    /// Subscribes to an event. The call contains the `eventfd` by which the event is signalled.
    Listen {
        /// The handle.
        handle: u64,
        /// The event.
        event: Event,
    },
    /// Ends the subscription to an event.
    Ignore {
        /// The handle.
        handle: u64,
        /// The event.
        event: Event,
    },
    /// Loads an attribute; the reply is [`Reply::Value`].
    LoadAttribute {
        /// Index of the object in the list.
        object: u32,
        /// The attribute.
        attribute: Attribute,
    },
    /// Stores to an attribute. In an error register, bits that are one clear recorded errors, or inject errors.
    StoreAttribute {
        /// Index of the object in the list.
        object: u32,
        /// The attribute.
        attribute: Attribute,
        /// The value.
        value: u64,
    },
    /// Sets the user clock of an accelerator.
    SetClock {
        /// The handle.
        handle: u64,
        /// The frequency in hertz.
        hertz: u64,
    },
    /// Loads a bitstream into a slot. The call contains the bitstream as a file.
    Configure {
        /// The handle of a device.
        handle: u64,
        /// Number of the slot.
        slot: u32,
        /// Size of the bitstream in bytes.
        size: u64,
        /// Whether the bitstream may replace an accelerator that is open.
        force: bool,
        /// Whether the user clock keeps its frequency. Otherwise it is set to the frequency that the bitstream was made for.
        keeps_clock: bool,
    },
    /// Waits; the reply is [`Reply::Woken`].
    Wait {
        /// The event to wait for.
        until: Until,
        /// Latest time of the end, in femtoseconds; `u64::MAX` for none.
        limit: u64,
    },
}

/// An event that a process can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Event {
    /// An interrupt of an accelerator, by number.
    Interrupt(u32),
    /// A new error.
    Error,
}

/// An attribute of an object that a driver reads from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attribute {
    /// An error register.
    Error(ErrorRegister),
    /// The counter of a device's interface clock.
    ClockCounter,
    /// A performance counter of a device, for one port or for all. The value is 0 unless [enabled](Self::IsCounting).
    Counter(Counter, Option<u8>),
    /// Whether the counters of one port, or of all ports if `None`, are enabled. A store of a value other than 0 enables these counters, and
    /// disables all others.
    IsCounting(Option<u8>),
    /// Whether the counters are frozen.
    IsFrozen,
    /// The user clock of an accelerator, in hertz.
    UserClock,
}

/// A performance counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counter {
    /// Reads on the link.
    LinkRead,
    /// Writes on the link.
    LinkWrite,
    /// Reads of an accelerator's registers.
    RegisterRead,
    /// Writes to an accelerator's registers.
    RegisterWrite,
}

/// An error register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorRegister {
    /// Errors of a device's management.
    Management,
    /// The first error of a device's management.
    FirstManagement,
    /// The next error of a device's management.
    NextManagement,
    /// Errors of a device's link to the host.
    Link,
    /// Errors of a device's second link.
    SecondLink,
    /// Non-fatal errors of a device.
    Nonfatal,
    /// Fatal errors of a device.
    Fatal,
    /// Errors of a device that software has injected.
    Injected,
    /// Violations of the port's rules by an accelerator.
    Port,
    /// The first violation of the port's rules.
    FirstPort,
    /// The last malformed request of an accelerator.
    MalformedRequest,
}

/// An event that a process can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// No event: only the time limit ends the wait.
    Limit,
    /// A device writes any of these bytes of a buffer.
    Written {
        /// The buffer.
        buffer: u64,
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// An interrupt is signalled to this process.
    Interrupt,
}

/// The reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitEnd {
    /// The event has happened.
    Happened,
    /// The time limit has passed.
    Limit,
    /// The fabric is at rest: no event is scheduled in it, and nothing happens unless another process acts. A process with other threads then
    /// lets these run for a moment. If it waits for an interrupt again, the wait continues until the time limit.
    Quiet,
    /// The wait was interrupted because another process makes a call. The process should wait again.
    Interrupted,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Simulated time since the session began, in femtoseconds.
    pub now: u64,
    /// Whether an operation in the fabric may still write to memory or signal an interrupt.
    pub active: bool,
    /// The reply, or the failure.
    pub outcome: Result<Reply, Failure>,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The request is done; there is no data.
    Done,
    /// The properties of the session.
    Welcome(Welcome),
    /// The list of objects.
    Objects(Vec<Object>),
    /// An object is open.
    Opened {
        /// The new handle.
        handle: u64,
    },
    /// The loaded bytes.
    Bytes(Vec<u8>),
    /// The loaded register.
    Value(u64),
    /// Memory is shared.
    Pinned {
        /// The new buffer.
        buffer: u64,
        /// The address for devices.
        address: u64,
    },
    /// A wait has ended.
    Woken(WaitEnd),
}

/// The properties of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The clock of the process.
    pub clock: Clock,
    /// The real time at which the session began, in nanoseconds since 1970.
    pub realtime: u64,
    /// The monotonic time at which the session began, in nanoseconds.
    pub monotonic: u64,
    /// Costs of work of the process that is not simulated.
    pub costs: Costs,
    /// Major version, minor version and patch that the library reports to the process; `None` for its own.
    pub release: Option<(u8, u8, u16)>,
}

/// The clock of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// Simulated time, which does not advance while no process makes a call.
    Virtual,
    /// Real time, while the simulation runs as fast as it can.
    Wall,
}

/// Costs of work of a process that is not simulated, in femtoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Write of one byte of a buffer; the first write of a page after a call costs as much as the whole page.
    pub written_byte: u64,
    /// Read of one byte of a buffer; the first read of a page costs as much as the whole page.
    pub read_byte: u64,
    /// Read of the clock.
    pub clock: u64,
    /// A system call.
    pub system_call: u64,
    /// A repeated read of a byte that a program polls until a device writes it.
    pub poll: u64,
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The FPGA of a card, with its management.
    Device,
    /// The accelerator in a slot of a device.
    Accelerator,
}

/// An object that can be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The kind of the object.
    pub kind: Kind,
    /// For an accelerator, the index of its device in the list.
    pub parent: Option<u32>,
    /// The name of the card in the scenario.
    pub name: String,
    /// PCI segment.
    pub segment: u16,
    /// PCI bus.
    pub bus: u8,
    /// PCI device.
    pub device: u8,
    /// PCI function.
    pub function: u8,
    /// The number of the processor socket of the host that has the root port above the object.
    pub socket: u8,
    /// Vendor ID.
    pub vendor_id: u16,
    /// Device ID.
    pub device_id: u16,
    /// Subsystem vendor ID.
    pub subsystem_vendor_id: u16,
    /// Subsystem ID.
    pub subsystem_id: u16,
    /// A unique number in the session.
    pub object_id: u64,
    /// The UUID of an accelerator, or of a device's interface for accelerators. The first byte is also the first byte of the text form.
    pub guid: [u8; 16],
    /// Whether a process has the object open exclusively.
    pub assigned: bool,
    /// Number of register ranges.
    pub mmio: u32,
    /// Size of the first register range in bytes.
    pub mmio_size: u64,
    /// Number of interrupts that a process can subscribe to.
    pub interrupts: u32,
    /// Number of slots for accelerators.
    pub slots: u32,
    /// For an accelerator, the number of its slot.
    pub slot: u32,
    /// ID of the static part of the bitstream.
    pub bitstream_id: u64,
    /// Size of the local memory in bytes.
    pub local_memory: u64,
}

/// The reason why a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// An argument is invalid.
    Invalid,
    /// Another process uses the object.
    Busy,
    /// The object does not exist, or not any longer.
    NotFound,
    /// There is not enough memory.
    NoMemory,
    /// The object does not support the request.
    NotSupported,
    /// The fabric answered with an error, or did not answer.
    Exception,
    /// The file is not a bitstream, or is a bitstream for another device.
    NotABitstream,
}

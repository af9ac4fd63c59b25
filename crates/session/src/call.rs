//! What a process asks for, and what it is told.

use serde::{Deserialize, Serialize};

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// How long the process has worked since its last call, in femtoseconds of simulated time: it passes before the request is
    /// looked at.
    pub worked: u64,
    /// What it asks for.
    pub request: Request,
}

/// What a process asks for. Handles and buffers are numbers that it was given before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The first call: [`Reply::Welcome`].
    Hello {
        /// The [version](crate::VERSION) of what it says.
        version: u32,
    },
    /// What there is: [`Reply::Objects`].
    Objects,
    /// To open one of them, by its place in the list: [`Reply::Opened`].
    Open {
        /// Its place in the list.
        object: u32,
        /// Whether others may open it at the same time.
        shared: bool,
    },
    /// To close it. Buffers and interrupts go with it.
    Close {
        /// What was opened.
        handle: u64,
    },
    /// To reset the port of an accelerator.
    Reset {
        /// What was opened.
        handle: u64,
    },
    /// To load from the registers: [`Reply::Bytes`].
    Load {
        /// What was opened.
        handle: u64,
        /// Where, from the beginning of its registers.
        offset: u64,
        /// How many bytes: 4, 8 or 64, at a multiple of that.
        len: u32,
    },
    /// To store to the registers.
    Store {
        /// What was opened.
        handle: u64,
        /// Where, from the beginning of its registers.
        offset: u64,
        /// What: 4, 8 or 64 bytes, at a multiple of that.
        bytes: Vec<u8>,
    },
    /// To share memory with devices, which comes with the call as a file: [`Reply::Pinned`].
    Pin {
        /// What was opened.
        handle: u64,
        /// Bytes, a multiple of `page`, at the beginning of the file.
        size: u64,
        /// The size of the pages that it is in, of which its address there is a multiple.
        page: u64,
    },
    /// To end that.
    Unpin {
        /// What was opened.
        handle: u64,
        /// What was pinned.
        buffer: u64,
    },
    /// To hear of an event by an `eventfd`, which comes with the call.
    Listen {
        /// What was opened.
        handle: u64,
        /// What may happen to it.
        event: Event,
    },
    /// To hear of it no more.
    Ignore {
        /// What was opened.
        handle: u64,
        /// What may happen to it.
        event: Event,
    },
    /// What a register says that records errors: [`Reply::Value`].
    LoadErrors {
        /// The place of the object in the list.
        object: u32,
        /// Which register of it.
        register: ErrorRegister,
    },
    /// To store to it: to take errors back that were recorded, by ones, or to inject some.
    StoreErrors {
        /// The place of the object in the list.
        object: u32,
        /// Which register of it.
        register: ErrorRegister,
        /// What.
        value: u64,
    },
    /// To load a bitstream, which comes with the call as a file, into a slot.
    Configure {
        /// What was opened: a device.
        handle: u64,
        /// Which slot.
        slot: u32,
        /// The bytes of the bitstream.
        size: u64,
        /// Whether it may replace an accelerator that is open.
        force: bool,
    },
    /// To wait: [`Reply::Woken`].
    Wait {
        /// For what.
        until: Until,
        /// No longer than to then, in femtoseconds; `u64::MAX` for no end.
        limit: u64,
    },
}

/// What a process may hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Event {
    /// That interrupt of an accelerator.
    Interrupt(u32),
    /// That something new has gone wrong.
    Error,
}

/// A register that records errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorRegister {
    /// Of a device: errors of its management.
    Management,
    /// The first of them.
    FirstManagement,
    /// The one after that.
    NextManagement,
    /// Of a device: errors of its link to the host.
    Link,
    /// Those of a second link.
    SecondLink,
    /// Of a device: what is the matter that is not fatal.
    Nonfatal,
    /// What is.
    Fatal,
    /// What software has injected.
    Injected,
    /// Of an accelerator: what it has done that its port does not allow.
    Port,
    /// What came first of it.
    FirstPort,
    /// The request that was malformed.
    MalformedRequest,
}

/// What a process may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// The time.
    Limit,
    /// That a device writes any of these bytes of a buffer.
    Written {
        /// What was pinned.
        buffer: u64,
        /// The first byte.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// That an interrupt is told to this process.
    Interrupt,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// What it was for has happened.
    Happened,
    /// The time has come.
    Limit,
    /// Nothing more will happen in the fabric soon, unless somebody does something: a process with threads gives them a moment, and
    /// who waits for an interrupt again waits for what comes late.
    Quiet,
    /// Another process wants to go on: wait again.
    Interrupted,
}

/// What comes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The time, in femtoseconds since the session began.
    pub now: u64,
    /// Whether anything in the fabric is under way that may write to memory or interrupt.
    pub active: bool,
    /// What was asked for, or why not.
    pub outcome: Result<Reply, Failure>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Nothing but that it is done.
    Done,
    /// How the session is.
    Welcome(Welcome),
    /// What there is.
    Objects(Vec<Object>),
    /// It is open.
    Opened {
        /// As what.
        handle: u64,
    },
    /// These bytes.
    Bytes(Vec<u8>),
    /// This word.
    Value(u64),
    /// Memory is shared.
    Pinned {
        /// As what.
        buffer: u64,
        /// Where devices see it.
        address: u64,
    },
    /// A wait is over.
    Woken(Why),
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Whose clock the process reads.
    pub clock: Clock,
    /// The real time at which the session began, in nanoseconds since 1970.
    pub realtime: u64,
    /// The monotonic time at which it began, in nanoseconds.
    pub monotonic: u64,
    /// What the work of the process costs that is not simulated.
    pub costs: Costs,
}

/// Whose clock a process reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// That of the simulation, which stands still while nobody asks for anything.
    Virtual,
    /// That of the machine, while the simulation runs as fast as it can.
    Wall,
}

/// What the work of a process costs that is not simulated, in femtoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// To write one byte of a buffer: a page is charged as a whole when it is first touched after a call.
    pub written_byte: u64,
    /// To read one byte of a buffer: a page that is first read is charged so.
    pub read_byte: u64,
    /// To read the clock.
    pub clock: u64,
    /// A system call.
    pub system_call: u64,
    /// To look once more at a byte that a device has written.
    pub poll: u64,
}

/// What kind of thing an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The FPGA of a card, with its management.
    Device,
    /// What is loaded in a slot of it.
    Accelerator,
}

/// Something that can be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// What kind of thing it is.
    pub kind: Kind,
    /// The place of its device in the list, for an accelerator.
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
    /// The socket of the host that it is below.
    pub socket: u8,
    /// Vendor ID.
    pub vendor_id: u16,
    /// Device ID.
    pub device_id: u16,
    /// Subsystem vendor ID.
    pub subsystem_vendor_id: u16,
    /// Subsystem ID.
    pub subsystem_id: u16,
    /// A number that no other object of the session has.
    pub object_id: u64,
    /// Of an accelerator, the ID of its function; of a device, that of its interface for accelerators. The first byte is the one
    /// that is written first.
    pub guid: [u8; 16],
    /// Whether a process has it open for itself alone.
    pub assigned: bool,
    /// Ranges of registers.
    pub mmio: u32,
    /// Bytes of the first of them.
    pub mmio_size: u64,
    /// Interrupts that a process may listen to.
    pub interrupts: u32,
    /// Slots for accelerators.
    pub slots: u32,
    /// The ID of the static part of its bitstream.
    pub bitstream_id: u64,
    /// Bytes of its local memory.
    pub local_memory: u64,
}

/// Why something is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// Something that was given has no meaning.
    Invalid,
    /// Another has it.
    Busy,
    /// There is no such thing (any more).
    NotFound,
    /// There is no room.
    NoMemory,
    /// It cannot be done with this thing.
    NotSupported,
    /// The fabric answered with an error, or not at all.
    Exception,
    /// The bitstream is none, or for another device.
    NotABitstream,
}

//! The requests of a model to the PCI Express core around it.

use crate::Defect;
use crate::numbered::numbered;

/// The PCI Express core around a model, as the model can use it during one call.
///
/// Addresses are addresses of PCI Express. The core divides requests at page boundaries, at the largest payload and at the largest read request.
/// It sends posted requests and interrupts in the order in which they were made. While software has not enabled bus mastering, requests wait.
pub struct Shell<'p> {
    port: &'p mut dyn Port,
    function: u8,
    mark: Mark,
}

/// Attributes of a request besides its address and its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The traffic class of the packets, 0 to 7.
    pub traffic_class: u8,
    /// The flow of the data, if the data belongs to a flow.
    pub label: Option<Label>,
}

/// The position of data in a flow of a scenario, for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The number of the flow.
    pub flow: u32,
    /// The offset of the first byte in the flow.
    pub offset: u64,
    /// The time at which the command that transfers the data began, in femtoseconds.
    pub born_fs: u64,
    /// Whether this is the last data of the command.
    pub last: bool,
}

/// The simulator's side of a [`Shell`]: a device in a fabric, a [`Bench`](crate::Bench), or the simulator behind the C interface.
pub trait Port {
    /// Simulated time in femtoseconds.
    fn now_fs(&self) -> u64;

    /// Accepts a request of a function, or rejects it.
    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse>;

    /// Accepts a request of a function with attributes, or rejects it. A port without attributes, such as the port of a library, ignores them.
    fn ask_marked(
        &mut self,
        function: u8,
        _mark: Mark,
        request: Request<'_>,
    ) -> Result<(), Misuse> {
        self.ask(function, request)
    }

    /// Records that the data of a flow has arrived in the model. A port without flows ignores this.
    fn deliver(&mut self, _label: Label, _bytes: &[u8]) {}

    /// The number of interrupt vectors of a function; `None` if the port does not have this number, as the port of a library.
    fn vectors(&self) -> Option<u16> {
        None
    }

    /// Clears the pending bit of a vector of a function. A port without MSI-X tables ignores this.
    fn withdraw(&mut self, _function: u8, _vector: u16) {}
}

/// A request of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request<'r> {
    /// A read of `len` bytes of memory at `address`.
    Read {
        /// The tag of the request, which the model chooses.
        tag: u64,
        /// The address of the first byte.
        address: u64,
        /// The number of bytes.
        len: u64,
    },
    /// A write of `bytes` to memory at `address`.
    Write {
        /// The tag of the request, which the model chooses; none if [`Model::sent`](crate::Model::sent) need not be called.
        tag: Option<u64>,
        /// The address of the first byte.
        address: u64,
        /// The bytes.
        bytes: &'r [u8],
    },
    /// An atomic operation on memory at `address`.
    Atomic {
        /// The tag of the request, which the model chooses.
        tag: u64,
        /// The operation.
        operation: Operation,
        /// The address of the value, a multiple of its size.
        address: u64,
        /// The operand. A compare and swap has two: the value to compare with, and then the new value.
        operands: &'r [u8],
    },
    /// The signal of interrupt `vector`.
    Interrupt {
        /// The MSI-X vector, from 0.
        vector: u16,
    },
    /// An error message to the root complex.
    Message {
        /// The severity of the error.
        severity: Severity,
    },
    /// A timer, after which [`Model::expired`](crate::Model::expired) is called.
    Timer {
        /// The number of the timer, which the model chooses.
        timer: u64,
        /// The time from now, in femtoseconds.
        after_fs: u64,
    },
    /// The answer to a read of registers. Without bytes, it refuses the read.
    Answer {
        /// The ticket of the read.
        ticket: Ticket,
        /// The bytes of the answer, as many as the read has requested.
        bytes: Option<&'r [u8]>,
    },
    /// The answer to a read of registers by a completion that is malformed on purpose.
    Malformed {
        /// The ticket of the read.
        ticket: Ticket,
        /// The bytes of the answer, as many as the read has requested.
        bytes: &'r [u8],
        /// The error in the completion.
        defect: Defect,
    },
    /// The end of the run, because the model cannot continue.
    Fail {
        /// The reason.
        why: &'r str,
    },
}

/// The number of a read of registers that the model has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds the operand to the value. Operand and value have 4 or 8 bytes.
    FetchAdd,
    /// Replaces the value by the operand. Operand and value have 4 or 8 bytes.
    Swap,
    /// Replaces the value by the second operand if the value equals the first one. Operands and value have 4, 8 or 16 bytes each.
    CompareAndSwap,
}

impl Operation {
    /// All operations, in the order of their numbers in the C interface, from 0 on.
    pub const ALL: [Self; 3] = [Self::FetchAdd, Self::Swap, Self::CompareAndSwap];

    /// The number of operands, which all have the size of the value.
    pub fn operands(self) -> usize {
        match self {
            Operation::FetchAdd | Operation::Swap => 1,
            Operation::CompareAndSwap => 2,
        }
    }
}

/// The severity of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A correctable error (`ERR_COR`).
    Correctable,
    /// An uncorrectable error that is not fatal (`ERR_NONFATAL`).
    NonFatal,
    /// A fatal error (`ERR_FATAL`).
    Fatal,
}

impl Severity {
    /// All severities, in the order of their numbers in the C interface, from 0 on.
    pub const ALL: [Self; 3] = [Self::Correctable, Self::NonFatal, Self::Fatal];
}

numbered! {
    /// The reason why the shell rejects a request.
    Misuse {
        /// A request for no bytes, or for more than 16 MiB.
        Length = "a request is for 1 byte to 16 MiB",
        /// The request extends beyond the last address.
        Address = "the request goes beyond the last address of 64 bits",
        /// An atomic operation has a value of another size, or an address that is no multiple of the size.
        Operand = "an atomic operation is on 4 or 8 bytes, a compare and swap also on 16, at a multiple of that, with as many bytes for each operand",
        /// The function has no interrupt vector with this number.
        NoSuchVector = "the function has no such interrupt vector; declare more, or use one from 0 on",
        /// The device has no function with this number.
        NoSuchFunction = "the device has no such function now",
        /// No read of registers waits for an answer with this ticket.
        NoSuchTicket = "no read waits for an answer with this ticket",
        /// The number of bytes of the answer differs from the number of bytes of the read.
        AnswerLength = "an answer has as many bytes as the read asked for",
        /// More than 65,536 requests, or 256 MiB of data, wait to be sent.
        TooMany = "more than 65,536 requests or 256 MiB wait to be sent; wait until some have gone",
        /// The time of a timer is beyond the end of simulated time.
        TooLate = "the timer is beyond the end of simulated time",
    }
}

impl std::error::Error for Misuse {}

impl<'p> Shell<'p> {
    /// The shell for requests of the physical function, which it passes to `port`.
    pub fn new(port: &'p mut dyn Port) -> Self {
        Shell {
            port,
            function: 0,
            mark: Mark::default(),
        }
    }

    /// The shell for requests of another function.
    pub fn of(&mut self, function: u8) -> Shell<'_> {
        Shell {
            port: self.port,
            function,
            mark: self.mark,
        }
    }

    /// The shell for requests with these attributes.
    pub fn marked(&mut self, mark: Mark) -> Shell<'_> {
        Shell {
            port: self.port,
            function: self.function,
            mark,
        }
    }

    /// Simulated time in femtoseconds.
    pub fn now_fs(&self) -> u64 {
        self.port.now_fs()
    }

    /// The number of interrupt vectors of the function; none if the port does not have this number.
    pub fn vectors(&self) -> Option<u16> {
        self.port.vectors()
    }

    /// Makes a request of any kind.
    pub fn ask(&mut self, request: Request<'_>) -> Result<(), Misuse> {
        self.port.ask_marked(self.function, self.mark, request)
    }

    /// Requests `len` bytes of memory at `address`. [`Model::completed`](crate::Model::completed) is called with the data and this tag. Requests
    /// end in any order.
    pub fn read(&mut self, tag: u64, address: u64, len: u64) -> Result<(), Misuse> {
        self.ask(Request::Read { tag, address, len })
    }

    /// Writes `bytes` to memory at `address`, after all earlier writes.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Misuse> {
        self.ask(Request::Write {
            tag: None,
            address,
            bytes,
        })
    }

    /// Writes `bytes` to memory at `address`, after all earlier writes. [`Model::sent`](crate::Model::sent) is called when the last packet has
    /// left.
    pub fn write_tagged(&mut self, tag: u64, address: u64, bytes: &[u8]) -> Result<(), Misuse> {
        self.ask(Request::Write {
            tag: Some(tag),
            address,
            bytes,
        })
    }

    /// Makes an atomic operation. [`Model::completed`](crate::Model::completed) is called with the previous value.
    pub fn atomic(
        &mut self,
        tag: u64,
        operation: Operation,
        address: u64,
        operands: &[u8],
    ) -> Result<(), Misuse> {
        self.ask(Request::Atomic {
            tag,
            operation,
            address,
            operands,
        })
    }

    /// Sends interrupt `vector`, after all earlier writes. While software masks the vector, the interrupt is pending.
    pub fn interrupt(&mut self, vector: u16) -> Result<(), Misuse> {
        self.ask(Request::Interrupt { vector })
    }

    /// Clears the pending bit of `vector`, because software has served the cause of the interrupt.
    pub fn withdraw(&mut self, vector: u16) {
        self.port.withdraw(self.function, vector);
    }

    /// Reports that the data of a flow has arrived in the model, for measurements.
    pub fn deliver(&mut self, label: Label, bytes: &[u8]) {
        self.port.deliver(label, bytes);
    }

    /// Reports an internal error of the device to the root complex, after all earlier writes, if software has enabled error messages.
    pub fn report(&mut self, severity: Severity) -> Result<(), Misuse> {
        self.ask(Request::Message { severity })
    }

    /// Sets a timer. [`Model::expired`](crate::Model::expired) is called after `after_fs` femtoseconds, but after one femtosecond at least. Each
    /// call sets an additional timer.
    pub fn wake_after(&mut self, timer: u64, after_fs: u64) -> Result<(), Misuse> {
        self.ask(Request::Timer { timer, after_fs })
    }

    /// Answers a read of registers for which the model has returned [`Answer::Later`](crate::Answer::Later).
    pub fn answer(&mut self, ticket: Ticket, bytes: &[u8]) -> Result<(), Misuse> {
        self.ask(Request::Answer {
            ticket,
            bytes: Some(bytes),
        })
    }

    /// Refuses a read of registers for which the model has returned [`Answer::Later`](crate::Answer::Later): Completer Abort.
    pub fn abort(&mut self, ticket: Ticket) -> Result<(), Misuse> {
        self.ask(Request::Answer {
            ticket,
            bytes: None,
        })
    }

    /// Answers a read of registers as [`answer`](Self::answer) does, but with a malformed completion, to test how the requester handles it.
    pub fn answer_malformed(
        &mut self,
        ticket: Ticket,
        bytes: &[u8],
        defect: Defect,
    ) -> Result<(), Misuse> {
        self.ask(Request::Malformed {
            ticket,
            bytes,
            defect,
        })
    }

    /// Ends the run, because the model cannot continue.
    pub fn fail(&mut self, why: &str) {
        // A port never rejects this request.
        let _ = self.ask(Request::Fail { why });
    }
}

/// The largest request in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

impl Request<'_> {
    /// Checks the parts of a request that are checked in the same way for every port: lengths, addresses and operands.
    pub fn check(&self) -> Result<(), Misuse> {
        let span = |address: u64, len: u64| {
            if len == 0 || len > LARGEST {
                return Err(Misuse::Length);
            }
            address
                .checked_add(len - 1)
                .map(drop)
                .ok_or(Misuse::Address)
        };
        match *self {
            Request::Read { address, len, .. } => span(address, len),
            Request::Write { address, bytes, .. } => span(address, bytes.len() as u64),
            Request::Atomic {
                operation,
                address,
                operands,
                ..
            } => {
                let values = operation.operands();
                let width = operands.len() / values;
                let widest = 8 * values;
                let is_right = operands.len() == values * width
                    && matches!(width, 4 | 8 | 16)
                    && width <= widest
                    && address.is_multiple_of(width as u64);
                is_right.then_some(()).ok_or(Misuse::Operand)
            }
            _ => Ok(()),
        }
    }
}

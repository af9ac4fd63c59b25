//! The requests of a model to the PCI Express core around it.

use crate::Defect;
use crate::numbered::numbered;

/// The core around a model, during one call.
///
/// Addresses are addresses of PCI Express. The core cuts requests at pages, at the largest payload and at the largest read request, and sends
/// posted requests and interrupts in the order in which they were made. While software has not enabled bus mastering, requests wait.
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
    /// The flow that the data belongs to, if it belongs to one.
    pub label: Option<Label>,
}

/// The place of data in a flow of a scenario, for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The number of the flow.
    pub flow: u32,
    /// The offset of the first byte in the flow.
    pub offset: u64,
    /// The time at which the command that moves the data began, in femtoseconds.
    pub born_fs: u64,
    /// Whether the command has no data behind this.
    pub last: bool,
}

/// The other side of a [`Shell`]: a device in a fabric, a [`Bench`](crate::Bench), or the simulator behind the C interface.
pub trait Port {
    /// Simulated time in femtoseconds.
    fn now_fs(&self) -> u64;

    /// Takes a request of a function.
    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse>;

    /// Takes a request of a function with attributes. A port that has none, such as that of a library, ignores them.
    fn ask_marked(
        &mut self,
        function: u8,
        _mark: Mark,
        request: Request<'_>,
    ) -> Result<(), Misuse> {
        self.ask(function, request)
    }

    /// Takes note that the data of a flow has arrived in the model. A port without flows ignores it.
    fn deliver(&mut self, _label: Label, _bytes: &[u8]) {}

    /// The number of interrupt vectors of a function; `None` from a port that does not know it, such as that of a library.
    fn vectors(&self) -> Option<u16> {
        None
    }

    /// Clears the pending bit of a vector of a function. A port without MSI-X tables ignores it.
    fn withdraw(&mut self, _function: u8, _vector: u16) {}
}

/// A request of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request<'r> {
    /// A read of `len` bytes of memory at `address`.
    Read {
        /// The model's own number for the request.
        tag: u64,
        /// The address of the first byte.
        address: u64,
        /// The number of bytes.
        len: u64,
    },
    /// A write of `bytes` to memory at `address`.
    Write {
        /// The model's own number for the request, if [`Model::sent`](crate::Model::sent) is to be called.
        tag: Option<u64>,
        /// The address of the first byte.
        address: u64,
        /// The bytes.
        bytes: &'r [u8],
    },
    /// An atomic operation on memory at `address`.
    Atomic {
        /// The model's own number for the request.
        tag: u64,
        /// The operation.
        operation: Operation,
        /// The address of the value, a multiple of its size.
        address: u64,
        /// The operand; for a compare and swap, the value to compare with, and then the new value.
        operands: &'r [u8],
    },
    /// Interrupt `vector`.
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
        /// The model's own number for the timer.
        timer: u64,
        /// The time from now, in femtoseconds.
        after_fs: u64,
    },
    /// The answer to a read of registers; no bytes if it is refused.
    Answer {
        /// The ticket of the read.
        ticket: Ticket,
        /// The bytes, as many as the read has requested.
        bytes: Option<&'r [u8]>,
    },
    /// The answer to a read of registers by a malformed completion, on purpose.
    Malformed {
        /// The ticket of the read.
        ticket: Ticket,
        /// The bytes, as many as the read has requested.
        bytes: &'r [u8],
        /// The error in the completion.
        defect: Defect,
    },
    /// The end of the run, because the model cannot go on.
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
    /// Adds the operand, of 4 or 8 bytes.
    FetchAdd,
    /// Writes the operand, of 4 or 8 bytes.
    Swap,
    /// Writes the second operand if the first one equals the value; of 4, 8 or 16 bytes each.
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
    /// `ERR_COR`.
    Correctable,
    /// `ERR_NONFATAL`.
    NonFatal,
    /// `ERR_FATAL`.
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
        /// The bytes go beyond the last address.
        Address = "the request goes beyond the last address of 64 bits",
        /// An atomic operation on a value of another size, or at an address that is no multiple of it.
        Operand = "an atomic operation is on 4 or 8 bytes, a compare and swap also on 16, at a multiple of that, with as many bytes for each operand",
        /// The function has no such vector.
        NoSuchVector = "the function has no such interrupt vector; declare more, or use one from 0 on",
        /// The device has no such function.
        NoSuchFunction = "the device has no such function now",
        /// No read of registers waits for an answer with this ticket.
        NoSuchTicket = "no read waits for an answer with this ticket",
        /// The answer has another number of bytes than the read.
        AnswerLength = "an answer has as many bytes as the read asked for",
        /// More than 65,536 requests, or 256 MiB of data, wait to be sent.
        TooMany = "more than 65,536 requests or 256 MiB wait to be sent; wait until some have gone",
        /// The time of a timer is beyond the end of simulated time.
        TooLate = "the timer is beyond the end of simulated time",
    }
}

impl std::error::Error for Misuse {}

impl<'p> Shell<'p> {
    /// The shell at `port`, for requests of the physical function.
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

    /// The number of interrupt vectors of the function, where the port knows it.
    pub fn vectors(&self) -> Option<u16> {
        self.port.vectors()
    }

    /// Makes a request of any kind.
    pub fn ask(&mut self, request: Request<'_>) -> Result<(), Misuse> {
        self.port.ask_marked(self.function, self.mark, request)
    }

    /// Reads `len` bytes of memory at `address`. [`Model::completed`](crate::Model::completed) brings them, with this tag. Requests end in
    /// any order.
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

    /// Writes `bytes` to memory at `address`, after all earlier writes; [`Model::sent`](crate::Model::sent) says when they have left.
    pub fn write_tagged(&mut self, tag: u64, address: u64, bytes: &[u8]) -> Result<(), Misuse> {
        self.ask(Request::Write {
            tag: Some(tag),
            address,
            bytes,
        })
    }

    /// Makes an atomic operation. [`Model::completed`](crate::Model::completed) brings the value before it.
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

    /// Sends interrupt `vector`, after all earlier writes. While software masks it, it is pending.
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

    /// Requests [`Model::expired`](crate::Model::expired) in `after_fs` femtoseconds, one at least. Each call sets one more timer.
    pub fn wake_after(&mut self, timer: u64, after_fs: u64) -> Result<(), Misuse> {
        self.ask(Request::Timer { timer, after_fs })
    }

    /// Answers a read of registers for which the model said [`Answer::Later`](crate::Answer::Later).
    pub fn answer(&mut self, ticket: Ticket, bytes: &[u8]) -> Result<(), Misuse> {
        self.ask(Request::Answer {
            ticket,
            bytes: Some(bytes),
        })
    }

    /// Refuses a read of registers for which the model said [`Answer::Later`](crate::Answer::Later): Completer Abort.
    pub fn abort(&mut self, ticket: Ticket) -> Result<(), Misuse> {
        self.ask(Request::Answer {
            ticket,
            bytes: None,
        })
    }

    /// Answers a read of registers as [`answer`](Self::answer) does, by a completion with an error, to test how its requester takes it.
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

    /// Ends the run, because the model cannot go on.
    pub fn fail(&mut self, why: &str) {
        // A port always takes this request.
        let _ = self.ask(Request::Fail { why });
    }
}

/// The largest request in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

impl Request<'_> {
    /// Checks the parts of a request that can be wrong for every port: lengths, addresses and operands.
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

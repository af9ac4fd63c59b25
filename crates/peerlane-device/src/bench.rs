//! A bench for one model, without a fabric. The test takes the place of the software and of the memory of the host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;

use crate::limits::{MOST_WAITING, MOST_WAITING_BYTES, timer_due};
use crate::{
    Access, Answer, Declare, Defect, Description, Failure, Misuse, Model, Operation, Port, Request,
    Settings, Severity, Shell, Ticket,
};

/// A bench with one model.
///
/// The test accesses registers, [takes](Self::take) each request of the model, and completes it or lets it fail. Time advances from timer to
/// timer, and only while the bench waits for the model.
///
/// ```
/// # use peerlane_device::{Access, Answer, Bar, Bench, Declare, Description, Model, Settings, Shell};
/// # struct Adder(u32);
/// # impl Model for Adder {
/// #     fn reset(&mut self, _: u8, _: &mut Shell<'_>) { self.0 = 0; }
/// #     fn read(&mut self, access: Access, into: &mut [u8], _: &mut Shell<'_>) -> Answer {
/// #         access.fill(into, 0, &self.0.to_le_bytes());
/// #         Answer::Now
/// #     }
/// #     fn write(&mut self, _: Access, bytes: &[u8], _: &mut Shell<'_>) {
/// #         self.0 += u32::from(bytes[0]);
/// #     }
/// # }
/// # impl Declare for Adder {
/// #     fn description() -> Description {
/// #         Description { bars: vec![Bar::new(0, 4096)], ..Description::default() }
/// #     }
/// #     fn new(_: &Settings) -> Self { Adder(0) }
/// # }
/// let mut bench = Bench::new::<Adder>(&Settings::default());
/// bench.write(0, 0, &[5, 0, 0, 0]).unwrap();
/// bench.write(0, 0, &[7, 0, 0, 0]).unwrap();
/// assert_eq!(bench.read(0, 0, 4).unwrap(), [12, 0, 0, 0]);
/// ```
pub struct Bench {
    model: Box<dyn Model>,
    description: Description,
    inside: Inside,
}

/// A request that a model has made on a bench.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A read of memory.
    Read {
        /// The number of the function that makes the request.
        function: u8,
        /// The tag that the model has given the request.
        tag: u64,
        /// The address of the first byte.
        address: u64,
        /// The number of bytes.
        len: u64,
    },
    /// A write to memory.
    Write {
        /// The number of the function that makes the request.
        function: u8,
        /// The address of the first byte.
        address: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An atomic operation on memory.
    Atomic {
        /// The number of the function that makes the request.
        function: u8,
        /// The tag that the model has given the request.
        tag: u64,
        /// The operation.
        operation: Operation,
        /// The address of the value.
        address: u64,
        /// The operands.
        operands: Vec<u8>,
    },
    /// An interrupt.
    Interrupt {
        /// The number of the function that makes the request.
        function: u8,
        /// The interrupt vector.
        vector: u16,
    },
    /// An error message.
    Message {
        /// The number of the function that makes the request.
        function: u8,
        /// The severity of the error.
        severity: Severity,
    },
}

/// The reason why an action on the bench cannot be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stalled {
    /// The model refused the access with Unsupported Request, or none of its BARs contains the access.
    Unsupported,
    /// The model refused the access with Completer Abort.
    Aborted,
    /// The model has answered with a completion that is malformed on purpose.
    Malformed(Defect),
    /// The model has not answered, and none of its timers is left.
    Quiet,
    /// No request of the model with this tag waits for data.
    NoSuchTag(u64),
    /// The number of data bytes differs from the length of the request.
    Length,
    /// The model has ended the run for this reason.
    Failed(String),
    /// The model sets more and more timers, without an end.
    Endless,
}

impl fmt::Display for Stalled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stalled::Unsupported => formatter.write_str("unsupported request"),
            Stalled::Aborted => formatter.write_str("completer abort"),
            Stalled::Malformed(defect) => {
                write!(formatter, "malformed completion on purpose ({defect})")
            }
            Stalled::Quiet => {
                formatter.write_str("the model does not answer, and no timer of it is left")
            }
            Stalled::NoSuchTag(tag) => {
                write!(formatter, "no request with tag {tag} waits for data")
            }
            Stalled::Length => formatter.write_str("the data has another length than the request"),
            Stalled::Failed(why) => formatter.write_str(why),
            Stalled::Endless => write!(
                formatter,
                "the model has set {MOST_TIMERS} timers without a request or an answer"
            ),
        }
    }
}

impl std::error::Error for Stalled {}

/// The largest number of timers that may expire while the bench waits for the model.
const MOST_TIMERS: u32 = 1_000_000;

/// The state of the bench that the model uses through the shell.
#[derive(Default)]
struct Inside {
    now_fs: u64,
    vectors: u16,
    /// The highest number of a function.
    last_function: u8,
    asked: VecDeque<(Asked, Option<u64>)>,
    /// The tags and the lengths of the requests that the test has taken and not completed, oldest first. Several requests may have the same tag.
    outstanding: Vec<(u64, u64)>,
    /// Number of bytes of all requests in progress.
    bytes: u64,
    /// The timers, each with its time, order and number.
    timers: BinaryHeap<Reverse<(u64, u64, u64)>>,
    timers_set: u64,
    /// The reads of registers that the model has not answered, with their lengths.
    open: BTreeMap<Ticket, u32>,
    answers: BTreeMap<Ticket, Result<Vec<u8>, Stalled>>,
    failed: Option<String>,
}

impl Asked {
    /// The number of bytes that the request reads or writes.
    fn bytes(&self) -> u64 {
        match self {
            Asked::Read { len, .. } => *len,
            Asked::Write { bytes, .. } => bytes.len() as u64,
            Asked::Atomic {
                operation,
                operands,
                ..
            } => (operands.len() / operation.operands()) as u64,
            Asked::Interrupt { .. } | Asked::Message { .. } => 0,
        }
    }
}

impl Inside {
    /// Adds a request, unless too many requests or bytes are in progress. `sent` is the tag of a write that has a tag.
    fn take_in(&mut self, asked: Asked, sent: Option<u64>) -> Result<(), Misuse> {
        let waiting = self.asked.len() + self.outstanding.len();
        let bytes = asked.bytes();
        if waiting >= MOST_WAITING || self.bytes + bytes > MOST_WAITING_BYTES {
            return Err(Misuse::TooMany);
        }
        self.bytes += bytes;
        self.asked.push_back((asked, sent));
        Ok(())
    }

    /// Handles the answer to a read of registers. `bytes` is the data of the answer, if it has data.
    fn answer(
        &mut self,
        ticket: Ticket,
        bytes: Option<&[u8]>,
        answer: Result<Vec<u8>, Stalled>,
    ) -> Result<(), Misuse> {
        let len = self.open.get(&ticket).ok_or(Misuse::NoSuchTicket)?;
        if bytes.is_some_and(|bytes| bytes.len() != *len as usize) {
            return Err(Misuse::AnswerLength);
        }
        self.open.remove(&ticket);
        self.answers.insert(ticket, answer);
        Ok(())
    }

    /// Ends the oldest request with the tag `tag` that the test has taken. If `len` is known, only requests for `len` bytes are considered.
    fn end(&mut self, tag: u64, len: Option<u64>) -> Result<(), Stalled> {
        let mut with_tag = self.outstanding.iter().enumerate();
        let found = with_tag.clone().find(|(_, (one, has))| {
            let fits = len.is_none_or(|len| len == *has);
            *one == tag && fits
        });
        let Some((place, (_, bytes))) = found else {
            let is_known = with_tag.any(|(_, (one, _))| *one == tag);
            return Err(if is_known {
                Stalled::Length
            } else {
                Stalled::NoSuchTag(tag)
            });
        };
        self.bytes -= bytes;
        self.outstanding.remove(place);
        Ok(())
    }
}

impl Port for Inside {
    fn now_fs(&self) -> u64 {
        self.now_fs
    }

    fn vectors(&self) -> Option<u16> {
        Some(self.vectors)
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        request.check()?;
        if function > self.last_function {
            return Err(Misuse::NoSuchFunction);
        }
        match request {
            Request::Read { tag, address, len } => {
                let asked = Asked::Read {
                    function,
                    tag,
                    address,
                    len,
                };
                self.take_in(asked, None)?;
            }
            Request::Write {
                tag,
                address,
                bytes,
            } => {
                let asked = Asked::Write {
                    function,
                    address,
                    bytes: bytes.to_vec(),
                };
                self.take_in(asked, tag)?;
            }
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => {
                let asked = Asked::Atomic {
                    function,
                    tag,
                    operation,
                    address,
                    operands: operands.to_vec(),
                };
                self.take_in(asked, None)?;
            }
            Request::Interrupt { vector } if vector >= self.vectors => {
                return Err(Misuse::NoSuchVector);
            }
            Request::Interrupt { vector } => {
                self.take_in(Asked::Interrupt { function, vector }, None)?;
            }
            Request::Message { severity } => {
                self.take_in(Asked::Message { function, severity }, None)?;
            }
            Request::Timer { timer, after_fs } => {
                if self.timers.len() >= MOST_WAITING {
                    return Err(Misuse::TooMany);
                }
                let due = timer_due(self.now_fs, after_fs)?;
                self.timers_set += 1;
                self.timers.push(Reverse((due, self.timers_set, timer)));
            }
            Request::Answer { ticket, bytes } => {
                let answer = bytes.map(<[u8]>::to_vec).ok_or(Stalled::Aborted);
                self.answer(ticket, bytes, answer)?;
            }
            Request::Malformed {
                ticket,
                bytes,
                defect,
            } => self.answer(ticket, Some(bytes), Err(Stalled::Malformed(defect)))?,
            Request::Fail { why } => {
                self.failed.get_or_insert_with(|| why.to_owned());
            }
        }
        Ok(())
    }
}

impl Bench {
    /// Makes a device of the model with these parameter values, and resets it.
    pub fn new<M: Declare + 'static>(settings: &Settings) -> Self {
        Self::of(Box::new(M::new(settings)), M::description())
    }

    /// Makes a device of the model with this declaration, and resets it.
    pub fn of(model: Box<dyn Model>, description: Description) -> Self {
        let mut bench = Bench {
            inside: Inside {
                vectors: description.vectors,
                last_function: description.virtual_functions,
                ..Inside::default()
            },
            model,
            description,
        };
        // A failure of the model is returned by the next call of the bench.
        let _ = bench.call(|model, shell| model.reset(0, shell));
        bench
    }

    /// Simulated time in femtoseconds.
    pub fn now_fs(&self) -> u64 {
        self.inside.now_fs
    }

    /// Resets the device, and drops its requests and timers.
    pub fn reset(&mut self) -> Result<(), Stalled> {
        let inside = &mut self.inside;
        inside.asked.clear();
        inside.outstanding.clear();
        inside.bytes = 0;
        inside.timers.clear();
        inside.open.clear();
        self.call(|model, shell| model.reset(0, shell))
    }

    /// Writes to registers.
    pub fn write(&mut self, bar: u8, offset: u64, bytes: &[u8]) -> Result<(), Stalled> {
        let access = self.access(bar, offset, bytes.len())?;
        self.call(|model, shell| model.write(access, bytes, shell))
    }

    /// Reads registers, and waits until the model answers.
    pub fn read(&mut self, bar: u8, offset: u64, len: u32) -> Result<Vec<u8>, Stalled> {
        let access = self.access(bar, offset, len as usize)?;
        let mut bytes = vec![0; len as usize];
        self.inside.open.insert(access.ticket, len);
        let answer = self.call(|model, shell| model.read(access, &mut bytes, shell))?;
        // If the model has answered through the shell within this call, that answer is used.
        let is_answered = !self.inside.open.contains_key(&access.ticket);
        if answer != Answer::Later {
            self.inside.open.remove(&access.ticket);
        }
        match answer {
            _ if is_answered => self.answer(access.ticket),
            Answer::Now => Ok(bytes),
            Answer::Unsupported => Err(Stalled::Unsupported),
            Answer::Abort => Err(Stalled::Aborted),
            Answer::Later => {
                self.wait(|inside| inside.answers.contains_key(&access.ticket))?;
                self.answer(access.ticket)
            }
        }
    }

    /// Takes the answer that the model has given through the shell.
    fn answer(&mut self, ticket: Ticket) -> Result<Vec<u8>, Stalled> {
        let answer = self.inside.answers.remove(&ticket);
        answer.unwrap_or(Err(Stalled::Aborted))
    }

    /// Takes the next request of the model. If there is none, time advances until the model makes one. Returns none if no timer of the model is
    /// left. A write counts as sent when it is taken. A read or an atomic operation waits for [`complete`](Self::complete) or
    /// [`fail`](Self::fail).
    pub fn take(&mut self) -> Result<Option<Asked>, Stalled> {
        self.check()?;
        match self.wait(|inside| !inside.asked.is_empty()) {
            Err(Stalled::Quiet) => return Ok(None),
            waited => waited?,
        }
        let Some((asked, sent)) = self.inside.asked.pop_front() else {
            return Ok(None);
        };
        match &asked {
            Asked::Read { tag, .. } | Asked::Atomic { tag, .. } => {
                self.inside.outstanding.push((*tag, asked.bytes()));
            }
            _ => self.inside.bytes -= asked.bytes(),
        }
        if let Some(tag) = sent {
            self.call(|model, shell| model.sent(tag, shell))?;
        }
        Ok(Some(asked))
    }

    /// Completes a request that was taken and has the tag `tag`, with data. If several requests have this tag, completes the oldest one that is
    /// for as many bytes.
    pub fn complete(&mut self, tag: u64, data: &[u8]) -> Result<(), Stalled> {
        self.check()?;
        self.inside.end(tag, Some(data.len() as u64))?;
        self.call(|model, shell| model.completed(tag, Ok(data), shell))
    }

    /// Ends the oldest request that was taken and has the tag `tag`, with a failure.
    pub fn fail(&mut self, tag: u64, why: Failure) -> Result<(), Stalled> {
        self.check()?;
        self.inside.end(tag, None)?;
        self.call(|model, shell| model.completed(tag, Err(why), shell))
    }

    /// Advances time to the next timer, which expires. Returns false if there is no timer.
    pub fn pass(&mut self) -> Result<bool, Stalled> {
        let Some(Reverse((due, _, timer))) = self.inside.timers.pop() else {
            return self.check().map(|()| false);
        };
        self.inside.now_fs = due;
        self.call(|model, shell| model.expired(timer, shell))?;
        Ok(true)
    }

    fn wait(&mut self, is_over: impl Fn(&Inside) -> bool) -> Result<(), Stalled> {
        for _ in 0..MOST_TIMERS {
            if is_over(&self.inside) {
                return Ok(());
            }
            if !self.pass()? {
                return Err(Stalled::Quiet);
            }
        }
        Err(Stalled::Endless)
    }

    fn access(&mut self, bar: u8, offset: u64, len: usize) -> Result<Access, Stalled> {
        let mut bars = self.description.bars.iter();
        let size = bars.find(|one| one.index == bar).map(|one| one.size);
        let end = offset.checked_add(len as u64);
        if size.is_none() || end.is_none_or(|end| Some(end) > size) {
            return Err(Stalled::Unsupported);
        }
        self.inside.timers_set += 1;
        Ok(Access {
            function: 0,
            bar,
            offset,
            len: len as u32,
            ticket: Ticket(self.inside.timers_set),
        })
    }

    /// Calls the model, unless it has failed.
    fn call<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Model, &mut Shell<'_>) -> T,
    ) -> Result<T, Stalled> {
        self.check()?;
        let done = work(&mut *self.model, &mut Shell::new(&mut self.inside));
        self.check().map(|()| done)
    }

    fn check(&self) -> Result<(), Stalled> {
        let failed = self.inside.failed.clone();
        failed.map_or(Ok(()), |why| Err(Stalled::Failed(why)))
    }
}

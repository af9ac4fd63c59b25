//! What a program on a host can do: the operating system as it sees it.

use std::ops::RangeInclusive;

use fabric::{CoreOperation, TableChange};
use kernel::{Span, Time};
use packet::Observation;
use transaction::Mapping;

use crate::{Coroutine, Desk};

/// A program, which is told the time whenever it goes on.
pub(crate) type Program = Coroutine<Request, Answer, ()>;

/// What a program is told when it goes on.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The time.
    pub now: Time,
    /// What it has loaded.
    pub bytes: Vec<u8>,
}

/// Which thread, in the order in which they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId(pub usize);

/// What a program asks for.
#[derive(Clone, Debug)]
pub enum Request {
    /// To work so long on its core.
    Work(Span),
    /// To leave its core for so long.
    Sleep(Span),
    /// To store these bytes at an address, within a page; what follows from it began then, if not now.
    Store(u64, Vec<u8>, Option<Time>),
    /// To load so many bytes of the host's memory.
    Load(u64, usize),
    /// To sleep until so many bytes are here from an address across the fabric.
    Read(u64, u32),
    /// To have it counted from now on how often devices write the byte at an address.
    Watch(u64),
    /// To sleep until a device has written the byte at an address.
    Written(u64),
    /// To sleep until a device has written the byte at one of these addresses.
    EitherWritten([u64; 2]),
    /// To stand still on its core until it is told to go on.
    Pause,
    /// To sleep until an interrupt with this message comes.
    Interrupt(u32),
    /// To sleep until it holds a lock.
    Lock(u32),
    /// To let go of a lock.
    Unlock(u32),
    /// To sleep until that thread has ended.
    Join(ThreadId),
    /// To stand still on its core until that core's cache has done this to a part of a line.
    Access(usize, u64, CoreOperation),
    /// To stand still on its core until the page tables are changed and all devices know.
    Order(TableChange),
    /// To tell the probes.
    Tell(Observation),
}

/// The system, in the hands of one program.
#[derive(Clone)]
pub struct System(pub(crate) Desk<Request, Answer>);

impl System {
    /// Works for `span` on its core.
    pub async fn work(&self, span: Span) {
        self.0.ask(Request::Work(span)).await;
    }

    /// Leaves its core to others for `span`.
    pub async fn sleep(&self, span: Span) {
        self.0.ask(Request::Sleep(span)).await;
    }

    /// Stores `bytes` at `address`, within a page of 4 KiB: in the host's memory, or across the fabric as one posted write,
    /// within the max payload size there. Costs no time but that of waiting for a place among the processor's stores under way.
    pub async fn store(&self, address: u64, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.0.ask(Request::Store(address, bytes, None)).await;
    }

    /// The same, as the late beginning of something that was due at `born`: latencies count from then.
    pub async fn store_late(&self, address: u64, bytes: &[u8], born: Time) {
        let bytes = bytes.to_vec();
        self.0.ask(Request::Store(address, bytes, Some(born))).await;
    }

    /// The `len` bytes at `address` of the host's memory; zeros where there is none. Costs no time.
    pub async fn load(&self, address: u64, len: usize) -> Vec<u8> {
        self.0.ask(Request::Load(address, len)).await.bytes
    }

    /// Loads `len` bytes from `address` across the fabric, such as a register of a device, by one read request, within a page of
    /// 4 KiB and the host's max read request size, and sleeps until they are here: none, if nobody answers.
    pub async fn read(&self, address: u64, len: u32) -> Vec<u8> {
        self.0.ask(Request::Read(address, len)).await.bytes
    }

    /// Has the processor [watch](crate::Processor::watch) the byte at `address`, from now on.
    pub async fn watch(&self, address: u64) {
        self.0.ask(Request::Watch(address)).await;
    }

    /// Sleeps until a device has written the byte at `address`, which the processor [watches](crate::Processor::watch), once more
    /// than this has been answered.
    pub async fn written(&self, address: u64) {
        self.0.ask(Request::Written(address)).await;
    }

    /// Sleeps until a device has written the byte at one of `addresses` once more than [`written`](Self::written) has been
    /// answered there, which it is then at once.
    pub async fn either_written(&self, addresses: [u64; 2]) {
        self.0.ask(Request::EitherWritten(addresses)).await;
    }

    /// The time.
    pub async fn now(&self) -> Time {
        self.0.ask(Request::Load(0, 0)).await.now
    }

    /// Stands still on its core until somebody outside of the simulation has it [go on](crate::Processor::go_on).
    pub async fn pause(&self) {
        self.0.ask(Request::Pause).await;
    }

    /// Sleeps until a message signalled interrupt with the data `message` comes.
    pub async fn interrupt(&self, message: u32) {
        self.0.ask(Request::Interrupt(message)).await;
    }

    /// Sleeps until it holds `lock`, which nobody else holds then.
    pub async fn lock(&self, lock: u32) {
        self.0.ask(Request::Lock(lock)).await;
    }

    /// Lets go of `lock`.
    pub async fn unlock(&self, lock: u32) {
        self.0.ask(Request::Unlock(lock)).await;
    }

    /// Sleeps until `thread` has ended.
    pub async fn join(&self, thread: ThreadId) {
        self.0.ask(Request::Join(thread)).await;
    }

    /// Has the cache of `core`, which this program runs on, do something to a part of the line that `address` is in, where memory
    /// is coherent: the bytes that were there, of a load or an atomic operation.
    pub async fn access(&self, core: usize, address: u64, operation: CoreOperation) -> Vec<u8> {
        let access = Request::Access(core, address, operation);
        self.0.ask(access).await.bytes
    }

    /// Has the pages of these virtual addresses of devices lead nowhere, until they are [installed](Self::install) again, and waits
    /// until all devices have forgotten them and ended what used them.
    pub async fn withdraw(&self, addresses: RangeInclusive<u64>) {
        let change = TableChange::Withdraw(addresses);
        self.0.ask(Request::Order(change)).await;
    }

    /// Has pages be there for devices with virtual addresses.
    pub async fn install(&self, pages: Vec<Mapping>) {
        self.0
            .ask(Request::Order(TableChange::Install(pages)))
            .await;
    }

    /// Tells the probes.
    pub async fn tell(&self, what: Observation) {
        self.0.ask(Request::Tell(what)).await;
    }
}

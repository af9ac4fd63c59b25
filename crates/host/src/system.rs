//! The operations of a program on a host, as the operating system and the processor provide them.

use std::ops::RangeInclusive;

use fabric::{CoreOperation, TableChange};
use kernel::{Span, Time};
use packet::{FlowId, Note, Observation, Stamp};
use transaction::{ConfigAccess, Mapping};

use crate::{Coroutine, Desk, DriverParameters};

/// A program, which gets the current time with each answer.
pub(crate) type Program = Coroutine<Request, Answer, ()>;

/// The answer to a program's request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The current simulated time.
    pub now: Time,
    /// The bytes of a load.
    pub bytes: Vec<u8>,
}

/// The number of a thread, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId(pub usize);

/// The origin of a store, as it is reported to the probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreOrigin {
    /// The time from which latencies are counted. `None` for the time of the store.
    pub born: Option<Time>,
    /// The flow that counts the store as one of its requests.
    pub flow: Option<FlowId>,
}

impl StoreOrigin {
    /// The stamp of the packet of a store at `now`.
    pub(crate) fn stamp(self, now: Time) -> Stamp {
        Stamp {
            flow: self.flow,
            born: self.born.unwrap_or(now),
            ..Stamp::default()
        }
    }
}

/// The notification of a driver about a reset of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetPhase {
    /// The device is about to be reset, and the driver must not access it.
    Prepare,
    /// The device was reset, and its configuration registers are restored.
    Done,
    /// The device does not work after the reset.
    Lost,
}

/// The reason why a driver that waits for an interrupt runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The interrupt has arrived.
    Interrupt,
    /// A reset of the device has begun.
    Reset,
    /// The device has reported an error, or the time limit of the wait has passed. The driver checks the device.
    Check,
}

impl Wake {
    /// Encodes the reason as the bytes of an answer.
    pub(crate) fn emit(self) -> Vec<u8> {
        match self {
            Wake::Interrupt => Vec::new(),
            Wake::Reset => vec![1],
            Wake::Check => vec![2],
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        match bytes {
            [] => Wake::Interrupt,
            [1, ..] => Wake::Reset,
            _ => Wake::Check,
        }
    }
}

/// A request of a program about a device and its resets.
#[derive(Clone, Debug)]
pub enum DeviceRequest {
    /// Sleeps until an interrupt with this message arrives, a reset of its device begins, the device has reported an error, or this time has
    /// passed. The second number is the number of resets that the program has counted. If it is not the number of resets that have begun, the
    /// sleep ends at once.
    InterruptOrReset(u32, u32, Option<Span>),
    /// Sleeps until the device with this interrupt message is not in reset.
    Ready(u32),
    /// The number of resets of the device with this interrupt message that have begun.
    Resets(u32),
    /// Notifies the drivers of the devices with these interrupt messages of a reset.
    Announce(Vec<u32>, ResetPhase),
    /// Notifies the drivers of the devices with these interrupt messages of an error that needs no reset.
    Warn(Vec<u32>),
}

/// A request of a program.
#[derive(Clone, Debug)]
pub enum Request {
    /// Works on its core for this time.
    Work(Span),
    /// Sleeps for this time, on no core.
    Sleep(Span),
    /// Stores these bytes at an address, within a page.
    Store(u64, Vec<u8>, StoreOrigin),
    /// Loads this number of bytes from the host's memory.
    Load(u64, usize),
    /// Reads this number of bytes across the fabric, and sleeps until they arrive.
    Read(u64, u32),
    /// Starts to count the device writes to the byte at an address.
    Watch(u64),
    /// Sleeps until a device has written the byte at an address.
    Written(u64),
    /// Sleeps until a device has written the byte at one of these addresses.
    EitherWritten([u64; 2]),
    /// Pauses on its core until a host thread lets it continue.
    Pause,
    /// Sleeps until an interrupt with this message arrives.
    Interrupt(u32),
    /// A request about a device and its resets.
    Device(DeviceRequest),
    /// Sleeps until it holds a lock.
    Lock(u32),
    /// Releases a lock.
    Unlock(u32),
    /// Sleeps until that thread has ended.
    Join(ThreadId),
    /// Waits on its core until that core's cache has performed this operation on a part of a line.
    Access(usize, u64, CoreOperation),
    /// Waits on its core until the page tables have changed and all devices have been informed.
    Order(TableChange),
    /// Makes a configuration request, and sleeps until its completion arrives.
    Configure(ConfigAccess),
    /// Reports an observation to the probes.
    Report(Observation),
}

/// The interface of one program to the operating system.
#[derive(Clone)]
pub struct System(
    pub(crate) Desk<Request, Answer>,
    /// The address of the configuration space that the program accesses by loads and stores, if it does not access that of its host.
    pub(crate) Option<u64>,
);

impl System {
    /// Works for `span` on its core.
    pub async fn work(&self, span: Span) {
        self.0.ask(Request::Work(span)).await;
    }

    /// Sleeps for `span`, on no core.
    pub async fn sleep(&self, span: Span) {
        self.0.ask(Request::Sleep(span)).await;
    }

    /// Sleeps until `time`. Returns at once if `time` has passed.
    pub async fn sleep_until(&self, time: Time) {
        let now = self.now().await;
        if time > now {
            self.sleep(time.since(now)).await;
        }
    }

    /// Sleeps until an interrupt with `message` arrives. Returns early if a reset of the device begins, or has begun since
    /// [`ready`](Self::ready) returned `resets`; if the device has reported an error; and if the time `limit` has passed.
    pub async fn interrupt_or_reset(&self, message: u32, resets: u32, limit: Option<Span>) -> Wake {
        let request = DeviceRequest::InterruptOrReset(message, resets, limit);
        Wake::parse(&self.ask_of_device(request).await)
    }

    /// Notifies the drivers of the devices with these interrupt messages of an error that needs no reset. Drivers that wait for an interrupt
    /// then check their device.
    pub async fn warn(&self, messages: &[u32]) {
        let request = DeviceRequest::Warn(messages.to_vec());
        self.ask_of_device(request).await;
    }

    /// Sleeps while the device with the interrupt `message` is in reset. Returns the number of its resets so far, or `None` if the device does
    /// not work after the last reset.
    pub async fn ready(&self, message: u32) -> Option<u32> {
        let bytes = self.ask_of_device(DeviceRequest::Ready(message)).await;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// The number of resets of the device with the interrupt `message` that have begun.
    pub async fn resets(&self, message: u32) -> u32 {
        let bytes = self.ask_of_device(DeviceRequest::Resets(message)).await;
        bytes.try_into().map_or(0, u32::from_le_bytes)
    }

    /// Notifies the drivers of the devices with these interrupt messages of a reset.
    pub async fn announce(&self, messages: &[u32], phase: ResetPhase) {
        let request = DeviceRequest::Announce(messages.to_vec(), phase);
        self.ask_of_device(request).await;
    }

    async fn ask_of_device(&self, request: DeviceRequest) -> Vec<u8> {
        self.0.ask(Request::Device(request)).await.bytes
    }

    /// Stores `bytes` at `address`, within a page of 4 KiB: in the host's memory, or across the fabric as one posted write of at
    /// most the max payload size. Takes no time, except to wait while too many stores of the processor are outstanding.
    pub async fn store(&self, address: u64, bytes: &[u8]) {
        self.store_of(address, bytes, StoreOrigin::default()).await;
    }

    /// Stores `bytes` at `address`, and reports `origin` as the origin of the store to the probes.
    pub async fn store_of(&self, address: u64, bytes: &[u8], origin: StoreOrigin) {
        let bytes = bytes.to_vec();
        self.0.ask(Request::Store(address, bytes, origin)).await;
    }

    /// Stores `bytes` in a register of a device, which takes the time of an uncached store.
    pub async fn set(&self, costs: &DriverParameters, register: u64, bytes: &[u8]) {
        self.work(costs.register_write).await;
        self.store(register, bytes).await;
    }

    /// Stores `bytes` within a page of the host's memory, which takes the time of a store for each 8 of them.
    pub async fn keep(&self, costs: &DriverParameters, address: u64, bytes: &[u8]) {
        let stores = bytes.len().div_ceil(8) as u64;
        self.work(costs.memory_write * stores).await;
        self.store(address, bytes).await;
    }

    /// Loads the `len` bytes at `address` of the host's memory, or zeros outside the memory. Takes no time.
    pub async fn load(&self, address: u64, len: usize) -> Vec<u8> {
        self.0.ask(Request::Load(address, len)).await.bytes
    }

    /// Reads `len` bytes at `address` across the fabric, such as a register of a device, and sleeps until they arrive. The read is
    /// one request, within a page of 4 KiB and the host's max read request size. The result is empty if the read fails.
    pub async fn read(&self, address: u64, len: u32) -> Vec<u8> {
        self.0.ask(Request::Read(address, len)).await.bytes
    }

    /// Lets the processor [watch](crate::Processor::watch) the byte at `address`.
    pub async fn watch(&self, address: u64) {
        self.0.ask(Request::Watch(address)).await;
    }

    /// Sleeps until a device has written the byte at `address`, which the processor must [watch](crate::Processor::watch). Each
    /// write ends one of these waits.
    pub async fn written(&self, address: u64) {
        self.0.ask(Request::Written(address)).await;
    }

    /// Sleeps until a device has written the byte at one of `addresses`. The write is not consumed: [`written`](Self::written) then
    /// returns at once for that address.
    pub async fn either_written(&self, addresses: [u64; 2]) {
        self.0.ask(Request::EitherWritten(addresses)).await;
    }

    /// The current simulated time.
    pub async fn now(&self) -> Time {
        self.0.ask(Request::Load(0, 0)).await.now
    }

    /// Pauses on its core until a host thread outside the simulation lets it [go on](crate::Processor::go_on).
    pub async fn pause(&self) {
        self.0.ask(Request::Pause).await;
    }

    /// Sleeps until a message signalled interrupt with the data `message` arrives.
    pub async fn interrupt(&self, message: u32) {
        self.0.ask(Request::Interrupt(message)).await;
    }

    /// Sleeps until it holds `lock` exclusively.
    pub async fn lock(&self, lock: u32) {
        self.0.ask(Request::Lock(lock)).await;
    }

    /// Releases `lock`.
    pub async fn unlock(&self, lock: u32) {
        self.0.ask(Request::Unlock(lock)).await;
    }

    /// Sleeps until `thread` has ended.
    pub async fn join(&self, thread: ThreadId) {
        self.0.ask(Request::Join(thread)).await;
    }

    /// Performs an operation on a part of the line at `address` in the cache of `core`, on which this program runs. The host's
    /// memory must be coherent. Returns the old bytes for a load or an atomic operation that returns them, and none if they are
    /// poisoned.
    pub async fn access(&self, core: usize, address: u64, operation: CoreOperation) -> Vec<u8> {
        let access = Request::Access(core, address, operation);
        self.0.ask(access).await.bytes
    }

    /// Removes the mapping of these virtual addresses of devices, and waits until all devices have invalidated it and ended
    /// requests that used it. [`install`](Self::install) maps the addresses again.
    pub async fn withdraw(&self, addresses: RangeInclusive<u64>) {
        let change = TableChange::Unmap(addresses);
        self.0.ask(Request::Order(change)).await;
    }

    /// Maps pages at virtual addresses of devices.
    pub async fn install(&self, pages: Vec<Mapping>) {
        self.0.ask(Request::Order(TableChange::Map(pages))).await;
    }

    /// Accesses a configuration space by one request, and sleeps until its completion arrives. Returns the value of a read, 0 for a
    /// write, or `None` if no function serves the request.
    pub async fn configure(&self, access: ConfigAccess) -> Option<u32> {
        let bytes = match self.1 {
            Some(base) => self.configure_at(base, access).await,
            None => self.0.ask(Request::Configure(access)).await.bytes,
        };
        bytes.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// Reports `what` to the probes.
    pub async fn report(&self, what: Observation) {
        self.0.ask(Request::Report(what)).await;
    }

    /// Reports `note` about `flow` to the probes.
    pub async fn note<N: Note>(&self, flow: FlowId, note: N) {
        self.report(Observation::own(flow, note)).await;
    }

    /// Adds a line about the host to the log of incidents.
    pub async fn log(&self, what: &'static str) {
        self.report(Observation::event(what)).await;
    }
}

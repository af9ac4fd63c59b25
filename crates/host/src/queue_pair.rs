//! A queue pair as a program uses it: descriptors and rings in memory, and registers across the fabric.

use device::nic::descriptor::{Body, Descriptor, Item, Probe};
use device::nic::event::Event;
use device::nic::registers::{
    DESCRIPTOR_WINDOW, DESCRIPTORS, Doorbell, NAP_BUFFER, PAIRS, offset, register,
};
use packet::{FlowId, Note, NoteKind};
use protocol::QueuePairId;
use thiserror::Error;

use crate::driver::in_pages;
use crate::{DriverParameters, Processor, StoreOrigin, System};

/// The identity, the addresses and the limits of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairPlace {
    /// The ID of the queue pair in the network.
    pub id: QueuePairId,
    /// The address of its function's register page.
    pub page: u64,
    /// The memory for its descriptors, rings and buffers: [`area`] bytes at a multiple of 4 KiB.
    pub area: u64,
    /// The number of buffers for NAPs, and of entries in the ring of arrivals: usually [`ENTRIES`].
    pub entries: u64,
    /// The largest number of outstanding requests of its function: [`REQUESTS`], or fewer if its doorbell queue is smaller.
    pub requests: u32,
    /// The key that both sides of a connection must have.
    pub key: u16,
    /// Whether a descriptor that fits in the controller's window is stored there, not in memory.
    pub pushes: bool,
}

/// The memory of a queue pair with [`ENTRIES`] buffers, in bytes.
pub const AREA: u64 = area(ENTRIES);

/// The default number of buffers of a queue pair.
pub const ENTRIES: u64 = 64;

/// The memory of a queue pair with this number of buffers, in bytes.
pub const fn area(entries: u64) -> u64 {
    buffers(entries) + entries * NAP_BUFFER
}

/// The largest number of outstanding requests of a function.
pub const REQUESTS: u32 = 32;

const SLOT: u64 = 4096;
const SENT: u64 = REQUESTS as u64 * SLOT;
const SENT_ENTRIES: u64 = 64;
const ARRIVED: u64 = SENT + SENT_ENTRIES * Event::BYTES;
const ADDRESS: u64 = 8;

/// Buffers are returned, and events acknowledged, in groups of this size, because each group needs a store to the controller.
pub(crate) const GIVEN_AT_ONCE: u64 = 16;

/// The offsets in the memory area: `addresses` is the offset of the ring of buffer addresses, and `buffers` is the offset of the buffers.
const fn addresses(entries: u64) -> u64 {
    ARRIVED + entries * Event::BYTES
}
const fn buffers(entries: u64) -> u64 {
    (addresses(entries) + entries * ADDRESS).next_multiple_of(SLOT)
}

/// The reason why a request cannot be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The descriptor is larger than its slot in memory.
    #[error("a descriptor of {0} bytes is too long; split it, up to 4,096 bytes each")]
    TooLong(usize),
    /// The function has its largest number of outstanding requests.
    #[error("{0} requests of the function are outstanding; wait until one of them ends")]
    TooMany(u32),
}

impl QueuePairPlace {
    /// The register writes by which the driver opens the queue pair: offsets in the register page, and values.
    pub fn opening(&self) -> Vec<(u64, u64)> {
        let at = |offset| register(self.id.pair(), offset);
        let control = 1 | u64::from(self.key) << 16;
        vec![
            (at(offset::SENT), self.area + SENT),
            (at(offset::SENT + offset::ENTRIES), SENT_ENTRIES),
            (at(offset::ARRIVED), self.area + ARRIVED),
            (at(offset::ARRIVED + offset::ENTRIES), self.entries),
            (at(offset::BUFFERS), self.area + addresses(self.entries)),
            (at(offset::BUFFER_ENTRIES), self.entries),
            (at(offset::CONTROL), control),
            (at(offset::BUFFERS_GIVEN), self.entries),
        ]
    }

    /// The content of the ring of buffer addresses with all buffers given to the controller, and the address of the ring.
    pub fn buffers(&self) -> (u64, Vec<u8>) {
        let first = self.area + buffers(self.entries);
        let all = (0..self.entries).map(|number| first + number * NAP_BUFFER);
        let bytes = all.flat_map(u64::to_le_bytes).collect();
        (self.area + addresses(self.entries), bytes)
    }

    /// Lets `processor` watch for events of the queue pair.
    pub fn watch(&self, processor: &mut Processor) {
        for address in self.events() {
            processor.watch(address);
        }
    }

    /// The addresses of the events in both rings.
    fn events(&self) -> impl Iterator<Item = u64> + use<> {
        let area = self.area;
        let rings = [(SENT, SENT_ENTRIES), (ARRIVED, self.entries)];
        let entries = rings
            .into_iter()
            .flat_map(|(ring, entries)| (0..entries).map(move |entry| ring + entry * Event::BYTES));
        entries.map(move |entry| area + entry)
    }
}

/// An open queue pair.
pub struct QueuePair {
    system: System,
    costs: DriverParameters,
    place: QueuePairPlace,
    posted: u32,
    outstanding: u32,
    sent: Ring,
    arrived: Ring,
    /// The number of buffers given to the controller so far, and the buffers that will be given back next.
    given: u64,
    returned: Vec<u64>,
}

/// A ring of events, as software reads it.
struct Ring {
    address: u64,
    entries: u64,
    taken: u64,
    /// The register for the number of events taken.
    register: u64,
}

impl QueuePair {
    /// The queue pair at `place`, which the driver has opened.
    pub fn new(system: System, costs: DriverParameters, place: QueuePairPlace) -> Self {
        debug_assert!(usize::from(place.id.pair()) < PAIRS);
        let ring = |at, offset, entries| Ring {
            address: place.area + at,
            entries,
            taken: 0,
            register: place.page + register(place.id.pair(), offset + offset::TAKEN),
        };
        Self {
            sent: ring(SENT, offset::SENT, SENT_ENTRIES),
            arrived: ring(ARRIVED, offset::ARRIVED, place.entries),
            system,
            costs,
            place,
            posted: 0,
            outstanding: 0,
            given: place.entries,
            returned: Vec::new(),
        }
    }

    /// Opens the closed queue pair at `place`, with empty rings and all buffers given to the controller. Other queue pairs can send to it when
    /// the stores to its registers have reached the controller.
    pub async fn open(system: System, costs: DriverParameters, place: QueuePairPlace) -> Self {
        let pair = Self::new(system, costs, place);
        for address in place.events() {
            pair.system.watch(address).await;
            pair.keep(address, &[0; Event::BYTES as usize]).await;
        }
        let (address, buffers) = place.buffers();
        for (address, part) in in_pages(address, &buffers) {
            pair.keep(address, part).await;
        }
        for (register, value) in place.opening() {
            pair.store(place.page + register, value).await;
        }
        pair
    }

    /// Closes the queue pair. Later arrivals for it are dropped, and its doorbell has no effect. Outstanding requests get no event.
    pub async fn close(self) {
        let control = register(self.place.id.pair(), offset::CONTROL);
        self.store(self.place.page + control, 0).await;
    }

    /// Sends `bytes`, at most 2,048, into a buffer of the queue pair `to`, which must have the same key. The event at the end
    /// carries `label`.
    pub async fn nap(
        &mut self,
        to: QueuePairId,
        label: u32,
        bytes: Vec<u8>,
    ) -> Result<(), RequestError> {
        let body = Body::NapImmediate(bytes);
        self.post(&self.descriptor(to, label, body)).await
    }

    /// Writes the bytes of `sources` to `targets` in the memory of the queue pair `to`, which must have the same key. Both sides
    /// get an event at the end.
    pub async fn put(
        &mut self,
        to: QueuePairId,
        label: u32,
        (sources, targets): (Vec<Item>, Vec<Item>),
    ) -> Result<(), RequestError> {
        let body = Body::Put { sources, targets };
        self.post(&self.descriptor(to, label, body)).await
    }

    /// Reads `sources` in the memory of the queue pair `from`, which must have the same key, to `targets`. The end is an event from
    /// [`arrived`](Self::arrived); the caller must then call [`finish`](Self::finish).
    pub async fn get(
        &mut self,
        from: QueuePairId,
        label: u32,
        (sources, targets): (Vec<Item>, Vec<Item>),
    ) -> Result<(), RequestError> {
        let body = Body::Get { sources, targets };
        self.post(&self.descriptor(from, label, body)).await
    }

    fn descriptor(&self, to: QueuePairId, label: u32, body: Body) -> Descriptor {
        Descriptor {
            body,
            tell_sender: true,
            tell_receiver: true,
            key: self.place.key,
            destination: to,
            label,
            probe: Probe::default(),
        }
    }

    /// The number of outstanding requests of this queue pair.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Posts `descriptor`, which must request an event at its end.
    pub async fn post(&mut self, descriptor: &Descriptor) -> Result<(), RequestError> {
        self.post_as(descriptor, StoreOrigin::default(), None).await
    }

    /// Posts `descriptor`: writes it to memory or to the controller, and starts it by a store, with `origin` as the origin of the store. If the target detects the message, `noticed` is
    /// its flow, and the doorbell is reported to the probes for this flow.
    pub async fn post_as(
        &mut self,
        descriptor: &Descriptor,
        origin: StoreOrigin,
        noticed: Option<FlowId>,
    ) -> Result<(), RequestError> {
        let (offset, value) = self.prepare(&descriptor.emit()).await?;
        self.system.work(self.costs.register_write).await;
        if let Some(flow) = noticed {
            self.system.note(flow, MessageNote::Rung).await;
        }
        let bell_at = self.place.page + register(self.place.id.pair(), offset);
        let bytes = value.to_le_bytes();
        self.system.store_of(bell_at, &bytes, origin).await;
        Ok(())
    }

    /// Writes the `bytes` of a descriptor to memory, or to the controller's window for it. Returns the offset of the register that starts it, and the
    /// value to write to it.
    async fn prepare(&mut self, bytes: &[u8]) -> Result<(u64, u64), RequestError> {
        if bytes.len() as u64 > SLOT {
            return Err(RequestError::TooLong(bytes.len()));
        }
        let most = self.place.requests;
        if self.outstanding >= most {
            return Err(RequestError::TooMany(most));
        }
        self.outstanding += 1;
        let len = bytes.len() as u32;
        if self.place.pushes && u64::from(len) <= DESCRIPTOR_WINDOW {
            let window = DESCRIPTORS + u64::from(self.place.id.pair()) * DESCRIPTOR_WINDOW;
            for (at, word) in (self.place.page + window..).step_by(8).zip(bytes.chunks(8)) {
                self.system.set(&self.costs, at, word).await;
            }
            return Ok((offset::PUSH, len.into()));
        }
        let slot = u64::from(self.posted % REQUESTS);
        let address = self.place.area + slot * SLOT;
        self.keep(address, bytes).await;
        self.posted += 1;
        Ok((offset::DOORBELL, Doorbell { address, len }.emit()))
    }

    /// Records the end of a request that has no event in the ring of sent requests: a GET whose data has arrived.
    pub fn finish(&mut self) {
        // Another program may have rung the doorbell directly. Its request has an event, but was not counted.
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// Waits for the next event of a sent request. The program polls for it.
    pub async fn sent(&mut self) -> Event {
        let event = next(&self.system, &self.costs, &mut self.sent).await;
        self.finish();
        self.take_out(self.sent.taken, self.sent.register).await;
        event
    }

    /// Waits for the next event of an arrival. The program polls for it.
    pub async fn arrived(&mut self) -> Event {
        let event = next(&self.system, &self.costs, &mut self.arrived).await;
        self.take_out(self.arrived.taken, self.arrived.register)
            .await;
        event
    }

    /// Sleeps until either ring has an event. [`sent`](Self::sent) or [`arrived`](Self::arrived) then returns it at once.
    pub async fn either(&self) {
        if self.has_sent().await || self.has_arrived().await {
            return;
        }
        let next = [self.sent.next(), self.arrived.next()];
        self.system.either_written(next).await;
        self.system.sleep(self.costs.poll).await;
    }

    /// Whether there is an event of a sent request.
    pub async fn has_sent(&self) -> bool {
        self.sent.look(&self.system).await.is_some()
    }

    /// Whether there is an event of an arrival.
    pub async fn has_arrived(&self) -> bool {
        self.arrived.look(&self.system).await.is_some()
    }

    /// Writes the number of events taken to the controller, once for each group.
    async fn take_out(&self, taken: u64, register: u64) {
        if taken.is_multiple_of(GIVEN_AT_ONCE) {
            self.store(register, taken).await;
        }
    }

    /// Returns the buffer of a NAP to the controller.
    pub async fn give_back(&mut self, buffer: u64) {
        self.returned.push(buffer);
        if (self.returned.len() as u64) < GIVEN_AT_ONCE {
            return;
        }
        for buffer in std::mem::take(&mut self.returned) {
            let QueuePairPlace { area, entries, .. } = self.place;
            let address = area + addresses(entries) + self.given % entries * ADDRESS;
            self.keep(address, &buffer.to_le_bytes()).await;
            self.given += 1;
        }
        let given = register(self.place.id.pair(), offset::BUFFERS_GIVEN);
        self.store(self.place.page + given, self.given).await;
    }

    /// Writes `bytes` to memory.
    async fn keep(&self, address: u64, bytes: &[u8]) {
        self.system.keep(&self.costs, address, bytes).await;
    }

    async fn store(&self, register: u64, value: u64) {
        let bytes = value.to_le_bytes();
        self.system.set(&self.costs, register, &bytes).await;
    }
}

/// Waits for the next event of a ring. An event that is already there is returned at once.
async fn next(system: &System, costs: &DriverParameters, ring: &mut Ring) -> Event {
    let address = ring.next();
    let is_here = ring.look(system).await.is_some();
    loop {
        system.written(address).await;
        if !is_here {
            system.sleep(costs.poll).await;
        }
        if let Some(event) = ring.look(system).await {
            ring.taken += 1;
            return event;
        }
    }
}

impl Ring {
    /// The address of the next event.
    fn next(&self) -> u64 {
        self.address + self.taken % self.entries * Event::BYTES
    }

    /// The next event, if it has been written.
    async fn look(&self, system: &System) -> Option<Event> {
        let lap = self.taken / self.entries;
        let bytes = system.load(self.next(), Event::BYTES as usize).await;
        Event::parse(bytes.as_array()?, lap.is_multiple_of(2))
    }
}

/// The state of a message of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageNote {
    /// The doorbell of a message rings.
    Rung,
    /// The oldest message not yet detected has been detected at its target.
    Noticed,
}

impl Note for MessageNote {
    const KIND: NoteKind = NoteKind::named("message");

    fn pack(self) -> [u64; 2] {
        [u64::from(self == MessageNote::Noticed), 0]
    }

    fn unpack([is_noticed, _]: [u64; 2]) -> Self {
        if is_noticed == 0 {
            MessageNote::Rung
        } else {
            MessageNote::Noticed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_rings_and_buffers_do_not_overlap() {
        for entries in (16..2000).step_by(16) {
            assert!(ARRIVED + entries * Event::BYTES <= addresses(entries));
            assert!(addresses(entries) + entries * ADDRESS <= buffers(entries));
            assert!(buffers(entries) + entries * NAP_BUFFER <= area(entries));
            assert!(buffers(entries).is_multiple_of(NAP_BUFFER));
        }
    }
}

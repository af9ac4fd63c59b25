//! The order of packets to PCI Express: write requests of the receiving engine, and read requests of both engines.

use kernel::Effects;
use packet::{Observation, PacketId};
use protocol::QueuePairId;
use transaction::Place;

use super::Nic;
use super::descriptor::Item;
use super::reads::Purpose;
use super::registers::{FUNCTIONS, PAIRS};
use super::sending::job::{Fetch, Job};
use super::sending::pack::Sharing;

/// A source of packets; the sources take turns.
#[derive(Clone, Copy, Debug)]
enum Sends {
    Stores,
    Loads,
    Uploads,
    Buffers,
    Descriptors,
    Data,
}

const TURNS: [Sends; 6] = [
    Sends::Stores,
    Sends::Loads,
    Sends::Uploads,
    Sends::Buffers,
    Sends::Descriptors,
    Sends::Data,
];

impl Nic {
    /// Sends a packet, if one may be sent; returns whether anything was done.
    pub(super) fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let gave_up = self.give_up(fx);
        if !self.endpoint.is_open(fx) || !self.endpoint.is_bus_master() {
            return gave_up;
        }
        for place in (self.turn..TURNS.len()).chain(0..self.turn) {
            let packet = match TURNS[place] {
                Sends::Stores => self.next_store(fx),
                Sends::Loads => self.next_load(fx),
                Sends::Uploads => self.next_upload(fx),
                Sends::Buffers => self.next_buffers(fx),
                Sends::Descriptors => self.next_descriptor(fx),
                Sends::Data => self.next_data(fx),
            };
            if let Some(packet) = packet {
                self.turn = (place + 1) % TURNS.len();
                self.endpoint.hand_over(packet, fx);
                return true;
            }
        }
        gave_up
    }

    /// Ends requests that have timed out, as if they had failed.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        self.window.bridge.give_up(now);
        while let Some(len) = self.reads.give_up(now) {
            self.endpoint.record_timeout(Place::Own);
            fx.observe(Observation::gave_up(len));
            any = true;
        }
        any
    }

    fn next_upload(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let now = fx.now();
        let is_due = |upload: &mut super::receiver::Upload| upload.due <= now;
        let upload = self.receiver.uploads.pop_front_if(is_due)?;
        if let Some(room) = upload.room {
            fx.send(super::BUS, packet::Frame::Room(room), kernel::Span::ZERO);
        }
        Some(upload.packet)
    }

    fn next_buffers(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.reads.is_open() {
            return None;
        }
        let most = u64::from(self.parameters.buffer_prefetch);
        while self.short_of_buffers != 0 {
            let number = self.short_of_buffers.trailing_zeros() as u8;
            let (function, pair) = (number / PAIRS as u8, number % PAIRS as u8);
            let owner = QueuePairId::new(self.processor, function, pair);
            let pair = self.pair(owner);
            let epoch = pair.epoch;
            if let Some((address, len)) = pair.buffers.refill(most) {
                let purpose = Purpose::Buffers { owner, epoch };
                return Some(self.read(owner, Item { address, len }, purpose, fx));
            }
            self.short_of_buffers &= self.short_of_buffers - 1;
        }
        None
    }

    fn next_descriptor(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.reads.is_open() {
            return None;
        }
        let largest = self.largest_read();
        let wants = |fetch: &Fetch| fetch.stream.wanted(largest) > 0;
        let fetches = self.fetches.iter().enumerate();
        let mut wanting = fetches.filter(|(_, fetch)| wants(fetch));
        let next = match self.parameters.sharing {
            Sharing::Message => wanting.next(),
            Sharing::Packet => wanting.min_by_key(|(_, fetch)| {
                // The oldest descriptor of the function that is next.
                (usize::from(fetch.owner.function()) + FUNCTIONS - 1 - self.described_last)
                    % FUNCTIONS
            }),
        };
        let (index, _) = next?;
        let fetch = &mut self.fetches[index];
        let len = fetch.stream.wanted(largest);
        let (address, slot) = fetch.stream.ask(len);
        let (owner, number) = (fetch.owner, fetch.number);
        self.described_last = usize::from(owner.function());
        let purpose = Purpose::Stream {
            number,
            slot,
            is_data: false,
        };
        Some(self.read(owner, Item { address, len }, purpose, fx))
    }

    fn next_data(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.reads.is_open() {
            return None;
        }
        let largest = self.largest_read();
        let index = self.next_to_read(largest)?;
        let job = &mut self.jobs[index];
        let len = job.stream.wanted(largest);
        let (address, slot) = job.stream.ask(len);
        let (owner, number) = (job.address.source, job.number);
        self.read_last = usize::from(owner.function());
        let is_data = !matches!(
            job.way,
            super::sending::job::Way::Nap { is_immediate: true }
        );
        let purpose = Purpose::Stream {
            number,
            slot,
            is_data,
        };
        Some(self.read(owner, Item { address, len }, purpose, fx))
    }

    /// The message with the next read request for data, if the buffer has space: the first one that needs data, of all functions or
    /// of the function that is next. Where functions take turns, each has a share of the buffer unless it is alone, because reads
    /// of others wait behind the data that it holds. The oldest message may request a packet in any case.
    fn next_to_read(&self, largest: u32) -> Option<usize> {
        let packet = self.parameters.network_payload.0;
        let room = self.parameters.reorder_buffer.0;
        let (room, steps) = match self.parameters.sharing {
            Sharing::Message => (room, 1),
            Sharing::Packet => {
                let first = self.jobs.front().map(|job| job.address.source.function());
                let is_own = |job: &Job| Some(job.address.source.function()) == first;
                let is_alone = self.jobs.iter().all(is_own);
                let shares = if is_alone { 1 } else { FUNCTIONS as u64 };
                (room / shares, FUNCTIONS)
            }
        };
        (0..steps).find_map(|step| {
            let function = (self.read_last + 1 + step) % FUNCTIONS;
            let is_own =
                |job: &Job| steps == 1 || usize::from(job.address.source.function()) == function;
            let own = || self.jobs.iter().enumerate().filter(|(_, job)| is_own(job));
            let (oldest, _) = own().next()?;
            let (first, job) = own().find(|(_, job)| !job.stream.is_asked())?;
            let held: u64 = own().map(|(_, job)| job.stream.held()).sum();
            let is_short = first == oldest && job.stream.coming() < packet;
            (is_short || (held + 1) * u64::from(largest) <= room).then_some(first)
        })
    }

    fn largest_read(&self) -> u32 {
        let wanted = self.parameters.read_request.0 as u32;
        wanted.min(self.endpoint.max_read_request())
    }

    /// A read request of a queue pair's function, within a page.
    fn read(
        &mut self,
        owner: QueuePairId,
        range: Item,
        purpose: Purpose,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        let (now, requester) = (fx.now(), self.requester(owner));
        self.reads
            .request(requester, range, purpose, now, fx.store())
    }
}

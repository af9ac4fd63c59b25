//! The sending engine: from doorbells to descriptors, to messages, and to packets.

pub(super) mod job;
pub(super) mod pack;
pub(super) mod stream;

use kernel::{Effects, Time};
use packet::{Fault, Stamp};
use protocol::{NetworkHeader, PacketType, QueuePairId, TrafficClass};

use super::Nic;
use super::descriptor::{Body, Descriptor, DescriptorError, Head, Item};
use super::doorbells::Bell;
use super::event::{Event, EventKind};
use super::pairs::Pair;
use super::registers::{Doorbell, FUNCTIONS, PAIRS};
use job::{Address, Fetch, Job, Way};
use pack::Sharing;
use stream::Stream;

impl Nic {
    /// Begins to read the next descriptors.
    pub(in crate::nic) fn serve_doorbells(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        let most = self.parameters.descriptors as usize;
        loop {
            let (pairs, functions) = (&self.pairs, &self.functions);
            let (read, under_way) = self.under_way();
            let may = |function: u8, bell: &Bell| {
                let place = usize::from(function);
                let (own, all) = under_way[place];
                functions[place].is_master
                    && (read < most || own == 0)
                    && all < most
                    && has_room(pairs, function, bell)
            };
            let Some((function, bell)) = self.doorbells.next(fx.now(), may) else {
                self.tell_full(fx);
                break;
            };
            any = true;
            self.told_full[usize::from(function)] = false;
            self.fetch(function, &bell);
        }
        any
    }

    fn fetch(&mut self, function: u8, bell: &Bell) {
        let owner = QueuePairId::new(self.processor, function, bell.pair);
        let pair = self.pair(owner);
        let epoch = pair.epoch;
        if pair.sent.exists() {
            pair.sent.keep();
        }
        self.begun += 1;
        let Doorbell { address, len } = bell.doorbell;
        self.fetches.push_back(Fetch {
            number: self.begun,
            owner,
            epoch,
            born: bell.born,
            len: len as usize,
            stream: Stream::new((len > 0).then_some(Item { address, len })),
            due: Time::ZERO,
        });
    }

    /// Counts a fault for each function that waits until software takes events from a ring, once for each wait.
    fn tell_full(&mut self, fx: &mut Effects<'_, Self>) {
        let firsts = self.doorbells.firsts(fx.now());
        let full = firsts.filter(|(function, bell)| {
            !self.told_full[usize::from(*function)] && !has_room(&self.pairs, *function, bell)
        });
        let full: Vec<u8> = full.map(|(function, _)| function).collect();
        for function in full {
            self.told_full[usize::from(function)] = true;
            self.stop(function, Fault::RingFull, (None, 0), fx);
        }
    }

    /// Begins the messages of descriptors that have arrived; GETs of others and own messages take turns.
    pub(in crate::nic) fn begin_messages(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        loop {
            let others_first = self.others_turn && self.begin_others();
            if !(others_first || self.begin_own(fx) || self.begin_others()) {
                return any;
            }
            any = true;
        }
    }

    /// Number of descriptors being read; and for each function, its descriptors being read, and these with the ones that wait for a
    /// place. Where functions wait for each other, each function has the total.
    fn under_way(&self) -> (usize, [(usize, usize); FUNCTIONS]) {
        if self.parameters.sharing == Sharing::Message {
            let all = self.fetches.len();
            return (all, [(all, all); FUNCTIONS]);
        }
        let mut counts = [(0, 0); FUNCTIONS];
        for fetch in &self.fetches {
            let (read, all) = &mut counts[usize::from(fetch.owner.function())];
            *read += usize::from(!(fetch.stream.is_asked() && fetch.stream.is_quiet()));
            *all += 1;
        }
        (counts.iter().map(|(read, _)| read).sum(), counts)
    }

    /// Whether there is a place for another message of a function.
    fn has_place(&self, function: u8) -> bool {
        let beside = self.jobs.iter().filter(|job| {
            let shares = self.parameters.sharing == Sharing::Message;
            shares || job.address.source.function() == function
        });
        beside.count() < self.parameters.messages as usize
    }

    fn begin_others(&mut self) -> bool {
        let first = self
            .asked_for
            .iter()
            .position(|job| self.has_place(job.address.source.function()));
        let first = match self.parameters.sharing {
            Sharing::Message => first.filter(|first| *first == 0),
            Sharing::Packet => first,
        };
        let Some(job) = first.and_then(|first| self.asked_for.remove(first)) else {
            return false;
        };
        self.others_turn = false;
        self.jobs.push_back(job);
        true
    }

    /// Begins the message of the oldest descriptor; where functions do not wait for each other, of the oldest one that can begin.
    fn begin_own(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        match self.parameters.sharing {
            Sharing::Message => !self.fetches.is_empty() && self.begin_fetched(0, fx),
            Sharing::Packet => {
                let mut seen = [false; FUNCTIONS];
                (0..self.fetches.len()).any(|index| {
                    let function = self.fetches[index].owner.function();
                    let is_first = !std::mem::replace(&mut seen[usize::from(function)], true);
                    is_first && self.begin_fetched(index, fx)
                })
            }
        }
    }

    /// Begins the message of a descriptor when enough of it has arrived.
    fn begin_fetched(&mut self, index: usize, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let parsing = self.cycles(self.parameters.parse_cycles);
        let fetch = &mut self.fetches[index];
        let is_whole = fetch.stream.is_asked() && fetch.stream.is_quiet();
        let is_dead = fetch.stream.is_broken() && fetch.stream.is_quiet();
        let head = Head::parse(&fetch.stream.peek(Descriptor::HEAD));
        let is_streamed = matches!(&head, Ok(head) if head.immediate().is_some());
        if !(is_whole || is_dead || is_streamed) {
            return false;
        }
        if fetch.due == Time::ZERO {
            fetch.due = now + parsing;
        }
        if fetch.due > now {
            return false;
        }
        self.carry_out(index, head, fx)
    }

    /// Executes a descriptor. False if it must wait.
    fn carry_out(
        &mut self,
        index: usize,
        head: Result<Head, DescriptorError>,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let has_place = self.has_place(self.fetches[index].owner.function());
        let has_place_for_gets = self.bus.is_open(self.channel_of_gets());
        let fetch = &self.fetches[index];
        let parsed = match head {
            _ if fetch.stream.is_broken() => Err(Fault::Descriptor),
            Ok(head) if head.need() > fetch.len => Err(Fault::Descriptor),
            Ok(head) if head.immediate().is_some() => Ok(head.frame),
            Ok(head) => Descriptor::parse(&fetch.stream.peek(head.need())).map_err(Fault::from),
            Err(error) => Err(Fault::from(error)),
        };
        let fetch = match &parsed {
            Ok(Descriptor {
                body: Body::Get { .. },
                ..
            }) if !has_place_for_gets => return false,
            Ok(Descriptor {
                body: Body::NapImmediate(_) | Body::NapIndirect(_) | Body::Put { .. },
                ..
            }) if !has_place => return false,
            _ => self.fetches.remove(index),
        };
        if let Some(fetch) = fetch {
            match parsed {
                Ok(descriptor) => self.begin(fetch, descriptor, fx),
                Err(fault) => self.refuse_descriptor(&fetch, None, fault, fx),
            }
        }
        true
    }

    /// Begins the work of a descriptor.
    fn begin(&mut self, fetch: Fetch, descriptor: Descriptor, fx: &mut Effects<'_, Self>) {
        let there = usize::from(descriptor.destination.processor());
        if self.channels.get(there).copied().flatten().is_none() {
            let fault = Fault::NoDestination;
            return self.refuse_descriptor(&fetch, Some(&descriptor), fault, fx);
        }
        let is_get = matches!(descriptor.body, Body::Get { .. });
        if is_get && self.pair(fetch.owner).key != descriptor.key {
            // The answer to a GET has the key of the request.
            return self.refuse_descriptor(&fetch, Some(&descriptor), Fault::Key, fx);
        }
        let address = Address {
            source: fetch.owner,
            epoch: fetch.epoch,
            destination: descriptor.destination,
            key: descriptor.key,
            tell_sender: descriptor.tell_sender,
            tell_receiver: descriptor.tell_receiver,
            is_answer: false,
            label: descriptor.label,
            probe: descriptor.probe,
            born: fetch.born,
        };
        if is_get {
            let data = descriptor.emit();
            if data.len() > self.largest as usize {
                // The list of ranges is longer than a packet can carry.
                let fault = Fault::Descriptor;
                return self.refuse_descriptor(&fetch, Some(&descriptor), fault, fx);
            }
            return self.send_get(&address, &data, fx);
        }
        let left = descriptor.body.len();
        let (stream, way) = match descriptor.body {
            Body::NapImmediate(_) => {
                let mut stream = fetch.stream;
                stream.take(&mut [0; Descriptor::HEAD]);
                (stream, Way::Nap { is_immediate: true })
            }
            Body::NapIndirect(sources) => {
                let is_immediate = false;
                (Stream::new(sources), Way::Nap { is_immediate })
            }
            Body::Put { sources, targets } | Body::Get { sources, targets } => {
                (Stream::new(sources), Way::Put(targets.into()))
            }
        };
        self.jobs.push_back(Job {
            number: fetch.number,
            address,
            stream,
            way,
            packed: 0,
            left,
        });
        self.others_turn = true;
    }

    /// Sends a GET to the other side as it is; this side has no further work with it.
    fn send_get(&mut self, address: &Address, data: &[u8], fx: &mut Effects<'_, Self>) {
        if self.has_kept(address.source, address.epoch) {
            self.pair(address.source).sent.give_back();
        }
        let (from, to) = (address.source, address.destination);
        let mut header = NetworkHeader::new(PacketType::Get, from, to, 0, data.len() as u32)
            .expect("the descriptor fits in a packet");
        header.magic = address.key;
        header.requester = self.requester(from);
        if self.get_channel {
            header.traffic_class = GETS;
        }
        let stamp = Stamp {
            flow: None,
            ..address.stamp(0, false)
        };
        let packet = fx.store().claim();
        fx.store()[packet]
            .write(header.into(), stamp)
            .copy_from_slice(data);
        let ready = fx.now() + self.cycles(self.parameters.packetise_cycles);
        let channel = self.channel_of_gets();
        self.bus.push(channel, packet, ready, fx.store());
    }

    /// The channel of GETs: the last one, or the first if they have none of their own.
    fn channel_of_gets(&self) -> u8 {
        if self.get_channel {
            self.data_channels
        } else {
            0
        }
    }

    /// Refuses a descriptor: counts the fault, and reports it to the owner.
    fn refuse_descriptor(
        &mut self,
        fetch: &Fetch,
        descriptor: Option<&Descriptor>,
        fault: Fault,
        fx: &mut Effects<'_, Self>,
    ) {
        let (flow, lost) = descriptor.map_or((None, 0), |descriptor| {
            (descriptor.probe.flow, descriptor.body.len())
        });
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        self.stop(fetch.owner.function(), fault, (flow, lost), fx);
        if self.has_kept(fetch.owner, fetch.epoch) {
            let event = Event {
                kind: EventKind::Sent,
                fault: Some(fault),
                peer: descriptor.map_or(fetch.owner, |descriptor| descriptor.destination),
                len: 0,
                word: descriptor.map_or(0, |descriptor| descriptor.label.into()),
            };
            self.pair(fetch.owner).sent.give_back();
            self.tell_sender(fetch.owner, &event, fx);
        }
    }

    /// Whether the event ring has an entry reserved for work of `epoch`: rings stay until the owner changes.
    pub(in crate::nic) fn has_kept(&mut self, owner: QueuePairId, epoch: u32) -> bool {
        let pair = self.pair(owner);
        pair.epoch == epoch && pair.sent.exists()
    }

    pub(in crate::nic) fn tell_sender(
        &mut self,
        owner: QueuePairId,
        event: &Event,
        fx: &mut Effects<'_, Self>,
    ) {
        let (address, phase) = self.pair(owner).sent.next();
        self.tell(owner, address, &event.emit(phase), fx);
    }
}

/// The traffic class that leads GETs into their own virtual channel on links between controllers.
const GETS: TrafficClass = TrafficClass::new(1).expect("there are eight classes");

/// Whether the event ring of a doorbell's queue pair has space for its event.
fn has_room(pairs: &[[Pair; PAIRS]; FUNCTIONS], function: u8, bell: &Bell) -> bool {
    let ring = &pairs[usize::from(function)][usize::from(bell.pair)].sent;
    !ring.exists() || ring.has_room()
}

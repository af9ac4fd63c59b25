//! The sending engine: doorbells become descriptors, descriptors messages, and messages packets.

use kernel::{Effects, Time};
use link::{Fault, FlowId, Frame, PacketId, Refusal, Stamp};
use protocol::{Header, Kind, MemoryRequest, NetworkHeader, PacketType, QueuePairId, Status};
use transaction::written;

use super::descriptor::{Body, Descriptor, DescriptorError, Head, Item};
use super::doorbells::Bell;
use super::event::{Event, EventKind};
use super::job::{Address, Fetch, Job, Way};
use super::registers::{Doorbell, PAGE, located, offset};
use super::stream::Stream;
use super::{Answer, BUS, Nic, Purpose};

impl Nic {
    /// Takes in what has come by PCI Express: accesses to registers, and completions.
    pub(super) fn take_in(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(packet) = self.endpoint.take(fx) {
            any = true;
            let header = *fx.store()[packet].header();
            if let Err(why) = self.endpoint.verdict(&header) {
                self.endpoint.refuse(packet, why, fx);
                continue;
            }
            match &header.kind {
                Kind::Completion(_) => self.take_answer(packet, &header, fx),
                Kind::MemoryWrite(request) => self.write_register(packet, request, fx),
                _ => {
                    self.endpoint.serve(packet, fx);
                    if header.is_config() {
                        self.obey();
                    }
                }
            }
        }
        any
    }

    /// A completion is heard as it comes: one after the other, a word a cycle and some to handle it.
    fn take_answer(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        let Kind::Completion(completion) = &header.kind else {
            return;
        };
        let own = completion.requester.is_beside(self.endpoint.id());
        let Some(part) = own.then(|| self.outstanding.take(completion)).flatten() else {
            return self
                .endpoint
                .refuse(packet, Refusal::UnexpectedCompletion, fx);
        };
        let content = &fx.store()[packet];
        let words = content.bytes().len().div_ceil(16) as u32;
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = if completion.status == Status::Successful {
            content.payload()[lead..][..part.len as usize].to_vec()
        } else {
            Vec::new()
        };
        fx.store().release(packet);
        let service = self.cycles(words + self.parameters.handling_cycles);
        self.busy_until = fx.now().max(self.busy_until + service);
        self.hear(part, bytes);
    }

    /// An answer is heard when the receiver of completions is done with it, and data when it is in order.
    pub(super) fn hear(&mut self, part: transaction::Part<Purpose>, bytes: Vec<u8>) {
        let mut due = self.busy_until;
        let queue = match part.what {
            Purpose::Stream { is_data: true, .. } => {
                due += self.cycles(self.parameters.reorder_cycles);
                &mut self.data
            }
            _ => &mut self.answers,
        };
        queue.push_back(Answer { due, part, bytes });
    }

    /// A store to the page of a function.
    fn write_register(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[packet];
        let born = content.stamp.born;
        let value = written(content, request).as_array::<8>().copied();
        fx.store().release(packet);
        let at = request.first_byte() - self.endpoint.base_of(0);
        let function = (at / PAGE) as u8;
        let (Some(value), Some((pair, offset))) = (value, located(at % PAGE)) else {
            return self.stop(function, Fault::Doorbell, (None, 0), fx);
        };
        let owner = QueuePairId::new(self.processor, function, pair);
        if offset != offset::DOORBELL {
            self.endpoint.bar_mut().write(at, &value);
            return self.set_register(owner, offset, u64::from_le_bytes(value));
        }
        if !self.pair(owner).is_open {
            return self.stop(function, Fault::ClosedPair, (None, 0), fx);
        }
        let bell = Bell {
            pair,
            doorbell: Doorbell::parse(u64::from_le_bytes(value)),
            born,
            due: fx.now() + self.cycles(self.parameters.doorbell_cycles),
        };
        if !self.doorbells.ring(function, bell) {
            self.stop(function, Fault::TooManyRequests, (None, 0), fx);
        }
    }

    /// Gives what has come to those who asked for it.
    pub(super) fn hear_answers(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        loop {
            let is_due = |answer: &mut Answer| answer.due <= now;
            let next = self.answers.pop_front_if(is_due);
            let Some(Answer { part, bytes, .. }) = next.or_else(|| self.data.pop_front_if(is_due))
            else {
                return any;
            };
            any = true;
            let lost = part.len - bytes.len() as u32;
            match part.what {
                Purpose::Stream { number, slot, .. } => {
                    if let Some(stream) = self.stream(number) {
                        stream.arrive(slot, &bytes, lost);
                    }
                }
                Purpose::Buffers { owner, epoch } => {
                    self.pair(owner).buffers.arrive(epoch, &bytes, lost);
                    self.look_for_buffers(owner);
                }
            }
        }
    }

    fn stream(&mut self, number: u64) -> Option<&mut Stream> {
        let jobs = self.jobs.iter_mut();
        let mut jobs = jobs.map(|job| (job.number, &mut job.stream));
        let fetches = self.fetches.iter_mut();
        let mut fetches = fetches.map(|fetch| (fetch.number, &mut fetch.stream));
        let found = jobs.find(|(other, _)| *other == number);
        let found = found.or_else(|| fetches.find(|(other, _)| *other == number));
        found.map(|(_, stream)| stream)
    }

    /// Begins to read the descriptors whose turn it is.
    pub(super) fn serve_doorbells(&mut self, now: Time) -> bool {
        let mut any = false;
        while self.fetches.len() < self.parameters.descriptors as usize {
            let pairs = &self.pairs;
            let may = |function: u8, bell: &Bell| {
                let ring = &pairs[usize::from(function)][usize::from(bell.pair)].sent;
                !ring.exists() || ring.has_room()
            };
            let Some((function, bell)) = self.doorbells.next(now, may) else {
                break;
            };
            any = true;
            let owner = QueuePairId::new(self.processor, function, bell.pair);
            let ring = &mut self.pair(owner).sent;
            let has_place = ring.exists();
            if has_place {
                ring.keep();
            }
            self.begun += 1;
            let Doorbell { address, len } = bell.doorbell;
            self.fetches.push_back(Fetch {
                number: self.begun,
                owner,
                born: bell.born,
                has_place,
                len: len as usize,
                stream: Stream::new((len > 0).then_some(Item { address, len })),
                due: Time::ZERO,
            });
        }
        any
    }

    /// Turns descriptors that are here into messages, those of others and own ones in turn.
    pub(super) fn begin_messages(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        loop {
            let others_first = self.others_turn && self.begin_others();
            if !(others_first || self.begin_own(fx) || self.begin_others()) {
                return any;
            }
            any = true;
        }
    }

    fn has_place(&self) -> bool {
        self.jobs.len() < self.parameters.messages as usize
    }

    fn begin_others(&mut self) -> bool {
        if !self.has_place() {
            return false;
        }
        let Some(job) = self.asked_for.pop_front() else {
            return false;
        };
        self.others_turn = false;
        self.jobs.push_back(job);
        true
    }

    /// The oldest descriptor goes on when enough of it is here to see what it is.
    fn begin_own(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let parsing = self.cycles(self.parameters.parse_cycles);
        let Some(fetch) = self.fetches.front_mut() else {
            return false;
        };
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
        self.carry_out(head, fx)
    }

    /// Carries out the oldest descriptor. False if it has to wait.
    fn carry_out(
        &mut self,
        head: Result<Head, DescriptorError>,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let has_place = self.has_place();
        let has_place_for_gets = self.bus.is_open(self.channel_of_gets());
        let Some(fetch) = self.fetches.front() else {
            return false;
        };
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
            _ => self.fetches.pop_front(),
        };
        if let Some(fetch) = fetch {
            match parsed {
                Ok(descriptor) => self.begin(fetch, descriptor, fx),
                Err(fault) => self.refuse_descriptor(&fetch, None, fault, fx),
            }
        }
        true
    }

    /// Begins what a descriptor asks for.
    fn begin(&mut self, fetch: Fetch, descriptor: Descriptor, fx: &mut Effects<'_, Self>) {
        let there = usize::from(descriptor.destination.processor());
        if self.channels.get(there).copied().flatten().is_none() {
            let fault = Fault::NoDestination;
            return self.refuse_descriptor(&fetch, Some(&descriptor), fault, fx);
        }
        let address = Address {
            source: fetch.owner,
            destination: descriptor.destination,
            key: descriptor.key,
            tell_sender: descriptor.tell_sender,
            tell_receiver: descriptor.tell_receiver,
            has_place: fetch.has_place,
            label: descriptor.label,
            flow: descriptor.flow,
            born: fetch.born,
        };
        if matches!(descriptor.body, Body::Get { .. }) {
            return self.send_get(&address, &descriptor, fx);
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
            next_at: Time::ZERO,
        });
        self.others_turn = true;
    }

    /// A GET goes to the other side as it is; its own side has nothing more to do with it.
    fn send_get(&mut self, address: &Address, descriptor: &Descriptor, fx: &mut Effects<'_, Self>) {
        if address.has_place {
            self.pair(address.source).sent.give_back();
        }
        let data = descriptor.emit();
        let (from, to) = (address.source, address.destination);
        let header = NetworkHeader::new(PacketType::Get, from, to, 0, data.len() as u32);
        let Ok(mut header) = header else {
            // More ranges than a packet carries.
            let lost = u32::try_from(descriptor.body.len()).unwrap_or(u32::MAX);
            return self.stop(
                from.function(),
                Fault::Descriptor,
                (address.flow(), lost),
                fx,
            );
        };
        header.magic = address.key;
        header.requester = self.requester(from);
        let stamp = Stamp {
            flow: None,
            ..address.stamp(0)
        };
        let packet = fx.store().claim();
        fx.store()[packet]
            .write(header.into(), stamp)
            .copy_from_slice(&data);
        let ready = fx.now() + self.cycles(self.parameters.packetise_cycles);
        let channel = self.channel_of_gets();
        self.bus.push(channel, packet, ready, fx.store());
    }

    /// The channel of GETs: the last one, or the first where they have none of their own.
    fn channel_of_gets(&self) -> u8 {
        if self.get_channel {
            self.data_channels
        } else {
            0
        }
    }

    /// What cannot be carried out is counted, and told to its owner.
    fn refuse_descriptor(
        &mut self,
        fetch: &Fetch,
        descriptor: Option<&Descriptor>,
        fault: Fault,
        fx: &mut Effects<'_, Self>,
    ) {
        let (flow, lost) = descriptor.map_or((None, 0), |descriptor| {
            let flow = descriptor.flow.0.checked_sub(1).map(FlowId);
            (flow, descriptor.body.len())
        });
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        self.stop(fetch.owner.function(), fault, (flow, lost), fx);
        if fetch.has_place {
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

    /// Makes packets of the oldest message, as far as its data is here and the way to the crossbar open.
    pub(super) fn pack(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        while let Some(job) = self.jobs.front() {
            let there = usize::from(job.address.destination.processor());
            let channel = self.channels[there].unwrap_or(0);
            if !self.bus.is_open(channel) {
                break;
            }
            if job.stream.is_broken() && job.stream.is_quiet() {
                self.give_up_message(channel, fx);
                any = true;
                continue;
            }
            let len = job.next_len(self.parameters.network_payload.0 as u32);
            if !job.is_ready(now, len) {
                break;
            }
            let requester = self.requester(job.address.source);
            let Some(job) = self.jobs.front_mut() else {
                break;
            };
            let packet = job.pack(len, requester, fx.store());
            let pause = match job.way {
                Way::Put(_) => 0,
                Way::Nap { is_immediate } => {
                    let words = u32::from(super::bus::words(packet, fx.store()));
                    let more = self.parameters.immediate_cycles * words;
                    self.parameters.nap_cycles + if is_immediate { more } else { 0 }
                }
            };
            job.next_at = now + self.cycle * u64::from(pause);
            let is_done = job.left == 0;
            let ready = now + self.cycles(self.parameters.packetise_cycles);
            self.bus.push(channel, packet, ready, fx.store());
            any = true;
            if is_done {
                self.end_message(None, fx);
            }
        }
        any
    }

    /// The data of the oldest message will not come.
    fn give_up_message(&mut self, channel: u8, fx: &mut Effects<'_, Self>) {
        let Some(job) = self.jobs.front() else {
            return;
        };
        let (owner, flow, left) = (job.address.source, job.address.flow(), job.left);
        if matches!(job.way, Way::Nap { .. }) && job.packed > 0 {
            let packet = job.abort(self.requester(owner), fx.store());
            self.bus.push(channel, packet, fx.now(), fx.store());
        }
        let lost = u32::try_from(left).unwrap_or(u32::MAX);
        self.stop(owner.function(), Fault::Source, (flow, lost), fx);
        self.end_message(Some(Fault::Source), fx);
    }

    /// The oldest message is at its end: its sender is told if it wants to be, or if something went wrong.
    fn end_message(&mut self, fault: Option<Fault>, fx: &mut Effects<'_, Self>) {
        let Some(job) = self.jobs.pop_front() else {
            return;
        };
        let Address {
            source,
            destination,
            tell_sender,
            has_place,
            label,
            ..
        } = job.address;
        if !has_place {
            return;
        }
        self.pair(source).sent.give_back();
        if tell_sender || fault.is_some() {
            let event = Event {
                kind: EventKind::Sent,
                fault,
                peer: destination,
                len: job.packed as u32,
                word: label.into(),
            };
            self.tell_sender(source, &event, fx);
        }
    }

    fn tell_sender(&mut self, owner: QueuePairId, event: &Event, fx: &mut Effects<'_, Self>) {
        let (address, phase) = self.pair(owner).sent.next();
        self.tell(owner, address, &event.emit(phase), fx);
    }

    /// Sends packets to the crossbar.
    pub(super) fn put_on_bus(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some((frame, end)) = self.bus.next(fx.now()) {
            any = true;
            let start = fx.now();
            if let Some(told) = fx.store()[frame.packet].sent(start, end) {
                fx.observe(told);
            }
            fx.send(BUS, Frame::Bus(frame), kernel::Span::ZERO);
        }
        any
    }
}

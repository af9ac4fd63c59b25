//! The progress engine of the layer: it reads arrivals, answers them, and sends queued messages.

use device::nic::descriptor::{Body, Descriptor, Item, Probe};
use device::nic::event::{Event, EventKind};

use super::header::{Header, Kind};
use super::matching::{Content, Context, Envelope, Posted, Unexpected};
use super::one_sided::{Fetch, Purpose};
use super::{ControlWord, Eager, Outgoing, Rank, Rendezvous, Status};
use crate::queue_pair::REQUESTS;

impl ControlWord {
    /// A control word that only returns credit.
    const CREDIT: Self = Self {
        kind: Kind::Credit,
        len: 0,
        number: 0,
    };

    /// A control word to the sender of message `number`: a GET has read its data, or its data is not needed.
    pub(super) fn fetched(number: u32) -> Self {
        Self {
            kind: Kind::Fetched,
            len: 0,
            number,
        }
    }
}

impl Rank {
    /// Sleeps until there is an event, and handles it.
    pub(super) async fn wait(&mut self) {
        self.pair.either().await;
        self.progress().await;
    }

    /// Handles events, if there are any. Programs that compute for a long time can call it.
    pub async fn progress(&mut self) {
        while self.pair.has_sent().await {
            self.handle_sent().await;
        }
        if self.pair.has_arrived().await {
            let event = self.pair.arrived().await;
            self.handle_event(&event).await;
        }
        self.begin_fetches().await;
    }

    /// Handles the end of a sent or refused request.
    async fn handle_sent(&mut self) {
        let event = self.pair.sent().await;
        self.refused = self.refused.or(event.fault);
        let label = event.word as u32;
        self.open.remove(&label);
        let refused = self.fetching.extract_if(.., |fetch| fetch.label == label);
        for fetch in refused {
            if let Purpose::Message {
                receive, status, ..
            } = fetch.purpose
            {
                self.received.insert(receive, status);
            }
        }
    }

    async fn handle_event(&mut self, event: &Event) {
        let from = self.peers.iter().position(|peer| peer.id == event.peer);
        match (event.kind, from) {
            (EventKind::Put, Some(from)) => self.handle_data(from, event).await,
            (EventKind::Nap, Some(from)) => self.handle_nap(from, event).await,
            // The sender is a queue pair with the same key that is not part of the job.
            (EventKind::Nap, None) => self.pair.give_back(event.word).await,
            (EventKind::Put, None) | (EventKind::Sent, _) => {}
        }
    }

    async fn handle_nap(&mut self, from: usize, event: &Event) {
        self.system.work(self.config.parameters.matching).await;
        let nap = self.system.load(event.word, event.len as usize).await;
        let header = Header::parse(&nap).expect("a NAP between ranks has a header");
        self.peers[from].credit.gain(header.returned);
        if header.kind == Kind::Eager {
            let bytes = nap[Header::BYTES..].to_vec();
            self.deliver(header.envelope(from), Content::Bytes(bytes))
                .await;
        }
        self.pair.give_back(event.word).await;
        if header.kind != Kind::Credit {
            self.peers[from].credit.owe();
        }
        self.handle_word(from, &header).await;
        self.send_queued(from).await;
        if self.peers[from].credit.is_due() {
            self.send_word(from, ControlWord::CREDIT).await;
        }
    }

    async fn handle_word(&mut self, from: usize, header: &Header) {
        let Header { len, number, .. } = *header;
        match header.kind {
            Kind::Request { source } => {
                let announced = Content::Announced { source, number };
                self.deliver(header.envelope(from), announced).await;
            }
            Kind::Answer { target, receive } => {
                self.move_message(number, (target, len), receive).await;
            }
            Kind::Moved => {
                let status = self.awaited.remove(&number);
                self.received.extend(status.map(|status| (number, status)));
            }
            Kind::Fetched => {
                self.outgoing.remove(&number);
                self.open.remove(&number);
            }
            Kind::Eager | Kind::Credit => {}
        }
    }

    /// Passes a message to its matching receive, or queues it.
    pub(super) async fn deliver(&mut self, envelope: Envelope, content: Content) {
        if let Some(posted) = self.matching.arrive(&envelope) {
            return self.accept(posted, envelope, content).await;
        }
        if let Content::Bytes(bytes) = &content {
            let span = self.config.parameters.copy_rate.time_of(bytes.len() as u64);
            self.system.work(span).await;
        }
        self.matching.keep(Unexpected { envelope, content });
    }

    /// Completes a match of a receive and a message.
    pub(super) async fn accept(&mut self, posted: Posted, envelope: Envelope, content: Content) {
        let len = envelope.len.min(posted.target.len);
        let target = Item {
            len,
            ..posted.target
        };
        let status = Status {
            from: envelope.from,
            tag: envelope.tag,
            len: envelope.len,
        };
        match content {
            Content::Bytes(bytes) => {
                self.copy(target.address, &bytes[..len as usize]).await;
                self.received.insert(posted.number, status);
            }
            Content::Announced { number, .. } if len == 0 => {
                self.received.insert(posted.number, status);
                self.queue_word(envelope.from, ControlWord::fetched(number))
                    .await;
            }
            Content::Announced { source, number } => {
                let receive = (posted.number, status);
                self.fetch_message(receive, (source, number), target).await;
            }
        }
    }

    /// Starts to move an announced message here.
    async fn fetch_message(
        &mut self,
        (receive, status): (u32, Status),
        (source, number): (u64, u32),
        target: Item,
    ) {
        if self.config.parameters.rendezvous == Rendezvous::Get {
            let from = status.from;
            let purpose = Purpose::Message {
                receive,
                status,
                number,
            };
            let fetch = Fetch {
                from,
                label: self.number(),
                source,
                target,
                purpose,
            };
            return self.begin_fetch(fetch).await;
        }
        self.awaited.insert(receive, status);
        let answer = ControlWord {
            kind: Kind::Answer {
                target: target.address,
                receive,
            },
            len: target.len,
            number,
        };
        self.queue_word(status.from, answer).await;
    }

    /// PUTs a message after the receiver's answer, and then notifies the receiver by a NAP, which does not pass the data.
    async fn move_message(&mut self, number: u32, (target, len): (u64, u32), receive: u32) {
        let Some(send) = self.outgoing.remove(&number) else {
            return;
        };
        let item = |address| vec![Item { address, len }];
        let body = Body::Put {
            sources: item(send.source.address),
            targets: item(target),
        };
        self.post(send.to, number, body).await;
        let moved = ControlWord {
            kind: Kind::Moved,
            len,
            number: receive,
        };
        self.queue_word(send.to, moved).await;
    }

    /// Sends a control word about a message as soon as there is credit.
    pub(super) async fn queue_word(&mut self, to: usize, word: ControlWord) {
        self.peers[to].words.push_back(word);
        self.unsent_words += 1;
        self.send_queued(to).await;
    }

    /// Sends queued control words and messages to `to` while there is credit.
    pub(super) async fn send_queued(&mut self, to: usize) {
        while self.peers[to].credit.is_open() {
            let peer = &mut self.peers[to];
            if let Some(word) = peer.words.pop_front() {
                peer.credit.spend();
                self.unsent_words -= 1;
                self.send_word(to, word).await;
            } else if let Some(number) = peer.queue.pop_front() {
                peer.credit.spend();
                self.send_message(number).await;
            } else {
                return;
            }
        }
    }

    async fn send_message(&mut self, number: u32) {
        let send = self.outgoing[&number];
        if u64::from(send.source.len) <= self.config.parameters.eager_limit.0 {
            self.outgoing.remove(&number);
            return self.send_eager(number, &send).await;
        }
        let source = send.source.address;
        let header = self.header(&send, Kind::Request { source }, number);
        let body = Body::NapImmediate(header.emit());
        self.post(send.to, 0, body).await;
    }

    async fn send_eager(&mut self, number: u32, send: &Outgoing) {
        let header = self.header(send, Kind::Eager, number);
        match self.config.parameters.eager {
            Eager::Immediate => {
                let bytes = [header.emit(), self.load(send.source).await].concat();
                self.post(send.to, 0, Body::NapImmediate(bytes)).await;
                self.open.remove(&number);
            }
            Eager::Indirect => {
                let mut sources = vec![self.keep_header(&header).await];
                sources.extend((send.source.len > 0).then_some(send.source));
                self.post(send.to, number, Body::NapIndirect(sources)).await;
            }
        }
    }

    fn header(&mut self, send: &Outgoing, kind: Kind, number: u32) -> Header {
        Header {
            kind,
            context: send.context,
            returned: self.peers[send.to].credit.pay(),
            tag: send.tag,
            len: send.source.len,
            number,
        }
    }

    /// Writes a header where the controller reads it. There is a slot for each outstanding request, and requests end in order.
    async fn keep_header(&mut self, header: &Header) -> Item {
        self.wait_for_request_slot().await;
        let bytes = header.emit();
        let place = self.headers % u64::from(REQUESTS);
        self.headers += 1;
        let address = self.config.scratch + place * Header::BYTES as u64;
        let stores = bytes.len().div_ceil(8) as u64;
        self.system
            .work(self.config.costs.memory_write * stores)
            .await;
        self.store(address, &bytes).await;
        Item {
            address,
            len: bytes.len() as u32,
        }
    }

    /// Sends a NAP. Its credit is already spent, or it needs no credit.
    async fn send_word(&mut self, to: usize, word: ControlWord) {
        let header = Header {
            kind: word.kind,
            context: Context::Program,
            returned: self.peers[to].credit.pay(),
            tag: 0,
            len: word.len,
            number: word.number,
        };
        self.post(to, 0, Body::NapImmediate(header.emit())).await;
    }

    /// Posts a request whose end is recorded for `number`.
    pub(super) async fn post(&mut self, to: usize, number: u32, body: Body) {
        self.wait_for_request_slot().await;
        let descriptor = Descriptor {
            body,
            tell_sender: true,
            tell_receiver: false,
            key: self.config.place.key,
            destination: self.peers[to].id,
            label: number,
            probe: Probe::default(),
        };
        let posted = self.pair.post(&descriptor).await;
        posted.expect("a rank stays within the limits of its queue pair");
    }

    /// Waits until another request may be posted. At least half of the outstanding requests are not GETs, so an event will arrive.
    async fn wait_for_request_slot(&mut self) {
        while self.pair.outstanding() >= self.config.place.requests {
            self.handle_sent().await;
        }
    }
}

//! Programs that send the messages of a flow through a queue pair, and notice them at the other end.

use device::nic::descriptor::{Body, Descriptor, Item, Probe};
use std::sync::Arc;

use kernel::{Stream, Time};
use packet::{FlowId, Observation};
use transaction::Spread;

use crate::queue_pair::{MessageNote, Place, QueuePair, see};
use crate::{DriverParameters, System};

/// How a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// To a buffer of the receiver's choice, out of the descriptor.
    NapImmediate,
    /// To a buffer of the receiver's choice, out of memory.
    NapIndirect,
    /// To an address there.
    Put,
    /// From an address there.
    Get,
}

impl Primitive {
    const NAMES: [(&str, Self); 4] = [
        ("nap-immediate", Self::NapImmediate),
        ("nap-indirect", Self::NapIndirect),
        ("put", Self::Put),
        ("get", Self::Get),
    ];

    /// What a scenario calls it.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether it finds a buffer by itself.
    pub fn is_nap(self) -> bool {
        matches!(self, Self::NapImmediate | Self::NapIndirect)
    }
}

kernel::choices!(Primitive);

/// What goes from one queue pair to another, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How it goes.
    pub primitive: Primitive,
    /// The queue pair of the side that asks.
    pub from: Place,
    /// The other queue pair.
    pub to: Place,
    /// Where the bytes are, in the memory of the side that has them.
    pub source: u64,
    /// Where they go, in the memory of the other side. A NAP needs none.
    pub target: u64,
    /// Its bytes; at most, if they are drawn.
    pub size: u64,
    /// How many are under way at most.
    pub outstanding: u32,
}

/// The messages of a flow.
#[derive(Clone, Debug)]
pub struct Messages {
    /// The flow, to the probes.
    pub flow: FlowId,
    /// What each is.
    pub message: Message,
    /// The least bytes of a message, and what draws them. Such messages are not noticed.
    pub drawn: Option<(u64, Stream)>,
    /// Bytes of the buffers at both ends, a multiple of a message's: messages use them in turn, again and again.
    pub window: u64,
    /// How many bytes in all, or until when.
    pub extent: MessageExtent,
}

/// How many messages there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageExtent {
    /// As many as move so many bytes; the last one may be shorter.
    Bytes(u64),
    /// As many as begin before then.
    Until(Time),
}

/// Bytes of one item of a descriptor: the authors of chpp give 2 MiB to one.
const ITEM: u64 = 2 << 20;

impl Messages {
    /// Where message `number`, of `len` bytes, begins in the buffers. A shorter one ends where others do: its last byte tells
    /// that it is there.
    fn offset(&self, number: u64, len: u64) -> u64 {
        let place = number * self.message.size % self.window;
        if self.is_noticed_by_its_end() {
            place + self.message.size - len
        } else {
            place
        }
    }

    fn is_noticed_by_its_end(&self) -> bool {
        self.drawn.is_none() && !self.message.primitive.is_nap()
    }

    /// Bytes of the next message, after `sent` bytes, if there is one at `now`.
    fn next_len(&mut self, sent: u64, now: Time) -> Option<u64> {
        let left = match self.extent {
            MessageExtent::Bytes(all) => all - sent,
            MessageExtent::Until(end) if now < end => u64::MAX,
            MessageExtent::Until(_) => 0,
        };
        let size = match &mut self.drawn {
            Some((least, stream)) => *least + stream.below(self.message.size - *least + 1),
            None => self.message.size,
        };
        (left > 0).then(|| size.min(left))
    }

    /// The addresses of the last bytes of its messages, which tell the side where they go that one is there.
    pub fn last_bytes(&self) -> Vec<u64> {
        let all = match self.extent {
            MessageExtent::Bytes(all) => all.div_ceil(self.message.size),
            MessageExtent::Until(_) => u64::MAX,
        };
        let count = all.min(self.window / self.message.size);
        (1..=count)
            .map(|number| self.message.target + number * self.message.size - 1)
            .collect()
    }

    fn descriptor(&self, number: u64, len: u64, data: Vec<u8>) -> Descriptor {
        let offset = self.offset(number, len);
        let items = |base| -> Vec<Item> {
            let starts = (0..len).step_by(ITEM as usize);
            starts
                .map(|at| Item {
                    address: base + offset + at,
                    len: ITEM.min(len - at) as u32,
                })
                .collect()
        };
        let (sources, targets) = (items(self.message.source), items(self.message.target));
        Descriptor {
            body: match self.message.primitive {
                Primitive::NapImmediate => Body::NapImmediate(data),
                Primitive::NapIndirect => Body::NapIndirect(sources),
                Primitive::Put => Body::Put { sources, targets },
                Primitive::Get => Body::Get { sources, targets },
            },
            tell_sender: true,
            tell_receiver: false,
            key: self.message.to.key,
            destination: self.message.to.id,
            label: number as u32,
            probe: Probe {
                flow: Some(self.flow),
                offset,
                is_timed: false,
            },
        }
    }
}

/// Sends the messages of a flow.
pub async fn send(system: System, costs: DriverParameters, mut messages: Messages) {
    let flow = messages.flow;
    let mut pair = QueuePair::new(system.clone(), costs.clone(), messages.message.from);
    let (mut number, mut sent) = (0, 0);
    while let Some(len) = messages.next_len(sent, system.now().await) {
        while pair.outstanding() >= messages.message.outstanding {
            wait(&mut pair, messages.message.primitive).await;
        }
        let data = match messages.message.primitive {
            Primitive::NapImmediate => {
                let from = messages.message.source + messages.offset(number, len);
                system.load(from, len as usize).await
            }
            _ => Vec::new(),
        };
        let descriptor = messages.descriptor(number, len, data);
        let posted = if messages.drawn.is_some() {
            pair.post(&descriptor).await
        } else {
            pair.post_message(&descriptor, flow).await
        };
        posted.expect("a flow keeps within the limits of a queue pair");
        number += 1;
        sent += len;
    }
    system.tell(Observation::Ended { flow, bytes: sent }).await;
    while pair.outstanding() > 0 {
        wait(&mut pair, messages.message.primitive).await;
    }
}

/// Waits for the end of a request: a GET's is the arrival of its data.
async fn wait(pair: &mut QueuePair, primitive: Primitive) {
    if primitive == Primitive::Get {
        pair.arrived().await;
        pair.finish();
    } else {
        pair.sent().await;
    }
}

/// Notices the messages of a flow where they go.
pub async fn notice(system: System, costs: DriverParameters, messages: Messages) {
    let flow = messages.flow;
    let mut pair = QueuePair::new(system.clone(), costs.clone(), messages.message.to);
    let last_bytes = messages.last_bytes();
    for number in 0.. {
        if messages.message.primitive.is_nap() {
            let event = pair.arrived().await;
            system
                .tell(Observation::own(flow, MessageNote::Noticed))
                .await;
            pair.give_back(event.word).await;
        } else {
            let place = number % last_bytes.len();
            system.written(last_bytes[place]).await;
            see(&system, costs.poll).await;
            system
                .tell(Observation::own(flow, MessageNote::Noticed))
                .await;
        }
    }
}

/// What a processor offers to others, whatever became of it before.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its flow, to the probes.
    pub flow: FlowId,
    /// The queue pair that sends.
    pub from: Place,
    /// Where the message is.
    pub source: u64,
    /// Bytes of a message.
    pub size: u64,
    /// Queue pairs that it can go to, and where there.
    pub targets: Arc<[(Place, u64)]>,
    /// Which of them each message goes to, and when.
    pub spread: Spread,
    /// When offering begins, and ends.
    pub during: (Time, Time),
}

/// Offers messages. One that is due while as many as there may be are under way waits, and counts from when it was due.
pub async fn offer(system: System, costs: DriverParameters, offer: Offer) {
    let mut pair = QueuePair::new(system.clone(), costs, offer.from);
    let (mut spread, mut sent) = (offer.spread, 0);
    let (start, end) = offer.during;
    let mut due = start + spread.lead();
    while due < end {
        let now = system.now().await;
        if due > now {
            system.sleep(due.since(now)).await;
        }
        while pair.outstanding() >= offer.from.requests {
            pair.sent().await;
        }
        let (to, address) = offer.targets[spread.target() as usize];
        let item = |address| Item {
            address,
            len: offer.size as u32,
        };
        let descriptor = Descriptor {
            body: Body::Put {
                sources: vec![item(offer.source)],
                targets: vec![item(address)],
            },
            tell_sender: true,
            tell_receiver: false,
            key: to.key,
            destination: to.id,
            label: 0,
            probe: Probe {
                flow: Some(offer.flow),
                offset: 0,
                is_timed: true,
            },
        };
        let posted = pair.post_late(&descriptor, due).await;
        posted.expect("an offer keeps within the limits of a queue pair");
        sent += offer.size;
        due += spread.gap();
    }
    let (flow, bytes) = (offer.flow, sent);
    system.tell(Observation::Ended { flow, bytes }).await;
    while pair.outstanding() > 0 {
        pair.sent().await;
    }
}

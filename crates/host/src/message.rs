//! Programs that send the messages of a flow through a queue pair, and programs that detect them at the target.

use device::nic::descriptor::{Body, Descriptor, Item, Probe};
use std::sync::Arc;

use kernel::{Stream, Time};
use packet::{FlowId, Observation};
use transaction::Spread;

use crate::queue_pair::{MessageNote, QueuePair, QueuePairPlace};
use crate::{DriverParameters, StoreOrigin, System};

kernel::choices! {
    /// The transfer method of a message.
    pub enum Primitive {
        /// A NAP with the data in the descriptor, to a buffer that the receiver provides.
        NapImmediate = "nap-immediate",
        /// A NAP with the data in memory, to a buffer that the receiver provides.
        NapIndirect = "nap-indirect",
        /// A PUT to an address at the other side.
        Put = "put",
        /// A GET from an address at the other side.
        Get = "get",
    }
}

impl Primitive {
    /// Whether the receiver provides the buffer.
    pub fn is_nap(self) -> bool {
        matches!(self, Self::NapImmediate | Self::NapIndirect)
    }
}

/// A message between two queue pairs, which is sent repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The transfer method.
    pub primitive: Primitive,
    /// The queue pair that posts the requests.
    pub from: QueuePairPlace,
    /// The other queue pair.
    pub to: QueuePairPlace,
    /// The address of the data, in the memory of the side that has it.
    pub source: u64,
    /// The address of the target, in the memory of the other side. A NAP does not use it.
    pub target: u64,
    /// The size in bytes; the largest size if sizes are random.
    pub size: u64,
    /// The largest number of outstanding messages.
    pub outstanding: u32,
}

/// The messages of a flow.
#[derive(Clone, Debug)]
pub struct Messages {
    /// The number of the flow for the probes.
    pub flow: FlowId,
    /// The description of each message.
    pub message: Message,
    /// The smallest size and the random stream of sizes, if sizes are random. Messages of random sizes are not detected at the target.
    pub drawn: Option<(u64, Stream)>,
    /// The size of the buffers at both ends, a multiple of the message size. Messages use the buffers in turn, repeatedly.
    pub window: u64,
    /// The condition that ends the flow.
    pub extent: MessageExtent,
}

/// The condition that ends a flow of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageExtent {
    /// The flow ends after this many bytes; the last message may be shorter.
    Bytes(u64),
    /// The flow ends with the last message that starts before this time.
    Until(Time),
}

/// The largest size of one item of a descriptor. The authors of chpp use 2 MiB.
const ITEM: u64 = 2 << 20;

impl Messages {
    /// The offset in the buffers of message `number`, which has `len` bytes. The last message may be shorter than the others. Its last byte is
    /// then at the same place as in a longer message, because the target detects a message by its last byte.
    fn offset(&self, number: u64, len: u64) -> u64 {
        let place = number * self.message.size % self.window;
        if self.drawn.is_none() && !self.message.primitive.is_nap() {
            place + self.message.size - len
        } else {
            place
        }
    }

    /// The size of the next message after `sent` bytes, if the flow has not ended at `now`.
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

    /// The addresses of the last bytes of messages. The target side detects a message by its last byte.
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
        let noticed = messages.drawn.is_none().then_some(flow);
        let origin = StoreOrigin {
            flow: Some(flow),
            ..StoreOrigin::default()
        };
        let posted = pair.post_as(&descriptor, origin, noticed).await;
        posted.expect("a flow stays within the limits of a queue pair");
        number += 1;
        sent += len;
    }
    system
        .report(Observation::Ended { flow, bytes: sent })
        .await;
    while pair.outstanding() > 0 {
        wait(&mut pair, messages.message.primitive).await;
    }
}

/// Waits until a request ends. A GET ends when its data arrives.
async fn wait(pair: &mut QueuePair, primitive: Primitive) {
    if primitive == Primitive::Get {
        pair.arrived().await;
        pair.finish();
    } else {
        pair.sent().await;
    }
}

/// Detects the messages of a flow at their target.
pub async fn notice(system: System, costs: DriverParameters, messages: Messages) {
    let flow = messages.flow;
    let mut pair = QueuePair::new(system.clone(), costs.clone(), messages.message.to);
    let last_bytes = messages.last_bytes();
    for number in 0.. {
        if messages.message.primitive.is_nap() {
            let event = pair.arrived().await;
            system.note(flow, MessageNote::Noticed).await;
            pair.give_back(event.word).await;
        } else {
            let place = number % last_bytes.len();
            system.written(last_bytes[place]).await;
            system.sleep(costs.poll).await;
            system.note(flow, MessageNote::Noticed).await;
        }
    }
}

/// Open-loop messages of one processor, which do not wait for earlier messages.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The number of the flow for the probes.
    pub flow: FlowId,
    /// The queue pair that sends the messages.
    pub from: QueuePairPlace,
    /// The address of the data.
    pub source: u64,
    /// The size of each message in bytes.
    pub size: u64,
    /// The target queue pairs, and the target address in each.
    pub targets: Arc<[(QueuePairPlace, u64)]>,
    /// The random targets and times of messages.
    pub spread: Spread,
    /// The time from which messages are due, and the end of this time.
    pub during: (Time, Time),
}

/// Sends open-loop messages. If the largest number of requests is outstanding, a message waits. Its latency is counted from the time at which it
/// was due.
pub async fn offer(system: System, costs: DriverParameters, offer: Offer) {
    let mut pair = QueuePair::new(system.clone(), costs, offer.from);
    let (mut spread, mut sent) = (offer.spread, 0);
    let (start, end) = offer.during;
    let mut due = start + spread.lead();
    while due < end {
        system.sleep_until(due).await;
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
        let origin = StoreOrigin {
            born: Some(due),
            ..StoreOrigin::default()
        };
        let posted = pair.post_as(&descriptor, origin, None).await;
        posted.expect("an offer stays within the limits of a queue pair");
        sent += offer.size;
        due += spread.gap();
    }
    let (flow, bytes) = (offer.flow, sent);
    system.report(Observation::Ended { flow, bytes }).await;
    while pair.outstanding() > 0 {
        pair.sent().await;
    }
}

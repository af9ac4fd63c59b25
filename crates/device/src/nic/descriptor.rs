//! Chain-DMA descriptors: what a queue pair is asked to send, as it stands in memory.
//!
//! | offset | bits | |
//! |---|---|---|
//! | 0 | 8 | primitive: 1 immediate NAP, 2 indirect NAP, 3 PUT, 4 GET |
//! | 1 | 8 | bit 0: tell the sender; bit 1: tell the receiver |
//! | 2 | 16 | key of both queue pairs |
//! | 4 | 16 | destination, a [`QueuePairId`] |
//! | 6 | 16 | source items; of an immediate NAP, bytes of data |
//! | 8 | 16 | target items |
//! | 10 | 16 | 0 |
//! | 12 | 32 | label, which comes back in the event |
//! | 16 | 32 | what the probes call its flow, from 1; 0 for nothing |
//! | 20 | 32 | bit 0: the probes hear when its last byte is in memory; others 0 |
//! | 24 | 64 | where its first byte stands in that flow |
//! | 32 | | source items, then target items: address (64 bits), length (32), 0 (32); or the data, up to a multiple of 16 bytes |
//!
//! All is little-endian. Sources and targets may be cut differently; only the sums of their lengths agree.

use packet::{Fault, FlowId};
use protocol::QueuePairId;
use thiserror::Error;

/// What a queue pair is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// What is sent, and where from and to.
    pub body: Body,
    /// Whether the sender gets an event.
    pub tell_sender: bool,
    /// Whether the receiver of a PUT gets an event; that of a NAP always does, and that of a GET's data is the sender.
    pub tell_receiver: bool,
    /// Key of both queue pairs.
    pub key: u16,
    /// The other queue pair.
    pub destination: QueuePairId,
    /// What comes back in the event.
    pub label: u32,
    /// What the probes call it.
    pub probe: Probe,
}

/// What the probes call a message; hardware knows nothing of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Its flow, if it has one.
    pub flow: Option<FlowId>,
    /// Where its first byte stands in that flow.
    pub offset: u64,
    /// Whether its latency is taken when its last byte is in memory.
    pub is_timed: bool,
}

/// What is sent, and where from and to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A message, which is here.
    NapImmediate(Vec<u8>),
    /// A message from memory.
    NapIndirect(Vec<Item>),
    /// Bytes of memory here to memory there.
    Put {
        /// From here.
        sources: Vec<Item>,
        /// To there.
        targets: Vec<Item>,
    },
    /// Bytes of memory there to memory here.
    Get {
        /// From there.
        sources: Vec<Item>,
        /// To here.
        targets: Vec<Item>,
    },
}

/// A range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The first address.
    pub address: u64,
    /// How many bytes.
    pub len: u32,
}

/// Why bytes are no descriptor that can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// It ends before what it says is in it.
    #[error("a descriptor of {need} bytes ends after {have}")]
    Truncated {
        /// Bytes that are there.
        have: usize,
        /// Bytes that it takes.
        need: usize,
    },
    /// No such primitive.
    #[error("there is no primitive {0}; write 1 to 4")]
    Primitive(u8),
    /// A reserved field is not zero.
    #[error("reserved fields are not zero")]
    Reserved,
    /// More than a message holds.
    #[error("a NAP carries up to 2,048 bytes, not {0}")]
    TooLong(u64),
    /// A range of no bytes, or a PUT or GET of nothing.
    #[error("there are no bytes in it")]
    Empty,
    /// A range that ends beyond the addresses of packets.
    #[error("the range at {0:#x} is beyond the 38 bits of a packet's address, or the 64 of memory")]
    Address(u64),
    /// The sums of both lists differ.
    #[error("sources have {sources} bytes and targets {targets}")]
    Totals {
        /// Bytes of the sources.
        sources: u64,
        /// Bytes of the targets.
        targets: u64,
    },
}

impl From<DescriptorError> for Fault {
    fn from(error: DescriptorError) -> Self {
        match error {
            DescriptorError::Totals { .. } => Fault::Totals,
            _ => Fault::Descriptor,
        }
    }
}

impl Item {
    fn emit(self) -> [u8; 16] {
        (u128::from(self.address) | u128::from(self.len) << 64).to_le_bytes()
    }

    fn parse(bytes: &[u8; 16]) -> Result<Self, DescriptorError> {
        let word = u128::from_le_bytes(*bytes);
        let item = Self {
            address: word as u64,
            len: (word >> 64) as u32,
        };
        if word >> 96 != 0 {
            return Err(DescriptorError::Reserved);
        }
        if item.len == 0 {
            return Err(DescriptorError::Empty);
        }
        if item.address.checked_add(item.len.into()).is_none() {
            return Err(DescriptorError::Address(item.address));
        }
        Ok(item)
    }

    /// Whether packets have room for its addresses.
    fn is_in_packets(&self) -> bool {
        self.address + u64::from(self.len) <= 1 << ADDRESS_BITS
    }
}

/// Bytes of `items` together.
pub fn total(items: &[Item]) -> u64 {
    items.iter().map(|item| u64::from(item.len)).sum()
}

impl Body {
    const fn primitive(&self) -> u8 {
        match self {
            Body::NapImmediate(_) => 1,
            Body::NapIndirect(_) => 2,
            Body::Put { .. } => 3,
            Body::Get { .. } => 4,
        }
    }

    /// Bytes that it moves.
    pub fn len(&self) -> u64 {
        match self {
            Body::NapImmediate(data) => data.len() as u64,
            Body::NapIndirect(sources) | Body::Put { sources, .. } | Body::Get { sources, .. } => {
                total(sources)
            }
        }
    }

    /// Whether it moves nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Descriptor {
    /// Bytes before items and data.
    pub const HEAD: usize = 32;
    /// Bytes of a NAP at most.
    pub const MAX_NAP: u64 = 2048;

    /// Its bytes in memory, a multiple of 16.
    pub fn emit(&self) -> Vec<u8> {
        let (first, second) = match &self.body {
            Body::NapImmediate(data) => (data.len(), 0),
            Body::NapIndirect(sources) => (sources.len(), 0),
            Body::Put { sources, targets } | Body::Get { sources, targets } => {
                (sources.len(), targets.len())
            }
        };
        let mut bytes = vec![
            self.body.primitive(),
            u8::from(self.tell_sender) | u8::from(self.tell_receiver) << 1,
        ];
        for field in [
            self.key,
            self.destination.number(),
            first as u16,
            second as u16,
            0,
        ] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(self.label.to_le_bytes());
        let flow = self.probe.flow.map_or(0, |flow| flow.0 + 1);
        bytes.extend(flow.to_le_bytes());
        bytes.extend(u32::from(self.probe.is_timed).to_le_bytes());
        bytes.extend(self.probe.offset.to_le_bytes());
        match &self.body {
            Body::NapImmediate(data) => bytes.extend(data),
            Body::NapIndirect(sources) => bytes.extend(sources.iter().flat_map(|one| one.emit())),
            Body::Put { sources, targets } | Body::Get { sources, targets } => {
                bytes.extend(sources.iter().chain(targets).flat_map(|one| one.emit()));
            }
        }
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes
    }

    /// The descriptor with these bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, DescriptorError> {
        let head = Head::parse(bytes)?;
        let need = head.need();
        let rest = bytes.get(Self::HEAD..need);
        let rest = rest.ok_or(DescriptorError::Truncated {
            have: bytes.len(),
            need,
        })?;
        let body = if head.primitive == IMMEDIATE {
            Body::NapImmediate(rest[..head.first].to_vec())
        } else {
            let (items, _) = rest.as_chunks::<16>();
            let items: Vec<Item> = items.iter().map(Item::parse).collect::<Result<_, _>>()?;
            let (sources, targets) = items.split_at(head.first);
            if let Some(far) = targets.iter().find(|target| !target.is_in_packets()) {
                return Err(DescriptorError::Address(far.address));
            }
            head.body(sources, targets)?
        };
        Ok(Self { body, ..head.frame })
    }
}

/// The first bytes of a descriptor, which say how long it is.
pub(super) struct Head {
    primitive: u8,
    /// Source items, or bytes of immediate data.
    first: usize,
    targets: usize,
    /// All but the body.
    pub(super) frame: Descriptor,
}

impl Head {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, DescriptorError> {
        let truncated = DescriptorError::Truncated {
            have: bytes.len(),
            need: Descriptor::HEAD,
        };
        let head = bytes
            .first_chunk::<{ Descriptor::HEAD }>()
            .ok_or(truncated)?;
        let long = |at: usize| {
            let bytes = head[at..].first_chunk().copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        let (first, second) = (long(0), long(8));
        let primitive = head[0];
        if !(IMMEDIATE..=GET).contains(&primitive) {
            return Err(DescriptorError::Primitive(primitive));
        }
        let destination = QueuePairId::from_number((first >> 32) as u16);
        let (Some(destination), true) = (
            destination,
            head[1] <= 3 && second as u32 >> 16 == 0 && long(16) >> 33 == 0,
        ) else {
            return Err(DescriptorError::Reserved);
        };
        let head = Self {
            primitive,
            first: (first >> 48) as usize,
            targets: (second & 0xffff) as usize,
            frame: Descriptor {
                body: Body::NapImmediate(vec![
                    0;
                    if primitive == IMMEDIATE {
                        (first >> 48) as usize
                    } else {
                        0
                    }
                ]),
                tell_sender: head[1] & 1 != 0,
                tell_receiver: head[1] & 2 != 0,
                key: (first >> 16) as u16,
                destination,
                label: (second >> 32) as u32,
                probe: Probe {
                    flow: (long(16) as u32).checked_sub(1).map(FlowId),
                    offset: long(24),
                    is_timed: long(16) >> 32 == 1,
                },
            },
        };
        if primitive == IMMEDIATE && head.first as u64 > Descriptor::MAX_NAP {
            return Err(DescriptorError::TooLong(head.first as u64));
        }
        if primitive < PUT && head.targets != 0 {
            return Err(DescriptorError::Reserved);
        }
        Ok(head)
    }

    /// Bytes of immediate data, if it is an immediate NAP.
    pub(super) fn immediate(&self) -> Option<usize> {
        (self.primitive == IMMEDIATE).then_some(self.first)
    }

    /// Bytes of the whole descriptor.
    pub(super) fn need(&self) -> usize {
        let rest = match self.immediate() {
            Some(len) => len.next_multiple_of(16),
            None => 16 * (self.first + self.targets),
        };
        Descriptor::HEAD + rest
    }

    fn body(&self, sources: &[Item], targets: &[Item]) -> Result<Body, DescriptorError> {
        let (from, to) = (total(sources), total(targets));
        let (sources, targets) = (sources.to_vec(), targets.to_vec());
        if self.primitive < PUT {
            return if from > Descriptor::MAX_NAP {
                Err(DescriptorError::TooLong(from))
            } else {
                Ok(Body::NapIndirect(sources))
            };
        }
        if from != to {
            return Err(DescriptorError::Totals {
                sources: from,
                targets: to,
            });
        }
        if from == 0 {
            return Err(DescriptorError::Empty);
        }
        Ok(if self.primitive == PUT {
            Body::Put { sources, targets }
        } else {
            Body::Get { sources, targets }
        })
    }
}

const IMMEDIATE: u8 = 1;
const PUT: u8 = 3;
const GET: u8 = 4;
const ADDRESS_BITS: u32 = 38;

#[cfg(test)]
mod tests;

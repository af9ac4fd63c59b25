//! Chain-DMA descriptors: the requests to a queue pair, in memory.
//!
//! | offset | bits | |
//! |---|---|---|
//! | 0 | 8 | primitive: 1 immediate NAP, 2 indirect NAP, 3 PUT, 4 GET |
//! | 1 | 8 | bit 0: event for the sender; bit 1: event for the receiver |
//! | 2 | 16 | key of both queue pairs |
//! | 4 | 16 | destination, a [`QueuePairId`] |
//! | 6 | 16 | number of source items; in an immediate NAP, bytes of data |
//! | 8 | 16 | number of target items |
//! | 10 | 16 | 0 |
//! | 12 | 32 | label, returned in the event |
//! | 16 | 32 | number of its flow for measurements, from 1; 0 for none |
//! | 20 | 32 | bit 0: measure the time at which its last byte is in memory; others 0 |
//! | 24 | 64 | offset of its first byte in that flow |
//! | 32 | | source items, then target items: address (64 bits), length (32), 0 (32); or the data, up to a multiple of 16 bytes |
//!
//! All fields are little-endian. Sources and targets may have different ranges, but the sums of their lengths must be equal.

use packet::{Fault, FlowId};
use protocol::QueuePairId;
use thiserror::Error;

/// A request to a queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The primitive, with its data or addresses.
    pub body: Body,
    /// Whether the sender receives an event.
    pub tell_sender: bool,
    /// Whether the receiver of a PUT receives an event. The receiver of a NAP always receives one. The data of a GET arrives at the processor
    /// that has sent the GET.
    pub tell_receiver: bool,
    /// Key of both queue pairs.
    pub key: u16,
    /// The queue pair to which the request is sent.
    pub destination: QueuePairId,
    /// The label that the event contains.
    pub label: u32,
    /// The identity of the message for measurements.
    pub probe: Probe,
}

/// The identity of a message for measurements. Real hardware has no such field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The flow of the message, if it has one.
    pub flow: Option<FlowId>,
    /// Offset of the message's first byte in its flow.
    pub offset: u64,
    /// Whether the latency of the message is measured when its last byte is in memory.
    pub is_timed: bool,
}

/// The primitive, with its data or addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A message with its data in the descriptor.
    NapImmediate(Vec<u8>),
    /// A message with its data in memory.
    NapIndirect(Vec<Item>),
    /// A transfer from this processor's memory to the other processor's memory.
    Put {
        /// Ranges of this processor's memory.
        sources: Vec<Item>,
        /// Ranges of the other processor's memory.
        targets: Vec<Item>,
    },
    /// A transfer from the other processor's memory to this processor's memory.
    Get {
        /// Ranges of the other processor's memory.
        sources: Vec<Item>,
        /// Ranges of this processor's memory.
        targets: Vec<Item>,
    },
}

/// A range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The first address.
    pub address: u64,
    /// Number of bytes.
    pub len: u32,
}

/// The reason why bytes are not a valid descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// The descriptor ends before its data or its items do.
    #[error("the descriptor needs {need} bytes, but only {have} are present")]
    Truncated {
        /// Bytes present.
        have: usize,
        /// Bytes that the descriptor needs.
        need: usize,
    },
    /// The primitive does not exist.
    #[error("primitive {0} does not exist; write 1 to 4")]
    Primitive(u8),
    /// A reserved field is not zero.
    #[error("a reserved field is not zero; write 0")]
    Reserved,
    /// The data is longer than a NAP can carry.
    #[error("a NAP carries up to 2,048 bytes; {0} are too many")]
    TooLong(u64),
    /// A range is empty, or a PUT or GET has no range.
    #[error("the descriptor has an empty range, or no range")]
    Empty,
    /// A range ends beyond the address field of packets, or beyond 64 bits.
    #[error(
        "the range at {0:#x} does not fit in the 38 address bits of a packet, or in the 64 of memory"
    )]
    Address(u64),
    /// The number of bytes in the source ranges differs from the number in the target ranges.
    #[error("sources have {sources} bytes, but targets {targets}; the sums must be equal")]
    Totals {
        /// Sum of the sources in bytes.
        sources: u64,
        /// Sum of the targets in bytes.
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

    /// Whether all addresses of the range fit in the address field of packets.
    fn is_in_packets(&self) -> bool {
        self.address + u64::from(self.len) <= 1 << ADDRESS_BITS
    }
}

/// Sum of the lengths of `items`, in bytes.
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

    /// Number of bytes to transfer.
    pub fn len(&self) -> u64 {
        match self {
            Body::NapImmediate(data) => data.len() as u64,
            Body::NapIndirect(sources) | Body::Put { sources, .. } | Body::Get { sources, .. } => {
                total(sources)
            }
        }
    }

    /// Whether there are no bytes to transfer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Descriptor {
    /// Bytes before the items or the data.
    pub const HEAD: usize = 32;
    /// Largest NAP in bytes.
    pub const MAX_NAP: u64 = 2048;

    /// The bytes of the descriptor in memory, a multiple of 16.
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

    /// Reads a descriptor.
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

/// The first bytes of a descriptor, from which its length is known.
pub(super) struct Head {
    primitive: u8,
    /// Number of source items, or number of bytes of immediate data.
    first: usize,
    targets: usize,
    /// The descriptor without its data and its items.
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

    /// Number of bytes of immediate data; none if the descriptor is not an immediate NAP.
    pub(super) fn immediate(&self) -> Option<usize> {
        (self.primitive == IMMEDIATE).then_some(self.first)
    }

    /// Length of the whole descriptor in bytes.
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

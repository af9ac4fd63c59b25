//! Events: the controller's reports to software, which it writes to rings in memory.
//!
//! | offset | bits | |
//! |---|---|---|
//! | 0 | 7 | kind: 1 sent, 2 PUT arrived, 3 NAP arrived |
//! | 0.7 | 1 | phase: 1 in the first lap of the ring, 0 in the second, and so on |
//! | 1 | 8 | 0 for success, or 1 and more for a [`Fault`], in their order |
//! | 2 | 16 | the other queue pair |
//! | 4 | 32 | bytes; of a PUT, the bytes of its last packet |
//! | 8 | 64 | label (sent; PUT with a fault: a GET that failed), the address behind the last byte (PUT), or of the buffer (NAP) |

use packet::Fault;
use protocol::QueuePairId;

/// A report to software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The type of the event.
    pub kind: EventKind,
    /// The error, if any.
    pub fault: Option<Fault>,
    /// The queue pair of the other side.
    pub peer: QueuePairId,
    /// Number of bytes; for a PUT, the number of bytes of its last packet.
    pub len: u32,
    /// The label of a sent descriptor or of a failed GET, the address after the last byte of a PUT, or the address of a NAP's
    /// buffer.
    pub word: u64,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// All data of a descriptor was sent, or its transfer has failed.
    Sent = 1,
    /// The last packet of a PUT has arrived.
    Put = 2,
    /// A NAP has arrived.
    Nap = 3,
}

impl Event {
    /// Size of an event in bytes.
    pub const BYTES: u64 = 16;

    /// The bytes of the event, in a lap of the ring with this phase.
    pub fn emit(&self, phase: bool) -> [u8; Self::BYTES as usize] {
        let status = self.fault.map_or(0, |fault| fault.index() as u8 + 1);
        let mut bytes = [0; Self::BYTES as usize];
        bytes[0] = self.kind as u8 | u8::from(phase) << 7;
        bytes[1] = status;
        bytes[2..4].copy_from_slice(&self.peer.number().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.len.to_le_bytes());
        bytes[8..].copy_from_slice(&self.word.to_le_bytes());
        bytes
    }

    /// Parses an event with this phase; none if the bytes have the other phase, because they are from the previous lap.
    pub fn parse(bytes: &[u8; Self::BYTES as usize], phase: bool) -> Option<Self> {
        let kind = match bytes[0] & 0x7f {
            1 => EventKind::Sent,
            2 => EventKind::Put,
            3 => EventKind::Nap,
            _ => return None,
        };
        let word = u128::from_le_bytes(*bytes);
        (bytes[0] >> 7 == u8::from(phase)).then_some(Self {
            kind,
            fault: usize::from(bytes[1])
                .checked_sub(1)
                .and_then(|index| Fault::ALL.get(index).copied()),
            peer: QueuePairId::from_number((word >> 16) as u16)?,
            len: (word >> 32) as u32,
            word: (word >> 64) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_from_its_bytes_in_its_own_lap() {
        for fault in [None, Some(Fault::Doorbell), Some(Fault::Buffer)] {
            for kind in [EventKind::Sent, EventKind::Put, EventKind::Nap] {
                let event = Event {
                    kind,
                    fault,
                    peer: QueuePairId::new(3, 7, 1),
                    len: 4097,
                    word: 0x12_3456_789a,
                };
                assert_eq!(Event::parse(&event.emit(true), true), Some(event));
                assert_eq!(Event::parse(&event.emit(true), false), None);
            }
        }
        assert_eq!(Event::parse(&[0; 16], false), None);
    }
}

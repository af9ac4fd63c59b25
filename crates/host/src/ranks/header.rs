//! The header of each NAP between ranks.
//!
//! | offset | bits | content |
//! |---|---|---|
//! | 0 | 8 | kind: 1 eager, 2 request, 3 answer, 4 moved, 5 fetched, 6 credit |
//! | 1 | 8 | context: 0 of the program, 1 of the layer's collectives |
//! | 2 | 16 | returned credit: NAPs of the other side read since the last return |
//! | 4 | 32 | tag |
//! | 8 | 32 | size of the message in bytes; in an answer, the number of bytes that the receiver takes |
//! | 12 | 32 | number of the message at its sender; in a moved NAP, the number of the receive |
//! | 16 | 64 | in a request, the address of the message; in an answer, the address of the target |
//! | 24 | 32 | in an answer, the number of the receive |
//!
//! All fields are little-endian. The header ends after the last field of its kind. The data of an eager message follows the message number. The
//! sender is in the event of the NAP.

use super::matching::{Context, Envelope};

/// The header of each NAP between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) context: Context,
    pub(super) returned: u16,
    pub(super) tag: u32,
    pub(super) len: u32,
    pub(super) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The whole message.
    Eager,
    /// The announcement of a message at this address of the sender.
    Request { source: u64 },
    /// The answer to a request: the message goes to this address of the receiver.
    Answer { target: u64, receive: u32 },
    /// The message has been PUT to the address of the answer.
    Moved,
    /// The message has been read by GET, or is not needed.
    Fetched,
    /// Only returned credit.
    Credit,
}

impl Header {
    /// The size of an eager message's header in bytes.
    pub(super) const BYTES: usize = 16;

    /// The envelope of the message from rank `from`.
    pub(super) fn envelope(&self, from: usize) -> Envelope {
        Envelope {
            context: self.context,
            from,
            tag: self.tag,
            len: self.len,
        }
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let (kind, rest) = match self.kind {
            Kind::Eager => (1, Vec::new()),
            Kind::Request { source } => (2, source.to_le_bytes().to_vec()),
            Kind::Answer { target, receive } => {
                let (target, receive) = (target.to_le_bytes(), receive.to_le_bytes());
                (3, [&target[..], &receive].concat())
            }
            Kind::Moved => (4, Vec::new()),
            Kind::Fetched => (5, Vec::new()),
            Kind::Credit => (6, Vec::new()),
        };
        let mut bytes = vec![kind, self.context as u8];
        bytes.extend(self.returned.to_le_bytes());
        for field in [self.tag, self.len, self.number] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(rest);
        bytes
    }

    /// Parses the header at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<{ Self::BYTES }>()?;
        let word = u128::from_le_bytes(*head);
        let address = rest.split_first_chunk();
        let address = address.map(|(bytes, rest)| (u64::from_le_bytes(*bytes), rest));
        Some(Self {
            kind: match head[0] {
                1 => Kind::Eager,
                2 => Kind::Request { source: address?.0 },
                3 => {
                    let (target, rest) = address?;
                    let receive = u32::from_le_bytes(*rest.first_chunk()?);
                    Kind::Answer { target, receive }
                }
                4 => Kind::Moved,
                5 => Kind::Fetched,
                6 => Kind::Credit,
                _ => return None,
            },
            context: match head[1] {
                0 => Context::Program,
                1 => Context::Collective,
                _ => return None,
            },
            returned: (word >> 16) as u16,
            tag: (word >> 32) as u32,
            len: (word >> 64) as u32,
            number: (word >> 96) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_from_its_bytes() {
        let kinds = [
            Kind::Eager,
            Kind::Request { source: 0x3f_1234 },
            Kind::Answer {
                target: 0x12_3456,
                receive: 9,
            },
            Kind::Moved,
            Kind::Fetched,
            Kind::Credit,
        ];
        for kind in kinds {
            for context in [Context::Program, Context::Collective] {
                let header = Header {
                    kind,
                    context,
                    returned: 300,
                    tag: u32::MAX,
                    len: 2032,
                    number: 7,
                };
                assert_eq!(Header::parse(&header.emit()), Some(header));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_header_are_none() {
        for (kind, context, len) in [
            (0, 0, 28),
            (7, 0, 28),
            (1, 2, 28),
            (1, 0, 15),
            (2, 0, 23),
            (3, 1, 27),
        ] {
            let mut bytes = vec![0; len];
            (bytes[0], bytes[1]) = (kind, context);
            assert_eq!(Header::parse(&bytes), None);
        }
    }
}

//! The header of packets between network interface controllers: the header of a TLP with a 64-bit address, in which some fields
//! have another meaning.
//!
//! ```text
//! dword  bits
//! 0      31..24  Fmt and Type: 0x60 with data, 0x20 without
//!        22..20  traffic class
//!        19..18  PKTType: 1 NAP, 2 PUT, 3 GET; 0 is an ordinary TLP
//!        17..16  unused bytes of the last dword
//!        15      TD, always 0
//!        14      EP: poisoned data
//!        10      S_Flag: the receiver reports the packet's arrival
//!        9..0    Length: dwords of data, 0 for 1,024
//! 1      31..16  Requester ID
//!        15..0   QPMagic
//! 2      31..19  SRC_ID: processor (8 bits), function (3), queue pair (2)
//!        18..6   DST_ID, with the same fields
//!        5..0    Address, bits 37..32
//! 3      31..0   Address, bits 31..0, of any byte
//! ```
//!
//! All other bits are zero. In an ordinary TLP, bits 19 and 18 are bit 8 of a tag and ID-based ordering. Packets between controllers do not
//! use these two features, so `PKTType` 0 is an ordinary TLP. The names in capitals are from the publication on the system chpp. The
//! publication also states that the other fields have their meaning in PCI Express. The widths and positions of the fields are chosen for
//! this model, because the figure of the publication is lost.

use thiserror::Error;

use crate::{FunctionId, TrafficClass};

/// Header of a packet from one queue pair to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NetworkHeader {
    /// The meaning of the data.
    pub packet_type: PacketType,
    /// Traffic class.
    pub traffic_class: TrafficClass,
    /// The data is poisoned (EP).
    pub poisoned: bool,
    /// The receiver reports the arrival of the data (`S_Flag`).
    pub event: bool,
    /// Requester ID: the function that sends the packet.
    pub requester: FunctionId,
    /// Key that both queue pairs have agreed on: the receiver drops a packet with another key (`QPMagic`).
    pub magic: u16,
    /// Source queue pair.
    pub source: QueuePairId,
    /// Destination queue pair.
    pub destination: QueuePairId,
    address: u64,
    len: u16,
}

/// The meaning of a network packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketType {
    /// A message for a buffer that the receiver chooses: the packet has no address.
    Nap,
    /// Data for an address of the receiver.
    Put,
    /// A descriptor. The receiver executes it as its own PUT.
    Get,
}

/// A queue pair of a function of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePairId(u16);

/// The reason why a header cannot be made, or why bytes are not a network header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// There are fewer bytes than the header has.
    #[error("a network header has 16 bytes; {0} are here")]
    Truncated(usize),
    /// The packet is not a network packet: it has another format and type.
    #[error(
        "format and type {0:#04x} are not a network packet; its format and type are 0x20 or 0x60"
    )]
    Format(u8),
    /// `PKTType` is 0, which is an ordinary TLP.
    #[error("PKTType is 0: this is an ordinary TLP")]
    Ordinary,
    /// A reserved bit or TD is set.
    #[error("reserved bits or TD of the network header are set; they must be 0")]
    Reserved,
    /// The number of unused bytes does not fit the length.
    #[error("{unused} unused bytes do not fit a length of {dwords} dwords")]
    Length {
        /// Length in dwords.
        dwords: u16,
        /// Unused bytes of the last dword.
        unused: u8,
    },
    /// The data is longer than a packet can carry.
    #[error("a network packet carries up to 4,096 bytes; {0} are too many")]
    TooLong(u32),
    /// The address does not fit in its field.
    #[error("address {0:#x} does not fit in the 38 address bits of a network packet")]
    Address(u64),
}

impl QueuePairId {
    /// Queue pair `pair` (0..=3) of function `function` (0..=7) of `processor`; higher bits of either are dropped.
    pub const fn new(processor: u8, function: u8, pair: u8) -> Self {
        Self((processor as u16) << 5 | (function as u16 & 7) << 2 | pair as u16 & 3)
    }

    /// The queue pair with this `number`; `None` if `number` does not fit in 13 bits.
    pub const fn from_number(number: u16) -> Option<Self> {
        if number >> 13 == 0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The 13-bit number of the queue pair.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The number of its processor.
    pub const fn processor(self) -> u8 {
        (self.0 >> 5) as u8
    }

    /// The number of its function: 0 is the physical function, 1 to 7 are virtual functions.
    pub const fn function(self) -> u8 {
        (self.0 >> 2) as u8 & 7
    }

    /// The number of the queue pair in its function.
    pub const fn pair(self) -> u8 {
        self.0 as u8 & 3
    }
}

impl PacketType {
    const fn number(self) -> u32 {
        match self {
            PacketType::Nap => 1,
            PacketType::Put => 2,
            PacketType::Get => 3,
        }
    }
}

impl NetworkHeader {
    /// Bytes of the header.
    pub const BYTES: usize = 16;
    /// Maximum length of the data, in bytes.
    pub const MAX_DATA: u32 = 4096;
    const ADDRESS_BITS: u32 = 38;
    const WITH_DATA: u32 = 0x60;
    const WITHOUT_DATA: u32 = 0x20;
    const RESERVED: u32 = 0x0080_b800;

    /// A header with traffic class 0, without event and with key 0, for `len` bytes (0..=4096) to `address`, which is below 2^38. For a
    /// NAP, which has no address, `address` is 0.
    pub fn new(
        packet_type: PacketType,
        source: QueuePairId,
        destination: QueuePairId,
        address: u64,
        len: u32,
    ) -> Result<Self, NetworkError> {
        if len > Self::MAX_DATA {
            return Err(NetworkError::TooLong(len));
        }
        if address >> Self::ADDRESS_BITS != 0 {
            return Err(NetworkError::Address(address));
        }
        Ok(Self {
            packet_type,
            traffic_class: TrafficClass::default(),
            poisoned: false,
            event: false,
            requester: FunctionId::default(),
            magic: 0,
            source,
            destination,
            address,
            len: len as u16,
        })
    }

    /// The byte address at the destination.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Length of the data in bytes, 0..=4096.
    pub fn len(&self) -> u32 {
        self.len.into()
    }

    /// Length of the data in dwords; the last one may be partly used.
    pub const fn dwords(&self) -> u16 {
        self.len.div_ceil(4)
    }

    /// Whether the packet has no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of the header, in the order of transmission.
    pub fn emit(&self) -> [u8; Self::BYTES] {
        let len = self.len();
        let dwords = u32::from(self.dwords());
        let format = if len > 0 {
            Self::WITH_DATA
        } else {
            Self::WITHOUT_DATA
        };
        let first = format << 24
            | u32::from(self.traffic_class.number()) << 20
            | self.packet_type.number() << 18
            | (4 * dwords - len) << 16
            | u32::from(self.poisoned) << 14
            | u32::from(self.event) << 10
            | dwords & 0x3ff;
        let second = u32::from(self.requester.0) << 16 | u32::from(self.magic);
        let third = u32::from(self.source.0) << 19
            | u32::from(self.destination.0) << 6
            | (self.address >> 32) as u32;
        let mut bytes = [0; Self::BYTES];
        for (place, dword) in
            bytes
                .chunks_exact_mut(4)
                .zip([first, second, third, self.address as u32])
        {
            place.copy_from_slice(&dword.to_be_bytes());
        }
        bytes
    }

    /// Reads the header at the beginning of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, NetworkError> {
        let header = bytes
            .first_chunk::<{ Self::BYTES }>()
            .ok_or(NetworkError::Truncated(bytes.len()))?;
        let dword = |index: usize| {
            let place = &header[4 * index..][..4];
            place
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        let (first, second, third) = (dword(0), dword(1), dword(2));
        let with_data = match first >> 24 {
            Self::WITH_DATA => true,
            Self::WITHOUT_DATA => false,
            format => return Err(NetworkError::Format(format as u8)),
        };
        let packet_type = match first >> 18 & 3 {
            1 => PacketType::Nap,
            2 => PacketType::Put,
            3 => PacketType::Get,
            _ => return Err(NetworkError::Ordinary),
        };
        if first & Self::RESERVED != 0 {
            return Err(NetworkError::Reserved);
        }
        let (dwords, unused) = (first & 0x3ff, first >> 16 & 3);
        let len = match (with_data, dwords) {
            (false, 0) if unused == 0 => 0,
            (false, _) => {
                return Err(NetworkError::Length {
                    dwords: dwords as u16,
                    unused: unused as u8,
                });
            }
            (true, 0) => Self::MAX_DATA - unused,
            (true, dwords) => 4 * dwords - unused,
        };
        Ok(Self {
            packet_type,
            traffic_class: TrafficClass::from_field(first >> 20),
            poisoned: first >> 14 & 1 == 1,
            event: first >> 10 & 1 == 1,
            requester: FunctionId((second >> 16) as u16),
            magic: second as u16,
            source: QueuePairId((third >> 19) as u16),
            destination: QueuePairId((third >> 6 & 0x1fff) as u16),
            address: u64::from(third & 0x3f) << 32 | u64::from(dword(3)),
            len: len as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> impl Strategy<Value = NetworkHeader> {
        let packet_type =
            prop::sample::select(vec![PacketType::Nap, PacketType::Put, PacketType::Get]);
        let pair =
            || (any::<u8>(), 0..8_u8, 0..4_u8).prop_map(|(p, f, q)| QueuePairId::new(p, f, q));
        let place = (0..1_u64 << 38, 0..=NetworkHeader::MAX_DATA);
        let rest = (0..8_u8, any::<(bool, bool, u16, u16)>());
        (packet_type, pair(), pair(), place, rest).prop_map(
            |(packet_type, source, destination, (address, len), (class, rest))| {
                let (poisoned, event, requester, magic) = rest;
                let header = NetworkHeader::new(packet_type, source, destination, address, len);
                NetworkHeader {
                    traffic_class: TrafficClass::new(class).expect("a class below 8"),
                    poisoned,
                    event,
                    requester: FunctionId(requester),
                    magic,
                    ..header.expect("within all limits")
                }
            },
        )
    }

    #[test]
    fn each_field_is_in_its_place() {
        let source = QueuePairId::new(0x12, 3, 1);
        let destination = QueuePairId::new(0xff, 7, 2);
        let plain = NetworkHeader::new(PacketType::Put, source, destination, 0x21_89ab_cdef, 130);
        let header = NetworkHeader {
            event: true,
            requester: FunctionId(0x0301),
            magic: 0xbeef,
            ..plain.expect("within all limits")
        };
        // 130 bytes are 33 dwords. The last two bytes of the last dword are unused.
        let expected = [
            0x60, 0x0a, 0x04, 0x21, 0x03, 0x01, 0xbe, 0xef, 0x12, 0x6f, 0xff, 0xa1, 0x89, 0xab,
            0xcd, 0xef,
        ];
        assert_eq!(header.emit(), expected);
    }

    #[test]
    fn a_packet_may_be_empty_or_full() {
        let header = |len| {
            let pair = QueuePairId::default();
            NetworkHeader::new(PacketType::Nap, pair, pair, 0, len)
        };
        assert_eq!(
            header(0).map(|header| header.emit()[..4].to_vec()),
            Ok(vec![0x20, 0x04, 0, 0])
        );
        assert_eq!(
            header(4096).map(|header| header.emit()[..4].to_vec()),
            Ok(vec![0x60, 0x04, 0, 0])
        );
        assert_eq!(header(4097), Err(NetworkError::TooLong(4097)));
    }

    #[test]
    fn what_is_no_network_header_is_told() {
        let bytes = |first: u32| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&first.to_be_bytes());
            bytes
        };
        let parse = |first| NetworkHeader::parse(&bytes(first));
        assert_eq!(
            NetworkHeader::parse(&[0; 15]),
            Err(NetworkError::Truncated(15))
        );
        assert_eq!(parse(0x4000_0001), Err(NetworkError::Format(0x40)));
        assert_eq!(parse(0x6000_0001), Err(NetworkError::Ordinary));
        assert_eq!(parse(0x6004_8001), Err(NetworkError::Reserved));
        assert_eq!(
            parse(0x2004_0001),
            Err(NetworkError::Length {
                dwords: 1,
                unused: 0
            })
        );
        assert_eq!(
            parse(0x2005_0000),
            Err(NetworkError::Length {
                dwords: 0,
                unused: 1
            })
        );
    }

    proptest! {
        #[test]
        fn a_header_comes_back_from_its_bytes(header in header()) {
            prop_assert_eq!(NetworkHeader::parse(&header.emit()), Ok(header));
        }

        #[test]
        fn bytes_that_are_a_header_are_its_only_ones(mut bytes: [u8; 16], likely: bool) {
            if likely {
                bytes[0] = 0x60;
                bytes[1] &= 0x7f;
                bytes[2] &= 0x47;
            }
            if let Ok(header) = NetworkHeader::parse(&bytes) {
                prop_assert_eq!(header.emit(), bytes);
            }
        }
    }
}

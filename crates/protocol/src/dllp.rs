//! Data link layer packets (DLLPs): acknowledgements and flow-control credit, four bytes and a CRC.

use thiserror::Error;

use crate::{Class, dllp_crc};

/// Bytes of a DLLP on the wire: six, and its framing (PCIe Base 4.2.1.2, 4.2.2.3.1).
pub const DLLP_BYTES: u32 = 8;

/// A data link layer packet (PCIe Base 3.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dllp {
    /// All TLPs up to this sequence number have arrived.
    Ack {
        /// 12 bits.
        sequence: u16,
    },
    /// All TLPs up to this sequence number have arrived. The sender must replay all TLPs after it.
    Nak {
        /// 12 bits.
        sequence: u16,
    },
    /// Initial credit, first stage of flow-control initialization.
    InitFc1(Credit),
    /// Initial credit, second stage of flow-control initialization.
    InitFc2(Credit),
    /// New credit limits.
    UpdateFc(Credit),
    /// The features of the data link layer, exchanged before flow-control initialization (PCIe Base 3.2.1, 3.5.1).
    Feature {
        /// Whether the far end's Feature DLLP has arrived.
        acknowledges: bool,
        /// Whether the sender supports scaled flow control. The other features are not modelled.
        scaled_flow_control: bool,
    },
    /// `PM_Active_State_Request_L1`: the upstream port of a component requests to enter L1 (PCIe Base 5.4.1.2.1).
    ActiveStateRequest,
    /// `PM_Request_Ack`: the downstream port agrees to enter L1. The port sends this DLLP until the link is electrically idle.
    PowerRequestAck,
}

/// Credit of one class on one virtual channel (PCIe Base 2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Virtual channel, 0..=7.
    pub channel: u8,
    /// Flow-control class.
    pub class: Class,
    /// Header credits in units of `header_scale`, modulo 256.
    pub headers: u8,
    /// Data credits of 16 bytes in units of `data_scale`, modulo 4096.
    pub data: u16,
    /// The scaling factor of `headers`: the number of credits in a unit.
    pub header_scale: Scale,
    /// The scaling factor of `data`: the number of credits in a unit.
    pub data_scale: Scale,
}

/// A scaling factor of credit (PCIe Base 3.4.2, table 3-2). The value is the encoding of HdrScale and `DataScale`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Scaled flow control is not active.
    #[default]
    Unscaled,
    /// Scaled flow control is active with factor 1.
    One,
    /// Factor 4.
    Four,
    /// Factor 16.
    Sixteen,
}

impl Scale {
    /// The smallest factor by which a counter that has `bits` bits without scaling can announce `credits` credits.
    pub const fn for_credits(credits: u32, bits: u32) -> Self {
        let largest = (1 << (bits - 1)) - 1;
        match credits {
            _ if credits <= largest => Self::One,
            _ if credits <= largest * 4 => Self::Four,
            _ => Self::Sixteen,
        }
    }

    /// The number of low bits of a credit counter that are not in its field: log2 of the factor.
    pub const fn shift(self) -> u32 {
        match self {
            Self::Unscaled | Self::One => 0,
            Self::Four => 2,
            Self::Sixteen => 4,
        }
    }

    const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Unscaled,
            1 => Self::One,
            2 => Self::Four,
            _ => Self::Sixteen,
        }
    }
}

impl Dllp {
    /// The four bytes and their CRC-16. Bits beyond the width of a field are dropped.
    pub const fn emit(&self) -> [u8; 6] {
        let body = match *self {
            Self::Ack { sequence } => acknowledgement(ACK, sequence),
            Self::Nak { sequence } => acknowledgement(NAK, sequence),
            Self::InitFc1(credit) => credit.emit(INIT_FC1),
            Self::InitFc2(credit) => credit.emit(INIT_FC2),
            Self::UpdateFc(credit) => credit.emit(UPDATE_FC),
            Self::Feature {
                acknowledges,
                scaled_flow_control,
            } => {
                (FEATURE as u32) << 24
                    | (acknowledges as u32) << FEATURE_ACK
                    | scaled_flow_control as u32
            }
            Self::ActiveStateRequest => (ACTIVE_STATE_REQUEST as u32) << 24,
            Self::PowerRequestAck => (POWER_REQUEST_ACK as u32) << 24,
        }
        .to_be_bytes();
        let [low, high] = dllp_crc(body).to_le_bytes();
        [body[0], body[1], body[2], body[3], low, high]
    }

    /// Reads a DLLP. Reserved bits are ignored, as PCIe Base 3.6.2.2 requires.
    pub const fn parse(bytes: &[u8; 6]) -> Result<Self, DllpError> {
        let &[a, b, c, d, low, high] = bytes;
        if dllp_crc([a, b, c, d]) != u16::from_le_bytes([low, high]) {
            return Err(DllpError::Checksum);
        }
        let word = u32::from_be_bytes([a, b, c, d]);
        let sequence = word as u16 & 0xfff;
        match a {
            ACK => return Ok(Self::Ack { sequence }),
            NAK => return Ok(Self::Nak { sequence }),
            ACTIVE_STATE_REQUEST => return Ok(Self::ActiveStateRequest),
            POWER_REQUEST_ACK => return Ok(Self::PowerRequestAck),
            FEATURE => {
                return Ok(Self::Feature {
                    acknowledges: word >> FEATURE_ACK & 1 == 1,
                    scaled_flow_control: word & 1 == 1,
                });
            }
            _ => {}
        }
        let class = match a >> 4 & 3 {
            0 => Class::Posted,
            1 => Class::NonPosted,
            2 => Class::Completion,
            _ => return Err(DllpError::Unsupported(a)),
        };
        let credit = Credit::parse(class, word);
        let dllp = match a & STAGE {
            INIT_FC1 => Self::InitFc1(credit),
            INIT_FC2 => Self::InitFc2(credit),
            UPDATE_FC => Self::UpdateFc(credit),
            _ => return Err(DllpError::Unsupported(a)),
        };
        Ok(dllp)
    }
}

impl Credit {
    const fn emit(self, stage: u8) -> u32 {
        let kind = stage | (self.class.index() as u8) << 4 | self.channel & 7;
        let scales = (self.header_scale as u32) << 22 | (self.data_scale as u32) << 12;
        (kind as u32) << 24 | (self.headers as u32) << 14 | scales | self.data as u32 & 0xfff
    }

    const fn parse(class: Class, word: u32) -> Self {
        Self {
            channel: (word >> 24) as u8 & 7,
            class,
            headers: (word >> 14) as u8,
            data: word as u16 & 0xfff,
            header_scale: Scale::from_bits(word >> 22),
            data_scale: Scale::from_bits(word >> 12),
        }
    }
}

/// The reason why six bytes are not a DLLP of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DllpError {
    /// At least one bit was changed on the wire.
    #[error("the CRC-16 of the DLLP does not match its four bytes")]
    Checksum,
    /// A DLLP type that a receiver discards without an error (PCIe Base 3.6.2.2).
    #[error(
        "DLLP type {0:#04x} is not modelled; Ack, Nak, Data Link Feature, InitFC1, InitFC2, UpdateFC, PM_Active_State_Request_L1 and PM_Request_Ack are"
    )]
    Unsupported(u8),
}

const fn acknowledgement(kind: u8, sequence: u16) -> u32 {
    (kind as u32) << 24 | sequence as u32 & 0xfff
}

const ACK: u8 = 0x00;
const FEATURE: u8 = 0x02;
const NAK: u8 = 0x10;
const ACTIVE_STATE_REQUEST: u8 = 0x23;
const POWER_REQUEST_ACK: u8 = 0x24;
const INIT_FC1: u8 = 0x40;
const UPDATE_FC: u8 = 0x80;
const INIT_FC2: u8 = 0xc0;
/// The bits of the DLLP type that contain neither the class nor the channel of flow-control credit.
const STAGE: u8 = 0b1100_1000;
/// The position of Feature Ack. The bits below it contain the supported features.
const FEATURE_ACK: u32 = 23;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn signed(body: [u8; 4]) -> [u8; 6] {
        let [low, high] = dllp_crc(body).to_le_bytes();
        [body[0], body[1], body[2], body[3], low, high]
    }

    fn credit() -> impl Strategy<Value = Credit> {
        let class = prop::sample::select(&Class::ALL);
        let scales = prop::array::uniform2((0..4_u32).prop_map(Scale::from_bits));
        (0..8_u8, class, any::<u8>(), 0..4096_u16, scales).prop_map(
            |(channel, class, headers, data, [header_scale, data_scale])| Credit {
                channel,
                class,
                headers,
                data,
                header_scale,
                data_scale,
            },
        )
    }

    fn dllp() -> impl Strategy<Value = Dllp> {
        prop_oneof![
            (0..4096_u16).prop_map(|sequence| Dllp::Ack { sequence }),
            (0..4096_u16).prop_map(|sequence| Dllp::Nak { sequence }),
            credit().prop_map(Dllp::InitFc1),
            credit().prop_map(Dllp::InitFc2),
            credit().prop_map(Dllp::UpdateFc),
            Just(Dllp::ActiveStateRequest),
            Just(Dllp::PowerRequestAck),
            any::<(bool, bool)>().prop_map(|(acknowledges, scaled_flow_control)| Dllp::Feature {
                acknowledges,
                scaled_flow_control,
            }),
        ]
    }

    #[test]
    fn an_update_of_completion_credit_on_channel_3_has_its_bits_in_place() {
        let update = Dllp::UpdateFc(Credit {
            channel: 3,
            class: Class::Completion,
            headers: 0xff,
            data: 0x801,
            header_scale: Scale::Unscaled,
            data_scale: Scale::Sixteen,
        });
        assert_eq!(update.emit()[..4], [0xa3, 0x3f, 0xf8, 0x01]);
    }

    #[test]
    fn a_feature_dllp_has_its_acknowledgement_above_its_features() {
        let feature = |acknowledges, scaled_flow_control| Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        };
        assert_eq!(feature(false, true).emit()[..4], [0x02, 0, 0, 1]);
        assert_eq!(feature(true, false).emit()[..4], [0x02, 0x80, 0, 0]);
    }

    /// PCIe Base 3.5.1, table 3-1: types 0x23 and 0x24, and nothing else.
    #[test]
    fn the_dllps_of_l1_are_their_types_alone() {
        assert_eq!(Dllp::ActiveStateRequest.emit()[..4], [0x23, 0, 0, 0]);
        assert_eq!(Dllp::PowerRequestAck.emit()[..4], [0x24, 0, 0, 0]);
    }

    /// PCIe Base 3.4.2, table 3-2: at most 127, 508 or 2032 headers and 2047, 8188 or 32752 data credits.
    #[test]
    fn a_larger_buffer_needs_a_larger_factor() {
        let headers = [127, 128, 508, 509, 2032].map(|credits| Scale::for_credits(credits, 8));
        let data = [2047, 2048, 8188, 8189, 32752].map(|credits| Scale::for_credits(credits, 12));
        let right = [
            Scale::One,
            Scale::Four,
            Scale::Four,
            Scale::Sixteen,
            Scale::Sixteen,
        ];
        assert_eq!(headers, right);
        assert_eq!(data, right);
    }

    #[test]
    fn a_type_that_is_not_modelled_is_told_from_a_damaged_one() {
        let no_operation = [0x31, 0, 0, 0];
        assert_eq!(
            Dllp::parse(&signed(no_operation)),
            Err(DllpError::Unsupported(0x31))
        );
        assert_eq!(
            Dllp::parse(&[0x31, 0, 0, 0, 0, 0]),
            Err(DllpError::Checksum)
        );
    }

    #[test]
    fn the_reserved_bits_of_an_acknowledgement_are_ignored() {
        let ack = Dllp::parse(&signed([0, 0xff, 0xf1, 0x23]));
        assert_eq!(ack, Ok(Dllp::Ack { sequence: 0x123 }));
    }

    proptest! {
        #[test]
        fn a_dllp_comes_back_from_its_bytes(dllp in dllp()) {
            prop_assert_eq!(Dllp::parse(&dllp.emit()), Ok(dllp));
        }

        #[test]
        fn bytes_that_are_a_dllp_come_back_but_for_reserved_bits(body: [u8; 4]) {
            if let Ok(dllp) = Dllp::parse(&signed(body)) {
                let used = match dllp {
                    Dllp::Ack { .. } | Dllp::Nak { .. } => 0xff00_0fff,
                    Dllp::Feature { .. } => 0xff80_0001,
                    Dllp::ActiveStateRequest | Dllp::PowerRequestAck => 0xff00_0000,
                    _ => u32::MAX,
                };
                let kept = u32::from_be_bytes(body) & used;
                prop_assert_eq!(dllp.emit(), signed(kept.to_be_bytes()));
            }
        }

        #[test]
        fn one_wrong_bit_is_noticed(dllp in dllp(), bit in 0..48_usize) {
            let mut bytes = dllp.emit();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Dllp::parse(&bytes), Err(DllpError::Checksum));
        }
    }
}

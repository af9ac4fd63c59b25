//! Properties of each link generation: data rate, coding, timers and skip ordered sets.

use std::ops::RangeInclusive;

/// Data rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// 2.5 GT/s, 8b/10b.
    Gen1,
    /// 5 GT/s, 8b/10b.
    Gen2,
    /// 8 GT/s, 128b/130b.
    Gen3,
    /// 16 GT/s, 128b/130b.
    Gen4,
    /// 20 GT/s, CCIX extended speed mode; all other properties are as for `Gen4`.
    Gen4At20,
    /// 25 GT/s, CCIX extended speed mode; all other properties are as for `Gen4`.
    Gen4At25,
    /// 32 GT/s, 128b/130b.
    Gen5,
}

/// The ordered set that lets a receiver compensate clock differences by adding or dropping symbols (PCIe Base 3.0 4.2.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipOrderedSet {
    /// Interval from one ordered set to the next, in symbol times.
    pub interval_symbols: RangeInclusive<u32>,
    /// Length of the ordered set, in symbol times of every lane.
    pub symbols: u32,
    /// Bytes, on the whole link, of the EDS token, which ends the data stream before the ordered set.
    pub token_bytes: u32,
}

/// Range of the replay timer, in symbol times, for links that support 16 GT/s, with Extended Synch clear (PCIe Base 4.0 3.6.2.1).
pub const SIMPLIFIED_REPLAY_TIMER: RangeInclusive<u32> = 24_000..=31_000;

/// Whether `n` is a link width.
pub const fn lanes_exist(n: u8) -> bool {
    matches!(n, 1 | 2 | 4 | 8 | 12 | 16 | 32)
}

impl Generation {
    /// Every generation of PCI Express, oldest first.
    pub const ALL: [Self; 5] = [Self::Gen1, Self::Gen2, Self::Gen3, Self::Gen4, Self::Gen5];

    /// The generation `number`, 1..=5.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Gen1),
            2 => Some(Self::Gen2),
            3 => Some(Self::Gen3),
            4 => Some(Self::Gen4),
            5 => Some(Self::Gen5),
            _ => None,
        }
    }

    /// The generation's number in registers, 1..=5; the extended speeds of CCIX count as 4.
    pub const fn number(self) -> u8 {
        match self {
            Self::Gen1 => 1,
            Self::Gen2 => 2,
            Self::Gen3 => 3,
            Self::Gen4 | Self::Gen4At20 | Self::Gen4At25 => 4,
            Self::Gen5 => 5,
        }
    }

    /// Data rate of a lane in GT/s, including the bits of the coding.
    pub const fn gigatransfers(self) -> f64 {
        match self {
            Self::Gen1 => 2.5,
            Self::Gen2 => 5.0,
            Self::Gen3 => 8.0,
            Self::Gen4 => 16.0,
            Self::Gen4At20 => 20.0,
            Self::Gen4At25 => 25.0,
            Self::Gen5 => 32.0,
        }
    }

    /// Symbol time: the time of one byte on one lane, including its part of the coding, in 1/64 fs.
    pub const fn lane_byte_fs_x64(self) -> u64 {
        self.row().lane_byte_fs_x64
    }

    /// Unit interval: the time of one bit on a lane, in femtoseconds.
    pub const fn unit_interval_fs(self) -> u64 {
        let bits_x8 = match self.row().coding {
            Coding::Symbols => 10 * 8,
            Coding::Blocks => 65,
        };
        self.lane_byte_fs_x64() / bits_x8 / 8
    }

    /// The number of bits of a byte on a lane: 10 for a code group of 8b/10b, 8 for 128b/130b.
    pub const fn bits_per_byte(self) -> u64 {
        match self.row().coding {
            Coding::Symbols => 10,
            Coding::Blocks => 8,
        }
    }

    /// Whether packets begin with tokens, STP and SDP, which the receiver checks: 128b/130b (PCIe Base 4.2.2.3.1).
    pub const fn has_tokens(self) -> bool {
        matches!(self.row().coding, Coding::Blocks)
    }

    /// The number of symbols on a lane to which ordered sets are aligned: one symbol, or the 16 symbols of a block of 128b/130b.
    pub const fn ordered_set_alignment(self) -> u32 {
        match self.row().coding {
            Coding::Symbols => 1,
            Coding::Blocks => 16,
        }
    }

    /// The time to send `bytes`, distributed over `lanes`, rounded to the nearest femtosecond.
    pub const fn transmission_fs(self, bytes: u64, lanes: u8) -> u64 {
        let divisor = if lanes == 0 { 64 } else { lanes as u64 * 64 };
        bytes
            .saturating_mul(self.lane_byte_fs_x64())
            .saturating_add(divisor / 2)
            / divisor
    }

    /// The interval and the length of skip ordered sets.
    pub const fn skp(self) -> SkipOrderedSet {
        match self.row().coding {
            // PCIe Base 3.0 4.2.7.1: COM and three SKP.
            Coding::Symbols => SkipOrderedSet {
                interval_symbols: 1180..=1538,
                symbols: 4,
                token_bytes: 0,
            },
            // PCIe Base 3.0 4.2.7.2: one ordered set every 370 to 375 blocks of 16 symbol times.
            Coding::Blocks => SkipOrderedSet {
                interval_symbols: 370 * 16..=375 * 16,
                symbols: 16,
                token_bytes: 4,
            },
        }
    }

    /// The interval and the length of skip ordered sets where the two ends have separate reference clocks with independent spread
    /// spectrum clocking (SRIS): less than 154 symbol times, or less than 38 blocks (PCIe Base 4.0 4.2.7.3).
    pub fn skp_with_separate_clocks(self) -> SkipOrderedSet {
        let longest = match self.row().coding {
            Coding::Symbols => 153,
            Coding::Blocks => 37 * 16,
        };
        SkipOrderedSet {
            interval_symbols: longest..=longest,
            ..self.skp()
        }
    }

    /// Latest time for the acknowledgement of a TLP, in symbol times (PCIe Base 3.0 tables 3-7 to 3-9; 6.x tables 3-10 to 3-12).
    ///
    /// The guideline for the latency of a credit update has the same numbers (PCIe Base 6.3 tables 2-52 to 2-54).
    pub const fn ack_latency_limit(self, lanes: u8, max_payload: u16) -> u32 {
        let factor = ack_factor_x10(lanes, max_payload);
        let lanes = if lanes == 0 { 1 } else { lanes as u32 };
        (max_payload as u32 + TLP_OVERHEAD) * factor / (10 * lanes) + self.row().internal_delay
    }

    /// The time in symbol times after which a sender that has received no acknowledgement replays its packets.
    ///
    /// Up to 8 GT/s it is three times the acknowledgement latency (PCIe Base 3.0 tables 3-4 to 3-6). From 16 GT/s it is the lower
    /// end of [`SIMPLIFIED_REPLAY_TIMER`].
    pub const fn replay_timer_limit(self, lanes: u8, max_payload: u16) -> u32 {
        match self {
            Self::Gen1 | Self::Gen2 | Self::Gen3 => 3 * self.ack_latency_limit(lanes, max_payload),
            Self::Gen4 | Self::Gen4At20 | Self::Gen4At25 | Self::Gen5 => {
                *SIMPLIFIED_REPLAY_TIMER.start()
            }
        }
    }

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

struct Row {
    lane_byte_fs_x64: u64,
    coding: Coding,
    /// InternalDelay in symbol times (PCIe Base 3.0 3.5.3.1).
    internal_delay: u32,
}

enum Coding {
    /// 8b/10b.
    Symbols,
    /// 128b/130b.
    Blocks,
}

static ROWS: [Row; 7] = [
    Row {
        lane_byte_fs_x64: 4_000_000 * 64,
        coding: Coding::Symbols,
        internal_delay: 19,
    },
    Row {
        lane_byte_fs_x64: 2_000_000 * 64,
        coding: Coding::Symbols,
        internal_delay: 70,
    },
    Row {
        lane_byte_fs_x64: 1_015_625 * 64,
        coding: Coding::Blocks,
        internal_delay: 115,
    },
    Row {
        lane_byte_fs_x64: 1_015_625 * 32,
        coding: Coding::Blocks,
        internal_delay: 115,
    },
    Row {
        lane_byte_fs_x64: 406_250 * 64,
        coding: Coding::Blocks,
        internal_delay: 115,
    },
    Row {
        lane_byte_fs_x64: 325_000 * 64,
        coding: Coding::Blocks,
        internal_delay: 115,
    },
    Row {
        lane_byte_fs_x64: 1_015_625 * 16,
        coding: Coding::Blocks,
        internal_delay: 115,
    },
];

/// TLPOverhead: prefix, header, LCRC, sequence number and framing, as in the formula of PCIe Base 3.0 3.5.3.1.
const TLP_OVERHEAD: u32 = 28;

/// AckFactor in tenths: the number of TLPs of the largest size that one acknowledgement may cover.
const fn ack_factor_x10(lanes: u8, max_payload: u16) -> u32 {
    match (max_payload, lanes) {
        (..=256, ..=4) => 14,
        (..=256, 8) => 25,
        (..=256, _) => 30,
        (_, ..=8) => 10,
        _ => 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: [u8; 7] = [1, 2, 4, 8, 12, 16, 32];
    const PAYLOADS: [u16; 6] = [128, 256, 512, 1024, 2048, 4096];

    /// Rows are payloads, columns widths.
    type Limits = [[u32; 7]; 6];

    /// PCIe Base 3.0 table 3-7; 6.3 tables 2-52 and 3-10.
    const ACK_2_5_GT: Limits = [
        [237, 128, 73, 67, 58, 48, 33],
        [416, 217, 118, 107, 90, 72, 45],
        [559, 289, 154, 86, 109, 86, 52],
        [1071, 545, 282, 150, 194, 150, 84],
        [2095, 1057, 538, 278, 365, 278, 148],
        [4143, 2081, 1050, 534, 706, 534, 276],
    ];

    /// PCIe Base 3.0 table 3-8; 6.3 tables 2-53 and 3-11.
    const ACK_5_GT: Limits = [
        [288, 179, 124, 118, 109, 99, 84],
        [467, 268, 169, 158, 141, 123, 96],
        [610, 340, 205, 137, 160, 137, 103],
        [1122, 596, 333, 201, 245, 201, 135],
        [2146, 1108, 589, 329, 416, 329, 199],
        [4194, 2132, 1101, 585, 757, 585, 327],
    ];

    /// PCIe Base 3.0 table 3-9; 6.3 tables 2-54 and 3-12.
    const ACK_8_GT: Limits = [
        [333, 224, 169, 163, 154, 144, 129],
        [512, 313, 214, 203, 186, 168, 141],
        [655, 385, 250, 182, 205, 182, 148],
        [1167, 641, 378, 246, 290, 246, 180],
        [2191, 1153, 634, 374, 461, 374, 244],
        [4239, 2177, 1146, 630, 802, 630, 372],
    ];

    /// PCIe Base 3.0 table 3-4.
    const REPLAY_2_5_GT: Limits = [
        [711, 384, 219, 201, 174, 144, 99],
        [1248, 651, 354, 321, 270, 216, 135],
        [1677, 867, 462, 258, 327, 258, 156],
        [3213, 1635, 846, 450, 582, 450, 252],
        [6285, 3171, 1614, 834, 1095, 834, 444],
        [12429, 6243, 3150, 1602, 2118, 1602, 828],
    ];

    /// PCIe Base 3.0 table 3-5, payloads to 2048.
    const REPLAY_5_GT: [[u32; 7]; 5] = [
        [864, 537, 372, 354, 327, 297, 252],
        [1401, 804, 507, 474, 423, 369, 288],
        [1830, 1020, 615, 411, 480, 411, 309],
        [3366, 1788, 999, 603, 735, 603, 405],
        [6438, 3324, 1767, 987, 1248, 987, 597],
    ];

    fn table<const ROWS: usize>(limit: impl Fn(u8, u16) -> u32) -> [[u32; 7]; ROWS] {
        std::array::from_fn(|row| LANES.map(|lanes| limit(lanes, PAYLOADS[row])))
    }

    #[test]
    fn acknowledgements_keep_the_published_limits() {
        let of = |generation: Generation| move |l, p| generation.ack_latency_limit(l, p);
        assert_eq!(table(of(Generation::Gen1)), ACK_2_5_GT);
        assert_eq!(table(of(Generation::Gen2)), ACK_5_GT);
        for generation in [Generation::Gen3, Generation::Gen4, Generation::Gen5] {
            assert_eq!(table(of(generation)), ACK_8_GT);
        }
    }

    #[test]
    fn replay_timers_keep_the_published_limits() {
        let of = |generation: Generation| move |l, p| generation.replay_timer_limit(l, p);
        assert_eq!(table(of(Generation::Gen1)), REPLAY_2_5_GT);
        assert_eq!(table(of(Generation::Gen2)), REPLAY_5_GT);
        assert_eq!(Generation::Gen3.replay_timer_limit(1, 128), 999);
    }

    #[test]
    fn from_16_gt_the_replay_timer_is_the_simplified_one() {
        for generation in [Generation::Gen4, Generation::Gen5] {
            let limit = generation.replay_timer_limit(16, 256);
            assert!(SIMPLIFIED_REPLAY_TIMER.contains(&limit));
        }
    }

    #[test]
    fn a_lane_carries_a_byte_in_eight_bit_times_and_its_coding() {
        let extended = [Generation::Gen4At20, Generation::Gen4At25];
        for generation in Generation::ALL.into_iter().chain(extended) {
            let megatransfers = (generation.gigatransfers() * 1000.0) as u64;
            let (sent, carried) = match generation.row().coding {
                Coding::Symbols => (10, 8),
                Coding::Blocks => (130, 128),
            };
            assert_eq!(
                generation.lane_byte_fs_x64() * megatransfers * carried,
                64 * 8 * sent * 1_000_000_000,
                "{generation:?}"
            );
        }
    }

    #[test]
    fn a_unit_interval_is_the_inverse_of_the_rate() {
        let extended = [Generation::Gen4At20, Generation::Gen4At25];
        for generation in Generation::ALL.into_iter().chain(extended) {
            let units = 1_000_000_000_000_000 / generation.unit_interval_fs();
            let megatransfers = (generation.gigatransfers() * 1000.0) as u64;
            assert_eq!(units, megatransfers * 1_000_000, "{generation:?}");
        }
    }

    #[test]
    fn transmission_is_rounded_to_the_nearest_femtosecond() {
        assert_eq!(Generation::Gen2.transmission_fs(152, 4), 76_000_000);
        assert_eq!(Generation::Gen5.transmission_fs(1, 1), 253_906);
        assert_eq!(Generation::Gen5.transmission_fs(2, 1), 507_813);
        assert_eq!(Generation::Gen3.transmission_fs(3, 2), 1_523_438);
    }

    #[test]
    fn a_width_or_length_that_does_not_exist_stops_nothing() {
        assert!(Generation::Gen1.transmission_fs(u64::MAX, 0) > 0);
        assert!(Generation::Gen1.ack_latency_limit(0, u16::MAX) > 0);
    }

    #[test]
    fn a_generation_has_its_number() {
        for generation in Generation::ALL {
            assert_eq!(
                Generation::from_number(generation.number()),
                Some(generation)
            );
        }
        assert_eq!(Generation::from_number(0), None);
        assert_eq!(Generation::from_number(6), None);
    }

    #[test]
    fn links_have_seven_widths() {
        let widths: Vec<u8> = (0..=u8::MAX).filter(|&n| lanes_exist(n)).collect();
        assert_eq!(widths, LANES);
    }
}

//! The payload of a flow: bytes that depend on the flow and on their offset, so that any byte at a wrong position is detected.

/// The infinite payload of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(u64);

impl Pattern {
    /// The difference between a word and the next word.
    pub const STEP: u64 = GOLDEN;

    /// The payload of flow number `flow` in a run with `seed`.
    pub fn new(seed: u64, flow: u32) -> Self {
        Pattern(mix(seed ^ mix(u64::from(flow) + 1)))
    }

    /// The pattern whose first bytes are `bytes`, if there is one.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let pattern = Pattern(u64::from_le_bytes(*bytes.first_chunk()?));
        pattern.matches(0, bytes).then_some(pattern)
    }

    /// The first word of the payload.
    pub fn start(self) -> u64 {
        self.0
    }

    /// The word at `index`. Each word is the previous word plus an odd constant, and the first word depends on the flow. Therefore no two
    /// words are equal.
    fn word(self, index: u64) -> u64 {
        self.0.wrapping_add(index.wrapping_mul(GOLDEN))
    }

    fn byte(self, offset: u64) -> u8 {
        self.word(offset / 8).to_le_bytes()[(offset % 8) as usize]
    }

    /// Fills `bytes` with the payload from `offset` on.
    pub fn fill(self, offset: u64, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        let tail = offset + 8 * words.len() as u64;
        if offset.is_multiple_of(8) {
            let mut word = self.word(offset / 8);
            for bytes in words {
                *bytes = word.to_le_bytes();
                word = word.wrapping_add(GOLDEN);
            }
        } else {
            for (at, byte) in (offset..).zip(words.as_flattened_mut()) {
                *byte = self.byte(at);
            }
        }
        for (at, byte) in (tail..).zip(rest) {
            *byte = self.byte(at);
        }
    }

    /// Whether `bytes` equal the payload from `offset` on.
    pub fn matches(self, offset: u64, bytes: &[u8]) -> bool {
        let (words, rest) = bytes.as_chunks::<8>();
        let tail = offset + 8 * words.len() as u64;
        let same = if offset.is_multiple_of(8) {
            let mut word = self.word(offset / 8);
            let mut difference = 0;
            for bytes in words {
                difference |= word ^ u64::from_le_bytes(*bytes);
                word = word.wrapping_add(GOLDEN);
            }
            difference == 0
        } else {
            (offset..)
                .zip(words.as_flattened())
                .all(|(at, byte)| *byte == self.byte(at))
        };
        same && (tail..).zip(rest).all(|(at, byte)| *byte == self.byte(at))
    }
}

/// 2^64 divided by the golden ratio, the increment of the `SplitMix64` sequence.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64`.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_piece_is_the_same_wherever_it_is_cut(offset in 0_u64..100, len in 0_usize..100, cut in 0_usize..100) {
            let pattern = Pattern::new(1, 2);
            let mut whole = vec![0; len];
            pattern.fill(offset, &mut whole);
            let cut = cut.min(len);
            let mut pieces = vec![0; len];
            pattern.fill(offset, &mut pieces[..cut]);
            pattern.fill(offset + cut as u64, &mut pieces[cut..]);
            prop_assert_eq!(&whole, &pieces);
            prop_assert!(pattern.matches(offset, &whole));
        }

        #[test]
        fn a_changed_byte_or_place_does_not_match(offset in 0_u64..100, at in 0_usize..64, bit in 0_u32..8) {
            let pattern = Pattern::new(1, 2);
            let mut bytes = vec![0; 100];
            pattern.fill(offset, &mut bytes);
            prop_assert_eq!(Pattern::of(&bytes).is_some(), offset.is_multiple_of(8));
            prop_assert!(!pattern.matches(offset + 8, &bytes));
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Pattern::of(&bytes), None);
            prop_assert!(!pattern.matches(offset, &bytes));
        }
    }
}

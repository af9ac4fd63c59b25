//! Checksums: CRC-16 of a DLLP, LCRC and ECRC of a TLP.
//!
//! Bytes are sent from bit 0 up. The reflected form of the polynomial and a little-endian field therefore give the bit order of
//! PCIe Base tables 3-7 and 3-8 directly.

/// CRC-16 of the four bytes of a DLLP; sent low byte first (PCIe Base 3.5.1).
pub const fn dllp_crc(body: [u8; 4]) -> u16 {
    let [a, b, c, d] = body;
    // The seed FFFFh changes only the first two bytes.
    !(DLLP_TABLES[3][(a ^ 0xff) as usize]
        ^ DLLP_TABLES[2][(b ^ 0xff) as usize]
        ^ DLLP_TABLES[1][c as usize]
        ^ DLLP_TABLES[0][d as usize])
}

/// LCRC of a TLP with its sequence number; sent low byte first (PCIe Base 3.6.2.1).
///
/// `tlp` is header and data. A nullified TLP carries the complement.
pub fn lcrc(sequence: u16, tlp: &[u8]) -> u32 {
    let mut hasher = after_sequence(sequence);
    hasher.update(tlp);
    hasher.finalize()
}

/// ECRC of a TLP; sent low byte first (PCIe Base 2.7.1).
///
/// `tlp` is header and data, with End-End prefixes before them. The variant bits, which a switch may change, count as ones: bit 0 of
/// Type, and EP.
pub fn ecrc(tlp: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let mut tlp = tlp;
    while let Some((prefix, rest)) = tlp.split_first_chunk::<4>()
        && prefix[0] & PREFIX == END_TO_END
    {
        hasher.update(prefix);
        tlp = rest;
    }
    let (first, rest) = tlp.split_at(tlp.len().min(4));
    let mut first = <[u8; 4]>::try_from(first).unwrap_or_default();
    first[0] |= 1;
    first[2] |= 0x40;
    hasher.update(&first);
    hasher.update(rest);
    hasher.finalize()
}

/// The state of the LCRC after the two bytes of the sequence number, whose upper four bits are zero.
fn after_sequence(sequence: u16) -> crc32fast::Hasher {
    let [high, low] = (sequence & 0xfff).to_be_bytes();
    // The seed inverts both bytes. The upper half of the seed remains in the state after the two bytes.
    let remainder =
        LCRC_TABLES[1][usize::from(high ^ 0xff)] ^ LCRC_TABLES[0][usize::from(low ^ 0xff)] ^ 0xffff;
    crc32fast::Hasher::new_with_initial(!remainder)
}

/// Fmt and the upper bit of Type of an End-End TLP prefix (PCIe Base 2.2.10.2).
const END_TO_END: u8 = 0x90;
const PREFIX: u8 = 0xf0;

/// 100Bh, bits reversed.
const DLLP_POLYNOMIAL: u16 = 0xd008;

/// 04C11DB7h, bits reversed.
const LCRC_POLYNOMIAL: u32 = 0xedb8_8320;

/// Table `n` contains the remainder of each byte value when `n` zero bytes follow the byte.
static DLLP_TABLES: [[u16; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u16;
        let mut zeros = 0;
        while zeros < 4 {
            let mut bit = 0;
            while bit < 8 {
                remainder = (remainder >> 1) ^ (DLLP_POLYNOMIAL * (remainder & 1));
                bit += 1;
            }
            tables[zeros][byte] = remainder;
            zeros += 1;
        }
        byte += 1;
    }
    tables
};

/// Table `n` contains the remainder of each byte value when `n` zero bytes follow the byte.
static LCRC_TABLES: [[u32; 256]; 2] = {
    let mut tables = [[0; 256]; 2];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut zeros = 0;
        while zeros < 2 {
            let mut bit = 0;
            while bit < 8 {
                remainder = (remainder >> 1) ^ (LCRC_POLYNOMIAL * (remainder & 1));
                bit += 1;
            }
            tables[zeros][byte] = remainder;
            zeros += 1;
        }
        byte += 1;
    }
    tables
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shift register of PCIe Base figures 3-16 and 3-19, bit by bit, and its field mapping of tables 3-7 and 3-8.
    fn shift_register(bytes: impl IntoIterator<Item = u8>, polynomial: u32, width: u32) -> Vec<u8> {
        let mask = (1_u64 << width) - 1;
        let mut register = mask;
        for byte in bytes {
            for bit in 0..8 {
                let feedback = (register >> (width - 1)) & 1 ^ u64::from(byte >> bit & 1);
                register = register << 1 & mask;
                if feedback == 1 {
                    register ^= u64::from(polynomial);
                }
            }
        }
        let result = register ^ mask;
        let mut field = vec![0; width as usize / 8];
        for bit in 0..width {
            // The tables of the specification reverse the bits of each byte. The most significant byte of the field is first.
            let byte = (width - 1 - bit) / 8;
            field[byte as usize] |= ((result >> bit & 1) as u8) << (7 - bit % 8);
        }
        field
    }

    fn sequenced(sequence: u16, tlp: &[u8]) -> Vec<u8> {
        [&sequence.to_be_bytes(), tlp].concat()
    }

    #[test]
    fn the_shift_register_makes_the_check_value_of_the_common_crc_32() {
        // The check value of CRC-32/ISO-HDLC is the CRC of "123456789". The bytes "12" cannot be a sequence number, because 3132h has
        // reserved bits. This test therefore compares the shift register with the check value; another test compares the LCRC with the
        // shift register.
        assert_eq!(
            shift_register(*b"123456789", 0x04c1_1db7, 32),
            0xcbf4_3926_u32.to_le_bytes()
        );
    }

    #[test]
    fn the_reserved_bits_above_a_sequence_number_are_zero() {
        assert_eq!(lcrc(0xf123, b"data"), lcrc(0x0123, b"data"));
    }

    #[test]
    fn an_ack_of_sequence_zero_has_a_known_checksum() {
        assert_eq!(
            dllp_crc([0; 4]).to_le_bytes().as_slice(),
            shift_register([0; 4], 0x100b, 16)
        );
    }

    proptest! {
        #[test]
        fn the_dllp_checksum_is_that_of_the_shift_register(body: [u8; 4]) {
            let field = dllp_crc(body).to_le_bytes();
            prop_assert_eq!(field.as_slice(), shift_register(body, 0x100b, 16));
        }

        #[test]
        fn the_lcrc_is_that_of_the_shift_register(
            sequence in 0..4096_u16, tlp in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            let expected = shift_register(sequenced(sequence, &tlp), 0x04c1_1db7, 32);
            let field = lcrc(sequence, &tlp).to_le_bytes();
            prop_assert_eq!(field.as_slice(), expected);
        }
    }
}

//! Register accesses divided into aligned words of 4, 8 or 64 bytes.

/// The aligned pieces of a read of `len` bytes at `at`. Each has its address and its length, 4 or 8. The pieces cover the whole read.
pub(super) fn load_pieces(at: u64, len: u64) -> impl Iterator<Item = (u64, u32)> {
    let end = at + len;
    let mut next = at & !3;
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let piece = if next.is_multiple_of(8) && end - next > 4 {
            8
        } else {
            4
        };
        let from = next;
        next += u64::from(piece);
        Some((from, piece))
    })
}

/// The aligned pieces of a write of `bytes` at `at`. A whole cache line is one piece; all other bytes are divided into quadwords and dwords. A
/// partly written dword is dropped, because registers have no byte access.
pub(super) fn store_pieces(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let end = at + bytes.len() as u64;
    let is_line = bytes.len() == 64 && at.is_multiple_of(64);
    let mut next = at.next_multiple_of(4);
    std::iter::from_fn(move || {
        let left = end.checked_sub(next).filter(|left| *left >= 4)?;
        let len = match left {
            _ if is_line => 64,
            8.. if next.is_multiple_of(8) => 8,
            _ => 4,
        };
        let from = (next - at) as usize;
        let piece = (next, &bytes[from..from + len]);
        next += len as u64;
        Some(piece)
    })
}

/// The dwords of a stored piece: offset and value of each.
pub(super) fn dwords(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    let (words, _) = bytes.as_chunks::<4>();
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    (0..).map(move |index| offset + 4 * index).zip(words)
}

/// The result of a load of 4 or 8 bytes from registers of one dword each. The lower dword is loaded first.
pub(super) fn load_dwords(offset: u64, len: u32, mut load: impl FnMut(u64) -> u32) -> u64 {
    let low = u64::from(load(offset));
    if len < 8 {
        return low;
    }
    low | u64::from(load(offset + 4)) << 32
}

/// The half of a 64-bit register that a load of a dword at `offset` returns.
pub(super) fn half(value: u64, offset: u64) -> u32 {
    (value >> (8 * (offset & 4))) as u32
}

/// The half or the whole of a 64-bit register that a load of `len` bytes at `offset` returns.
pub(super) fn part_of(value: u64, offset: u64, len: u32) -> u64 {
    if len == 8 {
        value
    } else {
        half(value, offset).into()
    }
}

/// The value of the 64-bit register `old` after a store of `bytes` (4 or 8 bytes) at `offset`, and the mask of the stored bits.
pub(super) fn merged(old: u64, offset: u64, bytes: &[u8]) -> (u64, u64) {
    if let Ok(all) = bytes.try_into() {
        return (u64::from_le_bytes(all), u64::MAX);
    }
    let Ok(half) = bytes.try_into() else {
        return (old, 0);
    };
    let shift = 8 * (offset & 4);
    let mask = 0xffff_ffff << shift;
    let value = u64::from(u32::from_le_bytes(half)) << shift;
    (old & !mask | value, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_of_quadwords_where_it_can_be() {
        let pieces = |at, len| load_pieces(at, len).collect::<Vec<_>>();
        assert_eq!(pieces(0, 8), [(0, 8)]);
        assert_eq!(pieces(4, 8), [(4, 4), (8, 4)]);
        assert_eq!(pieces(4, 12), [(4, 4), (8, 8)]);
        assert_eq!(pieces(3, 2), [(0, 8)]);
        assert_eq!(pieces(5, 2), [(4, 4)]);
        assert_eq!(pieces(8, 0), []);
    }

    #[test]
    fn a_line_is_stored_at_once_and_part_of_a_dword_not_at_all() {
        let bytes = [7; 64];
        let pieces = |at, len| {
            let pieces = store_pieces(at, &bytes[..len]);
            pieces
                .map(|(at, piece)| (at, piece.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(pieces(64, 64), [(64, 64)]);
        assert_eq!(pieces(4, 12), [(4, 4), (8, 8)]);
        assert_eq!(pieces(2, 7), [(4, 4)]);
        assert_eq!(pieces(0, 3), []);
    }

    #[test]
    fn half_a_register_is_loaded_and_stored_alone() {
        assert_eq!(part_of(0x1_0000_0002, 4, 4), 1);
        assert_eq!(merged(0, 4, &1_u32.to_le_bytes()).0, 1 << 32);
        assert_eq!(merged(5, 0, &[0; 8]), (0, u64::MAX));
    }
}

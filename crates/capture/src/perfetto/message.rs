//! A writer of messages in the encoding of Protocol Buffers: fields by number, in the order in which they are given.

/// A writer that appends a message to a buffer.
#[derive(Debug)]
pub(super) struct Message<'a>(pub(super) &'a mut Vec<u8>);

/// The wire types of fields.
const VARINT: u32 = 0;
const FIXED: u32 = 1;
const BYTES: u32 = 2;

impl Message<'_> {
    pub(super) fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        self.padded::<1>(field, value)
    }

    /// Adds a number with at least `N` bytes. It is faster to write and to read numbers that nearly always have the same length.
    pub(super) fn padded<const N: usize>(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, VARINT);
        let (bytes, len) = varint::<N>(value);
        self.0.extend_from_slice(&bytes[..len]);
        self
    }

    /// Adds a number with a fixed length of eight bytes.
    pub(super) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, FIXED);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.message::<1>(field, |to| to.0.extend_from_slice(text.as_bytes()))
    }

    /// Adds a message that `write` writes. The length of the message is encoded in at least `N` bytes.
    pub(super) fn message<const N: usize>(
        &mut self,
        field: u32,
        write: impl FnOnce(&mut Message<'_>),
    ) -> &mut Self {
        self.key(field, BYTES);
        let begin = self.0.len();
        self.0.extend_from_slice(&[0; N]);
        write(&mut Message(self.0));
        let (length, len) = varint::<N>((self.0.len() - begin - N) as u64);
        if len == N {
            self.0[begin..begin + N].copy_from_slice(&length[..N]);
        } else {
            self.0
                .splice(begin..begin + N, length[..len].iter().copied());
        }
        self
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        let (bytes, len) = varint::<1>((field << 3 | wire_type).into());
        self.0.extend_from_slice(&bytes[..len]);
    }
}

/// The encoding of a number, and its number of bytes, at least `N`. Each byte has seven bits, the lowest ones first; the highest bit is set if more
/// bytes follow.
fn varint<const N: usize>(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut last = 0;
    while value >= 0x80 || last + 1 < N {
        bytes[last] = value as u8 | 0x80;
        value >>= 7;
        last += 1;
    }
    bytes[last] = value as u8;
    (bytes, last + 1)
}

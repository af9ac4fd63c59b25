//! Positions of the fields of a header, found in the bytes that `protocol` makes.
//!
//! The bits of a field are the bits that differ between headers that differ in this field only. Therefore, no position is written twice.

use std::fmt::Write;

use protocol::Header;

/// A field of a header: its name, its meaning, and the bits that it has.
pub(crate) struct Field {
    name: &'static str,
    help: &'static str,
    bits: u128,
}

impl Field {
    /// The field in which `samples` differ. They must not differ in any other field.
    pub(crate) fn new(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Header>,
    ) -> Self {
        let words: Vec<u128> = samples.into_iter().map(|header| word(&header)).collect();
        let bits = words.iter().fold(0, |bits, word| bits | (word ^ words[0]));
        Self { name, help, bits }
    }

    /// The field in the first byte.
    pub(crate) const fn first_byte(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            bits: 0xff << 120,
        }
    }

    /// The field without the bits of `other`, for samples that had to differ in `other`, too.
    pub(crate) const fn outside(mut self, other: &Self) -> Self {
        self.bits &= !other.bits;
        self
    }

    fn low(&self) -> u32 {
        self.bits.trailing_zeros()
    }

    fn width(&self) -> u32 {
        self.bits.count_ones()
    }
}

/// The bytes of a header as a number: its first byte has the highest bits.
fn word(header: &Header) -> u128 {
    u128::from_be_bytes(header.emit().0)
}

/// Two constants for each field: `PREFIX_FIELD` is the lowest bit of the field in the number of a header, and `PREFIX_FIELD_WIDTH` is the
/// number of its bits.
///
/// # Panics
///
/// If two fields share a bit, or the bits of a field are not contiguous.
pub(crate) fn positions(prefix: &str, fields: &[Field]) -> String {
    let mut text = String::new();
    let mut taken = 0;
    for field in fields {
        let (low, width) = (field.low(), field.width());
        let name = field.name.to_uppercase();
        let is_contiguous = field.bits >> low == u128::MAX >> (128 - width);
        assert!(
            is_contiguous && taken & field.bits == 0,
            "the bits of {prefix}_{name} are {:032x}, those of the fields before it {taken:032x}",
            field.bits,
        );
        taken |= field.bits;
        let _ = writeln!(
            text,
            "  localparam int {prefix}_{name} = {low}; // {}",
            field.help
        );
        if width > 1 {
            let _ = writeln!(text, "  localparam int {prefix}_{name}_WIDTH = {width};");
        }
    }
    text
}

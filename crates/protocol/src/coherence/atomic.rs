//! Atomic operations on a part of a cache line, and their results.

use super::LINE_BYTES;
use crate::enumerated::enumerated;

/// The type of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomicChange {
    /// `AtomicStore`: writes a function of memory and operand; returns nothing.
    Store(AtomicFunction),
    /// `AtomicLoad`: writes a function of memory and operand; returns the previous value.
    Load(AtomicFunction),
    /// `AtomicSwap`: writes the operand; returns the previous value.
    Swap,
    /// `AtomicCompare`: writes the second operand if the first one equals memory; returns the previous value.
    Compare,
}

enumerated! {
    /// The function whose result an atomic store or load writes; its arguments are the value in memory and the operand.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum AtomicFunction {
        /// The sum, modulo the width.
        Add,
        /// The value in memory, with the bits of the operand cleared.
        Clear,
        /// The exclusive or.
        ExclusiveOr,
        /// The value in memory, with the bits of the operand set.
        Set,
        /// The larger number, signed.
        SignedMaximum,
        /// The smaller number, signed.
        SignedMinimum,
        /// The larger number, unsigned.
        UnsignedMaximum,
        /// The smaller number, unsigned.
        UnsignedMinimum,
    }
}

impl AtomicFunction {
    /// The result of the function for `memory` and `operand`, which both have `bits` bits.
    fn of(self, memory: u128, operand: u128, bits: u32) -> u128 {
        let signed = |number: u128| (number << (128 - bits)).cast_signed();
        match self {
            Self::Add => memory.wrapping_add(operand),
            Self::Clear => memory & !operand,
            Self::ExclusiveOr => memory ^ operand,
            Self::Set => memory | operand,
            Self::SignedMaximum if signed(memory) < signed(operand) => operand,
            Self::SignedMinimum if signed(memory) > signed(operand) => operand,
            Self::SignedMaximum | Self::SignedMinimum => memory,
            Self::UnsignedMaximum => memory.max(operand),
            Self::UnsignedMinimum => memory.min(operand),
        }
    }
}

/// A number of up to 16 bytes, stored as bytes: the alignment of a `u128` would make every message larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word([u8; 16]);

impl From<u128> for Word {
    fn from(number: u128) -> Self {
        Word(number.to_le_bytes())
    }
}

impl Word {
    /// The number.
    pub const fn number(self) -> u128 {
        u128::from_le_bytes(self.0)
    }
}

/// An atomic operation on 4, 8 or 16 bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineAtomic {
    change: AtomicChange,
    offset: u8,
    width: u8,
    operands: [Word; 2],
}

impl LineAtomic {
    /// An operation on `width` bytes (4, 8 or 16) at `offset` in a line; `offset` is a multiple of `width`. For `AtomicCompare`, `operands`
    /// contains the value to compare with and the value to write; otherwise, it contains the operand and 0. Returns `None` if `width` or
    /// `offset` is invalid.
    pub fn new(
        change: AtomicChange,
        offset: usize,
        width: usize,
        operands: [u128; 2],
    ) -> Option<Self> {
        let fits = matches!(width, 4 | 8 | 16)
            && offset.is_multiple_of(width)
            && offset + width <= LINE_BYTES;
        let mask = u128::MAX >> (128 - width.min(16) * 8).min(127);
        fits.then_some(LineAtomic {
            change,
            offset: offset as u8,
            width: width as u8,
            operands: operands.map(|operand| Word::from(operand & mask)),
        })
    }

    /// The type of the operation.
    pub const fn change(&self) -> AtomicChange {
        self.change
    }

    /// Offset of the value in the line, in bytes.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// Size in bytes of the value, and of each operand.
    pub const fn width(&self) -> usize {
        self.width as usize
    }

    /// The operands; only `AtomicCompare` uses the second.
    pub fn operands(&self) -> [u128; 2] {
        self.operands.map(Word::number)
    }

    /// Number of operands in a message.
    pub const fn operand_count(&self) -> usize {
        match self.change {
            AtomicChange::Compare => 2,
            _ => 1,
        }
    }

    /// Whether the operation returns the previous value.
    pub const fn returns(&self) -> bool {
        !matches!(self.change, AtomicChange::Store(_))
    }

    /// The value that the operation writes if the value in memory is `old`.
    pub fn applied(&self, old: u128) -> u128 {
        let [first, second] = self.operands();
        match self.change {
            AtomicChange::Store(function) | AtomicChange::Load(function) => {
                let bits = u32::from(self.width) * 8;
                function.of(old, first, bits) & (u128::MAX >> (128 - bits))
            }
            AtomicChange::Swap => first,
            AtomicChange::Compare if old == first => second,
            AtomicChange::Compare => old,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(change: AtomicChange, old: u128, operands: [u128; 2]) -> u128 {
        LineAtomic::new(change, 8, 4, operands)
            .expect("four bytes at eight")
            .applied(old)
    }

    #[test]
    fn every_function_does_what_it_says() {
        let [old, operand] = [0x8000_00f0, 0x0000_000f];
        let expected = [
            0x8000_00ff,
            0x8000_00f0,
            0x8000_00ff,
            0x8000_00ff,
            0x0000_000f,
            0x8000_00f0,
            0x8000_00f0,
            0x0000_000f,
        ];
        for (function, expected) in AtomicFunction::ALL.into_iter().zip(expected) {
            let load = AtomicChange::Load(function);
            assert_eq!(after(load, old, [operand, 0]), expected, "{function:?}");
        }
        let store = AtomicChange::Store(AtomicFunction::Add);
        assert_eq!(after(store, 0xffff_ffff, [2, 0]), 1);
    }

    #[test]
    fn a_compare_puts_its_second_operand_where_the_first_stood() {
        assert_eq!(after(AtomicChange::Compare, 7, [7, 9]), 9);
        assert_eq!(after(AtomicChange::Compare, 8, [7, 9]), 8);
        assert_eq!(after(AtomicChange::Swap, 8, [7, 0]), 7);
    }

    #[test]
    fn an_operation_stays_in_its_line_and_at_multiples_of_its_width() {
        let at = |offset, width| LineAtomic::new(AtomicChange::Swap, offset, width, [0; 2]);
        assert!(at(48, 16).is_some() && at(60, 4).is_some());
        assert!(at(56, 16).is_none() && at(4, 8).is_none() && at(0, 2).is_none());
    }
}

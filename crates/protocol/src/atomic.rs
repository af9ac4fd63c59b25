//! Atomic operations on memory: a read and a write of one value, without another access between them (PCIe Base 2.2.7, 6.15).

use crate::coherence::{AtomicChange, AtomicFunction, LINE_BYTES, LineAtomic};
use crate::{FunctionId, MemoryRequest, Tag, TlpError};

/// A request for an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicRequest {
    /// The Requester ID.
    pub requester: FunctionId,
    /// The tag, by which the requester identifies its outstanding requests.
    pub tag: Tag,
    operation: AtomicOperation,
    address: u64,
    width: u8,
}

/// The operation on the value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOperation {
    /// `FetchAdd`: adds the operand to the value, modulo its width.
    FetchAdd,
    /// Unconditional Swap: writes the operand.
    Swap,
    /// Compare and Swap: writes the second operand if the first one equals the value.
    CompareAndSwap,
}

impl AtomicOperation {
    /// All operations, in the order of their Type encodings.
    pub const ALL: [Self; 3] = [Self::FetchAdd, Self::Swap, Self::CompareAndSwap];

    /// Number of operands that the request carries.
    pub const fn operands(self) -> usize {
        match self {
            Self::FetchAdd | Self::Swap => 1,
            Self::CompareAndSwap => 2,
        }
    }

    /// Largest operand, in bytes.
    pub const fn widest(self) -> u8 {
        match self {
            Self::FetchAdd | Self::Swap => 8,
            Self::CompareAndSwap => 16,
        }
    }
}

impl AtomicRequest {
    /// A request for an atomic operation on the `width` bytes at `address`, which is a multiple of `width`. `width` is 4 or 8; for a
    /// compare and swap, it can also be 16.
    pub fn new(
        (requester, tag): (FunctionId, Tag),
        operation: AtomicOperation,
        address: u64,
        width: u32,
    ) -> Result<Self, TlpError> {
        let is_width = matches!(width, 4 | 8 | 16) && width <= operation.widest().into();
        if !is_width || !address.is_multiple_of(width.into()) {
            return Err(TlpError::Operand { address, width });
        }
        Ok(Self {
            requester,
            tag,
            operation,
            address,
            width: width as u8,
        })
    }

    /// The operation.
    pub const fn operation(&self) -> AtomicOperation {
        self.operation
    }

    /// Address of the value in memory.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes of the value in memory, and of each operand.
    pub const fn width(&self) -> u32 {
        self.width as u32
    }

    /// A copy of the request whose address is in the 4 KiB page that contains `address`. The offset in the page does not change.
    #[must_use]
    pub const fn in_page(self, address: u64) -> Self {
        Self {
            address: address & !0xfff | self.address & 0xfff,
            ..self
        }
    }

    /// A memory request for the bytes that the operation reads and writes.
    pub fn range(&self) -> MemoryRequest {
        MemoryRequest::new(self.requester, self.tag, self.address, self.width())
            .expect("a value at a multiple of its width is within a page")
    }

    /// The coherence operation for this request on the cache line that contains the value. `operands` has one operand, or two for a compare
    /// and swap.
    pub fn on_line(&self, operands: &[u8]) -> LineAtomic {
        let width = self.width as usize;
        let (first, second) = operands.split_at(width.min(operands.len()));
        let change = match self.operation {
            AtomicOperation::FetchAdd => AtomicChange::Load(AtomicFunction::Add),
            AtomicOperation::Swap => AtomicChange::Swap,
            AtomicOperation::CompareAndSwap => AtomicChange::Compare,
        };
        let offset = self.address as usize % LINE_BYTES;
        LineAtomic::new(change, offset, width, [number(first), number(second)])
            .expect("a value at a multiple of its width is within a line")
    }

    /// Length of all operands together, in dwords.
    pub const fn dwords(&self) -> u16 {
        self.width as u16 / 4 * self.operation.operands() as u16
    }

    /// Whether the address needs the 4-dword header.
    pub const fn is_wide(&self) -> bool {
        self.address >> 32 != 0
    }
}

/// Reads the little-endian number in `bytes`. The completer of a host uses this byte order.
fn number(bytes: &[u8]) -> u128 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked(
        operation: AtomicOperation,
        address: u64,
        width: u32,
    ) -> Result<AtomicRequest, TlpError> {
        AtomicRequest::new((FunctionId(0), Tag(0)), operation, address, width)
    }

    #[test]
    fn operands_have_the_widths_that_there_are() {
        for operation in AtomicOperation::ALL {
            for width in 0..40 {
                let is_right = [4, 8].contains(&width)
                    || width == 16 && operation == AtomicOperation::CompareAndSwap;
                assert_eq!(asked(operation, 0x40, width).is_ok(), is_right);
            }
        }
        assert_eq!(
            asked(AtomicOperation::Swap, 0x44, 8),
            Err(TlpError::Operand {
                address: 0x44,
                width: 8
            })
        );
    }

    proptest! {
        #[test]
        fn each_operation_leaves_what_its_name_says(old: u64, one: u64, other: u64) {
            let applied = |operation: AtomicOperation, operands: &[u64]| {
                let operands: Vec<u8> = operands.iter().flat_map(|one| one.to_le_bytes()).collect();
                let request = asked(operation, 0x48, 8).unwrap();
                request.on_line(&operands).applied(old.into()) as u64
            };
            prop_assert_eq!(applied(AtomicOperation::FetchAdd, &[one]), old.wrapping_add(one));
            prop_assert_eq!(applied(AtomicOperation::Swap, &[one]), one);
            prop_assert_eq!(applied(AtomicOperation::CompareAndSwap, &[old, other]), other);
            if one != old {
                prop_assert_eq!(applied(AtomicOperation::CompareAndSwap, &[one, other]), old);
            }
            let short = asked(AtomicOperation::FetchAdd, 0x4c, 4).unwrap().on_line(&one.to_le_bytes()[..4]);
            let sum = (old as u32).wrapping_add(one as u32);
            prop_assert_eq!(short.applied((old as u32).into()), u128::from(sum));
        }
    }
}

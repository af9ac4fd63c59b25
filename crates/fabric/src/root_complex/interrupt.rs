//! Message signalled interrupts: writes to addresses that no memory has.

use std::ops::Range;

use protocol::MemoryRequest;

/// The addresses to which functions write message signalled interrupts, as on a PC.
pub const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;

pub(super) fn is_interrupt(request: &MemoryRequest) -> bool {
    INTERRUPTS.contains(&request.address()) && request.byte_len() == 4
}

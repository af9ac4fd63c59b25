//! Message signalled interrupts: writes to addresses that belong to no memory.

use std::ops::Range;

use protocol::MemoryRequest;

/// The addresses to which functions write message signalled interrupts, as on a PC.
pub const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;

pub(super) fn is_interrupt(request: &MemoryRequest) -> bool {
    INTERRUPTS.contains(&request.address()) && request.byte_len() == 4
}

#[cfg(test)]
mod tests {
    use protocol::{FunctionId, Tag};

    use super::*;

    #[test]
    fn an_interrupt_is_a_write_of_one_dword_to_the_addresses_of_interrupts() {
        let is = |address, len| {
            let request = MemoryRequest::new(FunctionId(8), Tag(0), address, len);
            is_interrupt(&request.expect("a legal write"))
        };
        for address in [INTERRUPTS.start, INTERRUPTS.end - 4] {
            assert!(is(address, 4));
            assert!(!is(address, 2));
        }
        assert!(!is(INTERRUPTS.start, 8));
        assert!(!is(INTERRUPTS.start - 4, 4));
        assert!(!is(INTERRUPTS.end, 4));
    }
}

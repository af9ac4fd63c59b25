//! The loads of the next events, begun while the present one is handled.
//!
//! In a large fabric nearly every event finds its component outside the processor's caches. The queue knows the next events, so
//! that their loads can run beside the present event instead of one after another in their own.

use std::ops::Range;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Begins to load the bytes `range` of a value and what follows it. It is a hint to the processor, which changes no value.
#[inline(always)]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "there is no safe hint of this kind")
)]
pub fn prefetch<T: ?Sized>(value: &T, range: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let first = std::ptr::from_ref(value).cast::<i8>();
        let begin = |at: usize| {
            // SAFETY: a prefetch reads no value and cannot fault, whatever the address is; every x86-64 processor has it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
        };
        let steps = range.len().div_ceil(LINE);
        for step in 0..steps {
            begin(range.start + step * LINE);
        }
        // The end may be in one line more. How many there are must not depend on the address, which no processor can foresee.
        let lines = (range.start % LINE + range.len()).div_ceil(LINE);
        if align_of_val(value) < LINE || lines > steps {
            begin(range.end.saturating_sub(1));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, range, LINE);
}

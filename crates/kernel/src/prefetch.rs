//! Loads data for the next events while the present event is processed.
//!
//! In a large fabric, the component of nearly every event is outside the processor's caches. The next events are known from the queue, so
//! their data can be loaded during the present event. Otherwise, each event would wait for its own loads, one after another.

use std::ops::Range;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Begins to load the bytes `range`, counted from the start of `value`. The range may end behind the value. This is a hint to the processor
/// and changes no value.
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
        // The last byte may be in one more cache line. The number of prefetches must not depend on the address, because no processor can
        // predict a branch on the address.
        let lines = (range.start % LINE + range.len()).div_ceil(LINE);
        if align_of_val(value) < LINE || lines > steps {
            begin(range.end.saturating_sub(1));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, range, LINE);
}

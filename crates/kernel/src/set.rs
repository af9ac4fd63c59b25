//! Small sets of numbers, one bit each.

/// The members of a set, in ascending order.
pub fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let member = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(member)
    })
}

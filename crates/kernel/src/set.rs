//! Small sets of numbers, one bit each.

/// The members of a set, in ascending order.
pub fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let member = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(member)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_comes_once_in_ascending_order() {
        assert_eq!(members(0).next(), None);
        let all: Vec<u32> = members(1 << 63 | 1 << 5 | 1).collect();
        assert_eq!(all, [0, 5, 63]);
    }
}

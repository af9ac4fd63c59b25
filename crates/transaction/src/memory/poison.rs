//! The poisoned bytes of a memory, as disjoint ranges.

use std::collections::BTreeMap;

/// Disjoint ranges of poisoned bytes, as a map from the beginning of each range to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Poison(BTreeMap<u64, u64>);

impl Poison {
    /// Whether any of the `len` bytes at `address` is poisoned.
    pub(super) fn touches(&self, address: u64, len: u64) -> bool {
        let before_end = self.0.range(..address + len).next_back();
        before_end.is_some_and(|(_, end)| *end > address)
    }

    /// Poisons the `len` bytes at `address`.
    pub(super) fn add(&mut self, address: u64, len: u64) {
        self.remove(address, len);
        if len > 0 {
            self.0.insert(address, address + len);
        }
    }

    /// Removes the poison of the `len` bytes at `address`, because they were written.
    pub(super) fn remove(&mut self, address: u64, len: u64) {
        let end = address + len;
        while let Some((first, last)) = self.0.range(..end).next_back().map(|(a, b)| (*a, *b))
            && last > address
        {
            self.0.remove(&first);
            if first < address {
                self.0.insert(first, address);
            }
            if last > end {
                self.0.insert(end, last);
            }
            if first < address {
                return;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_byte_is_poisoned_as_the_last_change_of_it_says(changes in vec((any::<bool>(), 0_u64..64, 0_u64..20), 0..40)) {
            let (mut poison, mut bytes) = (Poison::default(), [false; 96]);
            for (adds, address, len) in changes {
                if adds {
                    poison.add(address, len);
                } else {
                    poison.remove(address, len);
                }
                bytes[address as usize..(address + len) as usize].fill(adds);
                for at in 0..84 {
                    prop_assert_eq!(poison.touches(at, 1), bytes[at as usize]);
                    let any = bytes[at as usize..at as usize + 8].contains(&true);
                    prop_assert_eq!(poison.touches(at, 8), any);
                }
                prop_assert_eq!(poison.is_empty(), bytes.iter().all(|byte| !byte));
            }
        }
    }
}

//! An arena in a checkpoint: its slots keep their numbers, and free ones their order.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Arena, Slot};

/// Slots that have holders, each with its number and the number of its holders, and the numbers of all others.
type Stored<T> = (Vec<(u32, u32, T)>, Vec<u32>);

impl<T: Serialize> Serialize for Arena<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let slots = self.slots.iter().zip(&self.holders);
        let held = (0_u32..)
            .zip(slots)
            .filter(|(_, (_, holders))| **holders > 0);
        let held: Stored<&T> = (
            held.map(|(number, (slot, holders))| (number, *holders, &slot.0))
                .collect(),
            self.free.clone(),
        );
        held.serialize(to)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Arena<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (held, free): Stored<T> = Deserialize::deserialize(from)?;
        let count = held.len() + free.len();
        let mut slots: Vec<_> = std::iter::repeat_with(|| Slot(T::default()))
            .take(count)
            .collect();
        let mut holders = vec![0; count];
        for (number, count, value) in held {
            let slot = slots.get_mut(number as usize);
            let slot = slot.ok_or_else(|| Error::custom("a slot beyond the end of its arena"))?;
            slot.0 = value;
            holders[number as usize] = count;
        }
        Ok(Arena {
            slots,
            holders,
            free,
        })
    }
}

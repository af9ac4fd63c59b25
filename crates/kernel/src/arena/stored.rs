//! An arena in a checkpoint: its slots keep their numbers, and free ones their order.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Arena, Slot};

/// Slots that have holders, each with its number and the number of its holders, and the numbers of all others.
type Stored<T> = (Vec<(u32, u32, T)>, Vec<u32>);

impl<T: Serialize> Serialize for Arena<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let held = (0_u32..).zip(&self.slots);
        let held = held.filter(|(_, slot)| slot.holders > 0);
        let held: Stored<&T> = (
            held.map(|(number, slot)| (number, slot.holders, &slot.value))
                .collect(),
            self.free.clone(),
        );
        held.serialize(to)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Arena<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (held, free): Stored<T> = Deserialize::deserialize(from)?;
        let mut slots = Vec::new();
        slots.resize_with(held.len() + free.len(), || Slot {
            holders: 0,
            value: T::default(),
        });
        for (number, holders, value) in held {
            let slot = slots.get_mut(number as usize);
            let slot = slot.ok_or_else(|| Error::custom("a slot beyond the end of its arena"))?;
            *slot = Slot { holders, value };
        }
        Ok(Arena { slots, free })
    }
}

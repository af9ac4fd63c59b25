//! Values that many components share, for `#[serde(with = "kernel::checkpoint::shared")]`: each is written once in a
//! [scope](super::Scope).

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a shared list: its number, and its values where it comes for the first time.
pub fn serialize<T: Serialize, S: Serializer>(list: &Arc<[T]>, to: S) -> Result<S::Ok, S::Error> {
    // Empty lists may all have one address.
    let place = (list.as_ptr().addr(), list.len(), size_of::<T>());
    let (number, is_new) = WRITTEN.with_borrow_mut(|written| {
        let next = written.len() as u32;
        let number = *written.entry(place).or_insert(next);
        (number, number == next)
    });
    (number, is_new.then_some(&**list)).serialize(to)
}

/// Reads a shared list; an error if its number is of a list that was not read before, or has values of another type.
pub fn deserialize<'de, T, D>(from: D) -> Result<Arc<[T]>, D::Error>
where
    T: Deserialize<'de> + Send + Sync + 'static,
    D: Deserializer<'de>,
{
    let (number, values): (u32, Option<Vec<T>>) = Deserialize::deserialize(from)?;
    if let Some(values) = values {
        let list: Arc<[T]> = values.into();
        READ.with_borrow_mut(|read| read.insert(number, Box::new(list.clone())));
        return Ok(list);
    }
    let known = READ.with_borrow(|read| read.get(&number)?.downcast_ref::<Arc<[T]>>().cloned());
    known.ok_or_else(|| Error::custom("a shared list that was not read before"))
}

pub(super) fn forget() {
    WRITTEN.take();
    READ.take();
}

thread_local! {
    static WRITTEN: RefCell<BTreeMap<(usize, usize, usize), u32>> = const { RefCell::new(BTreeMap::new()) };
    static READ: RefCell<BTreeMap<u32, Box<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
}

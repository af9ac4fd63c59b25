//! Arrays that are longer than `serde` allows, as lists.
//!
//! A field names these functions: `#[serde(with = "protocol::array")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes an array as a list.
pub fn serialize<T: Serialize, S: Serializer, const N: usize>(
    array: &[T; N],
    to: S,
) -> Result<S::Ok, S::Error> {
    array.as_slice().serialize(to)
}

/// Reads an array; an error if the list has another length.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>, const N: usize>(
    from: D,
) -> Result<[T; N], D::Error> {
    boxed(from).map(|array| *array)
}

/// Reads an array that is too long for the stack, as [`deserialize`] does.
pub fn boxed<'de, T: Deserialize<'de>, D: Deserializer<'de>, const N: usize>(
    from: D,
) -> Result<Box<[T; N]>, D::Error> {
    let list = Vec::<T>::deserialize(from)?;
    let array = list.try_into();
    array.map_err(|list: Vec<T>| Error::invalid_length(list.len(), &"another number of values"))
}

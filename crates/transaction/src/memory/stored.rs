//! A page of memory in a checkpoint: its chunks that are not zero.

use kernel::checkpoint::refuse;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{PAGE, Page};

/// The size of a chunk: it is small, because many pages hold a few bytes.
const CHUNK: usize = 256;

impl Serialize for Page {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes = match self {
            Page::Own(bytes) => bytes,
            Page::Shared(..) => return Err(refuse("its memory is shared with another process")),
        };
        let chunks = (0_u16..).zip(bytes.chunks_exact(CHUNK));
        let written = chunks.filter(|(_, chunk)| chunk.iter().any(|byte| *byte != 0));
        let written: Vec<(u16, &[u8])> = written.collect();
        written.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Page {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written: Vec<(u16, Vec<u8>)> = Deserialize::deserialize(from)?;
        let page = vec![0; PAGE].into_boxed_slice();
        let mut page: Box<[u8; PAGE]> = page.try_into().expect("it is as long as a page");
        for (number, chunk) in written {
            let place = page.chunks_exact_mut(CHUNK).nth(number.into());
            match place {
                Some(place) if chunk.len() == CHUNK => place.copy_from_slice(&chunk),
                _ => return Err(D::Error::custom("a chunk beyond its page")),
            }
        }
        Ok(Page::Own(page))
    }
}

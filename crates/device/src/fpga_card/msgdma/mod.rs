//! What the engines of the DMA designs share: the dispatcher of the modular scatter/gather DMA and its descriptors.

mod descriptor;
mod dispatcher;

pub(super) use descriptor::Descriptor;
pub(super) use dispatcher::{Asked, Dispatcher, Engine};

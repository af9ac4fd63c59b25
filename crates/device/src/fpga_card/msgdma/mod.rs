//! Common parts of the DMA designs: the dispatcher of the modular scatter/gather DMA, its descriptors, the prefetcher of descriptors
//! in host memory, the FIFO of a read master, and accesses to the memories.

mod block;
mod descriptor;
mod dispatcher;
mod memory;
pub(super) mod prefetcher;
mod read_fifo;

pub(super) use block::Block;
pub(super) use descriptor::Descriptor;
pub(super) use dispatcher::{Command, Dispatcher, Engine};
pub(super) use memory::{Done, Endings, MemoryAddress};
pub(super) use prefetcher::{Outcome, Prefetcher};
pub(super) use read_fifo::ReadFifo;

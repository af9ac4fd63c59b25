//! Common parts of the DMA designs: the dispatcher of the modular scatter/gather DMA, its descriptors, the prefetcher of descriptors
//! in host memory, and the FIFO of a read master.

mod descriptor;
mod dispatcher;
pub(super) mod prefetcher;
mod read_fifo;

pub(super) use descriptor::Descriptor;
pub(super) use dispatcher::{Command, Dispatcher, Engine};
pub(super) use prefetcher::{Outcome, Prefetcher};
pub(super) use read_fifo::ReadFifo;

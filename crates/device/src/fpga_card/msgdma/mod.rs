//! Common parts of the DMA designs: the dispatcher of the modular scatter/gather DMA, its descriptors, and the FIFO of a read
//! master.

mod descriptor;
mod dispatcher;
mod read_fifo;

pub(super) use descriptor::Descriptor;
pub(super) use dispatcher::{Command, Dispatcher, Engine};
pub(super) use read_fifo::ReadFifo;

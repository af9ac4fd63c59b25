//! The translation agent of a host (PCIe Base 10.1).

mod descriptor;
mod page_table;

pub use descriptor::{Step, TranslationTable};
pub use page_table::{PageTable, PageTableError};

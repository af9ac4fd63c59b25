//! The allocator of the module. It uses large memory pages where the operating system provides them on request. In large fabrics, most of
//! the run time is spent on finding components in memory.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

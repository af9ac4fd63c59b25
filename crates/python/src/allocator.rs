//! The allocator of the module. It takes memory in large pages where the system gives them to programs that ask: in large fabrics most
//! of the time goes into finding components in memory.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

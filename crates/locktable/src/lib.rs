//! A lock table that a database and an accelerator share: queues of owners in memory, changed by compare-and-swap.
//!
//! The algorithms do not depend on who performs the operations, nor on their latency. A [`Machine`] names an [`Operation`] on one
//! word of memory, receives the word that was found, and names the next operation, until it has an outcome. A lock engine in a
//! device, the software of a simulated host and a real thread all perform these machines.
//!
//! A bucket is one word, so each change of its queue is one compare-and-swap. If every slot were a separate word, a shift would need
//! several operations. Between two of these operations, an owner would be in two slots or in none: two owners might both find themselves at
//! the head, a joining owner might be lost, and an owner that died in between would leave an invalid queue. With one word there is no
//! intermediate state: an owner that dies leaves the queue as it was before an operation or after it.
//!
//! For the same reason ABA is harmless: a word may change and change back before a compare-and-swap finds the expected value. The
//! word is the whole state and refers to nothing else, so the owners in it are valid. This needs unique owner ids. An id may be
//! given to another owner only when the previous one can no longer reach the memory, not even with an operation that is already
//! under way.
//!
//! There is no order between the locks of several buckets, so two owners can deadlock; a waiter that gives up uses [`Remove`].

mod acquire;
mod machine;
mod owner;
mod queue;
mod release;
mod remove;
mod sweep;
mod table;
mod wait;

pub use acquire::{Acquire, Acquired};
pub use machine::{Machine, Operation};
pub use owner::{NotAnOwner, Owner};
pub use queue::{NotAQueue, NotJoined, Queue};
pub use release::{Release, Released};
pub use remove::{Remove, Removed};
pub use sweep::{Sweep, Swept};
pub use table::{Bucket, RecordVersion, Table, TableError, Width};
pub use wait::{Wait, Waited};

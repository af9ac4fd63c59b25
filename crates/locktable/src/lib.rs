//! A lock table that a database and an accelerator share: queues of owners in memory, changed by compare-and-swap.
//!
//! Nothing here knows who performs the operations or how long each takes: a [`Machine`] names an [`Operation`] on one word
//! of memory, is told what was found there, and names the next, until it has an outcome. A lock engine in a device, the
//! software of a simulated host and a real thread ([`run`]) perform the same machines.
//!
//! A bucket is one word because then each change of its queue is one compare-and-swap. Were the slots words of their own, a
//! shift would take several, and between two of them an owner would stand in two places or in none: two might find
//! themselves at the head, one who joins might be shifted away, and who died half-way would leave a queue that nobody can
//! read. With one word there is no such moment: who dies leaves the queue as it was before an operation or after it.
//!
//! For the same reason it does no harm that a word may have changed and changed back (ABA) before a compare-and-swap finds it
//! as expected: there is nothing behind the word, it is the whole state, and who stands in it now stands there rightly. This
//! is so while an id means one owner. It may be given to another when whoever had it can no longer reach the memory, be it
//! with an operation that is under way; until then, what was removed from the table comes back at most as itself.
//!
//! The locks of several buckets are not ordered here, so that two owners may wait for each other; [`Remove`] is also the way
//! out for a waiter that gives up.

mod acquire;
mod machine;
mod owner;
mod queue;
mod release;
mod remove;
mod sweep;
mod table;
mod wait;
mod words;

pub use acquire::{Acquire, Acquired};
pub use machine::{Machine, Operation};
pub use owner::{NotAnOwner, Owner};
pub use queue::{NotAQueue, NotJoined, Queue};
pub use release::{Release, Released};
pub use remove::{Remove, Removed};
pub use sweep::{Sweep, Swept};
pub use table::{Bucket, RecordVersion, Table, TableError, Width};
pub use wait::{Wait, Waited};
pub use words::{AtomicWords, SharedWords, WordsError, run};

//! Parts of a state that `serde` cannot write and read by itself, for checkpoints of a run.
//!
//! A state is written and read whole on one thread, within a [`Scope`]. Values that many components share are written once in each
//! scope, and are shared again when they are read.

pub mod name;
pub mod shared;

use std::cell::RefCell;
use std::marker::PhantomData;

/// The writing or the reading of one state on this thread.
///
/// Shared values are known, and refusals are kept, until it is dropped.
#[derive(Debug)]
pub struct Scope(PhantomData<*const ()>);

impl Scope {
    /// Begins with no shared value and no refusal.
    #[expect(clippy::new_without_default, reason = "a scope is not a value")]
    pub fn new() -> Self {
        forget();
        Scope(PhantomData)
    }

    /// The reason for which a part of the state has refused to be written, if one has.
    pub fn refusal(&self) -> Option<String> {
        REFUSAL.take()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        forget();
    }
}

fn forget() {
    shared::forget();
    REFUSAL.take();
}

/// Refuses to write a part of a state. The format of the file may lose the text of its own error, so the scope keeps `why`.
pub fn refuse<E: serde::ser::Error>(why: &str) -> E {
    REFUSAL.with_borrow_mut(|refusal| {
        refusal.get_or_insert_with(|| why.to_owned());
    });
    E::custom(why)
}

thread_local! {
    static REFUSAL: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[cfg(test)]
mod tests;

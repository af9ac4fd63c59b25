//! A thread in a checkpoint: one that has ended, because a program cannot be written.

use kernel::Time;
use kernel::checkpoint::refuse;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{State, Thread};
use crate::Coroutine;

impl Serialize for Thread {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.state {
            State::Ended => self.loaded.serialize(to),
            _ => Err(refuse("a program runs on it")),
        }
    }
}

impl<'de> Deserialize<'de> for Thread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Thread {
            program: Coroutine::new(|_| async {}),
            begun: true,
            state: State::Ended,
            loaded: Deserialize::deserialize(from)?,
            ran_at: Time::ZERO,
            steps: 0,
        })
    }
}

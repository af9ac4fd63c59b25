//! Tokens: references to objects, which may no longer exist.

use session::{Object, Reply, Request};

use crate::abi::Code;
use crate::state::State;

/// A reference to an object of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The unique number of the object.
    pub object_id: u64,
}

impl State {
    pub fn token(&self, name: usize) -> Result<Token, Code> {
        self.objects.find(name).copied()
    }

    /// The objects that exist now.
    pub fn objects(&mut self) -> Result<Vec<Object>, Code> {
        match self.call(Request::Objects, None)? {
            Reply::Objects(objects) => Ok(objects),
            _ => Err(Code::Exception),
        }
    }

    /// The objects that exist now, and the index of the object of `token` in the list.
    pub fn object(&mut self, token: Token) -> Result<(Vec<Object>, usize), Code> {
        let objects = self.objects()?;
        let place = objects
            .iter()
            .position(|object| object.object_id == token.object_id)
            .ok_or(Code::NotFound)?;
        Ok((objects, place))
    }

    pub fn new_token(&mut self, object_id: u64) -> Result<usize, Code> {
        self.objects.insert(Token { object_id })
    }
}

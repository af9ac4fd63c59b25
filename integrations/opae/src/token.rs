//! Tokens: what a program was told there is, whether or not it is there still.

use session::{Object, Reply, Request};

use crate::abi::Code;
use crate::state::State;

/// What stands for one object of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The number that no other object has.
    pub object_id: u64,
}

impl State {
    /// What there is now.
    pub fn objects(&mut self) -> Result<Vec<Object>, Code> {
        match self.call(Request::Objects, None)? {
            Reply::Objects(objects) => Ok(objects),
            _ => Err(Code::Exception),
        }
    }

    /// What there is now, and the place in it of what `token` stands for.
    pub fn object(&mut self, token: Token) -> Result<(Vec<Object>, usize), Code> {
        let objects = self.objects()?;
        let place = objects
            .iter()
            .position(|object| object.object_id == token.object_id)
            .ok_or(Code::NotFound)?;
        Ok((objects, place))
    }

    /// A new token.
    pub fn new_token(&mut self, object_id: u64) -> Result<usize, Code> {
        self.tokens.insert(&mut self.names, Token { object_id })
    }
}

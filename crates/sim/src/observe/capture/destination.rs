//! The file of a capture, which takes blocks of whole records.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Whole records.
#[derive(Debug, Default)]
pub struct Block {
    pub bytes: Vec<u8>,
    /// The end of each record in `bytes`.
    pub ends: Vec<usize>,
}

impl Block {
    /// An empty block with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Block {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::new(),
        }
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// A file that ends with a whole record, also after an error.
#[derive(Debug)]
pub struct Destination {
    file: File,
    /// Bytes of whole records in the file.
    written: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    /// The file has failed; the error is here until it is taken.
    Failed(Option<io::Error>),
}

impl Destination {
    /// A destination in `file`, which is empty.
    pub fn new(file: File) -> Self {
        Destination {
            file,
            written: 0,
            state: State::Open,
        }
    }

    /// Appends a block, unless the file has failed before.
    pub fn append(&mut self, block: &Block) {
        if self.has_failed() || block.bytes.is_empty() {
            return;
        }
        let (taken, outcome) = write_until_error(&mut self.file, &block.bytes);
        let whole = block.ends.iter().take_while(|end| **end <= taken).last();
        self.written += *whole.unwrap_or(&0) as u64;
        if let Err(failure) = outcome {
            // A device or a pipe has no length; what it has taken it keeps.
            let _ = self.file.set_len(self.written);
            self.state = State::Failed(Some(failure));
        }
    }

    /// Whether the file has failed, so that nothing more is written.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// Returns the error of the file once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        match &mut self.state {
            State::Open => None,
            State::Failed(failure) => failure.take(),
        }
    }
}

/// Writes `bytes`. Returns the number of bytes that `file` has taken.
fn write_until_error(file: &mut impl Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut taken = 0;
    while taken < bytes.len() {
        match file.write(&bytes[taken..]) {
            Ok(0) => return (taken, Err(ErrorKind::WriteZero.into())),
            Ok(more) => taken += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (taken, Err(error)),
        }
    }
    (taken, Ok(()))
}

//! The file of a capture, which holds whole records at any time.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;

/// A file that is written in blocks of whole records.
///
/// After an error nothing more is written, and the file is cut after its last whole record, so that what is there can be read.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// Records that are not in the file yet.
    block: Vec<u8>,
    /// The end of each record in `block`.
    ends: Vec<usize>,
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

/// A block is written when it has this size.
const BLOCK: usize = 128 << 10;

impl Output {
    /// The output to `file`, which is empty.
    pub fn new(file: File) -> Self {
        Output {
            file,
            block: Vec::with_capacity(2 * BLOCK),
            ends: Vec::new(),
            written: 0,
            state: State::Open,
        }
    }

    /// Appends a whole record.
    #[inline]
    pub fn write(&mut self, record: &[u8]) {
        self.block.extend_from_slice(record);
        self.end_record();
    }

    /// The buffer for the next record, which [`end_record`](Self::end_record) ends. Nothing before it changes.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.block
    }

    /// Ends the record that has been appended to the buffer.
    #[inline]
    pub fn end_record(&mut self) {
        self.ends.push(self.block.len());
        if self.block.len() >= BLOCK {
            self.flush();
        }
    }

    /// Puts the parts of the record in the buffer, which are all of it, into this order.
    pub fn reorder(&mut self, parts: impl Iterator<Item = Range<usize>>) {
        let begin = self.ends.last().copied().unwrap_or(0);
        let end = self.block.len();
        for part in parts {
            self.block.extend_from_within(part);
        }
        self.block.drain(begin..end);
    }

    /// Writes what is buffered to the file.
    pub fn flush(&mut self) {
        if matches!(self.state, State::Open) && !self.block.is_empty() {
            let (taken, outcome) = write_until_error(&mut self.file, &self.block);
            let whole = self.ends.iter().take_while(|end| **end <= taken).last();
            self.written += *whole.unwrap_or(&0) as u64;
            if let Err(failure) = outcome {
                // A device or a pipe has no length; what it has taken it keeps.
                let _ = self.file.set_len(self.written);
                self.state = State::Failed(Some(failure));
            }
        }
        self.block.clear();
        self.ends.clear();
    }

    /// Whether the file has failed, so that nothing more is written.
    #[inline]
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

impl Drop for Output {
    fn drop(&mut self) {
        self.flush();
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

//! The output of a capture. Its file contains only whole records whenever the simulation pauses, and also after an error.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::Range;

/// A file, and a buffer with the records that are not in the file yet.
///
/// After an error, nothing more is written, and the file is truncated after its last whole record, so that it remains readable.
#[derive(Debug)]
pub struct Output {
    file: File,
    buffer: Vec<u8>,
    /// The end of each record in the buffer.
    ends: Vec<usize>,
    /// Bytes of whole records in the file.
    written: u64,
    has_failed: bool,
    /// The error of the file, until [`Output::take_failure`] returns it.
    failure: Option<io::Error>,
}

/// The buffer is written to the file when it has this size.
const BLOCK: usize = 128 << 10;

impl Output {
    /// The output to `file`, which is empty.
    pub fn new(file: File) -> Self {
        Output {
            file,
            buffer: Vec::with_capacity(2 * BLOCK),
            ends: Vec::new(),
            written: 0,
            has_failed: false,
            failure: None,
        }
    }

    /// Appends a whole record.
    pub fn write(&mut self, record: &[u8]) {
        self.buffer.extend_from_slice(record);
        self.end_record();
    }

    /// The buffer, to which the caller appends the next record. [`end_record`](Self::end_record) ends the record. The caller must not change earlier
    /// bytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Ends the record that has been appended to the buffer.
    pub fn end_record(&mut self) {
        self.ends.push(self.buffer.len());
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    /// Puts the parts of the last record in the buffer into this order. `parts` must cover the whole record.
    pub fn reorder(&mut self, parts: impl Iterator<Item = Range<usize>>) {
        let begin = self.ends.last().copied().unwrap_or(0);
        let end = self.buffer.len();
        for part in parts {
            self.buffer.extend_from_within(part);
        }
        self.buffer.drain(begin..end);
    }

    /// Writes the records in the buffer to the file.
    pub fn flush(&mut self) {
        if !self.has_failed {
            match self.file.write_all(&self.buffer) {
                Ok(()) => self.written += self.buffer.len() as u64,
                Err(failure) => self.fail(failure),
            }
        }
        self.buffer.clear();
        self.ends.clear();
    }

    /// Truncates the file after its last whole record. A device or a pipe has no position and cannot be truncated.
    fn fail(&mut self, failure: io::Error) {
        if let Ok(end) = self.file.stream_position() {
            let whole = self.ends.iter().map(|end| self.written + *end as u64);
            let last = whole.take_while(|whole| *whole <= end).last();
            let _ = self.file.set_len(last.unwrap_or(self.written));
        }
        self.has_failed = true;
        self.failure = Some(failure);
    }

    /// Whether the file has failed, so that nothing more is written.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns the error of the file once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.flush();
    }
}

//! The output of a capture, whose file has whole records whenever the simulation pauses.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::destination::{Block, Destination};
use super::writer::Writer;

/// A file that is written in blocks of whole records, by a thread of its own as soon as there is more than one block.
///
/// After an error nothing more is written, and the file is cut after its last whole record, so that what is there can be read.
#[derive(Debug)]
pub struct Output {
    /// Records that are not handed on yet.
    block: Block,
    /// The file, unless the writer has it.
    destination: Option<Destination>,
    writer: Option<Writer>,
}

/// A block is handed on when it has this size.
const BLOCK: usize = 128 << 10;

impl Output {
    /// The output to `file`, which is empty.
    pub fn new(file: File) -> Self {
        Output {
            block: Block::with_capacity(2 * BLOCK),
            destination: Some(Destination::new(file)),
            writer: None,
        }
    }

    /// Appends a whole record.
    pub fn write(&mut self, record: &[u8]) {
        self.block.bytes.extend_from_slice(record);
        self.end_record();
    }

    /// The buffer for the next record, which [`end_record`](Self::end_record) ends. Nothing before it changes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.block.bytes
    }

    /// Ends the record that has been appended to the buffer.
    pub fn end_record(&mut self) {
        self.block.ends.push(self.block.bytes.len());
        if self.block.bytes.len() >= BLOCK {
            self.hand_on();
        }
    }

    /// Puts the parts of the record in the buffer, which are all of it, into this order.
    pub fn reorder(&mut self, parts: impl Iterator<Item = Range<usize>>) {
        let begin = self.block.ends.last().copied().unwrap_or(0);
        let end = self.block.bytes.len();
        for part in parts {
            self.block.bytes.extend_from_within(part);
        }
        self.block.bytes.drain(begin..end);
    }

    /// Hands the block to the writer, which begins with the first one.
    fn hand_on(&mut self) {
        if let Some(destination) = self.destination.take() {
            match Writer::start(destination) {
                Ok(writer) => self.writer = Some(writer),
                Err(destination) => self.destination = Some(destination),
            }
        }
        match &mut self.writer {
            Some(writer) => self.block = writer.exchange(std::mem::take(&mut self.block)),
            None => self.flush(),
        }
    }

    /// Writes what is buffered to the file, and returns when the file has it.
    pub fn flush(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.destination = Some(writer.finish());
        }
        if let Some(destination) = &mut self.destination {
            destination.append(&self.block);
        }
        self.block.clear();
    }

    /// Whether the file has failed, so that nothing more is written. While the writer has the file, this may be known late.
    pub fn has_failed(&self) -> bool {
        match (&self.writer, &self.destination) {
            (Some(writer), _) => writer.has_failed(),
            (None, Some(destination)) => destination.has_failed(),
            (None, None) => false,
        }
    }

    /// Returns the error of the file once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        if self.writer.as_ref().is_some_and(Writer::has_failed) {
            self.flush();
        }
        self.destination.as_mut()?.take_failure()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.flush();
    }
}

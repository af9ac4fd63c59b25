//! The data exchange between the native loopback and software, mode 7.
//!
//! The unit writes lines, then one more line as a message to software. Software copies the lines to the source buffer and notifies the unit. The
//! unit reads the lines and compares them. The test therefore measures a round trip of data between memory and the unit.

use super::registers::{Notice, Registers};
use crate::fpga_card::misuse::LINE;

#[derive(Debug, Default)]
pub(super) struct Exchange {
    step: Step,
    /// The next line to write or to read.
    next: u32,
    /// Number of lines that the unit has read back.
    came: u32,
    /// The first line that was not as expected: its data, its number, and the number of lines that were read before it.
    wrong: Option<[u32; 3]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// The unit writes the lines and then the message.
    #[default]
    Writing,
    /// The unit will read the line that has software's notice.
    Polling,
    /// The unit waits for the data of a read of this line, or for a notice in a register.
    Waiting,
    /// The unit reads the lines back.
    Reading,
}

/// The bit of the error word that is set if data is not as expected.
const WRONG_DATA: u32 = 8;

/// The bits of a line's first word that have the number of the line. All other words of the line are 1.
const NUMBER: u32 = 0x1_ffff;

/// The bits of the first word that are compared with the number of the line. The published circuit writes a number of 17 bits and compares 16 of
/// its bits. It compares no other word.
const COMPARED: u32 = 0xffff;

impl Exchange {
    /// The next line to write, with its address.
    pub(super) fn next_write(&self, registers: &Registers) -> Option<(u64, [u8; LINE as usize])> {
        let mut data = [0; LINE as usize];
        let (words, _) = data.as_chunks_mut::<4>();
        match self.step {
            Step::Writing if self.next < registers.lines() => {
                words.fill(1_u32.to_le_bytes());
                words[0] = (self.next & NUMBER).to_le_bytes();
                Some((registers.destination(self.next), data))
            }
            Step::Writing => {
                words[..2].fill(u32::MAX.to_le_bytes());
                Some((registers.destination(registers.lines()), data))
            }
            _ => None,
        }
    }

    /// Records that the next line was written.
    pub(super) fn wrote(&mut self, registers: &Registers) {
        if self.step == Step::Writing && self.next < registers.lines() {
            self.next += 1;
            return;
        }
        self.next = 0;
        self.step = match registers.notice() {
            Notice::Memory => Step::Polling,
            Notice::Register | Notice::Message => Step::Waiting,
        };
    }

    /// The next line to read: its address and its number.
    pub(super) fn next_read(&self, registers: &Registers) -> Option<(u64, u32)> {
        let line = match self.step {
            _ if registers.control().forces_completion() => return None,
            Step::Polling => registers.lines(),
            Step::Reading if self.next < registers.lines() => self.next,
            _ => return None,
        };
        Some((registers.source(line), line))
    }

    /// Records that the next line was requested.
    pub(super) fn asked(&mut self) {
        match self.step {
            Step::Polling => self.step = Step::Waiting,
            _ => self.next += 1,
        }
    }

    pub(super) fn answered(&mut self, line: u32, data: &[u8], registers: &Registers) {
        let (words, _) = data.as_chunks::<4>();
        let word = |place: usize| words.get(place).map_or(0, |word| u32::from_le_bytes(*word));
        if line == registers.lines() {
            self.step = if word(1) == u32::MAX {
                Step::Reading
            } else {
                Step::Polling
            };
            return;
        }
        let found = word(0) & COMPARED;
        if found != line & COMPARED {
            self.wrong.get_or_insert([found, line, self.came]);
        }
        self.came += 1;
    }

    /// Handles a notice that software has given in a register.
    pub(super) fn notice(&mut self, registers: &Registers) {
        if self.step == Step::Waiting && registers.notice() == Notice::Register {
            self.step = Step::Reading;
        }
    }

    /// Whether all lines were read back, or software stops the test.
    pub(super) fn is_over(&self, registers: &Registers) -> bool {
        let is_complete = self.step == Step::Reading && self.came >= registers.lines();
        is_complete || registers.control().forces_completion()
    }

    /// The bits of the error word.
    pub(super) fn error(&self) -> u32 {
        if self.wrong.is_some() { WRONG_DATA } else { 0 }
    }

    /// The error vector: data, number of the line, header of the answer (0 in the model), number of answers.
    pub(super) fn details(&self) -> [u32; 8] {
        let [data, line, answers] = self.wrong.unwrap_or_default();
        [data, line, 0, answers, 0, 0, 0, 0]
    }
}

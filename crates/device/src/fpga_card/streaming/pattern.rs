//! The generator and the checker at the ends of the streams. Each has a memory for a pattern and four registers.

use super::stream::{BEAT, Beat};

/// A generator or a checker of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    memory: Vec<u8>,
    /// Number of beats of a test.
    payload: u32,
    /// Number of beats of the pattern.
    length: u16,
    position: u16,
    control: u32,
    /// Number of beats of the test that are left.
    left: u32,
    is_complete: bool,
    interrupts: bool,
    errors: u32,
    /// Number of the interrupt bit in the status register.
    interrupt_bit: u32,
}

/// Size in bytes of the memory for a pattern, and of its area in the registers.
const MEMORY: usize = 4096;

const INFINITE: u32 = 1;
const INTERRUPT_MASK: u32 = 1 << 1;
const STOP_ON_FAILURE: u32 = 1 << 4;
const END_OF_PACKET: u32 = 1 << 3;
const GO: u32 = 1 << 31;

const FAILED: u32 = 1 << 2;
const OVERFLOW: u32 = 1 << 4;

impl Pattern {
    pub(super) fn generator() -> Self {
        Self::new(2)
    }

    pub(super) fn checker() -> Self {
        Self::new(3)
    }

    fn new(interrupt_bit: u32) -> Self {
        Pattern {
            memory: vec![0; MEMORY],
            interrupt_bit,
            ..Pattern::default()
        }
    }

    /// The dword at `offset` of the memory.
    pub(super) fn word(&self, offset: u64) -> u32 {
        let at = offset as usize % MEMORY;
        let bytes = self.memory[at..].first_chunk();
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    pub(super) fn set_word(&mut self, offset: u64, value: u32) {
        let at = offset as usize % MEMORY;
        self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn load(&self, offset: u64) -> u32 {
        match offset {
            0x0 => self.payload,
            0x4 => u32::from(self.position) << 16 | u32::from(self.length),
            0x8 => self.control,
            _ => self.status(),
        }
    }

    fn status(&self) -> u32 {
        let counted = self.errors.min(0xffff) << 16;
        let failed = if self.errors > 0 { FAILED } else { 0 };
        let overflow = if self.errors > 0xffff { OVERFLOW } else { 0 };
        u32::from(self.runs())
            | u32::from(self.is_complete) << 1
            | u32::from(self.interrupts) << self.interrupt_bit
            | counted
            | failed
            | overflow
    }

    pub(super) fn store(&mut self, offset: u64, value: u32) {
        match offset {
            0x0 => self.payload = value,
            0x4 => {
                self.length = value as u16;
                self.position = (value >> 16) as u16;
            }
            0x8 => {
                let goes = !self.runs() && value & GO != 0;
                self.control = value;
                if goes {
                    self.start();
                }
            }
            _ => self.interrupts &= value >> self.interrupt_bit & 1 == 0,
        }
    }

    fn start(&mut self) {
        self.left = self.payload;
        self.errors = 0;
        self.is_complete = false;
        if self.left == 0 && self.control & INFINITE == 0 {
            self.complete();
        }
    }

    fn complete(&mut self) {
        self.control &= !GO;
        self.is_complete = true;
        self.interrupts |= self.control & INTERRUPT_MASK != 0;
    }

    /// Whether a test is in progress.
    pub(super) fn runs(&self) -> bool {
        self.control & GO != 0
    }

    /// The next generated beat.
    pub(super) fn make(&mut self) -> Beat {
        let (data, is_last) = self.advance();
        let size = self.control >> 8 & 0xff;
        let len = match size as usize {
            size @ 1..BEAT if is_last => size,
            _ => BEAT,
        };
        Beat {
            data,
            len,
            ends_packet: is_last && self.control & END_OF_PACKET != 0,
        }
    }

    /// Checks the next beat, and counts it if it differs from the pattern.
    pub(super) fn check(&mut self, beat: &Beat) {
        let (data, _) = self.advance();
        if data[..beat.len] != beat.data[..beat.len] {
            self.errors = self.errors.saturating_add(1);
            if self.control & STOP_ON_FAILURE != 0 {
                self.complete();
            }
        }
    }

    /// Returns the next beat of the pattern, and whether the test ends with it.
    fn advance(&mut self) -> ([u8; BEAT], bool) {
        let length = self.length.clamp(1, (MEMORY / BEAT) as u16);
        let position = usize::from(self.position % length);
        self.position = (position as u16 + 1) % length;
        let mut data = [0; BEAT];
        data.copy_from_slice(&self.memory[position * BEAT..][..BEAT]);
        if self.control & INFINITE != 0 {
            return (data, false);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.complete();
        }
        (data, self.left == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(mut pattern: Pattern, beats: u32, control: u32) -> Pattern {
        for word in 0..32 {
            pattern.set_word(4 * word, word as u32);
        }
        pattern.store(0, beats);
        pattern.store(4, 2);
        pattern.store(8, control | GO);
        pattern
    }

    #[test]
    fn what_is_made_is_what_is_expected_and_the_last_beat_may_be_short() {
        let mut generator = started(Pattern::generator(), 3, END_OF_PACKET | 5 << 8);
        let mut checker = started(Pattern::checker(), 3, 0);
        let mut last = (0, false);
        while generator.runs() {
            let beat = generator.make();
            checker.check(&beat);
            last = (beat.len, beat.ends_packet);
        }
        assert_eq!(last, (5, true));
        assert_eq!((generator.load(0xc), checker.load(0xc)), (2, 2));
    }

    #[test]
    fn a_beat_that_is_not_expected_is_counted_and_may_end_the_test() {
        let wrong = Beat {
            data: [9; BEAT],
            len: BEAT,
            ends_packet: false,
        };
        let mut checker = started(Pattern::checker(), 3, 0);
        checker.check(&wrong);
        assert_eq!(checker.load(0xc), 1 << 16 | FAILED | 1);
        let mut checker = started(Pattern::checker(), 3, STOP_ON_FAILURE);
        checker.check(&wrong);
        assert!(!checker.runs());
    }
}

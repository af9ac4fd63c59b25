//! The decimator between the read master and the write master. It forwards some beats and removes the beats between them.
//!
//! It follows the description of the published driver: a factor of N removes N beats after each forwarded one, and a beat that starts or ends a
//! packet is always forwarded. Our choice: a beat that starts or ends a packet counts like other beats, and does not restart the count.

/// The decimator's registers: enable and factor, and the counter of beats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decimator {
    control: u32,
    /// Beats since the last beat that was due, including it; 0 if the next beat is due.
    counter: u16,
}

const CONTROL: u64 = 0;
const COUNTER: u64 = 4;
const ENABLE: u32 = 1;

impl Decimator {
    pub(super) fn load(&self, offset: u64) -> u32 {
        match offset {
            CONTROL => self.control,
            COUNTER => self.counter.into(),
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, value: u32) {
        match offset {
            CONTROL => self.control = value,
            COUNTER => self.counter = value as u16,
            _ => {}
        }
    }

    /// Whether the next beat is removed, if it does not start or end a packet.
    pub(super) fn removes_next(&self) -> bool {
        self.control & ENABLE != 0 && self.counter != 0
    }

    /// Counts a beat that was forwarded or removed.
    pub(super) fn count(&mut self) {
        let factor = (self.control >> 16) as u16;
        self.counter = match self.control & ENABLE {
            0 => self.counter,
            _ if self.counter >= factor => 0,
            _ => self.counter + 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of `beats` beats is removed.
    fn removed(control: u32, beats: usize) -> Vec<bool> {
        let mut decimator = Decimator::default();
        decimator.store(CONTROL, control);
        let one = |_| {
            let removes = decimator.removes_next();
            decimator.count();
            removes
        };
        (0..beats).map(one).collect()
    }

    #[test]
    fn a_factor_removes_as_many_beats_after_each_forwarded_one() {
        assert_eq!(removed(2 << 16 | ENABLE, 4), [false, true, true, false]);
        assert_eq!(removed(ENABLE, 3), [false; 3]);
    }

    #[test]
    fn nothing_is_removed_unless_it_is_enabled() {
        assert_eq!(removed(2 << 16, 4), [false; 4]);
    }
}

//! The streaming valve before the write master. It closes after a packet, so that the descriptors of one transfer do not receive data of the
//! next transfer.

use super::stream::Beat;

#[derive(Clone, Copy, Debug)]
pub(super) struct Valve {
    passed: u64,
    to_pass: u32,
    control: u32,
    status: u32,
    is_closed: bool,
}

const ENABLE: u32 = 1;
const FIXED: u32 = 1 << 1;
const UNTIL_END_OF_PACKET: u32 = 1 << 2;
const CLEAR: u32 = 1 << 3;

impl Default for Valve {
    /// The valve is open at first, because the drivers of designs without a valve do not control it.
    fn default() -> Self {
        Valve {
            passed: 0,
            to_pass: 0,
            control: ENABLE,
            status: 0,
            is_closed: false,
        }
    }
}

impl Valve {
    pub(super) fn load(&self, offset: u64) -> u32 {
        match offset {
            0x00 => self.passed as u32,
            0x04 => (self.passed >> 32) as u32,
            0x08 => self.to_pass,
            0x0c => self.control,
            0x10 => self.status,
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, value: u32) {
        match offset {
            0x08 => self.to_pass = value,
            0x0c => {
                self.control = value & !CLEAR;
                self.is_closed = false;
                self.status = 0;
                if value & CLEAR != 0 {
                    self.passed = 0;
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.control & ENABLE != 0 && !self.is_closed
    }

    /// Counts the bytes of a beat. Closes the valve after the end of a packet if it is configured to close there.
    pub(super) fn pass(&mut self, beat: &Beat) {
        self.passed = self.passed.wrapping_add(beat.len as u64);
        if !beat.ends_packet {
            return;
        }
        if self.control & UNTIL_END_OF_PACKET != 0 {
            self.status |= 1 << 1;
            self.is_closed = true;
        } else if self.control & FIXED != 0 {
            self.status |= 1;
        }
    }
}

//! The memories of the DMA designs, and the descriptors whose data is written to them.

use std::collections::VecDeque;

use kernel::Time;

use crate::fpga_card::Shell;
use crate::fpga_card::misuse::LINE;

/// An address of 50 bits, as the DMA designs use it: the upper two bits select the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryAddress {
    /// An address of the card's memory.
    Local(u64),
    /// A memory that has the same word at all addresses. Software uses it to wait for the end of transfers.
    Magic,
    /// An address of host memory.
    Host(u64),
}

/// `Wrt_Sync` in ASCII.
const MAGIC: u64 = 0x5772_745f_5379_6e63;

/// Number of address bits within a memory.
const BITS: u32 = 48;

impl MemoryAddress {
    /// The line that contains `address`, because data is transferred in lines.
    ///
    /// Two values of the upper bits select host memory. Writes to the upper range must stay behind all earlier writes, which is always true for
    /// posted writes.
    pub(crate) fn of(address: u64) -> Self {
        let within = address & ((1 << BITS) - 1) & !(LINE - 1);
        match address >> BITS & 3 {
            0 => Self::Local(within),
            1 => Self::Magic,
            _ => Self::Host(within),
        }
    }

    /// The line that contains `address`, in a design without the memory of one word. The drivers of designs without it use different bits for host
    /// memory.
    pub(crate) fn without_magic(address: u64) -> Self {
        match address >> BITS & 3 {
            0 => Self::of(address),
            _ => Self::of(address | 2 << BITS),
        }
    }

    pub(crate) fn is_host(self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// Bytes to the next multiple of `longest` in host memory, because no request crosses such a multiple; `longest` in other memories.
    pub(crate) fn burst(self, longest: u64) -> u64 {
        match self {
            Self::Host(address) => longest - address % longest,
            Self::Local(_) | Self::Magic => longest,
        }
    }

    /// Reads into `data`, or requests the data from the host as read `number`. Returns the time at which the data is available, which is never
    /// if it is requested from the host. If the read fails, all bits are ones. Returns none if the shell cannot accept a read now.
    pub(crate) fn read(self, data: &mut [u8], number: u32, shell: &mut Shell<'_>) -> Option<Time> {
        let now = shell.now();
        let ready = match self {
            _ if data.is_empty() => Some(now),
            Self::Host(_) if !shell.can_read() => return None,
            Self::Host(address) => {
                let asked = shell.read(address, data.len(), number);
                asked.map(|()| Time::NEVER).ok()
            }
            Self::Local(address) => shell.read_memory(address, data).ok(),
            Self::Magic => {
                let (words, _) = data.as_chunks_mut::<8>();
                words.fill(MAGIC.to_le_bytes());
                Some(now)
            }
        };
        Some(ready.unwrap_or_else(|| {
            data.fill(0xff);
            now
        }))
    }

    /// Writes `data`, to host memory as write `number`. Returns the end of the write. If the card has no memory at this address, the write has
    /// no effect.
    pub(crate) fn write(self, data: &[u8], number: u32, shell: &mut Shell<'_>) -> Done {
        let now = shell.now();
        match self {
            _ if data.is_empty() => Done::At(now),
            Self::Host(address) => match shell.write(address, data, number) {
                Ok(()) => Done::With(number),
                Err(_) => Done::At(now),
            },
            Self::Local(address) => Done::At(shell.write_memory(address, data).unwrap_or(now)),
            Self::Magic => Done::At(now),
        }
    }
}

/// The end of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    At(Time),
    /// The write ends when the write with this number is transmitted.
    With(u32),
}

/// Descriptors whose last write was made, in order, each with the end of this write.
#[derive(Debug)]
pub(crate) struct Endings<T>(VecDeque<(Done, T)>);

impl<T> Default for Endings<T> {
    fn default() -> Self {
        Endings(VecDeque::new())
    }
}

impl<T> Endings<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn push(&mut self, done: Done, what: T) {
        self.0.push_back((done, what));
    }

    /// Handles the transmission of write `number`. Returns whether it was the last write of a descriptor.
    pub(crate) fn written(&mut self, number: u32) -> bool {
        let mut all = self.0.iter_mut();
        let found = all.find(|(done, _)| *done == Done::With(number));
        found
            .map(|(done, _)| *done = Done::At(Time::ZERO))
            .is_some()
    }

    /// Removes and returns the next descriptor, if it has ended. If it will end at a known time, requests a wake-up at this time.
    pub(crate) fn next(&mut self, shell: &mut Shell<'_>) -> Option<T> {
        match self.0.front()?.0 {
            Done::With(_) => return None,
            Done::At(time) if time > shell.now() => {
                shell.wake_at(time);
                return None;
            }
            Done::At(_) => {}
        }
        self.0.pop_front().map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bits_of_an_address_say_what_is_meant() {
        assert_eq!(MemoryAddress::of(0x1040), MemoryAddress::Local(0x1040));
        assert_eq!(MemoryAddress::of(1 << 48), MemoryAddress::Magic);
        assert_eq!(MemoryAddress::of(2 << 48 | 0x40), MemoryAddress::Host(0x40));
        assert_eq!(MemoryAddress::of(3 << 48 | 0x7f), MemoryAddress::Host(0x40));
        for memory in 1..4 {
            let address = MemoryAddress::without_magic(memory << 48 | 0x7f);
            assert_eq!(address, MemoryAddress::Host(0x40));
        }
        let local = MemoryAddress::without_magic(0x1040);
        assert_eq!(local, MemoryAddress::Local(0x1040));
    }
}

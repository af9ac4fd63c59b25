//! The card's own memory: bytes behind channels with limited bandwidth.
//!
//! Each channel has one bank, a range of addresses, as in the published designs. The end of an access is computed when the access begins; there
//! are no events in between.

use kernel::{Bandwidth, Span, Time};
use thiserror::Error;
use transaction::Memory;

/// The memory of a card.
#[derive(Clone, Debug)]
pub struct LocalMemory {
    bytes: Memory,
    /// Size of a bank in bytes.
    bank: u64,
    /// The time at which each channel is free.
    free: Vec<Time>,
    rate: Bandwidth,
    /// The transfer time of a line. It is stored because nearly all accesses are whole lines.
    line: Span,
    latency: Span,
}

/// The error of an access beyond the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the card has no memory at address {0:#x}")]
pub struct NoSuchMemory(pub u64);

const LINE: u64 = 64;

impl LocalMemory {
    /// Memory of `size` bytes in `channels` banks with bandwidth `rate` each; read data is available `latency` after its transfer.
    pub fn new(size: u64, channels: u32, rate: Bandwidth, latency: Span) -> Self {
        LocalMemory {
            bytes: Memory::new(size),
            bank: size.div_ceil(u64::from(channels)).max(1),
            free: vec![Time::ZERO; channels as usize],
            rate,
            line: rate.time_of(LINE),
            latency,
        }
    }

    /// The bytes of the memory.
    pub fn bytes(&self) -> &Memory {
        &self.bytes
    }

    /// Reads into `into` from `now` on. Returns the time at which the data is available.
    pub fn read(&mut self, now: Time, address: u64, into: &mut [u8]) -> Result<Time, NoSuchMemory> {
        let done = self.pass(now, address, into.len() as u64)?;
        self.bytes.read(address, into);
        Ok(done + self.latency)
    }

    /// Writes `bytes` from `now` on. Returns the time at which the bytes have passed the channel. Later reads return the new bytes.
    pub fn write(&mut self, now: Time, address: u64, bytes: &[u8]) -> Result<Time, NoSuchMemory> {
        let done = self.pass(now, address, bytes.len() as u64)?;
        self.bytes.write(address, bytes);
        Ok(done)
    }

    /// Transfers a range over its channels, and returns the end of the transfer.
    fn pass(&mut self, now: Time, address: u64, len: u64) -> Result<Time, NoSuchMemory> {
        if !self.bytes.holds(address, len) {
            return Err(NoSuchMemory(address));
        }
        let (mut at, end, mut done) = (address, address + len, now);
        while at < end {
            let bank = at / self.bank;
            let here = (end - at).min((bank + 1) * self.bank - at);
            let time = self.time_of(here);
            let free = &mut self.free[bank as usize];
            *free = now.max(*free) + time;
            done = done.max(*free);
            at += here;
        }
        Ok(done)
    }

    fn time_of(&self, len: u64) -> Span {
        if len.is_multiple_of(LINE) {
            self.line * (len / LINE)
        } else {
            self.rate.time_of(len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Span = Span::from_ns(1);

    /// A memory with two banks of 1 MiB, each with a bandwidth of 64 bytes per nanosecond.
    fn memory() -> LocalMemory {
        let rate = Bandwidth(64_000_000_000);
        LocalMemory::new(2 << 20, 2, rate, Span::from_ns(100))
    }

    #[test]
    fn accesses_to_one_bank_wait_for_each_other_and_those_to_two_do_not() {
        let mut memory = memory();
        let mut line = [0; 64];
        let first = memory.read(Time::ZERO, 0, &mut line);
        let second = memory.read(Time::ZERO, 64, &mut line);
        let other = memory.write(Time::ZERO, 1 << 20, &line);
        assert_eq!(first, Ok(Time::ZERO + NS * 101));
        assert_eq!(second, Ok(Time::ZERO + NS * 102));
        assert_eq!(other, Ok(Time::ZERO + NS));
    }

    #[test]
    fn what_is_written_across_banks_comes_back() {
        let mut memory = memory();
        let bytes: Vec<u8> = (0..128).collect();
        let written = memory.write(Time::ZERO, (1 << 20) - 64, &bytes);
        assert_eq!(written, Ok(Time::ZERO + NS));
        let mut back = [0; 128];
        memory
            .read(Time::ZERO, (1 << 20) - 64, &mut back)
            .expect("it is there");
        assert_eq!(back, bytes[..]);
    }

    #[test]
    fn beyond_the_end_there_is_no_memory() {
        let mut memory = memory();
        let beyond = memory.write(Time::ZERO, (2 << 20) - 32, &[0; 64]);
        assert_eq!(beyond, Err(NoSuchMemory((2 << 20) - 32)));
        assert!(memory.read(Time::ZERO, u64::MAX, &mut [0; 64]).is_err());
    }
}

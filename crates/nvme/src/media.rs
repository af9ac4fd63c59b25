//! The blocks of the drive, and the times of accesses to them.
//!
//! The media is a number of channels, each with dies behind it. A read occupies a die for the read latency, and then the channel for the
//! transfer. A write occupies the channel for the transfer, and then the die for the write latency. Accesses are served in the order in
//! which they come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The parameters of the media. Times are in femtoseconds.
#[derive(Clone, Copy, Debug)]
pub struct MediaParameters {
    /// Number of channels.
    pub channels: u64,
    /// Number of dies of each channel.
    pub dies: u64,
    /// Number of neighbouring bytes in one die.
    pub stripe: u64,
    /// Bandwidth of a channel in bytes per second.
    pub bandwidth: u64,
    /// Time from an access to the data of a die.
    pub read_latency: u64,
    /// Time from the data to the end of its program operation in a die.
    pub write_latency: u64,
    /// Size of the write cache in bytes; 0 for none.
    pub cache: u64,
    /// Time from the data to its being in the write cache.
    pub cache_latency: u64,
}

/// The blocks of a drive.
#[derive(Clone, Debug)]
pub struct Media {
    parameters: MediaParameters,
    /// The pages that were written; all other bytes are zero.
    pages: BTreeMap<u64, Box<[u8]>>,
    /// The time at which each channel becomes free.
    channels: Vec<u64>,
    /// The time at which each die becomes free.
    dies: Vec<u64>,
    /// The data in the write cache: the end of its program operation, and its length.
    cached: BinaryHeap<Reverse<(u64, u64)>>,
    /// The bytes in the write cache.
    dirty: u64,
    /// The time at which all that was written is in the dies.
    written: u64,
}

impl Media {
    /// Media without data.
    pub fn new(parameters: MediaParameters) -> Self {
        Media {
            parameters,
            pages: BTreeMap::new(),
            channels: vec![0; parameters.channels as usize],
            dies: vec![0; (parameters.channels * parameters.dies) as usize],
            cached: BinaryHeap::new(),
            dirty: 0,
            written: 0,
        }
    }

    /// Reads bytes from `offset` on.
    pub fn load(&self, offset: u64, into: &mut [u8]) {
        each(offset, into.len(), |page, from, range| {
            match self.pages.get(&page) {
                Some(bytes) => {
                    let len = range.len();
                    into[range].copy_from_slice(&bytes[from..from + len]);
                }
                None => into[range].fill(0),
            }
        });
    }

    /// Writes bytes from `offset` on.
    pub fn store(&mut self, offset: u64, bytes: &[u8]) {
        each(offset, bytes.len(), |page, from, range| {
            let kept = self.pages.entry(page);
            let kept = kept.or_insert_with(|| vec![0; PAGE as usize].into());
            kept[from..from + range.len()].copy_from_slice(&bytes[range]);
        });
    }

    /// The time at which the data of a read that begins at `now` has come.
    pub fn read(&mut self, now: u64, offset: u64, len: u64) -> u64 {
        let read_latency = self.parameters.read_latency;
        self.stripes(offset, len).fold(now, |end, (die, len)| {
            let sensed = now.max(self.dies[die]) + read_latency;
            let channel = die % self.channels.len();
            let out = sensed.max(self.channels[channel]) + self.transfer(len);
            (self.dies[die], self.channels[channel]) = (out, out);
            end.max(out)
        })
    }

    /// The time at which a write whose data is there at `now` ends: in the write cache, or in the dies if there is none, or if it is to
    /// go `through` the cache.
    pub fn write(&mut self, now: u64, (offset, len): (u64, u64), through: bool) -> u64 {
        let through = through || len > self.parameters.cache;
        let begin = if through { now } else { self.space(now, len) };
        let write_latency = self.parameters.write_latency;
        let programmed = self.stripes(offset, len).fold(begin, |end, (die, len)| {
            let channel = die % self.channels.len();
            let moved = begin.max(self.channels[channel]) + self.transfer(len);
            self.channels[channel] = moved;
            self.dies[die] = moved.max(self.dies[die]) + write_latency;
            end.max(self.dies[die])
        });
        self.written = self.written.max(programmed);
        if through {
            return programmed;
        }
        self.cached.push(Reverse((programmed, len)));
        self.dirty += len;
        begin + self.parameters.cache_latency
    }

    /// The time at which all data of writes before `now` is in the dies.
    pub fn flush(&self, now: u64) -> u64 {
        now.max(self.written)
    }

    /// The time, `now` or later, at which the write cache has space for `len` more bytes.
    fn space(&mut self, now: u64, len: u64) -> u64 {
        let mut time = now;
        while let Some(Reverse((end, bytes))) = self.cached.peek().copied() {
            if end > now && self.dirty + len <= self.parameters.cache {
                break;
            }
            time = time.max(end);
            self.dirty -= bytes;
            self.cached.pop();
        }
        time
    }

    /// The die and the length of each stripe of an access.
    fn stripes(&self, offset: u64, len: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (stripe, dies) = (self.parameters.stripe, self.dies.len() as u64);
        let mut at = offset;
        std::iter::from_fn(move || {
            let here = (stripe - at % stripe).min(offset + len - at);
            let die = (at / stripe % dies) as usize;
            at += here;
            (here > 0).then_some((die, here))
        })
    }

    /// The time of a transfer on a channel.
    fn transfer(&self, len: u64) -> u64 {
        let fs = u128::from(len) * 1_000_000_000_000_000 / u128::from(self.parameters.bandwidth);
        fs as u64
    }
}

/// Calls `work` for the part of each page of `len` bytes from `offset` on: the page, the offset in it, and the range of the bytes.
fn each(offset: u64, len: usize, mut work: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut at = 0;
    while at < len {
        let (page, from) = ((offset + at as u64) / PAGE, (offset + at as u64) % PAGE);
        let here = (PAGE - from).min((len - at) as u64) as usize;
        work(page, from as usize, at..at + here);
        at += here;
    }
}

/// The bytes that are kept together.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000_000;

    fn media(cache: u64) -> Media {
        Media::new(MediaParameters {
            channels: 2,
            dies: 2,
            stripe: 4096,
            bandwidth: 4_096_000_000,
            read_latency: 50 * US,
            write_latency: 500 * US,
            cache,
            cache_latency: 10 * US,
        })
    }

    #[test]
    fn bytes_come_back_and_others_are_zero() {
        let mut media = media(0);
        media.store(4000, &[7; 200]);
        let mut bytes = [1; 300];
        media.load(3950, &mut bytes);
        assert_eq!(bytes[..50], [0; 50]);
        assert_eq!(bytes[50..250], [7; 200]);
        assert_eq!(bytes[250..], [0; 50]);
    }

    #[test]
    fn reads_of_one_die_follow_each_other_and_those_of_a_channel_share_its_transfers() {
        let mut media = media(0);
        assert_eq!(media.read(0, 0, 4096), 51 * US);
        assert_eq!(media.read(0, 0, 4096), 102 * US);
        // Another channel, and then another die of the first channel.
        assert_eq!(media.read(0, 4096, 4096), 51 * US);
        assert_eq!(media.read(0, 8192, 4096), 103 * US);
        assert_eq!(
            super::Media::new(media.parameters).read(0, 0, 8192),
            51 * US
        );
    }

    #[test]
    fn writes_end_in_the_cache_while_it_has_space_and_a_flush_waits_for_the_dies() {
        let mut media = media(8192);
        assert_eq!(media.write(0, (0, 4096), false), 10 * US);
        assert_eq!(media.write(0, (4096, 4096), false), 10 * US);
        assert_eq!(media.flush(0), 501 * US);
        // The cache is full until the first write is in its die.
        assert_eq!(media.write(0, (8192, 4096), false), 511 * US);
        let end = media.write(0, (12288, 4096), true);
        assert!(end >= 501 * US, "a write through the cache ends in the die");
    }
}

//! The blocks of the drive, and the times that accesses to them take.
//!
//! The media has several channels, each with several dies. A read occupies a die for the read latency, and then the channel for the transfer. If
//! the stripe is the last one that the die has read, the read does not occupy the die. A write occupies the channel for the transfer, and then
//! the die for a program operation. A read waits for the current program operation of its die, and is executed before later program operations.
//! Data stays in the write cache until other data needs the space; until then, it is read from the cache.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;

use crate::NvmeParameters;

/// The blocks of a drive. All times are in femtoseconds.
#[derive(Clone, Debug)]
pub struct Media {
    /// The pages that were written. All other bytes are zero.
    pages: BTreeMap<u64, Page>,
    /// The time at which each channel becomes free.
    channels: Vec<u64>,
    dies: Vec<Die>,
    /// Number of consecutive bytes in one die.
    stripe: u64,
    /// Bandwidth of a channel in bytes per second.
    bandwidth: u64,
    read_latency: u64,
    program_latency: u64,
    cache: u64,
    cache_latency: u64,
    /// The data in the write cache: the end of its program operations if no read delays them, its offset, and its length.
    cached: BinaryHeap<Reverse<(u64, u64, u64)>>,
    /// Number of bytes in the write cache.
    held: u64,
}

#[derive(Clone, Debug)]
struct Page {
    bytes: Box<[u8]>,
    /// The end of the program operations of the newest data, if this data is in the write cache.
    cached: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// The time at which the die has ended its reads.
    free: u64,
    /// The total time that the waiting program operations of the die take after `free`.
    programs: u64,
    /// The stripe in the page register of the die, and the time from which it is there.
    register: Option<(u64, u64)>,
}

impl Media {
    /// Media without data.
    pub fn new(parameters: &NvmeParameters) -> Self {
        let (channels, dies) = (parameters.channels, parameters.dies);
        Media {
            pages: BTreeMap::new(),
            channels: vec![0; channels as usize],
            dies: vec![Die::default(); (channels * dies) as usize],
            stripe: parameters.stripe.0,
            bandwidth: (parameters.media_bandwidth.0 / u64::from(channels)).max(1),
            read_latency: parameters.media_read_latency.as_fs(),
            program_latency: parameters.program_latency.as_fs(),
            cache: parameters.write_cache.0,
            cache_latency: parameters.media_write_latency.as_fs(),
            cached: BinaryHeap::new(),
            held: 0,
        }
    }

    /// Copies bytes from `offset` on into `into`.
    pub fn load(&self, offset: u64, into: &mut [u8]) {
        each(offset, into.len(), |page, from, range| {
            match self.pages.get(&page) {
                Some(page) => {
                    let len = range.len();
                    into[range].copy_from_slice(&page.bytes[from..from + len]);
                }
                None => into[range].fill(0),
            }
        });
    }

    /// Stores bytes from `offset` on.
    pub fn store(&mut self, offset: u64, bytes: &[u8]) {
        each(offset, bytes.len(), |page, from, range| {
            let kept = self.pages.entry(page).or_insert_with(|| Page {
                bytes: vec![0; PAGE as usize].into(),
                cached: None,
            });
            kept.bytes[from..from + range.len()].copy_from_slice(&bytes[range]);
        });
    }

    /// The time at which the data of a read is available, if the read begins at `now`.
    pub fn read(&mut self, now: u64, offset: u64, len: u64) -> u64 {
        let mut end = now;
        for (stripe, at, len) in self.stripes(offset, len) {
            if !self.is_cached(at, len) {
                end = end.max(self.read_die(now, stripe, len));
            }
        }
        end
    }

    fn read_die(&mut self, now: u64, stripe: u64, len: u64) -> u64 {
        let transfer = self.transfer(len);
        let (die, channel) = self.place(stripe);
        let die = &mut self.dies[die];
        let sensed = match die.register {
            Some((kept, since)) if kept == stripe => since.max(now),
            _ => die.begin(now, self.program_latency) + self.read_latency,
        };
        die.register = Some((stripe, sensed));
        let out = sensed.max(self.channels[channel]) + transfer;
        die.free = die.free.max(out);
        self.channels[channel] = out;
        out
    }

    /// Whether at least nine of ten dies have work at `now`, so that additional commands would wait for them.
    pub fn is_busy(&self, now: u64) -> bool {
        let busy = self.dies.iter().filter(|die| die.free + die.programs > now);
        10 * busy.count() >= 9 * self.dies.len()
    }

    /// Whether the write cache contains all of these bytes.
    fn is_cached(&self, offset: u64, len: u64) -> bool {
        let has = |page| {
            let page: Option<&Page> = self.pages.get(&page);
            page.is_some_and(|page| page.cached.is_some())
        };
        self.held > 0 && pages_of(offset, len).all(has)
    }

    /// The time at which a write ends if its data is available at `now`. It ends when the data is in the write cache, or in the dies if there is
    /// no write cache or `through` is set.
    pub fn write(&mut self, now: u64, (offset, len): (u64, u64), through: bool) -> u64 {
        let through = through || len > self.cache;
        let begin = if through { now } else { self.space(now, len) };
        let mut programmed = begin;
        for (stripe, _, len) in self.stripes(offset, len) {
            let (die, channel) = self.place(stripe);
            let moved = begin.max(self.channels[channel]) + self.transfer(len);
            self.channels[channel] = moved;
            let die = &mut self.dies[die];
            die.advance(moved);
            die.programs += self.program_latency;
            die.register = None;
            programmed = programmed.max(die.free + die.programs);
        }
        for (_, page) in self.pages.range_mut(pages_of(offset, len)) {
            page.cached = Some(programmed).filter(|_| !through);
        }
        if through {
            return programmed;
        }
        self.cached.push(Reverse((programmed, offset, len)));
        self.held += len;
        begin + self.cache_latency
    }

    /// The time at which all data of writes before `now` is in the dies.
    pub fn flush(&self, now: u64) -> u64 {
        let busy = self.dies.iter().filter(|die| die.programs > 0);
        let ends = busy.map(|die| die.free + die.programs);
        ends.max().unwrap_or(now).max(now)
    }

    /// The time, `now` or later, at which the write cache has space for `len` more bytes. Removes data from the cache for this.
    fn space(&mut self, now: u64, len: u64) -> u64 {
        let mut time = now;
        while self.held + len > self.cache
            && let Some(Reverse((end, offset, bytes))) = self.cached.pop()
        {
            time = time.max(end);
            self.held -= bytes;
            for (_, page) in self.pages.range_mut(pages_of(offset, bytes)) {
                page.cached = page.cached.filter(|newest| *newest > end);
            }
        }
        time
    }

    /// The number, the offset and the length of each stripe of an access.
    fn stripes(&self, offset: u64, len: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let stripe = self.stripe;
        let mut next = offset;
        std::iter::from_fn(move || {
            let at = next;
            let here = (stripe - at % stripe).min(offset + len - at);
            next += here;
            (here > 0).then_some((at / stripe, at, here))
        })
    }

    /// The die and the channel of a stripe. Consecutive stripes are in different channels.
    fn place(&self, stripe: u64) -> (usize, usize) {
        let die = (stripe % self.dies.len() as u64) as usize;
        (die, die % self.channels.len())
    }

    /// The time that a transfer of `len` bytes takes on a channel.
    fn transfer(&self, len: u64) -> u64 {
        let fs = u128::from(len) * 1_000_000_000_000_000 / u128::from(self.bandwidth);
        fs as u64
    }
}

impl Die {
    /// Continues the program operations until `time`.
    fn advance(&mut self, time: u64) {
        if let Some(idle) = time.checked_sub(self.free) {
            self.programs = self.programs.saturating_sub(idle);
            self.free = time;
        }
    }

    /// The time, `now` or later, at which a read can begin: the end of earlier reads, or of the program operation that is in progress.
    fn begin(&mut self, now: u64, program_latency: u64) -> u64 {
        if now >= self.free {
            self.advance(now);
            let under_way = self.programs.checked_rem(program_latency).unwrap_or(0);
            self.advance(now + under_way);
        }
        self.free
    }
}

/// The range of the pages that contain the `len` bytes from `offset` on.
fn pages_of(offset: u64, len: u64) -> RangeInclusive<u64> {
    offset / PAGE..=(offset + len - 1) / PAGE
}

/// Calls `work` for each page that contains some of the `len` bytes from `offset` on, with the page, the offset in it, and the range of these
/// bytes.
fn each(offset: u64, len: usize, mut work: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut at = 0;
    while at < len {
        let (page, from) = ((offset + at as u64) / PAGE, (offset + at as u64) % PAGE);
        let here = (PAGE - from).min((len - at) as u64) as usize;
        work(page, from as usize, at..at + here);
        at += here;
    }
}

/// The size of a page, in which bytes are stored together.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use kernel::{Bandwidth, Bytes, Span};

    use super::*;

    const US: u64 = 1_000_000_000;

    fn media(cache: u64) -> Media {
        Media::new(&NvmeParameters {
            channels: 2,
            dies: 2,
            stripe: Bytes(4096),
            media_bandwidth: Bandwidth(2 * 4_096_000_000),
            media_read_latency: Span::from_us(50),
            program_latency: Span::from_us(500),
            write_cache: Bytes(cache),
            media_write_latency: Span::from_us(10),
            ..NvmeParameters::default()
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
        let mut one = media(0);
        assert_eq!(one.read(0, 0, 4096), 51 * US);
        assert_eq!(one.read(0, 4 * 4096, 4096), 102 * US);
        // The next read uses another channel, and the one after it uses another die of the first channel.
        assert_eq!(one.read(0, 4096, 4096), 51 * US);
        assert_eq!(one.read(0, 8192, 4096), 103 * US);
        assert_eq!(media(0).read(0, 0, 8192), 51 * US);
    }

    #[test]
    fn media_are_busy_while_nearly_all_dies_have_work() {
        let mut media = media(0);
        for page in 0..3 {
            media.read(0, page * 4096, 4096);
        }
        assert!(!media.is_busy(US));
        media.read(0, 3 * 4096, 4096);
        assert!(media.is_busy(US) && media.is_busy(50 * US) && !media.is_busy(51 * US));
    }

    #[test]
    fn a_die_reads_a_stripe_once_for_reads_of_its_parts_until_it_is_written() {
        let mut media = media(0);
        let quarter = US / 4;
        assert_eq!(media.read(0, 0, 1024), 50 * US + quarter);
        assert_eq!(media.read(0, 1024, 1024), 50 * US + 2 * quarter);
        assert_eq!(media.read(60 * US, 2048, 1024), 60 * US + quarter);
        let written = media.write(70 * US, (0, 1024), true);
        assert_eq!(media.read(written, 3072, 1024), written + 50 * US + quarter);
    }

    #[test]
    fn writes_end_in_the_cache_while_it_has_space_and_a_flush_waits_for_the_dies() {
        let mut media = media(8192);
        assert_eq!(media.write(0, (0, 4096), false), 10 * US);
        assert_eq!(media.write(0, (4096, 4096), false), 10 * US);
        assert_eq!(media.flush(0), 501 * US);
        // The write cache is full until the data of the first write is in its die.
        assert_eq!(media.write(0, (8192, 4096), false), 511 * US);
        let end = media.write(0, (12288, 4096), true);
        assert!(end >= 501 * US, "a write through the cache ends in the die");
    }

    #[test]
    fn data_is_read_from_the_write_cache_while_it_is_there() {
        let mut media = media(8192);
        media.store(0, &[1; 12288]);
        media.write(0, (0, 4096), false);
        assert_eq!(media.read(20 * US, 0, 4096), 20 * US);
        assert_eq!(media.read(900 * US, 0, 4096), 900 * US);
        media.write(900 * US, (4096, 8192), false);
        assert_eq!(media.read(2_000 * US, 0, 4096), 2_051 * US);
        assert_eq!(media.read(2_000 * US, 4096, 8192), 2_000 * US);
    }

    #[test]
    fn a_read_waits_for_the_program_operation_under_way_and_delays_those_behind_it() {
        let mut media = media(0);
        for stripe in [0, 4, 8] {
            media.write(0, (stripe * 4096, 4096), true);
        }
        assert_eq!(media.flush(0), 1_501 * US);
        // At 700 us the second program operation is in progress; it ends at 1001 us.
        assert_eq!(media.read(700 * US, 12 * 4096, 4096), 1_052 * US);
        assert_eq!(media.flush(700 * US), 1_552 * US);
    }
}

//! Properties of the wire: transmission times, skip ordered sets and bit errors.

use kernel::{Span, Stream, Time};
use protocol::{DLLP_BYTES, Generation};

/// The reference clocks of the two ends of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Whether each end has its own clock (SRIS), instead of a common clock.
    pub are_separate: bool,
    /// Whether the clocks use spread spectrum clocking, which lowers their mean frequency.
    pub are_spread: bool,
}

/// The mean period of a spread clock and the period of a nominal clock, as a ratio. The frequency sweeps evenly down to 0.5 % below the
/// nominal frequency and up again, 30,000 to 33,000 times a second (PCIe Base 4.3.8.3, CEM 2.1.3), so that the mean frequency is a quarter
/// of a percent lower. With these numbers, all symbols of up to 16 GT/s and the blocks of 32 GT/s are whole femtoseconds: the ratio is
/// 1.002496, the exact mean is 1.002504.
const SPREAD: (u64, u64) = (15_664, 15_625);

impl Clocks {
    /// The real time in which nominal clocks count `fs` femtoseconds, or fractions of a femtosecond. The result has the same unit as `fs`.
    pub(crate) fn stretched(self, fs: u64) -> u64 {
        let (period, nominal) = if self.are_spread { SPREAD } else { (1, 1) };
        fs * period / nominal
    }
}

/// The timing of one direction of a link. Each packet needs the first field.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WireTiming {
    /// The time of a byte on all lanes, in 2^-16 fs. The value is exact, except for 12 lanes.
    byte_fs_x65536: u64,
    symbol: Span,
    skip_interval: Span,
    /// The time of a skip ordered set, without the token before it.
    skip_length: Span,
    /// The time of the EDS token before an ordered set.
    token_length: Span,
    skip_bytes: u32,
    /// The unit to which ordered sets are aligned: a symbol, or a block.
    alignment: Span,
    generation: Generation,
    lanes: u8,
    pub(crate) skip_token_bytes: u32,
    clocks: Clocks,
}

impl WireTiming {
    /// The timing of a `generation` link with `lanes` lanes. `skip_position` is the position of skip ordered sets in their
    /// permitted interval, from 0 (earliest) to 1 (latest).
    pub fn new(generation: Generation, lanes: u8, clocks: Clocks, skip_position: f64) -> Self {
        let skip = if clocks.are_separate {
            generation.skp_with_separate_clocks()
        } else {
            generation.skp()
        };
        let (first, last) = (*skip.interval_symbols.start(), *skip.interval_symbols.end());
        let alignment = generation.ordered_set_alignment();
        let choices = (last - first) / alignment;
        let interval = first + (f64::from(choices) * skip_position).round() as u32 * alignment;
        let skip_bytes = skip.symbols * u32::from(lanes) + skip.token_bytes;
        let byte_fs_x64 = clocks.stretched(generation.lane_byte_fs_x64());
        let symbols = |count: u32| Span::from_fs(byte_fs_x64 * u64::from(count) / 64);
        let byte_fs_x65536 = (byte_fs_x64 * 1024 + u64::from(lanes) / 2) / u64::from(lanes);
        WireTiming {
            byte_fs_x65536,
            symbol: symbols(1),
            skip_interval: symbols(interval),
            skip_length: symbols(skip.symbols),
            token_length: length(byte_fs_x65536, skip.token_bytes),
            skip_bytes,
            alignment: symbols(alignment),
            generation,
            lanes,
            skip_token_bytes: skip.token_bytes,
            clocks,
        }
    }

    /// The time of `bytes` bytes over all lanes, rounded to the nearest femtosecond.
    pub fn length(&self, bytes: u32) -> Span {
        length(self.byte_fs_x65536, bytes)
    }

    /// The time of one skip ordered set with its token, and its size in bytes over all lanes.
    pub fn skip(&self) -> (Span, u32) {
        (self.skip_length + self.token_length, self.skip_bytes)
    }

    /// The time from one skip ordered set to the next if both wait for the wire. In 128b/130b, two skip ordered sets are never consecutive
    /// blocks: between them is a block of data that ends with the EDS token (PCIe Base 4.2.7.3).
    fn queued_interval(&self) -> Span {
        let end = Time::ZERO + self.skip_length + self.token_length;
        end.round_up(self.alignment).since(Time::ZERO)
    }

    /// The time of a bit, as a fraction: the time of a bit on one lane, divided by the number of lanes.
    fn bit(&self) -> (u128, u128) {
        const DENOMINATOR: u64 = 1 << 10;
        let unit = self
            .clocks
            .stretched(self.generation.unit_interval_fs() * DENOMINATOR);
        (
            unit.into(),
            u128::from(DENOMINATOR) * u128::from(self.lanes),
        )
    }

    /// The bits of all lanes that the line carries from `from` until `until`, including the bits of the coding.
    pub fn line_bits(&self, from: Time, until: Time) -> u64 {
        let (unit, lanes) = self.bit();
        let bits = |time: Time| (u128::from(time.as_fs()) * lanes / unit) as u64;
        bits(until).saturating_sub(bits(from))
    }

    /// The earliest time at which the line has carried `count` + 1 bits after `from`.
    pub(crate) fn end_of_bits(&self, from: Time, count: u64) -> Time {
        let (unit, lanes) = self.bit();
        let before = u128::from(from.as_fs()) * lanes / unit;
        let time = ((before + u128::from(count) + 1) * unit).div_ceil(lanes);
        u64::try_from(time).map_or(Time::NEVER, Time::from_fs)
    }

    /// The position of the damaged bit in the bytes of a frame. `position` counts the bits on the line since the start of the frame. Bits of
    /// sync headers have positions beyond the bytes.
    pub fn damaged_bit(&self, position: u64) -> u64 {
        let per_byte = self.generation.bits_per_byte();
        position / per_byte * 8 + position % per_byte % 8
    }

    /// The data rate.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The width.
    pub fn lanes(&self) -> u8 {
        self.lanes
    }

    /// Whether the two ends have separate reference clocks (SRIS).
    pub(crate) fn has_separate_clocks(&self) -> bool {
        self.clocks.are_separate
    }

    /// The symbols of the ordered sets before electrical idle: EIOS, which Gen2 sends twice (PCIe Base 4.2.4.2).
    pub(crate) fn idle_set_symbols(&self) -> u32 {
        match self.generation() {
            Generation::Gen1 => 4,
            Generation::Gen2 => 8,
            _ => 16,
        }
    }

    /// The time of the shortest frame: a DLLP, or the ordered sets before electrical idle.
    pub fn shortest_frame(&self) -> Span {
        let idle = self.symbol * u64::from(self.idle_set_symbols());
        self.length(DLLP_BYTES).min(idle)
    }

    /// The time of one symbol: a byte on every lane.
    pub fn symbol(&self) -> Span {
        self.symbol
    }
}

/// The time of `bytes` bytes, rounded to the nearest femtosecond. Each byte takes `byte_fs_x65536` times 2^-16 fs.
fn length(byte_fs_x65536: u64, bytes: u32) -> Span {
    Span::from_fs((byte_fs_x65536 * u64::from(bytes) + (1 << 15)) >> 16)
}

/// The schedule of skip ordered sets. An idle transmitter sends them when they are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skips {
    next: Time,
}

impl Skips {
    pub(crate) fn new(timing: &WireTiming) -> Self {
        Self::starting(Time::ZERO, timing)
    }

    /// A schedule without any ordered set, for the time in which a link is not in L0.
    pub(crate) const SUSPENDED: Skips = Skips { next: Time::NEVER };

    /// Whether no ordered set is ever due.
    pub(crate) fn are_suspended(&self) -> bool {
        self.next == Time::NEVER
    }

    /// The schedule of a wire whose data stream begins at `now`, or at the next symbol or block.
    pub(crate) fn starting(now: Time, timing: &WireTiming) -> Self {
        Skips {
            next: now.round_up(timing.alignment) + timing.skip_interval,
        }
    }

    /// Returns the time at which the wire is free for a packet that is ready at `at`, and the number of ordered sets that are sent before
    /// the packet. The wire was last busy until `busy_until`.
    #[inline]
    pub(crate) fn pass(&mut self, at: Time, busy_until: Time, timing: &WireTiming) -> (Time, u64) {
        if !self.are_due(at) {
            return (at, 0);
        }
        let [queued, idle] = self.groups(at, busy_until, timing);
        let last = if idle.count > 0 { idle } else { queued };
        let sets = queued.count + idle.count;
        self.next += timing.skip_interval * sets;
        (at.max(last.end(timing)), sets)
    }

    /// Whether [`pass`](Self::pass) sends any ordered set before a packet that is ready at `at`.
    pub(crate) fn are_due(&self, at: Time) -> bool {
        at >= self.next
    }

    /// The ordered sets that [`pass`](Self::pass) sends with the same arguments: a group of ordered sets that had to wait for the wire, and
    /// a group on the idle wire.
    ///
    /// Ordered sets that become due during a packet, or during ordered sets after the packet, are sent after it: at the next symbol, or at
    /// the next block for which an EDS token can be sent before. The other ordered sets are sent when they are due.
    pub(crate) fn groups(&self, at: Time, busy_until: Time, timing: &WireTiming) -> [SkipGroup; 2] {
        let first = (busy_until + timing.token_length).round_up(timing.alignment);
        let mut queued = SkipGroup {
            first,
            count: 0,
            interval: timing.queued_interval(),
        };
        let mut next = self.next;
        let mut free = busy_until;
        // The wire must also be free for the token before an ordered set.
        while next <= at.max(free) && next <= free + timing.token_length {
            queued.count += 1;
            free = queued.end(timing);
            next += timing.skip_interval;
        }
        let idle = SkipGroup {
            first: next,
            count: match at.as_fs().checked_sub(next.as_fs()) {
                Some(since) => since / timing.skip_interval.as_fs() + 1,
                None => 0,
            },
            interval: timing.skip_interval,
        };
        [queued, idle]
    }
}

/// Ordered sets that are sent at equal intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkipGroup {
    /// The beginning of the first ordered set, after its token.
    first: Time,
    pub(crate) count: u64,
    /// The time from one ordered set to the next.
    pub(crate) interval: Span,
}

impl SkipGroup {
    /// The beginning of the first ordered set, or of the EDS token before it, if there is one.
    pub(crate) fn start(&self, timing: &WireTiming) -> Time {
        Time::from_fs(self.first.as_fs() - timing.token_length.as_fs())
    }

    /// The end of the last ordered set. The group must have at least one.
    fn end(&self, timing: &WireTiming) -> Time {
        self.first + self.interval * (self.count - 1) + timing.skip_length
    }
}

/// The bit errors of one direction of a wire: every bit has the same independent probability of error.
#[derive(Clone, Debug)]
pub struct BitErrors {
    rate: f64,
    stream: Stream,
    /// The number of correct bits before the next wrong one.
    gap: u64,
}

impl BitErrors {
    /// Bit errors with probability `rate` for each bit, drawn from `stream`.
    pub fn new(rate: f64, mut stream: Stream) -> Self {
        let gap = stream.failures_before_success(rate);
        BitErrors { rate, stream, gap }
    }

    /// The number of correct bits before the next wrong one.
    pub(crate) fn before_next(&self) -> u64 {
        self.gap
    }

    /// Whether any of the next `bits` bits is wrong. The cost of this function does not depend on the number of bits.
    pub(crate) fn any_wrong(&mut self, bits: u64) -> bool {
        if self.gap >= bits {
            self.gap -= bits;
            return false;
        }
        // Errors among the bits after these `bits` do not depend on the errors among them.
        self.gap = self.stream.failures_before_success(self.rate);
        true
    }

    /// Returns the positions of the wrong bits among the next `bits` bits.
    pub(crate) fn wrong_bits(&mut self, bits: u64) -> Vec<u64> {
        if self.gap >= bits {
            self.gap -= bits;
            return Vec::new();
        }
        let mut wrong = Vec::new();
        let mut at = self.gap;
        while at < bits {
            wrong.push(at);
            at = at
                .saturating_add(1)
                .saturating_add(self.stream.failures_before_success(self.rate));
        }
        self.gap = at - bits;
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gen2_x4_moves_a_byte_each_half_nanosecond() {
        let wire = WireTiming::new(Generation::Gen2, 4, Clocks::default(), 0.0);
        assert_eq!(wire.length(148), Span::from_ns(74));
        assert_eq!(wire.symbol(), Span::from_ns(2));
    }

    /// Clocks whose frequency is 0.25 % lower on average.
    #[test]
    fn a_spread_clock_makes_all_times_of_the_wire_longer() {
        for generation in [Generation::Gen1, Generation::Gen3, Generation::Gen5] {
            let wires = [false, true].map(|are_spread| {
                let clocks = Clocks {
                    are_spread,
                    are_separate: false,
                };
                WireTiming::new(generation, 2, clocks, 0.5)
            });
            let times = wires.map(|wire| {
                let bits = wire.end_of_bits(Time::ZERO, 1_000_000).since(Time::ZERO);
                [
                    wire.length(4096),
                    wire.skip_interval,
                    wire.skip_length,
                    wire.alignment * 64,
                    bits,
                ]
            });
            for (nominal, spread) in times[0].into_iter().zip(times[1]) {
                let ratio = spread.as_fs() as f64 / nominal.as_fs() as f64;
                assert!(
                    (ratio * 0.9975 - 1.0).abs() < 2e-5,
                    "{generation:?}: {ratio}"
                );
            }
            let million = Time::from_fs(1_000_000_000_000);
            let [nominal, spread] = wires.map(|wire| wire.line_bits(Time::ZERO, million));
            assert!((spread as f64 / nominal as f64 - 0.9975).abs() < 2e-5);
        }
    }

    #[test]
    fn skips_take_their_share_of_a_busy_wire() {
        let wire = WireTiming::new(Generation::Gen2, 4, Clocks::default(), 0.0);
        let mut skips = Skips::new(&wire);
        let mut at = Time::ZERO;
        for _ in 0..100_000 {
            let (free, _) = skips.pass(at, at, &wire);
            at = free + wire.length(148);
        }
        // Skip ordered sets take 4 of 1180 symbols; packets take the rest.
        let busy = 100_000.0 * 74.0;
        assert!(
            (at.as_ns() / busy - 1180.0 / 1176.0).abs() < 1e-4,
            "{}",
            at.as_ns() / busy
        );
    }

    /// PCIe Base 3.0 4.2.2.3.1: an EDS token is in the last dword of a block, and an ordered set is a separate block.
    #[test]
    fn a_skip_ordered_set_of_8_gt_is_a_block_after_the_block_with_its_token() {
        let wire = WireTiming::new(Generation::Gen3, 4, Clocks::default(), 0.0);
        let block = wire.symbol() * 16;
        let due = Time::ZERO + block * 370;
        let after = |busy_until: Time| {
            let (free, sets) = Skips::new(&wire).pass(busy_until, busy_until, &wire);
            assert_eq!(sets, 1);
            free.since(due)
        };
        // A dword on four lanes takes one symbol.
        assert_eq!(after(due + wire.symbol() * 15), block * 2);
        assert_eq!(after(due + wire.symbol() * 16), block * 3);
        assert_eq!(after(due + wire.symbol()), block * 2);
    }

    #[test]
    fn an_idle_wire_has_sent_its_skips_before_the_next_packet() {
        let wire = WireTiming::new(Generation::Gen1, 1, Clocks::default(), 0.0);
        let mut skips = Skips::new(&wire);
        let interval = Span::from_ns(4 * 1180);
        let at = Time::ZERO + interval * 3 + Span::from_ns(100);
        assert_eq!(skips.pass(at, Time::ZERO, &wire), (at, 3));
    }

    /// PCIe Base 4.2.2.1: in a data stream after Recovery, ordered sets also begin at the beginnings of blocks.
    #[test]
    fn ordered_sets_of_a_stream_that_begins_late_are_blocks() {
        let wire = WireTiming::new(Generation::Gen4, 8, Clocks::default(), 0.5);
        // A symbol of 16 GT/s is not a whole number of femtoseconds, but a block is.
        let block = wire.alignment;
        for ns in 1..50 {
            let begun = Time::ZERO + Span::from_ns(ns);
            let skips = Skips::starting(begun, &wire);
            assert_eq!(skips.next.as_fs() % block.as_fs(), 0);
            assert!(skips.next.since(begun) < wire.skip_interval + block);
        }
    }

    #[test]
    fn the_groups_of_ordered_sets_are_those_that_pass() {
        let wire = WireTiming::new(Generation::Gen3, 4, Clocks::default(), 0.0);
        let ns = |ns| Time::ZERO + Span::from_ns(ns);
        for (busy_until, at) in [(0, 5000), (0, 50_000), (13_000, 13_000), (13_000, 30_000)] {
            let mut skips = Skips::new(&wire);
            let [queued, idle] = skips.groups(ns(at), ns(busy_until), &wire);
            let (free, passed) = skips.pass(ns(at), ns(busy_until), &wire);
            assert_eq!(queued.count + idle.count, passed);
            let end = |group: SkipGroup| match group.count {
                0 => Time::ZERO,
                count => group.start(&wire) + group.interval * (count - 1) + wire.skip().0,
            };
            assert_eq!(free, ns(at).max(end(queued)).max(end(idle)));
        }
    }

    #[test]
    fn the_token_of_an_ordered_set_follows_the_packet_that_ends_just_before_it_is_due() {
        let wire = WireTiming::new(Generation::Gen5, 1, Clocks::default(), 0.0);
        let due = Time::ZERO + wire.skip_interval;
        for before in 0..2000 {
            let busy_until = Time::from_fs(due.as_fs() - before * 1000);
            let mut skips = Skips::new(&wire);
            let [queued, idle] = skips.groups(due, busy_until, &wire);
            let sent = if queued.count > 0 { queued } else { idle };
            assert_eq!(queued.count + idle.count, 1);
            let start = sent.start(&wire);
            assert!(start >= busy_until, "{before} ps before");
            let (free, _) = skips.pass(due, busy_until, &wire);
            assert_eq!(free, start + wire.skip().0);
        }
    }

    #[test]
    fn errors_come_at_their_rate() {
        let mut errors = BitErrors::new(1e-3, Stream::named(3, "wire"));
        let wrong: usize = (0..10_000).map(|_| errors.wrong_bits(1000).len()).sum();
        assert!((9_500..10_500).contains(&wrong), "{wrong}");
        // The chance that none of 1000 bits is wrong is 1/e.
        let any = (0..10_000).filter(|_| errors.any_wrong(1000)).count();
        assert!((6_170..6_470).contains(&any), "{any}");
    }
}

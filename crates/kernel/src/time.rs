//! Simulated time in whole femtoseconds.
//!
//! A `u64` of femtoseconds covers five hours. The symbol times of Gen1, Gen2 and Gen3 are whole numbers of femtoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The time at which every run begins.
    pub const ZERO: Time = Time(0);
    /// A time after all events.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time `fs` femtoseconds after the beginning.
    pub const fn from_fs(fs: u64) -> Self {
        Time(fs)
    }

    /// Femtoseconds since the beginning.
    pub const fn as_fs(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the beginning, for reports.
    pub fn as_ns(self) -> f64 {
        Span(self.0).as_ns()
    }

    /// The time from `earlier` to this time; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The first multiple of `grid` at or after this time.
    #[must_use]
    pub const fn round_up(self, grid: Span) -> Time {
        Time(self.0.next_multiple_of(grid.0))
    }
}

impl Span {
    /// A span of length zero.
    pub const ZERO: Span = Span(0);

    /// `fs` femtoseconds.
    pub const fn from_fs(fs: u64) -> Self {
        Span(fs)
    }

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Span(ps * 1_000)
    }

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Span(ns * 1_000_000)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Span(us * 1_000_000_000)
    }

    /// The length in femtoseconds.
    pub const fn as_fs(self) -> u64 {
        self.0
    }

    /// The length in nanoseconds, for reports.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This span minus `other`; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// Addition saturates at [`Time::NEVER`].
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0 * times)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns())
    }
}

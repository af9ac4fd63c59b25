//! A set-associative table with least-recently-used replacement.

use protocol::coherence::{LINE_BYTES, Line};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The size of a cache: its sets and ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    sets: usize,
    ways: usize,
}

/// The reason why a cache cannot have this geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// The size is not a power of two, or smaller than a line.
    #[error("a cache cannot have {0} bytes; use a power of two, at least 64")]
    Size(u64),
    /// The number of ways is not a power of two, or is too large.
    #[error("a cache of {lines} lines cannot have {ways} ways; use a power of two up to {}", .lines.min(&MOST_WAYS))]
    Ways {
        /// Requested number of ways.
        ways: u32,
        /// Number of lines.
        lines: u64,
    },
}

/// The age of a line in its set has 7 bits.
const MOST_WAYS: u64 = 128;

impl GeometryError {
    /// The error with the key that has the wrong value: `size` or `ways`.
    pub fn under(self, size: &'static str, ways: &'static str) -> (&'static str, Self) {
        match self {
            GeometryError::Size(_) => (size, self),
            GeometryError::Ways { .. } => (ways, self),
        }
    }
}

impl Geometry {
    /// A cache of `bytes` bytes with `ways` ways.
    pub fn new(bytes: u64, ways: u32) -> Result<Self, GeometryError> {
        if !bytes.is_power_of_two() || bytes < LINE_BYTES as u64 {
            return Err(GeometryError::Size(bytes));
        }
        let lines = bytes / LINE_BYTES as u64;
        if !ways.is_power_of_two() || u64::from(ways) > lines.min(MOST_WAYS) {
            return Err(GeometryError::Ways { ways, lines });
        }
        Ok(Geometry {
            sets: (lines / u64::from(ways)) as usize,
            ways: ways as usize,
        })
    }

    /// Number of sets.
    pub fn sets(self) -> usize {
        self.sets
    }

    /// Number of ways of each set.
    pub fn ways(self) -> usize {
        self.ways
    }
}

/// A table from lines to `T`; in a full set the least recently used line is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SetAssociative<T> {
    ways: usize,
    sets: usize,
    /// The line at each place, apart from its value: a set is searched often, and its lines are then adjacent in memory.
    lines: Vec<Option<Line>>,
    kept: Vec<Option<T>>,
    /// The age of each place: how many places of its set were used more recently.
    ages: Vec<u8>,
}

impl<T> SetAssociative<T> {
    /// An empty table.
    pub fn new(geometry: Geometry) -> Self {
        let count = geometry.sets * geometry.ways;
        SetAssociative {
            ways: geometry.ways,
            sets: geometry.sets,
            lines: vec![None; count],
            kept: std::iter::repeat_with(|| None).take(count).collect(),
            ages: (0..count)
                .map(|place| (place % geometry.ways) as u8)
                .collect(),
        }
    }

    fn set(&self, line: Line) -> std::ops::Range<usize> {
        let first = (line.number() as usize & (self.sets - 1)) * self.ways;
        first..first + self.ways
    }

    fn place(&self, line: Line) -> Option<usize> {
        let set = self.set(line);
        let mut lines = self.lines[set.clone()].iter();
        let way = lines.position(|there| *there == Some(line))?;
        Some(set.start + way)
    }

    /// The value of a line.
    #[inline]
    pub fn get(&self, line: Line) -> Option<&T> {
        self.kept[self.place(line)?].as_ref()
    }

    /// The value of a line, mutable.
    #[inline]
    pub fn get_mut(&mut self, line: Line) -> Option<&mut T> {
        let place = self.place(line)?;
        self.kept[place].as_mut()
    }

    /// Marks the line as most recently used. False if it is not in the table.
    pub fn touch(&mut self, line: Line) -> bool {
        let place = self.place(line);
        if let Some(place) = place {
            self.renew(place, line);
        }
        place.is_some()
    }

    fn renew(&mut self, place: usize, line: Line) {
        let age = self.ages[place];
        let set = self.set(line);
        for other in &mut self.ages[set] {
            *other += u8::from(*other < age);
        }
        self.ages[place] = 0;
    }

    /// The line to replace by `line`: the least recently used one that `may_go`; none if the set has a free place. `Err` if no line
    /// may go.
    #[expect(clippy::result_unit_err, reason = "there is nothing more to say")]
    pub fn victim(&self, line: Line, may_go: impl Fn(&T) -> bool) -> Result<Option<Line>, ()> {
        let set = self.set(line);
        if self.lines[set.clone()].contains(&None) {
            return Ok(None);
        }
        let ages = &self.ages[set.clone()];
        let mut by_age = (0..self.ways as u8).rev();
        let victim = by_age.find_map(|age| {
            let way = ages.iter().position(|there| *there == age);
            let place = set.start + way.expect("the ages of a set are a permutation");
            let kept = self.kept[place].as_ref();
            kept.filter(|what| may_go(what)).and(self.lines[place])
        });
        victim.map(Some).ok_or(())
    }

    /// Inserts a line, which must not be in the table, into a free place of its set.
    pub fn insert(&mut self, line: Line, what: T) {
        let set = self.set(line);
        let free = self.lines[set.clone()].iter().position(Option::is_none);
        let free = set.start + free.expect("a line is inserted only into a set with a free place");
        self.lines[free] = Some(line);
        self.kept[free] = Some(what);
        self.renew(free, line);
    }

    /// Removes a line.
    pub fn remove(&mut self, line: Line) -> Option<T> {
        let place = self.place(line)?;
        self.lines[place] = None;
        self.kept[place].take()
    }

    /// Marks the line as most recently used, and inserts it if it is not in the table, without regard to the value that it
    /// replaces. False if it was inserted.
    pub fn admit(&mut self, line: Line, what: T) -> bool {
        if self.touch(line) {
            return true;
        }
        let set = self.set(line);
        let ages = &self.ages[set.clone()];
        let free = self.lines[set.clone()].iter().position(Option::is_none);
        let way = free.or_else(|| {
            ages.iter()
                .position(|age| usize::from(*age) + 1 == self.ways)
        });
        let place = set.start + way.expect("the ages of a set are a permutation");
        self.lines[place] = Some(line);
        self.kept[place] = Some(what);
        self.renew(place, line);
        false
    }

    /// All entries, set by set.
    pub fn iter(&self) -> impl Iterator<Item = (Line, &T)> {
        let lines = self.lines.iter().flatten();
        lines.copied().zip(self.kept.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Line {
        Line::of(number * LINE_BYTES as u64)
    }

    #[test]
    fn the_line_that_was_looked_at_longest_ago_gives_way() {
        let geometry = Geometry::new(4 * 64, 2).expect("two sets of two");
        let mut table = SetAssociative::new(geometry);
        for number in [0, 2] {
            table.insert(line(number), number);
        }
        assert_eq!(table.victim(line(4), |_| true), Ok(Some(line(0))));
        assert!(table.touch(line(0)));
        assert_eq!(table.victim(line(4), |_| true), Ok(Some(line(2))));
        assert_eq!(table.victim(line(4), |what| *what == 0), Ok(Some(line(0))));
        assert_eq!(table.victim(line(4), |_| false), Err(()));
        assert_eq!(table.victim(line(1), |_| true), Ok(None));
        table.admit(line(4), 4);
        assert_eq!(table.get(line(2)), None);
        assert_eq!(table.get(line(4)), Some(&4));
    }

    #[test]
    fn sizes_and_ways_are_powers_of_two() {
        assert_eq!(Geometry::new(3 * 64, 1), Err(GeometryError::Size(192)));
        assert_eq!(Geometry::new(32, 1), Err(GeometryError::Size(32)));
        let wrong = |ways| GeometryError::Ways { ways, lines: 16 };
        assert_eq!(Geometry::new(1024, 3), Err(wrong(3)));
        assert_eq!(Geometry::new(1024, 32), Err(wrong(32)));
        let geometry = Geometry::new(1024, 4).expect("four sets of four");
        assert_eq!((geometry.sets(), geometry.ways()), (4, 4));
    }
}

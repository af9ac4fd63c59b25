//! A set-associative table with least-recently-used replacement.

use std::ops::Range;

use protocol::coherence::{LINE_BYTES, Line};
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
    /// The error, together with the key whose value is wrong: `size` or `ways`.
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

/// A table from lines to `T`. In a full set, the least recently used line is replaced.
///
/// The sets are allocated in groups. A group is allocated when a line is first inserted into it: most caches of a fabric stay nearly empty,
/// and to clear them would take longer than to use them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetAssociative<T> {
    ways: usize,
    sets: usize,
    groups: Vec<Group<T>>,
}

/// Adjacent sets. The group is empty until the first line is inserted into one of its sets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group<T> {
    /// The line at each place. Lines and values are stored separately: a set is searched often, and its lines are then adjacent in memory.
    lines: Vec<Option<Line>>,
    kept: Vec<Option<T>>,
    /// The age of each place: the number of places in its set that were used more recently.
    ages: Vec<u8>,
}

/// The largest number of sets in a group, chosen for this model: with 16 ways, a group occupies some pages of memory.
const SETS_OF_GROUP: usize = 16;

#[derive(Clone, Copy)]
struct Place {
    group: usize,
    index: usize,
}

impl<T> Group<T> {
    const EMPTY: Self = Group {
        lines: Vec::new(),
        kept: Vec::new(),
        ages: Vec::new(),
    };

    /// Allocates the places of `count` sets.
    fn make(&mut self, count: usize, ways: usize) {
        let places = count * ways;
        self.lines = vec![None; places];
        self.kept = std::iter::repeat_with(|| None).take(places).collect();
        self.ages = (0..places).map(|place| (place % ways) as u8).collect();
    }

    /// The lines of a set; empty if the group is not allocated yet.
    fn lines_of(&self, set: Range<usize>) -> &[Option<Line>] {
        self.lines.get(set).unwrap_or_default()
    }

    fn put(&mut self, set: Range<usize>, index: usize, line: Line, what: T) {
        self.lines[index] = Some(line);
        self.kept[index] = Some(what);
        self.renew(set, index);
    }

    /// Records the use of a place in a set.
    fn renew(&mut self, set: Range<usize>, index: usize) {
        let age = self.ages[index];
        for other in &mut self.ages[set] {
            *other += u8::from(*other < age);
        }
        self.ages[index] = 0;
    }
}

impl<T> SetAssociative<T> {
    /// An empty table.
    pub fn new(geometry: Geometry) -> Self {
        let groups = geometry.sets.div_ceil(SETS_OF_GROUP);
        SetAssociative {
            ways: geometry.ways,
            sets: geometry.sets,
            groups: std::iter::repeat_with(|| Group::EMPTY)
                .take(groups)
                .collect(),
        }
    }

    /// The group that contains the set of a line, and the places of the set in this group.
    fn set(&self, line: Line) -> (usize, Range<usize>) {
        let set = line.number() as usize & (self.sets - 1);
        let first = set % SETS_OF_GROUP * self.ways;
        (set / SETS_OF_GROUP, first..first + self.ways)
    }

    fn place(&self, line: Line) -> Option<Place> {
        let (group, set) = self.set(line);
        let mut lines = self.groups[group].lines_of(set.clone()).iter();
        let way = lines.position(|there| *there == Some(line))?;
        let index = set.start + way;
        Some(Place { group, index })
    }

    /// The group that contains the set of a line, and the places of the set in this group. Allocates the group if necessary.
    fn made(&mut self, line: Line) -> (&mut Group<T>, Range<usize>) {
        let (number, set) = self.set(line);
        let group = &mut self.groups[number];
        if group.lines.is_empty() {
            group.make(self.sets.min(SETS_OF_GROUP), self.ways);
        }
        (group, set)
    }

    /// The value of a line.
    pub fn get(&self, line: Line) -> Option<&T> {
        let Place { group, index } = self.place(line)?;
        self.groups[group].kept[index].as_ref()
    }

    /// The value of a line, mutable.
    pub fn get_mut(&mut self, line: Line) -> Option<&mut T> {
        let Place { group, index } = self.place(line)?;
        self.groups[group].kept[index].as_mut()
    }

    /// Marks the line as most recently used. Returns false if the line is not in the table.
    pub fn touch(&mut self, line: Line) -> bool {
        let place = self.place(line);
        if let Some(Place { group, index }) = place {
            let (_, set) = self.set(line);
            self.groups[group].renew(set, index);
        }
        place.is_some()
    }

    /// The line to replace by `line`: the least recently used line for which `may_go` is true; `None` if the set has a free place. Returns
    /// `Err` if no line may be replaced.
    #[expect(clippy::result_unit_err, reason = "there is nothing more to say")]
    pub fn victim(&self, line: Line, may_go: impl Fn(&T) -> bool) -> Result<Option<Line>, ()> {
        let (number, set) = self.set(line);
        let group = &self.groups[number];
        let lines = group.lines_of(set.clone());
        if lines.is_empty() || lines.contains(&None) {
            return Ok(None);
        }
        let ages = &group.ages[set.clone()];
        let mut by_age = (0..self.ways as u8).rev();
        let victim = by_age.find_map(|age| {
            let way = ages.iter().position(|there| *there == age);
            let way = way.expect("the ages of a set are a permutation");
            let kept = group.kept[set.start + way].as_ref();
            kept.filter(|what| may_go(what)).and(lines[way])
        });
        victim.map(Some).ok_or(())
    }

    /// Inserts a line, which must not be in the table, into a free place of its set.
    pub fn insert(&mut self, line: Line, what: T) {
        let (group, set) = self.made(line);
        let free = group.lines[set.clone()].iter().position(Option::is_none);
        let free = set.start + free.expect("a line is inserted only into a set with a free place");
        group.put(set, free, line, what);
    }

    /// Removes a line.
    pub fn remove(&mut self, line: Line) -> Option<T> {
        let Place { group, index } = self.place(line)?;
        let group = &mut self.groups[group];
        group.lines[index] = None;
        group.kept[index].take()
    }

    /// Marks the line as most recently used. If the line is not in the table, inserts it, discards the value that it replaces, and returns
    /// false.
    pub fn admit(&mut self, line: Line, what: T) -> bool {
        if self.touch(line) {
            return true;
        }
        let oldest = self.ways - 1;
        let (group, set) = self.made(line);
        let ages = &group.ages[set.clone()];
        let free = group.lines[set.clone()].iter().position(Option::is_none);
        let way = free.or_else(|| ages.iter().position(|age| usize::from(*age) == oldest));
        let index = set.start + way.expect("the ages of a set are a permutation");
        group.put(set, index, line, what);
        false
    }

    /// All entries, set by set.
    pub fn iter(&self) -> impl Iterator<Item = (Line, &T)> {
        let lines = self.groups.iter().flat_map(|group| group.lines.iter());
        let kept = self.groups.iter().flat_map(|group| group.kept.iter());
        lines.flatten().copied().zip(kept.flatten())
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

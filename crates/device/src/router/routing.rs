//! Which fibre a packet takes next, and in which of its virtual channels.

/// How a router knows the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routing {
    /// By the coordinates of a ring, mesh or torus.
    Grid(Grid),
    /// By a table of all nodes.
    Table(Table),
}

/// Where a router sends what is for each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The fibre towards each node; none to itself and to what is not reached.
    pub fibres: Vec<Option<u8>>,
    /// Virtual channels of each fibre, of which all packets between two nodes keep to one, and so keep their order.
    pub channels: u8,
}

/// A router's place in a ring, mesh or torus, and its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The dimensions; the first one counts fastest in the number of a node.
    pub dimensions: Vec<Dimension>,
    /// Whether a packet that crosses the end of a ring changes its virtual channel there.
    pub dateline: bool,
    /// Whether packets take any minimal way that has room, dimension order only where none has.
    pub adaptive: bool,
    /// Virtual channels of each fibre.
    pub channels: u8,
}

/// One dimension as a router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Nodes along it.
    pub size: u16,
    /// Whether its last node is joined to its first.
    pub wraps: bool,
    /// The router's coordinate.
    pub here: u16,
    /// The fibres to the next node and to the one before, where there are such.
    pub fibres: [Option<u8>; 2],
}

/// A fibre and the virtual channels of it that may be taken, a bit each.
pub type Way = (u8, u8);

/// The ways that a packet may take, the better ones first: no more than two in each of three dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    ways: [Way; 7],
    len: u8,
}

impl Ways {
    fn add(&mut self, fibre: Option<u8>, channels: u8) {
        if let Some(fibre) = fibre {
            self.ways[usize::from(self.len)] = (fibre, channels);
            self.len += 1;
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Way> + use<> {
        let (ways, len) = (self.ways, usize::from(self.len));
        ways.into_iter().take(len)
    }

    /// Those that `keep` keeps.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(u8) -> bool) -> Self {
        let mut kept = Self::default();
        for (fibre, channels) in self.iter().filter(|(fibre, _)| keep(*fibre)) {
            kept.add(Some(fibre), channels);
        }
        kept
    }
}

impl Routing {
    /// The ways of a packet to `destination`, another node. `arrived` is the fibre and channel that it came by; packets with
    /// the same `key` take the same of several equal channels.
    pub fn ways(&self, destination: u16, arrived: Option<(u8, u8)>, key: u16) -> Ways {
        let mut ways = Ways::default();
        match self {
            Routing::Grid(grid) => grid.ways(destination, arrived, key, &mut ways),
            Routing::Table(table) => {
                let fibre = table.fibres.get(usize::from(destination));
                ways.add(
                    fibre.copied().flatten(),
                    1 << (key % u16::from(table.channels)),
                );
            }
        }
        ways
    }
}

/// A step along a dimension: up or down, and whether the end of the ring is still to be crossed.
#[derive(Clone, Copy)]
struct Step {
    down: bool,
    crosses: bool,
}

impl Dimension {
    /// The shorter way to coordinate `there`, and whether the other one is as short.
    ///
    /// Of two equal ways nodes take the one and the other by turns, which loads both alike.
    fn step(&self, there: u16) -> Option<(Step, bool)> {
        let (size, here) = (u32::from(self.size), u32::from(self.here));
        let there = u32::from(there);
        if here == there {
            return None;
        }
        let up = (there + size - here) % size;
        let tie = self.wraps && 2 * up == size;
        let down = if self.wraps {
            2 * up > size || (tie && here % 2 == 1)
        } else {
            there < here
        };
        Some((self.towards(there, down), tie))
    }

    fn towards(&self, there: u32, down: bool) -> Step {
        let here = u32::from(self.here);
        let crosses = self.wraps && if down { there > here } else { there < here };
        Step { down, crosses }
    }

    fn fibre(&self, step: Step) -> Option<u8> {
        self.fibres[usize::from(step.down)]
    }

    /// Whether a packet to `there` that crosses no end had better take the upper channels: where most of its way lies beyond
    /// the middle of the ring, as packets that are about to cross the end have the lower ones there.
    fn prefers_upper(&self, there: u16, step: Step) -> bool {
        let is_late = u32::from(self.here) + u32::from(there) >= u32::from(self.size);
        is_late != step.down
    }

    /// Whether the last step of a packet that goes on like this was over the end of the ring.
    fn has_just_crossed(&self, step: Step) -> bool {
        self.here == if step.down { self.size - 1 } else { 0 }
    }
}

impl Grid {
    fn ways(&self, destination: u16, arrived: Option<(u8, u8)>, key: u16, ways: &mut Ways) {
        let mut rest = destination;
        let mut first = true;
        for dimension in &self.dimensions {
            let there = rest % dimension.size;
            rest /= dimension.size;
            let Some((step, tie)) = dimension.step(there) else {
                continue;
            };
            if !self.adaptive {
                let channels = self.in_order(dimension, there, step, arrived, key);
                return ways.add(dimension.fibre(step), channels);
            }
            let (escape, free) = self.escape(dimension, step);
            ways.add(
                dimension.fibre(step),
                if first { free | escape } else { free },
            );
            if tie {
                let other = dimension.towards(u32::from(there), !step.down);
                ways.add(dimension.fibre(other), free);
            }
            first = false;
        }
    }

    /// The channel of dimension order. Packets that have to cross the end of a ring take the lower half of the channels until
    /// then, and the upper half from there on; others take the half that has less of those where they go, and no packet
    /// goes from the upper to the lower half in a ring. So the lower channels wait for each other only up to the end of the ring, the upper ones only from there on,
    /// and there is no circle.
    fn in_order(
        &self,
        dimension: &Dimension,
        there: u16,
        step: Step,
        arrived: Option<(u8, u8)>,
        key: u16,
    ) -> u8 {
        let choose = |first: u8, count: u8| 1 << (first + key as u8 % count);
        if !(self.dateline && dimension.wraps) || self.channels < 2 {
            return choose(0, self.channels);
        }
        let half = self.channels / 2;
        let came = arrived.filter(|(fibre, _)| dimension.fibres.contains(&Some(*fibre)));
        let upper = match came {
            _ if step.crosses => false,
            Some(_) if dimension.has_just_crossed(step) => true,
            Some((_, channel)) => channel >= half,
            None => dimension.prefers_upper(there, step),
        };
        if upper {
            choose(half, self.channels - half)
        } else {
            choose(0, half)
        }
    }

    /// The channel that dimension order takes in a ring or line where all others are adaptive, and those others.
    fn escape(&self, dimension: &Dimension, step: Step) -> (u8, u8) {
        let all = u8::MAX >> (8 - self.channels);
        if self.dateline && self.dimensions.iter().any(|dimension| dimension.wraps) {
            let escape = if step.crosses || !dimension.wraps {
                1
            } else {
                2
            };
            (escape, all & !3)
        } else {
            (1, all & !1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(here: u16, size: u16) -> Routing {
        Routing::Grid(Grid {
            dimensions: vec![Dimension {
                size,
                wraps: true,
                here,
                fibres: [Some(0), Some(1)],
            }],
            dateline: true,
            adaptive: false,
            channels: 2,
        })
    }

    fn only(ways: Ways) -> Way {
        let all: Vec<Way> = ways.iter().collect();
        assert_eq!(all.len(), 1);
        all[0]
    }

    #[test]
    fn a_packet_takes_the_shorter_way_around() {
        assert_eq!(only(ring(1, 8).ways(3, None, 0)).0, 0);
        assert_eq!(only(ring(1, 8).ways(7, None, 0)).0, 1);
    }

    #[test]
    fn of_two_equal_ways_every_other_node_takes_the_same() {
        assert_eq!(only(ring(2, 8).ways(6, None, 0)).0, 0);
        assert_eq!(only(ring(1, 8).ways(5, None, 0)).0, 1);
    }

    #[test]
    fn it_changes_its_channel_at_the_end_of_the_ring() {
        assert_eq!(only(ring(6, 8).ways(1, None, 2)), (0, 1));
        assert_eq!(only(ring(7, 8).ways(1, Some((1, 0)), 2)), (0, 1));
        assert_eq!(only(ring(0, 8).ways(1, Some((1, 0)), 0)), (0, 2));
        assert_eq!(only(ring(1, 8).ways(2, Some((1, 1)), 0)), (0, 2));
        // Down the ring the end lies between 0 and 7.
        assert_eq!(only(ring(0, 8).ways(6, Some((0, 0)), 2)), (1, 1));
        assert_eq!(only(ring(7, 8).ways(6, Some((0, 0)), 0)), (1, 2));
    }

    #[test]
    fn a_packet_that_crosses_no_end_keeps_its_channel() {
        assert_eq!(only(ring(0, 8).ways(3, None, 0)), (0, 1));
        assert_eq!(only(ring(4, 8).ways(6, None, 0)), (0, 2));
        assert_eq!(only(ring(2, 8).ways(4, Some((1, 0)), 0)), (0, 1));
        assert_eq!(only(ring(2, 8).ways(4, Some((1, 1)), 0)), (0, 2));
        assert_eq!(only(ring(3, 8).ways(1, None, 0)), (1, 2));
    }

    #[test]
    fn packets_by_a_table_keep_to_one_of_the_channels_that_there_are() {
        for channels in 1..=8 {
            let table = Routing::Table(Table {
                fibres: vec![None, Some(3)],
                channels,
            });
            for key in 0..64 {
                let way = only(table.ways(1, None, key));
                assert_eq!(way, (3, 1 << (key % u16::from(channels))));
            }
            assert_eq!(table.ways(0, None, 0).iter().count(), 0);
            assert_eq!(table.ways(2, None, 0).iter().count(), 0);
        }
    }

    #[test]
    fn dimensions_are_finished_one_after_the_other() {
        let dimension = |here, first| Dimension {
            size: 4,
            wraps: false,
            here,
            fibres: [Some(first), Some(first + 1)],
        };
        let grid = |x, y, adaptive| {
            Routing::Grid(Grid {
                dimensions: vec![dimension(x, 0), dimension(y, 2)],
                dateline: false,
                adaptive,
                channels: 2,
            })
        };
        let (x, y) = (3, 1);
        assert_eq!(only(grid(1, 2, false).ways(y * 4 + x, None, 0)).0, 0);
        assert_eq!(only(grid(3, 2, false).ways(y * 4 + x, None, 0)).0, 3);
        // Adaptive: every productive fibre, and the escape channel in dimension order.
        let all: Vec<Way> = grid(1, 2, true).ways(y * 4 + x, None, 0).iter().collect();
        assert_eq!(all, [(0, 3), (3, 2)]);
    }
}

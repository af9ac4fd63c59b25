//! Routing: the fibres that a packet may take next, and the virtual channels.

/// The routing of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Routing by coordinates, in a ring, mesh or torus.
    Grid(Grid),
    /// Routing by a table that contains all nodes.
    Table(Table),
}

/// A routing table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The fibre towards each node; none for this node and for unreachable nodes.
    pub fibres: Vec<Option<u8>>,
    /// Number of virtual channels of each fibre. All packets between two nodes use the same channel, so that they stay in order.
    pub channels: u8,
}

/// The position of a router in a ring, mesh or torus, and its routing rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The dimensions. The coordinate of the first dimension changes fastest with the node number.
    pub dimensions: Vec<Dimension>,
    /// Whether a packet changes its virtual channel at the end of a ring (dateline).
    pub dateline: bool,
    /// Whether packets may take any minimal route with free space. If so, dimension order is used when no other channel has space.
    pub adaptive: bool,
    /// Number of virtual channels of each fibre.
    pub channels: u8,
}

/// One dimension, as seen from one router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Number of nodes in this dimension.
    pub size: u16,
    /// Whether the last node is connected to the first.
    pub wraps: bool,
    /// The coordinate of the router.
    pub here: u16,
    /// The fibres to the next and to the previous node, if they exist.
    pub fibres: [Option<u8>; 2],
}

/// A fibre, and the mask of the virtual channels that a packet may use on it.
pub type Hop = (u8, u8);

/// The fibres that a packet may take, in order of preference. There are at most two in each of three dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hops {
    hops: [Hop; 7],
    len: u8,
}

impl Hops {
    fn add(&mut self, fibre: Option<u8>, channels: u8) {
        if let Some(fibre) = fibre {
            self.hops[usize::from(self.len)] = (fibre, channels);
            self.len += 1;
        }
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = Hop> + use<> {
        let (hops, len) = (self.hops, usize::from(self.len));
        hops.into_iter().take(len)
    }

    /// The entries with a fibre that satisfies `keep`.
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
    /// The fibres that a packet to `destination`, which must be another node, may take. `arrived` is the fibre and the channel by which the
    /// packet has arrived. If several channels are equally good, packets with the same `key` use the same one.
    pub fn hops(&self, destination: u16, arrived: Option<(u8, u8)>, key: u16) -> Hops {
        let mut hops = Hops::default();
        match self {
            Routing::Grid(grid) => grid.hops(destination, arrived, key, &mut hops),
            Routing::Table(table) => {
                let fibre = table.fibres.get(usize::from(destination));
                hops.add(
                    fibre.copied().flatten(),
                    1 << (key % u16::from(table.channels)),
                );
            }
        }
        hops
    }
}

/// A step along a dimension: its direction, and whether the route still has to cross the end of the ring.
#[derive(Clone, Copy)]
struct Step {
    down: bool,
    crosses: bool,
}

impl Dimension {
    /// The shorter direction to coordinate `there`, and whether the other direction is equally short.
    ///
    /// If both directions are equally short, even nodes and odd nodes take different ones, which balances the load.
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

    /// Whether a packet to `there` that does not cross the end of the ring should use the upper channels. It should if most of its route is
    /// beyond the middle of the ring, because packets that will cross the end load the lower channels there.
    fn prefers_upper(&self, there: u16, step: Step) -> bool {
        let is_late = u32::from(self.here) + u32::from(there) >= u32::from(self.size);
        is_late != step.down
    }

    /// Whether a packet that continues in this direction has crossed the end of the ring in its previous step.
    fn has_just_crossed(&self, step: Step) -> bool {
        self.here == if step.down { self.size - 1 } else { 0 }
    }
}

impl Grid {
    fn hops(&self, destination: u16, arrived: Option<(u8, u8)>, key: u16, hops: &mut Hops) {
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
                return hops.add(dimension.fibre(step), channels);
            }
            let (escape, free) = self.escape(dimension, step);
            hops.add(
                dimension.fibre(step),
                if first { free | escape } else { free },
            );
            if tie {
                let other = dimension.towards(u32::from(there), !step.down);
                hops.add(dimension.fibre(other), free);
            }
            first = false;
        }
    }

    /// The mask of the channel in dimension order. Packets that cross the end of a ring use the lower half of the channels before the end, and
    /// the upper half after it. Other packets use the half with less load on their route. No packet changes from the upper half to the lower
    /// half in a ring. Therefore lower channels depend on each other only before the end of the ring, and upper channels only after it, and no
    /// cycle is possible.
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

    /// The mask of the channel for dimension order, and the mask of the adaptive channels, in a ring or line with adaptive routing.
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

    fn only(hops: Hops) -> Hop {
        let all: Vec<Hop> = hops.iter().collect();
        assert_eq!(all.len(), 1);
        all[0]
    }

    #[test]
    fn a_packet_takes_the_shorter_way_around() {
        assert_eq!(only(ring(1, 8).hops(3, None, 0)).0, 0);
        assert_eq!(only(ring(1, 8).hops(7, None, 0)).0, 1);
    }

    #[test]
    fn of_two_equal_ways_every_other_node_takes_the_same() {
        assert_eq!(only(ring(2, 8).hops(6, None, 0)).0, 0);
        assert_eq!(only(ring(1, 8).hops(5, None, 0)).0, 1);
    }

    #[test]
    fn it_changes_its_channel_at_the_end_of_the_ring() {
        assert_eq!(only(ring(6, 8).hops(1, None, 2)), (0, 1));
        assert_eq!(only(ring(7, 8).hops(1, Some((1, 0)), 2)), (0, 1));
        assert_eq!(only(ring(0, 8).hops(1, Some((1, 0)), 0)), (0, 2));
        assert_eq!(only(ring(1, 8).hops(2, Some((1, 1)), 0)), (0, 2));
        // In the down direction, the end of the ring lies between nodes 0 and 7.
        assert_eq!(only(ring(0, 8).hops(6, Some((0, 0)), 2)), (1, 1));
        assert_eq!(only(ring(7, 8).hops(6, Some((0, 0)), 0)), (1, 2));
    }

    #[test]
    fn a_packet_that_crosses_no_end_keeps_its_channel() {
        assert_eq!(only(ring(0, 8).hops(3, None, 0)), (0, 1));
        assert_eq!(only(ring(4, 8).hops(6, None, 0)), (0, 2));
        assert_eq!(only(ring(2, 8).hops(4, Some((1, 0)), 0)), (0, 1));
        assert_eq!(only(ring(2, 8).hops(4, Some((1, 1)), 0)), (0, 2));
        assert_eq!(only(ring(3, 8).hops(1, None, 0)), (1, 2));
    }

    #[test]
    fn packets_by_a_table_keep_to_one_of_the_channels_that_there_are() {
        for channels in 1..=8 {
            let table = Routing::Table(Table {
                fibres: vec![None, Some(3)],
                channels,
            });
            for key in 0..64 {
                let hop = only(table.hops(1, None, key));
                assert_eq!(hop, (3, 1 << (key % u16::from(channels))));
            }
            assert_eq!(table.hops(0, None, 0).iter().count(), 0);
            assert_eq!(table.hops(2, None, 0).iter().count(), 0);
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
        assert_eq!(only(grid(1, 2, false).hops(y * 4 + x, None, 0)).0, 0);
        assert_eq!(only(grid(3, 2, false).hops(y * 4 + x, None, 0)).0, 3);
        // With adaptive routing, a packet may take every fibre that brings it nearer, and has the escape channel in dimension order.
        let all: Vec<Hop> = grid(1, 2, true).hops(y * 4 + x, None, 0).iter().collect();
        assert_eq!(all, [(0, 3), (3, 2)]);
    }
}

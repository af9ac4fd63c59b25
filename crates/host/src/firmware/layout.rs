//! The layout of BARs: 32-bit BARs from 3 GiB up to the interrupt controllers, 64-bit BARs above all memory.
//!
//! The addresses below each bridge form one naturally aligned block, so that one window forwards them.

use protocol::{Interval, WINDOW_BYTES};

use super::FirmwareError;
use super::bars::BarRequest;
use super::scan::FoundFunction;

/// A part of the address space for BARs of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Whether the BARs have 64 bits.
    pub wide: bool,
    /// The first address.
    pub base: u64,
    /// The first address after the zone.
    pub end: u64,
}

impl Zone {
    /// The zone of 32-bit BARs. The interrupt controllers and the firmware itself are above it.
    pub const BELOW_4_GIB: Self = Self {
        wide: false,
        base: 3 << 30,
        end: 0xfec0_0000,
    };

    /// The zone of 64-bit BARs, above all memory, within the 52 address bits of processors.
    pub const BEYOND: Self = Self {
        wide: true,
        base: 1 << 40,
        end: 1 << 52,
    };

    /// The zone of 64-bit BARs in a tree of which others reach the addresses below `space`: the upper half of these addresses. If that half does
    /// not begin at 4 GiB or above, others reach no 64-bit BARs.
    pub fn within(space: u64) -> Self {
        if space < 8 << 30 {
            return Self::BEYOND;
        }
        Self {
            wide: true,
            base: space / 2,
            end: space,
        }
    }
}

/// The layout of one zone for all functions of a tree.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// For each BAR: the index of its function, the BAR, and its first address.
    pub(super) asks: Vec<(usize, BarRequest, u64)>,
    /// The window of each bridge, if there are BARs below it.
    pub(super) windows: Vec<Option<Interval<u64>>>,
}

/// The size and alignment of the addresses of a function, or of all functions below a bridge. Sums of sizes may exceed 64 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    size: u128,
    align: u128,
}

impl Extent {
    /// The extent of consecutive BARs. Each BAR is aligned because the BARs are in the order of their sizes, the largest first.
    fn of(asks: &[BarRequest]) -> Self {
        Self {
            size: asks.iter().map(|ask| ask.size()).sum(),
            align: asks.first().map_or(0, |ask| u128::from(ask.bar.size)),
        }
    }

    /// The window of a bridge that contains this extent.
    fn window(self) -> Self {
        if self.size == 0 {
            return self;
        }
        let granularity = u128::from(WINDOW_BYTES);
        Self {
            size: self.size.next_multiple_of(granularity),
            align: self.align.max(granularity),
        }
    }
}

impl Layout {
    pub(super) fn new(found: &[FoundFunction], zone: Zone) -> Result<Self, FirmwareError> {
        let asks: Vec<Vec<BarRequest>> = found.iter().map(|one| largest_first(one, zone)).collect();
        let (top, below) = families(found);
        let extents = extents(found, &asks, &below);
        let (_, whole) = stack(&top, &extents);
        let start = u128::from(zone.base).next_multiple_of(whole.align.max(1));
        if start + whole.size > u128::from(zone.end) {
            return Err(no_room(found, &asks, zone));
        }
        let mut layout = Self {
            asks: Vec::new(),
            windows: vec![None; found.len()],
        };
        let mut bases = vec![0; found.len()];
        place(&top, &extents, start as u64, &mut bases);
        // In `found`, each bridge is before the functions below it.
        for index in (0..found.len()).filter(|index| extents[*index].size > 0) {
            let mut next = bases[index];
            if found[index].is_bridge {
                let last = next + (extents[index].size as u64 - 1);
                layout.windows[index] = Some((next, last));
                place(&below[index], &extents, next, &mut bases);
            }
            for ask in &asks[index] {
                layout.asks.push((index, *ask, next));
                next += ask.size() as u64;
            }
        }
        Ok(layout)
    }
}

/// The functions on bus 0, and the functions directly below each function.
fn families(found: &[FoundFunction]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut top = Vec::new();
    let mut below = vec![Vec::new(); found.len()];
    for (index, one) in found.iter().enumerate() {
        let family = one.above.map_or(&mut top, |above| &mut below[above]);
        family.push(index);
    }
    (top, below)
}

/// The extent of each function. The extent of a bridge is the window for all functions below it.
fn extents(found: &[FoundFunction], asks: &[Vec<BarRequest>], below: &[Vec<usize>]) -> Vec<Extent> {
    let mut extents = vec![Extent::default(); found.len()];
    for index in (0..found.len()).rev() {
        extents[index] = if found[index].is_bridge {
            stack(&below[index], &extents).1.window()
        } else {
            Extent::of(&asks[index])
        };
    }
    extents
}

/// Assigns addresses to `children` from `base` on.
fn place(children: &[usize], extents: &[Extent], base: u64, bases: &mut [u64]) {
    for (child, offset) in stack(children, extents).0 {
        bases[child] = base + offset as u64;
    }
}

/// The offset of each of the `children` that need addresses, and the extent of all of them.
///
/// The children with the largest alignment are placed first, which leaves the smallest gaps.
fn stack(children: &[usize], extents: &[Extent]) -> (Vec<(usize, u128)>, Extent) {
    let wanting = children.iter().filter(|child| extents[**child].size > 0);
    let mut wanting: Vec<usize> = wanting.copied().collect();
    wanting.sort_by_key(|child| std::cmp::Reverse(extents[*child].align));
    let mut whole = Extent::default();
    let mut placed = Vec::with_capacity(wanting.len());
    for child in wanting {
        let Extent { size, align } = extents[child];
        let offset = whole.size.next_multiple_of(align);
        placed.push((child, offset));
        whole.size = offset + size;
        whole.align = whole.align.max(align);
    }
    (placed, whole)
}

fn largest_first(one: &FoundFunction, zone: Zone) -> Vec<BarRequest> {
    let asks = one.asks.iter().filter(|ask| ask.bar.wide == zone.wide);
    let mut asks: Vec<BarRequest> = asks.copied().collect();
    asks.sort_by_key(|ask| std::cmp::Reverse(ask.bar.size));
    asks
}

fn no_room(found: &[FoundFunction], asks: &[Vec<BarRequest>], zone: Zone) -> FirmwareError {
    let owners = found.iter().zip(asks);
    let largest = owners.max_by_key(|(_, asks)| asks.iter().map(|ask| ask.size()).max());
    FirmwareError::NoRoom {
        function: largest.map_or_else(Default::default, |(one, _)| one.id),
        wide: zone.wide,
        room: zone.end - zone.base,
    }
}

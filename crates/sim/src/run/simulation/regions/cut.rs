//! Where a fabric is cut into regions: at the wires with the longest delays that leave parts of about the same size.

use kernel::{ComponentId, Span};

/// The regions of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The region of each component.
    pub(super) regions: Vec<u32>,
    /// The shortest lookahead of a wire between two regions.
    pub(super) lookahead: Span,
}

/// The largest region of a cut may be this much larger than the mean, in quarters, before shorter wires are cut. Our choice.
const LARGEST: u64 = 5;

/// A wire from one component to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) from: ComponentId,
    pub(super) to: ComponentId,
    pub(super) delay: Span,
    /// The time from the cause of a frame to its arrival: the delay, and the shortest transmission.
    pub(super) lookahead: Span,
}

/// Cuts a fabric of `components` components into `count` regions, or into fewer if it falls into no more, or if more would have windows
/// less than half as long. No wire without a delay is cut. `None` if the whole fabric hangs together by such wires.
pub(super) fn cut(components: usize, wires: &[Wire], count: usize) -> Option<Cut> {
    let counts = 2..=count.min(components);
    let cuts: Vec<_> = counts
        .filter_map(|count| cut_into(components, wires, count))
        .collect();
    let longest = cuts.iter().map(|cut| cut.lookahead).max()?;
    let mut cuts = cuts.into_iter().rev();
    cuts.find(|cut| cut.lookahead * 2 >= longest)
}

fn cut_into(components: usize, wires: &[Wire], count: usize) -> Option<Cut> {
    let mut weights = vec![1_u64; components];
    for wire in wires {
        weights[wire.from.0 as usize] += 1;
    }
    let total: u64 = weights.iter().sum();
    let mut delays: Vec<Span> = wires.iter().map(|wire| wire.delay).collect();
    delays.sort_unstable();
    delays.dedup();
    delays.retain(|delay| *delay > Span::ZERO);
    let mut best: Option<(u64, Cut)> = None;
    for shortest in delays.into_iter().rev() {
        let parts = parts(components, wires, shortest);
        let Some((largest, regions)) = share(&parts, &weights, count) else {
            continue;
        };
        let crosses = |wire: &&Wire| regions[wire.from.0 as usize] != regions[wire.to.0 as usize];
        let crossing = wires.iter().filter(crosses).map(|wire| wire.lookahead);
        let Some(lookahead) = crossing.min() else {
            continue;
        };
        let is_even = largest * count as u64 * 4 <= total * LARGEST;
        if best.as_ref().is_none_or(|(least, _)| largest < *least) {
            best = Some((largest, Cut { regions, lookahead }));
        }
        if is_even {
            break;
        }
    }
    best.map(|(_, cut)| cut)
}

/// The part of each component, by the number of the part's first component: parts hang together by wires shorter than `shortest`.
fn parts(components: usize, wires: &[Wire], shortest: Span) -> Vec<usize> {
    let mut above: Vec<usize> = (0..components).collect();
    for wire in wires {
        if wire.delay < shortest {
            let (from, to) = (
                top(&mut above, wire.from.0 as usize),
                top(&mut above, wire.to.0 as usize),
            );
            above[from.max(to)] = from.min(to);
        }
    }
    (0..components).map(|one| top(&mut above, one)).collect()
}

/// The first component of a part. Shortens the way to it.
fn top(above: &mut [usize], mut one: usize) -> usize {
    while above[one] != one {
        above[one] = above[above[one]];
        one = above[one];
    }
    one
}

/// Shares parts out to `count` regions in the order of their first components. Returns the weight of the largest region and the region
/// of each component; `None` if a region would be empty.
fn share(parts: &[usize], weights: &[u64], count: usize) -> Option<(u64, Vec<u32>)> {
    let mut of_part = vec![0_u64; parts.len()];
    for (part, weight) in parts.iter().zip(weights) {
        of_part[*part] += weight;
    }
    let total: u64 = weights.iter().sum();
    let mut sizes = vec![0_u64; count];
    let mut regions = vec![0_u32; parts.len()];
    let mut before = 0;
    for one in 0..parts.len() {
        if parts[one] == one {
            // The region in which the middle of the part falls.
            let middle = before + of_part[one] / 2;
            let region = (middle * count as u64 / total) as usize;
            regions[one] = region as u32;
            sizes[region] += of_part[one];
            before += of_part[one];
        } else {
            regions[one] = regions[parts[one]];
        }
    }
    let largest = sizes.iter().copied().max()?;
    sizes
        .iter()
        .all(|size| *size > 0)
        .then_some((largest, regions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wires(all: &[(u32, u32, u64)]) -> Vec<Wire> {
        let both = |(one, other, ns): &(u32, u32, u64)| {
            let (one, other, delay) = (ComponentId(*one), ComponentId(*other), Span::from_ns(*ns));
            [(one, other), (other, one)].map(|(from, to)| Wire {
                from,
                to,
                delay,
                lookahead: delay,
            })
        };
        all.iter().flat_map(both).collect()
    }

    #[test]
    fn a_chain_is_cut_in_the_middle_at_its_long_wires() {
        let chain = wires(&[(0, 1, 5), (1, 2, 300), (2, 3, 5)]);
        let cut = cut(4, &chain, 2).expect("a chain with delays");
        assert_eq!(cut.regions, [0, 0, 1, 1]);
        assert_eq!(cut.lookahead, Span::from_ns(300));
    }

    #[test]
    fn a_long_wire_to_one_small_part_is_no_place_to_cut() {
        let chain = wires(&[(0, 1, 300), (1, 2, 5), (2, 3, 5), (3, 4, 5), (4, 5, 5)]);
        let cut = cut(6, &chain, 2).expect("a chain with delays");
        assert_eq!(cut.regions, [0, 0, 0, 1, 1, 1]);
        assert_eq!(cut.lookahead, Span::from_ns(5));
    }

    #[test]
    fn more_regions_are_not_worth_shorter_windows() {
        let chain = wires(&[(0, 1, 5), (1, 2, 300), (2, 3, 5)]);
        let four = cut(4, &chain, 4).expect("a chain with delays");
        assert_eq!(four.regions, [0, 0, 1, 1]);
        let chain = wires(&[(0, 1, 150), (1, 2, 300), (2, 3, 150)]);
        let four = cut(4, &chain, 4).expect("a chain with delays");
        assert_eq!(four.regions, [0, 1, 2, 3]);
    }

    #[test]
    fn wires_without_delay_are_never_cut() {
        let star = wires(&[(0, 3, 0), (1, 3, 0), (2, 3, 0)]);
        assert_eq!(cut(4, &star, 2), None);
        let two = wires(&[(0, 1, 0), (2, 3, 0), (1, 2, 7)]);
        let two = cut(4, &two, 3).expect("two parts");
        assert_eq!(two.regions, [0, 0, 1, 1]);
    }
}

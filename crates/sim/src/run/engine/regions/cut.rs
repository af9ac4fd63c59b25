//! The division of a fabric into regions. A fabric is cut at the wires with the longest delays that leave regions of about the same size.

use std::mem;

use kernel::{ComponentId, Span};

/// The regions of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The region of each component.
    pub(super) regions: Vec<u32>,
    /// The shortest lookahead of a wire between two regions.
    pub(super) lookahead: Span,
}

impl Cut {
    pub(super) fn count(&self) -> usize {
        1 + self.regions.iter().copied().max().unwrap_or(0) as usize
    }
}

/// The size up to which the largest region of a cut is accepted, in quarters of the mean size. If it is larger, wires with shorter delays are cut.
/// Our choice.
const LARGEST: u64 = 5;

/// A wire from one component to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) from: ComponentId,
    pub(super) to: ComponentId,
    pub(super) delay: Span,
    /// The shortest time from the cause of a frame to its arrival: the delay plus the shortest transmission.
    pub(super) lookahead: Span,
}

/// Cuts a fabric of `components` components into `count` regions, or into as many as possible if this is less. Wires without a delay are not cut.
/// `None` if wires without a delay connect the whole fabric.
pub(super) fn cut(components: usize, wires: &[Wire], count: usize) -> Option<Cut> {
    let mut counts = (2..=count.min(components)).rev();
    counts.find_map(|count| cut_into(components, wires, count))
}

/// The cuts into two regions, three regions and so on up to `most`, as far as they are possible.
pub(super) fn cuts(components: usize, wires: &[Wire], most: usize) -> Vec<Cut> {
    let counts = 2..=most.min(components);
    let cuts = counts.filter_map(|count| cut_into(components, wires, count));
    cuts.collect()
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
    let mut best: Option<Sharing> = None;
    for shortest in delays.into_iter().rev() {
        let parts = parts(components, wires, shortest);
        let orders = [numbered(&parts), walked(&parts, wires)];
        let sharings = orders
            .iter()
            .filter_map(|order| share(order, &parts, wires, &weights, count));
        let is_even = |largest: u64| largest * count as u64 * 4 <= total * LARGEST;
        let Some(found) = sharings.min_by_key(|one| (!is_even(one.largest), one.crossing)) else {
            continue;
        };
        let is_over = is_even(found.largest);
        if best
            .as_ref()
            .is_none_or(|best| found.largest < best.largest)
        {
            best = Some(found);
        }
        if is_over {
            break;
        }
    }
    best.map(|sharing| sharing.cut)
}

/// A cut with the weight of its largest region and the number of wires between regions.
struct Sharing {
    cut: Cut,
    largest: u64,
    crossing: usize,
}

/// The part to which each component belongs, as the number of the part's first component. Wires with a delay shorter than `shortest` connect the
/// components of a part.
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

/// The first component of a part (the root of its union-find tree). Shortens the path to it.
fn top(above: &mut [usize], mut one: usize) -> usize {
    while above[one] != one {
        above[one] = above[above[one]];
        one = above[one];
    }
    one
}

/// The first component of each part, in the order of their numbers: a network numbers its routers row by row.
fn numbered(parts: &[usize]) -> Vec<usize> {
    (0..parts.len()).filter(|one| parts[*one] == *one).collect()
}

/// The first component of each part, in the order of a depth-first walk along the wires. The walk visits parts with few neighbours first, so that the
/// parts at a switch or a controller follow it before the next switch or controller.
fn walked(parts: &[usize], wires: &[Wire]) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); parts.len()];
    for wire in wires {
        let ends = [wire.from, wire.to].map(|end| parts[end.0 as usize]);
        if ends[0] != ends[1] {
            neighbours[ends[0]].push(ends[1]);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    let few_first = |list: &Vec<usize>| {
        let mut sorted = list.clone();
        sorted.sort_by_key(|one| neighbours[*one].len());
        sorted
    };
    let mut order = Vec::new();
    let mut is_reached = vec![false; parts.len()];
    for first in numbered(parts) {
        let mut ahead = vec![first];
        while let Some(one) = ahead.pop() {
            if !mem::replace(&mut is_reached[one], true) {
                order.push(one);
                ahead.extend(few_first(&neighbours[one]).into_iter().rev());
            }
        }
    }
    order
}

/// Assigns parts to `count` regions in the `order` of their first components. `None` if a region would be empty or no wire is cut.
fn share(
    order: &[usize],
    parts: &[usize],
    wires: &[Wire],
    weights: &[u64],
    count: usize,
) -> Option<Sharing> {
    let mut of_part = vec![0_u64; parts.len()];
    for (part, weight) in parts.iter().zip(weights) {
        of_part[*part] += weight;
    }
    let total: u64 = weights.iter().sum();
    let mut sizes = vec![0_u64; count];
    let mut region_of_part = vec![0_u32; parts.len()];
    let mut before = 0;
    for part in order {
        // The region in which the middle of the part falls.
        let middle = before + of_part[*part] / 2;
        let region = (middle * count as u64 / total) as usize;
        region_of_part[*part] = region as u32;
        sizes[region] += of_part[*part];
        before += of_part[*part];
    }
    if sizes.contains(&0) {
        return None;
    }
    let regions: Vec<u32> = parts.iter().map(|part| region_of_part[*part]).collect();
    let crosses = |wire: &&Wire| regions[wire.from.0 as usize] != regions[wire.to.0 as usize];
    let crossing = wires.iter().filter(crosses);
    let lookahead = crossing.clone().map(|wire| wire.lookahead).min()?;
    Some(Sharing {
        crossing: crossing.count(),
        largest: sizes.into_iter().max()?,
        cut: Cut { regions, lookahead },
    })
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
    fn what_hangs_at_a_controller_is_in_its_region_whatever_the_numbers() {
        // Hosts 0 to 3 have the devices 4 to 7, and these have the controllers 8 to 11. Shorter cables join each pair of controllers.
        let mut all = Vec::new();
        for one in 0..4 {
            all.extend([(one, 4 + one, 50), (4 + one, 8 + one, 0)]);
            all.extend((0..one).map(|other| (8 + other, 8 + one, 15)));
        }
        let cut = cut(12, &wires(&all), 2).expect("wires with delays");
        assert_eq!(cut.regions, [0, 0, 1, 1].repeat(3));
        assert_eq!(cut.lookahead, Span::from_ns(15));
    }

    #[test]
    fn a_fabric_is_cut_into_as_many_regions_as_are_asked_for_if_it_has_them() {
        let chain = wires(&[(0, 1, 150), (1, 2, 300), (2, 3, 150)]);
        let four = cut(4, &chain, 4).expect("a chain with delays");
        assert_eq!(four.regions, [0, 1, 2, 3]);
        let chain = wires(&[(0, 1, 0), (1, 2, 300), (2, 3, 5)]);
        assert_eq!(cut(4, &chain, 4).map(|cut| cut.count()), Some(3));
        assert_eq!(cuts(4, &chain, 4).len(), 2);
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

//! Where memory and BARs lie: host memory from 0 to 3 GiB at most, 32-bit BARs from there to 4 GiB, 64-bit ones far beyond.
//!
//! What hangs below a bridge is one naturally aligned block, so that one window forwards it.

use kernel::Bytes;
use protocol::Bar;

use crate::scenario::{Node, NodeKind, Scenario, ScenarioError};

use super::tree::Tree;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub base: u64,
    /// How many bytes.
    pub size: u64,
}

impl Region {
    /// The first address that is beyond.
    pub fn end(self) -> u64 {
        self.base + self.size
    }

    /// Whether `address` lies inside.
    pub fn contains(self, address: u64) -> bool {
        address >= self.base && address - self.base < self.size
    }
}

/// A part of the address space that BARs of one width are placed in.
#[derive(Clone, Copy)]
pub(super) struct Zone {
    bits: u32,
    base: u64,
    end: u64,
}

const GIB: u64 = 1 << 30;

/// Bridges forward whole MiB (PCIe Base 7.5.1.3.8).
const WINDOW: u64 = 1 << 20;

/// The last 64 KiB are left for interrupts and firmware, as on real machines.
pub(super) const BELOW_4_GIB: Zone = Zone {
    bits: 32,
    base: 3 * GIB,
    end: 4 * GIB - (64 << 10),
};

/// Beyond all memory, within the 52 bits that processors have.
pub(super) const BEYOND: Zone = Zone {
    bits: 64,
    base: 1 << 40,
    end: 1 << 52,
};

/// Both zones of every tree.
pub(super) struct Spaces {
    pub(super) below_4_gib: Space,
    pub(super) beyond: Space,
}

impl Spaces {
    /// The BARs of `node`, by number.
    pub(super) fn bars(&self, node: usize) -> [Option<Region>; Bar::COUNT] {
        std::array::from_fn(|index| {
            self.below_4_gib.bars[node][index].or(self.beyond.bars[node][index])
        })
    }
}

/// One zone of every tree, laid out.
pub(super) struct Space {
    bars: Vec<[Option<Region>; Bar::COUNT]>,
    /// The window of the port above each node.
    pub(super) windows: Vec<Option<Region>>,
}

/// The room that a node and all below it need.
#[derive(Clone, Copy, Default)]
struct Extent {
    size: u64,
    align: u64,
}

impl Extent {
    /// The window that lets all of it through.
    fn window(self) -> Self {
        Self {
            size: self.size.next_multiple_of(WINDOW),
            align: self.align.max(WINDOW),
        }
    }
}

impl Space {
    pub(super) fn new(scenario: &Scenario, tree: &Tree, zone: Zone) -> Result<Self, ScenarioError> {
        let nodes = &scenario.nodes;
        let mut extents = Vec::with_capacity(nodes.len());
        for node in nodes {
            extents.push(extent(&bars(scenario, node, zone)?));
        }
        for (above, _, _) in tree.links.iter().rev() {
            extents[*above] = layout(tree, &extents, *above).1;
        }
        let mut space = Self {
            bars: vec![[None; Bar::COUNT]; nodes.len()],
            windows: vec![None; nodes.len()],
        };
        for (host, extent) in extents
            .iter()
            .enumerate()
            .filter(|(node, _)| tree.roots[*node] == *node)
        {
            let base = zone.base.next_multiple_of(extent.align.max(1));
            if base + extent.size > zone.end {
                return Err(too_much(scenario, tree, zone, host));
            }
            space.place(scenario, tree, &extents, zone, host, base)?;
        }
        Ok(space)
    }

    /// Places what hangs below `node`. The depth is bounded by the number of buses.
    fn place(
        &mut self,
        scenario: &Scenario,
        tree: &Tree,
        extents: &[Extent],
        zone: Zone,
        node: usize,
        base: u64,
    ) -> Result<(), ScenarioError> {
        for (child, offset) in layout(tree, extents, node).0 {
            let base = base + offset;
            let window = extents[child].window().size;
            self.windows[child] = Some(Region { base, size: window });
            if tree.children[child].is_empty() {
                let mut next = base;
                for bar in bars(scenario, &scenario.nodes[child], zone)? {
                    let size = bar.size;
                    self.bars[child][usize::from(bar.index)] = Some(Region { base: next, size });
                    next += size;
                }
            } else {
                self.place(scenario, tree, extents, zone, child, base)?;
            }
        }
        Ok(())
    }
}

/// The children of `node` that need room and how far from its base they lie, and its own extent.
///
/// The widest alignment goes first, so that little is lost between.
fn layout(tree: &Tree, extents: &[Extent], node: usize) -> (Vec<(usize, u64)>, Extent) {
    let children = tree.children[node].iter().map(|child| child.node);
    let mut wanting: Vec<usize> = children.filter(|child| extents[*child].size > 0).collect();
    wanting.sort_by_key(|child| std::cmp::Reverse(extents[*child].window().align));
    let mut whole = Extent::default();
    let mut placed = Vec::with_capacity(wanting.len());
    for child in wanting {
        let window = extents[child].window();
        let offset = whole.size.next_multiple_of(window.align);
        placed.push((child, offset));
        whole.size = offset + window.size;
        whole.align = whole.align.max(window.align);
    }
    (placed, whole)
}

/// The room of `bars`, one after the other: aligned because the largest comes first.
fn extent(bars: &[Bar]) -> Extent {
    Extent {
        size: bars.iter().map(|bar| bar.size).sum(),
        align: bars.first().map_or(0, |bar| bar.size),
    }
}

/// The BARs of `node` in `zone`, the largest first.
fn bars(scenario: &Scenario, node: &Node, zone: Zone) -> Result<Vec<Bar>, ScenarioError> {
    let NodeKind::Device(endpoint, device) = &node.kind else {
        return Ok(Vec::new());
    };
    if let Some(bar) = endpoint.bar() {
        check(scenario, node, bar)?;
    }
    let mut bars = device.bars(endpoint);
    bars.retain(|bar| bar.wide == (zone.bits == 64));
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.size));
    Ok(bars)
}

/// Whether BAR 0 can be as it is written.
fn check(scenario: &Scenario, node: &Node, bar: Bar) -> Result<(), ScenarioError> {
    let size = bar.size;
    let advice = if size < SMALLEST_BAR || !size.is_power_of_two() {
        let right = size.next_power_of_two().max(SMALLEST_BAR);
        format!("is not a size that a BAR can have; write {:?}", show(right))
    } else if !bar.wide && size > LARGEST_32_BIT_BAR {
        "is more than a 32-bit BAR can be; write bar_address_bits = 64".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("{}.bar: {} {advice}", node.name.value, show(size));
    Err(scenario.error(node.lines.of("bar"), message))
}

/// PCIe Base 7.5.1.2.1: a memory BAR asks for 128 bytes at least.
const SMALLEST_BAR: u64 = 128;

/// What is left below 4 GiB beside memory has no more room than this, naturally aligned.
const LARGEST_32_BIT_BAR: u64 = 512 << 20;

fn too_much(scenario: &Scenario, tree: &Tree, zone: Zone, host: usize) -> ScenarioError {
    let sized = |(index, node): (usize, &Node)| match &node.kind {
        NodeKind::Device(endpoint, _)
            if tree.roots[index] == host && endpoint.bar_address_bits == zone.bits =>
        {
            Some((endpoint.bar, node.lines.of("bar")))
        }
        _ => None,
    };
    let largest = scenario.nodes.iter().enumerate().filter_map(sized).max();
    let line = largest.map_or(1, |(_, line)| line);
    let advice = if zone.bits == 32 {
        "write bar_address_bits = 64 for the large ones"
    } else {
        "write smaller ones"
    };
    let message = format!(
        "the {}-bit BARs below {} have no room in {}; {advice}",
        zone.bits,
        scenario.nodes[host].name.value,
        show(zone.end - zone.base)
    );
    scenario.error(line, message)
}

fn show(bytes: u64) -> String {
    kernel::Quantity::show(&Bytes(bytes))
}

/// The memory of `node`: none but at a host.
pub(super) fn memory(node: &Node) -> Option<Region> {
    match &node.kind {
        NodeKind::Host(host, _) => Some(Region {
            base: host.memory_base(),
            size: host.memory.0,
        }),
        _ => None,
    }
}

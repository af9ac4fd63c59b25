//! Address ranges, and the limits of BAR sizes.

use kernel::Bytes;
use protocol::{Bar, Interval};

use crate::scenario::{Node, NodeKind, Scenario, ScenarioError};

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub base: u64,
    /// The length in bytes.
    pub size: u64,
}

impl Region {
    /// The region that covers an interval of addresses; none if the interval is empty.
    pub(crate) fn of((first, last): Interval<u64>) -> Option<Self> {
        (first <= last).then(|| Self {
            base: first,
            size: last - first + 1,
        })
    }

    /// The first address after the region.
    pub fn end(self) -> u64 {
        self.base + self.size
    }

    /// Whether `address` lies in the region.
    pub fn contains(self, address: u64) -> bool {
        address >= self.base && address - self.base < self.size
    }
}

/// Checks that BAR 0 of each function of `node` has a valid size and room for an MSI-X table.
pub(crate) fn check_bar(scenario: &Scenario, node: &Node) -> Result<(), ScenarioError> {
    let NodeKind::Device(endpoint, _) = &node.kind else {
        return Ok(());
    };
    let msix_fits = endpoint.msix().is_some() && endpoint.bar.0 <= MSIX_REACH;
    if endpoint.msix_vectors > 0 && !msix_fits {
        let message = format!(
            "{}.msix_vectors: the table takes the last 4 KiB of BAR 0, beside other things and within 4 GiB; write bar = \"8 KiB\" to \"4 GiB\"",
            node.name.value
        );
        return Err(scenario.error(node.lines.of("msix_vectors"), message));
    }
    if let Some(bar) = endpoint.bar() {
        check_size(scenario, node, "bar", bar, SMALLEST_BAR)?;
    }
    match endpoint.virtual_bar() {
        Some(bar) => check_size(scenario, node, "virtual_bar", bar, SMALLEST_VIRTUAL_BAR),
        None if node.lines.has("virtual_bar") => {
            let message = format!(
                "{}.virtual_bar: there are no virtual functions that have it; write virtual_functions = 1 to 7, or leave it out",
                node.name.value
            );
            Err(scenario.error(node.lines.of("virtual_bar"), message))
        }
        None => Ok(()),
    }
}

/// Checks the size of `bar`, which the scenario writes as `key`.
fn check_size(
    scenario: &Scenario,
    node: &Node,
    key: &str,
    bar: Bar,
    smallest: u64,
) -> Result<(), ScenarioError> {
    let size = bar.size;
    let advice = if size < smallest || !size.is_power_of_two() {
        let right = size.next_power_of_two().max(smallest);
        format!("is not a size that a BAR can have; write {:?}", show(right))
    } else if size > LARGEST_BAR {
        format!(
            "is more than a simulation can hold; write {:?} at most",
            show(LARGEST_BAR)
        )
    } else if !bar.wide && size > LARGEST_32_BIT_BAR {
        "is more than a 32-bit BAR can be; write bar_address_bits = 64".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("{}.{key}: {} {advice}", node.name.value, show(size));
    Err(scenario.error(node.lines.of(key), message))
}

/// PCIe Base 7.5.1.2.1: a memory BAR asks for 128 bytes at least.
const SMALLEST_BAR: u64 = 128;

/// PCIe Base 9.3.3.14: the smallest BAR of a virtual function is one system page.
const SMALLEST_VIRTUAL_BAR: u64 = 4096;

/// The offset of an MSI-X table has 32 bits (PCIe Base 7.7.2.3).
const MSIX_REACH: u64 = 4 << 30;

/// The largest BAR that a simulation can hold: its page table takes some MiB.
const LARGEST_BAR: u64 = 1 << 40;

/// The largest naturally aligned BAR that fits below 4 GiB beside memory.
const LARGEST_32_BIT_BAR: u64 = 512 << 20;

pub(crate) fn show(bytes: u64) -> String {
    kernel::Quantity::show(&Bytes(bytes))
}

/// The memory region of `node`; only hosts have one.
pub(crate) fn memory(node: &Node) -> Option<Region> {
    match &node.kind {
        NodeKind::Host(host, _) => Some(Region {
            base: host.memory_base(),
            size: host.memory.0,
        }),
        _ => None,
    }
}

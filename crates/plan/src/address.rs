//! Address ranges, and the limits of BAR sizes.

use device::EndpointParameters;
use kernel::Bytes;
use protocol::{Bar, Interval};

use crate::scenario::{DeviceParameters, Node, NodeKind, Wrong};

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
    pub fn of((first, last): Interval<u64>) -> Option<Self> {
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

/// Checks that `node` has no more virtual functions than its model allows, that BAR 0 of each function has a valid size, and that the MSI-X table of each function fits into its BAR.
pub(crate) fn check_bar(node: &Node) -> Result<(), Wrong> {
    let NodeKind::Device(endpoint, device) = &node.kind else {
        return Ok(());
    };
    let most = device.properties().most_virtual_functions;
    if endpoint.virtual_functions > most {
        let message = format!(
            "{} is too many for model {:?}, whose packets have space for the numbers of {most}; write {most} at most",
            endpoint.virtual_functions,
            device.name()
        );
        return Err(("virtual_functions", message));
    }
    let bars = device.parameters().bars(endpoint, None);
    let size = bars.iter().find(|bar| bar.index == 0).map(|bar| bar.size);
    if node.lines.has("bar") && size.unwrap_or(0) != endpoint.bar.0 {
        let own = size.map_or_else(
            || "has no BAR 0".to_owned(),
            |size| format!("has a BAR 0 of {}", show(size)),
        );
        let message = format!(
            "a device with model = {:?} {own}; leave it out",
            device.name()
        );
        return Err(("bar", message));
    }
    if let Some(bar) = endpoint.bar() {
        check_size("bar", bar, SMALLEST_BAR)?;
    }
    match endpoint.virtual_bar() {
        Some(bar) => check_size("virtual_bar", bar, SMALLEST_VIRTUAL_BAR),
        None if node.lines.has("virtual_bar") => {
            let message = "there are no virtual functions that have it; write virtual_functions = 1 to 255, or leave it out";
            Err(("virtual_bar", message.to_owned()))
        }
        None => Ok(()),
    }?;
    check_table(node, endpoint, device)
}

/// Checks that the MSI-X table of each function of `node` has entries for all interrupts, and fits into its BAR.
fn check_table(
    node: &Node,
    endpoint: &EndpointParameters,
    device: &DeviceParameters,
) -> Result<(), Wrong> {
    let sources = device.properties().interrupts;
    if node.lines.has("msi_vectors") && endpoint.msi_vectors < sources {
        let message = format!(
            "{} is too few for a device with {sources} interrupts; write {} at least, or leave it out",
            endpoint.msi_vectors,
            sources.next_power_of_two()
        );
        return Err(("msi_vectors", message));
    }
    if endpoint.msix_vectors == 0 {
        let keys = ["msix_bar", "msix_table", "msix_pending"];
        let Some(key) = keys.into_iter().find(|key| node.lines.has(key)) else {
            return Ok(());
        };
        let message = "there is no MSI-X table; write msix_vectors, or leave it out";
        return Err((key, message.to_owned()));
    }
    if endpoint.msix_vectors < sources {
        let message = format!(
            "{} is too few for a device with {sources} interrupts; write {sources} to 2048",
            endpoint.msix_vectors
        );
        return Err(("msix_vectors", message));
    }
    let mut bars = device.parameters().bars(endpoint, None);
    // A router or a network interface controller has its window at BAR 2. The size of the window is not known yet; any size is sufficient for this
    // check.
    if device.properties().joins_hosts {
        bars.push(Bar {
            index: 2,
            size: 1 << 20,
            wide: true,
        });
    }
    if let Some(own) = endpoint.msix_bar() {
        let registers = |bar: &Bar| bar.index..bar.index + bar.registers();
        let taken = bars.iter().any(|bar| {
            let (one, other) = (registers(bar), registers(&own));
            one.start < other.end && other.start < one.end
        });
        if taken {
            let message = format!(
                "the device has BAR {} already; write 4, or 0 for the end of BAR 0",
                own.index
            );
            return Err(("msix_bar", message));
        }
        bars.push(own);
    }
    let of_virtual = endpoint.virtual_bars();
    if let Some(wrong) = endpoint.msix_contradiction(&bars) {
        return Err(wrong);
    }
    match of_virtual.and_then(|bars| endpoint.msix_contradiction(&bars)) {
        Some((key, message)) => Err((key, format!("virtual functions: {message}"))),
        None => Ok(()),
    }
}

/// Checks the size of `bar`, which the scenario writes as `key`.
fn check_size(key: &'static str, bar: Bar, smallest: u64) -> Result<(), Wrong> {
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
    Err((key, format!("{} {advice}", show(size))))
}

/// PCIe Base 7.5.1.2.1: a memory BAR has 128 bytes at least.
const SMALLEST_BAR: u64 = 128;

/// PCIe Base 9.3.3.14: the smallest BAR of a virtual function is one system page.
const SMALLEST_VIRTUAL_BAR: u64 = 4096;

/// The largest BAR that a simulation can hold: its page table takes some MiB.
const LARGEST_BAR: u64 = 1 << 40;

/// The largest naturally aligned BAR that fits below 4 GiB beside memory.
const LARGEST_32_BIT_BAR: u64 = 512 << 20;

/// Returns `bytes` with a unit, in the notation of scenarios.
pub fn show(bytes: u64) -> String {
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

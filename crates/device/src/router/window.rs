//! The address space of a network: the addresses of every node's memory in the window of each router.

use kernel::Bytes;

/// The layout of network addresses. An address has a node, a port of the node, and an offset behind this port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    aperture: u64,
    nodes: u16,
}

/// The port that has the memory of the node's own user logic.
pub const USER: u8 = 0;

/// Number of ports of a node, a power of two: one for its user logic, the others for target addresses that it reaches by PCI Express.
pub const PORTS: u64 = 4;

impl Window {
    /// The address space of `nodes` nodes. `aperture` is the number of bytes behind each port, a power of two.
    pub fn new(aperture: Bytes, nodes: u16) -> Self {
        Window {
            aperture: aperture.0,
            nodes,
        }
    }

    /// Size of the address space as a BAR, a power of two.
    pub fn size(self) -> u64 {
        (u64::from(self.nodes) * PORTS).next_power_of_two() * self.aperture
    }

    /// Number of bytes behind a port.
    pub fn aperture(self) -> u64 {
        self.aperture
    }

    /// First address behind `port` of `node`.
    pub fn base(self, node: u16, port: u8) -> u64 {
        (u64::from(node) * PORTS + u64::from(port)) * self.aperture
    }

    /// The node and the port of an address; none if the node does not exist.
    pub fn locate(self, address: u64) -> Option<(u16, u8)> {
        let place = address / self.aperture;
        let node = place / PORTS;
        (node < u64::from(self.nodes)).then_some((node as u16, (place % PORTS) as u8))
    }

    /// Offset of an address behind its port.
    pub fn within(self, address: u64) -> u64 {
        address % self.aperture
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_node_a_port_and_a_place_behind_it() {
        let window = Window::new(Bytes::kib(64), 6);
        assert_eq!(window.size(), 32 * 64 * 1024);
        let address = window.base(5, 2) + 0x1234;
        assert_eq!(window.locate(address), Some((5, 2)));
        assert_eq!(window.within(address), 0x1234);
        assert_eq!(window.locate(window.base(6, 0)), None);
    }
}

//! The packet stores of a fabric, for probes that read components between events. The fabric may be divided into regions.

use packet::Packets;

/// The store of the packets of each component.
#[derive(Debug)]
pub struct Stores<'a> {
    /// The store of each region.
    all: Vec<&'a Packets>,
    /// The region of each component; empty if there is only one region.
    regions: &'a [u32],
}

impl<'a> Stores<'a> {
    /// The single store of an undivided fabric.
    pub fn one(packets: &'a Packets) -> Self {
        Stores {
            all: vec![packets],
            regions: &[],
        }
    }

    /// The stores of regions; `regions` has the region of each component.
    pub fn of_regions(all: Vec<&'a Packets>, regions: &'a [u32]) -> Self {
        Stores { all, regions }
    }

    pub fn of(&self, component: usize) -> &'a Packets {
        let region = self.regions.get(component).copied().unwrap_or(0);
        self.all[region as usize]
    }
}

//! Device features: the list of headers from the management engine to the last building block of an AFU, which software follows.

use super::AfuId;

/// The fields of a device feature header (DFH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FeatureHeader {
    pub(super) kind: FeatureKind,
    /// Number of the feature, within its kind.
    pub(super) id: u16,
    /// Distance to the next header in bytes; none at the last one.
    pub(super) next: Option<u32>,
}

/// The kind of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// An accelerator functional unit.
    Afu = 1,
    /// A basic building block of an AFU.
    BuildingBlock = 2,
    /// A private feature of the interface unit: of the management engine or a port.
    Private = 3,
    /// The interface unit itself.
    InterfaceUnit = 4,
}

impl FeatureHeader {
    /// The value of the register.
    pub(super) fn bits(self) -> u64 {
        let next = u64::from(self.next.unwrap_or(0) & 0xff_ffff);
        let is_last = u64::from(self.next.is_none());
        (self.kind as u64) << 60 | is_last << 40 | next << 16 | u64::from(self.id & 0xfff)
    }
}

/// The ID of the header at the end of the list, in a design with building blocks.
pub(super) const NULL_ID: AfuId = AfuId(0xda11_82b1_b344_4e23_90fe_6aab_12a0_132f);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_its_fields_where_software_looks() {
        let header = FeatureHeader {
            kind: FeatureKind::BuildingBlock,
            id: 0x765,
            next: Some(0x100),
        };
        assert_eq!(header.bits(), 0x2000_0000_0100_0765);
        let last = FeatureHeader {
            next: None,
            ..header
        };
        assert_eq!(last.bits(), 0x2000_0100_0000_0765);
    }
}

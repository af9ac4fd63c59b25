//! Device features. Their headers form a list, which software follows from the management engine to the last building block of an AFU.

use super::AfuId;
use super::words::half;

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

/// A device feature header (DFH): the kind and the number of the feature, and the distance to the next header in bytes. The last header has no
/// distance.
pub(super) fn header(kind: FeatureKind, number: u16, next: Option<u64>) -> u64 {
    let is_last = u64::from(next.is_none());
    let next = next.unwrap_or(0) & 0xff_ffff;
    (kind as u64) << 60 | is_last << 40 | next << 16 | u64::from(number & 0xfff)
}

/// The register at `offset` from the beginning of a feature: its header, a half of its ID, or 0 at other offsets.
pub(super) fn feature_register(offset: u64, header: u64, id: AfuId) -> u64 {
    match offset {
        0x00 => header,
        0x08 => id.low(),
        0x10 => id.high(),
        _ => 0,
    }
}

/// The dword at `offset` from the beginning of a feature; see [`feature_register`].
pub(super) fn feature_dword(offset: u64, header: u64, id: AfuId) -> u32 {
    half(feature_register(offset & !7, header, id), offset)
}

/// The ID of the header at the end of the list, in a design with building blocks.
pub(super) const NULL_ID: AfuId = AfuId(0xda11_82b1_b344_4e23_90fe_6aab_12a0_132f);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_its_fields_where_software_looks() {
        let header = |next| header(FeatureKind::BuildingBlock, 0x765, next);
        assert_eq!(header(Some(0x100)), 0x2000_0000_0100_0765);
        assert_eq!(header(None), 0x2000_0100_0000_0765);
    }
}

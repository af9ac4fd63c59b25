//! The header of a packet that carries coherence messages.

/// The header of a packet of coherence messages, which follow each other in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoherencePacket {
    /// Which header.
    pub format: PacketFormat,
    /// Dwords of messages.
    pub dwords: u16,
}

/// Which of the two headers a packet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketFormat {
    /// One dword: from one end of a link to the other.
    Optimized,
    /// That of a vendor-defined message, which switches understand: four dwords.
    Compatible,
}

impl CoherencePacket {
    /// Bytes of the header.
    #[inline]
    pub const fn header_len(self) -> usize {
        match self.format {
            PacketFormat::Optimized => 4,
            PacketFormat::Compatible => 16,
        }
    }

    /// Format and type in the first byte, and the dwords after the first.
    pub(crate) const fn words(self) -> (u8, [u32; 3]) {
        match self.format {
            PacketFormat::Optimized => (OPTIMIZED, [0; 3]),
            PacketFormat::Compatible => (COMPATIBLE, [VENDOR_DEFINED_TYPE_1, CCIX_VENDOR, 0]),
        }
    }

    /// The format that the first byte of a packet says, if it is one of these.
    pub(crate) const fn format_of(kind: u8) -> Option<PacketFormat> {
        match kind {
            OPTIMIZED => Some(PacketFormat::Optimized),
            COMPATIBLE => Some(PacketFormat::Compatible),
            _ => None,
        }
    }
}

/// A format and type that PCI Express has not given to anything: ours, as CCIX's is not public.
const OPTIMIZED: u8 = 0x7e;
/// A message with data that ends at the other end of the link (PCIe Base 2.2.8).
const COMPATIBLE: u8 = 0x74;
/// Its message code (PCIe Base 2.2.8.6).
const VENDOR_DEFINED_TYPE_1: u32 = 0x7f;
/// The vendor ID of the CCIX Consortium.
const CCIX_VENDOR: u32 = 0x1e2c;

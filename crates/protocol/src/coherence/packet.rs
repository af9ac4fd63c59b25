//! The header of a packet that carries coherence messages.

/// The header of a packet of coherence messages; its payload is a sequence of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoherencePacket {
    /// The type of the header.
    pub format: PacketFormat,
    /// Length of the messages together, in dwords.
    pub dwords: u16,
}

/// The two types of packet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketFormat {
    /// A header of one dword, for packets between the two ends of a link.
    Optimized,
    /// The header of a vendor-defined message, four dwords, which PCI Express switches can route.
    Compatible,
}

impl CoherencePacket {
    /// Bytes of the header.
    pub const fn header_len(self) -> usize {
        match self.format {
            PacketFormat::Optimized => 4,
            PacketFormat::Compatible => 16,
        }
    }

    /// The first byte of the header, with format and type, and the dwords of the header after the first dword.
    pub(crate) const fn words(self) -> (u8, [u32; 3]) {
        match self.format {
            PacketFormat::Optimized => (OPTIMIZED, [0; 3]),
            PacketFormat::Compatible => (COMPATIBLE, [VENDOR_DEFINED_TYPE_1, CCIX_VENDOR, 0]),
        }
    }

    /// The format of a packet whose first byte is `kind`; `None` if the packet is not a coherence packet.
    pub(crate) const fn format_of(kind: u8) -> Option<PacketFormat> {
        match kind {
            OPTIMIZED => Some(PacketFormat::Optimized),
            COMPATIBLE => Some(PacketFormat::Compatible),
            _ => None,
        }
    }
}

/// Format and type of the optimized header: a value that PCI Express does not assign. This value is chosen for this model, because the
/// value of CCIX is not public.
const OPTIMIZED: u8 = 0x7e;
/// Format and type of the compatible header: a local message with data, which terminates at the other end of the link (PCIe Base 2.2.8).
const COMPATIBLE: u8 = 0x74;
/// Message code of the header (PCIe Base 2.2.8.6).
const VENDOR_DEFINED_TYPE_1: u32 = 0x7f;
/// The vendor ID of the CCIX Consortium.
const CCIX_VENDOR: u32 = 0x1e2c;

//! A descriptor in the extended format of the modular scatter/gather DMA, with eight dwords.

/// A transfer with its control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Length in bytes.
    pub(crate) len: u32,
    pub(crate) sequence: u16,
    /// Longest bursts of reads and of writes, in lines.
    pub(crate) bursts: [u8; 2],
    pub(crate) control: Control,
    /// Strides of reads and of writes, in words.
    pub(crate) strides: [u16; 2],
}

/// The last dword of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Control(pub(crate) u32);

/// Number of dwords of a descriptor.
pub(crate) const DWORDS: usize = 8;

impl Descriptor {
    pub(crate) fn parse(dwords: &[u32; DWORDS]) -> Self {
        let [from, to, len, numbers, strides, from_high, to_high, control] = *dwords;
        let [low, high, read_burst, write_burst] = numbers.to_le_bytes();
        Descriptor {
            from: u64::from(from_high) << 32 | u64::from(from),
            to: u64::from(to_high) << 32 | u64::from(to),
            len,
            sequence: u16::from_le_bytes([low, high]),
            bursts: [read_burst, write_burst],
            control: Control(control),
            strides: [strides as u16, (strides >> 16) as u16],
        }
    }

    /// The name of a feature that the descriptor requests and no engine has.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        match self.strides {
            _ if self.control.parks() => Some("parked descriptors"),
            [0 | 1, 0 | 1] => None,
            _ => Some("descriptors with strides"),
        }
    }
}

impl Control {
    /// Generate SOP: the first bytes of the transfer start a packet of the stream.
    pub(crate) fn generates_start_of_packet(self) -> bool {
        self.has(8)
    }

    /// Generate EOP: the last bytes of the transfer end a packet of the stream.
    pub(crate) fn generates_end_of_packet(self) -> bool {
        self.has(9)
    }

    /// Park reads or writes: the descriptor is executed again if no other descriptor waits.
    fn parks(self) -> bool {
        self.has(10) || self.has(11)
    }

    /// End on EOP: the descriptor ends at the end of a packet, even before its length.
    pub(crate) fn ends_on_end_of_packet(self) -> bool {
        self.has(12)
    }

    /// Whether the end of a packet signals an interrupt.
    pub(crate) fn end_of_packet_interrupts(self) -> bool {
        self.has(13)
    }

    /// Whether the end of the descriptor signals an interrupt.
    pub(crate) fn interrupts(self) -> bool {
        self.has(14)
    }

    /// Early Done: the next descriptor may begin before all data of this one has arrived.
    pub(crate) fn is_done_early(self) -> bool {
        self.has(24)
    }

    /// Go: the dwords of the descriptor are complete.
    pub(crate) fn goes(self) -> bool {
        self.has(31)
    }

    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_has_its_fields_where_drivers_put_them() {
        let dwords = [
            0x1000,
            0x2000,
            512,
            0x0401_0007,
            0x1_0001,
            0x2_0000,
            0x3_0000,
            1 << 31 | 1 << 24 | 1 << 14,
        ];
        let descriptor = Descriptor::parse(&dwords);
        assert_eq!(descriptor.from, 0x2_0000_0000_1000);
        assert_eq!(descriptor.to, 0x3_0000_0000_2000);
        assert_eq!((descriptor.len, descriptor.sequence), (512, 7));
        assert_eq!(descriptor.bursts, [1, 4]);
        let control = descriptor.control;
        assert!(control.goes() && control.is_done_early() && control.interrupts());
        assert!(!control.ends_on_end_of_packet() && !control.generates_end_of_packet());
    }
}

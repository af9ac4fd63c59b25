//! A descriptor in the extended format of the modular scatter/gather DMA: eight dwords that say what to move.

/// What to move, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::fpga_card) struct Descriptor {
    pub(in crate::fpga_card) from: u64,
    pub(in crate::fpga_card) to: u64,
    /// Bytes.
    pub(in crate::fpga_card) len: u32,
    pub(in crate::fpga_card) sequence: u16,
    /// Lines of a read and of a write, at most.
    pub(in crate::fpga_card) bursts: [u8; 2],
    pub(in crate::fpga_card) control: Control,
}

/// The last dword of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::fpga_card) struct Control(pub(in crate::fpga_card) u32);

/// Dwords of a descriptor.
pub(in crate::fpga_card) const DWORDS: usize = 8;

impl Descriptor {
    /// The descriptor that these dwords are.
    pub(in crate::fpga_card) fn parse(dwords: &[u32; DWORDS]) -> Self {
        let [
            from,
            to,
            len,
            numbers,
            _strides,
            from_high,
            to_high,
            control,
        ] = *dwords;
        let [low, high, read_burst, write_burst] = numbers.to_le_bytes();
        Descriptor {
            from: u64::from(from_high) << 32 | u64::from(from),
            to: u64::from(to_high) << 32 | u64::from(to),
            len,
            sequence: u16::from_le_bytes([low, high]),
            bursts: [read_burst, write_burst],
            control: Control(control),
        }
    }
}

impl Control {
    /// The last bytes of the stream are the end of a packet.
    pub(in crate::fpga_card) fn generates_end_of_packet(self) -> bool {
        self.has(9)
    }

    /// It ends with the end of a packet, wherever that comes.
    pub(in crate::fpga_card) fn ends_on_end_of_packet(self) -> bool {
        self.has(12)
    }

    /// The end of a packet interrupts.
    pub(in crate::fpga_card) fn end_of_packet_interrupts(self) -> bool {
        self.has(13)
    }

    /// Its end interrupts.
    pub(in crate::fpga_card) fn interrupts(self) -> bool {
        self.has(14)
    }

    /// The next one may begin before all of its reads are answered.
    pub(in crate::fpga_card) fn is_done_early(self) -> bool {
        self.has(24)
    }

    /// The descriptor is complete.
    pub(in crate::fpga_card) fn goes(self) -> bool {
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

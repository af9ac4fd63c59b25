//! Blocks of a pcapng file: section header, interface descriptions and enhanced packets, in little-endian order.
//!
//! The numbers come from the Internet-Draft "PCAP Now Generic (pcapng) Capture File Format", sections 4.1 to 4.3. A packet is made directly in the
//! buffer that is written to the file, because each copy makes captures slower.

use kernel::Time;

/// A link type that is free for private use: `LINKTYPE_USER0`.
const LINK_TYPE: u16 = 147;

/// The unit of timestamps is the nanosecond: `if_tsresol` 9. Wireshark 4.0 reads timestamps with a finer unit wrongly.
const RESOLUTION: u8 = 9;

/// Bytes of an enhanced packet block before the data of its packet.
pub(super) const PACKET_HEADER: usize = 28;

/// A direction of a link, as an interface of the capture.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    /// The kind of link, its speed, its width and its ends.
    pub(super) description: String,
    /// Bits per second, without the bits of the line coding.
    pub(super) speed: u64,
}

/// Appends the section header: the format's version, and the program that wrote the file.
pub(super) fn section_header(out: &mut Vec<u8>) {
    let begin = begin(out, 0x0a0d_0d0a);
    out.extend(0x1a2b_3c4d_u32.to_le_bytes());
    out.extend([1, 0, 0, 0]);
    // This value says that the length of the section is not given, because it is not known at its beginning.
    out.extend(u64::MAX.to_le_bytes());
    let program = concat!("Peerlane ", env!("CARGO_PKG_VERSION"));
    option(out, 4, program.as_bytes());
    option(out, 0, &[]);
    end(out, begin);
}

/// Appends the description of `interface`. Packets refer to interfaces by their order in the file.
pub(super) fn interface_description(out: &mut Vec<u8>, interface: &Interface) {
    let begin = begin(out, 1);
    out.extend(LINK_TYPE.to_le_bytes());
    // Two reserved bytes, and no limit to the length of packets.
    out.extend([0; 6]);
    option(out, 2, interface.name.as_bytes());
    option(out, 3, interface.description.as_bytes());
    option(out, 8, &interface.speed.to_le_bytes());
    option(out, 9, &[RESOLUTION]);
    option(out, 0, &[]);
    end(out, begin);
}

/// Fills in `header`, the header of a packet of `interface` at `time`. Before the call, `header` consists of [`PACKET_HEADER`] zeros. The caller
/// appends the data of the packet after it.
pub(super) fn begin_packet(header: &mut [u8], interface: u32, time: Time) {
    let ns = time.as_fs() / 1_000_000;
    header[0] = 6;
    header[8..12].copy_from_slice(&interface.to_le_bytes());
    header[12..16].copy_from_slice(&((ns >> 32) as u32).to_le_bytes());
    header[16..20].copy_from_slice(&(ns as u32).to_le_bytes());
}

/// Ends the packet that begins at `begin`: fills in its lengths.
pub(super) fn end_packet(out: &mut Vec<u8>, begin: usize) {
    let data = (out.len() - begin - PACKET_HEADER) as u32;
    out[begin + 20..begin + 24].copy_from_slice(&data.to_le_bytes());
    out[begin + 24..begin + 28].copy_from_slice(&data.to_le_bytes());
    end(out, begin);
}

/// Begins a block of this type; returns its place.
fn begin(out: &mut Vec<u8>, block_type: u32) -> usize {
    let begin = out.len();
    out.extend(block_type.to_le_bytes());
    out.extend([0; 4]);
    begin
}

/// Ends the block that begins at `begin`: pads it, and writes its length before and after its content.
fn end(out: &mut Vec<u8>, begin: usize) {
    let padding = (out.len() - begin).next_multiple_of(4) - (out.len() - begin);
    out.extend_from_slice(&[0; 3][..padding]);
    let length = (out.len() - begin + 4) as u32;
    out[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
}

/// Appends an option, padded to four bytes.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len() + value.len().next_multiple_of(4) - value.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_its_lengths_and_its_time_in_place() {
        let mut out = vec![0; PACKET_HEADER];
        begin_packet(&mut out, 3, Time::from_fs(0x0100_0000_0299_9999));
        out.extend([1, 2, 3, 4, 5]);
        end_packet(&mut out, 0);
        let ns = 0x0100_0000_0299_9999_u64 / 1_000_000;
        let words: Vec<u32> = out
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let expected = [6, 40, 3, (ns >> 32) as u32, ns as u32, 5, 5];
        assert_eq!(words[..7], expected);
        assert_eq!(out[28..36], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(words[9..], [40]);
    }

    #[test]
    fn every_block_is_whole_dwords_and_has_its_length_at_both_ends() {
        let interface = Interface {
            name: "h0-a up".into(),
            description: "PCI Express".into(),
            speed: 1,
        };
        let mut out = Vec::new();
        section_header(&mut out);
        interface_description(&mut out, &interface);
        let mut rest = &out[..];
        while !rest.is_empty() {
            let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(rest[length - 4..length], rest[4..8]);
            rest = &rest[length..];
        }
    }
}

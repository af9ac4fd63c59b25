//! The bytes of a captured packet: a pseudo-header of this format, then the bytes on the wire. `docs/reference/capture.md` has the layout.

use kernel::{Span, Time};
use packet::{Block, Verdict};
use protocol::lcrc;

use super::pcapng::{PACKET_HEADER, begin_packet};
use crate::event::{Arrival, OrderedSets};

const VERSION: u8 = 1;

/// Bytes of the pseudo-header without the name of the flow.
pub(super) const FIXED: usize = 36;

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A TLP: sequence number, header, data, LCRC.
    Tlp = 1,
    /// A DLLP with its CRC.
    Dllp = 2,
    /// SKP ordered sets.
    OrderedSets = 3,
    /// A frame on a fibre.
    Fibre = 4,
    /// A control block on a fibre.
    Block = 5,
    /// A packet between network interface controllers, framed as a TLP.
    Network = 6,
}

/// Flags of a pseudo-header.
pub(super) mod flags {
    /// The packet is sent towards the root or, on fibres and cables, from the second end to the first.
    pub const UP: u16 = 1;
    /// The packet is a retransmission.
    pub const REPLAY: u16 = 1 << 1;
    /// The packet ends with EDB and an inverted LCRC.
    pub const NULLIFIED: u16 = 1 << 2;
    /// Some bits arrived wrong.
    pub const DAMAGED: u16 = 1 << 3;
    /// The receiver's decision is known.
    pub const ARRIVED: u16 = 1 << 4;
}

/// The part of a pseudo-header that is known when its packet departs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) kind: Kind,
    /// The number of the link, the same in both directions.
    pub(super) link: u16,
    pub(super) flags: u16,
    pub(super) time: Time,
    pub(super) length: Span,
    /// The flow, workload or collective of the packet; empty if it has none.
    pub(super) flow: &'a str,
}

impl Head<'_> {
    /// Appends the beginning of a packet of `interface`, with the pseudo-header.
    pub(super) fn emit(&self, interface: u32, out: &mut Vec<u8>) {
        let name = self.flow.as_bytes();
        let name = &name[..name.len().min(usize::from(u8::MAX))];
        let len = FIXED + name.len().next_multiple_of(4);
        let mut all = [0; PACKET_HEADER + FIXED];
        let (packet, bytes) = all.split_at_mut(PACKET_HEADER);
        begin_packet(packet, interface, self.time);
        bytes[0] = VERSION;
        bytes[1] = self.kind as u8;
        bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.time.as_fs().to_be_bytes());
        bytes[16..24].copy_from_slice(&self.length.as_fs().to_be_bytes());
        bytes[33] = name.len() as u8;
        bytes[34..36].copy_from_slice(&self.link.to_be_bytes());
        out.extend_from_slice(&all);
        if !name.is_empty() {
            out.extend_from_slice(name);
            out.extend_from_slice(&[0; 3][..len - FIXED - name.len()]);
        }
    }
}

/// Enters the arrival of a packet into the pseudo-header at the beginning of `bytes`. The last bit of the packet arrives at `end`.
pub(super) fn enter_arrival(arrival: &Arrival, end: Time, bytes: &mut [u8]) {
    bytes[5] |= flags::ARRIVED as u8;
    if arrival.wrong_bits > 0 {
        bytes[5] |= flags::DAMAGED as u8;
        bytes[6..8].copy_from_slice(&arrival.wrong_bits.to_be_bytes());
    }
    bytes[24..32].copy_from_slice(&end.as_fs().to_be_bytes());
    bytes[32] = match arrival.verdict {
        Verdict::Accepted => 1,
        Verdict::Duplicate => 2,
        Verdict::Nak => 3,
        Verdict::Nullified => 4,
        Verdict::Discarded => 5,
        Verdict::Unframed => 6,
        Verdict::LinkDown => 7,
    };
}

/// Appends a TLP with the fields that it has on the wire. `tlp` is its header and data.
pub(super) fn emit_tlp(out: &mut Vec<u8>, sequence: u16, nullified: bool, tlp: &[u8]) {
    let lcrc = lcrc(sequence, tlp);
    let lcrc = if nullified { !lcrc } else { lcrc };
    out.extend_from_slice(&sequence.to_be_bytes());
    out.extend_from_slice(tlp);
    out.extend_from_slice(&lcrc.to_le_bytes());
}

/// Appends a description of ordered sets, because their symbols are not modelled.
pub(super) fn emit_ordered_sets(out: &mut Vec<u8>, sets: &OrderedSets) {
    const SKP: u8 = 1;
    out.extend([SKP, sets.token_bytes]);
    out.extend(sets.bytes.to_be_bytes());
    out.extend(sets.count.to_be_bytes());
    out.extend(sets.interval.as_fs().to_be_bytes());
}

/// Appends the content of a control block: its kind, its channel, and the number of cycles or the frame number.
pub(super) fn emit_block(out: &mut Vec<u8>, block: Block) {
    let (kind, channel, number) = match block {
        Block::Freed { channel, cycles } => (1, channel, cycles),
        Block::Sent { channel, cycles } => (2, channel, cycles),
        Block::Acknowledge(next) => (3, 0, next),
        Block::Refuse(next) => (4, 0, next),
        Block::Pause => (5, 0, 0),
        Block::Resume => (6, 0, 0),
    };
    out.extend([kind, channel]);
    out.extend(number.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Mark;

    #[test]
    fn a_pseudo_header_has_its_fields_in_place() {
        let head = Head {
            kind: Kind::Dllp,
            link: 0x607,
            flags: flags::UP,
            time: Time::from_fs(0x0102_0304_0506_0708),
            length: Span::from_fs(9),
            flow: "abcde",
        };
        let mut out = Vec::new();
        head.emit(0, &mut out);
        out.drain(..PACKET_HEADER);
        let arrival = Arrival {
            mark: Mark::Dllp([0; 6]),
            verdict: Verdict::Discarded,
            wrong_bits: 0x102,
        };
        enter_arrival(&arrival, Time::from_fs(10), &mut out);
        assert_eq!(out[..8], [1, 2, 0, 44, 0, 0b1_1001, 1, 2]);
        assert_eq!(out[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(
            out[16..32],
            [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 10]
        );
        assert_eq!(&out[32..], b"\x05\x05\x06\x07abcde\0\0\0");
    }

    #[test]
    fn a_nullified_tlp_has_the_complement_of_its_lcrc() {
        let [mut good, mut null] = [Vec::new(), Vec::new()];
        emit_tlp(&mut good, 0x123, false, &[7; 12]);
        emit_tlp(&mut null, 0x123, true, &[7; 12]);
        assert_eq!(good[..14], null[..14]);
        let complement: Vec<u8> = null[14..].iter().map(|byte| !byte).collect();
        assert_eq!(good[14..], complement);
        assert_eq!(good[14..], lcrc(0x123, &[7; 12]).to_le_bytes());
    }
}

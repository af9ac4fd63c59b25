//! Faults of an endpoint's hardware: data that is damaged before it is sent, and registers that cannot be accessed.

use std::ops::Range;

use packet::{PacketId, Packets};
use protocol::{Header, Kind, MemoryRequest};
use transaction::FunctionPlace;

use super::Endpoint;

#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// The number of packets still to be poisoned: the next packets with data that the engine sends.
    bad_packets: u32,
    /// Ranges of offsets in BAR 0. A request for any of these bytes ends with Completer Abort.
    inaccessible: Vec<Range<u64>>,
}

impl Endpoint {
    /// Poisons the data of the next `count` memory writes and completions with data that the engine sends.
    pub fn poison_next(&mut self, count: u32) {
        self.faults.get_or_insert_default().bad_packets += count;
        self.changes_packets = true;
    }

    /// Answers every later request for a byte in this range of offsets in BAR 0 with Completer Abort.
    pub fn make_inaccessible(&mut self, bytes: Range<u64>) {
        self.faults.get_or_insert_default().inaccessible.push(bytes);
    }

    /// Whether a request for BAR 0 ends with Completer Abort.
    pub(crate) fn aborts(&self, request: &MemoryRequest) -> bool {
        let faults = self.faults.as_ref();
        faults.is_some_and(|faults| self.is_inaccessible(faults, request))
    }

    fn is_inaccessible(&self, faults: &Faults, request: &MemoryRequest) -> bool {
        let first = request.first_byte().wrapping_sub(self.bars[0]);
        let end = first.wrapping_add(u64::from(request.byte_len()));
        let mut bad = faults.inaccessible.iter();
        bad.any(|bad| first < bad.end && bad.start < end)
    }

    /// The packet with its marking, the effect of faults, and its ECRC, as it is sent.
    pub(super) fn as_sent(&mut self, mut packet: PacketId, packets: &mut Packets) -> PacketId {
        if !self.marking.is_plain() {
            packet = self.marking.mark(packet, packets);
        }
        let packet = self.with_faults(packet, packets);
        if self.generates_ecrc {
            packets[packet].add_digest();
        }
        packet
    }

    fn with_faults(&mut self, packet: PacketId, packets: &mut Packets) -> PacketId {
        let Some(faults) = &mut self.faults else {
            return packet;
        };
        let header = *packets[packet].header();
        let has_data = match &header.kind {
            Kind::MemoryWrite(request) => request.byte_len() > 0,
            Kind::Completion(completion) => completion.dwords > 0,
            _ => false,
        };
        if faults.bad_packets == 0 || !has_data {
            return packet;
        }
        faults.bad_packets -= 1;
        if matches!(header.kind, Kind::MemoryWrite(_)) {
            self.functions.record_data_parity_error(FunctionPlace::Own);
        }
        let header = Header {
            poisoned: true,
            ..header
        };
        packets.rewritten(packet, header)
    }
}

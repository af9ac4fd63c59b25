//! Observations of requesters and completers.

use packet::{Observation, Packet};
use protocol::{MemoryRequest, Status};

use crate::{Memory, Pattern, Taken};

/// The bytes of a write's payload that are enabled by the byte enables.
#[inline]
pub fn written<'p>(packet: &'p Packet, request: &MemoryRequest) -> &'p [u8] {
    let lead = (request.first_byte() - request.address()) as usize;
    &packet.payload()[lead..lead + request.byte_len() as usize]
}

/// Writes the data of `packet` to `memory`, which begins at address `base` and contains the range. Returns the same observation as
/// [`arrived`].
#[inline(always)]
pub fn deliver(
    packet: &Packet,
    request: &MemoryRequest,
    memory: &mut Memory,
    base: u64,
    patterns: &[Pattern],
) -> Option<Observation> {
    let bytes = written(packet, request);
    memory.write(request.first_byte() - base, bytes);
    arrived_bytes(packet, bytes, patterns)
}

/// Writes the data of a poisoned packet to `memory`, as [`deliver`] does, and poisons the bytes in memory. The observation reports that the
/// bytes of the flow have failed.
pub fn deliver_poisoned(
    packet: &Packet,
    request: &MemoryRequest,
    memory: &mut Memory,
    base: u64,
) -> Option<Observation> {
    let (offset, len) = (request.first_byte() - base, request.byte_len());
    memory.write(offset, written(packet, request));
    memory.poison(offset, len.into());
    Some(Observation::failed(
        packet.stamp.flow?,
        len,
        Some(packet.stamp.offset),
    ))
}

/// The observation of a write that has arrived, if the write belongs to a flow. Its data is checked against the flow's pattern. A flow
/// without a pattern is not checked.
#[inline(always)]
pub fn arrived(
    packet: &Packet,
    request: &MemoryRequest,
    patterns: &[Pattern],
) -> Option<Observation> {
    arrived_bytes(packet, written(packet, request), patterns)
}

/// The observation of the arrival of `bytes`, which `packet` has carried. It is the same as the observation of [`arrived`].
#[inline(always)]
fn arrived_bytes(packet: &Packet, bytes: &[u8], patterns: &[Pattern]) -> Option<Observation> {
    let stamp = packet.stamp;
    let flow = stamp.flow?;
    let intact = patterns
        .get(flow.0 as usize)
        .is_none_or(|pattern| pattern.matches(stamp.offset, bytes));
    Some(Observation::Delivered {
        flow,
        bytes: bytes.len() as u32,
        offset: stamp.offset,
        born: stamp.born,
        last: stamp.last,
        intact,
    })
}

impl Taken {
    /// The observation of a completion of a flow's read.
    pub fn observation(&self) -> Observation {
        let Taken {
            flow,
            bytes,
            offset,
            born,
            last,
            intact,
            status,
            collecting: _,
        } = *self;
        if status == Status::Successful {
            Observation::Delivered {
                flow,
                bytes,
                offset,
                born,
                last,
                intact,
            }
        } else {
            Observation::failed(flow, bytes, Some(offset))
        }
    }
}

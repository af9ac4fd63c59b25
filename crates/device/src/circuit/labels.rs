//! The flows to which a circuit's packets belong, and its outstanding reads.

use std::collections::{BTreeMap, VecDeque};

use kernel::Time;
use packet::{FlowId, Observation, Stamp};
use protocol::{Class, Completion, FunctionId, Header, Kind, Status};
use transaction::Pattern;

/// The flows to which the circuit's packets belong, by their labels: the number of the flow plus 1, and 0 for none.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Bytes of the requests of each label so far.
    pub(super) begun: BTreeMap<u32, u64>,
    /// The outstanding reads by tag.
    reads: BTreeMap<u16, Read>,
    /// Writes of peers that the circuit will send back, by their labels.
    pub(super) returning: BTreeMap<u32, VecDeque<Stamp>>,
}

/// An outstanding read.
#[derive(Clone, Copy, Debug)]
struct Read {
    flow: Option<FlowId>,
    /// Offset in the flow of the next byte, and the bytes still to come.
    offset: u64,
    left: u32,
    born: Time,
}

impl Labels {
    /// The stamp of a packet of the circuit with this label, which began to leave at `began`.
    pub(super) fn stamp(&mut self, header: &Header, label: u32, began: Time) -> Stamp {
        let (Kind::MemoryWrite(request) | Kind::MemoryRead(request)) = &header.kind else {
            return Stamp::default();
        };
        if header.class() == Class::Posted
            && let Some(stamps) = self.returning.get_mut(&label)
            && let Some(stamp) = stamps.pop_front()
        {
            return stamp;
        }
        let flow = flow_of(label);
        let len = request.byte_len();
        let requested = self.begun.entry(label).or_default();
        let offset = *requested;
        *requested += u64::from(len);
        if header.class() == Class::NonPosted {
            let read = Read {
                flow,
                offset,
                left: len,
                born: began,
            };
            self.reads.insert(request.tag.0, read);
        }
        Stamp {
            flow,
            offset,
            born: began,
            last: true,
        }
    }

    /// Whether a completion answers an outstanding read of the function `id`.
    pub(super) fn expects(&self, completion: &Completion, id: FunctionId) -> bool {
        completion.requester == id && self.reads.contains_key(&completion.tag.0)
    }

    /// The observation of a completion of a read.
    pub(super) fn answered(
        &mut self,
        completion: &Completion,
        payload: &[u8],
        patterns: &[Pattern],
    ) -> Option<Observation> {
        let read = self.reads.get_mut(&completion.tag.0)?;
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = payload.get(lead..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(read.left as usize)];
        let (offset, born, flow) = (read.offset, read.born, read.flow);
        let is_good = completion.status == Status::Successful;
        let len = if is_good {
            bytes.len() as u32
        } else {
            read.left
        };
        read.offset += u64::from(len);
        read.left -= len;
        let last = read.left == 0;
        if last {
            self.reads.remove(&completion.tag.0);
        }
        let flow = flow?;
        let pattern = patterns.get(flow.0 as usize);
        Some(if is_good {
            let intact = pattern.is_none_or(|pattern| pattern.matches(offset, bytes));
            Observation::Delivered {
                flow,
                bytes: len,
                offset,
                born,
                last,
                intact,
            }
        } else {
            Observation::Failed {
                flow,
                bytes: len,
                offset: Some(offset),
            }
        })
    }
}

/// The label of a flow's packets.
pub(super) fn label_of(flow: Option<FlowId>) -> u32 {
    flow.map_or(0, |flow| flow.0 + 1)
}

/// The flow of a label.
pub(super) fn flow_of(label: u32) -> Option<FlowId> {
    label.checked_sub(1).map(FlowId)
}

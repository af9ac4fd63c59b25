//! The flows to which a circuit's packets belong, and its outstanding reads.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Span, Time};
use packet::{FlowId, Observation, Stamp};
use protocol::{Class, Completion, FunctionId, Header, Kind, Status, Tag};
use transaction::{Pattern, Taken};

/// The flows to which the circuit's packets belong. The label of a packet is the number of its flow plus 1, or 0 if it belongs to no flow.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The number of bytes that the requests of each label have had so far.
    begun: BTreeMap<u32, u64>,
    /// The outstanding reads by tag.
    reads: BTreeMap<u16, Read>,
    /// The writes of peers that the circuit will send back, by their labels.
    pub(super) returning: BTreeMap<u32, VecDeque<Stamp>>,
    /// Whether the function is in reset. If so, new reads belong to no flow.
    is_disowned: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) flow: Option<FlowId>,
    /// Offset in the flow of the next byte of read data. `left` is the number of bytes that are outstanding.
    pub(super) offset: u64,
    pub(super) left: u32,
    born: Time,
}

impl Labels {
    /// Removes all requests, and returns the labels that they had.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(self).begun.into_keys()
    }

    /// Removes the flow of each outstanding read, and returns all labels. The reads stay outstanding. Packets that are still sent have their
    /// places in the flows as without the reset.
    pub(super) fn disown(&mut self) -> Vec<u32> {
        self.is_disowned = true;
        for read in self.reads.values_mut() {
            read.flow = None;
        }
        self.begun.keys().copied().collect()
    }

    /// Removes the outstanding read with this tag, which has timed out (PCIe Base 2.8).
    pub(super) fn give_up(&mut self, tag: Tag) -> Option<Read> {
        self.reads.remove(&tag.0)
    }

    /// Removes a write that the circuit has dropped from the writes that it will send back.
    pub(super) fn drop_returning(&mut self, dropped: Stamp) {
        if let Some(stamps) = self.returning.get_mut(&label_of(dropped.flow))
            && let Some(place) = stamps.iter().position(|one| one.offset == dropped.offset)
        {
            stamps.remove(place);
        }
    }

    /// The stamp of a packet that the circuit sends with this label; its first beat left the circuit at `began`.
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
                flow: flow.filter(|_| !self.is_disowned),
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

    /// Whether a completion belongs to an outstanding read of the function `id`.
    pub(super) fn expects(&self, completion: &Completion, id: FunctionId) -> bool {
        completion.requester == id && self.reads.contains_key(&completion.tag.0)
    }

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
        // If Byte Count differs from the number of outstanding bytes, a completion before this one was lost (PCIe Base 2.3.1.1).
        let is_next = u32::from(completion.byte_count) == read.left;
        let status = match completion.status {
            Status::Successful if !is_next => Status::CompleterAbort,
            status => status,
        };
        let is_good = status == Status::Successful;
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
        let taken = Taken {
            flow,
            bytes: len,
            offset,
            born,
            last,
            collecting: Span::ZERO,
            intact: pattern.is_none_or(|pattern| pattern.matches(offset, bytes)),
            status,
        };
        Some(taken.observation())
    }
}

/// The label of a flow's packets.
pub(super) fn label_of(flow: Option<FlowId>) -> u32 {
    flow.map_or(0, |flow| flow.0 + 1)
}

pub(super) fn flow_of(label: u32) -> Option<FlowId> {
    label.checked_sub(1).map(FlowId)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: FunctionId = FunctionId(0x100);
    const TAG: Tag = Tag(3);

    /// A circuit that has read 256 bytes of flow 0.
    fn reading() -> Labels {
        let mut labels = Labels::default();
        read(&mut labels);
        labels
    }

    fn read(labels: &mut Labels) {
        let header = Header::memory_read(ID, TAG, 0x1000, 256).expect("within a page");
        labels.stamp(&header, label_of(Some(FlowId(0))), Time::ZERO);
    }

    /// The observation of a completion with 128 bytes and the Byte Count `byte_count`.
    fn answer(labels: &mut Labels, byte_count: u16) -> Option<Observation> {
        let completion = Completion {
            completer: FunctionId(0),
            status: Status::Successful,
            byte_count,
            requester: ID,
            tag: TAG,
            lower_address: 0,
            dwords: 32,
        };
        assert!(labels.expects(&completion, ID));
        labels.answered(&completion, &[0; 128], &[])
    }

    #[test]
    fn a_read_that_times_out_lacks_the_bytes_that_have_not_come() {
        let mut labels = reading();
        assert!(matches!(
            answer(&mut labels, 256),
            Some(Observation::Delivered { bytes: 128, .. })
        ));
        let lost = labels.give_up(TAG).expect("it is outstanding");
        assert_eq!(
            (lost.flow, lost.offset, lost.left),
            (Some(FlowId(0)), 128, 128)
        );
        assert!(labels.give_up(TAG).is_none());
    }

    #[test]
    fn a_completion_behind_a_lost_one_ends_its_read() {
        let mut labels = reading();
        assert!(matches!(
            answer(&mut labels, 128),
            Some(Observation::Failed {
                bytes: 256,
                offset: Some(0),
                ..
            })
        ));
        assert!(labels.give_up(TAG).is_none());
    }

    #[test]
    fn a_completion_of_a_read_before_a_reset_is_expected_and_belongs_to_no_flow() {
        let mut labels = reading();
        assert_eq!(labels.disown(), [1]);
        assert!(answer(&mut labels, 256).is_none());
        read(&mut labels);
        assert!(answer(&mut labels, 256).is_none(), "it was sent in reset");
        let _ = labels.forget();
        read(&mut labels);
        assert!(answer(&mut labels, 256).is_some());
    }
}

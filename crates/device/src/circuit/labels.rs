//! The flows to which a circuit's packets belong, and its outstanding reads.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Span, Time};
use packet::{FlowId, Observation, Stamp};
use protocol::{Class, Completion, FunctionId, Header, Kind, Status};
use transaction::{Pattern, Taken};

/// The flows to which the circuit's packets belong, by their labels: the number of the flow plus 1, and 0 for none.
#[derive(Debug)]
pub(super) struct Labels {
    /// The completion timeout of the circuit, where it is known.
    completion_timeout: Option<Span>,
    /// Bytes of the requests of each label so far.
    begun: BTreeMap<u32, u64>,
    /// The outstanding reads by tag.
    reads: BTreeMap<u16, Read>,
    /// The deadline of each read with its tag, oldest first. Reads that have ended are still listed.
    deadlines: VecDeque<(Time, u16)>,
    /// Writes of peers that the circuit will send back, by their labels.
    pub(super) returning: BTreeMap<u32, VecDeque<Stamp>>,
}

/// An outstanding read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) flow: Option<FlowId>,
    /// Offset in the flow of the next byte, and the bytes still to come.
    pub(super) offset: u64,
    pub(super) left: u32,
    born: Time,
    deadline: Time,
}

impl Labels {
    /// No packet yet, of a circuit with this completion timeout; `None` where it is not known.
    pub(super) fn new(completion_timeout: Option<Span>) -> Self {
        Labels {
            completion_timeout,
            begun: BTreeMap::new(),
            reads: BTreeMap::new(),
            deadlines: VecDeque::new(),
            returning: BTreeMap::new(),
        }
    }

    /// Forgets all packets, and returns the labels that there were.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = u32> {
        let forgotten = std::mem::replace(self, Labels::new(self.completion_timeout));
        forgotten.begun.into_keys()
    }

    /// The time at which the oldest outstanding read times out.
    pub(super) fn oldest_deadline(&mut self) -> Time {
        while let Some((deadline, tag)) = self.deadlines.front() {
            // Another read may have the tag now.
            if matches!(self.reads.get(tag), Some(read) if read.deadline == *deadline) {
                return *deadline;
            }
            self.deadlines.pop_front();
        }
        Time::NEVER
    }

    /// Removes the oldest outstanding read if its deadline is not after `now` (PCIe Base 2.8).
    pub(super) fn give_up(&mut self, now: Time) -> Option<Read> {
        if self.oldest_deadline() > now {
            return None;
        }
        let (_, tag) = self.deadlines.pop_front()?;
        self.reads.remove(&tag)
    }

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
            let limit = self.completion_timeout;
            let deadline = limit.map_or(Time::NEVER, |limit| began + limit);
            let read = Read {
                flow,
                offset,
                left: len,
                born: began,
                deadline,
            };
            self.reads.insert(request.tag.0, read);
            if deadline < Time::NEVER {
                self.deadlines.push_back((deadline, request.tag.0));
            }
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
        // Where Byte Count does not say what is left, a completion before this one was lost (PCIe Base 2.3.1.1).
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

/// The flow of a label.
pub(super) fn flow_of(label: u32) -> Option<FlowId> {
    label.checked_sub(1).map(FlowId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Tag;

    const TIMEOUT: Span = Span::from_us(50);
    const ID: FunctionId = FunctionId(0x100);

    /// A circuit that has read 256 bytes of flow 0 at the time 0, with tag 3.
    fn reading(completion_timeout: Option<Span>) -> Labels {
        let mut labels = Labels::new(completion_timeout);
        read(&mut labels, Time::ZERO);
        labels
    }

    fn read(labels: &mut Labels, at: Time) {
        let header = Header::memory_read(ID, Tag(3), 0x1000, 256).expect("within a page");
        labels.stamp(&header, label_of(Some(FlowId(0))), at);
    }

    /// The observation of a completion with 128 bytes, of which and of what follows there are `byte_count`.
    fn answer(labels: &mut Labels, byte_count: u16) -> Option<Observation> {
        let completion = Completion {
            completer: FunctionId(0),
            status: Status::Successful,
            byte_count,
            requester: ID,
            tag: Tag(3),
            lower_address: 0,
            dwords: 32,
        };
        assert!(labels.expects(&completion, ID));
        labels.answered(&completion, &[0; 128], &[])
    }

    #[test]
    fn a_read_times_out_with_the_bytes_that_have_not_come() {
        let mut labels = reading(Some(TIMEOUT));
        let deadline = Time::ZERO + TIMEOUT;
        assert!(matches!(
            answer(&mut labels, 256),
            Some(Observation::Delivered { bytes: 128, .. })
        ));
        assert_eq!(labels.oldest_deadline(), deadline);
        let early = Time::from_fs(deadline.as_fs() - 1);
        assert!(labels.give_up(early).is_none());
        let lost = labels.give_up(deadline).expect("it is late");
        assert_eq!(
            (lost.flow, lost.offset, lost.left),
            (Some(FlowId(0)), 128, 128)
        );
        assert!(labels.give_up(Time::NEVER).is_none());
    }

    #[test]
    fn a_deadline_is_that_of_one_read_and_not_of_its_tag() {
        let mut labels = reading(Some(TIMEOUT));
        answer(&mut labels, 256);
        answer(&mut labels, 128);
        let later = Time::ZERO + Span::from_us(1);
        read(&mut labels, later);
        assert!(labels.give_up(Time::ZERO + TIMEOUT).is_none());
        assert_eq!(labels.oldest_deadline(), later + TIMEOUT);
    }

    #[test]
    fn a_completion_behind_a_lost_one_ends_its_read() {
        let mut labels = reading(Some(TIMEOUT));
        assert!(matches!(
            answer(&mut labels, 128),
            Some(Observation::Failed {
                bytes: 256,
                offset: Some(0),
                ..
            })
        ));
        assert_eq!(labels.oldest_deadline(), Time::NEVER);
    }

    #[test]
    fn a_circuit_whose_timeout_is_not_known_never_gives_up() {
        assert_eq!(reading(None).oldest_deadline(), Time::NEVER);
    }
}

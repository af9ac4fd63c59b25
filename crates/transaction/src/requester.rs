//! A requester: it turns flows into requests and matches completions to requests by their tags.

mod why;

use kernel::{Span, Time};
use packet::{FlowId, Observation, PacketId, Packets, Stamp};
use protocol::{Completion, CompletionTimeout, FunctionId, Header, Status};

use crate::flow::{Content, Direction, Flow, Running};
use crate::{AnsweredPart, Outstanding, RequestControl, RequesterLimits};

#[derive(Clone, Copy, Debug)]
struct Read {
    flow: usize,
    offset: u64,
    request: u64,
    born: Time,
}

/// The next action of a requester.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Sends this request.
    Packet(PacketId),
    /// Reports this observation to the probes.
    Report(Observation),
    /// Reports that a flow has sent its last request, after this number of bytes.
    Ended(FlowId, u64),
    /// Reports that a read has timed out: this number of bytes of the flow will not arrive at this offset in the flow's region.
    TimedOut(FlowId, u32, u64),
    /// Waits until this time.
    NotBefore(Time),
    /// Waits for a completion or a round trip, or has nothing left to do.
    Nothing,
}

/// The result of a completion.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The flow of the request.
    pub flow: FlowId,
    /// The number of bytes that have arrived or are lost.
    pub bytes: u32,
    /// The offset of the bytes in the flow's region.
    pub offset: u64,
    /// The time at which the request was created.
    pub born: Time,
    /// Whether the request is complete.
    pub last: bool,
    /// The time that the engine needs to collect the complete request.
    pub collecting: Span,
    /// Whether the completion has data, and the data is as expected.
    pub intact: bool,
    /// The status of the completion.
    pub status: Status,
}

/// The flows and tags of one function. The fields that every packet needs are adjacent: from the end of the limits to the first fields of
/// the outstanding reads.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Requester {
    limits: RequesterLimits,
    id: FunctionId,
    /// The Bus Master Enable bit: whether the function may send requests.
    is_bus_master: bool,
    /// The time until which no request may be sent.
    held_until: Time,
    flows: Vec<Running>,
    /// The indices of flows with requests left, and the index of the flow whose turn is next.
    live: Vec<usize>,
    turn: usize,
    reads: Outstanding<Read>,
}

impl Requester {
    /// Creates a requester without flows.
    pub fn new(id: FunctionId, limits: RequesterLimits) -> Self {
        Requester {
            limits,
            id,
            is_bus_master: true,
            held_until: Time::ZERO,
            flows: Vec::new(),
            live: Vec::new(),
            turn: 0,
            reads: Outstanding::new(limits.outstanding),
        }
    }

    /// The ID of the requester's function.
    pub fn id(&self) -> FunctionId {
        self.id
    }

    /// Sets the function ID, the limits of payload and read request in bytes, the limits of non-posted requests, and whether the function
    /// may send requests.
    pub fn configure(
        &mut self,
        id: FunctionId,
        (max_payload, max_read_request): (u32, u32),
        requests: RequestControl,
        may: bool,
    ) {
        self.id = id;
        self.limits.max_payload = max_payload;
        self.limits.max_read_request = max_read_request;
        self.reads.allow(requests);
        self.is_bus_master = may;
    }

    /// Holds all requests until `time`.
    pub fn hold_until(&mut self, time: Time) {
        self.held_until = time;
    }

    /// Selects the completion timeout of new requests.
    pub fn time_out_after(&mut self, timeout: CompletionTimeout) {
        self.reads.time_out_after(timeout);
    }

    /// Sets the largest payload of a packet in bytes.
    pub fn set_max_payload(&mut self, max_payload: u32) {
        self.limits.max_payload = max_payload;
    }

    /// The first address of `flow`.
    pub fn address_of(&self, flow: FlowId) -> Option<u64> {
        let mut flows = self.flows.iter().map(|running| &running.flow);
        flows
            .find(|known| known.id == flow)
            .map(|flow| flow.address)
    }

    /// Adds a flow.
    pub fn add(&mut self, flow: Flow) {
        self.live.push(self.flows.len());
        self.flows.push(Running::new(flow));
    }

    /// Removes and returns the bytes of a flow that has ended. For a read, these are the bytes that were read. Returns `None` if the flow
    /// does not store its bytes.
    pub fn take_bytes(&mut self, flow: FlowId) -> Option<Vec<u8>> {
        let running = self
            .flows
            .iter_mut()
            .rev()
            .find(|running| running.flow.id == flow)?;
        match &mut running.flow.content {
            Content::Pattern(_) | Content::Device => None,
            Content::Bytes(bytes) => Some(std::mem::take(bytes)),
        }
    }

    /// The status of the first completion that ended a read of `flow` without its data.
    pub fn failure(&self, flow: FlowId) -> Option<Status> {
        let mut flows = self.flows.iter().rev();
        flows.find(|running| running.flow.id == flow)?.failed
    }

    /// The next time at which an outstanding request times out, or a tag that a flow may need leaves its quarantine. [`Time::NEVER`] if
    /// nothing is outstanding.
    pub fn deadline(&mut self, now: Time) -> Time {
        if self.live.is_empty() {
            self.reads.oldest_deadline()
        } else {
            self.reads.next_change(now)
        }
    }

    /// Returns the next action. Flows take turns.
    pub fn next(&mut self, now: Time, packets: &mut Packets) -> Next {
        let mut earliest = self.reads.oldest_deadline();
        if earliest <= now
            && let Some(lost) = self.reads.give_up(now)
        {
            return self.report_lost(&lost);
        }
        let live = if self.is_bus_master {
            self.live.len()
        } else {
            0
        };
        let turn = self.turn.min(live);
        for step in turn..turn + live {
            let place = if step < live { step } else { step - live };
            let index = self.live[place];
            let running = &mut self.flows[index];
            if running.away {
                continue;
            }
            if running.is_through(now) {
                return self.retire(place);
            }
            if running.flow.follows.is_some() && !self.may_follow(index) {
                continue;
            }
            let running = &mut self.flows[index];
            let staging = running.staging(&self.limits);
            let next_at = running.next_at(staging);
            if next_at > now {
                earliest = earliest.min(next_at);
            } else if self.held_until > now {
                earliest = earliest.min(self.held_until);
            } else {
                let is_read = running.flow.direction == Direction::Read;
                if is_read && !self.reads.is_open(now) {
                    earliest = earliest.min(self.reads.next_release(now));
                    continue;
                }
                running.begin(now, staging, &self.limits);
                let (address, len) = running.next_range(&self.limits);
                if is_read && !self.reads.fits(address, len, now) {
                    earliest = earliest.min(self.reads.next_release(now));
                    continue;
                }
                self.turn = if place + 1 == live { 0 } else { place + 1 };
                return Next::Packet(self.issue(index, (address, len), now, packets));
            }
        }
        if earliest == Time::NEVER {
            Next::Nothing
        } else {
            Next::NotBefore(earliest)
        }
    }

    fn report_lost(&mut self, lost: &AnsweredPart<Read>) -> Next {
        let running = &mut self.flows[lost.what.flow];
        running.answered(lost.what.request, lost.len);
        let offset = lost.what.offset + u64::from(lost.offset);
        Next::TimedOut(running.flow.id, lost.len, offset)
    }

    /// Whether the flow at `index` may continue: its current request is not fully sent, or the flow that it follows has sent one more
    /// request.
    fn may_follow(&self, index: usize) -> bool {
        let running = &self.flows[index];
        let mut flows = self.flows.iter();
        let leader = flows.find(|leader| Some(leader.flow.id) == running.flow.follows);
        running.left > 0 || leader.is_none_or(|leader| leader.sent() > running.request)
    }

    /// Removes the flow at index `place` of the live flows, because it has sent its last request, and reports its end.
    fn retire(&mut self, place: usize) -> Next {
        let index = self.live.remove(place);
        if self.turn > place {
            self.turn -= 1;
        }
        if self.turn >= self.live.len() {
            self.turn = 0;
        }
        let running = &self.flows[index];
        Next::Ended(running.flow.id, running.issued)
    }

    /// Removes the flows that have begun by `now` and the outstanding requests, because the function was reset. Returns the flows that are
    /// not complete.
    pub fn reset(&mut self, now: Time) -> Vec<FlowId> {
        let reads = self.reads.forget(|_| true).into_iter();
        let mut forgotten: Vec<usize> = reads.map(|read| read.what.flow).collect();
        for index in std::mem::take(&mut self.live) {
            if self.flows[index].flow.start <= now {
                forgotten.push(index);
            } else {
                self.live.push(index);
            }
        }
        self.turn = 0;
        forgotten.sort_unstable();
        forgotten.dedup();
        for index in &forgotten {
            self.flows[*index].forget();
        }
        forgotten
            .into_iter()
            .map(|index| self.flows[index].flow.id)
            .collect()
    }

    /// Creates the next packet of the flow at `index`, for this range of addresses.
    fn issue(
        &mut self,
        index: usize,
        (address, len): (u64, u32),
        now: Time,
        packets: &mut Packets,
    ) -> PacketId {
        let running = &mut self.flows[index];
        let (offset, flow, born) = (running.within, &running.flow, running.born);
        let last = u64::from(len) == running.left;
        let stamp = Stamp {
            flow: Some(flow.id),
            offset,
            born,
            last,
        };
        let id = packets.claim();
        if flow.direction == Direction::Read {
            let read = Read {
                flow: index,
                offset,
                request: running.request,
                born,
            };
            let tag = self.reads.begin(read, (address, len), now);
            let header = Header::memory_read(self.id, tag, address, len).expect(LEGAL);
            packets[id].write(flow.disguised(header), stamp);
        } else {
            let header = Header::memory_write(self.id, address, len).expect(LEGAL);
            let lead = (address % 4) as usize;
            let packet = &mut packets[id];
            let payload = match &flow.disguise {
                None => packet.write_plain(header, stamp),
                Some(disguise) => packet.write(disguise.apply(header), stamp),
            };
            let payload = &mut payload[lead..lead + len as usize];
            match &flow.content {
                Content::Pattern(pattern) => pattern.fill(offset, payload),
                Content::Bytes(bytes) => {
                    payload.copy_from_slice(&bytes[offset as usize..][..len as usize]);
                }
                Content::Device => {}
            }
        }
        running.advance(len);
        running.away = running.flow.direction == Direction::RoundTrip;
        id
    }

    /// Handles a completion with its payload. Returns `None` if the completion is unexpected.
    pub fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken> {
        if completion.requester != self.id {
            return None;
        }
        let part = self.reads.take(completion)?;
        let Read {
            flow,
            offset,
            request,
            born,
        } = part.what;
        let (offset, bytes) = (offset + u64::from(part.offset), part.len);
        let good = completion.status == Status::Successful;
        let running = &mut self.flows[flow];
        if !good {
            running.failed.get_or_insert(completion.status);
        }
        let whole = running.answered(request, bytes);
        let data = part.data(completion, payload);
        let intact = data.is_ok_and(|data| running.take(offset, data));
        Some(Taken {
            flow: running.flow.id,
            bytes,
            offset,
            born,
            last: whole.is_some(),
            collecting: whole.map_or(Span::ZERO, |len| self.limits.staging.collecting(len)),
            intact,
            status: completion.status,
        })
    }

    /// Records that a round trip of `flow` has returned, so that the next one may start at `at`. Returns false if no round trip was
    /// outstanding.
    pub fn complete_round_trip(&mut self, flow: FlowId, at: Time) -> bool {
        let Some(index) = self
            .live
            .iter()
            .find(|index| self.flows[**index].flow.id == flow)
        else {
            return false;
        };
        let running = &mut self.flows[*index];
        if std::mem::replace(&mut running.away, false) {
            running.next_at = running.next_at.max(at);
            return true;
        }
        false
    }
}

const LEGAL: &str = "a request of a flow stays within its page and the largest request";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompletionBuffer, OutstandingLimits, Pattern, Staging};
    use protocol::{Kind, Tag};

    const LIMITS: RequesterLimits = RequesterLimits {
        max_payload: 128,
        max_read_request: 512,
        outstanding: OutstandingLimits {
            tags: 2,
            completion_timeout: Span::from_us(50),
            tag_quarantine: Span::from_us(20),
            completion_buffer: CompletionBuffer {
                bytes: None,
                headers: None,
            },
        },
        staging: Staging {
            latency: Span::ZERO,
            store_and_forward: None,
        },
    };

    fn flow(direction: Direction, address: u64, bytes: u64) -> Flow {
        let content = Content::Pattern(Pattern::new(1, 0));
        Flow::once(FlowId(0), direction, (address, bytes), Time::ZERO, content)
    }

    fn requester(flow: Flow) -> Requester {
        let mut requester = Requester::new(FunctionId(0x100), LIMITS);
        requester.add(flow);
        requester
    }

    fn drain(requester: &mut Requester, packets: &mut Packets) -> Vec<Header> {
        std::iter::from_fn(|| match requester.next(Time::ZERO, packets) {
            Next::Packet(packet) => Some(*packets[packet].header()),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn writes_are_cut_at_the_max_payload_and_the_page() {
        let mut packets = Packets::default();
        let headers = drain(
            &mut requester(flow(Direction::Write, 0xfc0, 256)),
            &mut packets,
        );
        let ranges: Vec<(u64, u32)> = headers
            .iter()
            .map(|header| match header.kind {
                Kind::MemoryWrite(write) => (write.first_byte(), write.byte_len()),
                _ => panic!("a write flow writes"),
            })
            .collect();
        assert_eq!(ranges, [(0xfc0, 64), (0x1000, 128), (0x1080, 64)]);
    }

    #[test]
    fn no_more_reads_wait_than_there_are_tags() {
        let mut packets = Packets::default();
        let mut requester = requester(flow(Direction::Read, 0, 4096));
        let asked = drain(&mut requester, &mut packets);
        assert_eq!(asked.len(), 2);
        let answer = Header::completion_with_data(&asked[0], FunctionId(0), 0, 512)
            .expect("the answer to a read");
        let Kind::Completion(completion) = answer.kind else {
            panic!("a completion was built")
        };
        let mut payload = [0; 512];
        Pattern::new(1, 0).fill(0, &mut payload);
        let taken = requester
            .take(&completion, &payload)
            .expect("the request waits");
        assert!(taken.last && taken.intact);
        assert_eq!(drain(&mut requester, &mut packets).len(), 1);
    }

    #[test]
    fn a_write_that_comes_back_uncalled_for_delays_nothing() {
        let mut packets = Packets::default();
        let mut requester = requester(flow(Direction::Write, 0, 256));
        assert!(!requester.complete_round_trip(FlowId(0), Time::from_fs(5)));
        assert_eq!(drain(&mut requester, &mut packets).len(), 2);
    }

    #[test]
    fn a_read_without_answer_is_given_up_and_its_tag_used_again_after_its_quarantine() {
        let mut packets = Packets::default();
        let mut requester = requester(flow(Direction::Read, 0, 4096));
        assert_eq!(drain(&mut requester, &mut packets).len(), 2);
        let before = Time::from_fs(49_999_999_999);
        assert!(
            matches!(requester.next(before, &mut packets), Next::NotBefore(at) if at == Time::ZERO + Span::from_us(50))
        );
        let late = Time::ZERO + Span::from_us(50);
        assert!(matches!(
            requester.next(late, &mut packets),
            Next::TimedOut(FlowId(0), 512, 0)
        ));
        assert!(matches!(
            requester.next(late, &mut packets),
            Next::TimedOut(FlowId(0), 512, 512)
        ));
        let end = late + Span::from_us(20);
        assert!(matches!(requester.next(late, &mut packets), Next::NotBefore(at) if at == end));
        assert!(matches!(requester.next(end, &mut packets), Next::Packet(_)));
    }

    #[test]
    fn nobody_is_woken_for_a_tag_that_no_flow_waits_for() {
        let mut packets = Packets::default();
        let mut requester = requester(flow(Direction::Read, 0, 1024));
        assert_eq!(drain(&mut requester, &mut packets).len(), 2);
        let late = Time::ZERO + Span::from_us(50);
        for _ in 0..2 {
            assert!(matches!(
                requester.next(late, &mut packets),
                Next::TimedOut(..)
            ));
        }
        assert!(matches!(requester.next(late, &mut packets), Next::Nothing));
    }

    #[test]
    fn a_function_that_is_no_bus_master_holds_its_requests() {
        let mut packets = Packets::default();
        let mut requester = requester(flow(Direction::Write, 0, 256));
        let requests = RequestControl {
            tags: 32,
            completion_timeout: CompletionTimeout::default(),
        };
        requester.configure(FunctionId(0x200), (256, 512), requests, false);
        assert!(drain(&mut requester, &mut packets).is_empty());
        requester.configure(FunctionId(0x200), (256, 512), requests, true);
        let headers = drain(&mut requester, &mut packets);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[0].requester(), FunctionId(0x200));
    }

    #[test]
    fn a_completion_that_nobody_waits_for_is_not_taken() {
        let mut requester = requester(flow(Direction::Read, 0, 4096));
        let read = Header::memory_read(FunctionId(0x100), Tag(1), 0, 4).expect("a legal read");
        let answer =
            Header::completion_with_data(&read, FunctionId(0), 0, 4).expect("the answer to a read");
        let Kind::Completion(completion) = answer.kind else {
            panic!("a completion was built")
        };
        assert!(requester.take(&completion, &[0; 4]).is_none());
    }
}

use super::*;
use crate::Dma;
use crate::endpoint::fixture::{endpoint, write};
use kernel::{ComponentId, Span, World};
use packet::{Pcie, Why};
use protocol::register::{BUS_MASTER, COMMAND, MEMORY_SPACE};
use protocol::{AtomicOperation, FunctionId, Header, Kind, Tag};
use transaction::CompletionBuffer;

const OWN: FunctionPlace = FunctionPlace::Own;
const SECOND: FunctionPlace = FunctionPlace::Virtual(1);
const TIMEOUT: Span = Span::from_us(50);

/// The requests of an endpoint whose physical function is a bus master.
struct Fixture {
    endpoint: Endpoint,
    requests: Requests<char, char>,
    world: World<Pcie>,
}

impl Fixture {
    fn new(tags: u16) -> Self {
        let mut endpoint = endpoint();
        write(&mut endpoint, 0, COMMAND, MEMORY_SPACE | BUS_MASTER);
        let limits = OutstandingLimits {
            tags,
            completion_timeout: TIMEOUT,
            tag_quarantine: TIMEOUT,
            completion_buffer: CompletionBuffer::default(),
        };
        Fixture {
            requests: Requests::new(limits, &endpoint),
            endpoint,
            world: World::default(),
        }
    }

    fn read(&mut self, place: FunctionPlace, name: char, range: (u64, u64)) {
        self.requests
            .begin(place, (name, Mark::default()), range, None);
    }

    fn write(&mut self, place: FunctionPlace, name: char, range: (u64, u64)) {
        let write = Posted::write(name, Mark::default(), range);
        self.requests.post(place, write);
    }

    /// Sends a packet. Returns its requester ID, whether it is a write, its address, and its tag.
    fn send(&mut self) -> Option<(FunctionId, bool, u64, Tag)> {
        let mut fx = self.world.effects::<Dma>(ComponentId(0));
        let before = fx.store().in_use();
        // The ID that the next packet will have.
        let packet = fx.store().claim();
        fx.store().release(packet);
        self.requests
            .send(&mut self.endpoint, &mut fx, |_, _, _, _| {});
        if fx.store().in_use() == before {
            return None;
        }
        match &fx.store()[packet].header().kind {
            Kind::MemoryWrite(one) => Some((one.requester, true, one.first_byte(), one.tag)),
            Kind::MemoryRead(one) => Some((one.requester, false, one.first_byte(), one.tag)),
            other => panic!("{other:?} is no memory request"),
        }
    }

    /// Sends all packets that may be sent now. Returns the address of each, and whether it is a write.
    fn sent(&mut self) -> Vec<(bool, u64)> {
        let all = std::iter::from_fn(|| self.send());
        all.map(|(_, is_write, address, _)| (is_write, address))
            .collect()
    }

    /// Handles a completion for this tag with `len` of the `left` bytes, or with an error status. Returns the request if it has ended.
    fn answer(&mut self, tag: Tag, status: Status, (len, left): (u16, u16)) -> Option<Ended<char>> {
        let completion = Completion {
            completer: FunctionId(0),
            status,
            byte_count: left,
            requester: self.endpoint.id(),
            tag,
            lower_address: 0,
            dwords: len / 4,
        };
        let mut fx = self.world.effects::<Dma>(ComponentId(0));
        let packet = fx.store().claim();
        let read = Header::memory_write(FunctionId(0), 0, 512).expect("a legal write");
        fx.store()[packet].write(read, packet::Stamp::default());
        let endpoint = &mut self.endpoint;
        self.requests
            .take(packet, &completion, endpoint, &mut fx, |_, _, _, _| {})
    }
}

#[test]
fn reads_take_turns_with_writes_and_overtake_no_earlier_one() {
    let mut fixture = Fixture::new(32);
    fixture.read(OWN, 'a', (0x1000, 1024));
    fixture.write(OWN, 'b', (0x2000, 256));
    fixture.read(OWN, 'c', (0x3000, 4));
    let reads = [(false, 0x1000), (false, 0x1200), (false, 0x3000)];
    let writes = [(true, 0x2000), (true, 0x2080)];
    assert_eq!(
        fixture.sent(),
        [writes[0], reads[0], writes[1], reads[1], reads[2]]
    );
    fixture.write(OWN, 'd', (0x4000, 256));
    fixture.read(OWN, 'e', (0x5000, 4));
    let behind = [(true, 0x4000), (true, 0x4080), (false, 0x5000)];
    assert_eq!(fixture.sent(), behind);
}

#[test]
fn functions_do_not_wait_for_each_other() {
    let mut fixture = Fixture::new(32);
    fixture.write(SECOND, 'a', (0x1000, 4));
    fixture.read(SECOND, 'b', (0x2000, 4));
    fixture.read(OWN, 'c', (0x3000, 4));
    assert_eq!(fixture.sent(), [(false, 0x3000)]);
    write(&mut fixture.endpoint, 2, COMMAND, BUS_MASTER);
    assert_eq!(fixture.sent(), [(true, 0x1000), (false, 0x2000)]);
}

#[test]
fn a_request_that_has_failed_ends_with_its_last_packet_and_asks_for_no_more() {
    let mut fixture = Fixture::new(2);
    fixture.read(OWN, 'a', (0x1000, 2048));
    let [first, second] = [(); 2].map(|()| fixture.send().expect("there is a tag").3);
    assert_eq!(fixture.requests.engine(Time::ZERO), Why::Tags);
    let answered = fixture.answer(first, Status::CompleterAbort, (0, 512));
    assert!(answered.is_none());
    assert!(fixture.send().is_none());
    let answered = fixture.answer(second, Status::Successful, (512, 512));
    let ended = answered.expect("nothing is outstanding");
    assert_eq!((ended.what, ended.failed), ('a', Some(Failure::Aborted)));
    assert_eq!(
        (fixture.requests.waiting(), fixture.requests.bytes()),
        (0, 0)
    );
}

#[test]
fn an_atomic_operation_that_software_has_not_enabled_is_not_sent() {
    let mut fixture = Fixture::new(2);
    let atomic = (AtomicOperation::FetchAdd, vec![1; 4]);
    let what = ('a', Mark::default());
    fixture.requests.begin(OWN, what, (0x1000, 4), Some(atomic));
    let mut fx = fixture.world.effects::<Dma>(ComponentId(0));
    let endpoint = &mut fixture.endpoint;
    let sent = fixture.requests.send(endpoint, &mut fx, |_, _, _, _| {});
    assert!(matches!(
        sent,
        Sent::Ended(Ended {
            what: 'a',
            failed: Some(Failure::NotEnabled)
        })
    ));
}

#[test]
fn what_is_forgotten_is_not_answered_and_its_tag_rests() {
    let mut fixture = Fixture::new(1);
    fixture.read(OWN, 'a', (0x1000, 4));
    let tag = fixture.send().expect("there is a tag").3;
    fixture.requests.forget(|place| place == OWN);
    assert!(fixture.answer(tag, Status::Successful, (4, 4)).is_none());
    assert_eq!(fixture.requests.waiting(), 0);
    fixture.read(OWN, 'b', (0x1000, 4));
    assert!(fixture.send().is_none());
    let rested = Time::ZERO + TIMEOUT + TIMEOUT;
    assert_eq!(fixture.requests.deadline(Time::ZERO), rested);
    fixture.world.pass_to(rested);
    assert!(fixture.send().is_some());
}

#[test]
fn a_request_that_times_out_fails() {
    let mut fixture = Fixture::new(2);
    fixture.read(OWN, 'a', (0x1000, 4));
    assert!(fixture.send().is_some());
    fixture.world.pass_to(Time::ZERO + TIMEOUT);
    let mut fx = fixture.world.effects::<Dma>(ComponentId(0));
    let given_up = fixture
        .requests
        .give_up(|_| None, &mut fixture.endpoint, &mut fx);
    let ended = given_up.expect("it has one packet");
    assert_eq!((ended.what, ended.failed), ('a', Some(Failure::TimedOut)));
}

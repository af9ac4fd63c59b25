//! Tests of two optical ends on a fibre that loses frames and control blocks: credit, order and observations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kernel::{Bytes, Span, Stream, Time};
use link::optical::{
    Incoming, OpticalConfig, OpticalEnd, OpticalEvent, OpticalParameters, Outgoing,
};
use link::{BitErrors, LinkContext, LinkTimer};
use packet::Block;
use packet::{Carried, Frame, Observation, PacketId, Packets, Route, Stamp};
use proptest::prelude::*;
use protocol::{Envelope, FunctionId, Header, aurora};

use crate::cases::cases;

#[derive(Debug)]
enum What {
    Arrives(Frame),
    Expires(LinkTimer),
    /// A packet leaves the buffer: its channel and cycles.
    Leaves(u8, u32),
}

type Event = (Time, usize, usize);

/// Two optical ends and the fibre between them.
struct Glass {
    ends: Vec<OpticalEnd>,
    packets: Packets,
    queue: BinaryHeap<Reverse<Event>>,
    happenings: Vec<Option<What>>,
    now: Time,
    flight: Span,
    /// The number of frames and control blocks that are lost, of 1000.
    loses: u64,
    random: Stream,
    /// Frames sent: side, frame, time of arrival.
    sent: Vec<(usize, Frame, Time)>,
    /// The numbers of the packets received at each side, in order.
    given: [Vec<u64>; 2],
    /// The number of cycles in each buffer, by side and channel.
    held: [Vec<u32>; 2],
    /// The time for which packets stay in the buffer.
    stay: Span,
    dark: [usize; 2],
}

struct Side<'a> {
    side: usize,
    glass: &'a mut Glass,
}

impl Glass {
    fn put(&mut self, side: usize, after: Span, what: What) {
        self.happenings.push(Some(what));
        let number = self.happenings.len() - 1;
        self.queue.push(Reverse((self.now + after, number, side)));
    }
}

impl LinkContext for Side<'_> {
    fn now(&self) -> Time {
        self.glass.now
    }
    fn packets(&mut self) -> &mut Packets {
        &mut self.glass.packets
    }
    fn send(&mut self, frame: Frame, after: Span) {
        let arrival = self.glass.now + after + self.glass.flight;
        self.glass.sent.push((self.side, frame, arrival));
        if self.glass.random.below(1000) < self.glass.loses {
            if let Frame::Fibre(frame) = frame {
                self.glass.packets.release(frame.packet);
            }
            return;
        }
        let after = after + self.glass.flight;
        self.glass.put(1 - self.side, after, What::Arrives(frame));
    }
    fn send_in_background(&mut self, frame: Frame, after: Span) {
        self.send(frame, after);
    }
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span) {
        self.wake(timer, after);
    }
    fn wake(&mut self, timer: LinkTimer, after: Span) {
        self.glass.put(self.side, after, What::Expires(timer));
    }
    fn watched(&self) -> bool {
        false
    }
    fn observe(&mut self, _: Observation) {}
    fn port(&self) -> u16 {
        0
    }
}

const CHANNELS: u32 = 2;

fn parameters() -> OpticalParameters {
    OpticalParameters {
        packet_size: Bytes(256),
        channel_buffer: Some(Bytes(640)),
        retransmission_buffer: Some(Bytes::kib(2)),
        virtual_channels: CHANNELS,
        ..OpticalParameters::default()
    }
}

impl Glass {
    fn new(parameters: &OpticalParameters, pipeline: Span, loses: u64, seed: u64) -> Self {
        let flight = Span::from_ns(300);
        let end = |name: &str| {
            OpticalEnd::new(OpticalConfig {
                parameters: parameters.clone(),
                flight,
                near_pipeline: pipeline,
                far_pipeline: pipeline,
                phase: Span::from_ns(1234),
                // At this rate no bit error ever occurs. The test itself loses frames.
                errors: Some(BitErrors::new(1e-18, Stream::named(seed, name))),
            })
        };
        let mut glass = Glass {
            ends: vec![end("one"), end("other")],
            packets: Packets::default(),
            queue: BinaryHeap::new(),
            happenings: Vec::new(),
            now: Time::ZERO,
            flight,
            loses,
            random: Stream::named(seed, "losses"),
            sent: Vec::new(),
            given: [Vec::new(), Vec::new()],
            held: [vec![0; CHANNELS as usize], vec![0; CHANNELS as usize]],
            stay: Span::ZERO,
            dark: [0, 0],
        };
        for side in 0..2 {
            glass.with(side, |end, cx| end.start(cx));
        }
        glass
    }

    fn with<T>(&mut self, side: usize, act: impl FnOnce(&mut OpticalEnd, &mut Side<'_>) -> T) -> T {
        let mut end = self.ends[side].clone();
        let done = act(&mut end, &mut Side { side, glass: self });
        self.ends[side] = end;
        done
    }

    fn packet(&mut self, number: u64, len: u32) -> PacketId {
        let header = Header::memory_write(FunctionId(0), 0, len).expect("a legal write");
        let packet = self.packets.claim();
        let stamp = Stamp {
            offset: number,
            ..Stamp::default()
        };
        self.packets[packet].write(header, stamp).fill(7);
        self.packets[packet].send_off(Route {
            carried: Carried::Message,
            ..Route::default()
        });
        packet
    }

    /// Sends a packet if the far buffer has space. Returns whether it was sent.
    fn send(&mut self, side: usize, number: u64, channel: u8, len: u32) -> bool {
        let cycles = aurora::cycles(len + Envelope::BYTES, parameters().optical_lanes);
        let end = &self.ends[side];
        if end.is_dark() || end.free_at() > self.now || !end.may_send(channel, cycles) {
            return false;
        }
        let packet = self.packet(number, len);
        let outgoing = Outgoing {
            packet,
            channel,
            damaged: false,
            complete: self.now,
        };
        self.with(side, |end, cx| end.send(outgoing, cx));
        true
    }

    /// Processes the next event, if it is due by `limit`.
    fn step(&mut self, limit: Time) -> bool {
        let Some(Reverse((time, number, side))) = self.queue.peek().copied() else {
            return false;
        };
        if time > limit {
            return false;
        }
        self.queue.pop();
        self.now = time;
        let event = match self.happenings[number].take().expect("once") {
            What::Arrives(frame) => self.with(side, |end, cx| end.receive(frame, cx)),
            What::Expires(timer) => self.with(side, |end, cx| end.expire(timer, cx)),
            What::Leaves(channel, cycles) => {
                self.held[side][usize::from(channel)] -= cycles;
                self.with(side, |end, cx| end.release(channel, cycles, Span::ZERO, cx));
                OpticalEvent::Nothing
            }
        };
        match event {
            OpticalEvent::Packet(incoming) => self.keep(side, incoming),
            OpticalEvent::Dark(packets) => {
                self.dark[side] += packets.len();
                for packet in packets {
                    self.packets.release(packet);
                }
            }
            OpticalEvent::Ready | OpticalEvent::Nothing => {}
        }
        true
    }

    fn keep(&mut self, side: usize, incoming: Incoming) {
        self.given[side].push(self.packets[incoming.packet].stamp.offset);
        self.packets.release(incoming.packet);
        self.held[side][usize::from(incoming.channel)] += incoming.cycles;
        let room = parameters().cycles_of(parameters().channel_buffer());
        let held = self.held[side][usize::from(incoming.channel)];
        assert!(held <= room, "{held} cycles are in a buffer of {room}");
        self.put(
            side,
            self.stay,
            What::Leaves(incoming.channel, incoming.cycles),
        );
    }

    /// Sends `count` packets of `len` bytes in each direction as fast as possible, and waits until all events are processed.
    fn exchange(&mut self, count: u64, len: u32) {
        let mut sent = [0; 2];
        let limit = Time::ZERO + Span::from_us(20_000);
        while self.now < limit {
            for (side, sent) in sent.iter_mut().enumerate() {
                let channel = (*sent % u64::from(CHANNELS)) as u8;
                if *sent < count && self.send(side, *sent, channel, len) {
                    *sent += 1;
                }
            }
            // The sender also tries to send between events.
            let next = self.now + Span::from_ns(7);
            while self.step(next) {}
            self.now = next.max(self.now);
            let came = self.given[0].len() as u64 + self.given[1].len() as u64;
            if self.loses == 0 && came == 2 * count {
                break;
            }
            if sent == [count, count] && self.now > Time::ZERO + Span::from_us(4000) {
                break;
            }
        }
        assert_eq!(sent, [count, count], "all could be sent");
        let rest = self.now + Span::from_us(10_000);
        self.loses = 0;
        while self.step(rest) {}
    }

    fn assert_credit_is_back(&self) {
        for end in &self.ends {
            for channel in 0..CHANNELS as u8 {
                let (free, all) = end.spare(channel);
                assert_eq!(free, all, "channel {channel}");
            }
        }
    }
}

#[test]
fn a_count_of_sent_cycles_is_heard_behind_the_frames_that_it_counts() {
    for credit_cycles in [0, 1] {
        let parameters = OpticalParameters {
            credit_cycles,
            ..parameters()
        };
        let mut glass = Glass::new(&parameters, Span::from_ns(400), 0, 1);
        // The counts are sent again after ten microseconds.
        let soon = Time::ZERO + Span::from_ns(9_999);
        while glass.step(soon) {}
        glass.now = soon;
        assert!(glass.send(0, 0, 0, 8));
        while glass.step(Time::ZERO + Span::from_us(12)) {}
        let of = |frame: fn(&Frame) -> bool| {
            let found = glass
                .sent
                .iter()
                .find(|(side, what, _)| *side == 0 && frame(what));
            found.expect("it was sent").2
        };
        let frame = of(|frame| matches!(frame, Frame::Fibre(_)));
        let count = of(
            |frame| matches!(frame, Frame::Block(Block::Sent { channel: 0, cycles }) if *cycles > 0),
        );
        assert!(count >= frame, "{count:?} {frame:?}");
    }
}

#[test]
fn numbers_are_told_ever_more_seldom_while_nothing_changes() {
    let mut glass = Glass::new(&parameters(), Span::ZERO, 0, 1);
    while glass.step(Time::ZERO + Span::from_us(10_000)) {}
    // The counts are sent after ten microseconds, and the interval doubles each time. Each round has two counts for each channel of each
    // side.
    let told = glass.sent.len() as u32 / (2 * 2 * CHANNELS);
    assert!((8..20).contains(&told), "{told}");
    // Soon after a frame is sent, the counts are sent again.
    assert!(glass.send(0, 0, 0, 8));
    let before = glass.sent.len();
    while glass.step(glass.now + Span::from_us(11)) {
        if glass.now > Time::ZERO + Span::from_us(10_100) {
            break;
        }
    }
    let counts = &glass.sent[before..];
    let is_count = |frame: &Frame| matches!(frame, Frame::Block(Block::Sent { .. }));
    assert!(
        counts
            .iter()
            .any(|(side, frame, _)| *side == 0 && is_count(frame))
    );
}

#[test]
fn a_reliable_end_gives_up_when_it_hears_nothing_at_all() {
    let parameters = OpticalParameters {
        reliable: true,
        ..parameters()
    };
    let mut glass = Glass::new(&parameters, Span::ZERO, 1000, 1);
    for number in 0..3 {
        while !glass.send(0, number, 0, 64) {
            glass.now = glass.ends[0].free_at();
        }
    }
    while glass.step(Time::ZERO + Span::from_us(1000)) {}
    assert!(glass.ends[0].is_dark() && !glass.ends[1].is_dark());
    assert_eq!(glass.dark, [3, 0]);
    assert_eq!(glass.packets.in_use(), 0);
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn no_buffer_is_overrun_and_no_credit_leaks_whatever_is_lost(
        seed in any::<u64>(),
        loses in prop::sample::select(vec![0_u64, 1, 30, 200]),
        len in 1_u32..=256,
        pipeline in prop::sample::select(vec![0_u64, 52, 400]),
        stay in prop::sample::select(vec![0_u64, 20, 3000]),
        credit_cycles in 0_u32..=1,
    ) {
        let parameters = OpticalParameters { credit_cycles, ..parameters() };
        let mut glass = Glass::new(&parameters, Span::from_ns(pipeline), loses, seed);
        glass.stay = Span::from_ns(stay);
        glass.exchange(100, len);
        glass.assert_credit_is_back();
        prop_assert_eq!(glass.packets.in_use(), 0);
        for given in &glass.given {
            prop_assert!(given.is_sorted_by(|a, b| a < b));
            prop_assert!(loses > 0 || given.len() == 100);
        }
    }

    #[test]
    fn the_reliable_layer_brings_all_in_order_whatever_is_lost(
        seed in any::<u64>(),
        loses in prop::sample::select(vec![0_u64, 1, 30, 200]),
        len in 1_u32..=256,
        pipeline in prop::sample::select(vec![0_u64, 52, 400]),
        stay in prop::sample::select(vec![0_u64, 20, 3000]),
        kib in prop::sample::select(vec![1_u64, 4]),
    ) {
        let parameters = OpticalParameters {
            reliable: true,
            retransmission_buffer: Some(Bytes::kib(kib)),
            ..parameters()
        };
        let mut glass = Glass::new(&parameters, Span::from_ns(pipeline), loses, seed);
        glass.stay = Span::from_ns(stay);
        glass.exchange(100, len);
        glass.assert_credit_is_back();
        prop_assert_eq!(glass.packets.in_use(), 0);
        for given in &glass.given {
            prop_assert_eq!(given, &(0..100).collect::<Vec<u64>>());
        }
    }
}

//! Two link ends joined by a wire, the packets that they deliver, and helpers for tests.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use kernel::{EventQueue, Span, Stream, Time};
use link::{
    Arrival, BitErrors, Clocks, Counters, Delivery, Finished, LinkChange, LinkCommand, LinkConfig,
    LinkEnd, LinkState, LinkTimer, PortParameters, Waiting,
};
use packet::{Charge, Frame, PacketId, Packets, Stamp};
use proptest::prelude::*;
use protocol::{Dllp, FunctionId, Generation, Header, Kind, Tag};

use crate::between::{Context, Happening, Shared};
pub use crate::between::{Fate, Left, Passed, Right, Side, What};

/// The way in which an end treats a packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appetite {
    /// The end frees the packet after this time.
    After(Span),
    /// The end announces at once that it will free the packet after this time.
    Foreseen(Span),
    /// The end keeps the packet until the test frees it.
    Never,
}

/// The configuration of a pair.
#[derive(Clone)]
pub struct Setup {
    pub generation: Generation,
    pub lanes: u8,
    pub max_payload: u16,
    pub channels: usize,
    pub sources: usize,
    pub weights: Vec<u32>,
    pub delay: Span,
    pub parameters: PortParameters,
    pub cut_through: bool,
    pub infinite_completions: bool,
    pub bit_error_rate: f64,
    pub fails_at: Time,
    pub clocks: Clocks,
    pub seed: u64,
    /// Whether a probe observes every frame.
    pub is_watched: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            generation: Generation::Gen2,
            lanes: 4,
            max_payload: 128,
            channels: 1,
            sources: 1,
            weights: Vec::new(),
            delay: Span::from_ns(1),
            parameters: PortParameters {
                // Other tests check the refreshes.
                update_fc_refresh: Span::from_us(1_000_000),
                ..PortParameters::default()
            },
            cut_through: false,
            infinite_completions: false,
            bit_error_rate: 0.0,
            fails_at: Time::NEVER,
            clocks: Clocks::default(),
            seed: 1,
            is_watched: true,
        }
    }
}

/// The reference clocks that links can have.
pub fn any_clocks() -> impl Strategy<Value = Clocks> {
    any::<(bool, bool)>().prop_map(|(are_separate, are_spread)| Clocks {
        are_separate,
        are_spread,
    })
}

/// A packet that an end has delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub number: u64,
    pub at: Time,
    pub complete: Time,
    pub corrupt: bool,
    /// Whether every byte has the value that was sent.
    pub intact: bool,
    pub charge: Charge,
}

/// Two link ends and the wire between them.
pub struct Pair {
    ends: [LinkEnd; 2],
    world: Shared,
    pub given: [Vec<Given>; 2],
    /// The packets whose transmission each end has reported as finished.
    pub finished: [Vec<Finished>; 2],
    pub appetite: [Appetite; 2],
    held: [VecDeque<Charge>; 2],
    /// The source and the charge of each packet, by number.
    sent: Vec<(u16, Charge)>,
    /// The changes of the link that each end has reported, with their times.
    pub changes: [Vec<(Time, LinkChange)>; 2],
    /// Whether the ends accept packets by the fast path where possible.
    pub accepts: bool,
}

impl Setup {
    /// The configuration of the end with this name.
    pub fn config(&self, name: &str) -> LinkConfig {
        let stream = Stream::named(self.seed, name);
        LinkConfig {
            generation: self.generation,
            lanes: self.lanes,
            max_payload: self.max_payload,
            channels: self.channels,
            has_channel_capability: false,
            sources: self.sources,
            weights: self.weights.clone(),
            cut_through: self.cut_through,
            far_cut_through: self.cut_through,
            infinite_completions: self.infinite_completions,
            report_finished: true,
            own: None,
            transmit_pipeline: Span::ZERO,
            round_trip: self.delay * 2,
            held: [Span::ZERO; _],
            clocks: self.clocks,
            far_l0s_exit: self.parameters.l0s_exit_latency.unwrap_or_default(),
            far_l0s_entry: self.parameters.l0s_entry_time,
            is_upstream: name == "right",
            errors: (self.bit_error_rate > 0.0)
                .then(|| BitErrors::new(self.bit_error_rate, stream)),
            fails_at: self.fails_at,
        }
    }
}

impl Pair {
    /// Creates a pair and starts it.
    pub fn new(setup: &Setup) -> Self {
        Self::with_wire(setup, |_, _| Fate::Pass)
    }

    /// Creates a pair whose wire treats each frame according to `wish`, and starts it.
    pub fn with_wire(setup: &Setup, wish: impl FnMut(Side, &Frame) -> Fate + 'static) -> Self {
        Self::with_ends(setup, [&setup.parameters; 2], wish)
    }

    /// Creates a pair in which the end at `side` has other parameters, and starts it.
    pub fn with_parameters(setup: &Setup, side: Side, other: &PortParameters) -> Self {
        let parameters = match side {
            Left => [other, &setup.parameters],
            Right => [&setup.parameters, other],
        };
        Self::with_ends(setup, parameters, |_, _| Fate::Pass)
    }

    fn with_ends(
        setup: &Setup,
        [left, right]: [&PortParameters; 2],
        wish: impl FnMut(Side, &Frame) -> Fate + 'static,
    ) -> Self {
        let end =
            |name: &str, parameters: &PortParameters| LinkEnd::new(setup.config(name), parameters);
        let mut pair = Pair {
            ends: [end("left", left), end("right", right)],
            world: Shared {
                now: Time::ZERO,
                queue: EventQueue::default(),
                scheduled: 0,
                foreground: 0,
                packets: Packets::default(),
                passed: Vec::new(),
                uses: [Vec::new(), Vec::new()],
                delay: setup.delay,
                wish: Box::new(wish),
                is_watched: setup.is_watched,
            },
            given: [Vec::new(), Vec::new()],
            finished: [Vec::new(), Vec::new()],
            appetite: [Appetite::After(Span::ZERO); 2],
            held: [VecDeque::new(), VecDeque::new()],
            sent: Vec::new(),
            changes: [Vec::new(), Vec::new()],
            accepts: false,
        };
        for side in [Left, Right] {
            pair.at(side, |end, cx| ((), end.start(cx)));
        }
        pair
    }

    /// Creates a pair with flow control initialised and idle wires.
    pub fn ready(setup: &Setup) -> Self {
        let mut pair = Self::new(setup);
        pair.run_for(READY);
        pair.forget();
        pair
    }

    /// Makes the wire treat each later frame according to `wish`.
    pub fn wish(&mut self, wish: impl FnMut(Side, &Frame) -> Fate + 'static) {
        self.world.wish = Box::new(wish);
    }

    /// Sets the fate of some of the packets that the left end sends from now on, counted from 1.
    pub fn wish_for(&mut self, which: RangeInclusive<u32>, fate: Fate) {
        let mut seen = 0;
        self.wish(move |side, frame| {
            if side != Left || !matches!(frame, Frame::Tlp(_)) {
                return Fate::Pass;
            }
            seen += 1;
            if which.contains(&seen) {
                fate
            } else {
                Fate::Pass
            }
        });
    }

    /// Forgets the frames recorded so far.
    pub fn forget(&mut self) {
        self.world.passed.clear();
    }

    pub fn now(&self) -> Time {
        self.world.now
    }

    fn at<T>(
        &mut self,
        side: Side,
        act: impl FnOnce(&mut LinkEnd, &mut Context<'_>) -> (T, Option<Finished>),
    ) -> T {
        let mut cx = Context {
            world: &mut self.world,
            side,
        };
        let (value, finished) = act(&mut self.ends[side as usize], &mut cx);
        self.finished[side as usize].extend(finished);
        value
    }

    /// Sends a packet with `header` from the end at `side`, and returns its number.
    pub fn send(&mut self, side: Side, header: Header) -> u64 {
        let now = self.now();
        self.send_at(side, 0, header, now)
    }

    /// Sends a packet of the given source, not before `ready`, and returns its number.
    pub fn send_at(&mut self, side: Side, source: u16, header: Header, ready: Time) -> u64 {
        let (number, waiting) = self.waiting_packet(source, header, ready);
        self.at(side, |end, cx| ((), end.enqueue(source, waiting, cx)));
        number
    }

    /// Sends a packet that was found corrupt while it was forwarded.
    pub fn send_corrupt(&mut self, side: Side, header: Header) {
        let now = self.now();
        let (_, mut waiting) = self.waiting_packet(0, header, now);
        waiting.corrupt = true;
        self.at(side, |end, cx| ((), end.enqueue(0, waiting, cx)));
    }

    /// Sends a packet whose last bit arrives at its ingress port only at `complete`.
    pub fn send_arriving(&mut self, side: Side, header: Header, complete: Time) {
        let now = self.now();
        let (_, mut waiting) = self.waiting_packet(0, header, now);
        waiting.complete = complete;
        self.at(side, |end, cx| ((), end.enqueue(0, waiting, cx)));
    }

    fn waiting_packet(&mut self, source: u16, header: Header, ready: Time) -> (u64, Waiting) {
        let number = self.sent.len() as u64;
        self.sent.push((source, Charge::of(&header)));
        let packet = self.claim(header, number);
        (number, Waiting::new(packet, &self.world.packets, ready))
    }

    fn claim(&mut self, header: Header, number: u64) -> PacketId {
        let stamp = Stamp {
            offset: number,
            ..Stamp::default()
        };
        let packet = self.world.packets.claim();
        let payload = self.world.packets[packet].write(header, stamp);
        for (at, byte) in payload.iter_mut().enumerate() {
            *byte = byte_of(number, at);
        }
        packet
    }

    /// Delivers `dllp` to the end at `side` now.
    pub fn deliver(&mut self, side: Side, dllp: Dllp) {
        self.arrive(side, Frame::Dllp(dllp.emit()));
    }

    /// Enables L0s at the end at `side`.
    pub fn enable_l0s(&mut self, side: Side) {
        self.ends[side as usize].enable_l0s(true);
    }

    /// Sets L1 Entry Enabled of the end at `side`.
    pub fn enable_l1(&mut self, side: Side, is_enabled: bool) {
        self.ends[side as usize].enable_l1(is_enabled, REQUESTER, false);
        self.at(side, |end, cx| {
            end.watch_idle_time(cx);
            ((), None)
        });
    }

    pub fn command(&mut self, side: Side, command: LinkCommand) {
        self.at(side, |end, cx| ((), end.command(command, cx)));
    }

    /// The state of the link at `side`.
    pub fn state(&self, side: Side) -> LinkState {
        self.ends[side as usize].state()
    }

    /// Whether the link at `side` is down.
    pub fn is_down(&self, side: Side) -> bool {
        self.ends[side as usize].has_failed(self.now())
    }

    /// Frees the oldest packet that the end at `side` keeps.
    pub fn free(&mut self, side: Side) {
        let charge = self.held[side as usize]
            .pop_front()
            .expect("a packet is kept");
        self.at(side, |end, cx| ((), end.free(charge, cx)));
    }

    /// Frees the oldest packet of `class` that the end at `side` keeps.
    pub fn free_one(&mut self, side: Side, class: protocol::Class) {
        let held = &mut self.held[side as usize];
        let at = held
            .iter()
            .position(|charge| charge.class == class)
            .expect("a packet of that class is kept");
        let charge = held.remove(at).expect("the position was just found");
        self.at(side, |end, cx| ((), end.free(charge, cx)));
    }

    /// The number of packets of `class` that the end at `side` keeps.
    pub fn keeps(&self, side: Side, class: protocol::Class) -> usize {
        let held = self.held[side as usize].iter();
        held.filter(|charge| charge.class == class).count()
    }

    /// Processes the next event.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.world.queue.pop() else {
            return false;
        };
        self.world.now = event.time;
        self.world.foreground -= 1 - event.rank % 2;
        match event.payload.expect("each event is given a content") {
            Happening::Arrive(side, frame) => self.arrive(side, frame),
            Happening::Expire(side, timer) => {
                self.at(side, |end, cx| ((), end.expire(timer, cx)));
                if timer == LinkTimer::Training {
                    let (now, end) = (self.now(), &mut self.ends[side as usize]);
                    let changes = std::iter::from_fn(|| end.take_change());
                    self.changes[side as usize].extend(changes.map(|change| (now, change)));
                }
            }
            Happening::Free(side, charge) => {
                self.at(side, |end, cx| ((), end.free(charge, cx)));
            }
        }
        true
    }

    fn arrive(&mut self, side: Side, frame: Frame) {
        let accepts = self.accepts;
        let arrival = self.at(side, |end, cx| {
            let next = accepts.then(|| end.accept_next(&frame, cx)).flatten();
            match next {
                Some(delivery) => (Some(Arrival::Packet(delivery)), None),
                None => end.receive(frame, cx),
            }
        });
        let (Delivery { packet, complete }, corrupt) = match arrival {
            Some(Arrival::Packet(delivery)) => (delivery, false),
            Some(Arrival::Corrupt(delivery)) => (delivery, true),
            None => return,
        };
        let content = &self.world.packets[packet];
        let number = content.stamp.offset;
        let charge = Charge::of(content.header());
        let mut bytes = content.payload().iter().enumerate();
        let intact = bytes.all(|(at, byte)| *byte == byte_of(number, at));
        // A link end that refuses L1 sends its own message, which has no number of a test.
        let is_own = matches!(content.header().kind, Kind::Message(_));
        self.world.packets.release(packet);
        if !is_own {
            self.given[side as usize].push(Given {
                number,
                at: self.world.now,
                complete,
                corrupt,
                intact,
                charge,
            });
        }
        if corrupt {
            return;
        }
        match self.appetite[side as usize] {
            Appetite::After(time) => {
                self.world
                    .schedule(complete + time, Happening::Free(side, charge));
            }
            Appetite::Foreseen(time) => self.at(side, |end, cx| {
                end.free_later(charge, complete + time, cx);
                ((), None)
            }),
            Appetite::Never => self.held[side as usize].push_back(charge),
        }
    }

    /// Processes all events.
    pub fn run(&mut self) {
        while self.world.foreground > 0 && self.step() {}
    }

    /// Processes all events that are due within `span`.
    pub fn run_for(&mut self, span: Span) {
        let limit = self.now() + span;
        while self
            .world
            .queue
            .next_time()
            .is_some_and(|time| time <= limit)
        {
            self.step();
        }
        self.world.now = limit;
    }

    /// The numbers of the packets delivered at `side`, in order.
    pub fn numbers(&self, side: Side) -> Vec<u64> {
        let good = self.given[side as usize]
            .iter()
            .filter(|given| !given.corrupt);
        good.map(|given| given.number).collect()
    }

    /// The frames that left `side`, in order.
    pub fn passed(&self, side: Side) -> Vec<Passed> {
        let from = self.world.passed.iter().filter(|it| it.from == side);
        from.copied().collect()
    }

    /// The times at which the wire from `side` carried frames and ordered sets, in order, with their lengths.
    pub fn uses(&self, side: Side) -> Vec<(Time, Span)> {
        let mut uses = self.world.uses[side as usize].clone();
        uses.sort();
        uses
    }

    /// The DLLPs that left `side`, with their times.
    pub fn dllps(&self, side: Side) -> Vec<(Time, Dllp)> {
        let passed = self.passed(side);
        let dllps = passed.iter().filter_map(|it| match it.what {
            What::Dllp(dllp) => Some((it.start, dllp)),
            What::Tlp { .. } => None,
        });
        dllps.collect()
    }

    /// The Acks that left `side`: time and sequence number.
    pub fn acks(&self, side: Side) -> Vec<(Time, u16)> {
        let dllps = self.dllps(side).into_iter();
        let acks = dllps.filter_map(|(start, dllp)| match dllp {
            Dllp::Ack { sequence } => Some((start, sequence)),
            _ => None,
        });
        acks.collect()
    }

    /// The Naks that left `side`: time and sequence number.
    pub fn naks(&self, side: Side) -> Vec<(Time, u16)> {
        let dllps = self.dllps(side).into_iter();
        let naks = dllps.filter_map(|(start, dllp)| match dllp {
            Dllp::Nak { sequence } => Some((start, sequence)),
            _ => None,
        });
        naks.collect()
    }

    /// The TLPs that left `side`: sequence number, whether it is a replay, start time and duration.
    pub fn tlps(&self, side: Side) -> Vec<(u16, bool, Time, Span)> {
        let passed = self.passed(side);
        let tlps = passed.iter().filter_map(|it| match it.what {
            What::Tlp {
                sequence,
                replay,
                length,
                ..
            } => Some((sequence, replay, it.start, length)),
            What::Dllp(_) => None,
        });
        tlps.collect()
    }

    /// The packets that left `side` for the first time: time, source and charge.
    pub fn begun(&self, side: Side) -> Vec<(Time, u16, Charge)> {
        let passed = self.passed(side);
        let begun = passed.iter().filter_map(|it| match it.what {
            What::Tlp {
                number,
                replay: false,
                ..
            } => {
                let (source, charge) = self.sent[number as usize];
                Some((it.start, source, charge))
            }
            _ => None,
        });
        begun.collect()
    }

    pub fn counters(&self, side: Side) -> Counters {
        self.ends[side as usize].counters(self.world.now)
    }

    pub fn repaired(&self, side: Side) -> u32 {
        self.ends[side as usize].repaired()
    }

    pub fn waiting(&self, side: Side) -> usize {
        self.ends[side as usize].waiting()
    }

    /// One symbol time.
    pub fn symbol(&self) -> Span {
        self.ends[0].timing().symbol()
    }

    /// The time of `bytes` bytes on the wire.
    pub fn length(&self, bytes: u32) -> Span {
        self.ends[0].timing().length(bytes)
    }

    /// The number of packets in use.
    pub fn packets_in_use(&self) -> usize {
        self.world.packets.in_use()
    }
}

/// The time by which flow control is initialised on any wire.
pub const READY: Span = Span::from_us(3);

fn byte_of(number: u64, at: usize) -> u8 {
    (number.wrapping_mul(167) ^ (at as u64).wrapping_mul(29) ^ (number >> 8)) as u8
}

/// A posted write of `len` bytes.
pub fn write(len: u32) -> Header {
    Header::memory_write(REQUESTER, 0x1000, len).expect("a legal write")
}

/// A read request.
pub fn read() -> Header {
    Header::memory_read(REQUESTER, Tag(1), 0x1000, 64).expect("a legal read")
}

/// A completion with `len` bytes.
pub fn completion(len: u32) -> Header {
    let request = Header::memory_read(FunctionId::new(9, 0, 0), Tag(2), 0x1000, len);
    let request = request.expect("a legal read");
    Header::completion_with_data(&request, REQUESTER, 0, len).expect("the answer to a read")
}

pub const REQUESTER: FunctionId = FunctionId::new(1, 0, 0);

//! The packets that wait for a wire, by source and class: arbitration and ordering rules.

mod claims;
mod source;

use std::collections::VecDeque;
use std::mem::offset_of;

use kernel::Time;
use protocol::{Arbitration, Class, PerClass, TrafficClass};

use crate::channels::Phases;
use crate::credit::Budget;
use claims::Claims;
use packet::{Charge, FlowId, Packet, PacketId, Packets};
use source::Source;

/// A packet that waits for the wire.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketId,
    /// The credits that the packet needs.
    pub charge: Charge,
    /// The sizes of the packet on the wire, up to the end of its header, and of its payload. They are copied here, because the packet itself
    /// may no longer be in the cache when it leaves.
    pub(crate) wire_len: u16,
    pub(crate) wire_len_to_header: u8,
    pub(crate) payload_len: u16,
    /// Whether the packet was found corrupt while it was forwarded.
    pub corrupt: bool,
    /// Whether the packet has relaxed or ID-based ordering.
    pub relaxed: bool,
    /// The earliest time at which the packet may leave.
    pub ready: Time,
    /// The time at which the packet's last bit arrived.
    pub complete: Time,
}

/// The packets to which a query for the reason of a wait applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// The packets of a flow. If all packets of the flow are known to come from one source, only the packets of this source.
    Flow(FlowId, Option<u16>),
    /// The packets of one source and class.
    Source(u16, Class),
    /// All packets.
    Any,
}

impl Concern {
    fn is(self, class: Class, packet: &Packet) -> bool {
        match self {
            Concern::Flow(flow, _) => packet.stamp.flow == Some(flow),
            Concern::Source(_, wanted) => wanted == class,
            Concern::Any => true,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    arrival: u64,
    waiting: Waiting,
}

/// The largest number of younger packets of the same source, with relaxed or ID-based ordering, that may pass a packet that has claimed
/// credit.
const PASSES: u8 = 8;

/// Packets of several sources that share a wire by weighted round robin.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Queue {
    sources: Vec<Source>,
    /// One bit for each source that has packets. Two words are used, because operations on a word of 128 bits take many instructions.
    occupied: [u64; 2],
    turn: usize,
    arrivals: u64,
    /// The number of packets that the current source may still send in its turn, if sources have weights.
    left: u32,
    /// Whether any source may send several packets in a row.
    is_weighted: bool,
    claims: Claims,
    /// The phases of a port arbitration table, which replace turns and weights. Boxed, because few queues have them.
    phases: Option<Box<Phases>>,
    marked: Marked,
}

/// The numbers of waiting packets to which the ordering table gives more freedom than by default.
#[derive(Clone, Copy, Debug, Default)]
struct Marked {
    /// Packets with relaxed or ID-based ordering, which may leave before an older packet of their class.
    relaxed: u32,
    /// Packets of a traffic class other than 0, which are not ordered with packets of other traffic classes.
    classed: u32,
}

impl Marked {
    fn add(&mut self, relaxed: bool, class: TrafficClass) {
        self.relaxed += u32::from(relaxed);
        self.classed += u32::from(class.number() > 0);
    }

    fn remove(&mut self, relaxed: bool, class: TrafficClass) {
        self.relaxed -= u32::from(relaxed);
        self.classed -= u32::from(class.number() > 0);
    }
}

/// The result of a search for a packet to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// The packet to send: its source, its class, and its position among the packets of this source and class. Position 0 is the oldest
    /// packet. A packet at another position passes older packets.
    Packet(u16, Class, usize),
    /// Packets wait, but none may leave before this time.
    NotBefore(Time),
    /// Packets wait, but lack credit.
    NoCredit,
    /// No packet waits.
    Empty,
}

impl Queue {
    #[inline]
    pub(crate) fn new(sources: usize, weights: &[u32]) -> Self {
        assert!(sources <= 128, "an arbiter has at most 128 sources");
        Queue {
            left: weights.first().copied().unwrap_or(1),
            sources: (0..sources)
                .map(|source| Source {
                    weight: weights.get(source).copied().unwrap_or(1),
                    ..Source::default()
                })
                .collect(),
            occupied: [0; 2],
            turn: 0,
            is_weighted: weights.iter().any(|weight| *weight != 1),
            arrivals: 0,
            claims: Claims::NONE,
            marked: Marked::default(),
            phases: None,
        }
    }

    /// Begins to load the packets of the source that probably has its turn next.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let [word, other, before] = self.in_turn();
        let (first, bits) = if word.1 != 0 {
            word
        } else if other.1 != 0 {
            other
        } else {
            before
        };
        self.prefetch_source(first + bits.trailing_zeros() as usize);
    }

    /// The oldest posted packet of a source.
    pub(crate) fn first(&self, source: u16) -> Option<PacketId> {
        let source = self.sources.get(usize::from(source))?;
        let first = source.classes[Class::Posted].front()?;
        Some(first.waiting.packet)
    }

    /// Begins to load the list of posted packets of a source.
    #[inline]
    pub(crate) fn prefetch_source(&self, source: usize) {
        if let Some(source) = self.sources.get(source) {
            kernel::prefetch(
                source,
                0..offset_of!(Source, classes) + size_of::<VecDeque<Queued>>(),
            );
        }
    }

    /// Applies the arbitration among sources that control registers select.
    pub(crate) fn arbitrate(&mut self, arbitration: &Arbitration) {
        Phases::select(&mut self.phases, arbitration);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, source: u16, waiting: Waiting) {
        let Waiting {
            relaxed, charge, ..
        } = waiting;
        if relaxed || charge.traffic_class.number() > 0 {
            self.marked.add(relaxed, charge.traffic_class);
        }
        let queued = Queued {
            arrival: self.arrivals,
            waiting,
        };
        self.arrivals += 1;
        self.occupied[usize::from(source) / 64] |= 1 << (source % 64);
        let class = waiting.charge.class.index();
        let source = &mut self.sources[usize::from(source)];
        source.occupied |= 1 << class;
        source.classes[class].push_back(queued);
    }

    /// Removes and returns the next packet at `now`, with its source. This fast path applies only if packets of only one class of one source
    /// wait, and the oldest of them may leave. In any other case, [`pick`](Self::pick) decides.
    #[inline(always)]
    pub(crate) fn take_only(
        &mut self,
        now: Time,
        budgets: &PerClass<Budget>,
    ) -> Option<(u16, Waiting)> {
        let [low, 0] = self.occupied else {
            return None;
        };
        if low & low.wrapping_sub(1) != 0 {
            return None;
        }
        let number = low.trailing_zeros() as usize;
        let source = self.sources.get_mut(number)?;
        if source.occupied & source.occupied.wrapping_sub(1) != 0 {
            return None;
        }
        let class = source.occupied.trailing_zeros() as usize;
        let packets = source.classes.get_mut(class)?;
        let waiting = packets.front()?.waiting;
        if waiting.obstacle(now, budgets).is_some() {
            return None;
        }
        packets.pop_front();
        self.claims.end(number, waiting.charge.class);
        if packets.is_empty() {
            // Clearing the queue resets its position, so that the next packet uses its first entry again, which is in the cache.
            packets.clear();
            source.occupied = 0;
            self.occupied[0] = 0;
        }
        self.count_taken(number, &waiting);
        Some((number as u16, waiting))
    }

    /// A bit for each source that has packets.
    fn occupied(&self) -> u128 {
        let [low, high] = self.occupied;
        u128::from(high) << 64 | u128::from(low)
    }

    /// The sources that have packets, beginning with the source whose turn it is. Each entry is a word of bits, with the number of the
    /// word's first source.
    fn in_turn(&self) -> [(usize, u64); 3] {
        let word = self.turn / 64 % 2;
        let before = !(!0 << (self.turn % 64));
        [
            (word * 64, self.occupied[word] & !before),
            ((1 - word) * 64, self.occupied[1 - word]),
            (word * 64, self.occupied[word] & before),
        ]
    }

    /// Chooses the next packet of one source, within the credit that other sources have not claimed. If the source lacks credit, it claims
    /// the credit.
    fn choose(
        &mut self,
        number: usize,
        now: Time,
        budgets: &PerClass<Budget>,
        packets: &Packets,
    ) -> Pick {
        let left;
        let within = if self.claims.any() {
            left = self.claims.left(Some(number), budgets);
            &left
        } else {
            budgets
        };
        let source = &self.sources[number];
        let mut why = match source.choose(now, within, packets, self.marked) {
            Ok(class) => return Pick::Packet(number as u16, class, 0),
            Err(why) => why,
        };
        // If a packet of another class is not ready yet, the result may hide that this class lacks credit.
        let lacks_credit = match why {
            Pick::NotBefore(_) => source.only().is_none(),
            why => matches!(why, Pick::NoCredit),
        };
        if lacks_credit && (self.marked.relaxed > 0 || self.has_several()) {
            self.claim(number, now, budgets, packets);
        }
        if self.marked.relaxed > 0 {
            let source = &self.sources[number];
            let owner = (source.passed < PASSES).then_some(number);
            let left = self.claims.left(owner, budgets);
            why = source.choose_relaxed(number as u16, now, (&left, packets), why);
        }
        why
    }

    /// Whether packets of several sources wait.
    fn has_several(&self) -> bool {
        self.occupied().count_ones() > 1
    }

    /// Records claims of a source to each class whose oldest packet lacks only credit, if the far end's buffer, when empty, can hold the
    /// packet.
    fn claim(&mut self, number: usize, now: Time, budgets: &PerClass<Budget>, packets: &Packets) {
        let source = &mut self.sources[number];
        for queued in source.classes.iter().filter_map(VecDeque::front) {
            let Charge { class, data, .. } = queued.waiting.charge;
            let obstacle = queued.waiting.obstacle(now, budgets);
            if matches!(obstacle, Some(Pick::NoCredit))
                && !self.claims.is_claimed(class)
                && budgets[class].holds(data)
                && source.is_in_order(queued, packets, self.marked.classed > 0)
            {
                self.claims.begin(number, class);
                source.passed = 0;
            }
        }
    }

    /// Ends a claim if its source has no more packets of the class, or if the oldest of them no longer fits into the far end's buffer.
    fn check_claims(&mut self, budgets: &PerClass<Budget>) {
        let sources = &self.sources;
        self.claims.retain(|source, class| {
            let first = sources[source].classes[class].front();
            first.is_some_and(|first| budgets[class].holds(first.waiting.charge.data))
        });
    }

    /// Chooses the next packet at `now` within `budgets`.
    pub(crate) fn pick(
        &mut self,
        now: Time,
        budgets: &PerClass<Budget>,
        packets: &Packets,
    ) -> Pick {
        if self.claims.any() {
            self.check_claims(budgets);
        }
        if let Some(phases) = self.phases.take() {
            let picked = self.pick_phase(&phases, now, budgets, packets);
            self.phases = Some(phases);
            return picked;
        }
        let mut otherwise = Pick::Empty;
        for (first, mut left) in self.in_turn() {
            while left != 0 {
                let number = first + left.trailing_zeros() as usize;
                left &= left - 1;
                match self.choose(number, now, budgets, packets) {
                    picked @ Pick::Packet(..) => return picked,
                    why => otherwise = otherwise.or(why),
                }
            }
        }
        otherwise
    }

    /// Chooses the next packet by the phases of a table.
    fn pick_phase(
        &mut self,
        phases: &Phases,
        now: Time,
        budgets: &PerClass<Budget>,
        packets: &Packets,
    ) -> Pick {
        let mut otherwise = Pick::Empty;
        for source in phases.in_turn(self.occupied()) {
            match self.choose(source, now, budgets, packets) {
                picked @ Pick::Packet(..) => return picked,
                why => otherwise = otherwise.or(why),
            }
        }
        otherwise
    }

    /// Holds each waiting packet until its last bit has arrived. A packet that is still arriving may leave earlier only on a wire of the rate
    /// for which its time was calculated: on a faster wire it would run empty.
    pub(crate) fn store_completely(&mut self) {
        let sources = self.sources.iter_mut();
        let classes = sources.flat_map(|source| source.classes.iter_mut());
        for Queued { waiting, .. } in classes.flatten() {
            waiting.ready = waiting.ready.max(waiting.complete);
        }
    }

    pub(crate) fn take_any(&mut self) -> Option<(u16, Waiting)> {
        let source = (0..self.sources.len()).find(|source| self.sources[*source].occupied != 0)?;
        let class = self.sources[source].occupied.trailing_zeros() as usize;
        let class = Class::ALL[class];
        Some((source as u16, self.take(source as u16, class, 0)))
    }

    /// The oldest packet of the first source and class in which a packet waits that `concern` describes, with the source.
    pub(crate) fn first_with(
        &self,
        concern: Concern,
        packets: &Packets,
    ) -> Option<(u16, &Waiting)> {
        let looked_at = match concern {
            Concern::Flow(_, Some(source)) | Concern::Source(source, _) => source..source + 1,
            Concern::Flow(_, None) | Concern::Any => 0..self.sources.len() as u16,
        };
        let mut sources = looked_at.filter_map(|number| {
            let source = self.sources.get(usize::from(number))?;
            (source.occupied != 0).then_some((number, source))
        });
        sources.find_map(|(number, source)| {
            Class::ALL.into_iter().find_map(|class| {
                let mut queued = source.classes[class].iter();
                let head = queued.clone().next()?;
                let is_concerned =
                    |queued: &Queued| concern.is(class, &packets[queued.waiting.packet]);
                queued.any(is_concerned).then_some((number, &head.waiting))
            })
        })
    }

    /// Removes and returns the packets of the traffic classes for which `is_taken` holds, oldest first, with their sources. The turns of the
    /// sources do not change.
    pub(crate) fn take_classes(
        &mut self,
        is_taken: impl Fn(TrafficClass) -> bool,
    ) -> Vec<(u16, Waiting)> {
        let mut taken: Vec<(u64, u16, Waiting)> = Vec::new();
        for (number, source) in (0_u16..).zip(&mut self.sources) {
            for (index, class) in source.classes.iter_mut().enumerate() {
                let is_taken = |queued: &Queued| is_taken(queued.waiting.charge.traffic_class);
                let moved = class.iter().filter(|queued| is_taken(queued));
                taken.extend(moved.map(|queued| (queued.arrival, number, queued.waiting)));
                class.retain(|queued| !is_taken(queued));
                if class.is_empty() {
                    source.occupied &= !(1 << index);
                }
            }
            if source.occupied == 0 {
                self.occupied[usize::from(number) / 64] &= !(1 << (number % 64));
            }
        }
        taken.sort_unstable_by_key(|(arrival, ..)| *arrival);
        for (
            _,
            _,
            Waiting {
                relaxed, charge, ..
            },
        ) in &taken
        {
            if *relaxed || charge.traffic_class.number() > 0 {
                self.marked.remove(*relaxed, charge.traffic_class);
            }
        }
        let taken = taken.into_iter();
        taken
            .map(|(_, source, waiting)| (source, waiting))
            .collect()
    }

    pub(crate) fn waiting_of(&self, source: u16, class: Class) -> usize {
        self.sources[usize::from(source)].classes[class].len()
    }

    /// The number of packets ahead of the packet at `place` that leave their ingress in order with it: packets of the same source, class and
    /// traffic class. Corrupt packets are not counted, because they are in no receive buffer.
    pub(crate) fn ahead(&self, source: u16, class: Class, place: usize) -> usize {
        let packets = &self.sources[usize::from(source)].classes[class];
        let of = |queued: &Queued| queued.waiting.charge.traffic_class;
        let passed = packets.iter().take(place);
        let own = of(&packets[place]);
        passed
            .filter(|other| of(other) == own && !other.waiting.corrupt)
            .count()
    }

    /// The size on the wire of the packet at `place` of a class of a source.
    pub(crate) fn wire_len(&self, source: u16, class: Class, place: usize) -> u16 {
        let packets = &self.sources[usize::from(source)].classes[class];
        packets[place].waiting.wire_len
    }

    /// Removes and returns the packet at `place` of a class of a source. The packet passes the packets before it.
    #[inline(always)]
    pub(crate) fn take(&mut self, source: u16, class: Class, place: usize) -> Waiting {
        let number = usize::from(source);
        let source = &mut self.sources[number];
        let packets = &mut source.classes[class];
        let queued = if place == 0 {
            self.claims.end(number, class);
            packets.pop_front()
        } else {
            source.passed = source.passed.saturating_add(1);
            packets.remove(place)
        };
        let queued = queued.expect("the chosen class has a packet");
        source.count(&queued.waiting);
        let packets = &mut source.classes[class];
        if packets.is_empty() {
            packets.clear();
            source.occupied &= !(1 << class.index());
            if source.occupied == 0 {
                self.occupied[number / 64] &= !(1 << (number % 64));
            }
        }
        self.count_taken(number, &queued.waiting);
        queued.waiting
    }

    /// Counts a packet of `source` that was removed. After a source has sent as many packets as its weight, the turn passes to the next
    /// source.
    #[inline(always)]
    fn count_taken(&mut self, source: usize, taken: &Waiting) {
        let Waiting {
            relaxed, charge, ..
        } = *taken;
        if relaxed || charge.traffic_class.number() > 0 {
            self.marked.remove(relaxed, charge.traffic_class);
        }
        if let Some(phases) = &mut self.phases {
            phases.grant(source as u8);
        }
        let next = if source + 1 == self.sources.len() {
            0
        } else {
            source + 1
        };
        if self.is_weighted {
            self.count_by_weight(source, next);
        } else {
            self.turn = next;
        }
    }

    fn count_by_weight(&mut self, source: usize, next: usize) {
        if source != self.turn {
            self.turn = source;
            self.left = self.sources[source].weight;
        }
        self.left -= 1;
        if self.left == 0 {
            self.turn = next;
            self.left = self.sources[next].weight;
        }
    }
}

impl Pick {
    /// Combines two reasons for not sending. The reason that determines the next attempt more exactly is kept.
    pub(crate) fn or(self, other: Pick) -> Pick {
        match (self, other) {
            (Pick::NotBefore(a), Pick::NotBefore(b)) => Pick::NotBefore(a.min(b)),
            (Pick::NotBefore(a), _) | (_, Pick::NotBefore(a)) => Pick::NotBefore(a),
            (Pick::NoCredit, _) | (_, Pick::NoCredit) => Pick::NoCredit,
            _ => Pick::Empty,
        }
    }
}

impl Waiting {
    /// A waiting packet that has arrived completely and may leave from `ready` on.
    #[inline]
    pub fn new(packet: PacketId, packets: &Packets, ready: Time) -> Self {
        Self::of(packet, &packets[packet], ready)
    }

    /// A waiting packet with this content that has arrived completely and may leave from `ready` on.
    #[inline]
    pub fn of(packet: PacketId, content: &Packet, ready: Time) -> Self {
        let attributes = content.header().attributes;
        Waiting {
            packet,
            charge: content.charge(),
            wire_len: content.wire_len() as u16,
            wire_len_to_header: content.wire_len_to_header() as u8,
            payload_len: content.payload_len() as u16,
            corrupt: false,
            relaxed: attributes.relaxed_ordering || attributes.id_ordering,
            ready,
            complete: Time::ZERO,
        }
    }

    /// The reason why the packet cannot be sent, apart from ordering.
    #[inline]
    fn obstacle(&self, now: Time, budgets: &PerClass<Budget>) -> Option<Pick> {
        if self.ready > now {
            return Some(Pick::NotBefore(self.ready));
        }
        if self.corrupt {
            return None;
        }
        let has_credit = budgets[self.charge.class].allows(self.charge.data);
        (!has_credit).then_some(Pick::NoCredit)
    }
}

//! The packets of one source that wait for a wire, and the order in which the ordering table permits them to leave (PCIe Base 2.4.1).

use std::collections::VecDeque;

use kernel::Time;
use packet::Packets;
use protocol::{Class, Passing, PerClass};

use super::{Marked, Pick, Queued, Waiting};
use crate::balance::{Balance, Side};
use crate::credit::Budget;

/// The packets of one source, oldest first within each class. The fields that posted packets need are in the first cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Source {
    /// One bit for each class that has packets.
    pub(super) occupied: u8,
    /// The number of younger packets that have passed the oldest packet since it claimed credit.
    pub(super) passed: u8,
    /// The balance between bytes of requests and bytes of completions.
    pub(super) balance: Balance,
    /// The number of packets that the source may send in a row while others wait.
    pub(super) weight: u32,
    pub(super) classes: PerClass<VecDeque<Queued>>,
}

impl Source {
    /// The oldest packet, if packets of only one class wait.
    #[inline(always)]
    pub(super) fn only(&self) -> Option<&Waiting> {
        if self.occupied & self.occupied.wrapping_sub(1) != 0 {
            return None;
        }
        let class = self.classes.get(self.occupied.trailing_zeros() as usize)?;
        Some(&class.front()?.waiting)
    }

    /// Chooses the class whose oldest packet may leave now: the packet must be ready, have credit, and be permitted to pass all older
    /// packets. Requests and completions share the wire by their byte balance. Of posted and non-posted requests, the older one leaves
    /// first.
    pub(super) fn choose(
        &self,
        now: Time,
        budgets: &PerClass<Budget>,
        packets: &Packets,
        marked: Marked,
    ) -> Result<Class, Pick> {
        let Some(only) = self.only() else {
            return self.choose_class(now, budgets, packets, marked.classed > 0);
        };
        only.obstacle(now, budgets)
            .map_or(Ok(only.charge.class), Err)
    }

    fn choose_class(
        &self,
        now: Time,
        budgets: &PerClass<Budget>,
        packets: &Packets,
        is_classed: bool,
    ) -> Result<Class, Pick> {
        let heads = self.heads_in_turn();
        let mut otherwise = Pick::Empty;
        for queued in heads.into_iter().flatten() {
            let waiting = &queued.waiting;
            match waiting.obstacle(now, budgets) {
                Some(why) => otherwise = otherwise.or(why),
                None if self.is_in_order(queued, packets, is_classed) => {
                    return Ok(waiting.charge.class);
                }
                None => {}
            }
        }
        Err(otherwise)
    }

    /// Whether `queued`, the oldest packet of its class, may pass all older packets of other classes.
    pub(super) fn is_in_order(&self, queued: &Queued, packets: &Packets, is_classed: bool) -> bool {
        let mut heads = self.classes.iter().filter_map(VecDeque::front);
        let passes_heads = heads.all(|other| {
            other.arrival >= queued.arrival || queued.waiting.passes(&other.waiting, packets)
        });
        passes_heads
            && (!is_classed && !queued.waiting.relaxed || self.passes_all_older(queued, packets))
    }

    /// Whether `queued` may pass all older packets. It is not enough to check the oldest packet of each class, because packets with other
    /// IDs or of other traffic classes may follow it.
    pub(super) fn passes_all_older(&self, queued: &Queued, packets: &Packets) -> bool {
        let older = |class: &VecDeque<Queued>| {
            class
                .iter()
                .take_while(|other| other.arrival < queued.arrival)
                .all(|other| queued.waiting.passes(&other.waiting, packets))
        };
        self.classes.iter().all(older)
    }

    /// Chooses the oldest packet with relaxed or ID-based ordering that may pass all older packets of its own class and of other classes.
    /// `otherwise` is the reason why no oldest packet of a class may leave.
    ///
    /// The ordering table permits this passing, but does not require it (PCIe Base 2.4.1). A packet with default ordering keeps its position
    /// among the packets of its class.
    pub(super) fn choose_relaxed(
        &self,
        number: u16,
        now: Time,
        (budgets, packets): (&PerClass<Budget>, &Packets),
        mut otherwise: Pick,
    ) -> Pick {
        let mut found: Option<(u64, Class, usize)> = None;
        for class in Class::ALL {
            let queued = self.classes[class].iter().enumerate();
            for (place, queued) in queued.filter(|(_, queued)| queued.waiting.relaxed) {
                if found.is_some_and(|(oldest, ..)| oldest < queued.arrival) {
                    break;
                }
                match queued.waiting.obstacle(now, budgets) {
                    None if self.passes_all_older(queued, packets) => {
                        found = Some((queued.arrival, class, place));
                    }
                    None => {}
                    Some(why) => otherwise = otherwise.or(why),
                }
            }
        }
        found.map_or(otherwise, |(_, class, place)| {
            Pick::Packet(number, class, place)
        })
    }

    /// The oldest packet of each class, in the order of their turns. The ordering table may still forbid that one of them leaves.
    fn heads_in_turn(&self) -> [Option<&Queued>; 3] {
        let [posted, non_posted, completion] = self.classes.each_ref().map(VecDeque::front);
        let age = |head: Option<&Queued>| head.map_or(u64::MAX, |queued| queued.arrival);
        let [first, second] = if age(posted) < age(non_posted) {
            [posted, non_posted]
        } else {
            [non_posted, posted]
        };
        match self.balance.next() {
            Side::Requester => [first, second, completion],
            Side::Completer => [completion, first, second],
        }
    }

    /// Counts a packet that leaves in the byte balance, if both requests and completions wait.
    #[inline(always)]
    pub(super) fn count(&mut self, taken: &Waiting) {
        const COMPLETIONS: u8 = 1 << Class::Completion.index();
        if self.occupied & COMPLETIONS != 0 && self.occupied & !COMPLETIONS != 0 {
            let side = Side::of(taken.charge.class);
            self.balance.count(side, taken.wire_len);
        }
    }
}

impl Waiting {
    /// Whether the ordering table permits the packet to pass an older one.
    pub(super) fn passes(&self, earlier: &Waiting, packets: &Packets) -> bool {
        let (later, earlier) = (
            packets[self.packet].header(),
            packets[earlier.packet].header(),
        );
        later.may_pass(earlier) != Passing::No
    }
}

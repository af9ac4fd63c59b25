//! Credits: what a transmitter may still send and what a receiver has room for (PCIe Base 2.6.1).

/// A credit counter of `BITS` bits as the transmitter keeps it: a limit it was given and what it has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate<const BITS: u32> {
    limit: u16,
    consumed: u16,
    infinite: bool,
}

impl<const BITS: u32> Gate<BITS> {
    const MASK: u16 = (1 << BITS) - 1;

    pub(crate) const CLOSED: Self = Gate {
        limit: 0,
        consumed: 0,
        infinite: false,
    };

    /// The first limit, from InitFC: zero means without limit.
    pub(crate) fn open(&mut self, limit: u16) {
        self.limit = limit;
        self.infinite = limit == 0;
    }

    /// A later limit, from UpdateFC.
    pub(crate) fn raise(&mut self, limit: u16) {
        self.limit = limit;
    }

    /// PCIe Base 2.6.1.2: (`CREDIT_LIMIT` - `CUMULATIVE_CREDITS_REQUIRED`) mod 2^BITS <= 2^BITS / 2.
    #[inline]
    pub(crate) fn allows(&self, needed: u16) -> bool {
        self.infinite
            || self.limit.wrapping_sub(self.consumed.wrapping_add(needed)) & Self::MASK
                <= 1 << (BITS - 1)
    }

    #[inline]
    pub(crate) fn consume(&mut self, used: u16) {
        self.consumed = self.consumed.wrapping_add(used) & Self::MASK;
    }
}

/// What a transmitter may send of one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) headers: Gate<8>,
    pub(crate) data: Gate<12>,
}

impl Budget {
    pub(crate) const CLOSED: Budget = Budget {
        headers: Gate::CLOSED,
        data: Gate::CLOSED,
    };

    pub(crate) fn allows(&self, data: u16) -> bool {
        self.headers.allows(1) && self.data.allows(data)
    }

    pub(crate) fn consume(&mut self, data: u16) {
        self.headers.consume(1);
        self.data.consume(data);
    }
}

/// Room of one kind (headers or data) in a receiver's buffer, in credits. A size of zero is without limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room<const BITS: u32> {
    size: u16,
    used: u16,
    /// `CREDITS_ALLOCATED`, and its value when it was last announced.
    allocated: u16,
    announced: u16,
    /// Credits that are worth an UpdateFC when they are free and unannounced.
    worth: u16,
    /// What the far end needs for a packet: with less it starves, and any freed credit is worth an UpdateFC.
    packet: u16,
    /// Credits that will be free.
    promised: u16,
}

impl<const BITS: u32> Room<BITS> {
    const MASK: u16 = (1 << BITS) - 1;
    /// A receiver never announces more than half the counter's range (PCIe Base 2.6.1.2).
    pub(crate) const LARGEST: u16 = (1 << (BITS - 1)) - 1;

    /// Room for `size` credits, a `share` of which is worth an UpdateFC; the largest packet takes `packet` of them.
    pub(crate) fn new(size: u16, share: f64, packet: u16) -> Self {
        let size = size.min(Self::LARGEST);
        let worth = (f64::from(size) * share).ceil().max(1.0) as u16;
        Room {
            size,
            used: 0,
            allocated: size,
            announced: size,
            worth,
            packet,
            promised: 0,
        }
    }

    pub(crate) fn size(&self) -> u16 {
        self.size
    }

    #[inline]
    fn take(&mut self, credits: u16) {
        if self.size > 0 {
            self.used += credits;
            assert!(
                self.used <= self.size,
                "a transmitter stays within the credit it was given"
            );
        }
    }

    #[inline]
    fn free(&mut self, credits: u16) {
        if self.size > 0 {
            assert!(self.used >= credits, "a buffer frees no more than it holds");
            self.used -= credits;
            self.allocated = self.allocated.wrapping_add(credits) & Self::MASK;
        }
    }

    #[inline]
    fn unannounced(&self) -> u16 {
        self.allocated.wrapping_sub(self.announced) & Self::MASK
    }

    #[inline]
    fn is_worth_telling(&self) -> bool {
        self.is_worth(self.unannounced())
    }

    fn will_be_worth_telling(&self) -> bool {
        self.size > 0 && self.is_worth(self.unannounced() + self.promised)
    }

    /// PCIe Base 2.6.1.2: an UpdateFC must be scheduled when credit is freed and the far end had too little for a packet.
    #[inline]
    fn is_worth(&self, credits: u16) -> bool {
        credits >= self.worth || credits > 0 && self.starves_without(0)
    }

    /// Whether the far end has too little credit for a packet once it has spent so many.
    #[inline]
    fn starves_without(&self, credits: u16) -> bool {
        self.size > 0 && self.size < self.used + self.unannounced() + credits + self.packet
    }
}

/// A receiver's buffer for one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) headers: Room<8>,
    pub(crate) data: Room<12>,
}

impl Buffer {
    pub(crate) fn take(&mut self, data: u16) {
        self.headers.take(1);
        self.data.take(data);
    }

    pub(crate) fn free(&mut self, data: u16) {
        self.headers.free(1);
        self.data.free(data);
    }

    /// A packet with so much data will leave.
    pub(crate) fn promise(&mut self, data: u16) {
        self.headers.promised += 1;
        self.data.promised += data;
    }

    /// A promised packet leaves.
    pub(crate) fn keep_promise(&mut self, data: u16) {
        self.headers.promised -= 1;
        self.data.promised -= data;
    }

    pub(crate) fn forget_promises(&mut self) {
        self.headers.promised = 0;
        self.data.promised = 0;
    }

    pub(crate) fn will_be_worth_telling(&self) -> bool {
        self.headers.will_be_worth_telling() || self.data.will_be_worth_telling()
    }

    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.headers.unannounced() > 0 || self.data.unannounced() > 0
    }

    pub(crate) fn is_worth_telling(&self) -> bool {
        self.headers.is_worth_telling() || self.data.is_worth_telling()
    }

    /// Whether the far end has too little credit for a packet once it has spent that of one with so much data.
    #[inline]
    pub(crate) fn starves_without(&self, data: u16) -> bool {
        self.headers.starves_without(1) || self.data.starves_without(data)
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.headers.size > 0 || self.data.size > 0
    }

    /// The limits to announce now; they count as announced.
    pub(crate) fn announce(&mut self) -> (u8, u16) {
        self.headers.announced = self.headers.allocated;
        self.data.announced = self.data.allocated;
        (self.headers.allocated as u8, self.data.allocated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_credit_means_no_limit_when_advertised_at_first() {
        let mut gate = Gate::<8>::CLOSED;
        assert!(!gate.allows(1));
        gate.open(0);
        assert!(gate.allows(100));
    }

    proptest! {
        #[test]
        fn credits_are_never_negative_nor_leaked(steps in prop::collection::vec((any::<bool>(), 0_u16..40), 1..2000)) {
            let mut buffer = Buffer { headers: Room::new(20, 0.0, 1), data: Room::new(300, 0.0, 40) };
            let mut budget = Budget::CLOSED;
            budget.headers.open(20);
            budget.data.open(300);
            let mut held = std::collections::VecDeque::new();
            for (send, data) in steps {
                if send && budget.allows(data) {
                    budget.consume(data);
                    buffer.take(data);
                    held.push_back(data);
                } else if let Some(data) = held.pop_front() {
                    buffer.free(data);
                    let (headers, data) = buffer.announce();
                    budget.headers.raise(u16::from(headers));
                    budget.data.raise(data);
                }
            }
            let used: u16 = held.iter().sum();
            prop_assert!(budget.allows(300 - used) || held.len() == 20);
            prop_assert!(!budget.allows(301 - used));
        }
    }
}

//! Flow-control credits: the transmitter's limits and the receiver's buffers (PCIe Base 2.6.1).

/// A transmitter's credit counter of `BITS` bits: `CREDIT_LIMIT` and `CREDITS_CONSUMED`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreditCounter<const BITS: u32> {
    limit: u16,
    consumed: u16,
    infinite: bool,
}

impl<const BITS: u32> CreditCounter<BITS> {
    const MASK: u16 = (1 << BITS) - 1;

    pub(crate) const CLOSED: Self = CreditCounter {
        limit: 0,
        consumed: 0,
        infinite: false,
    };

    /// Sets the initial limit from InitFC. Zero means infinite credit.
    pub(crate) fn open(&mut self, limit: u16) {
        self.limit = limit;
        self.infinite = limit == 0;
    }

    /// Sets a later limit from UpdateFC.
    pub(crate) fn raise(&mut self, limit: u16) {
        self.limit = limit;
    }

    /// Whether `needed` credits may be sent. PCIe Base 2.6.1.2: (`CREDIT_LIMIT` - `CUMULATIVE_CREDITS_REQUIRED`) mod 2^BITS <=
    /// 2^BITS / 2.
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

/// The transmitter's credit for one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) headers: CreditCounter<8>,
    pub(crate) data: CreditCounter<12>,
}

impl Budget {
    pub(crate) const CLOSED: Budget = Budget {
        headers: CreditCounter::CLOSED,
        data: CreditCounter::CLOSED,
    };

    pub(crate) fn allows(&self, data: u16) -> bool {
        self.headers.allows(1) && self.data.allows(data)
    }

    pub(crate) fn consume(&mut self, data: u16) {
        self.headers.consume(1);
        self.data.consume(data);
    }
}

/// A receiver's buffer for headers or for data of one class, counted in credits. A size of zero means infinite credit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBuffer<const BITS: u32> {
    size: u16,
    used: u16,
    /// `CREDITS_ALLOCATED`, and its value when it was last announced.
    allocated: u16,
    announced: u16,
    /// The number of free credits to announce that makes an UpdateFC due.
    update_threshold: u16,
    /// The credits that the largest packet needs. If the far end has fewer, any freed credit makes an UpdateFC due.
    packet: u16,
    /// Credits that are scheduled to be freed.
    releasing: u16,
}

impl<const BITS: u32> ReceiveBuffer<BITS> {
    const MASK: u16 = (1 << BITS) - 1;
    /// The largest size: a receiver announces at most half of the counter's range (PCIe Base 2.6.1.2).
    pub(crate) const LARGEST: u16 = (1 << (BITS - 1)) - 1;

    /// A buffer of `size` credits. An UpdateFC is due when a `share` of them is free and not announced. The largest packet takes
    /// `packet` credits.
    pub(crate) fn new(size: u16, share: f64, packet: u16) -> Self {
        let size = size.min(Self::LARGEST);
        let update_threshold = (f64::from(size) * share).ceil().max(1.0) as u16;
        ReceiveBuffer {
            size,
            used: 0,
            allocated: size,
            announced: size,
            update_threshold,
            packet,
            releasing: 0,
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
                "a transmitter sends only within its credit limit"
            );
        }
    }

    #[inline]
    fn free(&mut self, credits: u16) {
        if self.size > 0 {
            assert!(
                self.used >= credits,
                "a buffer frees at most the credits in use"
            );
            self.used -= credits;
            self.allocated = self.allocated.wrapping_add(credits) & Self::MASK;
        }
    }

    #[inline]
    fn unannounced(&self) -> u16 {
        self.allocated.wrapping_sub(self.announced) & Self::MASK
    }

    #[inline]
    fn is_update_due(&self) -> bool {
        self.makes_update_due(self.unannounced())
    }

    fn will_update_be_due(&self) -> bool {
        self.size > 0 && self.makes_update_due(self.unannounced() + self.releasing)
    }

    /// Whether `credits` credits to announce make an UpdateFC due. One must be scheduled when credit is freed and the far end had
    /// too little for a packet (PCIe Base 2.6.1.2).
    #[inline]
    fn makes_update_due(&self, credits: u16) -> bool {
        credits >= self.update_threshold || credits > 0 && self.starves_without(0)
    }

    /// Whether the far end, after spending `credits` more credits, has too little for the largest packet.
    #[inline]
    fn starves_without(&self, credits: u16) -> bool {
        self.size > 0 && self.size < self.used + self.unannounced() + credits + self.packet
    }
}

/// A receiver's buffers for one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassBuffers {
    pub(crate) headers: ReceiveBuffer<8>,
    pub(crate) data: ReceiveBuffer<12>,
}

impl ClassBuffers {
    #[inline]
    pub(crate) fn take(&mut self, data: u16) {
        self.headers.take(1);
        self.data.take(data);
    }

    #[inline]
    pub(crate) fn free(&mut self, data: u16) {
        self.headers.free(1);
        self.data.free(data);
    }

    /// Schedules the release of a packet with `data` data credits.
    #[inline]
    pub(crate) fn begin_release(&mut self, data: u16) {
        self.headers.releasing += 1;
        self.data.releasing += data;
    }

    /// Removes a scheduled release, because the packet leaves the buffer now.
    #[inline]
    pub(crate) fn end_release(&mut self, data: u16) {
        self.headers.releasing -= 1;
        self.data.releasing -= data;
    }

    pub(crate) fn forget_releases(&mut self) {
        self.headers.releasing = 0;
        self.data.releasing = 0;
    }

    #[inline]
    pub(crate) fn will_update_be_due(&self) -> bool {
        self.headers.will_update_be_due() || self.data.will_update_be_due()
    }

    #[inline]
    pub(crate) fn has_unannounced(&self) -> bool {
        self.headers.unannounced() > 0 || self.data.unannounced() > 0
    }

    #[inline]
    pub(crate) fn is_update_due(&self) -> bool {
        self.headers.is_update_due() || self.data.is_update_due()
    }

    /// Whether the far end, after sending a packet with `data` data credits, has too little credit for the largest packet.
    #[inline]
    pub(crate) fn starves_without(&self, data: u16) -> bool {
        self.headers.starves_without(1) || self.data.starves_without(data)
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.headers.size > 0 || self.data.size > 0
    }

    /// Returns the limits to announce, and counts them as announced.
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
        let mut counter = CreditCounter::<8>::CLOSED;
        assert!(!counter.allows(1));
        counter.open(0);
        assert!(counter.allows(100));
    }

    proptest! {
        #[test]
        fn credits_are_never_negative_nor_leaked(steps in prop::collection::vec((any::<bool>(), 0_u16..40), 1..2000)) {
            let mut buffer = ClassBuffers { headers: ReceiveBuffer::new(20, 0.0, 1), data: ReceiveBuffer::new(300, 0.0, 40) };
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

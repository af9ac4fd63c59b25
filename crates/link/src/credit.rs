//! Flow-control credits: the transmitter's limits and the receiver's buffers (PCIe Base 2.6.1), with scaled flow control (3.4.2).

use kernel::Time;
use protocol::{Class, Credit, Scale};

use crate::policy::UpdateRule;

/// A transmitter's credit counter. DLLPs carry `BITS` bits of the limit; with scaled flow control the counter has up to four more
/// (PCIe Base 3.4.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreditCounter<const BITS: u32> {
    /// The credits that may still be sent: `CREDIT_LIMIT` - `CREDITS_CONSUMED`.
    left: u16,
    /// `CREDITS_CONSUMED`, modulo the range of the counter.
    consumed: u16,
    /// The initial limit, which is the size of the far end's buffer.
    size: u16,
    scale: Scale,
    infinite: bool,
}

impl<const BITS: u32> CreditCounter<BITS> {
    pub(crate) const CLOSED: Self = CreditCounter {
        left: 0,
        consumed: 0,
        size: 0,
        scale: Scale::Unscaled,
        infinite: false,
    };

    /// Sets the initial limit from InitFC, in units of `scale`. Zero means infinite credit.
    pub(crate) fn open(&mut self, units: u16, scale: Scale) {
        self.scale = scale;
        self.infinite = units == 0;
        self.raise(units);
        self.size = self.left;
    }

    /// Sets a later limit from UpdateFC, in the units of InitFC. A transmitter can have at most half of the counter's range left. A larger
    /// difference means that the transmitter has already consumed more than the limit, and no credit is left (PCIe Base 2.6.1.2:
    /// (`CREDIT_LIMIT` - `CUMULATIVE_CREDITS_REQUIRED`) mod 2^bits <= 2^bits / 2).
    pub(crate) fn raise(&mut self, units: u16) {
        let mask = mask(BITS, self.scale);
        let limit = units << self.scale.shift();
        let left = limit.wrapping_sub(self.consumed) & mask;
        self.left = match self.infinite {
            true => u16::MAX,
            false if left > mask / 2 + 1 => 0,
            false => left,
        };
    }

    /// Whether `needed` credits may be sent.
    pub(crate) fn allows(&self, needed: u16) -> bool {
        needed <= self.left
    }

    /// Whether the size of the far end's buffer is at least `needed` credits.
    pub(crate) fn holds(&self, needed: u16) -> bool {
        needed <= self.size
    }

    /// The credits that may still be sent; `None` if there is no limit.
    pub(crate) fn left(&self) -> Option<u16> {
        (!self.infinite).then_some(self.left)
    }

    pub(crate) fn consume(&mut self, used: u16) {
        self.consumed = self.consumed.wrapping_add(used);
        if !self.infinite {
            self.left -= used;
        }
    }
}

/// The bits of a counter whose field in DLLPs has `bits` bits.
fn mask(bits: u32, scale: Scale) -> u16 {
    u16::MAX >> (u16::BITS - bits - scale.shift())
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

    /// Sets the initial limits from InitFC.
    pub(crate) fn open(&mut self, credit: &Credit) {
        self.headers
            .open(u16::from(credit.headers), credit.header_scale);
        self.data.open(credit.data, credit.data_scale);
    }

    /// Sets later limits from UpdateFC.
    pub(crate) fn raise(&mut self, credit: &Credit) {
        self.headers.raise(u16::from(credit.headers));
        self.data.raise(credit.data);
    }

    pub(crate) fn left(&self) -> CreditLeft {
        CreditLeft {
            headers: self.headers.left(),
            data: self.data.left(),
        }
    }

    pub(crate) fn allows(&self, data: u16) -> bool {
        self.headers.allows(1) && self.data.allows(data)
    }

    /// Whether the far end's buffer, when empty, has space for a packet with `data` data credits.
    pub(crate) fn holds(&self, data: u16) -> bool {
        self.headers.holds(1) && self.data.holds(data)
    }

    pub(crate) fn consume(&mut self, data: u16) {
        self.headers.consume(1);
        self.data.consume(data);
    }
}

/// The credit of one class that a transmitter may still send. `None` stands for infinite credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditLeft {
    /// Header credits.
    pub headers: Option<u16>,
    /// Data credits of 16 bytes.
    pub data: Option<u16>,
}

/// A receiver's buffer for headers or for data of one class, counted in credits. A size of zero means infinite credit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBuffer<const BITS: u32> {
    size: u16,
    /// The announced credits that the far end has not used yet, as far as this end can count.
    left: u16,
    /// The freed credits that are not announced yet. The rest of the buffer, which is neither `left` nor `freed`, is in use.
    freed: u16,
    /// Credits that are scheduled to be freed.
    releasing: u16,
    /// The number of freed credits from which on an UpdateFC is due.
    update_threshold: u16,
    /// The credits that the largest packet needs. If the far end has fewer credits, any freed credit makes an UpdateFC due.
    packet: u16,
    /// The largest number of credits that is less than one unit of the scaling factor, as a bit mask.
    part_of_unit: u16,
    limit: u16,
    scale: Scale,
    /// Whether the credit counters of the two ends may differ, because software can initialise a channel again at one end only.
    is_tolerant: bool,
}

impl<const BITS: u32> ReceiveBuffer<BITS> {
    /// A buffer of `size` credits. The largest packet occupies `packet` credits. The initial limit is not fixed yet.
    pub(crate) fn new(size: u16, packet: u16) -> Self {
        ReceiveBuffer {
            size,
            left: size,
            freed: 0,
            releasing: 0,
            update_threshold: 1,
            packet,
            part_of_unit: 0,
            limit: 0,
            scale: Scale::Unscaled,
            is_tolerant: false,
        }
    }

    /// Fixes the initial limit, with or without scaled flow control. Credits that cannot be announced are never used: credits beyond the
    /// largest limit (PCIe Base 3.4.2, table 3-2), and credits that do not fill a unit of the scaling factor. An UpdateFC is due when a
    /// `share` of the buffer is free and not announced.
    fn fix_limit(&mut self, is_scaled: bool, share: f64) {
        self.scale = if is_scaled {
            Scale::for_credits(self.size.into(), BITS)
        } else {
            Scale::Unscaled
        };
        self.part_of_unit = (1 << self.scale.shift()) - 1;
        let largest = mask(BITS, self.scale) >> 1;
        self.size = self.size.min(largest) & !self.part_of_unit;
        (self.left, self.limit, self.freed) = (self.size, self.size, 0);
        self.update_threshold = (f64::from(self.size) * share).ceil().max(1.0) as u16;
    }

    /// Stops all announcements, because the link is down. Credits that are freed while it is down only empty the buffer.
    fn close(&mut self) {
        let used = self.used();
        (self.left, self.freed) = (self.size - used, 0);
        self.part_of_unit = 0;
    }

    fn is_infinite(&self) -> bool {
        self.size == 0
    }

    fn used(&self) -> u16 {
        self.size - self.left - self.freed
    }

    #[inline]
    fn take(&mut self, credits: u16) {
        if !self.is_infinite() {
            if credits > self.left {
                return self.overflow();
            }
            self.left -= credits;
        }
    }

    #[inline]
    fn free(&mut self, credits: u16) {
        if !self.is_infinite() {
            if credits > self.used() {
                return self.free_rest();
            }
            self.freed += credits;
        }
    }

    /// Accepts a packet for which the far end had no credit.
    fn overflow(&mut self) {
        assert!(
            self.is_tolerant,
            "a transmitter sends only within its credit limit"
        );
        self.left = 0;
    }

    /// Frees the rest of the credits in use, for a packet for which the far end had too little credit.
    fn free_rest(&mut self) {
        assert!(
            self.is_tolerant,
            "a buffer frees at most the credits in use"
        );
        self.freed += self.used();
    }

    /// The credits of packets that are in the buffer and whose release is not scheduled.
    fn held(&self) -> u16 {
        match self.size {
            0 => 0,
            _ => self.used().saturating_sub(self.releasing),
        }
    }

    /// Whether the freed credits include a whole unit of the scaling factor, which an UpdateFC can announce.
    fn can_announce(&self) -> bool {
        self.freed > self.part_of_unit
    }

    /// The limit to announce, in units of the scaling factor. The limit counts as announced from this call on.
    fn announce(&mut self) -> u16 {
        let whole = self.freed & !self.part_of_unit;
        self.freed -= whole;
        self.left += whole;
        self.limit = self.limit.wrapping_add(whole) & mask(BITS, self.scale);
        self.limit >> self.scale.shift()
    }

    fn is_update_due(&self) -> bool {
        self.makes_update_due(self.freed)
    }

    fn will_update_be_due(&self) -> bool {
        !self.is_infinite() && self.makes_update_due(self.freed + self.releasing)
    }

    /// Whether `credits` freed credits make an UpdateFC due. An UpdateFC must be scheduled if credit is freed and the far end had too little
    /// credit for a packet (PCIe Base 2.6.1.2).
    fn makes_update_due(&self, credits: u16) -> bool {
        credits > self.part_of_unit && (credits >= self.update_threshold || self.starves_without(0))
    }

    /// Whether the far end has too little credit for the largest packet after it has used `credits` more credits.
    fn starves_without(&self, credits: u16) -> bool {
        self.left < credits + self.packet && !self.is_infinite()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassBuffers {
    headers: ReceiveBuffer<8>,
    data: ReceiveBuffer<12>,
    /// The time at which the limits were last sent.
    pub(crate) announced_at: Time,
    /// The time since which freed credit is not announced, or [`Time::NEVER`].
    pub(crate) unannounced_since: Time,
    /// Whether the initial limits may have reached the far end, so that the far end may send packets.
    pub(crate) is_open: bool,
    /// The number of packets that have left the buffer since the last UpdateFC. If each packet has its own UpdateFC, the number of UpdateFCs
    /// that are not sent yet.
    owed: u16,
}

impl ClassBuffers {
    /// Buffers of `size` header and data credits. The largest packet occupies `data` data credits. The limits are not fixed yet.
    pub(crate) fn new(size: (u16, u16), data: u16) -> Self {
        ClassBuffers {
            headers: ReceiveBuffer::new(size.0, 1),
            data: ReceiveBuffer::new(size.1, data),
            announced_at: Time::ZERO,
            unannounced_since: Time::NEVER,
            is_open: true,
            owed: 0,
        }
    }

    /// The buffers of an end whose channels are enabled by software. Software may initialise a channel again at one end only; then the
    /// credit counters of the two ends differ.
    pub(crate) fn tolerant(mut self) -> Self {
        self.headers.is_tolerant = true;
        self.data.is_tolerant = true;
        self
    }

    /// The buffers of a channel that is not initialised.
    pub(crate) fn closed(mut self) -> Self {
        self.is_open = false;
        self
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, data: u16) {
        self.headers.take(1);
        self.data.take(data);
    }

    /// Frees the credits of a packet that leaves at `at`.
    #[inline]
    pub(crate) fn free(&mut self, data: u16, at: Time) {
        self.headers.free(1);
        self.data.free(data);
        self.owed = self.owed.saturating_add(1);
        if self.unannounced_since == Time::NEVER && self.has_unannounced() {
            self.unannounced_since = at;
        }
    }

    /// Stops all announcements, because the link is down.
    pub(crate) fn close(&mut self) {
        self.headers.close();
        self.data.close();
        self.unannounced_since = Time::NEVER;
        self.owed = 0;
    }

    /// Counts an UpdateFC as sent. Returns whether another UpdateFC is still to be sent.
    pub(crate) fn pay_update(&mut self, rule: UpdateRule) -> bool {
        self.owed = if rule.is_each {
            self.owed.saturating_sub(1)
        } else {
            0
        };
        self.owed > 0
    }

    /// Whether the credits in use include the credits of a packet with `data` data credits, or are infinite.
    pub(crate) fn holds(&self, data: u16) -> bool {
        let has_header = self.headers.is_infinite() || self.headers.used() >= 1;
        has_header && (self.data.is_infinite() || self.data.used() >= data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.headers.used() == 0 && self.data.used() == 0
    }

    /// Schedules the release of the credits of a packet with `data` data credits.
    pub(crate) fn begin_release(&mut self, data: u16) {
        self.headers.releasing += 1;
        self.data.releasing += data;
    }

    /// Removes a scheduled release, because the packet leaves the buffer now.
    pub(crate) fn end_release(&mut self, data: u16) {
        self.headers.releasing -= 1;
        self.data.releasing -= data;
    }

    pub(crate) fn forget_releases(&mut self) {
        self.headers.releasing = 0;
        self.data.releasing = 0;
    }

    pub(crate) fn will_update_be_due(&self) -> bool {
        self.headers.will_update_be_due() || self.data.will_update_be_due()
    }

    pub(crate) fn has_unannounced(&self) -> bool {
        self.headers.can_announce() || self.data.can_announce()
    }

    pub(crate) fn is_update_due(&self) -> bool {
        self.headers.is_update_due() || self.data.is_update_due()
    }

    /// Whether the far end has too little credit for the largest packet after it has sent a packet with `data` data credits.
    pub(crate) fn starves_without(&self, data: u16) -> bool {
        self.headers.starves_without(1) || self.data.starves_without(data)
    }

    /// The header credits and the data credits of packets that are in the buffers and whose release is not scheduled.
    pub(crate) fn held(&self) -> u32 {
        u32::from(self.headers.held()) + u32::from(self.data.held())
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.is_open && (self.headers.size > 0 || self.data.size > 0)
    }

    /// Fixes the initial limits, with or without scaled flow control.
    pub(crate) fn fix_limits(&mut self, is_scaled: bool, rule: UpdateRule) {
        self.headers.fix_limit(is_scaled, rule.share);
        self.data.fix_limit(is_scaled, rule.share);
        self.unannounced_since = Time::NEVER;
        self.owed = 0;
        if rule.packets > 0 {
            let headers = &mut self.headers.update_threshold;
            *headers = rule.packets.min(*headers);
        }
    }

    /// The limits of `class` on `channel`, to be sent at `at`. The limits count as announced from this call on.
    pub(crate) fn announce(&mut self, channel: u8, class: Class, at: Time) -> Credit {
        self.announced_at = at;
        self.unannounced_since = Time::NEVER;
        Credit {
            channel,
            class,
            headers: self.headers.announce() as u8,
            data: self.data.announce(),
            header_scale: self.headers.scale,
            data_scale: self.data.scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn buffers(headers: u16, data: u16, is_scaled: bool) -> ClassBuffers {
        let mut buffers = ClassBuffers::new((headers, data), 40);
        let merged = UpdateRule {
            share: 0.0,
            packets: 0,
            is_each: false,
        };
        buffers.fix_limits(is_scaled, merged);
        buffers
    }

    #[test]
    fn no_credit_means_no_limit_when_advertised_at_first() {
        let mut counter = CreditCounter::<8>::CLOSED;
        assert!(!counter.allows(1));
        counter.open(0, Scale::One);
        assert!(counter.allows(100));
    }

    /// PCIe Base 3.4.2, table 3-2.
    #[test]
    fn a_buffer_announces_at_most_what_its_scaling_factor_can() {
        let announced = |headers, data, is_scaled| {
            let mut buffers = buffers(headers, data, is_scaled);
            let credit = buffers.announce(0, Class::Posted, Time::ZERO);
            (
                buffers.headers.size,
                credit.headers,
                buffers.data.size,
                credit.data,
            )
        };
        assert_eq!(announced(2032, 32752, false), (127, 127, 2047, 2047));
        assert_eq!(announced(127, 2047, true), (127, 127, 2047, 2047));
        assert_eq!(announced(510, 8188, true), (496, 31, 8188, 2047));
        assert_eq!(announced(2032, 32752, true), (2032, 127, 32752, 2047));
        assert_eq!(announced(131, 2051, true), (128, 32, 2048, 512));
    }

    #[test]
    fn freed_credit_is_announced_in_whole_units() {
        let mut buffer = buffers(200, 2000, true).headers;
        for freed in 1..=3 {
            buffer.take(1);
            buffer.free(1);
            assert!(!buffer.is_update_due(), "{freed} credits are less than 4");
        }
        buffer.take(1);
        buffer.free(1);
        assert!(buffer.is_update_due());
        assert_eq!(buffer.announce(), 51);
    }

    /// A step of a transmitter and a receiver: either a packet with this number of data credits is sent, or the oldest packet is freed.
    type Step = (bool, u16);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        prop::collection::vec((any::<bool>(), 0_u16..40), 1..2000)
    }

    proptest! {
        #[test]
        fn credits_are_never_negative_nor_leaked(
            steps in steps(),
            sizes in prop_oneof![Just((20, 300)), Just((400, 6000)), Just((2000, 32_000))],
            is_scaled: bool,
        ) {
            let mut buffers = buffers(sizes.0, sizes.1, is_scaled);
            let mut budget = Budget::CLOSED;
            budget.open(&buffers.announce(0, Class::Posted, Time::ZERO));
            let sizes = (buffers.headers.size, buffers.data.size);
            let mut held = std::collections::VecDeque::new();
            for (send, data) in steps {
                if send && budget.allows(data) {
                    budget.consume(data);
                    buffers.take(data);
                    held.push_back(data);
                } else if let Some(data) = held.pop_front() {
                    buffers.free(data, Time::ZERO);
                    if buffers.has_unannounced() {
                        budget.raise(&buffers.announce(0, Class::Posted, Time::ZERO));
                    }
                }
            }
            let used: u16 = held.iter().sum();
            let (headers, data) = (sizes.0 - held.len() as u16, sizes.1 - used);
            prop_assert!(!budget.data.allows(data + 1) && !budget.headers.allows(headers + 1));
            // Credits that do not fill a unit of the scaling factor cannot be announced.
            let least = data.saturating_sub(buffers.data.part_of_unit);
            prop_assert!(budget.data.allows(least));
            prop_assert!(budget.headers.allows(headers.saturating_sub(buffers.headers.part_of_unit)));
        }
    }
}

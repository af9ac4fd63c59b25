//! The performance counters of the management engine (FME DPERF). They count requests on the link and accesses to registers for each port, and
//! the cycles of a clock.
//!
//! The link's counters count requests of any length: reads and atomic requests of a port, and its writes without interrupts. The register
//! counters count the host's requests to the registers of a unit.

use kernel::{Span, Time};

use super::words::{merged, part_of};

/// The counters, and the control register that selects one of them.
#[derive(Clone, Debug)]
pub(super) struct Performance {
    control: CounterControl,
    /// The counts of each port, by [`Event`].
    counts: Vec<[u64; EVENTS]>,
    /// A cycle of the interface clock.
    cycle: Span,
}

/// An event of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request of the unit on the link that waits for completions.
    LinkRead,
    /// A write of the unit on the link.
    LinkWrite,
    /// A read of the unit's registers.
    RegisterRead,
    /// A write to the unit's registers.
    RegisterWrite,
}

const EVENTS: usize = 4;

/// The control register of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterControl(pub u64);

/// Offset of the control register from the feature header.
pub(super) const FABRIC_CONTROL: u64 = 0x20;
/// Offset of the counter that the control register selects.
pub(super) const FABRIC_COUNTER: u64 = 0x28;
/// Offset of the counter of the interface clock.
pub(super) const CLOCK: u64 = 0x30;

/// The lowest bit of the event code in a counter's register. The bits below have the count.
const COUNTED: u32 = 60;
/// The bits of a counter's register that have the count.
pub const COUNT: u64 = (1 << COUNTED) - 1;

const RESET: u64 = 1;
const FREEZE: u64 = 1 << 8;
const CODE: u32 = 16;
const CODE_MASK: u64 = 0xf << CODE;
const PORT: u32 = 20;
const PORT_MASK: u64 = 3 << PORT;
const FILTER: u64 = 1 << 23;
/// The fields that software can read back.
const KEPT: u64 = FREEZE | CODE_MASK | PORT_MASK | FILTER;

/// The codes of the events in the control register, in the order of [`Event`]. All other codes are events of links and caches that the card does
/// not have.
const CODES: [(u64, Event); EVENTS] = [
    (0, Event::LinkRead),
    (1, Event::LinkWrite),
    (6, Event::RegisterRead),
    (7, Event::RegisterWrite),
];

impl Event {
    /// The code of the event in the control register.
    fn code(self) -> u64 {
        CODES[self as usize].0
    }
}

impl CounterControl {
    /// Whether the counters are frozen.
    pub fn is_frozen(self) -> bool {
        self.0 & FREEZE != 0
    }

    /// Sets whether the counters are frozen.
    #[must_use]
    pub fn with_frozen(self, is_frozen: bool) -> Self {
        CounterControl(self.0 & !FREEZE | if is_frozen { FREEZE } else { 0 })
    }

    /// The port whose events the selected counter counts; none if it counts the events of all ports.
    pub fn port(self) -> Option<u8> {
        (self.0 & FILTER != 0).then_some((self.0 >> PORT & 3) as u8)
    }

    /// Selects the events of one port, or of all ports.
    #[must_use]
    pub fn with_port(self, port: Option<u8>) -> Self {
        let selected = port.map_or(0, |port| FILTER | u64::from(port) << PORT & PORT_MASK);
        CounterControl(self.0 & !(FILTER | PORT_MASK) | selected)
    }

    /// Selects the counter of an event.
    #[must_use]
    pub fn with_event(self, event: Event) -> Self {
        CounterControl(self.0 & !CODE_MASK | event.code() << CODE)
    }

    fn code(self) -> u64 {
        (self.0 & CODE_MASK) >> CODE
    }
}

impl Performance {
    /// Counters of `ports` ports, and of a clock with this cycle.
    pub(super) fn new(ports: usize, cycle: Span) -> Self {
        Performance {
            control: CounterControl::default(),
            counts: vec![[0; EVENTS]; ports],
            cycle,
        }
    }

    /// Counts an event of a port, unless the counters are frozen.
    pub(super) fn count(&mut self, port: u8, event: Event) {
        if !self.control.is_frozen() {
            self.counts[usize::from(port)][event as usize] += 1;
        }
    }

    /// Loads from a register at an offset from the feature header.
    pub(super) fn load(&self, offset: u64, len: u32, now: Time) -> u64 {
        let register = match offset & !7 {
            FABRIC_CONTROL => self.control.0,
            FABRIC_COUNTER => self.control.code() << COUNTED | self.selected() & COUNT,
            CLOCK => now.since(Time::ZERO).as_fs() / self.cycle.as_fs().max(1),
            _ => 0,
        };
        part_of(register, offset, len)
    }

    /// The value of the counter that the control register selects.
    fn selected(&self) -> u64 {
        let code = self.control.code();
        let Some((_, event)) = CODES.iter().find(|(known, _)| *known == code) else {
            return 0;
        };
        let of = |counts: &[u64; EVENTS]| counts[*event as usize];
        match self.control.port() {
            Some(port) => self.counts.get(usize::from(port)).map_or(0, of),
            None => self.counts.iter().map(of).sum(),
        }
    }

    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) {
        if offset & !7 != FABRIC_CONTROL {
            return;
        }
        let value = merged(self.control.0, offset, bytes).0;
        if value & RESET != 0 {
            self.counts.fill([0; EVENTS]);
        }
        self.control = CounterControl(value & KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> Performance {
        let mut counters = Performance::new(2, Span::from_fs(2_500_000));
        for _ in 0..3 {
            counters.count(0, Event::LinkWrite);
        }
        counters.count(1, Event::LinkWrite);
        counters.count(1, Event::RegisterRead);
        counters
    }

    fn read(counters: &mut Performance, control: u64) -> u64 {
        counters.store(FABRIC_CONTROL, &control.to_le_bytes());
        counters.load(FABRIC_COUNTER, 8, Time::ZERO)
    }

    #[test]
    fn a_counter_is_of_all_ports_or_of_one() {
        let mut counters = counters();
        assert_eq!(read(&mut counters, 1 << 16), 1 << 60 | 4);
        assert_eq!(read(&mut counters, 1 << 16 | FILTER), 1 << 60 | 3);
        assert_eq!(read(&mut counters, 1 << 16 | FILTER | 1 << 20), 1 << 60 | 1);
        assert_eq!(read(&mut counters, 6 << 16), 6 << 60 | 1);
        assert_eq!(read(&mut counters, 2 << 16), 2 << 60);
        assert_eq!(read(&mut counters, 1 << 16 | FILTER | 3 << 20), 1 << 60);
    }

    #[test]
    fn a_driver_selects_the_event_and_the_port_that_the_counters_show() {
        let mut counters = counters();
        for (number, (code, event)) in CODES.into_iter().enumerate() {
            assert_eq!((event as usize, event.code()), (number, code));
        }
        let of = |event, port| CounterControl::default().with_event(event).with_port(port);
        let mut counted = |control: CounterControl| read(&mut counters, control.0) & COUNT;
        assert_eq!(counted(of(Event::LinkWrite, None)), 4);
        assert_eq!(counted(of(Event::LinkWrite, Some(1))), 1);
        assert_eq!(counted(of(Event::RegisterRead, Some(0))), 0);
        assert_eq!(of(Event::LinkWrite, Some(1)).with_port(None).port(), None);
        assert!(
            !of(Event::LinkRead, None)
                .with_frozen(true)
                .with_frozen(false)
                .is_frozen()
        );
    }

    #[test]
    fn frozen_counters_do_not_count_and_a_reset_clears_all() {
        let mut counters = counters();
        read(&mut counters, FREEZE);
        counters.count(0, Event::LinkRead);
        assert_eq!(read(&mut counters, 0), 0);
        counters.count(0, Event::LinkRead);
        assert_eq!(read(&mut counters, 0), 1);
        assert_eq!(read(&mut counters, RESET | 1 << 16), 1 << 60);
        assert_eq!(counters.load(FABRIC_CONTROL, 8, Time::ZERO), 1 << 16);
    }

    #[test]
    fn the_clock_counts_cycles() {
        let now = Time::ZERO + Span::from_ns(1000);
        assert_eq!(counters().load(CLOCK, 8, now), 400);
    }
}

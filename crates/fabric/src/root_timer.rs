//! What a root complex asks to be woken for.

use kernel::{Label, Port};
use link::LinkTimer;

/// What a root complex asks to be woken for.
#[derive(Clone, Copy, Debug)]
pub enum RootTimer {
    /// A timer of a root port's link.
    Link(Port, LinkTimer),
    /// A read is answered.
    Read,
    /// The CPU has a request.
    Cpu,
    /// The CPU waits no longer for a configuration space.
    Configuration,
    /// An interrupt reaches the CPU, or word of a write.
    Notice,
    /// A packet is in the socket that it goes to.
    Across,
    /// A message between coherent agents is where it goes.
    Coherence,
    /// The translation agent goes on.
    Translation,
}

/// Timers of a root complex besides those of its links.
const OWN_TIMERS: u32 = 7;

impl Label for RootTimer {
    fn number(self) -> u32 {
        match self {
            RootTimer::Read => 0,
            RootTimer::Cpu => 1,
            RootTimer::Configuration => 2,
            RootTimer::Notice => 3,
            RootTimer::Across => 4,
            RootTimer::Coherence => 5,
            RootTimer::Translation => 6,
            RootTimer::Link(port, timer) => {
                OWN_TIMERS + u32::from(port.0) * LinkTimer::COUNT + timer as u32
            }
        }
    }
    fn from_number(number: u32) -> Self {
        match number {
            0 => RootTimer::Read,
            1 => RootTimer::Cpu,
            2 => RootTimer::Configuration,
            3 => RootTimer::Notice,
            4 => RootTimer::Across,
            5 => RootTimer::Coherence,
            6 => RootTimer::Translation,
            _ => {
                let of_links = number - OWN_TIMERS;
                RootTimer::Link(
                    Port((of_links / LinkTimer::COUNT) as u16),
                    LinkTimer::from_number(of_links % LinkTimer::COUNT),
                )
            }
        }
    }
}

impl From<(Port, LinkTimer)> for RootTimer {
    fn from((port, timer): (Port, LinkTimer)) -> Self {
        RootTimer::Link(port, timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_timers_have_one_number() {
        for number in 0..OWN_TIMERS + 2 * LinkTimer::COUNT {
            let timer = RootTimer::from_number(number);
            let of_link = matches!(timer, RootTimer::Link(..));
            assert_eq!((timer.number(), of_link), (number, number >= OWN_TIMERS));
        }
    }
}

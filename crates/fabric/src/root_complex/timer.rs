//! The timers of a root complex.

use kernel::{Component, Label, Port};
use link::LinkTimer;
use packet::Pcie;

/// A timer of a root complex.
#[derive(Clone, Copy, Debug)]
pub enum RootTimer {
    /// A timer of a root port's link.
    Link(Port, LinkTimer),
    /// An answer of the memory is due.
    Read,
    /// A request of the CPU is due.
    Cpu,
    /// A configuration request of the CPU times out.
    Configuration,
    /// A notification to the CPU is due.
    Notice,
    /// A write receives its response.
    Response,
    /// A packet leaves its quadrant.
    Quadrant,
    /// A packet arrives at another socket.
    Across,
    /// A coherence message arrives within the host.
    Coherence,
    /// An event of the translation agent is due.
    Translation,
}

/// The number of timers of a root complex, without the timers of its links.
const OWN_TIMERS: u32 = 9;

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
            RootTimer::Quadrant => 7,
            RootTimer::Response => 8,
            RootTimer::Link(port, timer) => {
                OWN_TIMERS + u32::from(port.0) * LinkTimer::COUNT + timer as u32
            }
        }
    }
    #[inline]
    fn from_number(number: u32) -> Self {
        match number {
            0 => RootTimer::Read,
            1 => RootTimer::Cpu,
            2 => RootTimer::Configuration,
            3 => RootTimer::Notice,
            4 => RootTimer::Across,
            5 => RootTimer::Coherence,
            6 => RootTimer::Translation,
            7 => RootTimer::Quadrant,
            8 => RootTimer::Response,
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

/// A root complex with any type of CPU, for the parts of the root complex that do not depend on this type.
pub(super) trait RootComponent:
    Component<Traffic = Pcie, Port = Port, Timer = RootTimer>
{
}

impl<C: Component<Traffic = Pcie, Port = Port, Timer = RootTimer>> RootComponent for C {}

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

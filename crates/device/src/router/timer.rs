//! The timers of a router, and their numbers.

use kernel::{Label, Port};
use link::LinkTimer;

use crate::EndpointTimer;

/// A timer of a router.
#[derive(Clone, Copy, Debug)]
pub enum RouterTimer {
    /// A timer of the PCI Express core.
    Endpoint(EndpointTimer),
    /// A timer of a fibre's optical end.
    Fibre(u8, LinkTimer),
    /// An input may continue.
    Input(u8),
    /// An output may continue.
    Output(u8),
}

/// Number of timers of the PCI Express core.
const ENDPOINT_TIMERS: u32 = 2 * LinkTimer::COUNT;

/// An upper limit of the number of inputs and of outputs.
const PLACES: u32 = 16;

impl Label for RouterTimer {
    fn number(self) -> u32 {
        match self {
            RouterTimer::Endpoint(timer) => timer.number(),
            RouterTimer::Input(input) => ENDPOINT_TIMERS + u32::from(input),
            RouterTimer::Output(output) => ENDPOINT_TIMERS + PLACES + u32::from(output),
            RouterTimer::Fibre(fibre, timer) => {
                ENDPOINT_TIMERS + 2 * PLACES + u32::from(fibre) * LinkTimer::COUNT + timer as u32
            }
        }
    }
    fn from_number(number: u32) -> Self {
        let Some(number) = number.checked_sub(ENDPOINT_TIMERS) else {
            return RouterTimer::Endpoint(EndpointTimer::from_number(number));
        };
        match number / PLACES {
            0 => RouterTimer::Input(number as u8),
            1 => RouterTimer::Output((number - PLACES) as u8),
            _ => {
                let of_fibres = number - 2 * PLACES;
                RouterTimer::Fibre(
                    (of_fibres / LinkTimer::COUNT) as u8,
                    LinkTimer::from_number(of_fibres % LinkTimer::COUNT),
                )
            }
        }
    }
}

impl From<EndpointTimer> for RouterTimer {
    fn from(timer: EndpointTimer) -> Self {
        RouterTimer::Endpoint(timer)
    }
}

impl From<(Port, LinkTimer)> for RouterTimer {
    fn from((port, timer): (Port, LinkTimer)) -> Self {
        match port.index().checked_sub(1) {
            None => RouterTimer::Endpoint((port, timer).into()),
            Some(fibre) => RouterTimer::Fibre(fibre as u8, timer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_timers_have_one_number() {
        for number in 0..ENDPOINT_TIMERS + 2 * PLACES + 7 * LinkTimer::COUNT {
            let is_endpoint_gap = (2..LinkTimer::COUNT).contains(&number);
            if !is_endpoint_gap {
                assert_eq!(RouterTimer::from_number(number).number(), number);
            }
        }
    }

    #[test]
    fn every_timer_of_the_link_is_one_of_the_core() {
        for number in 0..LinkTimer::COUNT {
            let timer = EndpointTimer::Link(LinkTimer::from_number(number));
            let found = RouterTimer::from_number(RouterTimer::Endpoint(timer).number());
            assert!(matches!(found, RouterTimer::Endpoint(_)), "{timer:?}");
        }
    }
}

//! What a router asks to be woken for, in numbers.

use kernel::{Label, Port};
use link::LinkTimer;

use crate::EndpointTimer;

/// What a router asks to be woken for.
#[derive(Clone, Copy, Debug)]
pub enum RouterTimer {
    /// A timer of its core.
    Endpoint(EndpointTimer),
    /// A timer of a fibre's end.
    Fibre(u8, LinkTimer),
    /// An input may go on.
    Input(u8),
    /// An output may go on.
    Output(u8),
}

/// Numbers of the core's timers.
const ENDPOINT_TIMERS: u32 = 8;

/// More than there are inputs or outputs.
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
            let is_endpoint_gap = (2..4).contains(&number);
            if !is_endpoint_gap {
                assert_eq!(RouterTimer::from_number(number).number(), number);
            }
        }
    }
}

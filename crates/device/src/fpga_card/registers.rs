//! Offsets of the registers that a driver uses: registers of the management engine in BAR 0, and registers of the port in BAR 2.

pub use super::management::{
    CLOCK_COUNTER, FABRIC_CONTROL, FABRIC_COUNTER, FATAL_ERRORS, FIRST_OWN_ERROR, INJECT,
    LINK_ERRORS, NEXT_OWN_ERROR, NONFATAL_ERRORS, OWN_ERRORS, SECOND_LINK_ERRORS,
};
pub use super::performance::{COUNT, CounterControl, Event as CounterEvent};
pub use super::port::{
    AFU, CONTROL as PORT_CONTROL, DISTANCE as PORT_DISTANCE, ERROR as PORT_ERRORS,
    FIRST_ERROR as FIRST_PORT_ERROR, MALFORMED_REQUEST,
};

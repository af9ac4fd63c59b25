//! The interrupt vectors of a card: for each slot the vectors of its unit and the vector of its port, then the vector of the management
//! engine.

/// Number of user interrupts of a port.
pub const INTERRUPTS: u8 = 4;

/// The number of a port's error interrupt, counted from the first vector of its slot.
const PORT_ALERT: u8 = INTERRUPTS;
const OF_SLOT: u8 = PORT_ALERT + 1;

/// The first vector of slot `slot`, which is interrupt 0 of its unit.
pub const fn first_vector(slot: u8) -> u8 {
    slot * OF_SLOT
}

/// The vector of slot `slot` that signals errors of its port.
pub const fn port_alert(slot: u8) -> u8 {
    first_vector(slot) + PORT_ALERT
}

/// The vector of the management engine that signals errors, on a card with `slots` slots.
pub const fn management_alert(slots: u8) -> u8 {
    first_vector(slots)
}

/// Number of vectors of a card with `slots` slots.
pub const fn vectors(slots: u8) -> u8 {
    management_alert(slots) + 1
}

//! The interrupt vectors of a card: those of its units first.

/// Number of user interrupts of a port.
pub const INTERRUPTS: u8 = 4;

/// The interrupt of the port for errors; it follows those of the AFU.
pub const PORT_ALERT: u8 = INTERRUPTS;
/// The interrupt of the management engine for errors.
pub const MANAGEMENT_ALERT: u8 = PORT_ALERT + 1;
/// Number of interrupts of a card.
pub const VECTORS: u8 = MANAGEMENT_ALERT + 1;

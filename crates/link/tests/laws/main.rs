//! The data-link layer between two ends of a wire: what the specification promises, kept in a world of two.

mod acknowledgement;
mod between;
mod cases;
mod channels;
mod credit;
mod cut_through;
mod errors;
mod initialisation;
mod optical;
mod ordering;
mod pair;
mod wire;

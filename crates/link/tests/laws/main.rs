//! Tests of the data-link layer between two link ends on a wire: the rules of the specification.

mod accepting;
mod acknowledgement;
mod between;
mod cases;
mod channels;
mod credit;
mod cut_through;
mod errors;
mod fairness;
mod initialisation;
mod l0s;
mod l1;
mod optical;
mod ordering;
mod pair;
mod policies;
mod refresh;
mod scaled_credit;
mod training;
mod wire;

//! The functions of an endpoint by their numbers: the physical one is 0, the virtual ones follow.

use transaction::FunctionPlace;

/// The number of the function at `place`; the physical one is 0.
pub(crate) fn number_of(place: FunctionPlace) -> usize {
    match place {
        FunctionPlace::Virtual(number) => number + 1,
        FunctionPlace::Own | FunctionPlace::Port(_) => 0,
    }
}

/// The place of function `number`.
pub(crate) fn place_of(number: usize) -> FunctionPlace {
    number
        .checked_sub(1)
        .map_or(FunctionPlace::Own, FunctionPlace::Virtual)
}

//! The functions of an endpoint by number. The physical function is function 0, and the virtual functions follow.

use transaction::FunctionPlace;

/// The number of the function at `place`; 0 for the physical function.
pub(crate) fn number_of(place: FunctionPlace) -> usize {
    match place {
        FunctionPlace::Virtual(number) => number + 1,
        FunctionPlace::Own | FunctionPlace::Port(_) => 0,
    }
}

pub(crate) fn place_of(number: usize) -> FunctionPlace {
    number
        .checked_sub(1)
        .map_or(FunctionPlace::Own, FunctionPlace::Virtual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_functions_are_numbered_behind_the_physical_one() {
        assert_eq!(place_of(0), FunctionPlace::Own);
        assert_eq!(place_of(1), FunctionPlace::Virtual(0));
        for number in 0..256 {
            assert_eq!(number_of(place_of(number)), number);
        }
    }
}

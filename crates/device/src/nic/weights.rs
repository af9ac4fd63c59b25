//! The weights of functions that share the engine.

use kernel::{Quantity, Value};

use super::registers::FUNCTIONS;

/// The number of packets that each function sends in its turn, written as "4, 2": 4 for the physical function, 2 for the first virtual function,
/// and 1 for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights([u8; FUNCTIONS]);

impl Weights {
    /// Equal weights.
    pub const EQUAL: Self = Self([1; FUNCTIONS]);

    /// The number of packets of a function in its turn, from 1 on.
    pub(super) fn of(self, function: usize) -> u32 {
        self.0[function].into()
    }
}

impl Quantity for Weights {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let text = match value {
            Value::Text(text) => (*text).to_owned(),
            other => other.to_string(),
        };
        let numbers = text.split(',').map(|number| number.trim().parse::<u8>());
        let numbers: Vec<u8> = numbers.map(|number| number.unwrap_or(0)).collect();
        if numbers.len() > FUNCTIONS || numbers.contains(&0) {
            return Err(format!(
                "{value} are no weights; write up to {FUNCTIONS} whole numbers from 1 to 255, of the physical function first, such as \"4, 2\""
            ));
        }
        let mut weights = Self::EQUAL;
        weights.0[..numbers.len()].copy_from_slice(&numbers);
        Ok(weights)
    }

    fn show(&self) -> String {
        let last = self.0.iter().rposition(|weight| *weight != 1).unwrap_or(0);
        self.0[..=last]
            .iter()
            .map(u8::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Weights, String> {
        Weights::read(&Value::Text(text))
    }

    #[test]
    fn functions_that_are_not_written_have_weight_1() {
        let weights = read("4,2").expect("two weights");
        assert_eq!([0, 1, 2].map(|function| weights.of(function)), [4, 2, 1]);
        assert_eq!(weights.show(), "4, 2");
        assert_eq!(read("1"), Ok(Weights::EQUAL));
        assert_eq!(read(&Weights::EQUAL.show()), Ok(Weights::EQUAL));
        assert_eq!(Weights::read(&Value::Integer(4)), read("4"));
    }

    #[test]
    fn other_texts_are_no_weights() {
        for wrong in ["", "0", "4,,2", "256", "4 2", "1,1,1,1,1,1,1,1,1"] {
            let message = format!(
                "{wrong:?} are no weights; write up to 8 whole numbers from 1 to 255, of the physical function first, such as \"4, 2\""
            );
            assert_eq!(read(wrong), Err(message));
        }
    }
}

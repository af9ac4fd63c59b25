//! The element types and operators of an all-reduce.

/// A function that combines the numbers of the second argument into the numbers of the first.
pub type Combine = fn(&mut [u8], &[u8]);

kernel::choices! {
    /// An operator on two numbers.
    pub enum Operator {
        /// The sum; for integers modulo the size of the type.
        Sum = "sum",
        /// The smaller number.
        Min = "min",
        /// The larger number.
        Max = "max",
    }
}

kernel::choices! {
    /// A little-endian number type.
    pub enum Number {
        /// Unsigned integer of 32 bits.
        U32 = "u32",
        /// Unsigned integer of 64 bits.
        U64 = "u64",
        /// Signed integer of 32 bits.
        I32 = "i32",
        /// Signed integer of 64 bits.
        I64 = "i64",
        /// Floating-point number of 32 bits (IEEE 754).
        F32 = "f32",
        /// Floating-point number of 64 bits (IEEE 754).
        F64 = "f64",
    }
}

impl Number {
    /// The size of one number in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Number::U32 | Number::I32 | Number::F32 => 4,
            Number::U64 | Number::I64 | Number::F64 => 8,
        }
    }

    /// The function that combines these numbers.
    pub fn combine(self, operator: Operator) -> Combine {
        macro_rules! by_operator {
            ($type:ty, $sum:path) => {
                match operator {
                    Operator::Sum => |all, others| each!(all, others, $type, $sum),
                    Operator::Min => |all, others| each!(all, others, $type, <$type>::min),
                    Operator::Max => |all, others| each!(all, others, $type, <$type>::max),
                }
            };
        }
        match self {
            Number::U32 => by_operator!(u32, u32::wrapping_add),
            Number::U64 => by_operator!(u64, u64::wrapping_add),
            Number::I32 => by_operator!(i32, i32::wrapping_add),
            Number::I64 => by_operator!(i64, i64::wrapping_add),
            Number::F32 => by_operator!(f32, std::ops::Add::add),
            Number::F64 => by_operator!(f64, std::ops::Add::add),
        }
    }
}

macro_rules! each {
    ($all:ident, $others:ident, $type:ty, $combine:expr) => {{
        let (all, _) = $all.as_chunks_mut();
        let (others, _) = $others.as_chunks();
        for (one, other) in all.iter_mut().zip(others) {
            let both = $combine(<$type>::from_le_bytes(*one), <$type>::from_le_bytes(*other));
            *one = both.to_le_bytes();
        }
    }};
}
use each;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_combined_one_by_one() {
        let bytes = |numbers: [u32; 2]| numbers.map(u32::to_le_bytes).concat();
        for (operator, expected) in [
            (Operator::Sum, [2, 42]),
            (Operator::Min, [3, 2]),
            (Operator::Max, [u32::MAX, 40]),
        ] {
            let mut all = bytes([u32::MAX, 40]);
            Number::U32.combine(operator)(&mut all, &bytes([3, 2]));
            assert_eq!(all, bytes(expected));
        }
    }

    #[test]
    fn each_type_has_its_own_order_and_size() {
        for (_, number) in Number::NAMES {
            let minus_one: &[u8] = match number {
                Number::U32 | Number::I32 => &[0xff; 4],
                Number::U64 | Number::I64 => &[0xff; 8],
                Number::F32 => &(-1.0_f32).to_le_bytes(),
                Number::F64 => &(-1.0_f64).to_le_bytes(),
            };
            assert_eq!(minus_one.len() as u64, number.bytes());
            let zero = vec![0; minus_one.len()];
            let mut most = zero.clone();
            number.combine(Operator::Max)(&mut most, minus_one);
            let is_signed = !matches!(number, Number::U32 | Number::U64);
            assert_eq!(most == zero, is_signed, "{number:?}");
            let mut sum = minus_one.to_vec();
            number.combine(Operator::Sum)(&mut sum, &zero);
            assert_eq!(sum, minus_one);
        }
    }
}

//! Tables whose rows have a name and a meaning.

/// A table with the name and the meaning of each row, and with a value where the rows have one.
macro_rules! named {
    ($($name:ident: $meaning:literal $(=> $value:expr)?;)+) => {
        [$((stringify!($name), $meaning $(, $value)?)),+]
    };
}
pub(crate) use named;

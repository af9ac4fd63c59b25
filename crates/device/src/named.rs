//! Tables whose rows have a name and a meaning.

/// A table whose rows have a name, a meaning and, in some tables, a value.
macro_rules! named {
    ($($name:ident: $meaning:literal $(=> $value:expr)?;)+) => {
        [$((stringify!($name), $meaning $(, $value)?)),+]
    };
}
pub(crate) use named;

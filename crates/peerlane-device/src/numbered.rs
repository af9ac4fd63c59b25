//! Enumerations whose values have a number in the C interface and a text in messages.

/// Declares an enumeration. Each value has a text.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$help:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$help])* $value,)*
        }

        impl $name {
            /// All values, in the order of their numbers in the C interface.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$value),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(match self {
                    $(Self::$value => $text,)*
                })
            }
        }
    };
}

pub(crate) use numbered;

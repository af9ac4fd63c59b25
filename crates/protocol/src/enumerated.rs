//! Enumerations with a list of all their values and, if names are given, with the name of each value.

/// Declares an enumeration with all its values in `ALL` and, if each value has a name, with a method `name`.
macro_rules! enumerated {
    (
        $(#[$outer:meta])*
        pub enum $type:ident {
            $($(#[$inner:meta])* $variant:ident $(= $number:literal)? => $name:literal,)+
        }
    ) => {
        $crate::enumerated::enumerated! {
            $(#[$outer])*
            pub enum $type { $($(#[$inner])* $variant $(= $number)?,)+ }
        }

        impl $type {
            /// The name of the value, in the words of the specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
    (
        $(#[$outer:meta])*
        pub enum $type:ident {
            $($(#[$inner:meta])* $variant:ident $(= $number:literal)?,)+
        }
    ) => {
        $(#[$outer])*
        pub enum $type { $($(#[$inner])* $variant $(= $number)?,)+ }

        impl $type {
            /// All values, in the order of their numbers.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];
        }
    };
}
pub(crate) use enumerated;

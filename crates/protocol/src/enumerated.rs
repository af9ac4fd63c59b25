//! Enumerations that know all their values, and the name of each if it stands beside it.

/// Declares an enumeration with its values in `ALL`, and with `name` if each has a name.
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

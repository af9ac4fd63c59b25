//! Entries of the lists of workloads in a scenario.

use kernel::{Declaration, Kind};

use ::scenario::{At, Lines, Row, ScenarioError, Section};

use crate::scenario::FabricScenario;
use crate::scenario::entries::of_form;

/// An entry of a list of workloads in a scenario.
pub(crate) trait Entry: Sized {
    /// The word for an entry. An entry without an id is named with this word and its number.
    const NOUN: &'static str;

    /// The keys that every entry must have, each with its kind and its help.
    const NAMES: &[(&'static str, Kind, &'static str)];

    /// The declarations of the other keys, each with the names of the lists that have them.
    fn declarations() -> Vec<(&'static str, Vec<Declaration>)>;

    /// Reads all keys of an entry except its id.
    fn read(id: At<String>, section: Section<'_>) -> Result<Self, ScenarioError>;

    fn id(&self) -> &At<String>;

    /// The line numbers of the entry and its keys.
    fn lines(&self) -> &Lines;

    fn error(&self, scenario: &FabricScenario, key: &str, message: &str) -> ScenarioError {
        let message = format!("{} {:?}, {key}: {message}", Self::NOUN, self.id().value);
        scenario.error(self.lines().of(key), message)
    }
}

/// Declares a kind of entry: the keys that it must have, each with its help and with a description of its value for messages; lists that it must
/// have; lists that may be absent; and its sets of other parameters, each with the names of the lists that have these parameters.
macro_rules! entry {
    (
        $(#[$outer:meta])*
        pub struct $name:ident, called $noun:literal {
            $($(#[doc = $help:literal])+ $key:ident: $type:ty, of $what:literal;)*
            $(lists { $($(#[doc = $many_help:literal])+ $many:ident: $item:ty, of $each:literal;)+ })?
            $(optional lists { $($(#[doc = $any_help:literal])+ $any:ident: $any_item:ty;)+ })?
            $(..$set:ident: $parameters:ty, in $lists:literal;)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug)]
        pub struct $name {
            /// The name of the entry. If none is written, it is the noun of the list and the number of the entry.
            pub id: ::scenario::At<String>,
            $($(#[doc = $help])+ pub $key: ::scenario::At<$type>,)*
            $($($(#[doc = $many_help])+ pub $many: Vec<::scenario::At<$item>>,)+)?
            $($($(#[doc = $any_help])+ pub $any: Vec<::scenario::At<$any_item>>,)+)?
            $(/// Parameters of the entry.
            pub $set: $parameters,)+
            /// The line numbers of the entry and its keys.
            pub lines: ::scenario::Lines,
        }

        impl $crate::workload::Entry for $name {
            const NOUN: &'static str = $noun;
            const NAMES: &[(&'static str, kernel::Kind, &'static str)] = &[
                $((stringify!($key), kernel::Kind::Text, concat!($($help),+).trim_ascii()),)*
                $($((stringify!($many), kernel::Kind::List, concat!($($many_help),+).trim_ascii()),)+)?
                $($((stringify!($any), kernel::Kind::List, concat!($($any_help),+).trim_ascii()),)+)?
            ];

            fn declarations() -> Vec<(&'static str, Vec<kernel::Declaration>)> {
                vec![$(($lists, <$parameters as kernel::Parameters>::declarations())),+]
            }

            fn read(
                id: ::scenario::At<String>,
                mut section: ::scenario::Section<'_>,
            ) -> Result<Self, ::scenario::ScenarioError> {
                $(let $key = $crate::scenario::need(&mut section, stringify!($key), $what)?;)*
                $($(let $many = $crate::scenario::need_list(&mut section, stringify!($many), $each)?;)+)?
                $($(let $any = section.list(stringify!($any))?;)+)?
                $(let mut $set = <$parameters>::default();)+
                let lines = section.set(&mut [$(&mut $set),+])?;
                Ok(Self { id, $($key,)* $($($many,)+)? $($($any,)+)? $($set,)+ lines })
            }

            fn id(&self) -> &::scenario::At<String> {
                &self.id
            }

            fn lines(&self) -> &::scenario::Lines {
                &self.lines
            }
        }
    };
}

pub(super) use entry;

/// The rows of the catalogue for the id and for the keys that every entry of a list must have.
pub(super) fn forms_of<E: Entry>(list: &str) -> Vec<Row> {
    let of = |key, default, help| of_form((list, key, Kind::Text, default, help));
    let mut id = of("id", "", "The name in results.");
    id.declaration.default = format!("{0}-1, {0}-2, ...", E::NOUN);
    let names = E::NAMES.iter();
    let names = names.map(|&(key, kind, help)| of_form((list, key, kind, "none", help)));
    [id].into_iter().chain(names).collect()
}

//! The texts of a trace, which its events name by number.

use protocol::{Class, Status};

use crate::observe::capture::kind::Kind;
use crate::observe::capture::names::Names;
use crate::observe::capture::words;

use super::messages::{Interned, InternedData};

/// Declares the fields of debug annotations, named as in the JSON-lines trace.
macro_rules! fields {
    ($($field:ident $name:literal,)*) => {
        /// The name of a debug annotation.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Field {
            $($field,)*
        }

        impl Field {
            const ALL: &[(Field, &str)] = &[$((Field::$field, $name),)*];
        }
    };
}

fields! {
    Sequence "sequence",
    Replay "replay",
    Nullified "nullified",
    Class "class",
    TrafficClass "tc",
    Poisoned "poisoned",
    Requester "requester",
    Tag "tag",
    Address "address",
    Length "length",
    Target "target",
    Register "register",
    Completer "completer",
    Status "status",
    ByteCount "byte_count",
    LowerAddress "lower_address",
    Bytes "bytes",
    Flow "flow",
    Channel "channel",
    Headers "headers",
    Data "data",
    HeaderScale "header_scale",
    DataScale "data_scale",
    Acknowledges "acknowledges",
    ScaledFlowControl "scaled_flow_control",
    Eds "eds",
    Source "source",
    Destination "destination",
    Damaged "damaged",
}

impl Field {
    /// The number of the name.
    pub(super) const fn iid(self) -> u8 {
        self as u8 + 1
    }
}

/// The number of the name of a slice.
pub(super) fn name(kind: Kind) -> u8 {
    kind as u8 + 1
}

/// The number of the name of a class.
pub(super) fn class(class: Class) -> u64 {
    class.index() as u64 + 1
}

/// The number of the name of a completion status.
pub(super) fn status(status: Status) -> u64 {
    match status {
        Status::Successful => 4,
        Status::UnsupportedRequest => 5,
        Status::ConfigurationRetry => 6,
        Status::CompleterAbort => 7,
        Status::Poisoned => 8,
    }
}

/// The number of the name of flow `number`.
pub(super) fn flow(number: u32) -> u64 {
    u64::from(number) + 9
}

/// All texts, with their numbers.
pub(super) fn all(names: &Names) -> InternedData {
    let interned = |iid, text: &str| Interned {
        iid: Some(iid),
        text: Some(text.to_owned()),
    };
    let kinds = Kind::ALL.iter();
    let fields = Field::ALL.iter();
    let classes = Class::ALL.map(|one| interned(class(one), words::class(one)));
    let statuses = [
        Status::Successful,
        Status::UnsupportedRequest,
        Status::ConfigurationRetry,
        Status::CompleterAbort,
        Status::Poisoned,
    ];
    let statuses = statuses.map(|one| interned(status(one), words::status(one)));
    let flows = (0..).zip(names.flows());
    let flows = flows.map(|(number, name)| interned(flow(number), name));
    InternedData {
        event_names: kinds
            .map(|kind| interned(name(*kind).into(), kind.name()))
            .collect(),
        debug_annotation_names: fields
            .map(|(field, name)| interned(field.iid().into(), name))
            .collect(),
        debug_annotation_string_values: classes.into_iter().chain(statuses).chain(flows).collect(),
    }
}

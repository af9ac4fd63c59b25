//! Words for the fields of headers, the same in every format.

use protocol::{Class, Status};

/// The word for a class.
pub fn class(class: Class) -> &'static str {
    match class {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}

/// The word for the status of a completion.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Successful => "successful",
        Status::UnsupportedRequest => "unsupported-request",
        Status::ConfigurationRetry => "configuration-retry",
        Status::CompleterAbort => "completer-abort",
        Status::Poisoned => "poisoned",
    }
}

//! The errors for which firmware enables Downstream Port Containment.

/// The least severity of errors for which firmware enables containment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainedErrors {
    /// No errors: containment is off.
    None,
    /// Fatal errors.
    Fatal,
    /// Fatal and non-fatal errors.
    NonFatal,
}

impl ContainedErrors {
    const NAMES: [(&str, Self); 3] = [
        ("none", Self::None),
        ("fatal", Self::Fatal),
        ("non-fatal", Self::NonFatal),
    ];
}

kernel::choices!(ContainedErrors);

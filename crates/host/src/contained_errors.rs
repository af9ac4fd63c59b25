//! The errors for which firmware enables Downstream Port Containment.

kernel::choices! {
    /// The least severity of errors for which firmware enables containment.
    pub enum ContainedErrors {
        /// No errors: containment is off.
        None = "none",
        /// Fatal errors.
        Fatal = "fatal",
        /// Fatal and non-fatal errors.
        NonFatal = "non-fatal",
    }
}

//! The reasons why a library gives no model.

use peerlane_device::abi::{Table, VERSION};
use thiserror::Error;

/// The reason why a file gives no model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// There is no such file.
    #[error(
        "there is no such file; write the path of the library, such as target/release/libssd.so"
    )]
    Missing,
    /// The system does not load the file as a library.
    #[error(
        "it cannot be loaded as a shared library ({0}); build it with crate-type = [\"cdylib\"]"
    )]
    NotALibrary(String),
    /// The library has no model.
    #[error(
        "the library has no device model; end it with peerlane_device::export_model!(MyModel);"
    )]
    NoModel,
    /// The library was built with another version of the interface.
    #[error("the model was built for version {0} of the device interface, and this Peerlane has version {VERSION}; build it with peerlane-device {package}", package = env!("CARGO_PKG_VERSION"))]
    Version(u32),
    /// The table has another size than tables of its version.
    #[error("the model's table says that it has {0} bytes, and a table of version {VERSION} of the device interface has {right}; build it with peerlane-device {package}", right = size_of::<Table>(), package = env!("CARGO_PKG_VERSION"))]
    Size(u32),
    /// A number of the declaration has too many bits.
    #[error("the model's {what} is {value}; write a number of {bits} bits")]
    Number {
        /// The meaning of the number.
        what: &'static str,
        /// The number that the library has.
        value: u32,
        /// The bits that it may have.
        bits: usize,
    },
    /// A value of a parameter has a type that there is not.
    #[error(
        "the model's parameter {key} has a value of type {kind}; write 0 to 7, in the order of declaration of Setting"
    )]
    Kind {
        /// The parameter.
        key: String,
        /// The number of the type.
        kind: u32,
    },
    /// The model has panicked when it was asked for its description.
    #[error("the model does not describe itself: its description() panicked")]
    NoDescription,
}

//! The reasons why a library cannot be used as a model.

use peerlane_device::abi::{Table, VERSION};
use thiserror::Error;

/// The reason why a file does not give the address of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The file does not exist.
    Missing,
    /// The operating system does not load the file as a library; its reason.
    NotALibrary(String),
    /// The library does not have the symbol.
    NoSymbol,
}

/// The reason why a file cannot be used as a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The file does not exist.
    #[error(
        "there is no such file; write the path of the library, such as target/release/libssd.so"
    )]
    Missing,
    /// The operating system does not load the file as a library.
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
    /// The size of the table differs from the size of tables of its version.
    #[error("the model's table says that it has {0} bytes, and a table of version {VERSION} of the device interface has {right}; build it with peerlane-device {package}", right = size_of::<Table>(), package = env!("CARGO_PKG_VERSION"))]
    Size(u32),
    /// A number of the declaration is too large for its number of bits.
    #[error("the model's {what} is {value}; write a number of {bits} bits")]
    Number {
        /// The name of the value with the number.
        what: &'static str,
        /// The number in the library's declaration.
        value: u32,
        /// The number of bits that the value may have.
        bits: usize,
    },
    /// A value of a parameter has a type that does not exist.
    #[error(
        "the model's parameter {key} has a value of type {kind}; write 0 to 7, in the order of declaration of Setting"
    )]
    Kind {
        /// The name of the parameter.
        key: String,
        /// The number of the type.
        kind: u32,
    },
    /// The model has panicked in the call that should return its description.
    #[error("the model does not describe itself: its description() panicked")]
    NoDescription,
}

impl From<OpenError> for LoadError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Missing => LoadError::Missing,
            OpenError::NotALibrary(why) => LoadError::NotALibrary(why),
            OpenError::NoSymbol => LoadError::NoModel,
        }
    }
}

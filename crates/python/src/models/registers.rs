//! The device of `peerlane bench devices` in Rust: registers that keep the written values, behind the C interface of libraries.

use library::{LibraryModel, LoadError};
use peerlane_device::{Access, Answer, Bar, Declare, Description, Model, Settings, Shell};

/// Registers that keep the written values.
struct Registers([u8; SIZE as usize]);

const SIZE: u64 = 4096;

impl Model for Registers {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {
        self.0.fill(0);
    }

    fn read(&mut self, access: Access, into: &mut [u8], _: &mut Shell<'_>) -> Answer {
        access.fill(
            into,
            access.offset,
            &self.0[access.offset as usize..][..into.len()],
        );
        Answer::Now
    }

    fn write(&mut self, access: Access, bytes: &[u8], _: &mut Shell<'_>) {
        self.0[access.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

impl Declare for Registers {
    fn description() -> Description {
        Description {
            help: "Registers that keep what is written.".to_owned(),
            bars: vec![Bar::new(0, SIZE)],
            ..Description::default()
        }
    }

    fn new(_: &Settings) -> Self {
        Registers([0; SIZE as usize])
    }
}

/// The model behind the C interface, as a library would provide it.
pub fn registers() -> Result<LibraryModel, LoadError> {
    LibraryModel::of::<Registers>()
}

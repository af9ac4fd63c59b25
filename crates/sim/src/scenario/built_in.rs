//! The models of ours on the interface of models from outside.

use std::sync::LazyLock;

use device::{ForeignModel, Maker};
use nvme::Nvme;
use peerlane_device::{Declare, Model, Settings};

/// The models of ours on the interface of models from outside.
pub(crate) fn built_in() -> &'static [ForeignModel] {
    &BUILT_IN
}

static BUILT_IN: LazyLock<Vec<ForeignModel>> = LazyLock::new(|| {
    let drive = ForeignModel::new("nvme-drive", Nvme::description(), Box::new(Drives));
    vec![drive.expect("a description that a device can have")]
});

/// Makes NVM Express drives.
struct Drives;

impl Maker for Drives {
    fn make(&self, device: &str, settings: &Settings) -> Result<Box<dyn Model>, String> {
        Ok(Box::new(Nvme::named(device, settings)))
    }
}

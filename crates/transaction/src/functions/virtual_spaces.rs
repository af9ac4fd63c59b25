//! The configuration spaces of a device's virtual functions, which come and go with VF Enable of its physical function (PCIe
//! Base 9.3.3.3.1).

use protocol::{ConfigSpace, EndpointFunction};

/// As many as there are now: none in a component that is no device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VirtualSpaces {
    /// One of them after reset, if there can be any.
    reset: Option<ConfigSpace>,
    spaces: Vec<ConfigSpace>,
}

impl VirtualSpaces {
    /// Those of `function` after reset: none yet.
    pub(super) fn of(function: &EndpointFunction) -> Self {
        Self {
            reset: ConfigSpace::virtual_function(function),
            spaces: Vec::new(),
        }
    }

    pub(super) fn spaces(&self) -> &[ConfigSpace] {
        &self.spaces
    }

    pub(super) fn spaces_mut(&mut self) -> &mut [ConfigSpace] {
        &mut self.spaces
    }

    /// The consequences of a write to the `physical` function: those that it enables begin as after reset.
    pub(super) fn obey(&mut self, physical: &mut ConfigSpace) {
        let Some(reset) = &self.reset else { return };
        physical.align_virtual_bars();
        self.spaces
            .resize_with(physical.virtual_functions(), || reset.clone());
    }
}

//! The configuration spaces of a device's virtual functions, which exist while VF Enable of the physical function is set (PCIe Base
//! 9.3.3.3.1).

use protocol::{ConfigSpace, EndpointFunction};

/// The configuration spaces of the enabled virtual functions. None in a component that is not a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VirtualSpaces {
    /// A configuration space after reset, if the device can have virtual functions.
    reset: Option<ConfigSpace>,
    spaces: Vec<ConfigSpace>,
}

impl VirtualSpaces {
    /// The state of `function` after reset, without enabled virtual functions.
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

    /// Applies a write to the `physical` function. Newly enabled virtual functions start in reset state.
    pub(super) fn apply_registers(&mut self, physical: &mut ConfigSpace) {
        let Some(reset) = &self.reset else { return };
        physical.apply_virtual_registers();
        self.spaces
            .resize_with(physical.virtual_functions(), || reset.clone());
    }
}

//! `fpga_properties`: the properties of an object, or a filter for objects.
//!
//! A getter returns `FPGA_NOT_FOUND` for a field that is not set, and `FPGA_INVALID_PARAM` for a field that the object's type does
//! not have.

use std::ffi::c_char;

use session::{Kind, Object};

use crate::abi::{Code, bytes, copy_text, entry, put_text, text, user_pointer};
use crate::attributes::errors;
use crate::enter::{answer, destroy, perform, with};
use crate::state::State;
use crate::token::Token;

const DEVICE: u32 = 0;
const ACCELERATOR: u32 = 1;
const ASSIGNED: u32 = 0;
const UNASSIGNED: u32 = 1;
/// The value of `FPGA_IFC_DFL`, the interface of the kernel's own driver.
const DFL: u32 = 0;
/// Largest device number of a PCI bus.
const LAST_DEVICE: u8 = 31;
/// Largest function number of a PCI device.
const LAST_FUNCTION: u8 = 7;
/// Size of a host name in bytes, with the final zero.
const HOSTNAME: usize = 65;
/// Size of a model name in bytes, with the final zero.
const MODEL: usize = 32;

/// `fpga_version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Version {
    /// Major version.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
    /// Patch.
    pub patch: u16,
}

/// Declares the properties. Each property may also be set in a filter.
macro_rules! properties {
    ($($(#[$doc:meta])* $visibility:vis $field:ident: $type:ty,)*) => {
        /// The properties of an object, or of a filter.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Properties {
            $($(#[$doc])* $visibility $field: Option<$type>,)*
        }

        impl Properties {
            /// Whether an object with the properties `object` passes this filter.
            pub fn matches(&self, object: &Self) -> bool {
                $((self.$field.is_none() || self.$field == object.$field))&&*
            }
        }
    };
}

properties! {
    /// The object ID of the accelerator's device.
    parent: u64,
    objtype: u32,
    segment: u16,
    bus: u8,
    device: u8,
    function: u8,
    socket_id: u8,
    vendor_id: u16,
    device_id: u16,
    subsystem_vendor_id: u16,
    subsystem_device_id: u16,
    guid: [u8; 16],
    /// A unique number of the object.
    pub object_id: u64,
    num_errors: u32,
    interface: u32,
    hostname: [u8; HOSTNAME],
    num_slots: u32,
    bbs_id: u64,
    bbs_version: Version,
    model: [u8; MODEL],
    local_memory_size: u64,
    capabilities: u64,
    num_mmio: u32,
    num_interrupts: u32,
    accelerator_state: u32,
}

impl Properties {
    /// The properties of the object at index `place` of `objects`.
    pub fn of(objects: &[Object], place: usize) -> Self {
        let object = &objects[place];
        let parent = object
            .parent
            .and_then(|parent| objects.get(parent as usize));
        let mut properties = Properties {
            parent: parent.map(|parent| parent.object_id),
            segment: Some(object.segment),
            bus: Some(object.bus),
            device: Some(object.device),
            function: Some(object.function),
            socket_id: Some(object.socket),
            vendor_id: Some(object.vendor_id),
            device_id: Some(object.device_id),
            subsystem_vendor_id: Some(object.subsystem_vendor_id),
            subsystem_device_id: Some(object.subsystem_id),
            guid: Some(object.guid),
            object_id: Some(object.object_id),
            num_errors: Some(errors(object.kind).count() as u32),
            interface: Some(DFL),
            hostname: Some(text(object.name.as_bytes())),
            ..Properties::default()
        };
        match object.kind {
            Kind::Device => {
                properties.objtype = Some(DEVICE);
                properties.num_slots = Some(object.slots);
                properties.bbs_id = Some(object.bitstream_id);
                properties.bbs_version = Some(version(object.bitstream_id));
                properties.local_memory_size = Some(object.local_memory);
            }
            Kind::Accelerator => {
                let state = if object.assigned {
                    ASSIGNED
                } else {
                    UNASSIGNED
                };
                properties.objtype = Some(ACCELERATOR);
                properties.num_mmio = Some(object.mmio);
                properties.num_interrupts = Some(object.interrupts);
                properties.accelerator_state = Some(state);
            }
        }
        properties
    }

    fn of_type(&self, objtype: u32) -> Result<(), Code> {
        let is_right = self.objtype == Some(objtype);
        is_right.then_some(()).ok_or(Code::InvalidParam)
    }
}

/// The version in a bitstream ID: the upper four hexadecimal digits.
fn version(bitstream_id: u64) -> Version {
    let digit = |place: u32| ((bitstream_id >> (4 * place)) & 0xf) as u8;
    Version {
        major: digit(15),
        minor: digit(14),
        patch: digit(13).into(),
    }
}

fn get<T>(
    properties: usize,
    result: *mut T,
    field: impl FnOnce(&Properties) -> Result<Option<T>, Code>,
) -> u32 {
    answer(result, |state| {
        let value = field(state.objects.find::<Properties>(properties)?)?;
        value.ok_or(Code::NotFound)
    })
}

fn set(properties: usize, field: impl FnOnce(&mut Properties) -> Result<(), Code>) -> u32 {
    perform(|state| field(state.objects.find_mut::<Properties>(properties)?))
}

fn of_token(state: &mut State, token: Token) -> Result<Properties, Code> {
    let (objects, place) = state.object(token)?;
    Ok(Properties::of(&objects, place))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetProperties(token: usize, prop: *mut usize) -> u32 {
    answer(prop, |state| {
        let properties = match token {
            0 => Properties::default(),
            token => {
                let token = state.token(token)?;
                of_token(state, token)?
            }
        };
        state.objects.insert(properties)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetPropertiesFromHandle(handle: usize, prop: *mut usize) -> u32 {
    answer(prop, |state| {
        let token = state.handle(handle)?.token();
        let properties = of_token(state, token)?;
        state.objects.insert(properties)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaUpdateProperties(token: usize, prop: usize) -> u32 {
    perform(|state| {
        let token = state.token(token)?;
        state.objects.find::<Properties>(prop)?;
        let properties = of_token(state, token)?;
        *state.objects.find_mut::<Properties>(prop)? = properties;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClearProperties(prop: usize) -> u32 {
    set(prop, |properties| {
        *properties = Properties::default();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaCloneProperties(src: usize, dst: *mut usize) -> u32 {
    answer(dst, |state| {
        let clone = state.objects.find::<Properties>(src)?.clone();
        state.objects.insert(clone)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyProperties(prop: *mut usize) -> u32 {
    destroy::<Properties>(prop, |_, _| Ok(()))
}

/// Each call creates a new token, which the caller must destroy.
#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetParent(prop: usize, parent: *mut usize) -> u32 {
    answer(parent, |state| {
        let parent = state.objects.find::<Properties>(prop)?.parent;
        state.new_token(parent.ok_or(Code::NotFound)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetParent(prop: usize, parent: usize) -> u32 {
    perform(|state| {
        let token = state.token(parent)?;
        state.objects.find_mut::<Properties>(prop)?.parent = Some(token.object_id);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetGUID(prop: usize, guid: *mut [u8; 16]) -> u32 {
    get(prop, guid, |p| Ok(p.guid))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetGUID(prop: usize, guid: *const u8) -> u32 {
    entry(|| {
        let guid = bytes(guid)?;
        with(|state| {
            state.objects.find_mut::<Properties>(prop)?.guid = Some(guid);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetModel(prop: usize, model: *mut c_char) -> u32 {
    entry(|| {
        let result = user_pointer(model.cast::<u8>())?;
        let name = with(|state| {
            let properties = state.objects.find::<Properties>(prop)?;
            properties.of_type(DEVICE)?;
            properties.model.ok_or(Code::NotFound)
        })?;
        put_text(&name, &result, MODEL);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetModel(prop: usize, model: *const c_char) -> u32 {
    entry(|| {
        let model = copy_text(model, MODEL - 1)?;
        with(|state| {
            let properties = state.objects.find_mut::<Properties>(prop)?;
            properties.of_type(DEVICE)?;
            properties.model = Some(text(&model));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetHostname(prop: usize, name: *mut c_char, len: usize) -> u32 {
    entry(|| {
        let result = user_pointer(name.cast::<u8>())?;
        let hostname = with(|state| {
            let hostname = state.objects.find::<Properties>(prop)?.hostname;
            hostname.ok_or(Code::NotFound)
        })?;
        if len == 0 {
            return Err(Code::InvalidParam);
        }
        put_text(&hostname, &result, len);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetHostname(prop: usize, name: *const c_char, len: usize) -> u32 {
    entry(|| {
        let name = copy_text(name, len.min(HOSTNAME - 1))?;
        with(|state| {
            state.objects.find_mut::<Properties>(prop)?.hostname = Some(text(&name));
            Ok(())
        })
    })
}

/// Declares the functions for fields with numbers. Some fields belong to one type of object only, or have a largest value.
macro_rules! fields {
    ($($getter:ident, $setter:ident: $field:ident $type:ty $(, of $objtype:ident)? $(, to $last:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $getter(prop: usize, value: *mut $type) -> u32 {
            get(prop, value, |p| {
                $(p.of_type($objtype)?;)?
                Ok(p.$field)
            })
        }

        #[unsafe(no_mangle)]
        extern "C" fn $setter(prop: usize, value: $type) -> u32 {
            set(prop, |p| {
                $(p.of_type($objtype)?;)?
                $(if value > $last {
                    return Err(Code::InvalidParam);
                })?
                p.$field = Some(value);
                Ok(())
            })
        }
    )*};
}

fields! {
    fpgaPropertiesGetObjectType, fpgaPropertiesSetObjectType: objtype u32;
    fpgaPropertiesGetSegment, fpgaPropertiesSetSegment: segment u16;
    fpgaPropertiesGetBus, fpgaPropertiesSetBus: bus u8;
    fpgaPropertiesGetDevice, fpgaPropertiesSetDevice: device u8, to LAST_DEVICE;
    fpgaPropertiesGetFunction, fpgaPropertiesSetFunction: function u8, to LAST_FUNCTION;
    fpgaPropertiesGetSocketID, fpgaPropertiesSetSocketID: socket_id u8;
    fpgaPropertiesGetVendorID, fpgaPropertiesSetVendorID: vendor_id u16;
    fpgaPropertiesGetDeviceID, fpgaPropertiesSetDeviceID: device_id u16;
    fpgaPropertiesGetSubsystemVendorID, fpgaPropertiesSetSubsystemVendorID: subsystem_vendor_id u16;
    fpgaPropertiesGetSubsystemDeviceID, fpgaPropertiesSetSubsystemDeviceID: subsystem_device_id u16;
    fpgaPropertiesGetObjectID, fpgaPropertiesSetObjectID: object_id u64;
    fpgaPropertiesGetNumErrors, fpgaPropertiesSetNumErrors: num_errors u32;
    fpgaPropertiesGetInterface, fpgaPropertiesSetInterface: interface u32;
    fpgaPropertiesGetNumSlots, fpgaPropertiesSetNumSlots: num_slots u32, of DEVICE;
    fpgaPropertiesGetBBSID, fpgaPropertiesSetBBSID: bbs_id u64, of DEVICE;
    fpgaPropertiesGetBBSVersion, fpgaPropertiesSetBBSVersion: bbs_version Version, of DEVICE;
    fpgaPropertiesGetLocalMemorySize, fpgaPropertiesSetLocalMemorySize: local_memory_size u64, of DEVICE;
    fpgaPropertiesGetCapabilities, fpgaPropertiesSetCapabilities: capabilities u64, of DEVICE;
    fpgaPropertiesGetNumMMIO, fpgaPropertiesSetNumMMIO: num_mmio u32, of ACCELERATOR;
    fpgaPropertiesGetNumInterrupts, fpgaPropertiesSetNumInterrupts: num_interrupts u32, of ACCELERATOR;
    fpgaPropertiesGetAcceleratorState, fpgaPropertiesSetAcceleratorState: accelerator_state u32, of ACCELERATOR;
}

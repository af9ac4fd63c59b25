//! `fpga_properties`: the properties of an object, or a filter for objects.
//!
//! A getter returns `FPGA_NOT_FOUND` for a field that is not set, and `FPGA_INVALID_PARAM` for a field that the object's type does
//! not have.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::c_char;

use session::{Kind, Object};

use crate::abi::{Code, bytes, copy_text, entry, put_text, text, user_pointer};
use crate::attributes::errors;
use crate::enter::with;
use crate::state::{State, lock};
use crate::token::Token;

const DEVICE: u32 = 0;
const ACCELERATOR: u32 = 1;
const ASSIGNED: u32 = 0;
const UNASSIGNED: u32 = 1;
/// `FPGA_IFC_DFL`: the interface of the kernel's own driver.
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

/// The properties of an object, or of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The object ID of the accelerator's device.
    parent: Option<u64>,
    objtype: Option<u32>,
    segment: Option<u16>,
    bus: Option<u8>,
    device: Option<u8>,
    function: Option<u8>,
    socket_id: Option<u8>,
    vendor_id: Option<u16>,
    device_id: Option<u16>,
    subsystem_vendor_id: Option<u16>,
    subsystem_device_id: Option<u16>,
    guid: Option<[u8; 16]>,
    /// A unique number of the object.
    pub object_id: Option<u64>,
    num_errors: Option<u32>,
    interface: Option<u32>,
    hostname: Option<[u8; HOSTNAME]>,
    num_slots: Option<u32>,
    bbs_id: Option<u64>,
    bbs_version: Option<Version>,
    model: Option<[u8; MODEL]>,
    local_memory_size: Option<u64>,
    capabilities: Option<u64>,
    num_mmio: Option<u32>,
    num_interrupts: Option<u32>,
    accelerator_state: Option<u32>,
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

    /// Whether an object with the properties `object` passes this filter.
    pub fn matches(&self, object: &Self) -> bool {
        wanted(self.parent.as_ref(), object.parent.as_ref())
            && wanted(self.objtype.as_ref(), object.objtype.as_ref())
            && wanted(self.segment.as_ref(), object.segment.as_ref())
            && wanted(self.bus.as_ref(), object.bus.as_ref())
            && wanted(self.device.as_ref(), object.device.as_ref())
            && wanted(self.function.as_ref(), object.function.as_ref())
            && wanted(self.socket_id.as_ref(), object.socket_id.as_ref())
            && wanted(self.vendor_id.as_ref(), object.vendor_id.as_ref())
            && wanted(self.device_id.as_ref(), object.device_id.as_ref())
            && wanted(
                self.subsystem_vendor_id.as_ref(),
                object.subsystem_vendor_id.as_ref(),
            )
            && wanted(
                self.subsystem_device_id.as_ref(),
                object.subsystem_device_id.as_ref(),
            )
            && wanted(self.guid.as_ref(), object.guid.as_ref())
            && wanted(self.object_id.as_ref(), object.object_id.as_ref())
            && wanted(self.num_errors.as_ref(), object.num_errors.as_ref())
            && wanted(self.interface.as_ref(), object.interface.as_ref())
            && wanted(self.hostname.as_ref(), object.hostname.as_ref())
            && wanted(self.num_slots.as_ref(), object.num_slots.as_ref())
            && wanted(self.bbs_id.as_ref(), object.bbs_id.as_ref())
            && wanted(self.bbs_version.as_ref(), object.bbs_version.as_ref())
            && wanted(self.model.as_ref(), object.model.as_ref())
            && wanted(
                self.local_memory_size.as_ref(),
                object.local_memory_size.as_ref(),
            )
            && wanted(self.capabilities.as_ref(), object.capabilities.as_ref())
            && wanted(self.num_mmio.as_ref(), object.num_mmio.as_ref())
            && wanted(self.num_interrupts.as_ref(), object.num_interrupts.as_ref())
            && wanted(
                self.accelerator_state.as_ref(),
                object.accelerator_state.as_ref(),
            )
    }

    fn of_type(&self, objtype: u32) -> Result<(), Code> {
        if self.objtype == Some(objtype) {
            return Ok(());
        }
        Err(Code::InvalidParam)
    }
}

fn wanted<T: PartialEq>(filter: Option<&T>, field: Option<&T>) -> bool {
    filter.is_none() || filter == field
}

/// The version in a bitstream ID: its upper four digits.
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
    entry(|| {
        let result = user_pointer(result)?;
        let state = lock().ok_or(Code::Exception)?;
        let value = field(state.objects.find::<Properties>(properties)?)?;
        drop(state);
        result.put(value.ok_or(Code::NotFound)?);
        Ok(())
    })
}

fn set(properties: usize, field: impl FnOnce(&mut Properties) -> Result<(), Code>) -> u32 {
    entry(|| {
        let mut state = lock().ok_or(Code::Exception)?;
        field(state.objects.find_mut::<Properties>(properties)?)
    })
}

fn of_token(state: &mut State, token: Token) -> Result<Properties, Code> {
    let (objects, place) = state.object(token)?;
    Ok(Properties::of(&objects, place))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetProperties(token: usize, prop: *mut usize) -> u32 {
    entry(|| {
        let result = user_pointer(prop)?;
        let name = with(|state| {
            let properties = match token {
                0 => Properties::default(),
                token => {
                    let token = state.token(token)?;
                    of_token(state, token)?
                }
            };
            state.objects.insert(properties)
        })?;
        result.put(name);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetPropertiesFromHandle(handle: usize, prop: *mut usize) -> u32 {
    entry(|| {
        let result = user_pointer(prop)?;
        let name = with(|state| {
            let token = state.handle(handle)?.token();
            let properties = of_token(state, token)?;
            state.objects.insert(properties)
        })?;
        result.put(name);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaUpdateProperties(token: usize, prop: usize) -> u32 {
    entry(|| {
        with(|state| {
            let token = state.token(token)?;
            state.objects.find::<Properties>(prop)?;
            let properties = of_token(state, token)?;
            *state.objects.find_mut::<Properties>(prop)? = properties;
            Ok(())
        })
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
    entry(|| {
        let result = user_pointer(dst)?;
        let name = with(|state| {
            let clone = state.objects.find::<Properties>(src)?.clone();
            state.objects.insert(clone)
        })?;
        result.put(name);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyProperties(prop: *mut usize) -> u32 {
    entry(|| {
        let prop = user_pointer(prop)?;
        let name = prop.take();
        let mut state = lock().ok_or(Code::Exception)?;
        state.objects.remove::<Properties>(name)?;
        drop(state);
        prop.put(0);
        Ok(())
    })
}

/// Each call makes a new token, which the caller must destroy.
#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetParent(prop: usize, parent: *mut usize) -> u32 {
    entry(|| {
        let result = user_pointer(parent)?;
        let name = with(|state| {
            let parent = state.objects.find::<Properties>(prop)?.parent;
            state.new_token(parent.ok_or(Code::NotFound)?)
        })?;
        result.put(name);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetParent(prop: usize, parent: usize) -> u32 {
    entry(|| {
        let mut state = lock().ok_or(Code::Exception)?;
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
        let mut state = lock().ok_or(Code::Exception)?;
        state.objects.find_mut::<Properties>(prop)?.guid = Some(guid);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetModel(prop: usize, model: *mut c_char) -> u32 {
    entry(|| {
        let result = user_pointer(model.cast::<u8>())?;
        let state = lock().ok_or(Code::Exception)?;
        let properties = state.objects.find::<Properties>(prop)?;
        properties.of_type(DEVICE)?;
        let name = properties.model;
        drop(state);
        put_text(&name.ok_or(Code::NotFound)?, &result, MODEL);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetModel(prop: usize, model: *const c_char) -> u32 {
    entry(|| {
        let model = copy_text(model, MODEL - 1)?;
        let mut state = lock().ok_or(Code::Exception)?;
        let properties = state.objects.find_mut::<Properties>(prop)?;
        properties.of_type(DEVICE)?;
        properties.model = Some(text(&model));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesGetHostname(prop: usize, name: *mut c_char, len: usize) -> u32 {
    entry(|| {
        let result = user_pointer(name.cast::<u8>())?;
        let state = lock().ok_or(Code::Exception)?;
        let hostname = state.objects.find::<Properties>(prop)?.hostname;
        drop(state);
        let hostname = hostname.ok_or(Code::NotFound)?;
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
        let mut state = lock().ok_or(Code::Exception)?;
        state.objects.find_mut::<Properties>(prop)?.hostname = Some(text(&name));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetFunction(prop: usize, function: u8) -> u32 {
    set(prop, |p| {
        if function > LAST_FUNCTION {
            return Err(Code::InvalidParam);
        }
        p.function = Some(function);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaPropertiesSetDevice(prop: usize, device: u8) -> u32 {
    set(prop, |p| {
        if device > LAST_DEVICE {
            return Err(Code::InvalidParam);
        }
        p.device = Some(device);
        Ok(())
    })
}

/// The fields with numbers.
macro_rules! fields {
    ($($getter:ident, $setter:tt: $field:ident $type:ty $(, of $objtype:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $getter(prop: usize, value: *mut $type) -> u32 {
            get(prop, value, |p| {
                $(p.of_type($objtype)?;)?
                Ok(p.$field)
            })
        }
        fields!(set $setter: $field $type $(, of $objtype)?);
    )*};
    (set _: $($rest:tt)*) => {};
    (set $setter:ident: $field:ident $type:ty $(, of $objtype:ident)?) => {
        #[unsafe(no_mangle)]
        extern "C" fn $setter(prop: usize, value: $type) -> u32 {
            set(prop, |p| {
                $(p.of_type($objtype)?;)?
                p.$field = Some(value);
                Ok(())
            })
        }
    };
}

fields! {
    fpgaPropertiesGetObjectType, fpgaPropertiesSetObjectType: objtype u32;
    fpgaPropertiesGetSegment, fpgaPropertiesSetSegment: segment u16;
    fpgaPropertiesGetBus, fpgaPropertiesSetBus: bus u8;
    fpgaPropertiesGetDevice, _: device u8;
    fpgaPropertiesGetFunction, _: function u8;
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

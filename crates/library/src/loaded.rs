//! A model in a library: its declaration, its devices, and the calls to them.

use std::ffi::c_void;
use std::ptr;

use peerlane_device::abi::{
    LARGEST_REQUEST, REQUEST_ANSWER, REQUEST_ATOMIC, REQUEST_INTERRUPT, REQUEST_MALFORMED,
    REQUEST_MESSAGE, REQUEST_READ, REQUEST_TIMER, REQUEST_WRITE, RawAccess, RawBar, RawDescription,
    RawParameter, RawRequest, RawSetting, RawShell, Table, UNKNOWN_REQUEST, list,
};
use peerlane_device::{
    Access, Answer, Bar, Declare, Defect, Description, Failure, Misuse, Model, Operation,
    Parameter, Port, Request, Settings, Severity, Shell, Ticket, table,
};

use crate::LoadError;

/// A model in a library.
#[derive(Clone, Debug)]
pub struct LibraryModel {
    table: &'static Table,
    description: Description,
}

impl LibraryModel {
    /// Makes the library model that has this table.
    ///
    /// # Safety
    ///
    /// The functions of the table must obey the rules of [`peerlane_device::abi`], as the functions of [`peerlane_device::table`] do. The
    /// functions and the declaration must exist until the process ends.
    pub unsafe fn new(table: &'static Table) -> Result<Self, LoadError> {
        // SAFETY: the function has no arguments, and the caller guarantees that it obeys the rules of the interface.
        let raw = unsafe { (table.describe)().as_ref() };
        let raw = raw.ok_or(LoadError::NoDescription)?;
        // SAFETY: the caller obeys the safety rules of this function.
        let description = unsafe { description(raw) }?;
        Ok(LibraryModel { table, description })
    }

    /// Makes a library model from a model that is part of this program. It is called through the C interface.
    pub fn of<M: Declare + 'static>() -> Result<Self, LoadError> {
        // SAFETY: a table made by `table` obeys the rules, and its functions are part of this program.
        unsafe { Self::new(table::<M>()) }
    }

    /// The declaration of the model.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Makes a device with these parameter values, in the order of declaration. Returns the message if the model panics.
    pub fn make(&self, settings: &Settings) -> Result<Box<dyn Model>, String> {
        let values = settings.all().iter();
        let values: Vec<RawSetting> = values.map(|(_, value)| RawSetting::of(value)).collect();
        let mut nobody = Nobody(None);
        let device = with_shell(&mut Shell::new(&mut nobody), |shell| {
            // SAFETY: values and shell are valid during the call.
            unsafe { (self.table.make)(values.as_ptr(), values.len(), shell) }
        });
        if device.is_null() {
            let why = nobody.0.unwrap_or_else(|| "no reason given".to_owned());
            return Err(why);
        }
        Ok(Box::new(Device {
            table: self.table,
            device,
        }))
    }
}

/// The declaration of a model in a library.
///
/// # Safety
///
/// The numbers of BARs and of parameters in the declaration must be right, and its texts must be valid.
unsafe fn description(raw: &RawDescription) -> Result<Description, LoadError> {
    // SAFETY: the caller obeys the safety rules of this function.
    let (bars, parameters, help) = unsafe {
        (
            list(raw.bars, raw.bar_count),
            list(raw.parameters, raw.parameter_count),
            raw.help.read(),
        )
    };
    let bar = |bar: &RawBar| {
        Ok::<_, LoadError>(Bar {
            index: narrowed("number of a BAR", bar.index)?,
            size: bar.size,
            wide: bar.is_wide != 0,
        })
    };
    Ok(Description {
        help,
        vendor: narrowed("vendor ID", raw.vendor)?,
        device: narrowed("device ID", raw.device)?,
        revision: narrowed("revision ID", raw.revision)?,
        class: raw.class,
        bars: bars.iter().map(bar).collect::<Result<_, _>>()?,
        vectors: narrowed("number of vectors", raw.vectors)?,
        tags: narrowed("number of tags", raw.tags)?,
        virtual_functions: narrowed("number of virtual functions", raw.virtual_functions)?,
        // SAFETY: the caller obeys the safety rules of this function.
        parameters: parameters
            .iter()
            .map(|one| unsafe { parameter(one) })
            .collect::<Result<_, _>>()?,
    })
}

/// Converts a number of a declaration to the type that it must fit into.
fn narrowed<T: TryFrom<u32>>(what: &'static str, value: u32) -> Result<T, LoadError> {
    let bits = 8 * size_of::<T>();
    T::try_from(value).map_err(|_| LoadError::Number { what, value, bits })
}

/// The port of a model while it is made. The only request that has an effect is [`Request::Fail`].
struct Nobody(Option<String>);

impl Port for Nobody {
    fn now_fs(&self) -> u64 {
        0
    }

    fn ask(&mut self, _: u8, request: Request<'_>) -> Result<(), Misuse> {
        if let Request::Fail { why } = request {
            self.0 = Some(why.to_owned());
        }
        Ok(())
    }
}

/// A device of a model in a library.
struct Device {
    table: &'static Table,
    device: *mut c_void,
}

// SAFETY: a model is `Send` by the rules of the interface, and the table never changes.
unsafe impl Send for Device {}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the device comes from `make` of this table, and is destroyed once.
        unsafe { (self.table.destroy)(self.device) }
    }
}

impl Model for Device {
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>) {
        with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; the shell is valid during the call.
            unsafe { (self.table.reset)(self.device, function.into(), shell) }
        });
    }

    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        let raw = raw_access(access);
        let answer = with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; access, bytes and shell are valid during the call, and there are as
            // many bytes as the access has.
            unsafe { (self.table.read)(self.device, &raw const raw, into.as_mut_ptr(), shell) }
        });
        let answer = Answer::ALL.get(answer as usize);
        answer.copied().unwrap_or(Answer::Abort)
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        let raw = raw_access(access);
        with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; access, bytes and shell are valid during the call, and there are as
            // many bytes as the access has.
            unsafe { (self.table.write)(self.device, &raw const raw, bytes.as_ptr(), shell) }
        });
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let failure = outcome.err().map_or(0, |failure| 1 + failure as u32);
        let bytes = outcome.unwrap_or_default();
        with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; bytes and shell are valid during the call.
            unsafe {
                (self.table.completed)(
                    self.device,
                    tag,
                    failure,
                    bytes.as_ptr(),
                    bytes.len(),
                    shell,
                );
            }
        });
    }

    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; the shell is valid during the call.
            unsafe { (self.table.sent)(self.device, tag, shell) }
        });
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        with_shell(shell, |shell| {
            // SAFETY: the device comes from `make` of this table; the shell is valid during the call.
            unsafe { (self.table.expired)(self.device, timer, shell) }
        });
    }
}

/// Calls `call` with `shell` in the form of the C interface.
fn with_shell<T>(shell: &mut Shell<'_>, call: impl FnOnce(*const RawShell) -> T) -> T {
    let raw = RawShell {
        now_fs: shell.now_fs(),
        context: ptr::from_mut(shell).cast(),
        ask,
        fail,
    };
    call(&raw const raw)
}

/// The shell to which a context of [`with_shell`] points.
///
/// # Safety
///
/// The call with the context must not have ended, and no other use of the shell may overlap with this use.
unsafe fn shell_of<'s>(context: *mut c_void) -> &'s mut Shell<'s> {
    // SAFETY: the caller obeys the safety rules of this function.
    unsafe { &mut *context.cast() }
}

unsafe extern "C" fn fail(context: *mut c_void, bytes: *const u8, len: usize) {
    // SAFETY: a model calls this function only within the call that has this context, and with a valid text.
    let (shell, why) = unsafe { (shell_of(context), list(bytes, len)) };
    shell.fail(&String::from_utf8_lossy(why));
}

unsafe extern "C" fn ask(context: *mut c_void, request: *const RawRequest) -> u32 {
    // SAFETY: a model calls this function only within the call that has this context, and with a valid request.
    let (shell, raw) = unsafe { (shell_of(context), &*request) };
    let bytes: &[u8] = match raw.kind {
        REQUEST_WRITE | REQUEST_ATOMIC | REQUEST_ANSWER | REQUEST_MALFORMED => {
            if raw.len > LARGEST_REQUEST || raw.len > 0 && raw.bytes.is_null() {
                return number(Misuse::Length);
            }
            // SAFETY: the bytes of a request of this kind are valid during this call.
            unsafe { list(raw.bytes, raw.len as usize) }
        }
        _ => &[],
    };
    let Some(request) = request_of(raw, bytes) else {
        return UNKNOWN_REQUEST;
    };
    let Ok(function) = u8::try_from(raw.function) else {
        return number(Misuse::NoSuchFunction);
    };
    match shell.of(function).ask(request) {
        Ok(()) => 0,
        Err(misuse) => number(misuse),
    }
}

fn number(misuse: Misuse) -> u32 {
    1 + misuse as u32
}

/// The request in its raw form as a `Request`; none if its kind, operation, severity or defect is unknown.
fn request_of<'r>(raw: &RawRequest, bytes: &'r [u8]) -> Option<Request<'r>> {
    Some(match raw.kind {
        REQUEST_READ => Request::Read {
            tag: raw.tag,
            address: raw.address,
            len: raw.len,
        },
        REQUEST_WRITE => Request::Write {
            tag: (raw.detail != 0).then_some(raw.tag),
            address: raw.address,
            bytes,
        },
        REQUEST_ATOMIC => Request::Atomic {
            tag: raw.tag,
            operation: *Operation::ALL.get(raw.detail as usize)?,
            address: raw.address,
            operands: bytes,
        },
        REQUEST_INTERRUPT => Request::Interrupt {
            vector: u16::try_from(raw.tag).unwrap_or(u16::MAX),
        },
        REQUEST_MESSAGE => Request::Message {
            severity: *Severity::ALL.get(raw.detail as usize)?,
        },
        REQUEST_TIMER => Request::Timer {
            timer: raw.tag,
            after_fs: raw.address,
        },
        REQUEST_ANSWER => Request::Answer {
            ticket: Ticket(raw.tag),
            bytes: (raw.detail != 0).then_some(bytes),
        },
        REQUEST_MALFORMED => Request::Malformed {
            ticket: Ticket(raw.tag),
            bytes,
            defect: *Defect::ALL.get(raw.detail as usize)?,
        },
        _ => return None,
    })
}

fn raw_access(access: Access) -> RawAccess {
    RawAccess {
        function: access.function.into(),
        bar: access.bar.into(),
        offset: access.offset,
        ticket: access.ticket.0,
        len: access.len,
    }
}

/// Reads a parameter that a library declares.
///
/// # Safety
///
/// The texts of the parameter must be valid.
unsafe fn parameter(raw: &RawParameter) -> Result<Parameter, LoadError> {
    // SAFETY: the caller obeys the safety rules of this function.
    let [key, help, source] = unsafe { [raw.key, raw.help, raw.source].map(|text| text.read()) };
    let of = |raw: &RawSetting| {
        // SAFETY: the caller guarantees that the texts of the parameter are valid.
        let value = unsafe { raw.read() };
        value.ok_or_else(|| LoadError::Kind {
            key: key.clone(),
            kind: raw.kind,
        })
    };
    let within = match raw.is_limited {
        0 => None,
        _ => Some((of(&raw.least)?, of(&raw.most)?)),
    };
    Ok(Parameter {
        default: of(&raw.default)?,
        help,
        source,
        within,
        key,
    })
}

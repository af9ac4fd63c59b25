//! The side of the C interface that a library has: C functions around a model in Rust.

#![expect(
    unsafe_code,
    reason = "a C interface is pointers, and each of them is valid by the rules of the interface"
)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::{ptr, slice};

use crate::abi::{
    REQUEST_ANSWER, REQUEST_ATOMIC, REQUEST_INTERRUPT, REQUEST_MALFORMED, REQUEST_MESSAGE,
    REQUEST_READ, REQUEST_TIMER, REQUEST_WRITE, RawAccess, RawBar, RawDescription, RawParameter,
    RawRequest, RawSetting, RawShell, RawText, Table, VERSION, list,
};
use crate::backtrace::of_model;
use crate::{
    Access, Answer, Declare, Description, Failure, Misuse, Port, Request, Settings, Shell, Ticket,
};

/// Exports a model from a `cdylib`, so that Peerlane can load it. A library can export one model only.
#[macro_export]
macro_rules! export_model {
    ($model:ty) => {
        /// The table of the model in this library, for the simulator that loads it.
        #[unsafe(no_mangle)]
        pub extern "C" fn peerlane_device_model() -> *const $crate::abi::Table {
            $crate::table::<$model>()
        }
    };
}

/// The table with the C functions of a model.
pub fn table<M: Declare>() -> &'static Table {
    const { &Exported::<M>::TABLE }
}

struct Exported<M>(PhantomData<M>);

impl<M: Declare> Exported<M> {
    const TABLE: Table = Table {
        version: VERSION,
        size: size_of::<Table>() as u32,
        describe: describe::<M>,
        make: make::<M>,
        destroy: destroy::<M>,
        reset: reset::<M>,
        read: read::<M>,
        write: write::<M>,
        completed: completed::<M>,
        sent: sent::<M>,
        expired: expired::<M>,
    };
}

/// The simulator as a model can use it during one call.
struct Outside<'s>(&'s RawShell);

impl Port for Outside<'_> {
    fn now_fs(&self) -> u64 {
        self.0.now_fs
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        let raw = |kind, tag, address, bytes: &[u8], detail| RawRequest {
            kind,
            function: function.into(),
            tag,
            address,
            bytes: bytes.as_ptr(),
            len: bytes.len() as u64,
            detail,
        };
        let raw = match request {
            Request::Read { tag, address, len } => RawRequest {
                len,
                ..raw(REQUEST_READ, tag, address, &[], 0)
            },
            Request::Write {
                tag,
                address,
                bytes,
            } => {
                let is_tagged = tag.is_some().into();
                raw(REQUEST_WRITE, tag.unwrap_or(0), address, bytes, is_tagged)
            }
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => raw(REQUEST_ATOMIC, tag, address, operands, operation as u32),
            Request::Interrupt { vector } => raw(REQUEST_INTERRUPT, vector.into(), 0, &[], 0),
            Request::Message { severity } => raw(REQUEST_MESSAGE, 0, 0, &[], severity as u32),
            Request::Timer { timer, after_fs } => raw(REQUEST_TIMER, timer, after_fs, &[], 0),
            Request::Answer { ticket, bytes } => {
                let (has_bytes, bytes) = (bytes.is_some().into(), bytes.unwrap_or_default());
                raw(REQUEST_ANSWER, ticket.0, 0, bytes, has_bytes)
            }
            Request::Malformed {
                ticket,
                bytes,
                defect,
            } => raw(REQUEST_MALFORMED, ticket.0, 0, bytes, defect as u32),
            Request::Fail { why } => {
                fail(self.0, why);
                return Ok(());
            }
        };
        // SAFETY: the function and its context are valid during the call of the model; the request and its bytes exist until the function
        // returns.
        let number = unsafe { (self.0.ask)(self.0.context, &raw const raw) };
        match number.checked_sub(1) {
            None => Ok(()),
            Some(misuse) => {
                let misuse = Misuse::ALL.get(misuse as usize).copied();
                Err(misuse.unwrap_or(Misuse::Length))
            }
        }
    }
}

fn fail(shell: &RawShell, why: &str) {
    // SAFETY: the function and its context are valid during the call of the model; the text exists until the function returns.
    unsafe { (shell.fail)(shell.context, why.as_ptr(), why.len()) }
}

thread_local! {
    /// The location, the message and the backtrace of the last panic of a model in this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether this thread is in a call of a model.
    static IS_IN_MODEL: Cell<bool> = const { Cell::new(false) };
}

/// Installs a panic hook that stores the message of each panic in a call of a model, instead of printing it. Other panics reach the previous
/// hook.
fn keep_panics() {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| {
        let other = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_IN_MODEL.get() {
                return other(info);
            }
            let trace = std::backtrace::Backtrace::capture();
            let traced = trace.status() == std::backtrace::BacktraceStatus::Captured;
            let trace = if traced {
                of_model(&trace.to_string())
            } else {
                String::new()
            };
            PANIC.set(Some(format!("{info}{trace}")));
        }));
    });
}

/// Calls code of a model. If the code panics, returns the message of the panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let outer = IS_IN_MODEL.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.map_err(|payload| {
        let said = said(&*payload);
        discard(payload);
        said
    });
    IS_IN_MODEL.set(outer);
    done
}

/// Drops the payload of a panic. The payload's own code may panic when it is dropped. No panic may leave this function, so the payload of this
/// second panic is not dropped.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Calls a model. If the model panics, the run ends, and `otherwise` is returned.
///
/// # Safety
///
/// `shell` must be valid during this call.
unsafe fn call<T>(
    shell: *const RawShell,
    otherwise: T,
    work: impl FnOnce(&mut Shell<'_>) -> T,
) -> T {
    // SAFETY: the caller obeys the safety rules of this function.
    let raw = unsafe { &*shell };
    let work = || {
        let mut outside = Outside(raw);
        work(&mut Shell::new(&mut outside))
    };
    caught(work).unwrap_or_else(|why| {
        fail(raw, &why);
        otherwise
    })
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    PANIC
        .take()
        .or(text)
        .unwrap_or_else(|| "panicked".to_owned())
}

/// Calls a device that [`make`] has returned.
///
/// # Safety
///
/// `model` must come from `make::<M>`, and no other code may use the device during this call. `shell` must be valid during this call.
unsafe fn call_device<M, T>(
    model: *mut c_void,
    shell: *const RawShell,
    otherwise: T,
    work: impl FnOnce(&mut M, &mut Shell<'_>) -> T,
) -> T {
    // SAFETY: the caller obeys the safety rules of this function.
    unsafe {
        let model = &mut *model.cast();
        call(shell, otherwise, |shell| work(model, shell))
    }
}

unsafe extern "C" fn describe<M: Declare>() -> *const RawDescription {
    // The message of a panic is printed as usual, because there is no shell to report it.
    catch_unwind(description::<M>).unwrap_or_else(|payload| {
        discard(payload);
        ptr::null()
    })
}

/// The raw declaration of a model, which is valid as long as the library is loaded.
fn description<M: Declare>() -> *const RawDescription {
    let declared: &'static Description = Box::leak(Box::new(M::description()));
    let bars = declared.bars.iter().map(|bar| RawBar {
        index: bar.index.into(),
        is_wide: bar.wide.into(),
        size: bar.size,
    });
    let bars: &'static [RawBar] = bars.collect::<Vec<_>>().leak();
    let parameters = declared.parameters.iter().map(|one| {
        let limits = one.within.as_ref();
        RawParameter {
            key: RawText::of(&one.key),
            help: RawText::of(&one.help),
            source: RawText::of(&one.source),
            default: RawSetting::of(&one.default),
            is_limited: limits.is_some().into(),
            least: RawSetting::of(limits.map_or(&one.default, |(least, _)| least)),
            most: RawSetting::of(limits.map_or(&one.default, |(_, most)| most)),
        }
    });
    let parameters: &'static [RawParameter] = parameters.collect::<Vec<_>>().leak();
    let raw = RawDescription {
        help: RawText::of(&declared.help),
        vendor: declared.vendor.into(),
        device: declared.device.into(),
        revision: declared.revision.into(),
        class: declared.class,
        vectors: declared.vectors.into(),
        tags: declared.tags.into(),
        virtual_functions: declared.virtual_functions.into(),
        bars: bars.as_ptr(),
        bar_count: bars.len(),
        parameters: parameters.as_ptr(),
        parameter_count: parameters.len(),
    };
    Box::leak(Box::new(raw))
}

unsafe extern "C" fn make<M: Declare>(
    values: *const RawSetting,
    count: usize,
    shell: *const RawShell,
) -> *mut c_void {
    keep_panics();
    // SAFETY: the simulator passes `count` values, which are valid during this call.
    let values = unsafe { list(values, count) };
    let work = |_: &mut Shell<'_>| {
        let parameters = M::description().parameters;
        let (has, given) = (parameters.len(), values.len());
        assert!(
            has == given,
            "the model has {has} parameters, and was given {given} values"
        );
        let settings = parameters.into_iter().zip(values);
        let settings = settings.map(|(parameter, raw)| {
            // SAFETY: the simulator's texts are valid during this call.
            let value = unsafe { raw.read() };
            (parameter.key, value.unwrap_or(parameter.default))
        });
        let model = M::new(&Settings::new(settings.collect()));
        Box::into_raw(Box::new(model)).cast()
    };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, ptr::null_mut(), work) }
}

unsafe extern "C" fn destroy<M: Declare>(model: *mut c_void) {
    // SAFETY: the simulator passes a device that `make` has returned to `destroy` once, and does not use it again.
    let model: Box<M> = unsafe { Box::from_raw(model.cast()) };
    // The run is over, so the message of a panic cannot be reported.
    let _ = caught(|| drop(model));
}

unsafe extern "C" fn reset<M: Declare>(model: *mut c_void, function: u32, shell: *const RawShell) {
    let work = |model: &mut M, shell: &mut Shell<'_>| model.reset(function as u8, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, (), work) }
}

fn access(raw: &RawAccess) -> Access {
    Access {
        function: raw.function as u8,
        bar: raw.bar as u8,
        offset: raw.offset,
        len: raw.len,
        ticket: Ticket(raw.ticket),
    }
}

unsafe extern "C" fn read<M: Declare>(
    model: *mut c_void,
    raw: *const RawAccess,
    into: *mut u8,
    shell: *const RawShell,
) -> u32 {
    // SAFETY: the access is valid during this call.
    let access = access(unsafe { &*raw });
    let into: &mut [u8] = if access.len == 0 {
        &mut []
    } else {
        // SAFETY: the simulator passes space for as many bytes as the access has, and does not use the space during this call.
        unsafe { slice::from_raw_parts_mut(into, access.len as usize) }
    };
    let work = |model: &mut M, shell: &mut Shell<'_>| model.read(access, into, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, Answer::Abort, work) as u32 }
}

unsafe extern "C" fn write<M: Declare>(
    model: *mut c_void,
    raw: *const RawAccess,
    bytes: *const u8,
    shell: *const RawShell,
) {
    // SAFETY: the access is valid during this call.
    let access = access(unsafe { &*raw });
    // SAFETY: the simulator passes as many bytes as the access has.
    let bytes = unsafe { list(bytes, access.len as usize) };
    let work = |model: &mut M, shell: &mut Shell<'_>| model.write(access, bytes, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, (), work) }
}

unsafe extern "C" fn completed<M: Declare>(
    model: *mut c_void,
    tag: u64,
    failure: u32,
    bytes: *const u8,
    len: usize,
    shell: *const RawShell,
) {
    // SAFETY: the simulator passes `len` bytes, which are valid during this call.
    let bytes = unsafe { list(bytes, len) };
    let outcome = failure.checked_sub(1).map_or(Ok(bytes), |number| {
        let failure = Failure::ALL.get(number as usize);
        Err(failure.copied().unwrap_or(Failure::Poisoned))
    });
    let work = |model: &mut M, shell: &mut Shell<'_>| model.completed(tag, outcome, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, (), work) }
}

unsafe extern "C" fn sent<M: Declare>(model: *mut c_void, tag: u64, shell: *const RawShell) {
    let work = |model: &mut M, shell: &mut Shell<'_>| model.sent(tag, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, (), work) }
}

unsafe extern "C" fn expired<M: Declare>(model: *mut c_void, timer: u64, shell: *const RawShell) {
    let work = |model: &mut M, shell: &mut Shell<'_>| model.expired(timer, shell);
    // SAFETY: the simulator passes a device that `make` has returned, uses it in one call at a time, and passes a valid shell.
    unsafe { call_device(model, shell, (), work) }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::{ptr, slice};

    use super::{RawRequest, RawSetting, RawShell, table};
    use crate::{Access, Answer, Declare, Description, Model, Parameter, Setting, Settings, Shell};

    struct OfOne;

    impl Model for OfOne {
        fn reset(&mut self, _: u8, _: &mut Shell<'_>) {}

        fn read(&mut self, _: Access, _: &mut [u8], _: &mut Shell<'_>) -> Answer {
            Answer::Now
        }

        fn write(&mut self, _: Access, _: &[u8], _: &mut Shell<'_>) {}
    }

    impl Declare for OfOne {
        fn description() -> Description {
            let parameters = vec![Parameter::new("depth", Setting::Integer(1), "The depth.")];
            Description {
                parameters,
                ..Description::default()
            }
        }

        fn new(settings: &Settings) -> Self {
            assert_eq!(settings.integer("depth"), 1);
            OfOne
        }
    }

    unsafe extern "C" fn ask(_: *mut c_void, _: *const RawRequest) -> u32 {
        0
    }

    unsafe extern "C" fn fail(context: *mut c_void, bytes: *const u8, len: usize) {
        // SAFETY: the context is the variable `said` of `make_with`, and the model passes a valid text.
        let (said, text) = unsafe { (&mut *context.cast(), slice::from_raw_parts(bytes, len)) };
        *said = str::from_utf8(text).unwrap().to_owned();
    }

    /// Makes a device with these values. Returns the message of the failure, or an empty text if the device was made.
    fn make_with(values: &[RawSetting]) -> String {
        let mut said = String::new();
        let shell = RawShell {
            context: ptr::from_mut(&mut said).cast(),
            now_fs: 0,
            ask,
            fail,
        };
        let table = table::<OfOne>();
        // SAFETY: values and shell are valid during the call, and the device is destroyed once.
        unsafe {
            let device = (table.make)(values.as_ptr(), values.len(), &raw const shell);
            assert_eq!(device.is_null(), !said.is_empty());
            if !device.is_null() {
                (table.destroy)(device);
            }
        }
        said
    }

    #[test]
    fn a_device_is_made_with_a_value_for_each_parameter_only() {
        let one = RawSetting::of(&Setting::Integer(1));
        assert_eq!(make_with(&[one]), "");
        assert!(make_with(&[]).contains("has 1 parameters, and was given 0 values"));
        assert!(make_with(&[one, one]).contains("has 1 parameters, and was given 2 values"));
    }
}

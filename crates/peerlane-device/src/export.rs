//! The model's side of the C interface: C functions around a model in Rust.

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
use std::{ptr, slice, str};

use crate::abi::{
    ANSWER_ABORT, ANSWER_LATER, ANSWER_NOW, ANSWER_UNSUPPORTED, REQUEST_ANSWER, REQUEST_ATOMIC,
    REQUEST_INTERRUPT, REQUEST_MALFORMED, REQUEST_MESSAGE, REQUEST_READ, REQUEST_TIMER,
    REQUEST_WRITE, RawAccess, RawBar, RawDescription, RawParameter, RawRequest, RawSetting,
    RawShell, RawText, Table, VERSION,
};
use crate::backtrace::of_model;
use crate::{
    Access, Answer, Declare, Failure, Misuse, Operation, Port, Request, Setting, Settings,
    Severity, Shell, Ticket,
};

/// Exports a model from a `cdylib`, so that Peerlane can load it. A library has one model.
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

/// The simulator, as a model sees it during one call.
struct Outside<'s>(&'s RawShell);

impl Port for Outside<'_> {
    fn now_fs(&self) -> u64 {
        self.0.now_fs
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        let nothing = RawRequest {
            kind: 0,
            function: function.into(),
            tag: 0,
            address: 0,
            bytes: ptr::null(),
            len: 0,
            detail: 0,
        };
        let raw = match request {
            Request::Read { tag, address, len } => RawRequest {
                kind: REQUEST_READ,
                tag,
                address,
                len,
                ..nothing
            },
            Request::Write {
                tag,
                address,
                bytes,
            } => RawRequest {
                kind: REQUEST_WRITE,
                tag: tag.unwrap_or(0),
                detail: tag.is_some().into(),
                address,
                ..with(bytes, nothing)
            },
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => RawRequest {
                kind: REQUEST_ATOMIC,
                tag,
                address,
                detail: match operation {
                    Operation::FetchAdd => 0,
                    Operation::Swap => 1,
                    Operation::CompareAndSwap => 2,
                },
                ..with(operands, nothing)
            },
            Request::Interrupt { vector } => RawRequest {
                kind: REQUEST_INTERRUPT,
                tag: vector.into(),
                ..nothing
            },
            Request::Message { severity } => RawRequest {
                kind: REQUEST_MESSAGE,
                detail: match severity {
                    Severity::Correctable => 0,
                    Severity::NonFatal => 1,
                    Severity::Fatal => 2,
                },
                ..nothing
            },
            Request::Timer { timer, after_fs } => RawRequest {
                kind: REQUEST_TIMER,
                tag: timer,
                address: after_fs,
                ..nothing
            },
            Request::Answer { ticket, bytes } => RawRequest {
                kind: REQUEST_ANSWER,
                tag: ticket.0,
                detail: bytes.is_some().into(),
                ..with(bytes.unwrap_or_default(), nothing)
            },
            Request::Malformed {
                ticket,
                bytes,
                defect,
            } => RawRequest {
                kind: REQUEST_MALFORMED,
                tag: ticket.0,
                detail: defect as u32,
                ..with(bytes, nothing)
            },
            Request::Fail { why } => {
                fail(self.0, why);
                return Ok(());
            }
        };
        // SAFETY: the simulator gave the function with its context, for this call; the request and its bytes outlive the call of it.
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

fn with(bytes: &[u8], request: RawRequest) -> RawRequest {
    RawRequest {
        bytes: bytes.as_ptr(),
        len: bytes.len() as u64,
        ..request
    }
}

fn fail(shell: &RawShell, why: &str) {
    // SAFETY: the simulator gave the function with its context, for this call; the text outlives the call of it.
    unsafe { (shell.fail)(shell.context, why.as_ptr(), why.len()) }
}

thread_local! {
    /// The place, the message and the backtrace of the last panic of a model in this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether this thread is in a call of a model.
    static IS_IN_MODEL: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the message of each panic in a call of a model for the simulator, instead of printing it. Other panics are not changed.
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

/// Runs code of a model; returns the message of its panic, if it panics.
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

/// Drops the payload of a panic, whose own code may panic once more. Nothing may unwind out of here, so the second payload stays.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Calls a model. A panic of the model ends the run.
///
/// # Safety
///
/// `shell` must be valid during this call.
unsafe fn call<T>(
    shell: *const RawShell,
    otherwise: T,
    work: impl FnOnce(&mut Shell<'_>) -> T,
) -> T {
    // SAFETY: the caller keeps to the rules of this function.
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

/// The device behind a pointer that [`make`] has returned.
///
/// # Safety
///
/// The pointer must come from `make::<M>`, and nobody else may use the device during the call.
unsafe fn device<'d, M>(device: *mut c_void) -> &'d mut M {
    // SAFETY: the caller keeps to the rules of this function.
    unsafe { &mut *device.cast() }
}

unsafe extern "C" fn describe<M: Declare>() -> *const RawDescription {
    // There is no shell for the message, so it is printed as usual.
    catch_unwind(description::<M>).unwrap_or_else(|payload| {
        discard(payload);
        ptr::null()
    })
}

/// The declaration of a model, which is valid as long as the library is loaded.
fn description<M: Declare>() -> *const RawDescription {
    let declared = M::description();
    let bars = declared.bars.iter().map(|bar| RawBar {
        index: bar.index.into(),
        is_wide: bar.wide.into(),
        size: bar.size,
    });
    let bars: &'static [RawBar] = bars.collect::<Vec<_>>().leak();
    let parameters = declared.parameters.into_iter().map(|one| {
        let (least, most) = one
            .within
            .clone()
            .unwrap_or_else(|| (one.default.clone(), one.default.clone()));
        RawParameter {
            key: text(one.key),
            help: text(one.help),
            source: text(one.source),
            default: setting(one.default),
            is_limited: one.within.is_some().into(),
            least: setting(least),
            most: setting(most),
        }
    });
    let parameters: &'static [RawParameter] = parameters.collect::<Vec<_>>().leak();
    let raw = RawDescription {
        help: text(declared.help),
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

fn text(text: String) -> RawText {
    let text: &'static str = text.leak();
    RawText {
        bytes: text.as_ptr(),
        len: text.len(),
    }
}

fn setting(value: Setting) -> RawSetting {
    let nothing = RawText {
        bytes: ptr::null(),
        len: 0,
    };
    let (kind, number, text) = match value {
        Setting::Integer(number) => (0, number, nothing),
        Setting::Number(number) => (1, number.to_bits(), nothing),
        Setting::Flag(flag) => (2, flag.into(), nothing),
        Setting::Text(value) => (3, 0, text(value)),
        Setting::Bytes(number) => (4, number, nothing),
        Setting::Time(number) => (5, number, nothing),
        Setting::Bandwidth(number) => (6, number, nothing),
        Setting::Frequency(number) => (7, number, nothing),
    };
    RawSetting { kind, number, text }
}

/// The value of a parameter that the simulator gives; its type is that of `like`.
///
/// # Safety
///
/// The text of a value, if it has one, must be valid during the call.
unsafe fn setting_like(like: &Setting, raw: &RawSetting) -> Setting {
    match like {
        Setting::Integer(_) => Setting::Integer(raw.number),
        Setting::Number(_) => Setting::Number(f64::from_bits(raw.number)),
        Setting::Flag(_) => Setting::Flag(raw.number != 0),
        Setting::Bytes(_) => Setting::Bytes(raw.number),
        Setting::Time(_) => Setting::Time(raw.number),
        Setting::Bandwidth(_) => Setting::Bandwidth(raw.number),
        Setting::Frequency(_) => Setting::Frequency(raw.number),
        Setting::Text(_) => {
            // SAFETY: the caller keeps to the rules of this function.
            let bytes = unsafe { bytes_at(raw.text.bytes, raw.text.len) };
            Setting::Text(str::from_utf8(bytes).unwrap_or_default().to_owned())
        }
    }
}

/// The bytes at a pointer, which may be null if there are none.
///
/// # Safety
///
/// The bytes must be valid as long as the slice is used.
unsafe fn bytes_at<'b>(bytes: *const u8, len: usize) -> &'b [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller keeps to the rules of this function.
    unsafe { slice::from_raw_parts(bytes, len) }
}

unsafe extern "C" fn make<M: Declare>(
    values: *const RawSetting,
    count: usize,
    shell: *const RawShell,
) -> *mut c_void {
    keep_panics();
    let values: &[RawSetting] = if count == 0 {
        &[]
    } else {
        // SAFETY: the simulator gives `count` values, which are valid during this call.
        unsafe { slice::from_raw_parts(values, count) }
    };
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
            let value = unsafe { setting_like(&parameter.default, raw) };
            (parameter.key, value)
        });
        let model = M::new(&Settings::new(settings.collect()));
        Box::into_raw(Box::new(model)).cast()
    };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, ptr::null_mut(), work) }
}

unsafe extern "C" fn destroy<M: Declare>(model: *mut c_void) {
    // SAFETY: the simulator gives a device of `make` back once, and does not use it again.
    let model: Box<M> = unsafe { Box::from_raw(model.cast()) };
    // The run is over, so no reader is left for the message of a panic.
    let _ = caught(|| drop(model));
}

unsafe extern "C" fn reset<M: Declare>(model: *mut c_void, function: u32, shell: *const RawShell) {
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, (), |shell| model.reset(function as u8, shell)) }
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
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the access is valid during this call.
    let access = access(unsafe { &*raw });
    let into: &mut [u8] = if access.len == 0 {
        &mut []
    } else {
        // SAFETY: the simulator gives space for as many bytes as the access has, and does not use it during this call.
        unsafe { slice::from_raw_parts_mut(into, access.len as usize) }
    };
    let work = |shell: &mut Shell<'_>| match model.read(access, into, shell) {
        Answer::Now => ANSWER_NOW,
        Answer::Later => ANSWER_LATER,
        Answer::Unsupported => ANSWER_UNSUPPORTED,
        Answer::Abort => ANSWER_ABORT,
    };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, ANSWER_ABORT, work) }
}

unsafe extern "C" fn write<M: Declare>(
    model: *mut c_void,
    raw: *const RawAccess,
    bytes: *const u8,
    shell: *const RawShell,
) {
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the access is valid during this call.
    let access = access(unsafe { &*raw });
    // SAFETY: the simulator gives as many bytes as the access has.
    let bytes = unsafe { bytes_at(bytes, access.len as usize) };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, (), |shell| model.write(access, bytes, shell)) }
}

unsafe extern "C" fn completed<M: Declare>(
    model: *mut c_void,
    tag: u64,
    failure: u32,
    bytes: *const u8,
    len: usize,
    shell: *const RawShell,
) {
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the simulator gives `len` bytes, which are valid during this call.
    let bytes = unsafe { bytes_at(bytes, len) };
    let outcome = match failure {
        0 => Ok(bytes),
        1 => Err(Failure::Unsupported),
        2 => Err(Failure::Aborted),
        3 => Err(Failure::TimedOut),
        5 => Err(Failure::NotEnabled),
        _ => Err(Failure::Poisoned),
    };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, (), |shell| model.completed(tag, outcome, shell)) }
}

unsafe extern "C" fn sent<M: Declare>(model: *mut c_void, tag: u64, shell: *const RawShell) {
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, (), |shell| model.sent(tag, shell)) }
}

unsafe extern "C" fn expired<M: Declare>(model: *mut c_void, timer: u64, shell: *const RawShell) {
    // SAFETY: the simulator gives a device of `make`, which it uses in one call at a time.
    let model = unsafe { device::<M>(model) };
    // SAFETY: the simulator's shell is valid during this call.
    unsafe { call(shell, (), |shell| model.expired(timer, shell)) }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::{ptr, slice, str};

    use super::{RawRequest, RawSetting, RawShell, setting, table};
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
        // SAFETY: the context is the text of `make_with`, and the model gives a valid text.
        let (said, text) = unsafe { (&mut *context.cast(), slice::from_raw_parts(bytes, len)) };
        *said = str::from_utf8(text).unwrap().to_owned();
    }

    /// The message of a failure to make a device with these values; empty if it was made.
    fn make_with(values: &[RawSetting]) -> String {
        let mut said = String::new();
        let shell = RawShell {
            context: ptr::from_mut(&mut said).cast(),
            now_fs: 0,
            ask,
            fail,
        };
        let table = table::<OfOne>();
        // SAFETY: values and shell are valid during the call, and the device is given back once.
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
        let one = setting(Setting::Integer(1));
        assert_eq!(make_with(&[one]), "");
        assert!(make_with(&[]).contains("has 1 parameters, and was given 0 values"));
        assert!(make_with(&[one, one]).contains("has 1 parameters, and was given 2 values"));
    }
}

//! One instance of a circuit.

use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::slice;

use crate::abi::{self, Model, Settings};
use crate::{Failure, Missing, loaded};

/// An instance of a circuit, with its own clock and its own context.
#[derive(Debug)]
pub struct Circuit {
    name: String,
    model: &'static Model,
    instance: NonNull<c_void>,
    cycle: u64,
}

// SAFETY: an instance uses no state of a thread except the state that it sets at the beginning of each call.
unsafe impl Send for Circuit {}
// SAFETY: through a shared reference an instance is only read.
unsafe impl Sync for Circuit {}

/// An event at the ports of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening<'c> {
    /// The circuit has accepted the oldest posted TLP or completion in its queue.
    Taken,
    /// The circuit has accepted the oldest non-posted request in its queue.
    RequestTaken,
    /// The circuit has sent a TLP with these bytes.
    Sent(&'c [u8]),
    /// The circuit has requested the interrupt of its vector.
    Interrupt,
    /// The circuit has reported an error with this header of a TLP.
    Error(&'c [u8]),
}

/// Whether a circuit can write waveforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waves {
    /// The circuit cannot write waveforms, which makes it faster.
    Never,
    /// The circuit can write waveforms.
    Possible,
}

/// A TLP for a circuit.
#[derive(Clone, Copy, Debug)]
pub struct Tlp<'b> {
    /// Header and payload, without digest.
    pub bytes: &'b [u8],
    /// The first cycle in which the circuit may accept a beat of the TLP.
    pub cycle: u64,
    /// Label for measurements.
    pub label: u32,
    /// The BAR that a memory request hits.
    pub bar: u8,
    /// Whether the TLP is a non-posted request. Other TLPs pass a non-posted request while the circuit accepts no non-posted requests.
    pub is_non_posted: bool,
}

/// The events at the ports of a circuit in one batch of cycles.
#[derive(Debug)]
pub struct Events<'c> {
    list: &'c [abi::Event],
    bytes: &'c [u8],
    headers: &'c [u8],
}

/// The cycles of the first and of the last beat.
pub type Beats = (u64, u64);

impl<'c> Events<'c> {
    /// The events in the order of their last beats. Each event has its beats; the label of the TLP, the vector of the interrupt or the kind
    /// of the error; and what has happened.
    pub fn iter(&self) -> impl Iterator<Item = (Beats, u32, Happening<'c>)> {
        let (bytes, headers) = (self.bytes, self.headers);
        self.list.iter().map(move |event| {
            let happening = match event.kind {
                abi::TAKEN => Happening::Taken,
                abi::REQUEST_TAKEN => Happening::RequestTaken,
                abi::SENT => {
                    Happening::Sent(&bytes[event.offset as usize..][..event.size as usize])
                }
                abi::ERROR => {
                    Happening::Error(&headers[event.offset as usize..][..event.size as usize])
                }
                _ => Happening::Interrupt,
            };
            ((event.first, event.last), event.label, happening)
        })
    }
}

/// Functions of the model that are called with the instance. Functions that change the instance are `mut`.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($mut:ident)? $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        $(#[$doc])*
        pub fn $name(&$($mut)? self $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: the instance is of this model.
            unsafe { (self.model.$name)(self.instance.as_ptr() $(, $argument)*) }
        }
    )*};
}

impl Circuit {
    /// The names of all circuits that scenarios of this process can name.
    pub fn all() -> Vec<String> {
        loaded::names()
    }

    /// The circuit with this name, after its reset, with beats of `width` bits and a clock that has this period in picoseconds.
    pub fn new(name: &str, width: u32, period_ps: u64, waves: Waves) -> Result<Self, Missing> {
        let models = loaded::models(name)?;
        let of_width = |model: &&&Model| model.width * 8 == u64::from(width);
        let fitting: Vec<_> = models.iter().filter(of_width).collect();
        if fitting.is_empty() {
            let mut known: Vec<_> = models.iter().map(|model| model.width * 8).collect();
            known.sort_unstable();
            known.dedup();
            return Err(Missing::Width {
                name: name.into(),
                width,
                known: known.iter().map(u64::to_string).collect(),
            });
        }
        let mut fitting = fitting.into_iter();
        let Some(model) = fitting.find(|model| model.is_traced == (waves == Waves::Possible))
        else {
            return Err(Missing::Waves { name: name.into() });
        };
        // SAFETY: the function makes an instance that is used with this model only, until it is destroyed once.
        let instance = unsafe { (model.create)(period_ps) };
        let instance = NonNull::new(instance).expect("C++ makes an instance or ends the process");
        Ok(Circuit {
            name: name.into(),
            model,
            instance,
            cycle: 0,
        })
    }

    /// Applies settings from the next cycle on.
    pub fn configure(&mut self, settings: Settings) {
        // SAFETY: the instance is of this model, and the settings are read during the call only.
        unsafe { (self.model.configure)(self.instance.as_ptr(), &raw const settings) }
    }

    /// Queues a TLP for the circuit. Posted TLPs and completions pass non-posted requests while the circuit accepts no non-posted requests.
    pub fn push(&mut self, tlp: &Tlp<'_>) {
        let Tlp {
            bytes,
            cycle,
            label,
            bar,
            is_non_posted,
        } = *tlp;
        let (first, size) = (bytes.as_ptr(), bytes.len() as u64);
        // SAFETY: the instance is of this model, and the bytes are copied during the call.
        unsafe {
            (self.model.push)(
                self.instance.as_ptr(),
                first,
                size,
                cycle,
                label,
                bar.into(),
                is_non_posted,
            );
        }
    }

    /// Runs the circuit up to cycle `until`, and returns what has happened at its ports.
    pub fn run(&mut self, until: u64) -> Result<Events<'_>, Failure> {
        // SAFETY: the structure contains only numbers and pointers, for which zero is a valid value.
        let mut seen: abi::Events = unsafe { std::mem::zeroed() };
        // SAFETY: the instance is of this model, and the structure is written during the call only.
        unsafe { (self.model.run)(self.instance.as_ptr(), until, &raw mut seen) }
        self.cycle = seen.cycle;
        if !seen.stopped.is_null() {
            // SAFETY: the message ends with a zero, and stays valid until the instance runs again.
            let message = unsafe { CStr::from_ptr(seen.stopped) };
            return Err(Failure {
                circuit: self.name.clone(),
                cycle: seen.cycle,
                message: Failure::reason(&message.to_string_lossy()),
            });
        }
        // SAFETY: the events and bytes stay valid until the instance runs again, and a run needs a mutable borrow of the instance.
        let (events, bytes, headers) = unsafe {
            (
                all(seen.first, seen.count),
                all(seen.bytes, seen.size),
                all(seen.headers, seen.headers_size),
            )
        };
        Ok(Events {
            list: events,
            bytes,
            headers,
        })
    }

    /// The name of the circuit.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next cycle.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Bytes of a beat.
    pub fn width(&self) -> usize {
        self.model.width as usize
    }

    /// Whether the circuit has ports for the function-level reset. If not, [`reset`](Self::reset) resets its function.
    pub fn resets_function(&self) -> bool {
        self.model.resets_function
    }

    /// Writes the waveforms of all signals to `path`, in the VCD format, from the next cycle on. With [`Waves::Never`], nothing is written.
    pub fn open_waves(&mut self, path: &Path) -> io::Result<()> {
        // The writer does not report whether it could open the file.
        File::create(path)?;
        let path = CString::new(path.as_os_str().as_encoded_bytes())?;
        // SAFETY: the instance is of this model, and the path is read during the call only.
        unsafe { (self.model.open_waves)(self.instance.as_ptr(), path.as_ptr()) }
        Ok(())
    }

    calls! {
        /// Resets the circuit and discards all its TLPs.
        reset(mut);
        /// Sets the number of TLPs that the circuit may begin to send. If the number is 0, the port of the circuit is not ready.
        allow(mut, tlps: u32);
        /// Stops the writing of waveforms.
        close_waves(mut);
        /// Whether the circuit has sent the first beat of a TLP, and not yet the last one.
        is_sending() -> bool;
        /// Whether the circuit has completed the function-level reset that its [settings](Settings::flr) have started.
        is_reset_done() -> bool;
        /// Whether the circuit is working although it receives nothing. If not, its clock stops until the next input.
        is_active() -> bool;
        /// The number of cycles in which units at rest were not evaluated.
        short_cycles() -> u64;
    }
}

impl Drop for Circuit {
    fn drop(&mut self) {
        // SAFETY: the instance is of this model, and is not used again.
        unsafe { (self.model.destroy)(self.instance.as_ptr()) }
    }
}

/// The `count` values from `first` on.
///
/// # Safety
///
/// The values must exist, and stay unchanged, for the returned lifetime. `first` may be null if `count` is 0.
unsafe fn all<'v, V>(first: *const V, count: u64) -> &'v [V] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller guarantees.
    unsafe { slice::from_raw_parts(first, count as usize) }
}

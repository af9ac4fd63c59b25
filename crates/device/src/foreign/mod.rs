//! A device around a model. The model is external, which means written in Python or loaded from a library, or it is part of this project.
//!
//! The [`Model`] has the registers and the behaviour, and the device around it implements PCI Express. [`Core`] keeps the requests of the model.
//! The device makes [packets](crate::requests) from them, and passes the completions to the model. A model that fails, or that must be called
//! again and again at one time, is not called any more. Its device then refuses all accesses, and the run ends.

mod core;
mod defect;
mod model;
mod service;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use kernel::{Effects, Span, Time};
use packet::{Observation, Why};
use peerlane_device::{Model, Shell};
use protocol::Bar;
use transaction::{FunctionPlace, Memory};

use crate::leaf::{self, one_port};
use crate::place::number_of;
use crate::requests::{Ended, Sent};
use crate::{Endpoint, EndpointConfig, Leaf, LeafParameters};
use core::Core;
pub use model::{ForeignModel, ForeignParameters, Maker, read_setting};

/// A model that can be put into devices.
pub trait Behaviour: Model + Sized + 'static {
    /// The parameters of the model.
    type Parameters: LeafParameters;

    /// Makes the model for the device with this name. Returns the reason if that fails.
    fn make(parameters: &Self::Parameters, device: &str) -> Result<Self, String>;

    /// Whether the model answers accesses to the registers of virtual functions, and makes requests for these functions.
    fn has_virtual_functions(_: &Self::Parameters) -> bool {
        false
    }

    /// The reason why the engine makes no request now, if the reason is not a lack of tags.
    fn engine(&self, _now: Time) -> Why {
        Why::Software
    }
}

/// A device with a model; the default is an external model.
pub struct Foreign<M = Box<dyn Model>> {
    endpoint: Endpoint,
    /// The model; none if it could not be made. The mutex is needed because the device must be `Sync`, but a model need not be.
    model: Option<Mutex<M>>,
    core: Core,
    bars: Vec<Bar>,
    has_virtual_functions: bool,
    /// A page of memory for the data of the completions of one read of registers.
    page: Memory,
    /// The bytes of an access.
    bytes: Vec<u8>,
    /// Whether the model was reset after power-on.
    is_started: bool,
    /// A time before which no request can time out.
    deadline: Time,
    /// The beginning of the current counting interval, and the number of calls since then.
    calls: (Time, u32),
    /// The time at which the failure was reported.
    failed_at: Option<Time>,
}

/// The most calls of a model within [`LONG`].
const MOST_CALLS: u32 = 100_000;

/// The interval in which at most [`MOST_CALLS`] calls are allowed. No link carries so many packets in this time.
const LONG: Span = Span::from_ns(1);

one_port!(Foreign<M>, M: Behaviour);

impl<M: Behaviour> Leaf for Foreign<M> {
    fn engine(&self, now: Time) -> Why {
        let of_model = || {
            let model = self.model.as_ref()?;
            let model = model.lock().unwrap_or_else(PoisonError::into_inner);
            Some(model.engine(now)).filter(|engine| *engine != Why::Software)
        };
        match self.core.requests.engine(now) {
            Why::Tags => Why::Tags,
            own => of_model().unwrap_or(own),
        }
    }

    fn deadline(&mut self, now: Time) -> Time {
        self.core.requests.deadline(now)
    }

    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        let is_reset = |one| place == FunctionPlace::Own || one == place;
        self.core.forget(is_reset, fx.store());
        let function = number_of(place) as u8;
        // A model may begin work at a reset, even for a virtual function that does not exist any more; this work is dropped.
        self.core.virtual_functions = usize::from(u8::MAX);
        self.call(fx.now(), |model, shell| model.reset(function, shell));
        self.apply_registers();
        let there = self.core.virtual_functions;
        let is_gone = |one| number_of(one) > there;
        self.core.forget(is_gone, fx.store());
    }

    /// Handles the packets that have arrived, advances timers and sends packets, until nothing more can be done at this time.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if !self.is_started {
            self.is_started = true;
            self.core.has_vectors = self.endpoint.vectors_of(FunctionPlace::Own);
            self.apply_registers();
            self.call(fx.now(), |model, shell| model.reset(0, shell));
        }
        loop {
            while let Some(packet) = self.endpoint.take(fx) {
                self.take(packet, fx);
            }
            if fx.now() >= self.deadline {
                self.give_up(fx);
            }
            self.expire_timers(fx.now());
            self.answer_reads(fx);
            while let Some(arrival) = self.core.arrivals.pop_front() {
                fx.observe(arrival);
            }
            while let Some((place, vector)) = self.core.withdrawn.pop() {
                self.endpoint.withdraw_interrupt(place, vector);
            }
            if !self.send_one(fx) {
                break;
            }
        }
        if self.core.failed.is_some() && self.failed_at.is_none() {
            self.failed_at = Some(fx.now());
            self.core.forget(|_| true, fx.store());
            fx.observe(Observation::Stopped);
        }
        self.endpoint.wake_engine(self.core.next_timer(), fx);
        self.deadline = self.core.requests.deadline(fx.now());
        self.endpoint.wake_engine_in_background(self.deadline, fx);
    }
}

impl<M: Behaviour> Foreign<M> {
    /// A device with a new model.
    pub fn new(mut config: EndpointConfig, parameters: &M::Parameters, name: &str) -> Self {
        let bars = parameters.bars(&config.parameters, None);
        // The model has the bytes of BAR 0, so the endpoint needs no memory for them.
        config.parameters.bar = kernel::Bytes(0);
        let tags = parameters.properties().tags;
        let outstanding = config.parameters.outstanding(tags);
        let made = M::make(parameters, name);
        let endpoint = Endpoint::new(config);
        let mut core = Core::new(outstanding, &endpoint);
        let model = match made {
            Ok(model) => Some(Mutex::new(model)),
            Err(why) => {
                core.failed = Some(why);
                None
            }
        };
        Foreign {
            endpoint,
            model,
            core,
            bars,
            has_virtual_functions: M::has_virtual_functions(parameters),
            page: Memory::new(PAGE),
            bytes: Vec::new(),
            is_started: false,
            deadline: Time::ZERO,
            calls: (Time::ZERO, 0),
            failed_at: None,
        }
    }

    /// The model, mutable, to be prepared before a run; none if it could not be made.
    pub fn model_mut(&mut self) -> Option<&mut M> {
        let model = self.model.as_mut()?;
        Some(model.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The reason why the model could not be made; none if it was made.
    pub fn unmade(&self) -> Option<&str> {
        let is_made = self.model.is_some();
        self.core.failed.as_deref().filter(|_| !is_made)
    }

    /// The time at which the model has failed, and the reason; none if it has not failed.
    pub fn failure(&self) -> Option<(Time, &str)> {
        Some((self.failed_at?, self.core.failed.as_deref()?))
    }

    /// Calls the model now, as if a timer with the number `timer` had expired.
    pub fn prompt(&mut self, timer: u64, fx: &mut Effects<'_, Self>) {
        // The first call of a model must be its reset, which `run` makes.
        self.run(fx);
        self.call(fx.now(), |model, shell| model.expired(timer, shell));
        leaf::run(self, fx);
    }

    /// Applies the configuration registers: the tags of the functions, and the number of virtual functions that exist now.
    fn apply_registers(&mut self) {
        self.core.requests.apply_registers(&self.endpoint);
        let functions = self.endpoint.functions();
        self.core.virtual_functions = functions.virtual_places().count();
    }

    /// Calls the model, unless it has failed.
    fn call<T>(&mut self, now: Time, work: impl FnOnce(&mut M, &mut Shell<'_>) -> T) -> Option<T> {
        self.count_call(now);
        if self.core.failed.is_some() {
            return None;
        }
        self.core.now = now;
        let model = self.model.as_mut()?;
        let model = model.get_mut().unwrap_or_else(PoisonError::into_inner);
        Some(work(model, &mut Shell::new(&mut self.core)))
    }

    /// Counts a call. Too many calls at one time are a failure of the model, because they might never end.
    fn count_call(&mut self, now: Time) {
        let (since, count) = &mut self.calls;
        if now >= *since + LONG {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > MOST_CALLS {
            self.core.failed.get_or_insert_with(|| format!(
                "it was called {MOST_CALLS} times within 1 ns, and would go on for ever; let it wait for longer between its timers"
            ));
        }
    }

    /// Sends a packet, if one may be sent. Returns whether the queues have changed.
    fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let fill = |write: &core::Write, offset: u64, into: &mut [u8], _: &Memory| {
            into.copy_from_slice(&write.bytes[offset as usize..][..into.len()]);
        };
        match self.core.requests.send(&mut self.endpoint, fx, fill) {
            Sent::Nothing => return false,
            Sent::Packet => {}
            Sent::Write(write) => {
                if let Some(tag) = write.tag {
                    self.call(fx.now(), |model, shell| model.sent(tag, shell));
                }
            }
            Sent::Ended(ended) => self.end(&ended, fx.now()),
        }
        true
    }

    /// Ends requests that have timed out.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        let requests = |device: &mut Self, fx: &mut Effects<'_, Self>| {
            let requests = &mut device.core.requests;
            requests.give_up(|read| read.flow, &mut device.endpoint, fx)
        };
        while let Some(ended) = requests(self, fx) {
            self.end(&ended, fx.now());
        }
    }

    /// Reports the end of a read or an atomic operation to the model.
    fn end(&mut self, ended: &Ended<core::Read>, now: Time) {
        let read = &ended.what;
        let outcome = ended.failed.map_or(Ok(&*read.bytes), Err);
        self.call(now, |model, shell| {
            model.completed(read.tag, outcome, shell);
        });
    }

    /// Calls the model for each timer that is due.
    fn expire_timers(&mut self, now: Time) {
        while let Some(timer) = self.core.take_timer(now) {
            self.call(now, |model, shell| model.expired(timer, shell));
        }
    }
}

impl<M> fmt::Debug for Foreign<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Foreign")
            .field("endpoint", &self.endpoint)
            .field("core", &self.core)
            .finish_non_exhaustive()
    }
}

const PAGE: u64 = 4096;

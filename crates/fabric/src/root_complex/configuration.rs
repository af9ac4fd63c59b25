//! The CPU's accesses to configuration spaces: one at a time, sent as packets below the root ports.

use kernel::{Effects, Port, Span};
use packet::{Observation, Refusal, Stamp};
use protocol::{Completion, ConfigRequest, FunctionId, Kind, Status, Tag};
use transaction::{Action, ConfigAccess, Outstanding, Place, Reach};

use crate::{Cpu, RootComplex, RootTimer};

/// The CPU's current access, and the outstanding requests of this and earlier accesses. The requester is the root port that sends
/// the request, so these tags are separate from those of the CPU's memory requests.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    progress: Progress,
    /// The outstanding requests, with the root port of each.
    requests: Outstanding<usize>,
}

/// The state of the CPU's access.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// There is no access.
    Idle,
    /// A request was sent below a root port; this is the requester.
    Sent(FunctionId),
    /// The access is complete, with the value, or none if it failed.
    Answered(Option<u32>),
}

/// The tags of a function without extended tags (PCIe Base 2.2.6.2): an access needs one, and requests that timed out may occupy
/// others.
const TAGS: u16 = 32;

impl Configuration {
    /// No access yet; each request will have the completion timeout `timeout`.
    pub(crate) fn new(timeout: Span) -> Self {
        Configuration {
            progress: Progress::Idle,
            requests: Outstanding::new(TAGS, timeout),
        }
    }

    /// Takes a completion; returns the root port of its request. `None` when no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<usize> {
        if !matches!(self.progress, Progress::Sent(id) if id == completion.requester) {
            return None;
        }
        let part = self.requests.take(completion)?;
        if part.last {
            let data = payload.first_chunk::<4>().copied();
            let good = completion.status == Status::Successful;
            let answer = good.then(|| data.map_or(0, u32::from_le_bytes));
            self.progress = Progress::Answered(answer);
        }
        Some(part.what)
    }
}

impl<C: Cpu> RootComplex<C> {
    /// Whether an access has begun and its result was not taken yet.
    pub fn is_configuring(&self) -> bool {
        !matches!(self.configuration.progress, Progress::Idle)
    }

    /// Begins an access of the CPU; the previous one must be complete.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        let mut request = access.request(self.functions.id(), Tag::default());
        self.configuration.progress = match self.functions.reach(&request) {
            Reach::Nobody => Progress::Answered(None),
            Reach::Here(place) => {
                self.ports.record_repaired(&mut self.functions);
                let value = self.functions.access(place, &request, access.action);
                if access.action != Action::Read {
                    self.apply_registers();
                }
                Progress::Answered(Some(value))
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                request.requester = self.functions.id_of(Place::Port(port));
                self.send_below(port, request, access.action, fx);
                Progress::Sent(request.requester)
            }
        };
    }

    /// Sends a configuration request down a root port.
    fn send_below(
        &mut self,
        port: usize,
        mut request: ConfigRequest,
        action: Action,
        fx: &mut Effects<'_, Self>,
    ) {
        let awaited = match action {
            Action::Read => 4,
            Action::Write { .. } => 0,
        };
        let requests = &mut self.configuration.requests;
        request.tag = requests.begin(port, awaited, fx.now());
        let patience = requests.oldest_deadline().since(fx.now());
        fx.wake(RootTimer::Configuration, patience);
        let packet = fx.store().claim();
        match action {
            Action::Read => {
                let header = Kind::ConfigRead(request).into();
                fx.store()[packet].write(header, Stamp::default());
            }
            Action::Write { value, .. } => {
                let header = Kind::ConfigWrite(request).into();
                let payload = fx.store()[packet].write(header, Stamp::default());
                payload.copy_from_slice(&value.to_le_bytes());
            }
        }
        self.send_down(Port(port as u16), packet, fx);
    }

    /// The result of the last access, once: the value, or none if no function served it. `None` while the access is outstanding.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let Progress::Answered(answer) = self.configuration.progress else {
            return None;
        };
        self.configuration.progress = Progress::Idle;
        Some(answer)
    }

    /// Takes a completion of an access. False when no request waits for it.
    pub(crate) fn take_configuration(&mut self, completion: &Completion, payload: &[u8]) -> bool {
        let Some(port) = self.configuration.take(completion, payload) else {
            return false;
        };
        if completion.status == Status::UnsupportedRequest {
            self.functions.record_master_abort(Place::Port(port));
        }
        true
    }

    /// Completes an access that has timed out (PCIe Base 2.8), unless a later one is outstanding.
    pub(crate) fn give_up_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some(lost) = self.configuration.requests.give_up(fx.now()) {
            self.functions.record_timeout(Place::Port(lost.what));
            self.configuration.progress = Progress::Answered(None);
            fx.observe(Observation::Refused {
                why: Refusal::CompletionTimeout,
                flow: None,
                bytes: 0,
            });
        }
    }
}

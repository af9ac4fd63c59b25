//! The CPU's accesses to configuration spaces: one at a time, as packets below the root ports.

use kernel::{Effects, Port, Span};
use packet::{Observation, Refusal, Stamp};
use protocol::{Completion, ConfigRequest, FunctionId, Kind, Status, Tag};
use transaction::{Action, ConfigAccess, Outstanding, Place, Reach};

use crate::{Cpu, RootComplex, RootTimer};

/// The CPU's access, and the requests that were made of it and earlier ones. A request is that of the root port that it goes
/// out of, so that its tags are none of the CPU's memory requests.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    progress: Progress,
    /// The root port of each request.
    requests: Outstanding<usize>,
}

/// How far the access is.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// There is none.
    Idle,
    /// The request of this function is below it.
    Away(FunctionId),
    /// It is answered; with nothing, if nobody serves it.
    Answered(Option<u32>),
}

/// As many as a function has without extended tags (PCIe Base 2.2.6.2): one access needs one, and those that timed out rest.
const TAGS: u16 = 32;

impl Configuration {
    /// No access yet; each will wait for `timeout`.
    pub(crate) fn new(timeout: Span) -> Self {
        Configuration {
            progress: Progress::Idle,
            requests: Outstanding::new(TAGS, timeout),
        }
    }

    /// Takes in a completion: the root port whose request it answers. `None` when no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<usize> {
        if !matches!(self.progress, Progress::Away(id) if id == completion.requester) {
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
    /// Whether an access of the CPU has begun whose answer was not taken.
    pub fn is_configuring(&self) -> bool {
        !matches!(self.configuration.progress, Progress::Idle)
    }

    /// Begins an access of the CPU, after the last one was answered.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        let mut request = access.request(self.functions.id(), Tag::default());
        self.configuration.progress = match self.functions.reach(&request) {
            Reach::Nobody => Progress::Answered(None),
            Reach::Here(place) => {
                self.record_repaired();
                let value = self.functions.access(place, &request, access.action);
                if access.action != Action::Read {
                    self.obey();
                }
                Progress::Answered(Some(value))
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                request.requester = self.functions.id_of(Place::Port(port));
                self.ask_below(port, request, access.action, fx);
                Progress::Away(request.requester)
            }
        };
    }

    /// Sends a configuration request down a root port.
    fn ask_below(
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

    /// The answer of the last access, once: nothing, if nobody serves it. `None` while it is on its way.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let Progress::Answered(answer) = self.configuration.progress else {
            return None;
        };
        self.configuration.progress = Progress::Idle;
        Some(answer)
    }

    /// Takes in a completion of an access. False when no request waits for it.
    pub(crate) fn take_configuration(&mut self, completion: &Completion, payload: &[u8]) -> bool {
        let Some(port) = self.configuration.take(completion, payload) else {
            return false;
        };
        if completion.status == Status::UnsupportedRequest {
            self.functions.record_master_abort(Place::Port(port));
        }
        true
    }

    /// An access has waited long enough (PCIe Base 2.8), unless a later one waits now.
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

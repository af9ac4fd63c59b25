//! The CPU's accesses to configuration spaces: one at a time, as packets below the root ports.

use kernel::{Effects, Port, Time};
use link::{Observation, Refusal, Stamp};
use protocol::{Completion, Header, Kind, Status};
use transaction::{Action, ConfigAccess, Place, Reach};

use crate::{Cpu, RootComplex, RootTimer};

/// How far the access is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Configuration {
    /// There is none.
    #[default]
    Idle,
    /// Its request is below a root port.
    Away {
        request: Header,
        port: usize,
        deadline: Time,
    },
    /// It is answered; with nothing, if nobody serves it.
    Answered(Option<u32>),
}

impl Configuration {
    /// Takes in a completion. False when no request waits for it.
    pub(crate) fn take(&mut self, completion: &Completion, payload: &[u8]) -> bool {
        let Configuration::Away { request, .. } = self else {
            return false;
        };
        if (completion.requester, completion.tag) != (request.requester(), request.tag()) {
            return false;
        }
        let data = payload.first_chunk::<4>().copied();
        let good = completion.status == Status::Successful;
        *self = Configuration::Answered(good.then(|| data.map_or(0, u32::from_le_bytes)));
        true
    }
}

impl<C: Cpu> RootComplex<C> {
    /// Begins an access of the CPU, after the last one was answered.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        let mut request = access.request(self.functions.id(), self.configuration_tag());
        self.configuration = match self.functions.reach(&request) {
            Reach::Nobody => Configuration::Answered(None),
            Reach::Here(place) => {
                self.record_repaired();
                let value = self.functions.access(place, &request, access.action);
                self.obey();
                Configuration::Answered(Some(value))
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                let (header, data): (Header, _) = match access.action {
                    Action::Read => (Kind::ConfigRead(request).into(), None),
                    Action::Write { value, .. } => (Kind::ConfigWrite(request).into(), Some(value)),
                };
                let packet = fx.store().claim();
                let payload = fx.store()[packet].write(header, Stamp::default());
                if let Some(value) = data {
                    payload.copy_from_slice(&value.to_le_bytes());
                }
                self.send_down(Port(port as u16), packet, fx);
                let patience = self.completion_timeout();
                fx.wake(RootTimer::Configuration, patience);
                Configuration::Away {
                    request: header,
                    port,
                    deadline: fx.now() + patience,
                }
            }
        };
    }

    /// The answer of the last access, once: nothing, if nobody serves it. `None` while it is on its way.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let Configuration::Answered(answer) = self.configuration else {
            return None;
        };
        self.configuration = Configuration::Idle;
        Some(answer)
    }

    /// An access has waited long enough (PCIe Base 2.8), unless a later one waits now.
    pub(crate) fn give_up_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Configuration::Away { port, deadline, .. } = self.configuration
            && deadline <= fx.now()
        {
            self.functions.record_timeout(Place::Port(port));
            self.configuration = Configuration::Answered(None);
            fx.observe(Observation::Refused {
                why: Refusal::CompletionTimeout,
                flow: None,
                bytes: 0,
            });
        }
    }
}

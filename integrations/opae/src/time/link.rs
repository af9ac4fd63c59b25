//! The connection to the simulation, with the time that the process has worked since its last call.

use std::os::fd::BorrowedFd;
use std::path::Path;

use session::{Call, Caller, Expected, Reply, Request, Until, WaitEnd, Welcome, Work};

use crate::abi::Code;
use crate::valgrind;

/// A connection whose first call was answered.
#[derive(Debug)]
pub struct Link {
    caller: Caller,
    /// The properties of the session.
    pub welcome: Welcome,
    /// Simulated time of the last answer, in femtoseconds.
    pub now: u64,
    /// The work of the process that was charged since the last answer.
    pub debt: Work,
    /// Whether, at the last answer, an operation could still write to memory or signal an interrupt.
    pub active: bool,
    /// Whether the session has ended.
    pub gone: bool,
}

impl Link {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> Option<Self> {
        // Under valgrind, the system's pages with the number of the core and the clock do not exist.
        let (caller, answer) = Caller::connect(path, !valgrind::is_there()).ok()?;
        let Ok(Reply::Welcome(welcome)) = answer.outcome else {
            return None;
        };
        Some(Link {
            caller,
            welcome,
            now: answer.now,
            debt: Work::default(),
            active: answer.active,
            gone: false,
        })
    }

    /// The simulated time of the last answer, plus the time that was charged since.
    pub fn time(&self) -> u64 {
        self.now.saturating_add(self.debt.total())
    }

    /// Adds time to one kind of the charged work.
    pub fn charge(&mut self, kind: impl FnOnce(&mut Work) -> &mut u64, time: u64) {
        let charged = kind(&mut self.debt);
        *charged = charged.saturating_add(time);
    }

    /// Sends a request and waits for the answer.
    pub fn call(&mut self, request: Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Code> {
        if self.gone {
            return Err(Code::NoDaemon);
        }
        let worked = std::mem::take(&mut self.debt);
        let call = Call { worked, request };
        let is_access = matches!(call.request, Request::Load { .. } | Request::Store { .. });
        let expected = if is_access && !valgrind::is_there() {
            Expected::Soon
        } else {
            Expected::AnyTime
        };
        let answer = self.caller.call(&call, file, expected);
        let Ok(answer) = answer else {
            self.gone = true;
            self.active = false;
            self.debt = worked;
            return Err(Code::NoDaemon);
        };
        self.now = answer.now;
        self.active = answer.active;
        Ok(answer.outcome?)
    }

    /// Waits in simulated time. After the end of the session, the function returns at once, and charges the time up to the limit.
    pub fn wait(&mut self, until: Until, limit: u64) -> WaitEnd {
        loop {
            match self.call(Request::Wait { until, limit }, None) {
                Ok(Reply::Woken(WaitEnd::Interrupted)) => {}
                Ok(Reply::Woken(why)) => return why,
                _ => {
                    if limit != u64::MAX {
                        let behind = limit.saturating_sub(self.time());
                        self.charge(|work| &mut work.looks, behind);
                    }
                    return WaitEnd::Quiet;
                }
            }
        }
    }
}

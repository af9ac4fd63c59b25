//! The connection to the simulation, with the time that the process has worked since its last call.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use session::{Call, Channel, Reply, Request, Response, Until, VERSION, WaitEnd, Welcome};

use crate::abi::Code;

/// A connection whose first call was answered.
#[derive(Debug)]
pub struct Link {
    channel: Channel,
    /// The properties of the session.
    pub welcome: Welcome,
    /// Simulated time of the last answer, in femtoseconds.
    pub now: u64,
    /// Time that was charged since then, in femtoseconds.
    pub debt: u64,
    /// Whether, at the last answer, an operation could still write to memory or signal an interrupt.
    pub active: bool,
    /// Whether the session has ended.
    pub gone: bool,
}

impl Link {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> Option<Self> {
        let channel = Channel::connect(path).ok()?;
        let request = Request::Hello { version: VERSION };
        channel.send(&Call { worked: 0, request }, None).ok()?;
        let (answer, _): (Response, _) = channel.receive().ok()?;
        let Ok(Reply::Welcome(welcome)) = answer.outcome else {
            return None;
        };
        Some(Link {
            channel,
            welcome,
            now: answer.now,
            debt: 0,
            active: answer.active,
            gone: false,
        })
    }

    /// The simulated time, with the charged time.
    pub fn time(&self) -> u64 {
        self.now.saturating_add(self.debt)
    }

    /// Adds to the charged time.
    pub fn charge(&mut self, work: u64) {
        self.debt = self.debt.saturating_add(work);
    }

    /// Sends a request and waits for the answer.
    pub fn call(&mut self, request: Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Code> {
        if self.gone {
            return Err(Code::NoDaemon);
        }
        let worked = std::mem::take(&mut self.debt);
        let call = Call { worked, request };
        let answer: Result<(Response, _), _> = self
            .channel
            .send(&call, file)
            .and_then(|()| self.channel.receive());
        let Ok((answer, _)) = answer else {
            self.gone = true;
            self.active = false;
            self.debt = worked;
            return Err(Code::NoDaemon);
        };
        self.now = answer.now;
        self.active = answer.active;
        Ok(answer.outcome?)
    }

    /// Waits in simulated time. After the end of the session it returns at once, as if the limit had come.
    pub fn wait(&mut self, until: Until, limit: u64) -> WaitEnd {
        loop {
            match self.call(Request::Wait { until, limit }, None) {
                Ok(Reply::Woken(WaitEnd::Interrupted)) => {}
                Ok(Reply::Woken(why)) => return why,
                _ => {
                    if limit != u64::MAX {
                        self.debt = self.debt.max(limit.saturating_sub(self.now));
                    }
                    return WaitEnd::Quiet;
                }
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

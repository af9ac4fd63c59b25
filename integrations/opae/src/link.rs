//! The connection to the simulation, and the account of the time that the process has worked since it last spoke.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use session::{Answer, Call, Channel, Reply, Request, Until, VERSION, Welcome, Why};

use crate::abi::Code;

/// A connection on which the first call has been answered.
#[derive(Debug)]
pub struct Link {
    channel: Channel,
    /// How the session is.
    pub welcome: Welcome,
    /// The time of the last answer, in femtoseconds.
    pub now: u64,
    /// What has been charged since, in femtoseconds.
    pub debt: u64,
    /// Whether something was under way at the last answer that may write to memory or interrupt.
    pub active: bool,
    /// The other side has gone.
    pub gone: bool,
}

impl Link {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> Option<Self> {
        let channel = Channel::connect(path).ok()?;
        let request = Request::Hello { version: VERSION };
        channel.send(&Call { worked: 0, request }, None).ok()?;
        let (answer, _): (Answer, _) = channel.receive().ok()?;
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

    /// The time, with what has been charged.
    pub fn time(&self) -> u64 {
        self.now.saturating_add(self.debt)
    }

    /// Adds to what has been charged.
    pub fn charge(&mut self, work: u64) {
        self.debt = self.debt.saturating_add(work);
    }

    /// Asks, and waits for the answer.
    pub fn call(&mut self, request: Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Code> {
        if self.gone {
            return Err(Code::NoDaemon);
        }
        let worked = std::mem::take(&mut self.debt);
        let call = Call { worked, request };
        let answer: Result<(Answer, _), _> = self
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

    /// Waits. A session that is gone is quiet, and time passes as it is asked to.
    pub fn wait(&mut self, until: Until, limit: u64) -> Why {
        loop {
            match self.call(Request::Wait { until, limit }, None) {
                Ok(Reply::Woken(Why::Interrupted)) => {}
                Ok(Reply::Woken(why)) => return why,
                _ => {
                    if limit != u64::MAX {
                        self.debt = self.debt.max(limit.saturating_sub(self.now));
                    }
                    return Why::Quiet;
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

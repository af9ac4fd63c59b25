//! A process's side of a session: it makes calls in the shared page if the server reads from the page, and otherwise over the socket.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use crate::VERSION;
use crate::call::{Call, Request, Response, Work};
use crate::channel::{Channel, ChannelError};
use crate::exchange::{Exchange, Found};
use crate::pace::{Pace, has_one_core};

/// A process's side of a session, which makes one call after the other.
#[derive(Debug)]
pub struct Caller {
    channel: Channel,
    page: Option<Exchange<Response, Call>>,
    /// Whether the server did not read from the page at the last call that could have been written there.
    has_missed: bool,
    /// Decides how the answer to the next call with [`Expected::Soon`] is awaited: by polling, or with a sleep.
    pace: Pace,
}

/// How an answer is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The answer is awaited by polling, if this is faster than a sleep and a wake-up. Otherwise it is awaited with a sleep.
    Soon,
    /// The answer is awaited with a sleep.
    AnyTime,
}

/// Real time after which a process that waits for an answer in the page checks whether the server still exists.
const PATIENCE: Duration = Duration::from_millis(500);

impl Caller {
    /// Connects a process to the socket at `path`, and makes the first call. Also returns the answer to this call. The process uses the page
    /// only if it `may_share` memory.
    pub fn connect(path: &Path, may_share: bool) -> Result<(Self, Response), ChannelError> {
        let channel = Channel::connect(path)?;
        let worked = Work::default();
        let request = Request::Hello { version: VERSION };
        channel.send(&Call { worked, request }, None)?;
        let (answer, file) = channel.receive()?;
        let file = file.filter(|_| may_share);
        let caller = Caller {
            channel,
            page: file.and_then(|file| Exchange::join(&file).ok()),
            has_missed: false,
            pace: Pace::default(),
        };
        Ok((caller, answer))
    }

    /// Makes a call, with an optional file, and waits for the answer.
    pub fn call(
        &mut self,
        call: &Call,
        file: Option<BorrowedFd<'_>>,
        expected: Expected,
    ) -> Result<Response, ChannelError> {
        let is_awake = match expected {
            Expected::Soon => self.pace.begins(),
            Expected::AnyTime => self.pace.is_awake(),
        };
        let mut has_missed = true;
        if let Some(page) = &self.page {
            if is_awake {
                page.look();
                if file.is_none() {
                    if page.write(call) {
                        self.has_missed = false;
                        return self.answer_in_page(expected);
                    }
                    has_missed = std::mem::replace(&mut self.has_missed, true);
                }
            } else {
                page.look_away();
                self.has_missed = false;
            }
        }
        self.channel.send(call, file)?;
        if let Some(page) = &self.page {
            page.point_to_socket();
        }
        // If the server has not read from the page for one call only, it reads from the page for the next call. A server of several processes
        // never reads from the page, so its answer over the socket is polled.
        if is_awake && expected == Expected::Soon && has_missed {
            // A process with only one core sleeps while it waits, because the server may need the core.
            let answer = if has_one_core() {
                None
            } else {
                self.channel.receive_plain_soon()?
            };
            if let Some(answer) = answer {
                self.pace.record_in_time();
                return Ok(answer);
            }
            self.pace.record_late();
        }
        self.channel.receive_plain()
    }

    fn answer_in_page(&mut self, expected: Expected) -> Result<Response, ChannelError> {
        let Some(page) = &self.page else {
            return Err(ChannelError::Closed);
        };
        let mut found = match expected {
            Expected::Soon => page.read_soon(&mut self.pace)?,
            Expected::AnyTime => None,
        };
        while found.is_none() {
            found = page.read_asleep(PATIENCE)?;
            // A server that was killed has closed the socket, but has written nothing to the page.
            if found.is_none() && self.channel.is_ready() {
                break;
            }
        }
        match found {
            Some(Found::Message(answer)) => Ok(answer),
            Some(Found::InSocket) | None => self.channel.receive_plain(),
        }
    }
}

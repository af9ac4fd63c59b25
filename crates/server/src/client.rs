//! A process that has connected.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use session::{Call, Channel, ChannelError, Exchange, Found, Pace, Response};

/// A process that has connected.
#[derive(Debug)]
pub(crate) struct Client {
    /// A unique number, which is not reused.
    pub(crate) number: u64,
    pub(crate) channel: Channel,
    /// The page for calls that follow each other closely, from the first accepted [hello](session::Request::Hello) on.
    page: Option<Exchange<Call, Response>>,
    /// Whether the server reads the next call from the page. If the process sends the call over the socket, it leaves a note in the page.
    looks: bool,
    /// Whether the last call was in the page.
    was_in_page: bool,
    /// Whether the [hello](session::Request::Hello) of the process was accepted.
    pub(crate) is_welcome: bool,
    /// Decides whether the next call of the process is awaited without a sleep.
    pub(crate) pace: Pace,
}

/// How the server waits for the next call of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The server does not wait.
    None,
    /// The server waits as long as [`BRIEF`].
    Brief,
    /// The server does not wait, and stops reading from the page.
    Last,
}

/// Real time for which the server waits for the next call of its only process, without a check for other connections. It is about the shortest
/// time-out that the system measures for sockets.
pub(crate) const BRIEF: Duration = Duration::from_millis(2);

impl Client {
    pub(crate) fn new(number: u64, channel: Channel) -> Self {
        Client {
            number,
            channel,
            page: None,
            looks: false,
            was_in_page: false,
            is_welcome: false,
            pace: Pace::default(),
        }
    }

    /// Creates the page, if there is none, and returns its file for the process. Without a page, all calls arrive over the socket.
    pub(crate) fn share_page(&mut self) -> Option<OwnedFd> {
        if self.page.is_some() {
            return None;
        }
        let (page, file) = Exchange::create().ok()?;
        self.page = Some(page);
        Some(file)
    }

    /// Whether the server reads the next call from the page.
    pub(crate) fn looks(&self) -> bool {
        self.looks
    }

    /// Receives the next call, with its file. `patience` determines how the server waits for the call.
    pub(crate) fn receive(
        &mut self,
        patience: Patience,
    ) -> Result<(Call, Option<OwnedFd>), ChannelError> {
        self.was_in_page = false;
        if self.looks {
            match self.find(patience)? {
                Some(Found::Message(call)) => {
                    self.was_in_page = true;
                    return Ok((call, None));
                }
                Some(Found::InSocket) => return self.channel.receive_at_once(),
                None => return Err(ChannelError::System(Errno::AGAIN)),
            }
        }
        match patience {
            Patience::Brief => self.channel.receive(),
            Patience::None | Patience::Last => self.channel.receive_at_once(),
        }
    }

    /// Reads the next call from the page. After a wait without a call, or if `patience` is [`Last`](Patience::Last), the server stops reading
    /// from the page.
    fn find(&mut self, patience: Patience) -> Result<Option<Found<Call>>, ChannelError> {
        let Some(page) = &self.page else {
            return Ok(None);
        };
        let mut found = match patience {
            Patience::None => page.read()?,
            Patience::Brief => match page.read_next(&mut self.pace)? {
                None => page.read_asleep(BRIEF)?,
                found => found,
            },
            Patience::Last => None,
        };
        let is_last = patience != Patience::None;
        if found.is_none() && is_last {
            found = page.leave()?;
        }
        self.looks = found.is_none() && !is_last;
        Ok(found)
    }

    /// Answers the last call in the page or over the socket, as the call has arrived, with an optional file. If `may_look`, and if the process
    /// waits in its half of the page, the server reads the next call from the other half.
    pub(crate) fn answer(
        &mut self,
        answer: &Response,
        file: Option<&OwnedFd>,
        may_look: bool,
    ) -> Result<(), ChannelError> {
        if let Some(page) = &self.page {
            // The server must wait in the page before it answers, because the process may make its next call as soon as it has the answer.
            if may_look && page.is_wanted() {
                page.look();
                self.looks = true;
            }
            if self.was_in_page && page.write(answer) {
                return Ok(());
            }
        }
        let file = file.map(AsFd::as_fd);
        self.channel.send_at_once(answer, file)?;
        if let Some(page) = self.page.as_ref().filter(|_| self.was_in_page) {
            page.point_to_socket();
        }
        Ok(())
    }
}

impl Drop for Client {
    /// Wakes a process that waits for an answer in the page, so that it detects that the socket is closed.
    fn drop(&mut self) {
        if let Some(page) = &self.page {
            page.point_to_socket();
        }
    }
}

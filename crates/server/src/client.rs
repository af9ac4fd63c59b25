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
    /// Whether the next call is looked for in the page; the process says there if it has sent it over the socket.
    looks: bool,
    /// Whether the last call came by the page.
    was_in_page: bool,
    /// Whether its [hello](session::Request::Hello) was accepted.
    pub(crate) is_welcome: bool,
    /// Whether its next call is awaited without a sleep.
    pub(crate) pace: Pace,
}

/// Whether the next call of a process is awaited where it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No wait.
    None,
    /// A wait as long as [`BRIEF`].
    Brief,
    /// No wait, and no further look at the page.
    Last,
}

/// Real time for which the server waits for the next call of the only process alone, without a look at others: about the shortest
/// that the system measures for sockets.
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

    /// Creates the page, once; returns its file for the process. Without one, all calls come over the socket.
    pub(crate) fn share_page(&mut self) -> Option<OwnedFd> {
        if self.page.is_some() {
            return None;
        }
        let (page, file) = Exchange::create().ok()?;
        self.page = Some(page);
        Some(file)
    }

    /// Whether the next call is looked for in the page.
    pub(crate) fn looks(&self) -> bool {
        self.looks
    }

    /// The next call, with its file; with `patience`, it is awaited.
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

    /// Looks for the next call in the page; after a wait, or the last time, for the last time.
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

    /// Answers the last call where it came from, with an optional file. If `may_look`, and if the process looks at its half of the page, the next
    /// call is looked for in the other half.
    pub(crate) fn answer(
        &mut self,
        answer: &Response,
        file: Option<&OwnedFd>,
        may_look: bool,
    ) -> Result<(), ChannelError> {
        if let Some(page) = &self.page {
            // The process may make its next call as soon as it has the answer.
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
    /// A process that waits for an answer in the page finds the socket closed.
    fn drop(&mut self) {
        if let Some(page) = &self.page {
            page.point_to_socket();
        }
    }
}

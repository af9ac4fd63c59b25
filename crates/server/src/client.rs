//! A process that has connected.

use std::os::fd::OwnedFd;
use std::time::Duration;

use session::{Call, Channel, ChannelError, Pace};

/// A process that has connected.
#[derive(Debug)]
pub(crate) struct Client {
    /// A unique number, which is not reused.
    pub(crate) number: u64,
    pub(crate) channel: Channel,
    /// Whether its [hello](session::Request::Hello) was accepted.
    pub(crate) is_welcome: bool,
    /// Whether its next call is awaited without a sleep.
    pub(crate) pace: Pace,
}

/// Whether the next call of a process is awaited where it is received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// No wait.
    None,
    /// A wait as long as [`BRIEF`].
    Brief,
}

/// Real time for which the server waits for the next call of the only process alone, without a look at others: about the shortest
/// that the system measures for sockets.
pub(crate) const BRIEF: Duration = Duration::from_millis(2);

impl Client {
    /// The next call, with its file; with `patience`, it is awaited for the time that the channel has set.
    pub(crate) fn receive(
        &self,
        patience: Patience,
    ) -> Result<(Call, Option<OwnedFd>), ChannelError> {
        match patience {
            Patience::None => self.channel.receive_at_once(),
            Patience::Brief => self.channel.receive(),
        }
    }
}

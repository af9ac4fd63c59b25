//! A process that has connected.

use std::os::fd::OwnedFd;

use session::{Call, Channel, ChannelError};

/// A process that has connected.
#[derive(Debug)]
pub(crate) struct Client {
    /// A unique number, which is not reused.
    pub(crate) number: u64,
    pub(crate) channel: Channel,
    /// Whether its [hello](session::Request::Hello) was accepted.
    pub(crate) is_welcome: bool,
}

impl Client {
    /// The next call, with its file.
    pub(crate) fn receive(&self) -> Result<(Call, Option<OwnedFd>), ChannelError> {
        self.channel.receive()
    }
}

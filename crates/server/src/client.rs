//! A process that has connected.

use std::os::fd::OwnedFd;

use session::{Call, Channel, ChannelError};

/// A process that has connected.
#[derive(Debug)]
pub(crate) struct Client {
    /// A number that no other has, nor had.
    pub(crate) number: u64,
    pub(crate) channel: Channel,
    /// Whether it has said [hello](session::Request::Hello) as one should.
    pub(crate) is_welcome: bool,
}

impl Client {
    /// What it asks for next, with the file that comes with it.
    pub(crate) fn receive(&self) -> Result<(Call, Option<OwnedFd>), ChannelError> {
        self.channel.receive()
    }
}

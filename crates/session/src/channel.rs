//! The socket between a process and the simulation: packets in order, each with one file at most.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recvmsg, sendmsg, socket_with,
};
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

/// The longest packet: a list of some hundred objects.
const LONGEST: usize = 64 * 1024;

/// Processes that may wait to be let in.
const BACKLOG: i32 = 64;

/// Why nothing more is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// The other side is gone.
    #[error("the other side of the session is gone")]
    Closed,
    /// It says what is no call or answer.
    #[error(
        "the other side of the session says what makes no sense; are both of the same version?"
    )]
    Garbled,
    /// The system refuses.
    #[error("the session's socket: {0}")]
    System(Errno),
}

impl From<Errno> for ChannelError {
    fn from(error: Errno) -> Self {
        ChannelError::System(error)
    }
}

/// One end of the socket.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// The end of a process, at the socket at `path`.
    pub fn connect(path: &Path) -> Result<Self, ChannelError> {
        let socket = new_socket()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Channel(socket))
    }

    /// Says `message`, with a file if there is one.
    pub fn send(
        &self,
        message: &impl Serialize,
        file: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        let bytes = postcard::to_stdvec(message).map_err(|_| ChannelError::Garbled)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = file.map(|file| [file]);
        if let Some(files) = &files {
            ancillary.push(SendAncillaryMessage::ScmRights(files));
        }
        let parts = [IoSlice::new(&bytes)];
        loop {
            match sendmsg(&self.0, &parts, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the other side says next, with its file.
    pub fn receive<T: DeserializeOwned>(&self) -> Result<(T, Option<OwnedFd>), ChannelError> {
        let mut bytes = vec![0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.0, &mut parts, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let len = match received {
            Ok(received) if received.bytes > 0 => received.bytes,
            Ok(_) | Err(Errno::CONNRESET) => return Err(ChannelError::Closed),
            Err(error) => return Err(error.into()),
        };
        let mut files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        let file = files.next();
        let message = postcard::from_bytes(&bytes[..len]).map_err(|_| ChannelError::Garbled)?;
        Ok((message, file))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Where processes are let in.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// A new socket at `path`, where nothing may be yet.
    pub fn bind(path: &Path) -> Result<Self, ChannelError> {
        let socket = new_socket()?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        listen(&socket, BACKLOG)?;
        Ok(Listener(socket))
    }

    /// Lets the next process in.
    pub fn accept(&self) -> Result<Channel, ChannelError> {
        Ok(Channel(accept_with(&self.0, SocketFlags::CLOEXEC)?))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn new_socket() -> Result<OwnedFd, ChannelError> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok(socket)
}

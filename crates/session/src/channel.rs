//! The socket between a process and the simulation: ordered packets, each with at most one file.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recvmsg, sendmsg, socket_with,
};
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

/// Longest packet in bytes: a list of some hundred objects.
const LONGEST: usize = 64 * 1024;

/// Most processes that wait for their connection.
const BACKLOG: i32 = 64;

/// The reason why a connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// The other side has closed the connection.
    #[error("the other side of the session has closed the connection")]
    Closed,
    /// The packet is not a valid call or answer.
    #[error(
        "the other side of the session sent an invalid packet; use the same version of Peerlane on both sides"
    )]
    Garbled,
    /// The operating system returned an error.
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
pub struct Channel {
    socket: OwnedFd,
    /// The space for packets, which is made by the first one and not cleared between them.
    space: Mutex<Vec<u8>>,
}

impl Channel {
    fn new(socket: OwnedFd) -> Self {
        Channel {
            socket,
            space: Mutex::new(Vec::new()),
        }
    }

    /// Connects a process to the socket at `path`.
    pub fn connect(path: &Path) -> Result<Self, ChannelError> {
        let socket = new_socket()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Channel::new(socket))
    }

    /// Never waits from now on: without a packet, or without space for one because the other side does not receive, there is an error.
    pub fn set_nonblocking(&self) -> Result<(), ChannelError> {
        Ok(ioctl_fionbio(&self.socket, true)?)
    }

    /// The system's number of the process at the other end, as it was when it connected.
    pub fn process(&self) -> Option<i32> {
        let peer = socket_peercred(&self.socket).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }

    /// Sends `message`, with an optional file.
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
            match sendmsg(&self.socket, &parts, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Receives the next message, with its file.
    pub fn receive<T: DeserializeOwned>(&self) -> Result<(T, Option<OwnedFd>), ChannelError> {
        let mut bytes = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.resize(LONGEST, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut parts, &mut ancillary, flags) {
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
        self.socket.as_fd()
    }
}

/// A listening socket, to which processes connect.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Creates a socket at `path`, where no file may exist.
    pub fn bind(path: &Path) -> Result<Self, ChannelError> {
        let socket = new_socket()?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        listen(&socket, BACKLOG)?;
        Ok(Listener(socket))
    }

    /// Accepts the next connection of a process.
    pub fn accept(&self) -> Result<Channel, ChannelError> {
        Ok(Channel::new(accept_with(&self.0, SocketFlags::CLOEXEC)?))
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

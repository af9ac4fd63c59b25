//! The socket between a process and the simulation: ordered packets, each with at most one file.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recv, recvmsg, send, sendmsg, socket_with,
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

    /// Sets the longest time that [`receive`](Self::receive) waits; after it there is the error [`Errno::AGAIN`].
    pub fn set_patience(&self, patience: Duration) -> Result<(), ChannelError> {
        let patience = Some(patience);
        Ok(set_socket_timeout(&self.socket, Timeout::Recv, patience)?)
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
        self.send_with(message, file, SendFlags::NOSIGNAL)
    }

    /// Sends `message` without a wait: there is an error if the other side does not receive, so that no space is left.
    pub fn send_at_once(&self, message: &impl Serialize) -> Result<(), ChannelError> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        self.send_with(message, None, flags)
    }

    fn send_with(
        &self,
        message: &impl Serialize,
        file: Option<BorrowedFd<'_>>,
        flags: SendFlags,
    ) -> Result<(), ChannelError> {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        space.resize(LONGEST, 0);
        let bytes = postcard::to_slice(message, &mut space).map_err(|_| ChannelError::Garbled)?;
        loop {
            let sent = match file {
                None => send(&self.socket, bytes, flags),
                Some(file) => self.send_file(bytes, file, flags),
            };
            match sent {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send_file(
        &self,
        bytes: &[u8],
        file: BorrowedFd<'_>,
        flags: SendFlags,
    ) -> Result<usize, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, flags)
    }

    /// Receives the next message, with its file.
    pub fn receive<T: DeserializeOwned>(&self) -> Result<(T, Option<OwnedFd>), ChannelError> {
        self.receive_with(RecvFlags::empty())
    }

    /// Receives the next message, with its file, if it is there; otherwise there is the error [`Errno::AGAIN`].
    pub fn receive_at_once<T: DeserializeOwned>(
        &self,
    ) -> Result<(T, Option<OwnedFd>), ChannelError> {
        self.receive_with(RecvFlags::DONTWAIT)
    }

    /// Receives the next message, from a side that sends no files.
    pub fn receive_plain<T: DeserializeOwned>(&self) -> Result<T, ChannelError> {
        let mut bytes = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.resize(LONGEST, 0);
        let received = loop {
            match recv(&self.socket, &mut bytes[..], RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        read(&bytes, received.map(|(len, _)| len))
    }

    fn receive_with<T: DeserializeOwned>(
        &self,
        flags: RecvFlags,
    ) -> Result<(T, Option<OwnedFd>), ChannelError> {
        let mut bytes = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.resize(LONGEST, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut parts, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let message = read(&bytes, received.map(|received| received.bytes))?;
        let mut files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        Ok((message, files.next()))
    }
}

/// The message of the `received` bytes.
fn read<T: DeserializeOwned>(
    bytes: &[u8],
    received: Result<usize, Errno>,
) -> Result<T, ChannelError> {
    match received {
        Ok(0) | Err(Errno::CONNRESET) => Err(ChannelError::Closed),
        Ok(len) => postcard::from_bytes(&bytes[..len]).map_err(|_| ChannelError::Garbled),
        Err(error) => Err(error.into()),
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

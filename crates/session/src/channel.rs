//! The socket between a process and the simulation: ordered messages, each with at most one file.
//!
//! A message is a packet. Its first byte is 1 if a second packet with the file follows. Nearly all messages have no file, and the operating
//! system needs less time for a packet without space for a file.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
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

use crate::pace::{LINGER, real_time};

/// Longest packet in bytes: a list of some hundred objects.
const LONGEST: usize = 64 * 1024;

/// Largest number of processes that wait until their connection is accepted.
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
    space: Mutex<Space>,
}

#[derive(Debug, Default)]
struct Space {
    /// The space for packets. It is allocated for the first packet, and not cleared between packets.
    packet: Vec<u8>,
    /// A received packet whose file has not arrived.
    waits: Option<Vec<u8>>,
}

/// The first byte of a packet, which states whether a packet with a file follows.
const ALONE: u8 = 0;
const BEFORE_FILE: u8 = 1;

impl Channel {
    fn new(socket: OwnedFd) -> Self {
        Channel {
            socket,
            space: Mutex::default(),
        }
    }

    /// Connects a process to the socket at `path`.
    pub fn connect(path: &Path) -> Result<Self, ChannelError> {
        let socket = new_socket()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Channel::new(socket))
    }

    /// Sets the longest time that [`receive`](Self::receive) waits. If no message arrives in this time, it returns the error [`Errno::AGAIN`].
    pub fn set_patience(&self, patience: Duration) -> Result<(), ChannelError> {
        let patience = Some(patience);
        Ok(set_socket_timeout(&self.socket, Timeout::Recv, patience)?)
    }

    /// The process ID of the other end, as it was when the process connected.
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

    /// Sends `message`, with an optional file, without a wait. Returns an error if the socket has no space, because the other side does not
    /// receive.
    pub fn send_at_once(
        &self,
        message: &impl Serialize,
        file: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        self.send_with(message, file, flags)
    }

    /// Whether a packet has arrived, or the other side has closed the connection.
    pub fn is_ready(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        !matches!(
            recv(&self.socket, &mut [0_u8][..], flags),
            Err(Errno::AGAIN | Errno::INTR)
        )
    }

    fn send_with(
        &self,
        message: &impl Serialize,
        file: Option<BorrowedFd<'_>>,
        flags: SendFlags,
    ) -> Result<(), ChannelError> {
        let mut space = self.space();
        let packet = space.packet();
        packet[0] = if file.is_some() { BEFORE_FILE } else { ALONE };
        let written = postcard::to_slice(message, &mut packet[1..]);
        let len = 1 + written.map_err(|_| ChannelError::Garbled)?.len();
        sent(|| send(&self.socket, &packet[..len], flags))?;
        match file {
            None => Ok(()),
            Some(file) => sent(|| self.send_file(file, flags)),
        }
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_file(&self, file: BorrowedFd<'_>, flags: SendFlags) -> Result<usize, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        let packet = [IoSlice::new(&[ALONE])];
        sendmsg(&self.socket, &packet, &mut ancillary, flags)
    }

    /// Receives the next message, with its file.
    pub fn receive<T: DeserializeOwned>(&self) -> Result<(T, Option<OwnedFd>), ChannelError> {
        self.receive_with(RecvFlags::empty())
    }

    /// Receives the next message, with its file, if it has arrived. Otherwise returns the error [`Errno::AGAIN`].
    pub fn receive_at_once<T: DeserializeOwned>(
        &self,
    ) -> Result<(T, Option<OwnedFd>), ChannelError> {
        self.receive_with(RecvFlags::DONTWAIT)
    }

    /// Receives the next message, from a side that sends no files.
    pub fn receive_plain<T: DeserializeOwned>(&self) -> Result<T, ChannelError> {
        self.receive_plain_with(RecvFlags::empty())
    }

    /// Receives the next message, from a side that sends no files. Waits for at most [`LINGER`], without a sleep. Returns `None` if no message
    /// arrives in this time.
    pub fn receive_plain_soon<T: DeserializeOwned>(&self) -> Result<Option<T>, ChannelError> {
        let began = real_time();
        loop {
            match self.receive_plain_with(RecvFlags::DONTWAIT) {
                Ok(message) => return Ok(Some(message)),
                Err(ChannelError::System(Errno::AGAIN)) => {}
                Err(error) => return Err(error),
            }
            if u128::from(real_time() - began) > LINGER.as_nanos() {
                return Ok(None);
            }
            std::hint::spin_loop();
        }
    }

    fn receive_plain_with<T: DeserializeOwned>(&self, flags: RecvFlags) -> Result<T, ChannelError> {
        match read(self.receive_packet(&mut self.space(), flags)?)? {
            (message, false) => Ok(message),
            (_, true) => Err(ChannelError::Garbled),
        }
    }

    fn receive_with<T: DeserializeOwned>(
        &self,
        flags: RecvFlags,
    ) -> Result<(T, Option<OwnedFd>), ChannelError> {
        let mut space = self.space();
        if space.waits.is_none() {
            let packet = self.receive_packet(&mut space, flags)?;
            let (message, has_file) = read(packet)?;
            if !has_file {
                return Ok((message, None));
            }
            space.waits = Some(packet.to_vec());
        }
        let file = self.receive_file(flags)?;
        let packet = space.waits.take().unwrap_or_default();
        let (message, _) = read(&packet)?;
        Ok((message, file))
    }

    fn receive_packet<'s>(
        &self,
        space: &'s mut Space,
        flags: RecvFlags,
    ) -> Result<&'s [u8], ChannelError> {
        let packet = space.packet();
        let len = received(|| recv(&self.socket, &mut packet[..], flags).map(|(len, _)| len))?;
        Ok(&packet[..len])
    }

    /// Receives the packet with a file. Returns `None` if the packet has no file.
    fn receive_file(&self, flags: RecvFlags) -> Result<Option<OwnedFd>, ChannelError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let mut byte = [0];
        received(|| {
            let parts = &mut [IoSliceMut::new(&mut byte)];
            recvmsg(&self.socket, parts, &mut ancillary, flags).map(|received| received.bytes)
        })?;
        let mut files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        Ok(files.next())
    }
}

impl Space {
    fn packet(&mut self) -> &mut [u8] {
        self.packet.resize(LONGEST, 0);
        &mut self.packet
    }
}

/// Sends a packet by `send`.
fn sent(mut send: impl FnMut() -> Result<usize, Errno>) -> Result<(), ChannelError> {
    loop {
        match send() {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Closed),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives a packet by `receive`; returns its length.
fn received(mut receive: impl FnMut() -> Result<usize, Errno>) -> Result<usize, ChannelError> {
    loop {
        match receive() {
            Ok(0) | Err(Errno::CONNRESET) => return Err(ChannelError::Closed),
            Ok(len) => return Ok(len),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The message of a packet, and whether a file follows.
fn read<T: DeserializeOwned>(packet: &[u8]) -> Result<(T, bool), ChannelError> {
    let (first, message) = packet.split_first().ok_or(ChannelError::Garbled)?;
    let message = postcard::from_bytes(message).map_err(|_| ChannelError::Garbled)?;
    Ok((message, *first == BEFORE_FILE))
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

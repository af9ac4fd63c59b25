//! A socket of the kind that sessions use, between two processes but without a session, as a reference for the time of a call.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::channel::{Channel, ChannelError, Listener};
use crate::pace::real_time;

/// A packet of about the size of a call, and of its answer.
const PACKET: [u8; 32] = [0; 32];

/// Sends a packet `count` times to the process that [sends it back](send_back) at `path`. Returns the real round-trip times in nanoseconds.
pub fn ping_pong(path: &Path, count: u32) -> Result<Vec<u64>, ChannelError> {
    let socket = Channel::connect(path)?;
    let round_trip = || -> Result<u64, Errno> {
        let mut bytes = PACKET;
        let began = real_time();
        send(socket.as_fd(), &bytes, SendFlags::NOSIGNAL)?;
        retry_on_intr(|| recv(socket.as_fd(), &mut bytes[..], RecvFlags::empty()))?;
        Ok(real_time() - began)
    };
    // The first packet is not measured: it may wait for the other process to accept the connection.
    round_trip()?;
    let times: Result<_, Errno> = (0..count).map(|_| round_trip()).collect();
    Ok(times?)
}

/// Creates a socket at `path`, and sends back every packet that it receives, one connection after the other. Returns only if there is an error.
pub fn send_back(path: &Path) -> Result<(), ChannelError> {
    let listener = Listener::bind(path)?;
    loop {
        let socket = listener.accept()?;
        let mut bytes = PACKET;
        while recv(socket.as_fd(), &mut bytes, RecvFlags::empty())?.0 > 0 {
            send(socket.as_fd(), &bytes, SendFlags::NOSIGNAL)?;
        }
    }
}

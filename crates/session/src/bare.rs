//! A bare socket of the kind that sessions have, as a reference for the time of a call.

use std::thread;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::time::{ClockId, clock_gettime};

/// A packet of about the size of a call, and of its answer.
const PACKET: [u8; 32] = [0; 32];

/// Sends a packet `count` times to another thread, which sends it back. Returns the real times there and back, in
/// nanoseconds.
pub fn ping_pong(count: u32) -> Result<Vec<u64>, Errno> {
    let (ours, other) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let echo = thread::spawn(move || -> Result<(), Errno> {
        let mut bytes = PACKET;
        // The first packet is not measured: it may wait for the thread to start.
        for _ in 0..=count {
            recv(&other, &mut bytes, RecvFlags::empty())?;
            send(&other, &bytes, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    });
    let turn = || -> Result<u64, Errno> {
        let mut bytes = PACKET;
        let began = real_time();
        send(&ours, &bytes, SendFlags::NOSIGNAL)?;
        recv(&ours, &mut bytes, RecvFlags::empty())?;
        Ok(real_time() - began)
    };
    turn()?;
    let times = (0..count).map(|_| turn()).collect();
    echo.join().map_err(|_| Errno::IO)??;
    times
}

/// The real monotonic time in nanoseconds, in a program of a session with virtual time too.
pub fn real_time() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

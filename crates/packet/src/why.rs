//! The reason why packets wait. Components give it to the probes at times between two events.

use kernel::Time;
use protocol::Class;

use crate::FlowId;

/// The reason why a packet, or the next request of a flow, waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A wire that is busy with a packet of this flow, or of none.
    Wire(Option<FlowId>),
    /// A link that has failed, or is not up.
    LinkDown,
    /// A link in Recovery, or in L1 or on the way to it.
    Recovery,
    /// Credit of a class: for headers, or for data alone.
    Credit(Class, bool),
    /// Space behind a fibre, or in its retransmission buffer, which is not there or which another packet claims.
    FibreCredit,
    /// Space in a replay buffer.
    ReplayBuffer,
    /// The full queue for a wire.
    Queue,
    /// The latency of a port, until this time.
    Latency(Time),
    /// A tag.
    Tags,
    /// Space in a completion buffer: bytes that may be outstanding.
    Outstanding,
    /// Commands that software may give to a drive at a time.
    Commands,
    /// A write-combining buffer of a core.
    WriteCombining,
    /// A datapath, or another unit that is busy.
    Datapath,
    /// The path from one root port to another.
    PeerPath,
    /// The least time between requests of an engine, or the time that it takes for a request.
    Pacing,
    /// The least time between the requests of the flow itself.
    Interval,
    /// The start of the flow.
    Start,
    /// The flow that it follows.
    Follows(FlowId),
    /// The return of its round trip.
    RoundTrip,
    /// The device that sends the packets of the requester.
    Device,
    /// An engine that keeps packets in its receive buffer.
    Holder,
    /// A memory or a storage that has more work than a packet's.
    Memory,
    /// The ownership of a line of a memory.
    Ownership,
    /// The translation of its address.
    Translation,
    /// The connection from one socket to another.
    Socket(usize, usize),
    /// Software, which gives the engine no work.
    Software,
    /// Any other reason.
    Other,
}

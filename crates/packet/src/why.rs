//! The reasons why packets wait. Components report them to the probes at times between two events.

use kernel::Time;
use protocol::Class;

use crate::FlowId;

/// The reason why a packet, or the next request of a flow, waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The wire is busy with a packet of this flow, or of no flow.
    Wire(Option<FlowId>),
    /// The link has failed, or is not up.
    LinkDown,
    /// The link is in Recovery, in L1, or on the way to L1.
    Recovery,
    /// There is too little credit of this class. The flag is true if header credit is missing, and false if only data credit is missing.
    Credit(Class, bool),
    /// There is no space in the receiver of a fibre or in its retransmission buffer, or another packet has reserved the space.
    FibreCredit,
    /// There is no space in a replay buffer.
    ReplayBuffer,
    /// The queue for a wire is full.
    Queue,
    /// The latency of a port ends at this time.
    Latency(Time),
    /// All tags are in use.
    Tags,
    /// There is no space in a completion buffer: too many bytes are outstanding.
    Outstanding,
    /// Software has given a drive as many commands as it may at a time.
    Commands,
    /// All write-combining buffers of a core are in use.
    WriteCombining,
    /// A datapath or another unit is busy.
    Datapath,
    /// The path from one root port to another is busy.
    PeerPath,
    /// A write waits for the responses of earlier writes to other targets.
    Response,
    /// The path from a quadrant of a host to the rest of the host, or the path back, is busy.
    Quadrant,
    /// The minimum time between requests of an engine, or the time that the engine needs for a request, has not passed.
    Pacing,
    /// The minimum time between the requests of the flow itself has not passed.
    Interval,
    /// The start time of the flow has not been reached.
    Start,
    /// The flow follows this flow, which has not advanced far enough.
    Follows(FlowId),
    /// A round trip of the flow is not complete.
    RoundTrip,
    /// The device that sends the packets of the requester delays the request.
    Device,
    /// An engine keeps packets in its receive buffer.
    Holder,
    /// A memory or a storage has other work before this packet.
    Memory,
    /// A write waits for the ownership of a line of memory.
    Ownership,
    /// The address is being translated.
    Translation,
    /// The connection from one socket to another is busy.
    Socket(usize, usize),
    /// Software gives the engine no work.
    Software,
    /// Any other reason.
    Other,
}

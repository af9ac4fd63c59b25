//! A latency reflector: it sends every write to BAR 0 back to the writer.

use kernel::Effects;
use packet::{FlowId, PacketId, Packets};
use protocol::{FunctionId, Header, Kind};
use transaction::{FunctionPlace, written};

use crate::leaf::one_port;
use crate::{Endpoint, EndpointConfig, Leaf, LeafParameters, Properties};

kernel::parameters! {
    /// The parameters of a reflector. It has no parameters of its own.
    pub struct ReflectorParameters {}
}

/// The address to which the writes of a flow are reflected.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The flow.
    pub flow: FlowId,
    /// The address to which its writes are reflected.
    pub address: u64,
}

/// A reflector.
#[derive(Clone, Debug)]
pub struct Reflector {
    endpoint: Endpoint,
    replies: Vec<Reply>,
    /// Writes to send back, oldest first.
    outbound: std::collections::VecDeque<PacketId>,
}

one_port!(Reflector);

impl LeafParameters for ReflectorParameters {
    fn properties(&self) -> Properties {
        Properties::default()
    }
}

impl Leaf for Reflector {
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place == FunctionPlace::Own {
            for packet in self.outbound.drain(..) {
                fx.store().release(packet);
            }
        }
    }

    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(packet) = self.endpoint.take(fx) {
            self.take(packet, fx);
        }
        while (!self.outbound.is_empty() && self.endpoint.is_bus_master())
            && self.endpoint.is_open(fx)
        {
            if let Some(packet) = self.outbound.pop_front() {
                self.endpoint.hand_over(packet, fx);
            }
        }
    }
}

impl Reflector {
    /// A reflector with the targets `replies`.
    pub fn new(config: EndpointConfig, replies: Vec<Reply>) -> Self {
        Reflector {
            endpoint: Endpoint::new(config),
            replies,
            outbound: std::collections::VecDeque::new(),
        }
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let (header, stamp) = (*content.header(), content.stamp);
        let reply = stamp
            .flow
            .and_then(|flow| self.replies.iter().find(|reply| reply.flow == flow))
            .copied();
        let (Kind::MemoryWrite(_), Some(reply)) = (&header.kind, reply) else {
            return self.endpoint.serve(packet, fx);
        };
        if let Err(why) = self.endpoint.verdict(&header) {
            return self.endpoint.refuse(packet, why, fx);
        }
        if let Some(back) = reflected(packet, self.endpoint.id(), reply.address, fx.store()) {
            self.outbound.push_back(back);
        }
    }
}

/// Makes the write that reflects `packet` to `address`, with the same stamp, and releases `packet`. Returns none if the data does not fit into
/// one packet at this address.
pub(crate) fn reflected(
    packet: PacketId,
    id: FunctionId,
    address: u64,
    packets: &mut Packets,
) -> Option<PacketId> {
    let content = &packets[packet];
    let (header, stamp) = (*content.header(), content.stamp);
    let Kind::MemoryWrite(request) = &header.kind else {
        return None;
    };
    let bytes = written(content, request).to_vec();
    packets.release(packet);
    let header = Header::memory_write(id, address, bytes.len() as u32).ok()?;
    Some(packets.make(header, stamp, &bytes))
}

//! Write requests to memory, for data and events, and interrupts. All are sent in order.

use std::collections::VecDeque;

use kernel::Time;
use packet::{BusFrame, PacketId, Packets, ReturnedSpace, Stamp};
use protocol::{FunctionId, Header, TrafficClass};
use transaction::writes;

/// The waiting write requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Uploads(VecDeque<Upload>);

/// A write request to memory, or an interrupt.
#[derive(Clone, Copy, Debug)]
struct Upload {
    due: Time,
    what: Uploaded,
}

/// A packet to memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Uploaded {
    /// A write request.
    Write {
        packet: PacketId,
        /// The buffer space that the packet from the crossbar has occupied. Only the last write request of a packet has it, to return it.
        space: Option<ReturnedSpace>,
    },
    /// An interrupt of a function.
    Interrupt { function: u8, vector: u16 },
}

/// Number of waiting items from which no further packet is converted: enough for the requests of one packet and of a second one.
const MOST: usize = 4;

impl Uploads {
    /// Whether no further packet may be converted now.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Adds write requests of `bytes` to `address`, which may be sent from `due` on. The last one returns the buffer space of `frame`. Returns
    /// false if there are no bytes to write.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        stamp: Stamp,
        (requester, address, largest): (FunctionId, u64, u32),
        (due, frame): (Time, Option<BusFrame>),
        packets: &mut Packets,
    ) -> bool {
        let all = writes(bytes, stamp, (requester, address), largest, packets);
        let count = all.len();
        let uploads = all.into_iter().enumerate().map(|(index, packet)| Upload {
            due,
            what: Uploaded::Write {
                packet,
                space: frame
                    .filter(|_| index + 1 == count)
                    .map(|frame| frame.space()),
            },
        });
        self.0.extend(uploads);
        count > 0
    }

    /// Adds the write request of an event, with the traffic class of events.
    pub(super) fn add_event(
        &mut self,
        bytes: &[u8],
        to: (FunctionId, u64, u32),
        (due, traffic_class): (Time, TrafficClass),
        packets: &mut Packets,
    ) {
        let before = self.0.len();
        self.add(bytes, Stamp::default(), to, (due, None), packets);
        if traffic_class == TrafficClass::default() {
            return;
        }
        for upload in self.0.iter_mut().skip(before) {
            if let Uploaded::Write { packet, .. } = &mut upload.what {
                let header = Header {
                    traffic_class,
                    ..*packets[*packet].header()
                };
                *packet = packets.rewritten(*packet, header);
            }
        }
    }

    /// Adds an interrupt, which may be sent from `due` on.
    pub(super) fn add_interrupt(&mut self, (function, vector): (u8, u16), due: Time) {
        let what = Uploaded::Interrupt { function, vector };
        self.0.push_back(Upload { due, what });
    }

    /// The next write request or interrupt that may be sent at `now`.
    pub(super) fn next(&mut self, now: Time) -> Option<Uploaded> {
        let upload = self.0.pop_front_if(|upload| upload.due <= now)?;
        Some(upload.what)
    }

    /// The time of the first write request after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let first = self.0.front().map(|upload| upload.due);
        first.filter(|due| *due > now).unwrap_or(Time::NEVER)
    }
}

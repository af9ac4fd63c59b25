//! The sizes of a port's buffers, and the round trips that the buffers must cover.
//!
//! The bytes of a receive buffer can be used again only after a round trip (a "loop"): the time of the packet on the link, its time in the
//! buffer, and the time of the UpdateFC on the way back. A buffer keeps the wire busy if it holds all that the wire can carry during the
//! round trip. The same applies to the replay buffer, with an Ack instead of the UpdateFC.

use kernel::{Bytes, Span};
use protocol::{Class, DLLP_BYTES, Generation, MAX_TLP_OVERHEAD, PerClass};

use crate::LinkConfig;
use crate::parameters::{PortParameters, symbols};

/// The sizes of a port's buffers, which follow from its link and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Header credits by class; 0 is infinite.
    pub headers: PerClass<u32>,
    /// Bytes of data by class; 0 is infinite.
    pub data: PerClass<Bytes>,
    /// The size of the replay buffer.
    pub replay: Bytes,
}

/// The least default sizes of the buffers of any port.
pub const LEAST: Buffers = Buffers {
    headers: [64; 3],
    data: [Bytes(16 << 10), Bytes(1 << 10), Bytes(16 << 10)],
    replay: Bytes(32 << 10),
};

/// The largest buffers that a port can announce, with scaled flow control (PCIe Base 3.4.2, table 3-2).
const MOST_HEADERS: u64 = 2032;
const MOST_DATA: u64 = 32752 * 16;

/// The largest buffers that a port announces without scaled flow control.
const UNSCALED: (u64, u64) = (127, 2047 * 16);

/// The bytes on the wire that are assumed for each header credit: a packet with some bytes of payload.
const WIRE_PER_HEADER: u64 = 32;

/// The bytes of a data credit.
const CREDIT: u64 = 16;

/// The credits in a unit of the largest scaling factor, in which limits are announced.
const UNIT: u64 = 16;

/// The round-trip times that the buffers at one end of a link must cover.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    generation: Generation,
    lanes: u8,
    max_payload: u64,
    /// The round-trip time of the receive buffer of each class, without the time for which an UpdateFC is delayed.
    receive: PerClass<Span>,
    /// The round-trip time of the replay buffer.
    replay: Span,
    /// The time of the longest packet on the wire. A DLLP waits for a packet of this length if packets are also sent in its direction.
    longest: Span,
    /// The Ack latency limit.
    ack_limit: Span,
    /// The longest time for which freed credit waits for its UpdateFC.
    update_delay: Span,
    update_share: f64,
    update_packets: u64,
}

/// A stream of equal packets that are sent as fast as possible.
#[derive(Clone, Copy, Debug)]
pub struct PacketStream {
    /// The flow-control class of the packets.
    pub class: Class,
    /// The payload of each packet, in bytes.
    pub payload: u64,
    /// The time from one packet to the next.
    pub interval: Span,
}

/// A buffer that is too small: the stream fills it before the credit or the Ack returns, so that the stream has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The parameter that sets the size of the buffer.
    pub key: &'static str,
    /// The size in use, in headers or in bytes.
    pub size: u64,
    /// The time in which the stream fills the buffer.
    pub covers: Span,
    /// The round-trip time that the buffer must cover.
    pub needed: Span,
    /// A size that covers the round trip.
    pub enough: u64,
    /// Whether the size is the largest that a link without scaled flow control can announce.
    pub is_unscaled: bool,
}

impl Loops {
    /// The round-trip times at the link end with these parameters.
    pub fn new(config: &LinkConfig, port: &PortParameters) -> Self {
        let LinkConfig {
            generation, lanes, ..
        } = *config;
        let bytes = |count: u64| Span::from_fs(generation.transmission_fs(count, lanes));
        let longest = u64::from(config.max_payload) + u64::from(MAX_TLP_OVERHEAD);
        let limit = generation.ack_latency_limit(lanes, config.max_payload);
        let limit = symbols(generation, limit);
        let rule = port.update_rule();
        // A DLLP waits for the packet that is on the wire, and for the DLLPs before it.
        let dllps = bytes(4 * u64::from(DLLP_BYTES));
        let longest = bytes(longest);
        let way = longest * 2 + config.round_trip + dllps;
        Loops {
            generation,
            lanes,
            max_payload: config.max_payload.into(),
            receive: config.held.map(|held| way + held),
            replay: way + limit,
            longest,
            ack_limit: limit,
            update_delay: port.update_delay().unwrap_or(limit),
            update_share: rule.share,
            update_packets: rule.packets.into(),
        }
    }

    /// The number of bytes that the wire carries in `time`.
    fn carried(&self, time: Span) -> u64 {
        let byte = self.generation.lane_byte_fs_x64();
        let lanes = u128::from(self.lanes) * 64;
        (u128::from(time.as_fs()) * lanes).div_ceil(byte.into()) as u64
    }

    /// The bytes on the wire that a receive buffer of a class must cover: the bytes of the round trip, and the bytes whose credit is not
    /// announced yet. An UpdateFC announces them when they are a share of the buffer or a number of packets, or after the longest delay.
    fn covered(&self, class: Class) -> u64 {
        let packet = self.max_payload + u64::from(MAX_TLP_OVERHEAD);
        let loop_bytes = self.carried(self.receive[class]);
        let share = (loop_bytes as f64 / (1.0 - self.update_share.min(0.99))) as u64;
        let mut most = share.min(loop_bytes + self.carried(self.update_delay));
        if self.update_packets > 0 {
            most = most.min(loop_bytes + self.update_packets * packet);
        }
        most + packet
    }

    /// The header credits of a class that cover the round trip.
    pub fn headers(&self, class: Class) -> u64 {
        self.covered(class).div_ceil(WIRE_PER_HEADER) + UNIT
    }

    /// The bytes of data of a class that cover the round trip. Non-posted requests carry little data.
    pub fn data(&self, class: Class) -> u64 {
        match class {
            Class::NonPosted => self.headers(class) * CREDIT,
            Class::Posted | Class::Completion => self.covered(class) + UNIT * CREDIT,
        }
    }

    /// The bytes of the replay buffer that cover its round trip.
    pub fn replay(&self) -> u64 {
        self.carried(self.replay) + self.max_payload + u64::from(MAX_TLP_OVERHEAD)
    }

    /// The receive buffers of this end, with the parameters `own`, that are too small for the stream. Only buffers are reported whose size
    /// is a written parameter, or is limited because the link has no scaled flow control.
    pub fn shortages(
        &self,
        own: &PortParameters,
        buffers: &Buffers,
        is_scaled: bool,
        stream: PacketStream,
    ) -> Vec<Shortage> {
        let class = stream.class;
        let written = own.are_written()[class];
        let (headers_key, data_key) = KEYS[class];
        let most = if is_scaled {
            (MOST_HEADERS, MOST_DATA)
        } else {
            UNSCALED
        };
        let credits = stream.payload.next_multiple_of(CREDIT);
        let kinds = [
            (
                headers_key,
                written[0],
                buffers.headers[class].into(),
                most.0,
                1,
            ),
            (data_key, written[1], buffers.data[class].0, most.1, credits),
        ];
        let found = kinds
            .into_iter()
            .filter_map(|(key, is_written, size, most, each)| {
                let is_unscaled = size > most && !is_scaled;
                let size = size.min(most);
                // For non-posted requests the limit of an unscaled link does not matter, because the tags permit fewer requests.
                let is_limit = is_written || is_unscaled && class != Class::NonPosted;
                if size == 0 || each == 0 || !is_limit {
                    return None;
                }
                let short = self.shortage(key, size, each, stream.interval, self.receive[class])?;
                Some(Shortage {
                    is_unscaled,
                    ..short
                })
            });
        found.collect()
    }

    /// The shortage of a receive buffer in which each packet occupies `each`, if the buffer does not cover the round-trip time `whole`.
    fn shortage(
        &self,
        key: &'static str,
        size: u64,
        each: u64,
        interval: Span,
        whole: Span,
    ) -> Option<Shortage> {
        let covers = interval * (size / each);
        let wait = |packets: u64| self.longest_wait(packets, interval);
        // Before the UpdateFC, no packet is sent in its direction.
        let needed = whole - self.longest + wait(size / each);
        if !is_short(covers, needed) {
            return None;
        }
        let mut packets = whole.as_fs().div_ceil(interval.as_fs());
        packets += wait(packets * 2).as_fs().div_ceil(interval.as_fs()) + 1;
        Some(Shortage {
            key,
            size,
            covers,
            needed,
            enough: packets * each,
            is_unscaled: false,
        })
    }

    /// The longest time for which freed credit waits for an UpdateFC, in a buffer for `packets` packets that arrive at this interval. It is
    /// the wait of the first packet whose credit the UpdateFC returns.
    fn longest_wait(&self, packets: u64, interval: Span) -> Span {
        let of_share = (packets as f64 * self.update_share).ceil() as u64;
        let most = match self.update_packets {
            0 => of_share,
            packets => of_share.min(packets),
        };
        (interval * most.saturating_sub(1)).min(self.update_delay)
    }

    /// The shortage of the replay buffer with the parameters `own`, if its size is written and a stream to the port `far` fills it before an
    /// Ack returns.
    pub fn replay_shortage(
        &self,
        own: &PortParameters,
        far: &PortParameters,
        stream: PacketStream,
    ) -> Option<Shortage> {
        let size = own.replay_buffer?.0;
        let each = stream.payload + u64::from(MAX_TLP_OVERHEAD);
        let rule = far.ack_rule();
        let limit = self.ack_limit.as_fs() as f64 * rule.limit_fraction;
        let mut wait = Span::from_fs(limit as u64);
        if rule.packets > 0 {
            wait = wait.min(stream.interval * rule.packets.into());
        }
        let needed = self.replay - self.ack_limit - self.longest + wait;
        let covers = stream.interval * (size / each);
        is_short(covers, needed).then(|| {
            let packets = (needed + self.longest)
                .as_fs()
                .div_ceil(stream.interval.as_fs())
                + 1;
            Shortage {
                key: "replay_buffer",
                size,
                covers,
                needed,
                enough: packets * each,
                is_unscaled: false,
            }
        })
    }
}

/// Whether a buffer that covers the time `covers` is too small for a round trip of `needed`: by more than a twentieth, which costs a
/// twentieth of the data rate.
fn is_short(covers: Span, needed: Span) -> bool {
    covers < needed - Span::from_fs(needed.as_fs() / 20)
}

/// The parameters that set the sizes for headers and for data of each class.
const KEYS: PerClass<(&str, &str)> = [
    ("posted_headers", "posted_data"),
    ("nonposted_headers", "nonposted_data"),
    ("completion_headers", "completion_data"),
];

impl PortParameters {
    /// The sizes of the port's buffers at the link end with this configuration. Sizes that are not written are as large as the round trip
    /// needs.
    pub fn buffers(&self, config: &LinkConfig) -> Buffers {
        let loops = Loops::new(config, self);
        let mut sizes = self.written_buffers(LEAST);
        let written = self.are_written();
        for class in Class::ALL {
            let [headers, data] = written[class];
            if !headers {
                let needed = loops.headers(class).next_multiple_of(UNIT);
                let least = u64::from(sizes.headers[class]);
                sizes.headers[class] = needed.clamp(least, MOST_HEADERS) as u32;
            }
            if !data {
                let needed = loops.data(class).next_multiple_of(UNIT * CREDIT);
                sizes.data[class].0 = needed.clamp(sizes.data[class].0, MOST_DATA);
            }
        }
        if self.replay_buffer.is_none() {
            sizes.replay.0 = sizes.replay.0.max(loops.replay().next_multiple_of(CREDIT));
        }
        sizes
    }

    /// The sizes that are written as parameters. The other sizes are taken from `others`.
    fn written_buffers(&self, others: Buffers) -> Buffers {
        let [posted, nonposted, completion] = others.headers;
        let [posted_data, nonposted_data, completion_data] = others.data;
        Buffers {
            headers: [
                self.posted_headers.unwrap_or(posted),
                self.nonposted_headers.unwrap_or(nonposted),
                self.completion_headers.unwrap_or(completion),
            ],
            data: [
                self.posted_data.unwrap_or(posted_data),
                self.nonposted_data.unwrap_or(nonposted_data),
                self.completion_data.unwrap_or(completion_data),
            ],
            replay: self.replay_buffer.unwrap_or(others.replay),
        }
    }

    /// The smallest sizes that the buffers of the port have at any link.
    pub fn least_buffers(&self) -> Buffers {
        self.written_buffers(LEAST)
    }

    /// Whether the size of any buffer is written, in the parameters or in a profile.
    pub fn has_written_buffers(&self) -> bool {
        self.replay_buffer.is_some() || self.are_written().as_flattened().contains(&true)
    }

    /// Whether the sizes for headers and for data of each class are written as parameters.
    fn are_written(&self) -> PerClass<[bool; 2]> {
        [
            [self.posted_headers.is_some(), self.posted_data.is_some()],
            [
                self.nonposted_headers.is_some(),
                self.nonposted_data.is_some(),
            ],
            [
                self.completion_headers.is_some(),
                self.completion_data.is_some(),
            ],
        ]
    }
}

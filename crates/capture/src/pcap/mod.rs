//! Captures in pcapng, which Wireshark reads with the dissector of `integrations/wireshark`: one record for each TLP, DLLP, group of
//! ordered sets, frame and control block, in the order of time. `docs/reference/capture.md` has the layout.

mod interface;
mod pcapng;
mod queue;
mod record;

use std::collections::BTreeMap;

use kernel::Time;
use protocol::Kind as Protocol;

use plan::FabricPlan;

use crate::event::{Content, Departure, What, WireEvent};
use crate::names::{DirectionId, Names};
use crate::{Filter, Format, Output};
use interface::{Medium, media};
use queue::Queue;
use record::{Head, Kind, flags};

/// A capture in pcapng.
#[derive(Debug)]
pub struct Pcap {
    media: BTreeMap<String, Medium>,
    directions: Vec<Direction>,
    queue: Queue,
}

/// The space that is reserved in a block in addition to the payload. It is sufficient for most blocks.
const ROOM: usize = 128;

/// A direction of a link, fibre or cable.
#[derive(Clone, Debug)]
struct Direction {
    /// The number of the interface in the file, if the direction is captured.
    interface: u32,
    /// The flag of this direction in pseudo-headers.
    flag: u16,
}

impl Pcap {
    /// Creates a capture of a run of `plan`.
    pub fn new(plan: &FabricPlan) -> Self {
        Pcap {
            media: media(plan),
            directions: Vec::new(),
            queue: Queue::default(),
        }
    }
}

impl Format for Pcap {
    fn begin(&mut self, names: &Names, filter: &Filter, out: &mut Vec<u8>) {
        pcapng::section_header(out);
        let mut interfaces = 0;
        for (id, direction) in names.directions().iter().enumerate() {
            let medium = &self.media[&direction.link];
            let (interface, is_up) = medium.interface(&direction.link, &direction.name);
            self.directions.push(Direction {
                interface: interfaces,
                flag: if is_up { flags::UP } else { 0 },
            });
            if filter.passes_direction(DirectionId(id)) {
                pcapng::interface_description(out, &interface);
                interfaces += 1;
            }
        }
        self.queue = Queue::new(names.directions().len());
    }

    fn record(&mut self, event: &WireEvent<'_>, _out: &mut Vec<u8>) {
        match event.what {
            // The format has no records of training.
            What::Departure(Departure {
                content: Content::Training { .. },
                ..
            }) => {}
            What::Arrival(arrival) => {
                self.queue.arrive(event.direction, event.at, &arrival);
            }
            What::Departure(departure) => {
                let direction = &self.directions[event.direction.0];
                let payload = departure.packet().map_or(0, |packet| packet.bytes().len());
                let mut block = Vec::with_capacity(ROOM + payload);
                emit(&departure, event, direction, &mut block);
                pcapng::end_packet(&mut block, 0);
                let place = (event.at, event.direction);
                self.queue.enter(place, block, departure.mark());
            }
        }
    }

    fn advance(&mut self, now: Time, output: &mut Output) {
        self.queue.advance(now, |block| output.write(block));
    }

    fn pause(&mut self, _now: Time, output: &mut Output) {
        self.end(output);
    }

    fn end(&mut self, output: &mut Output) {
        self.queue.release_all(|block| output.write(block));
    }
}

/// Appends the block of a departure: pseudo-header and content.
fn emit(
    departure: &Departure<'_>,
    event: &WireEvent<'_>,
    direction: &Direction,
    out: &mut Vec<u8>,
) {
    let flow = departure.packet().and_then(|one| event.names.flow(one));
    let mut head = |kind, more: u16| {
        let head = Head {
            kind,
            // The two directions of a link have consecutive numbers, so half the number of the direction is the number of the link.
            link: (event.direction.0 / 2) as u16,
            flags: direction.flag | more,
            time: event.at,
            length: departure.length,
            flow: flow.unwrap_or_default(),
        };
        head.emit(direction.interface, out);
    };
    match departure.content {
        Content::Tlp {
            packet,
            sequence,
            replay,
            nullified,
        } => {
            let kind = match packet.header().kind {
                Protocol::Network(_) => Kind::Network,
                _ => Kind::Tlp,
            };
            head(
                kind,
                flag(replay, flags::REPLAY) | flag(nullified, flags::NULLIFIED),
            );
            record::emit_tlp(out, sequence, nullified, packet.bytes());
        }
        Content::Dllp { bytes, .. } => {
            head(Kind::Dllp, 0);
            out.extend_from_slice(&bytes);
        }
        Content::OrderedSets(sets) => {
            head(Kind::OrderedSets, 0);
            record::emit_ordered_sets(out, &sets);
        }
        Content::Frame {
            frame,
            packet,
            replay,
        } => {
            let damaged = flag(frame.damaged, flags::DAMAGED);
            head(Kind::Fibre, flag(replay, flags::REPLAY) | damaged);
            out.extend(packet.fibre_image(frame.channel, frame.sequence));
        }
        Content::Block(block) => {
            head(Kind::Block, 0);
            record::emit_block(out, block);
        }
        Content::Training { .. } => {}
    }
}

fn flag(is_set: bool, flag: u16) -> u16 {
    if is_set { flag } else { 0 }
}

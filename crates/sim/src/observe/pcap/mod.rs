//! Captures in pcapng, which Wireshark reads with the dissector of `integrations/wireshark`: one record for each TLP, DLLP, group of
//! ordered sets, frame and control block, in the order of time. `docs/reference/capture.md` has the layout.

mod interface;
mod pcapng;
mod queue;
mod record;

use std::collections::BTreeMap;

use kernel::{Span, Time};
use packet::{Observation, Packet};
use protocol::Kind as Content;

use crate::setup::Plan;

use super::capture::names::{DirectionId, Names};
use super::capture::{Filter, Format, Output, WireEvent};
use interface::{Medium, media};
use queue::{Mark, Queue};
use record::{Arrival, Head, Kind, OrderedSets, flags};

/// A capture in pcapng.
#[derive(Debug)]
pub struct Pcap {
    media: BTreeMap<String, Medium>,
    directions: Vec<Direction>,
    queue: Queue,
}

/// A direction of a link, fibre or cable.
#[derive(Clone, Debug)]
struct Direction {
    /// The number of the interface in the file, if the direction is captured.
    interface: u32,
    /// The flag of this direction in pseudo-headers.
    flag: u16,
}

impl Pcap {
    /// A capture of a run of `plan`.
    pub fn new(plan: &Plan) -> Self {
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
        match *event.what {
            Observation::PacketArrival {
                sequence,
                verdict,
                wrong_bits,
                ..
            } => {
                let arrival = Arrival {
                    verdict,
                    wrong_bits,
                    end: event.at,
                };
                let mark = Mark::Tlp(sequence);
                self.queue.arrive(event.direction.0, mark, &arrival);
            }
            Observation::DllpArrival {
                bytes,
                verdict,
                wrong_bits,
                ..
            } => {
                let arrival = Arrival {
                    verdict,
                    wrong_bits,
                    end: event.at,
                };
                let mark = Mark::Dllp(bytes);
                self.queue.arrive(event.direction.0, mark, &arrival);
            }
            // The format has no records of training.
            Observation::Training { .. } => {}
            _ => self.depart(event),
        }
    }

    fn advance(&mut self, now: Time, output: &mut Output) {
        if self.queue.is_full() {
            self.queue.release(now, |block| output.write(block));
        }
    }

    fn pause(&mut self, _now: Time, output: &mut Output) {
        self.end(output);
    }

    fn end(&mut self, output: &mut Output) {
        self.queue.release_all(|block| output.write(block));
    }
}

impl Pcap {
    /// Enters what takes a wire.
    fn depart(&mut self, event: &WireEvent<'_>) {
        let direction = &self.directions[event.direction.0];
        let out = self.queue.buffer();
        let begin = out.len();
        let mark = emit(event, direction, out);
        pcapng::end_packet(out, begin);
        self.queue.enter((event.direction.0, event.at), begin, mark);
    }
}

/// Appends pseudo-header and content of what takes a wire; returns the mark of its arrival, if it will have one.
fn emit(event: &WireEvent<'_>, direction: &Direction, out: &mut Vec<u8>) -> Option<Mark> {
    let head = |kind, length, more: u16, flow| Head {
        kind,
        // Both directions of a link have neighbouring numbers.
        link: (event.direction.0 / 2) as u16,
        flags: direction.flag | more,
        time: event.at,
        length,
        flow,
    };
    let flow = |packet: &Packet| event.names.flow(packet).unwrap_or_default();
    match *event.what {
        Observation::Packet {
            sequence,
            packet,
            replay,
            nullified,
            length,
            ..
        } => {
            let packet = &event.packets[packet];
            let kind = match packet.header().kind {
                Content::Network(_) => Kind::Network,
                _ => Kind::Tlp,
            };
            let more = flag(replay, flags::REPLAY) | flag(nullified, flags::NULLIFIED);
            head(kind, length, more, flow(packet)).emit(direction.interface, out);
            record::emit_tlp(out, sequence, nullified, packet.bytes());
            Some(Mark::Tlp(sequence))
        }
        Observation::Dllp { bytes, length, .. } => {
            head(Kind::Dllp, length, 0, "").emit(direction.interface, out);
            out.extend_from_slice(&bytes);
            Some(Mark::Dllp(bytes))
        }
        Observation::OrderedSets {
            count,
            bytes,
            token_bytes,
            length,
            interval,
            ..
        } => {
            head(Kind::OrderedSets, length, 0, "").emit(direction.interface, out);
            let sets = OrderedSets {
                bytes,
                token_bytes,
                count,
                interval,
            };
            sets.emit(out);
            None
        }
        Observation::Fibre {
            frame,
            replay,
            length,
            ..
        } => {
            let packet = &event.packets[frame.packet];
            let more = flag(replay, flags::REPLAY) | flag(frame.damaged, flags::DAMAGED);
            head(Kind::Fibre, length, more, flow(packet)).emit(direction.interface, out);
            out.extend(packet.fibre_image(frame.channel, frame.sequence));
            None
        }
        Observation::Block { block, .. } => {
            head(Kind::Block, Span::ZERO, 0, "").emit(direction.interface, out);
            record::emit_block(out, block);
            None
        }
        _ => None,
    }
}

/// The flag if it is set.
fn flag(is_set: bool, flag: u16) -> u16 {
    if is_set { flag } else { 0 }
}

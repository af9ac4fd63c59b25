//! The packet trace: a JSON object a line for every TLP, DLLP and ordered set that takes a wire, every arrival, and every frame and
//! control block on a fibre. `docs/reference/trace.md` has the fields.

mod line;

use packet::{Observation, Verdict};

use super::capture::{Format, WireEvent};
use line::{Arrival, FibreLine, Line, OrderedSets, Tlp, Training, What};

/// The format of the packet trace.
#[derive(Debug)]
pub struct Trace;

impl Format for Trace {
    fn needs_one_thread(&self) -> bool {
        false
    }

    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        let Some(what) = content(event) else {
            return;
        };
        let direction = event.names.direction(event.direction);
        let line = Line {
            ns: event.at.as_ns(),
            link: &direction.link,
            direction: &direction.name,
            what,
        };
        serde_json::to_writer(&mut *out, &line).expect("a line of a trace is valid JSON");
        out.push(b'\n');
    }
}

/// The content of the line of an event.
fn content<'a>(event: &WireEvent<'a>) -> Option<What<'a>> {
    let flow = |packet| event.names.flow(packet).map(str::to_owned);
    Some(match *event.what {
        Observation::Packet {
            sequence,
            packet,
            replay,
            nullified,
            length,
            ..
        } => {
            let packet = &event.packets[packet];
            What::Tlp(Box::new(Tlp {
                sequence,
                replay,
                nullified,
                length_ns: length.as_ns(),
                flow: flow(packet),
                messages: line::said(packet),
                header: line::hex(packet.header_bytes()),
                ..line::tlp(packet.header())
            }))
        }
        Observation::Dllp { bytes, .. } => line::data_link(&bytes),
        Observation::PacketArrival {
            sequence,
            verdict,
            wrong_bits,
            ..
        } => What::Arrival(Arrival {
            kind: "tlp",
            sequence: Some(sequence),
            wrong_bits,
            ..arrival(event, verdict)
        }),
        Observation::DllpArrival {
            bytes,
            verdict,
            wrong_bits,
            ..
        } => What::Arrival(Arrival {
            kind: "dllp",
            raw: Some(line::hex(&bytes)),
            wrong_bits,
            ..arrival(event, verdict)
        }),
        Observation::OrderedSets {
            count,
            bytes,
            token_bytes,
            length,
            interval,
            ..
        } => What::OrderedSets(OrderedSets {
            ordered_set: "SKP",
            eds: token_bytes > 0,
            bytes,
            length_ns: length.as_ns(),
            count,
            interval_ns: (count > 1).then_some(interval.as_ns()),
        }),
        Observation::Training {
            set, bytes, length, ..
        } => What::Training(Training {
            ordered_set: "TS",
            says: line::training(set.kind),
            is_numbered: set.is_numbered,
            gigatransfers: set.generation.gigatransfers(),
            lanes: set.lanes,
            bytes,
            length_ns: length.as_ns(),
        }),
        Observation::Fibre {
            frame,
            replay,
            length,
            ..
        } => {
            let packet = &event.packets[frame.packet];
            What::Fibre {
                frame: FibreLine {
                    replay,
                    length_ns: length.as_ns(),
                    flow: flow(packet),
                    ..line::fibre_line(&frame, packet)
                },
            }
        }
        Observation::Block { block, .. } => What::Block {
            block: line::control_block(block),
        },
        _ => return None,
    })
}

/// The fields of every arrival.
fn arrival<'a>(event: &WireEvent<'a>, verdict: Verdict) -> Arrival<'a> {
    Arrival {
        kind: "",
        node: event.names.component(event.by),
        port: event.port,
        sequence: None,
        raw: None,
        verdict: line::verdict(verdict),
        wrong_bits: 0,
    }
}

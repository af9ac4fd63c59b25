//! The packet trace: a JSON object a line for every TLP and DLLP that takes a wire.

use std::fs::File;
use std::io::{BufWriter, Write};

use kernel::Observed;
use link::{Observation, Packets};
use protocol::{Class, Dllp, Header, Kind, MemoryRequest, Status};
use serde::Serialize;

use crate::build::{self, Parts};
use crate::plan::Plan;

/// A trace being written.
#[derive(Debug)]
pub struct Trace {
    file: BufWriter<File>,
    /// By component and port: the link, and the direction of what leaves there.
    wires: Vec<Vec<(usize, &'static str)>>,
    /// The names of the flows, by number.
    flows: Vec<String>,
    /// The first thing that went wrong with the file.
    pub failure: Option<std::io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    ns: f64,
    link: &'a str,
    direction: &'a str,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Tlp(Tlp),
    Acknowledge {
        dllp: &'static str,
        sequence: u16,
    },
    Credit {
        dllp: &'static str,
        class: &'static str,
        channel: u8,
        headers: u8,
        data: u16,
    },
}

/// A transaction-layer packet. Only a request has an address and a length, only a completion the fields of its header.
#[derive(Default, Serialize)]
struct Tlp {
    #[serde(rename = "tlp")]
    kind: &'static str,
    sequence: u16,
    replay: bool,
    nullified: bool,
    class: &'static str,
    requester: String,
    tag: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Bytes that a request carries or asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_count: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_address: Option<u8>,
    /// Payload on the wire.
    bytes: usize,
    length_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
}

impl Trace {
    /// A trace of a run of `plan` into `file`.
    pub fn new(file: File, plan: &Plan, flows: &[Parts]) -> Self {
        let mut wires: Vec<Vec<(usize, &'static str)>> = vec![Vec::new(); plan.nodes.len()];
        for (index, link) in plan.links.iter().enumerate() {
            let (upstream, downstream) = build::ends(plan, link);
            for ((node, port), direction) in [(upstream, "down"), (downstream, "up")] {
                let ports = &mut wires[node.0 as usize];
                ports.resize(ports.len().max(port as usize + 1), (0, ""));
                ports[port as usize] = (index, direction);
            }
        }
        let flows = plan.flows.iter().zip(flows);
        let flows = flows.flat_map(|(flow, parts)| vec![flow.id.clone(); parts.0.len()]);
        Trace {
            file: BufWriter::new(file),
            wires,
            flows: flows.collect(),
            failure: None,
        }
    }

    /// Writes what takes a wire.
    pub fn write(&mut self, plan: &Plan, packets: &Packets, told: &Observed<Observation>) {
        let (port, start, what) = match told.what {
            Observation::Packet {
                port,
                sequence,
                packet,
                replay,
                nullified,
                start,
                length,
            } => {
                let packet = &packets[packet];
                let tlp = Tlp {
                    sequence,
                    replay,
                    nullified,
                    length_ns: length.as_ns(),
                    flow: packet
                        .stamp
                        .flow
                        .and_then(|flow| self.flows.get(flow.0 as usize).cloned()),
                    ..tlp(packet.header())
                };
                (port, start, What::Tlp(tlp))
            }
            Observation::Dllp { port, bytes, start } => match Dllp::parse(&bytes) {
                Ok(dllp) => (port, start, data_link(&dllp)),
                Err(_) => return,
            },
            _ => return,
        };
        let (link, direction) = self.wires[told.by.0 as usize][usize::from(port)];
        self.put(&Line {
            ns: start.as_ns(),
            link: &plan.links[link].id,
            direction,
            what,
        });
    }

    fn put(&mut self, line: &Line<'_>) {
        let written = serde_json::to_writer(&mut self.file, line)
            .map_err(Into::into)
            .and_then(|()| self.file.write_all(b"\n"));
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
        }
    }

    /// Hands the last lines to the file.
    pub fn flush(&mut self) {
        if let Err(failure) = self.file.flush() {
            self.failure.get_or_insert(failure);
        }
    }
}

fn tlp(header: &Header) -> Tlp {
    let common = Tlp {
        class: class(header.class()),
        requester: header.requester().to_string(),
        tag: header.tag().0,
        bytes: header.payload_len(),
        ..Tlp::default()
    };
    let request = |kind, request: &MemoryRequest| {
        (
            kind,
            Some(format!("{:#x}", request.first_byte())),
            Some(request.byte_len()),
        )
    };
    let (kind, address, length) = match &header.kind {
        Kind::MemoryRead(read) => request("MRd", read),
        Kind::MemoryWrite(write) => request("MWr", write),
        Kind::Completion(completion) => {
            return Tlp {
                kind: if completion.dwords == 0 {
                    "Cpl"
                } else {
                    "CplD"
                },
                completer: Some(completion.completer.to_string()),
                status: Some(status(completion.status)),
                byte_count: Some(completion.byte_count),
                lower_address: Some(completion.lower_address),
                ..common
            };
        }
        Kind::ConfigRead(_) => ("CfgRd", None, None),
        Kind::ConfigWrite(_) => ("CfgWr", None, None),
    };
    Tlp {
        kind,
        address,
        length,
        ..common
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Successful => "successful",
        Status::UnsupportedRequest => "unsupported-request",
        Status::ConfigurationRetry => "configuration-retry",
        Status::CompleterAbort => "completer-abort",
    }
}

fn data_link(dllp: &Dllp) -> What {
    let credit = |dllp, credit: &protocol::Credit| What::Credit {
        dllp,
        class: class(credit.class),
        channel: credit.channel,
        headers: credit.headers,
        data: credit.data,
    };
    match dllp {
        Dllp::Ack { sequence } => What::Acknowledge {
            dllp: "Ack",
            sequence: *sequence,
        },
        Dllp::Nak { sequence } => What::Acknowledge {
            dllp: "Nak",
            sequence: *sequence,
        },
        Dllp::InitFc1(limits) => credit("InitFC1", limits),
        Dllp::InitFc2(limits) => credit("InitFC2", limits),
        Dllp::UpdateFc(limits) => credit("UpdateFC", limits),
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}

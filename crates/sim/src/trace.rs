//! The packet trace: a JSON object a line for everything that takes a wire.

use std::fs::File;
use std::io::{BufWriter, Write};

use kernel::Observed;
use link::{Observation, Packets};
use protocol::{Class, Dllp, Header, Kind};
use serde::Serialize;

use crate::build;
use crate::plan::Plan;

/// A trace being written.
#[derive(Debug)]
pub struct Trace {
    file: BufWriter<File>,
    /// By component and port: the link, and the direction of what leaves there.
    wires: Vec<Vec<(usize, &'static str)>>,
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
    Tlp {
        tlp: &'static str,
        sequence: u16,
        replay: bool,
        class: &'static str,
        requester: String,
        tag: u16,
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        bytes: usize,
        length_ns: f64,
    },
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

impl Trace {
    /// A trace of a run of `plan` into `file`.
    pub fn new(file: File, plan: &Plan) -> Self {
        let mut wires: Vec<Vec<(usize, &'static str)>> = vec![Vec::new(); plan.nodes.len()];
        for (index, link) in plan.links.iter().enumerate() {
            let (upstream, downstream) = build::ends(plan, link);
            for ((node, port), direction) in [(upstream, "down"), (downstream, "up")] {
                let ports = &mut wires[node.0 as usize];
                ports.resize(ports.len().max(port as usize + 1), (0, ""));
                ports[port as usize] = (index, direction);
            }
        }
        Trace {
            file: BufWriter::new(file),
            wires,
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
                start,
                length,
            } => (
                port,
                start,
                tlp(packets[packet].header(), sequence, replay, length.as_ns()),
            ),
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

fn tlp(header: &Header, sequence: u16, replay: bool, length_ns: f64) -> What {
    let hex = |address: u64| Some(format!("{address:#x}"));
    let (tlp, address) = match &header.kind {
        Kind::MemoryRead(request) => ("MRd", hex(request.first_byte())),
        Kind::MemoryWrite(request) => ("MWr", hex(request.first_byte())),
        Kind::Completion(completion) if completion.dwords == 0 => ("Cpl", None),
        Kind::Completion(_) => ("CplD", None),
        Kind::ConfigRead(_) => ("CfgRd", None),
        Kind::ConfigWrite(_) => ("CfgWr", None),
    };
    What::Tlp {
        tlp,
        sequence,
        replay,
        class: class(header.class()),
        requester: header.requester().to_string(),
        tag: header.tag().0,
        address,
        bytes: header.payload_len(),
        length_ns,
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

//! The packet trace: a JSON object a line for every TLP, DLLP and ordered set that takes a wire, every arrival, and every frame and
//! control block on a fibre. `docs/reference/trace.md` has the fields.

mod line;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use kernel::{ComponentId, Observed, Time, World};
use packet::{Observation, Packet, Packets, Pcie, Verdict};

use crate::build;
use crate::plan::Plan;
use line::{Arrival, FibreLine, Line, OrderedSets, Tlp, What};

/// A trace being written.
#[derive(Debug)]
pub struct Trace {
    file: BufWriter<File>,
    /// The end of a link or fibre at each port, by component.
    wires: Vec<Vec<WireEnd>>,
    /// The name of each component.
    names: Vec<String>,
    /// The names of the flows, workloads and collectives, by the numbers of their parts.
    flows: Vec<String>,
    /// Lines of the present time: the component of each, and its range in `text`. A line is made while its packet is still held.
    noted: Vec<(ComponentId, Range<usize>)>,
    text: Vec<u8>,
    /// Number of noted observations among those not yet handed to the probes.
    seen: usize,
    /// First error of the file.
    pub failure: Option<std::io::Error>,
}

/// One end of a link or fibre.
#[derive(Clone, Debug, Default)]
struct WireEnd {
    link: String,
    /// The direction of the packets that leave, and of those that arrive.
    leaves: String,
    arrives: String,
}

impl Trace {
    /// A trace of a run of `plan` into `file`.
    pub fn new(file: File, plan: &Plan) -> Self {
        let mut wires = vec![Vec::new(); plan.nodes.len() + plan.controllers.len()];
        let mut enter = |(node, port): (usize, usize), link: &str, ways: [String; 2]| {
            let ports: &mut Vec<_> = &mut wires[node];
            ports.resize(ports.len().max(port + 1), WireEnd::default());
            let [leaves, arrives] = ways;
            ports[port] = WireEnd {
                link: link.to_owned(),
                leaves,
                arrives,
            };
        };
        for link in &plan.links {
            let (upstream, downstream) = build::ends(plan, link);
            let ends = [(upstream, ["down", "up"]), (downstream, ["up", "down"])];
            for ((node, port), ways) in ends {
                let end = (node.0 as usize, port as usize);
                enter(end, &link.id, ways.map(str::to_owned));
            }
        }
        for fibre in &plan.fibres {
            let [one, other] = fibre.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name = |(node, _): (usize, u8)| plan.nodes[node].name.as_str();
                let ways = [(from, to), (to, from)];
                let ways = ways.map(|(from, to)| format!("{}-{}", name(from), name(to)));
                let port = build::fibre_port(from.1) as usize;
                enter((from.0, port), &fibre.id, ways);
            }
        }
        for cable in &plan.cables {
            let [one, other] = cable.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name =
                    |(controller, _): (usize, u8)| plan.controllers[controller].name.as_str();
                let ways = [(from, to), (to, from)];
                let ways = ways.map(|(from, to)| format!("{}-{}", name(from), name(to)));
                let (node, port) = build::cable_end(plan, from);
                enter((node.0 as usize, port as usize), &cable.id, ways);
            }
        }
        let nodes = plan.nodes.iter().map(|node| &node.name);
        let controllers = plan.controllers.iter().map(|controller| &controller.name);
        let flows = plan.workloads.iter();
        let flows = flows.flat_map(|one| vec![one.id().to_owned(); one.own.parts.len()]);
        Trace {
            file: BufWriter::new(file),
            wires,
            names: nodes.chain(controllers).cloned().collect(),
            flows: flows.collect(),
            noted: Vec::new(),
            text: Vec::new(),
            seen: 0,
            failure: None,
        }
    }

    /// Makes the lines of the observations in `world` since the last call.
    pub fn note(&mut self, world: &World<Pcie>) {
        for told in &world.observations[self.seen..] {
            self.note_one(&world.store, told);
        }
        self.seen = world.observations.len();
    }

    /// Writes the lines of one time, ordered by component, and within a component as they were observed.
    pub fn write_noted(&mut self) {
        self.noted.sort_by_key(|(by, _)| *by);
        for (_, line) in self.noted.drain(..) {
            if let Err(failure) = self.file.write_all(&self.text[line]) {
                self.failure.get_or_insert(failure);
            }
        }
        self.text.clear();
        self.seen = 0;
    }

    fn note_one(&mut self, packets: &Packets, told: &Observed<Observation>) {
        let node = told.by.0 as usize;
        let Some((port, at, what)) = self.line(packets, told) else {
            return;
        };
        let end = &self.wires[node][usize::from(port)];
        let direction = match what {
            What::Arrival(_) => &end.arrives,
            _ => &end.leaves,
        };
        let shown = Line {
            ns: at.as_ns(),
            link: &end.link,
            direction,
            what,
        };
        let mut line = serde_json::to_vec(&shown).expect("a line of a trace is valid JSON");
        line.push(b'\n');
        let begin = self.text.len();
        self.text.append(&mut line);
        self.noted.push((told.by, begin..self.text.len()));
    }

    /// The port, the time and the content of the line of an observation, if it has one.
    fn line(
        &self,
        packets: &Packets,
        told: &Observed<Observation>,
    ) -> Option<(u16, Time, What<'_>)> {
        Some(match told.what {
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
                    flow: self.flow_of(packet),
                    messages: line::said(packet),
                    header: line::hex(packet.header_bytes()),
                    ..line::tlp(packet.header())
                };
                (port, start, What::Tlp(Box::new(tlp)))
            }
            Observation::Dllp { port, bytes, start } => (port, start, line::data_link(&bytes)),
            Observation::PacketArrival {
                port,
                sequence,
                verdict,
                wrong_bits,
                end,
            } => {
                let arrival = Arrival {
                    kind: "tlp",
                    sequence: Some(sequence),
                    wrong_bits,
                    ..self.arrival(told, port, verdict)
                };
                (port, end, What::Arrival(arrival))
            }
            Observation::DllpArrival {
                port,
                bytes,
                verdict,
                wrong_bits,
            } => {
                let arrival = Arrival {
                    kind: "dllp",
                    raw: Some(line::hex(&bytes)),
                    wrong_bits,
                    ..self.arrival(told, port, verdict)
                };
                (port, told.at, What::Arrival(arrival))
            }
            Observation::OrderedSets {
                port,
                count,
                bytes,
                token_bytes,
                start,
                length,
                interval,
            } => {
                let sets = OrderedSets {
                    ordered_set: "SKP",
                    eds: token_bytes > 0,
                    bytes,
                    length_ns: length.as_ns(),
                    count,
                    interval_ns: (count > 1).then_some(interval.as_ns()),
                };
                (port, start, What::OrderedSets(sets))
            }
            Observation::Fibre {
                port,
                frame,
                replay,
                start,
                length,
            } => {
                let packet = &packets[frame.packet];
                let line = FibreLine {
                    replay,
                    length_ns: length.as_ns(),
                    flow: self.flow_of(packet),
                    ..line::fibre_line(&frame, packet)
                };
                (port, start, What::Fibre { frame: line })
            }
            Observation::Block { port, block, start } => {
                let block = line::control_block(block);
                (port, start, What::Block { block })
            }
            _ => return None,
        })
    }

    /// The fields of every arrival at a port.
    fn arrival(&self, told: &Observed<Observation>, port: u16, verdict: Verdict) -> Arrival<'_> {
        Arrival {
            kind: "",
            node: &self.names[told.by.0 as usize],
            port,
            sequence: None,
            raw: None,
            verdict: line::verdict(verdict),
            wrong_bits: 0,
        }
    }

    fn flow_of(&self, packet: &Packet) -> Option<String> {
        let flow = packet.stamp.flow?;
        self.flows.get(flow.0 as usize).cloned()
    }

    /// Flushes the last lines to the file.
    pub fn flush(&mut self) {
        if let Err(failure) = self.file.flush() {
            self.failure.get_or_insert(failure);
        }
    }
}

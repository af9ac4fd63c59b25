//! The packet trace. Each line is a JSON object: for every TLP, DLLP and ordered set that departs, every arrival, and every frame and control block
//! on a fibre. `docs/reference/trace.md` has the fields.

use packet::Verdict;
use serde::Serialize;

use crate::Format;
use crate::event::{Arrival, Mark, What, WireEvent};
use crate::fields::{Field, Fields, Value, hex};
use crate::kind::Group;

/// The format of the packet trace.
#[derive(Debug)]
pub struct Trace;

impl Format for Trace {
    fn needs_one_thread(&self) -> bool {
        false
    }

    fn record(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        let direction = event.names.direction(event.direction);
        let mut line = Object::begin(out);
        line.add("ns", event.at.as_ns());
        line.add("link", &direction.link);
        line.add("direction", &direction.name);
        match event.what {
            What::Departure(departure) => {
                let group = departure.kind.group();
                match group {
                    Group::Tlp | Group::Dllp | Group::OrderedSet => {
                        line.add(group.name(), departure.kind.name());
                        departure.fields(event.names, &mut line);
                    }
                    Group::Frame | Group::Block => {
                        line.name(group.name());
                        let mut inner = Object::begin(line.0);
                        departure.fields(event.names, &mut inner);
                        inner.end();
                    }
                }
            }
            What::Arrival(arrival) => add_arrival(&arrival, event, &mut line),
        }
        line.end();
        out.push(b'\n');
    }
}

fn add_arrival(arrival: &Arrival, event: &WireEvent<'_>, line: &mut Object<'_>) {
    line.add(
        "arrival",
        match arrival.mark {
            Mark::Tlp(_) => Group::Tlp.name(),
            Mark::Dllp(_) => Group::Dllp.name(),
        },
    );
    line.add("node", event.names.component(event.by));
    line.add("port", event.port);
    match arrival.mark {
        Mark::Tlp(sequence) => line.add(Field::Sequence.name(), sequence),
        Mark::Dllp(bytes) => line.add("raw", hex(&bytes)),
    }
    line.add("verdict", verdict(arrival.verdict));
    if arrival.wrong_bits > 0 {
        line.add("wrong_bits", arrival.wrong_bits);
    }
}

/// A JSON object that is appended to a buffer.
struct Object<'a>(&'a mut Vec<u8>);

impl<'a> Object<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Object(out)
    }

    fn add(&mut self, name: &str, value: impl Serialize) {
        self.name(name);
        serde_json::to_writer(&mut *self.0, &value).expect("a value of a trace is valid JSON");
    }

    /// Adds the name of a field. The caller adds its value afterwards.
    fn name(&mut self, name: &str) {
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn end(self) {
        self.0.push(b'}');
    }
}

impl Fields for Object<'_> {
    fn value(&mut self, field: Field, value: Value<'_>) {
        self.add(field.name(), value);
    }

    fn scales(&mut self, scales: [u64; 2]) {
        self.add("scale", scales);
    }

    fn detail<T: Serialize>(&mut self, name: &'static str, value: impl FnOnce() -> T) {
        self.add(name, value());
    }
}

/// The word for the decision of a receiver.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Duplicate => "duplicate",
        Verdict::Nak => "nak",
        Verdict::Nullified => "nullified",
        Verdict::Discarded => "discarded",
        Verdict::Unframed => "unframed",
        Verdict::LinkDown => "link-down",
    }
}

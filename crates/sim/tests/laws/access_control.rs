//! Access Control Services (PCIe Base 6.12) in nested switches and root ports.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use transaction::FunctionPlace;

use crate::cases::cases;
use crate::fixture::*;

/// The Access Control Services of all downstream ports of a host or of a switch.
#[derive(Clone, Copy, Debug)]
struct Services {
    source_validation: bool,
    translation_blocking: bool,
    redirect: bool,
    completion_redirect: bool,
    upstream_forwarding: bool,
    direct_translated: bool,
}

/// A node of the fabric. The first node is the host; switches follow, then devices.
#[derive(Clone, Debug)]
struct Node {
    above: Index,
    services: Services,
    egress_control: bool,
}

/// A request. No other request is in progress at the same time.
#[derive(Clone, Debug)]
struct Request {
    from: Index,
    to: Index,
    reads: bool,
    is_translated: bool,
    /// The device whose requester ID the request has instead of its own, if the ID is forged. Only writes have forged IDs.
    forged: Option<Index>,
}

#[derive(Clone, Debug)]
struct Fabric {
    peer_to_peer: &'static str,
    nodes: Vec<Node>,
    switches: usize,
    requests: Vec<Request>,
}

/// A request whose ends are given as node numbers.
#[derive(Clone, Copy, Debug)]
struct Planned {
    from: usize,
    to: usize,
    reads: bool,
    is_translated: bool,
    forged: Option<usize>,
}

const HOST: usize = 0;

impl Fabric {
    fn name(&self, node: usize) -> String {
        match node {
            HOST => "h".to_owned(),
            node if node <= self.switches => format!("s{node}"),
            node => format!("d{node}"),
        }
    }

    /// The node above `node`: the host, or a switch before it.
    fn above(&self, node: usize) -> usize {
        let possible = node.min(self.switches + 1);
        self.nodes[node].above.index(possible)
    }

    /// The node directly below `node` on the way to `to`; none if `to` is not below it.
    fn towards(&self, node: usize, mut to: usize) -> Option<usize> {
        while to != HOST {
            let above = self.above(to);
            if above == node {
                return Some(to);
            }
            to = above;
        }
        None
    }

    fn planned(&self) -> Vec<Planned> {
        let first = self.switches + 1;
        let devices = self.nodes.len() - first;
        let planned = self.requests.iter().map(|request| {
            let from = first + request.from.index(devices);
            let to = first - 1 + request.to.index(devices + 1);
            let forged = request.forged.filter(|_| !request.reads);
            Planned {
                from,
                to: if to < first { HOST } else { to },
                reads: request.reads,
                is_translated: request.is_translated,
                forged: forged.map(|device| first + device.index(devices)),
            }
        });
        planned.filter(|one| one.from != one.to).collect()
    }

    fn text(&self, requests: &[Planned], ids: &[String]) -> String {
        let mut text = "[links]\ngeneration = 3\nlanes = 4\n".to_owned();
        for (number, node) in self.nodes.iter().enumerate() {
            let kind = match number {
                HOST => "hosts",
                number if number <= self.switches => "switches",
                _ => "devices",
            };
            writeln!(text, "[{kind}.{}]", self.name(number)).expect("a text takes all");
            if number == HOST {
                writeln!(text, "peer_to_peer = {:?}", self.peer_to_peer).expect("a text takes all");
            } else {
                let above = self.name(self.above(number));
                writeln!(
                    text,
                    "upstream = \"{above}\"\nacs_egress_control = {}",
                    node.egress_control
                )
                .expect("a text takes all");
            }
            if number > self.switches {
                text += "completion_timeout = \"50 us\"\n";
                continue;
            }
            let services = &node.services;
            let keys = [
                ("source_validation", services.source_validation),
                ("translation_blocking", services.translation_blocking),
                ("redirect", services.redirect),
                ("upstream_forwarding", services.upstream_forwarding),
                ("direct_translated", services.direct_translated),
            ];
            for (key, on) in keys {
                writeln!(text, "acs_{key} = {on}").expect("a text takes all");
            }
            if number != HOST {
                let on = services.completion_redirect;
                writeln!(text, "acs_completion_redirect = {on}").expect("a text takes all");
            }
        }
        for (number, one) in requests.iter().enumerate() {
            let (from, to) = (self.name(one.from), self.name(one.to));
            let direction = if one.reads { "read" } else { "write" };
            let start = 100 * (number + 1);
            writeln!(
                text,
                "[[flows]]\nid = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\ncount = 1\nrequest_size = \"64 B\"\nstart = \"{start} us\"\ntranslated_addresses = {}",
                one.is_translated
            )
            .expect("a text takes all");
            if let Some(forged) = one.forged {
                writeln!(text, "requester_id = \"{}\"", ids[forged]).expect("a text takes all");
            }
        }
        text
    }
}

/// The expected path and errors of one request. The rules of the specification are applied at each node on the path.
#[derive(Debug, Default)]
struct Expected {
    /// Every link that a packet of the request crosses, as (node below the link, whether the packet goes up, whether it is a completion).
    wires: Vec<(usize, bool, bool)>,
    /// Each node that refuses a packet, and the reason.
    errors: Vec<(usize, &'static str)>,
}

impl Fabric {
    fn expected(&self, request: &Planned) -> Expected {
        let mut all = Expected::default();
        match self.walk(request, false, request.from, request.to, &mut all) {
            Ok(()) if request.reads => {
                self.complete(request, request.to, &mut all);
            }
            Ok(()) => {}
            Err((node, _, why)) if !request.reads => all.errors.push((node, why)),
            // The port that received the request answers it.
            Err((node, below, why)) => {
                all.errors.push((node, why));
                all.wires.push((below, false, true));
                self.descend(below, request.from, true, &mut all);
            }
        }
        all
    }

    /// The completion of a read from `completer`.
    fn complete(&self, request: &Planned, completer: usize, all: &mut Expected) {
        if completer == HOST {
            return self.descend(HOST, request.from, true, all);
        }
        if let Err((node, _, why)) = self.walk(request, true, completer, request.from, all) {
            all.errors.push((node, why));
            all.errors.push((request.from, "completion timeout"));
        }
    }

    /// Follows a packet from the device `from` upwards until it is routed towards `to`, and then downwards. The error is the node that refuses the
    /// packet, the node below the port that received it, and the reason.
    fn walk(
        &self,
        request: &Planned,
        is_completion: bool,
        from: usize,
        to: usize,
        all: &mut Expected,
    ) -> Result<(), (usize, usize, &'static str)> {
        let mut below = from;
        loop {
            all.wires.push((below, true, is_completion));
            let node = self.above(below);
            let services = &self.nodes[node].services;
            let (violation, nowhere) = ("ACS violation", "unsupported request");
            let nowhere = if is_completion {
                "unexpected completion"
            } else {
                nowhere
            };
            if !is_completion {
                let requester = request.forged.unwrap_or(request.from);
                let is_below = requester == below || self.towards(below, requester).is_some();
                if services.source_validation && !is_below {
                    return Err((node, below, violation));
                }
                if services.translation_blocking && request.is_translated {
                    return Err((node, below, violation));
                }
            }
            if node == HOST && to == HOST {
                return Ok(());
            }
            let Some(next) = self.towards(node, to) else {
                below = node;
                continue;
            };
            let is_forwarded = is_completion
                || self.peer_to_peer == "all"
                || self.peer_to_peer == "writes" && !request.reads;
            let nowhere = if node == HOST && !is_forwarded {
                "unsupported request between root ports (peer_to_peer)"
            } else {
                nowhere
            };
            let is_free = services.direct_translated && request.is_translated;
            let goes_up = if next == below {
                if !services.upstream_forwarding {
                    return Err((node, below, nowhere));
                }
                true
            } else if is_completion {
                node != HOST && services.completion_redirect
            } else if is_free {
                false
            } else if self.has_egress_control(node) {
                let is_set = self.nodes[next].egress_control;
                if is_set && !services.redirect {
                    if node == HOST && !is_forwarded {
                        return Err((node, below, nowhere));
                    }
                    return Err((node, below, violation));
                }
                is_set
            } else {
                services.redirect
            };
            if node == HOST {
                if !is_forwarded {
                    return Err((node, below, nowhere));
                }
            } else if goes_up {
                below = node;
                continue;
            }
            self.descend(node, to, is_completion, all);
            return Ok(());
        }
    }

    /// Follows a packet from `node` downwards to `to`.
    fn descend(&self, mut node: usize, to: usize, is_completion: bool, all: &mut Expected) {
        while let Some(next) = self.towards(node, to) {
            all.wires.push((next, false, is_completion));
            node = next;
        }
    }

    fn has_egress_control(&self, node: usize) -> bool {
        let below = (1..self.nodes.len()).filter(|below| self.above(*below) == node);
        below
            .into_iter()
            .any(|below| self.nodes[below].egress_control)
    }
}

fn services() -> impl Strategy<Value = Services> {
    let rarely = || prop::bool::weighted(0.25);
    let bits = (
        rarely(),
        rarely(),
        any::<[bool; 2]>(),
        prop::bool::weighted(0.75),
        any::<bool>(),
    );
    bits.prop_map(
        |(sources, translations, [requests, completions], forwards, direct)| Services {
            source_validation: sources,
            translation_blocking: translations,
            redirect: requests,
            completion_redirect: completions,
            upstream_forwarding: forwards,
            direct_translated: direct,
        },
    )
}

fn fabric() -> impl Strategy<Value = Fabric> {
    let node = || {
        let parts = (any::<Index>(), services(), prop::bool::weighted(0.2));
        parts.prop_map(|(above, services, egress_control)| Node {
            above,
            services,
            egress_control,
        })
    };
    let request = (
        any::<[Index; 2]>(),
        any::<bool>(),
        prop::bool::weighted(0.3),
        prop::option::weighted(0.2, any::<Index>()),
    );
    let request = request.prop_map(|([from, to], reads, is_translated, forged)| Request {
        from,
        to,
        reads,
        is_translated,
        forged,
    });
    let parts = (
        0_usize..5,
        2_usize..5,
        vec(request, 1..9),
        prop::sample::select(vec!["all", "all", "all", "writes", "none"]),
    );
    parts.prop_flat_map(move |(switches, devices, requests, peer_to_peer)| {
        vec(node(), 1 + switches + devices).prop_map(move |nodes| Fabric {
            peer_to_peer,
            nodes,
            switches,
            requests: requests.clone(),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 3000, ..cases(60) })]
    #[test]
    fn every_request_goes_where_the_services_on_its_way_let_it(fabric in fabric()) {
        let requests = fabric.planned();
        let ids: Vec<String> = {
            let plan = simulation(&fabric.text(&[], &[]));
            let nodes = (0..fabric.nodes.len()).map(|node| fabric.name(node));
            let id = |name: String| plan.plan().nodes.iter().find(|node| node.name == name).expect("a node").id;
            nodes.map(|name| id(name).to_string()).collect()
        };
        let text = fabric.text(&requests, &ids);
        let (result, lines) = trace(&text);
        let mut errors = BTreeMap::new();
        for (number, request) in requests.iter().enumerate() {
            let expected = fabric.expected(request);
            let flow = format!("f{number}");
            let mut taken: Vec<_> = lines.iter().filter(|line| line["flow"] == flow && line["tlp"].is_string()).collect();
            taken.sort_by(|one, other| one["ns"].as_f64().partial_cmp(&other["ns"].as_f64()).expect("times"));
            let taken: Vec<_> = taken.iter().map(|line| {
                let is_completion = line["class"] == "completion";
                (line["link"].as_str().expect("a link").to_owned(), line["direction"] == "up", is_completion)
            }).collect();
            let wires = expected.wires.iter().map(|(below, up, is_completion)| {
                let link = format!("{}-{}", fabric.name(fabric.above(*below)), fabric.name(*below));
                (link, *up, *is_completion)
            });
            let wires: Vec<_> = wires.collect();
            prop_assert_eq!(&taken, &wires, "{} {:?}\n{}", flow, request, text);
            let arrives = expected.errors.is_empty();
            let arrived = result.flow(&flow).intact;
            prop_assert_eq!(arrived, arrives, "{} {:?}\n{}", flow, request, text);
            for (node, why) in expected.errors {
                *errors.entry((fabric.name(node), why.to_owned())).or_insert(0) += 1;
            }
        }
        let counted = result.errors.iter().map(|error| ((error.place.clone(), error.what.to_owned()), error.count));
        let counted: BTreeMap<_, u64> = counted.collect();
        prop_assert_eq!(counted, errors, "{}", text);
    }
}

const PEERS: &str = r#"
[links]
generation = 3
lanes = 4
[hosts.h]
[switches.s]
upstream = "h"
[devices.a]
upstream = "s"
[devices.b]
upstream = "s"
acs_egress_control = true
[[flows]]
from = "a"
to = "b"
count = 1
"#;

/// Uncorrectable and Correctable Error Status and Secondary Status of the port of the switch above `a`.
fn recorded(text: &str) -> [u32; 3] {
    let mut simulation = simulation(text);
    simulation.run(&mut |_| true);
    assert_eq!(simulation.result().errors("s", "ACS violation"), 1);
    let functions = simulation.functions("s").expect("a switch");
    let space = functions.space(FunctionPlace::Port(0));
    let aer = protocol::register::AER;
    let secondary = space.read(protocol::register::SECONDARY_STATUS);
    [space.read(aer + 1), space.read(aer + 4), secondary]
}

/// PCIe Base 6.12.4: Completer Abort answers a non-posted request, which makes the error advisory.
#[test]
fn a_violation_is_recorded_at_the_port_that_blocks_it() {
    assert_eq!(recorded(PEERS), [1 << 21, 0, 0]);
    let read = format!("{PEERS}direction = \"read\"\n");
    assert_eq!(recorded(&read), [0, 1 << 13, 1 << 27]);
    let (_, lines) = trace(&read);
    let mut statuses = lines.iter().filter(|line| line["tlp"] == "Cpl");
    assert!(statuses.all(|line| line["status"] == "completer-abort"));
}

#[test]
fn only_a_device_that_writes_its_own_headers_forges_them() {
    let text = PEERS.replace(
        "from = \"a\"\nto = \"b\"",
        "from = \"h\"\nto = \"b\"\nrequester_id = \"05:00.0\"",
    );
    let Err(wrong) = sim::Simulation::read(&text, "law.toml", None) else {
        panic!("a host has one requester ID");
    };
    let message = wrong.to_string();
    assert!(message.contains("model = \"dma\""), "{message}");
}

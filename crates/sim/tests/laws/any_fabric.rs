//! Fabrics of any shape with any parameters: all requested data arrives exactly once and unchanged.

use std::fmt::Write;
use std::fmt::{self, Debug, Formatter};

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::cases::cases;
use crate::fixture::*;
use crate::network::threads::is_the_same_on_threads;

/// A random fabric. Shrinking removes nodes, flows and lines. A failure prints the text of its scenario.
#[derive(Clone)]
struct Scenario {
    head: String,
    host: Host,
    switches: Vec<Switch>,
    devices: Vec<Device>,
    /// The reflector, which makes no requests itself.
    reflector: Node,
    flows: Vec<Flow>,
    retrainings: Vec<Retraining>,
    /// Whether all ports support PASID prefixes, and the host has page tables for the processes 1 and 3.
    has_processes: bool,
}

/// An incident that sends a link through Recovery: the node below the link, the time in nanoseconds, and the other lines of the incident.
#[derive(Clone, Debug)]
struct Retraining {
    node: Index,
    at: u32,
    lines: &'static str,
}

/// The settings that switches and devices have in common: their upstream link, and the buffers of their ports.
#[derive(Clone, Debug)]
struct Node {
    /// The node above, which is the host or a switch, and the socket if the node above is the host.
    above: (Index, Index),
    /// Generation and lanes, if they differ from the default of all links.
    link: Option<(u32, u32)>,
    port: String,
}

#[derive(Clone, Debug)]
struct Host {
    sockets: u32,
    quadrants: u32,
    lines: String,
}

#[derive(Clone, Debug)]
struct Switch {
    node: Node,
    lines: String,
}

#[derive(Clone, Debug)]
struct Device {
    node: Node,
    lines: String,
    /// The number of virtual functions, as an index into [`VIRTUAL_FUNCTIONS`].
    functions: Option<Index>,
    /// The lines of a scatter/gather engine, if the device is one.
    engine: Option<String>,
}

const VIRTUAL_FUNCTIONS: [usize; 5] = [0, 0, 1, 7, 20];

impl Device {
    fn virtual_functions(&self) -> usize {
        self.functions
            .map_or(0, |index| *index.get(&VIRTUAL_FUNCTIONS))
    }
}

#[derive(Clone, Debug)]
struct Flow {
    from: Index,
    to: Index,
    direction: Index,
    amount: Amount,
    request: u32,
    interval: Option<u32>,
    /// The function that makes the requests, if the flow is from a device without a driver.
    function: Index,
    /// The start and the request size, if a driver moves the flow.
    transfer: (Option<u32>, Option<u32>),
    /// The lines of the attributes, and the line of the traffic class. Flows with a driver do not have the latter.
    mark: (String, String),
    /// The PASID prefix of a flow from a device, in a fabric with processes.
    process: String,
}

#[derive(Clone, Debug)]
enum Amount {
    Count(u32),
    Size(u32),
    Window,
}

impl Debug for Scenario {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.text())
    }
}

/// On links where nearly every frame leads to Recovery, reads may take longer than the default timeout of 10 ms.
const PATIENT: &str = "completion_timeout = \"1 s\"\n";

impl Scenario {
    fn text(&self) -> String {
        let [above, below, device_prefixes] = self.prefixes();
        let mut text = format!(
            "{}[hosts.h0]\n{PATIENT}{}{above}",
            self.head, self.host.lines
        );
        for (number, Switch { node, lines }) in self.switches.iter().enumerate() {
            // Each switch is below the host or below an earlier switch.
            write!(
                text,
                "[switches.s{number}]\n{}{lines}{below}",
                self.node(node, number)
            )
            .expect("a text takes all");
        }
        for (number, device) in self.devices.iter().enumerate() {
            let node = self.node(&device.node, self.switches.len());
            let engine = device.engine.as_deref().unwrap_or_default();
            let functions = device.virtual_functions();
            write!(
                text,
                "[devices.d{number}]\n{node}{PATIENT}{}{device_prefixes}virtual_functions = {functions}\n{engine}",
                device.lines
            )
            .expect("a text takes all");
        }
        // The BAR is large enough that no two flows use the same bytes.
        let node = self.node(&self.reflector, self.switches.len());
        write!(
            text,
            "[devices.r]\n{node}{device_prefixes}model = \"reflector\"\nbar = \"256 KiB\"\n"
        )
        .expect("a text takes all");
        let flows: Vec<String> = self
            .flows
            .iter()
            .filter_map(|flow| self.flow(flow))
            .collect();
        let retrainings: Vec<String> = self
            .retrainings
            .iter()
            .map(|one| self.retraining(one))
            .collect();
        text + &flows.concat() + &retrainings.concat()
    }

    /// The lines about PASID prefixes of the host, of each switch and of each device.
    fn prefixes(&self) -> [&'static str; 3] {
        if self.has_processes {
            [
                "tlp_prefixes = true\niommu_pasids = \"1, 3\"\n",
                "tlp_prefixes = true\n",
                "pasid_width = 2\npasid_execute = true\npasid_privileged = true\n",
            ]
        } else {
            [""; 3]
        }
    }

    /// An incident at a switch, a device or the reflector.
    fn retraining(&self, Retraining { node, at, lines }: &Retraining) -> String {
        let (switches, devices) = (self.switches.len(), self.devices.len());
        let node = match node.index(switches + devices + 1) {
            number if number < switches => format!("s{number}"),
            number if number < switches + devices => format!("d{}", number - switches),
            _ => "r".to_owned(),
        };
        format!("[[incidents]]\nat = \"{at} ns\"\nnode = \"{node}\"\n{lines}")
    }

    /// The lines of the upstream link of a node below the host or below one of the first `switches` switches.
    fn node(&self, node: &Node, switches: usize) -> String {
        let (above, socket) = match node.above.0.index(switches + 1) {
            0 => {
                let socket = node.above.1.index(self.host.sockets as usize);
                let quadrant = node.above.1.index(self.host.quadrants as usize);
                let place = format!(", socket = {socket}, quadrant = {quadrant}");
                ("h0".to_owned(), place)
            }
            number => (format!("s{}", number - 1), String::new()),
        };
        let link = node.link.map_or_else(String::new, |(generation, lanes)| {
            format!(", generation = {generation}, lanes = {lanes}")
        });
        format!(
            "upstream = {{ to = \"{above}\"{link}{socket} }}\n{}",
            node.port
        )
    }

    /// The lines of a flow; `None` if both ends are the same.
    fn flow(&self, flow: &Flow) -> Option<String> {
        let devices = self.devices.len();
        let (from, to) = (flow.from.index(devices + 1), flow.to.index(devices + 2));
        if from == to {
            return None;
        }
        let name = |number: usize| match number {
            number if number == devices => "h0".to_owned(),
            number if number > devices => "r".to_owned(),
            number => format!("d{number}"),
        };
        let ends = format!(
            "[[flows]]\nfrom = \"{}\"\nto = \"{}\"\n",
            name(from),
            name(to)
        );
        let functions = self.devices.get(from).map(Device::virtual_functions);
        let function = functions.map(|more| flow.function.index(more + 1));
        let is_engine = from < devices && self.devices[from].engine.is_some();
        Some(
            ends + &if is_engine {
                flow.transfer()
            } else {
                let function =
                    function.map_or(String::new(), |number| format!("function = {number}\n"));
                flow.lines(from == devices, to > devices) + &flow.mark.1 + &function
            } + &flow.mark.0
                + if self.has_processes && from < devices {
                    &flow.process
                } else {
                    ""
                },
        )
    }
}

impl Flow {
    /// The lines of a flow that a driver moves.
    fn transfer(&self) -> String {
        let direction = ["write", "read"][self.direction.index(2)];
        let size = match self.amount {
            Amount::Count(count) => count,
            Amount::Size(size) => size,
            Amount::Window => 4096,
        };
        let (start, request) = self.transfer;
        let request = request.filter(|_| direction == "write");
        format!("direction = \"{direction}\"\nsize = \"{size} B\"\n")
            + &line("start", start, " us")
            + &line("request_size", request, " B")
    }

    /// The lines of a flow by a host or by an engine without a driver.
    fn lines(&self, by_host: bool, to_reflector: bool) -> String {
        let third = if to_reflector { "round-trip" } else { "both" };
        let direction = ["write", "read", third][self.direction.index(3)];
        let amount = match self.amount {
            Amount::Size(size) if direction != "round-trip" => format!("size = \"{size} B\"\n"),
            Amount::Window if direction != "round-trip" => {
                "duration = \"8 us\"\nwindow = \"4 KiB\"\n".to_owned()
            }
            Amount::Count(count) => format!("count = {count}\n"),
            Amount::Size(_) | Amount::Window => "count = 60\n".to_owned(),
        };
        let request = if by_host {
            self.request.min(64)
        } else {
            self.request
        };
        format!("direction = \"{direction}\"\nrequest_size = \"{request} B\"\n{amount}")
            + &line("interval", self.interval, " ns")
    }
}

/// `key = "VALUE UNIT"` if there is a value.
fn line(key: &str, value: Option<u32>, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{key} = \"{value}{unit}\"\n"))
}

/// A line with one of these values for the key. Shrinking chooses the first value, and then no line, so that the key has its default.
fn setting(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    weighted(0.9, select(values))
        .prop_map(move |value| value.map_or_else(String::new, |value| format!("{key} = {value}\n")))
}

/// Like [`setting`]: a line whose value is one of these multiples of `unit` bytes.
fn multiple(key: &'static str, unit: u32, of: &'static [u32]) -> impl Strategy<Value = String> {
    weighted(0.9, select(of)).prop_map(move |factor| {
        factor.map_or_else(String::new, |factor| {
            format!("{key} = \"{} B\"\n", unit * factor)
        })
    })
}

/// Buffer sizes from a single packet to many packets.
fn port() -> impl Strategy<Value = String> {
    select(&[512, 256, 128][..]).prop_flat_map(|payload| {
        let headers = &["127", "64", "8", "3", "2", "1", "1"];
        let data = &[32, 5, 2, 1, 1];
        let lines = (
            setting("posted_headers", headers),
            setting("nonposted_headers", headers),
            setting("completion_headers", headers),
            multiple("posted_data", payload, data),
            multiple("completion_data", payload, data),
            multiple("replay_buffer", payload + 32, &[32, 3, 1, 1]),
            setting("update_fc_share", &["0.0", "0.1", "0.5", "1.0"]),
            setting("ack_limit_fraction", &["0.0", "0.3", "1.0"]),
            weighted(0.3, select(&[50, 900][..])),
            weighted(0.4, select(&[300, 4000][..])),
        );
        lines.prop_map(move |(a, b, c, d, e, f, g, h, l0s, l1)| {
            format!("max_payload_supported = \"{payload} B\"\n")
                + &[a, b, c, d, e, f, g, h].concat()
                + &line("l0s_exit_latency", l0s, " ns")
                + &line("l1_exit_latency", l1, " ns")
                + &line("l1_entry_time", l1, " ns")
        })
    })
}

fn node() -> impl Strategy<Value = Node> {
    let generation_and_lanes = (1_u32..=5, select(&[1, 4, 12, 16][..]));
    let link = weighted(0.33, generation_and_lanes);
    (any::<(Index, Index)>(), link, port()).prop_map(|(above, link, port)| Node {
        above,
        link,
        port,
    })
}

/// The ASPM states that firmware enables.
const ACTIVE_STATES: [&str; 4] = [
    "",
    "aspm_l0s = true\n",
    "aspm_l1 = true\n",
    "aspm_l0s = true\naspm_l1 = true\n",
];

fn host() -> impl Strategy<Value = Host> {
    let lines = (
        setting("read_completion_boundary", &[r#""64 B""#, r#""128 B""#]),
        setting(
            "largest_completion",
            &[r#""4096 B""#, r#""256 B""#, r#""128 B""#],
        ),
        setting(
            "memory_bandwidth",
            &[r#""100 GB/s""#, r#""25 GB/s""#, r#""1 GB/s""#],
        ),
        setting("memory_read_jitter", &[r#""0 ns""#, r#""200 ns""#]),
        setting("writes_per_ownership", &["0", "1", "3"]),
        setting("tags", &["32", "4", "1"]),
        setting(
            "socket_latency",
            &[r#""0 ns""#, r#""30 ns""#, r#""700 ns""#],
        ),
        setting("socket_bandwidth", &[r#""20.8 GB/s""#, r#""500 MB/s""#]),
        iommu(),
        setting(
            "largest_peer_payload",
            &[r#""4096 B""#, r#""128 B""#, r#""64 B""#],
        ),
        setting("interrupt_masking", &["false", "true"]),
        (select(&ACTIVE_STATES[..]), quadrants())
            .prop_map(|(states, limits)| states.to_owned() + &limits),
    );
    // The memory is so small that flows use the shares of several sockets.
    let memory = "memory = \"1 MiB\"\n";
    let parts = (select(&[1, 1, 2, 3, 8][..]), select(&[1, 1, 2, 4, 16][..]));
    (parts, port(), lines, enables()).prop_map(
        move |((sockets, quadrants), port, (a, b, c, d, e, f, g, h, i, j, k, l), enables)| Host {
            sockets,
            quadrants,
            lines: format!("sockets = {sockets}\nquadrants = {quadrants}\n{memory}{port}{enables}")
                + &[a, b, c, d, e, f, g, h, i, j, k, l].concat(),
        },
    )
}

/// The limits of quadrants, of packets between them and between sockets, and of writes to several targets.
fn quadrants() -> impl Strategy<Value = String> {
    let lines = (
        setting(
            "quadrant_bandwidth",
            &[r#""none""#, r#""20 GB/s""#, r#""400 MB/s""#],
        ),
        setting(
            "quadrant_latency",
            &[r#""0 ns""#, r#""10 ns""#, r#""900 ns""#],
        ),
        setting("quadrant_peer_bandwidth", &[r#""none""#, r#""300 MB/s""#]),
        setting("socket_peer_bandwidth", &[r#""none""#, r#""300 MB/s""#]),
        setting(
            "write_response_latency",
            &[r#""none""#, r#""0 ns""#, r#""150 ns""#],
        ),
    );
    lines.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
}

/// An IOMMU with a small translation cache, few concurrent walks and software that invalidates translations; or no IOMMU.
fn iommu() -> impl Strategy<Value = String> {
    let lines = (
        setting("iommu_page", &[r#""4 KiB""#, r#""64 KiB""#, r#""1 GiB""#]),
        setting("iommu_requests", &["0", "3", "1"]),
        setting("iotlb_entries", &["64", "8", "4"]),
        setting("walkers", &["8", "2", "1"]),
        setting("walk_cache_entries", &["0", "2", "8"]),
        setting("pretranslate", &["false", "true"]),
        setting(
            "invalidate_after",
            &[r#""100 kB""#, r#""5 kB""#, r#""100 B""#],
        ),
        setting("invalidation_scope", &[r#""pages""#, r#""function""#]),
        setting("invalidation_interval", &[r#""9 us""#, r#""200 ns""#]),
    );
    let lines = lines.prop_map(|(a, b, c, d, e, f, g, h, i)| {
        "iommu = true\n".to_owned() + &[a, b, c, d, e, f, g, h, i].concat()
    });
    weighted(0.4, lines).prop_map(Option::unwrap_or_default)
}

fn switch(acs_redirect: bool) -> impl Strategy<Value = Switch> {
    let queue = &[r#""0 B""#, r#""100 B""#, r#""1 KiB""#, r#""64 KiB""#];
    let lines = (
        weighted(0.25, Just(())),
        setting("store_for_faster_links", &["false", "true"]),
        setting("output_queue", queue),
        setting("acs_source_validation", &["false", "true"]),
        any::<bool>(),
        setting("ari_forwarding", &["true", "false"]),
    );
    let lines = lines.prop_map(move |(stores, faster, queue, validates, completions, ari)| {
        let completions = acs_redirect && completions;
        format!(
            "cut_through = {}\nacs_redirect = {acs_redirect}\nacs_upstream_forwarding = {acs_redirect}\nacs_completion_redirect = {completions}\n{faster}{queue}{validates}{ari}",
            stores.is_none()
        )
    });
    (node(), lines).prop_map(|(node, lines)| Switch { node, lines })
}

fn device() -> impl Strategy<Value = Device> {
    let latency = weighted(0.7, select(&[37, 500][..])).prop_map(|latency| {
        line("send_latency", latency, " ns") + &line("receive_latency", latency, " ns")
    });
    let lines = (
        setting("tags", &["32", "300", "2", "1"]),
        setting("send_queue", &["32", "2", "1"]),
        setting("bar_address_bits", &["64", "32"]),
        setting("datapath", &[r#""0 B""#, r#""16 B""#]),
        setting(
            "max_read_request",
            &[r#""512 B""#, r#""128 B""#, r#""4096 B""#],
        ),
        weighted(0.9, any::<Index>()),
        setting("receive_datapath", &[r#""0 B""#, r#""32 B""#]),
        setting("receive_idle_cycles", &["0", "2"]),
        setting("completion_buffer", &[r#""1 MiB""#, r#""1000 B""#]),
        setting("completion_buffer_headers", &["1000", "9"]),
        (latency, weighted(0.33, select(&[3, 200][..]))),
    );
    (node(), lines, weighted(0.33, engine()), enables()).prop_map(
        |(node, (a, b, c, d, e, functions, g, h, i, j, (k, vectors)), engine, enables)| Device {
            node,
            functions,
            lines: "bar = \"256 KiB\"\n".to_owned()
                + &enables
                + &[a, b, c, d, e, g, h, i, j, k].concat()
                + &vectors.map_or(String::new(), |vectors| {
                    format!("msix_vectors = {vectors}\nmsix_bar = 4\n")
                }),
            engine,
        },
    )
}

fn engine() -> impl Strategy<Value = String> {
    let lines = (
        setting("descriptor_fetch", &["false", "true"]),
        setting("descriptor_cycles", &["0", "5", "100"]),
        setting("fifo", &[r#""64 KiB""#, r#""7 KiB""#, r#""4 KiB""#]),
        setting("outstanding_reads", &["32", "2", "1"]),
        setting("fetch_size", &[r#""4096 B""#, r#""64 B""#, r#""16 B""#]),
    );
    lines.prop_map(|(a, b, c, d, e)| "model = \"sg-dma\"\n".to_owned() + &[a, b, c, d, e].concat())
}

fn flow() -> impl Strategy<Value = Flow> {
    let amount = prop_oneof![
        (1_u32..=60).prop_map(Amount::Count),
        (1_u32..=20_000).prop_map(Amount::Size),
        Just(Amount::Window),
    ];
    let transfer = (
        weighted(0.33, Just(3)),
        weighted(0.5, (1_u32..=32).prop_map(|dwords| 4 * dwords)),
    );
    let interval = weighted(0.5, select(&[100, 1000][..]));
    (
        any::<(Index, Index, Index, Index)>(),
        amount,
        1_u32..=128,
        interval,
        transfer,
        (mark(), process()),
    )
        .prop_map(
            |(
                (from, to, direction, function),
                amount,
                request,
                interval,
                transfer,
                (mark, process),
            )| Flow {
                from,
                to,
                direction,
                amount,
                request,
                interval,
                function,
                transfer,
                mark,
                process,
            },
        )
}

/// The lines of attributes and of the traffic class of a flow.
fn mark() -> impl Strategy<Value = (String, String)> {
    let attributes = (
        setting("relaxed_ordering", &["false", "true"]),
        setting("id_ordering", &["false", "true"]),
        setting("no_snoop", &["false", "true"]),
    );
    let class = setting("traffic_class", &["0", "0", "1", "7"]);
    (attributes, class).prop_map(|((a, b, c), class)| (a + &b + &c, class))
}

/// The lines of the PASID prefix of a flow.
fn process() -> impl Strategy<Value = String> {
    let permissions = (
        setting("execute_requested", &["false", "true"]),
        setting("privileged_requested", &["false", "true"]),
    );
    let lines = (select(&[1, 3][..]), permissions)
        .prop_map(|(pasid, (a, b))| format!("pasid = {pasid}\n") + &a + &b);
    weighted(0.7, lines).prop_map(Option::unwrap_or_default)
}

/// Lines for the enable bits of attributes, and for 10-bit tag completer support.
fn enables() -> impl Strategy<Value = String> {
    let lines = (
        setting("relaxed_ordering_enable", &["true", "false"]),
        setting("no_snoop_enable", &["true", "false"]),
        setting("id_ordering_enable", &["false", "true", "true"]),
        setting("id_ordering_completion_enable", &["false", "true"]),
        setting("ten_bit_tag_completer", &["true", "true", "false"]),
    );
    let lines = lines.prop_map(|(a, b, c, d, e)| a + &b + &c + &d + &e);
    weighted(0.5, lines).prop_map(Option::unwrap_or_default)
}

/// Incidents in which software retrains links, also at the lowest rate, or in which links are restored.
fn retrainings() -> impl Strategy<Value = Vec<Retraining>> {
    let lines = select(
        &[
            "what = \"retrain\"\n",
            "what = \"retrain\"\ngeneration = 1\n",
            "what = \"restore\"\n",
        ][..],
    );
    let one = (any::<Index>(), 0_u32..20_000, lines);
    let one = one.prop_map(|(node, at, lines)| Retraining { node, at, lines });
    weighted(0.4, vec(one, 1..4)).prop_map(Option::unwrap_or_default)
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let head = (
        0_u32..1_000_000,
        setting("generation", &["3", "1", "2", "4", "5"]),
        setting("lanes", &["16", "8", "4", "2", "1"]),
        setting("delay", &[r#""0 ns""#, r#""1 ns""#, r#""30 ns""#]),
        setting("bit_error_rate", &["0.0", "0.0", "1e-7", "1e-6", "1e-5"]),
        setting("sris", &["false", "false", "true"]),
    );
    let head = head.prop_map(|(seed, a, b, c, d, e)| {
        format!("seed = {seed}\n[links]\n") + &[a, b, c, d, e].concat()
    });
    let switches =
        weighted(0.33, Just(())).prop_flat_map(|redirects| vec(switch(redirects.is_some()), 0..4));
    (
        head,
        host(),
        switches,
        vec(device(), 2..6),
        node(),
        vec(flow(), 1..9),
        retrainings(),
        weighted(0.33, Just(())),
    )
        .prop_map(
            |(head, host, switches, devices, reflector, flows, retrainings, processes)| Scenario {
                head,
                host,
                switches,
                devices,
                reflector,
                flows,
                retrainings,
                has_processes: processes.is_some(),
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..cases(85) })]
    #[test]
    fn whatever_is_asked_for_arrives(scenario in scenario()) {
        let mut simulation = simulation(&scenario.text());
        simulation.run(&mut |_| true);
        let result = simulation.result();
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{:?}", flow);
        }
        prop_assert!(result.errors.is_empty(), "{:?}", result.errors);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..cases(40) })]
    #[test]
    fn the_time_of_a_flow_is_what_it_waited_for(scenario in scenario()) {
        let mut simulation = simulation(&scenario.text());
        simulation.watch_waits();
        simulation.run(&mut |_| true);
        let events = simulation.events();
        let result = simulation.result();
        let mut unwatched = self::simulation(&scenario.text());
        unwatched.run(&mut |_| true);
        prop_assert_eq!(unwatched.events(), events);
        prop_assert_eq!(unwatched.now(), simulation.now());
        let waits = result.waits.as_ref().expect("the run was watched");
        prop_assert_eq!(waits.len(), result.flows.len());
        for flow in waits {
            let sum: f64 = flow.shares.iter().map(|share| share.share).sum();
            prop_assert!(flow.shares.is_empty() || (sum - 1.0).abs() < 1e-6, "{flow:?}");
            let unknown = flow.shares.iter().filter(|share| share.cause.kind == "other");
            let unknown: f64 = unknown.map(|share| share.share).sum();
            prop_assert!(unknown <= 0.01, "{flow:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..cases(15) })]
    #[test]
    fn the_number_of_threads_changes_nothing_in_a_tree(mut scenario in scenario(), is_traced: bool) {
        // A run with incidents uses one thread.
        scenario.retrainings.clear();
        prop_assert!(is_the_same_on_threads(&scenario.text(), is_traced));
    }
}

//! Networks with random shapes and parameters: every byte arrives once and unchanged or is reported as lost, and no packet remains.

use std::fmt::Write;
use std::fmt::{self, Debug, Formatter};

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::cases::cases;

/// A network. A failing case shrinks to fewer nodes, fewer flows and fewer lines. The debug output is the text of the scenario.
#[derive(Clone)]
pub(super) struct AnyNetwork {
    head: String,
    shape: Shape,
    /// Routes are adaptive if the shape permits it.
    adaptive: bool,
    channels: u32,
    adaptive_channels: u32,
    router: Router,
    length: &'static str,
    /// The bit error rate of all fibres.
    errors: &'static str,
    cuts: Vec<Cut>,
    flows: Vec<Flow>,
    traffic: Option<Traffic>,
}

#[derive(Clone, Debug)]
enum Shape {
    Regular(&'static str, &'static [usize]),
    /// A tree of routers. The list has, for each router after the first, the earlier router to which it is connected.
    Tree(Vec<Index>),
}

#[derive(Clone, Debug)]
struct Router {
    packet: u64,
    reliable: bool,
    lines: String,
}

/// A cut of the fibre from the router `from` to the next router up the first dimension, with its time.
#[derive(Clone, Debug)]
struct Cut {
    from: Index,
    at_ns: u32,
}

#[derive(Clone, Debug)]
struct Flow {
    from: (Index, bool),
    to: (Index, bool),
    request: Index,
    size: u32,
    interval: &'static str,
    start: &'static str,
}

#[derive(Clone, Debug)]
struct Traffic {
    pattern: Index,
    message: Index,
    lines: String,
}

impl Debug for AnyNetwork {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.text())
    }
}

impl AnyNetwork {
    fn is_adaptive(&self) -> bool {
        self.adaptive && matches!(self.shape, Shape::Regular(..))
    }

    pub(super) fn text(&self) -> String {
        let fibres = format!(
            "length = \"{}\"\nfibre_bit_error_rate = {}",
            self.length, self.errors
        );
        let channels = if self.is_adaptive() {
            self.adaptive_channels
        } else {
            self.channels
        };
        let lines = format!("virtual_channels = {channels}\n{}", self.router.lines);
        let (mut text, names) = match &self.shape {
            Shape::Regular(shape, sides) => {
                let routing = if self.adaptive {
                    "adaptive"
                } else {
                    "dimension-order"
                };
                let net = Net::new(shape, sides)
                    .with_network(&format!("{fibres}\nrouting = \"{routing}\""))
                    .with_routers(&lines);
                let names: Vec<String> = (0..net.nodes()).map(|node| net.name(node)).collect();
                let hosts = names.iter().map(|name| format!("{name}-host")).collect();
                (net.text() + &self.cut_fibres(&names), [names, hosts])
            }
            Shape::Tree(above) => {
                let count = above.len() + 1;
                let mut text = super::routers(count, &format!("fibre_ports = 7\n{lines}"));
                for (node, above) in above.iter().enumerate() {
                    text += &fibre(above.index(node + 1), node + 1, &fibres);
                }
                let names =
                    ["r", "h"].map(|kind| (0..count).map(|node| format!("{kind}{node}")).collect());
                (text, names)
            }
        };
        for (number, flow) in self.flows.iter().enumerate() {
            text += &flow
                .text(number, &names, self.router.packet)
                .unwrap_or_default();
        }
        if let Some(traffic) = &self.traffic {
            text += &traffic.text(&self.shape, self.router.packet);
        }
        self.head.clone() + &text
    }

    /// The `[[fibres]]` sections of the fibres that are cut, one section for each fibre.
    fn cut_fibres(&self, routers: &[String]) -> String {
        let mut text = String::new();
        for cut in &self.cuts {
            let from = &routers[cut.from.index(routers.len())];
            // `to` is the next router up the first dimension. It may not exist.
            let mut parts: Vec<String> = from.split('-').map(str::to_owned).collect();
            let next = parts[1].parse::<usize>().map(|here| here + 1);
            parts[1] = next.expect("names end in numbers").to_string();
            let to = parts.join("-");
            let ends = format!("[[fibres]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
            if routers.contains(&to) && !text.contains(&ends) {
                writeln!(text, "{ends}severed_at = \"{} ns\"", cut.at_ns)
                    .expect("a text takes all");
            }
        }
        text
    }
}

impl Flow {
    /// The `[[flows]]` section, for routers and hosts with these names. There is none if both ends are the same.
    fn text(&self, number: usize, names: &[Vec<String>; 2], packet: u64) -> Option<String> {
        let [from, to] = [self.from, self.to].map(|(node, is_host)| {
            let names = &names[usize::from(is_host)];
            &names[node.index(names.len())]
        });
        let request = 1 + self
            .request
            .index(if self.from.1 { 64 } else { packet as usize });
        let lines = format!(
            "size = \"{} B\"\nrequest_size = \"{request} B\"\ninterval = \"{}\"\nstart = \"{}\"",
            self.size, self.interval, self.start
        );
        (from != to).then(|| flow(&format!("f{number}"), from, to, &lines))
    }
}

impl Traffic {
    fn text(&self, shape: &Shape, packet: u64) -> String {
        let patterns = ["uniform", "hot-spot", "neighbour", "tornado"];
        let (network, patterns) = match shape {
            Shape::Tree(_) => ("r0", &patterns[..2]),
            Shape::Regular(..) => ("n", &patterns[..]),
        };
        let pattern = patterns[self.pattern.index(patterns.len())];
        let message = 1 + self.message.index(packet as usize);
        format!(
            "[[traffic]]\nid = \"t\"\nnetwork = \"{network}\"\npattern = \"{pattern}\"\nmessage = \"{message} B\"\nduration = \"3 us\"\n{}",
            self.lines
        )
    }
}

/// A line with the key and one of these values. A failing case shrinks to the first value.
fn setting(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(values).prop_map(move |value| format!("{key} = {value}\n"))
}

fn shape() -> impl Strategy<Value = Shape> {
    const LINES: [&[usize]; 5] = [&[2], &[3], &[4], &[5], &[8]];
    const GRIDS: [&[usize]; 8] = [
        &[4],
        &[2, 2],
        &[3, 3],
        &[4, 2],
        &[1, 5],
        &[4, 4],
        &[2, 3, 2],
        &[3, 3, 3],
    ];
    let regular = |shape, sides: &'static [&'static [usize]]| {
        select(sides).prop_map(move |sides| Shape::Regular(shape, sides))
    };
    prop_oneof![
        1 => regular("ring", &LINES),
        1 => regular("mesh", &GRIDS),
        2 => regular("torus", &GRIDS),
        1 => select(&[0_usize, 1, 2, 4][..]).prop_flat_map(|more| vec(any::<Index>(), more)).prop_map(Shape::Tree),
    ]
}

fn router() -> impl Strategy<Value = Router> {
    let packet = select(&[128_u64, 200, 256, 1000, 1536][..]);
    (select(&[1_u64, 2, 4, 8][..]), packet, weighted(0.33, Just(()))).prop_flat_map(|(width, packet, reliable)| {
        let reliable = reliable.is_some();
        let payloads: &[u32] = if packet < 256 { &[128] } else { &[128, 256] };
        // The smallest buffer has space for one packet.
        let least = cycles(packet + 16, width) * 8 * width;
        let buffers = (select(&[10_u64, 2, 1, 1][..]), select(&[20_u64, 3, 1][..]), select(payloads));
        let cycles = &["0", "1", "13", "60"];
        let lines = (
            setting("lane_rate", &[r#""10000 Mbit/s""#, r#""1000 Mbit/s""#, r#""25000 Mbit/s""#]),
            setting("retransmission_buffer", &[r#""64 KiB""#, r#""4 KiB""#, r#""1 KiB""#]),
            setting("clock_compensation", &["false", "true"]),
            setting("credit_cycles", &["0", "1"]),
            setting("forward_cycles", cycles),
            setting("deliver_cycles", cycles),
            setting("local_width", &["1", "2", "5"]),
            setting("arbitration", &[r#""transit-first""#, r#""round-robin""#, r#""oldest-first""#]),
            setting("core_latency", &[r#""0 ns""#, r#""41 ns""#, r#""292 ns""#]),
        );
        (buffers, lines).prop_map(move |((buffer, injection, payload), (a, b, c, d, e, f, g, h, i))| {
            let (buffer, injection) = ((least * buffer).max(64), (least * injection).max(64));
            let lines = format!(
                "optical_lanes = {width}\npacket_size = \"{packet} B\"\nchannel_buffer = \"{buffer} B\"\ninjection_buffer = \"{injection} B\"\nmax_payload_supported = \"{payload} B\"\nreliable = {reliable}\nbar = \"64 KiB\"\n"
            ) + &[a, b, c, d, e, f, g, h, i].concat();
            Router { packet, reliable, lines }
        })
    })
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let end = || any::<(Index, bool)>();
    let interval = select(&["0 ns", "0 ns", "100 ns"][..]);
    let start = select(&["0 us", "0 us", "2 us"][..]);
    (
        end(),
        end(),
        any::<Index>(),
        1_u32..=12_000,
        interval,
        start,
    )
        .prop_map(|(from, to, request, size, interval, start)| Flow {
            from,
            to,
            request,
            size,
            interval,
            start,
        })
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let ends = &[r#""routers""#, r#""hosts""#];
    let lines = (
        setting("from", ends),
        setting("to", ends),
        setting("arrivals", &[r#""even""#, r#""poisson""#]),
        setting("load", &[r#""50 MB/s""#, r#""500 MB/s""#, r#""4000 MB/s""#]),
    );
    (any::<(Index, Index)>(), lines).prop_map(|((pattern, message), (a, b, c, d))| Traffic {
        pattern,
        message,
        lines: [a, b, c, d].concat(),
    })
}

/// A random network. If `rough` is set, networks with reliable fibres and networks without have bit errors and cut fibres.
pub(super) fn network(rough: bool) -> impl Strategy<Value = AnyNetwork> {
    let head = (
        0_u32..1_000_000,
        setting("generation", &["3", "1"]),
        setting("lanes", &["8", "4", "1"]),
    )
        .prop_map(|(seed, generation, lanes)| {
            format!("seed = {seed}\n[links]\n{generation}{lanes}")
        });
    let cuts = (any::<Index>(), 1_u32..=20_000).prop_map(|(from, at_ns)| Cut { from, at_ns });
    let parts = (
        head,
        shape(),
        weighted(0.33, Just(())),
        select(&[2_u32, 2, 3, 4][..]),
        select(&[3_u32, 4, 6][..]),
        router(),
        select(&["0 m", "2 m", "100 m"][..]),
        any::<Index>(),
        vec(cuts, if rough { 0..4 } else { 0..1 }),
        vec(any_flow(), 1..13),
        weighted(0.33, traffic()),
    );
    parts.prop_map(
        move |(
            head,
            shape,
            adaptive,
            channels,
            adaptive_channels,
            router,
            length,
            errors,
            cuts,
            flows,
            traffic,
        )| {
            let rates: &[&str] = match (rough, router.reliable) {
                (true, _) => &["0.0", "1e-6", "1e-5", "1e-4"],
                (false, true) => &["0.0", "1e-7", "1e-6", "1e-5"],
                (false, false) => &["0.0"],
            };
            AnyNetwork {
                head,
                shape,
                adaptive: adaptive.is_some(),
                channels,
                adaptive_channels,
                errors: rates[errors.index(rates.len())],
                router,
                length,
                cuts,
                flows,
                traffic,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..cases(170) })]
    #[test]
    fn whatever_is_sent_through_a_network_arrives(network in network(false)) {
        let text = network.text();
        let (simulation, result) = run_to_silence(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{:?}", flow);
        }
        for traffic in &result.traffic {
            prop_assert!(traffic.completed && traffic.intact, "{:?}", traffic);
        }
        prop_assert!(result.errors.is_empty(), "{:?}", result.errors);
        assert_nothing_is_held(&simulation, &text);
    }

    #[test]
    fn what_does_not_arrive_over_bad_and_cut_fibres_is_told(network in network(true)) {
        let text = network.text();
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        let plan = simulation.plan().clone();
        let is_adaptive = network.is_adaptive();
        let is_cut = plan.fibres.iter().any(|fibre| fibre.severed_at.is_some());
        // Around a cut fibre, packets do not follow the order of dimensions, so they may deadlock.
        let may_stand_still = is_adaptive && is_cut;
        let mut sure = true;
        for flow in &result.flows {
            prop_assert!(flow.completed || may_stand_still, "{:?} {:?}", flow, result.errors);
            sure &= flow.intact;
        }
        for traffic in &result.traffic {
            prop_assert!(traffic.completed || may_stand_still, "{:?} {:?}", traffic, result.errors);
            sure &= traffic.intact;
        }
        let known = ["bit errors on a fibre", "severed fibre", "unacknowledged on a severed fibre"];
        prop_assert!(result.errors.iter().all(|error| known.contains(&error.what)), "{:?}", result.errors);
        // Unacknowledged packets are reported even if they have arrived, so they are not counted as losses.
        let losses = result.errors.iter().filter(|error| error.what != known[2]).count();
        prop_assert!(sure || !result.errors.is_empty());
        prop_assert!(losses == 0 || !sure, "{:?}", result.errors);
        if result.flows.iter().all(|flow| flow.completed) && result.traffic.iter().all(|one| one.completed) {
            let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(2000).as_fs());
            simulation.run_until(rest, &mut || true);
            assert_nothing_is_held(&simulation, &text);
        }
    }
}

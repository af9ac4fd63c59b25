//! The fabric in which faults happen: two switches, devices of every model but the coherent ones, and perhaps a network to a second host
//! with routers, controllers of network interfaces and an I/O port.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fmt::{self, Debug, Formatter};

use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::fault::is_in_network;
use super::fault::{CABLE, Drawn, FIBRE, Fault, Focus, NODES, What, drawn, focus, placed};

/// The settings of the fabric. A failing case shrinks to a fabric without settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub reports: bool,
    pub stores: bool,
    /// Ports trigger containment also for non-fatal errors.
    pub contains: bool,
    pub network: bool,
    pub sris: bool,
    pub l0s: bool,
    pub ecrc: bool,
    /// Redirect, validation and forwarding of ACS at all downstream ports.
    pub acs: bool,
    /// Egress control of ACS in switches, which lets no packet pass from one device to another.
    pub egress_control: bool,
    /// The number of virtual functions of `a`. If there are any, `a` has MSI-X vectors. If there are 20, they need ARI or a bus of their own.
    pub virtual_functions: u32,
    pub ari_forwarding: bool,
    /// TC7 has its own virtual channel, with arbitration tables.
    pub channels: bool,
    /// The kind of the slots of all nodes below a host.
    pub slot: Option<&'static str>,
    /// Software handles the hot-plug events of the slots.
    pub hot_plug: bool,
    pub l1: bool,
}

impl Settings {
    fn any() -> impl Strategy<Value = Settings> {
        let seldom = || weighted(0.3);
        let first = (
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            seldom(),
            seldom(),
            seldom(),
        );
        let second = (
            seldom(),
            weighted(0.1),
            select(&[0, 0, 3, 20][..]),
            any::<bool>(),
            seldom(),
            select(&[None, None, Some("hot-plug"), Some("surprise")][..]),
            any::<bool>(),
            seldom(),
        );
        (first, second).prop_map(
            |(
                (reports, stores, contains, network, sris, l0s, ecrc),
                (acs, egress_control, virtual_functions, no_ari, channels, slot, hot_plug, l1),
            )| Settings {
                reports,
                stores,
                contains,
                network,
                sris,
                l0s,
                ecrc,
                acs,
                egress_control,
                virtual_functions,
                ari_forwarding: !no_ari,
                channels,
                slot,
                hot_plug,
                l1,
            },
        )
    }

    /// The names of the settings that are on.
    pub fn names(&self) -> Vec<&'static str> {
        let slots = match self.slot {
            Some("hot-plug") => "slots with button and power",
            Some(_) => "slots for surprise removal",
            None => "",
        };
        let functions = match (self.virtual_functions, self.ari_forwarding) {
            (0, _) => "",
            (20, true) => "virtual functions with ARI",
            (20, false) => "virtual functions on the next bus",
            _ => "few virtual functions",
        };
        let all = [
            (self.reports, "error messages"),
            (self.stores, "store and forward"),
            (self.contains, "containment of non-fatal errors"),
            (self.network, "network"),
            (self.sris, "SRIS"),
            (self.l0s, "L0s"),
            (self.l1, "L1"),
            (self.ecrc, "ECRC"),
            (self.acs, "ACS"),
            (self.egress_control, "ACS egress control"),
            (!functions.is_empty(), functions),
            (self.channels, "class maps and VC tables"),
            (!slots.is_empty(), slots),
            (self.hot_plug && !slots.is_empty(), "served slots"),
        ];
        all.into_iter()
            .filter_map(|(is_on, name)| is_on.then_some(name))
            .collect()
    }
}

/// A fabric and its faults. The debug output is the text of the scenario.
#[derive(Clone)]
pub struct Machine {
    pub seed: u32,
    pub settings: Settings,
    pub faults: Vec<Fault>,
}

impl Debug for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}\n{:?}\n{}", self.settings, self.faults, self.text())
    }
}

pub fn machine() -> impl Strategy<Value = Machine> {
    let faults = vec(drawn(), 1..4);
    (any::<u32>(), Settings::any(), faults, focus())
        .prop_map(|(seed, settings, drawn, focus)| Machine::new(seed, settings, &drawn, &focus))
}

impl Machine {
    fn new(seed: u32, settings: Settings, drawn: &[Drawn], focus: &Focus) -> Self {
        let faults = placed(drawn, focus, settings.network);
        let has = |test: fn(&What) -> bool| faults.iter().any(|fault| test(&fault.what));
        // Without ECRC, the damage is not detected.
        let ecrc = settings.ecrc || has(|what| matches!(what, What::Damage(_)));
        let button = has(|what| matches!(what, What::Button(_)));
        let slot = settings.slot.or(button.then_some("hot-plug"));
        let changes_channels = has(|what| matches!(what, What::Channels { .. }));
        let is_virtual = has(|what| {
            matches!(
                what,
                What::FunctionReset {
                    is_virtual: true,
                    ..
                }
            )
        });
        let virtual_functions = match settings.virtual_functions {
            0 if is_virtual => 3,
            number => number,
        };
        let settings = Settings {
            ecrc,
            virtual_functions,
            slot,
            channels: settings.channels || changes_channels,
            ..settings
        };
        Machine {
            seed,
            settings,
            faults,
        }
    }

    pub fn text(&self) -> String {
        let mut text = self.hosts();
        if self.settings.network {
            text += &self.network();
        }
        for node in &NODES {
            if self.settings.network || !is_in_network(node.name) {
                text += &self.node(node.name, node.above);
            }
        }
        text += &self.flows();
        text.extend(self.faults.iter().map(Fault::incidents));
        text
    }

    fn hosts(&self) -> String {
        let s = &self.settings;
        let contained = |fault: &Fault| matches!(fault.what, What::Containment);
        let containment = match (s.contains, self.faults.iter().any(contained)) {
            (true, _) => "non-fatal",
            (false, true) => "fatal",
            (false, false) => "none",
        };
        let map = on(s.channels, "tc_vc_map = \"TC0-5: VC0, TC6-7: VC1\"\n");
        let keys = format!(
            "error_reporting = {}\necrc = {}\ncompletion_timeout = \"200 us\"\ncontainment = \"{containment}\"\nlink_up_wait = \"20 us\"\naspm_l0s = {}\naspm_l1 = {}\n{}{}{}{}",
            s.reports,
            s.ecrc,
            s.l0s,
            s.l1,
            on(s.hot_plug, "hot_plug = true\nattention_wait = \"10 us\"\n"),
            self.port(),
            on(s.acs, "acs_source_validation = true\nacs_redirect = true\n"),
            on(s.channels, TABLES),
        );
        let second = if s.network {
            format!("[hosts.i]\n{keys}")
        } else {
            String::new()
        };
        format!(
            "seed = {}\n[links]\ngeneration = 3\nlanes = 4\nsris = {}\n{map}[hosts.h]\n{keys}{second}[buffers.u]\nhost = \"h\"\nsize = \"64 KiB\"\n",
            self.seed, s.sris
        )
    }

    /// The keys of every port.
    fn port(&self) -> String {
        on(self.settings.l0s, "l0s_exit_latency = \"900 ns\"\n").to_owned()
            + on(
                self.settings.l1,
                "l1_exit_latency = \"2 us\"\nl1_entry_time = \"500 ns\"\n",
            )
            + on(self.settings.channels, "extended_vc_count = 1\n")
    }

    fn network(&self) -> String {
        let keys = |place| {
            let lines = self.link_keys(place).into_iter();
            lines.fold(String::new(), |text, (key, value)| {
                text + &format!("{key} = {value}\n")
            })
        };
        format!(
            "[controllers.x]\nports = 3\n[controllers.y]\n[[cables]]\nfrom = \"x\"\nto = \"y\"\n{}[[fibres]]\nfrom = \"q\"\nto = \"r\"\n{}[io_ports.p]\ncontroller = \"x\"\nowners = [\"h\", \"i\"]\n",
            keys(CABLE),
            keys(FIBRE)
        )
    }

    /// The keys that faults add to a link. If two faults add the same key, the value of the first fault is used.
    fn link_keys(&self, place: &str) -> BTreeMap<&'static str, String> {
        let mut keys = BTreeMap::new();
        for (key, value) in self.faults.iter().filter_map(|fault| fault.link_key(place)) {
            keys.entry(key).or_insert(value);
        }
        keys
    }

    fn node(&self, name: &str, above: &str) -> String {
        let s = &self.settings;
        let is_served = name != "e";
        let section = if ["s", "t"].contains(&name) {
            "switches"
        } else {
            "devices"
        };
        let mut text = format!("[{section}.{name}]\nupstream = {{ to = \"{above}\"");
        for (key, value) in self.link_keys(name) {
            write!(text, ", {key} = {value}").expect("a text takes all");
        }
        // An I/O port has only VC0.
        text += on(s.channels && !is_served, ", tc_vc_map = \"TC0-7: VC0\"");
        text += " }\n";
        if let Some(slot) = s.slot.filter(|_| is_served) {
            writeln!(text, "slot = \"{slot}\"").expect("a text takes all");
        }
        if is_served {
            text += &self.port();
        }
        text + &self.own(name)
    }

    /// The keys of a node without the keys of its port.
    fn own(&self, name: &str) -> String {
        let s = &self.settings;
        let model = |model: &str| format!("model = \"{model}\"\ncompletion_timeout = \"200 us\"\n");
        let class = on(s.channels, "descriptor_traffic_class = 7\n");
        match name {
            "s" | "t" => format!(
                "cut_through = {}\nari_forwarding = {}\n{}{}{}",
                !s.stores,
                s.ari_forwarding,
                on(
                    s.acs,
                    "acs_source_validation = true\nacs_redirect = true\nacs_completion_redirect = true\nacs_upstream_forwarding = true\n"
                ),
                on(s.egress_control, "acs_egress_control = true\n"),
                on(s.channels, TABLES)
            ),
            "n" => model("nvme") + class + "media_read_latency = \"1 us\"\n",
            "g" => model("sg-dma") + class,
            "k" => model("block-dma"),
            "m" => model("nic") + "controller = \"x\"\n",
            "o" => model("nic") + "controller = \"y\"\n",
            "q" | "r" => "model = \"router\"\n".to_owned(),
            "e" => model("dma") + "bar = \"64 KiB\"\nvirtual_functions = 1\n",
            "a" if s.virtual_functions > 0 => {
                let functions = format!("virtual_functions = {}\n", s.virtual_functions);
                model("dma") + "bar = \"64 KiB\"\nmsix_vectors = 4\nmsix_bar = 4\n" + &functions
            }
            _ => model("dma") + "bar = \"64 KiB\"\n",
        }
    }

    fn flows(&self) -> String {
        let s = &self.settings;
        let mut text = String::new();
        let mut add = |flows: &[(&str, &str, &str)], keys: &str| {
            for (from, to, direction) in flows {
                let size = size(from) >> 10;
                let number = text.matches("[[flows]]").count();
                write!(
                    text,
                    "[[flows]]\nid = \"{from}-{to}-{direction}-{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} KiB\"\n{keys}"
                )
                .expect("a text takes all");
            }
        };
        let class = on(s.channels, "traffic_class = 7\n");
        add(
            &[
                ("a", "h", "write"),
                ("a", "h", "read"),
                ("b", "a", "write"),
                ("a", "b", "read"),
                ("h", "a", "write"),
            ],
            "",
        );
        add(&[("c", "a", "read"), ("b", "h", "write")], class);
        add(
            &[
                ("h", "b", "read"),
                ("n", "h", "write"),
                ("n", "h", "read"),
                ("g", "h", "read"),
                ("g", "h", "write"),
            ],
            "",
        );
        let late = format!("start = \"400 us\"\n{class}");
        add(&[("a", "h", "read"), ("h", "c", "write")], &late);
        if s.virtual_functions > 0 {
            let last = format!("function = {}\n", s.virtual_functions);
            add(&[("a", "h", "write")], "function = 1\n");
            add(&[("a", "h", "read")], &last);
        }
        if s.network {
            add(
                &[
                    ("r", "h", "write"),
                    ("q", "i", "write"),
                    ("h", "e", "read"),
                    ("e", "h", "read"),
                ],
                "",
            );
            add(&[("e", "i", "write")], "function = 1\n");
            text += "[[flows]]\nid = \"m-o\"\nfrom = \"m\"\nto = \"o\"\nsize = \"16 KiB\"\n";
            text += "[[flows]]\nid = \"o-m\"\nfrom = \"o\"\nto = \"m\"\nsize = \"16 KiB\"\n";
        }
        text + "[[accesses]]\nby = \"k\"\nbuffer = \"u\"\nkind = \"write\"\nsize = \"256 B\"\ncount = 20\ndriven = \"program\"\ncompletion = \"interrupt\"\n"
    }
}

/// The size in bytes of a flow from `from`.
pub fn size(from: &str) -> u64 {
    if from == "h" { 2 << 10 } else { 16 << 10 }
}

const TABLES: &str = "vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"(0 0 0 1)*8\"\nport_arbitration = \"wrr-32\"\nport_arbitration_table = \"(1 0 0 1)*8\"\n";

fn on(is_on: bool, text: &str) -> &str {
    if is_on { text } else { "" }
}

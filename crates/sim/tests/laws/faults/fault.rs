//! Faults of a fabric of [`super::machine`]: their kinds, places and times.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

/// A node with a link above it: its name, the node above, and the kinds of the ports at the upper and at the lower end.
pub struct Node {
    pub name: &'static str,
    pub above: &'static str,
    pub ports: (&'static str, &'static str),
}

const fn node(
    name: &'static str,
    above: &'static str,
    ports: (&'static str, &'static str),
) -> Node {
    Node { name, above, ports }
}

/// The nodes below hosts and I/O ports. The last five are there with a network only.
pub const NODES: [Node; 13] = [
    node("s", "h", ("root port", "switch upstream")),
    node("t", "s", ("switch downstream", "switch upstream")),
    node("a", "t", ("switch downstream", "endpoint")),
    node("b", "s", ("switch downstream", "endpoint")),
    node("c", "h", ("root port", "endpoint")),
    node("n", "s", ("switch downstream", "nvme")),
    node("g", "t", ("switch downstream", "sg-dma")),
    node("k", "s", ("switch downstream", "block-dma")),
    node("m", "t", ("switch downstream", "nic")),
    node("o", "i", ("root port", "nic")),
    node("q", "s", ("switch downstream", "router")),
    node("r", "i", ("root port", "router")),
    node("e", "p", ("I/O port", "endpoint")),
];

/// The links of the network: the fibre between routers, and the cable between controllers.
pub const FIBRE: &str = "fibre";
pub const CABLE: &str = "cable";

const NETWORK: [&str; 7] = ["m", "o", "q", "r", "e", FIBRE, CABLE];

/// Whether a place exists only in a fabric with a network.
pub fn is_in_network(place: &str) -> bool {
    NETWORK.contains(&place)
}

/// A fault at a node, at a time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub what: What,
    pub node: &'static str,
    pub at: u32,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A range of bytes of a memory becomes poisoned: the first byte, and the number of bytes.
    Memory(u32, u32),
    /// The data of the next packets becomes poisoned: the number of packets.
    Packets(u32),
    /// A range of bytes of a device becomes inaccessible: the first byte, and the number of bytes.
    Inaccessible(u32, u32),
    /// A switch damages the data of this number of packets, which the LCRC does not detect.
    Damage(u32),
    /// The link above the node has bit errors.
    BitErrors,
    /// The link above the node loses lanes and its higher rates, and recovers them after this time.
    Degrade(u32),
    /// Software retrains the link above the node; if true, at the lowest rate.
    Retrain(bool),
    /// The node is removed, and inserted again after this time if there is one.
    Removal(Option<u32>),
    /// Software sets Secondary Bus Reset of the port above the node.
    BusReset,
    /// Software triggers containment at the port above the node.
    Containment,
    /// Software disables the link above the node, and enables it again after this time.
    Disable(u32),
    /// The link above the node fails permanently.
    Failure,
    /// The host resets a function of the node, and notifies the driver of the function if `tells` is set.
    FunctionReset { is_virtual: bool, tells: bool },
    /// The attention button of the slot of the node is pressed, and pressed again after this time if there is one.
    Button(Option<u32>),
    /// Software maps these traffic classes to VC1 at the lower or upper end of the link above the node, and enables or disables the channel. After
    /// `for_ns`, software sets up the channels of both ends again.
    Channels {
        is_lower: bool,
        classes: u8,
        is_enabled: bool,
        for_ns: u32,
    },
}

/// The names of the kinds of faults, which [`What::name`] returns.
pub const NAMES: [&str; 15] = [
    "poisoned memory",
    "poisoned packets",
    "completer abort",
    "damage",
    "bit errors",
    "degrade",
    "retrain",
    "removal",
    "bus reset",
    "containment",
    "disabled link",
    "failing link",
    "function reset",
    "attention button",
    "changed channels",
];

impl What {
    pub fn name(self) -> &'static str {
        NAMES[match self {
            What::Memory(..) => 0,
            What::Packets(..) => 1,
            What::Inaccessible(..) => 2,
            What::Damage(..) => 3,
            What::BitErrors => 4,
            What::Degrade(..) => 5,
            What::Retrain(..) => 6,
            What::Removal(..) => 7,
            What::BusReset => 8,
            What::Containment => 9,
            What::Disable(..) => 10,
            What::Failure => 11,
            What::FunctionReset { .. } => 12,
            What::Button(..) => 13,
            What::Channels { .. } => 14,
        }]
    }

    /// The names of the variants of the fault within its kind.
    pub fn variants(self) -> Vec<&'static str> {
        let (first, second) = match self {
            What::Removal(back) => (back.map(|_| "and insertion"), None),
            What::Button(again) => (again.map(|_| "twice"), None),
            What::Retrain(lowest) => (lowest.then_some("at the lowest rate"), None),
            What::FunctionReset { is_virtual, tells } => (
                is_virtual.then_some("of a virtual function"),
                tells.then_some("with drivers"),
            ),
            _ => (None, None),
        };
        first.into_iter().chain(second).collect()
    }

    /// The places where the fault can happen.
    fn places(self) -> Vec<&'static str> {
        let nodes = NODES.iter().map(|node| node.name);
        // No software manages the device below an I/O port.
        let served = nodes.clone().filter(|name| *name != "e");
        let devices = served.clone().filter(|name| !["s", "t"].contains(name));
        match self {
            What::Memory(..) => vec!["h", "a", "b", "c"],
            What::Packets(..) => vec!["h", "a", "b", "c", "n", "g", "k", "m", "e"],
            What::Inaccessible(..) => vec!["a", "b", "c", "e"],
            What::Damage(..) => vec!["s", "t"],
            What::BitErrors | What::Failure => nodes.chain([FIBRE, CABLE]).collect(),
            What::Degrade(..) | What::Removal(..) => nodes.collect(),
            What::FunctionReset { .. } => devices.collect(),
            What::Retrain(..)
            | What::BusReset
            | What::Containment
            | What::Disable(..)
            | What::Channels { .. }
            | What::Button(..) => served.collect(),
        }
    }

    fn any() -> impl Strategy<Value = What> {
        let (offset, size) = (|| 0_u32..59_000, || 1_u32..6_000);
        prop_oneof![
            3 => (offset(), size()).prop_map(|(offset, size)| What::Memory(offset, size)),
            3 => (1_u32..5).prop_map(What::Packets),
            3 => (offset(), size()).prop_map(|(offset, size)| What::Inaccessible(offset, size)),
            3 => (1_u32..4).prop_map(What::Damage),
            3 => Just(What::BitErrors),
            3 => (0_u32..12_000).prop_map(What::Degrade),
            3 => any::<bool>().prop_map(What::Retrain),
            4 => option::of(1_u32..40_000).prop_map(What::Removal),
            4 => Just(What::BusReset),
            4 => Just(What::Containment),
            3 => (0_u32..12_000).prop_map(What::Disable),
            3 => Just(What::Failure),
            4 => any::<(bool, bool)>().prop_map(|(is_virtual, tells)| What::FunctionReset { is_virtual, tells }),
            3 => option::of(1_u32..60_000).prop_map(What::Button),
            3 => (any::<(bool, u8, bool)>(), 0_u32..30_000).prop_map(|((is_lower, classes, is_enabled), for_ns)| {
                What::Channels { is_lower, classes: classes & 0xfe, is_enabled, for_ns }
            }),
        ]
    }
}

/// A fault as drawn at random: its kind, an index into the places of the kind, and its time in nanoseconds.
pub type Drawn = (What, Index, u32);

pub fn drawn() -> impl Strategy<Value = Drawn> {
    (What::any(), any::<Index>(), 0_u32..12_000)
}

/// A common place and a common time of the faults, with an additional time for each fault. Every fault that can happen at the place moves to the
/// place. So several faults happen at one port at one time, or a fault happens while software restores what an earlier fault has reset.
pub type Focus = Option<(Index, u32, Vec<u32>)>;

pub fn focus() -> impl Strategy<Value = Focus> {
    let after = prop_oneof![Just(0_u32), 1_u32..200, 1_u32..60_000];
    option::of((
        any::<Index>(),
        0_u32..12_000,
        proptest::collection::vec(after, 4),
    ))
}

/// The drawn faults after adjustment: each fault is at a place where its kind can happen, and each node is removed at most once.
pub fn placed(drawn: &[Drawn], focus: &Focus, has_network: bool) -> Vec<Fault> {
    let there = |place: &&str| has_network || !is_in_network(place);
    let names = NODES.iter().map(|node| node.name).filter(there);
    let names: Vec<&str> = names.collect();
    let mut taken: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for (number, (what, place, at)) in drawn.iter().enumerate() {
        let places: Vec<&str> = what.places().into_iter().filter(there).collect();
        let (mut node, mut at) = (*place.get(&places), *at);
        if let Some((focus, from, after)) = focus {
            let there = *focus.get(&names);
            at = from + after[number];
            if places.contains(&there) {
                node = there;
            }
        }
        let mut what = *what;
        match &mut what {
            What::Removal(_) if taken.contains(&node) => continue,
            What::Removal(back) => {
                taken.push(node);
                back.take_if(|_| node == "e");
            }
            What::FunctionReset { is_virtual, tells } => {
                *is_virtual &= node == "a";
                *tells &= ["n", "g", "k"].contains(&node);
            }
            _ => {}
        }
        faults.push(Fault { what, node, at });
    }
    faults
}

impl Fault {
    /// The `[[incidents]]` entries of the fault. A fault that is a key of a link has no entry.
    pub fn incidents(&self) -> String {
        let Fault { what, node, at } = *self;
        let entry = |at: u32, what: &str, keys: &str| {
            format!("[[incidents]]\nat = \"{at} ns\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{keys}")
        };
        let range = |offset, size| format!("offset = \"{offset} B\"\nsize = \"{size} B\"\n");
        let count = |count| format!("count = {count}\n");
        match what {
            What::Memory(offset, size) => entry(at, "poison", &range(offset, size)),
            What::Packets(number) => entry(at, "poison", &count(number)),
            What::Inaccessible(offset, size) => entry(at, "completer-abort", &range(offset, size)),
            What::Damage(number) => entry(at, "damage", &count(number)),
            What::Degrade(for_ns) => {
                entry(at, "degrade", "lanes = 1\ngeneration = 2\n")
                    + &entry(at + for_ns, "restore", "")
            }
            What::Retrain(lowest) => {
                entry(at, "retrain", if lowest { "generation = 1\n" } else { "" })
            }
            What::Removal(back) => {
                let back = back.map(|back| entry(at + back, "insertion", "wait = \"20 us\"\n"));
                entry(at, "surprise-removal", "") + &back.unwrap_or_default()
            }
            What::Containment => entry(at, "containment", ""),
            What::Disable(for_ns) => {
                entry(at, "disable-link", "") + &entry(at + for_ns, "enable-link", "")
            }
            What::BusReset => entry(at, "secondary-bus-reset", "hold = \"5 us\"\n"),
            What::FunctionReset { is_virtual, tells } => {
                let function = u32::from(is_virtual);
                let keys = format!("function = {function}\nwait = \"150 us\"\ndrivers = {tells}\n");
                entry(at, "function-level-reset", &keys)
            }
            What::Button(again) => {
                let again = again.map(|again| entry(at + again, "attention-button", ""));
                entry(at, "attention-button", "") + &again.unwrap_or_default()
            }
            What::BitErrors | What::Failure | What::Channels { .. } => String::new(),
        }
    }

    /// The key that the fault adds to the link above `node`, to the fibre or to the cable, and its value.
    pub fn link_key(&self, place: &str) -> Option<(&'static str, String)> {
        let failing = if place == FIBRE {
            "severed_at"
        } else {
            "fails_at"
        };
        match self.what {
            _ if self.node != place => None,
            What::BitErrors if place == FIBRE => Some(("fibre_bit_error_rate", "5e-7".to_owned())),
            What::BitErrors => Some(("bit_error_rate", "5e-7".to_owned())),
            What::Failure => Some((failing, format!("\"{} ns\"", self.at))),
            _ => None,
        }
    }
}

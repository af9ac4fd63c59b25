//! Faults of every kind, alone and together, at every kind of port: a run ends, no packet stays behind, and no byte is wrong that nobody
//! has reported.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cases::cases;
use crate::fixture::{Ask, run, simulation};

/// The nodes of the fabric of these laws, with the node above each.
const NODES: [(&str, &str); 7] = [
    ("s", "h"),
    ("t", "s"),
    ("a", "t"),
    ("b", "s"),
    ("c", "h"),
    ("n", "s"),
    ("g", "t"),
];

/// Something that goes wrong.
#[derive(Clone, Debug)]
enum Fault {
    /// Bytes of a memory go bad.
    Memory(&'static str, u32, u32, u32),
    /// The data of the next packets goes bad.
    Packets(&'static str, u32, u32),
    /// Bytes of a device cannot be accessed any more.
    Inaccessible(&'static str, u32, u32, u32),
    /// A switch damages data behind the back of the LCRC.
    Damage(&'static str, u32, u32),
    /// The link above a node has bit errors.
    BitErrors(&'static str),
    /// The link above a node loses lanes and its higher rates, and has them again after this time.
    Degrade(&'static str, u32, u32),
    /// A node is taken out, and perhaps put in again after this time.
    Removal(&'static str, u32, Option<u32>),
    /// What is below the port above a node is reset by Secondary Bus Reset, or contained by software if true.
    Reset(&'static str, u32, bool),
    /// The host disables the link above a node, and enables it again after this time.
    Disable(&'static str, u32, u32),
    /// The link above a node fails.
    Failure(&'static str, u32),
    /// The host resets a device, and tells its driver or not.
    FunctionReset(&'static str, u32, bool),
}

impl Fault {
    fn any() -> impl Strategy<Value = Fault> {
        let node = || select(vec!["s", "t", "a", "b", "c", "n", "g"]);
        let with_memory = || select(vec!["h", "a", "b", "c"]);
        let sender = select(vec!["h", "a", "b", "c", "n", "g"]);
        let (at, offset, size) = (|| 0_u32..12_000, || 0_u32..59_000, || 1_u32..6_000);
        prop_oneof![
            3 => (with_memory(), at(), offset(), size()).prop_map(|(node, at, offset, size)| Fault::Memory(node, at, offset, size)),
            3 => (sender, at(), 1_u32..5).prop_map(|(node, at, count)| Fault::Packets(node, at, count)),
            3 => (select(vec!["a", "b", "c"]), at(), offset(), size()).prop_map(|(node, at, offset, size)| Fault::Inaccessible(node, at, offset, size)),
            2 => (select(vec!["s", "t"]), at(), 1_u32..4).prop_map(|(node, at, count)| Fault::Damage(node, at, count)),
            2 => node().prop_map(Fault::BitErrors),
            2 => (node(), at(), at()).prop_map(|(node, at, for_ns)| Fault::Degrade(node, at, for_ns)),
            2 => (node(), at(), option::of(1_u32..40_000)).prop_map(|(node, at, back)| Fault::Removal(node, at, back)),
            2 => (node(), at(), any::<bool>()).prop_map(|(node, at, contains)| Fault::Reset(node, at, contains)),
            2 => (node(), at(), at()).prop_map(|(node, at, for_ns)| Fault::Disable(node, at, for_ns)),
            1 => (node(), at()).prop_map(|(node, at)| Fault::Failure(node, at)),
            2 => (select(vec!["a", "b", "c", "n", "g"]), at(), any::<bool>()).prop_map(|(node, at, tells)| Fault::FunctionReset(node, at, tells && ["n", "g"].contains(&node))),
        ]
    }

    /// The `[[incidents]]` entry; none for a fault of a link.
    fn incident(&self) -> String {
        let entry = |at: &u32, what: &str, node: &str, keys: String| {
            format!("[[incidents]]\nat = \"{at} ns\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{keys}")
        };
        let range = |offset, size| format!("offset = \"{offset} B\"\nsize = \"{size} B\"\n");
        match self {
            Fault::Memory(node, at, offset, size) => entry(at, "poison", node, range(offset, size)),
            Fault::Packets(node, at, count) => {
                entry(at, "poison", node, format!("count = {count}\n"))
            }
            Fault::Inaccessible(node, at, offset, size) => {
                entry(at, "completer-abort", node, range(offset, size))
            }
            Fault::Damage(node, at, count) => {
                entry(at, "damage", node, format!("count = {count}\n"))
            }
            Fault::Degrade(node, at, for_ns) => {
                let keys = "lanes = 1\ngeneration = 2\n".to_owned();
                entry(at, "degrade", node, keys)
                    + &entry(&(at + for_ns), "restore", node, String::new())
            }
            Fault::Removal(node, at, back) => {
                let out = entry(at, "surprise-removal", node, String::new());
                let back = back.map(|back| {
                    let keys = "wait = \"20 us\"\n".to_owned();
                    entry(&(at + back), "insertion", node, keys)
                });
                out + &back.unwrap_or_default()
            }
            Fault::Reset(node, at, true) => entry(at, "containment", node, String::new()),
            Fault::Reset(node, at, false) => {
                let keys = "hold = \"5 us\"\n".to_owned();
                entry(at, "secondary-bus-reset", node, keys)
            }
            Fault::Disable(node, at, for_ns) => {
                entry(at, "disable-link", node, String::new())
                    + &entry(&(at + for_ns), "enable-link", node, String::new())
            }
            Fault::FunctionReset(node, at, tells) => entry(
                at,
                "function-level-reset",
                node,
                format!("wait = \"150 us\"\ndrivers = {tells}\n"),
            ),
            Fault::BitErrors(_) | Fault::Failure(..) => String::new(),
        }
    }

    /// Whether the fault takes packets of others along.
    fn loses_packets(&self) -> bool {
        matches!(
            self,
            Fault::Failure(..)
                | Fault::Damage(..)
                | Fault::Removal(..)
                | Fault::Reset(..)
                | Fault::Disable(..)
                | Fault::FunctionReset(..)
        )
    }

    /// What the fault adds to the link above `node`.
    fn link(&self, node: &str) -> String {
        match self {
            Fault::BitErrors(there) if *there == node => ", bit_error_rate = 5e-7".to_owned(),
            Fault::Failure(there, at) if *there == node => format!(", fails_at = \"{at} ns\""),
            _ => String::new(),
        }
    }
}

/// A fabric of two switches and five devices of three models, with flows between all of them.
fn fabric(
    seed: u32,
    (reports, cut_through): (bool, bool),
    contains: bool,
    faults: &[Fault],
) -> String {
    // Without an ECRC nobody sees the damage.
    let ecrc = faults
        .iter()
        .any(|fault| matches!(fault, Fault::Damage(..)));
    let contained = faults
        .iter()
        .any(|fault| matches!(fault, Fault::Reset(_, _, true)));
    let containment = match (contains, contained) {
        (true, _) => "non-fatal",
        (false, true) => "fatal",
        (false, false) => "none",
    };
    let mut text = format!(
        "seed = {seed}\n[links]\ngeneration = 3\nlanes = 4\n[hosts.h]\nerror_reporting = {reports}\necrc = {ecrc}\ncompletion_timeout = \"200 us\"\ncontainment = \"{containment}\"\nlink_up_wait = \"20 us\"\n"
    );
    for (node, above) in NODES {
        let mut links: Vec<String> = faults.iter().map(|fault| fault.link(node)).collect();
        links.sort();
        links.dedup_by_key(|link| link.split('=').next().map(str::to_owned));
        let link = format!("upstream = {{ to = \"{above}\"{} }}\n", links.concat());
        let own = match node {
            "s" | "t" => format!("[switches.{node}]\n{link}cut_through = {cut_through}\n"),
            "n" => format!("[devices.n]\nmodel = \"nvme\"\n{link}media_read_latency = \"1 us\"\n"),
            "g" => format!("[devices.g]\nmodel = \"sg-dma\"\n{link}"),
            _ => format!("[devices.{node}]\n{link}bar = \"64 KiB\"\n"),
        };
        let timeout = if node == "s" || node == "t" {
            ""
        } else {
            "completion_timeout = \"200 us\"\n"
        };
        text += &(own + timeout);
    }
    let flows = [
        ("a", "h", "write"),
        ("a", "h", "read"),
        ("b", "a", "write"),
        ("a", "b", "read"),
        ("c", "a", "read"),
        ("h", "a", "write"),
        ("h", "b", "read"),
        ("n", "h", "write"),
        ("n", "h", "read"),
        ("g", "h", "read"),
        ("g", "h", "write"),
    ];
    let flow = |(from, to, direction): &(&str, &str, &str)| {
        let size = if *from == "h" { 2 } else { 16 };
        format!(
            "[[flows]]\nid = \"{from}-{to}-{direction}\"\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} KiB\"\n"
        )
    };
    text.extend(flows.iter().map(flow));
    text + &faults.iter().map(Fault::incident).collect::<String>()
}

/// The most looks at a run before it counts as one that does not end.
const PATIENCE: u32 = 2000;

/// A write that enables the drive `n` is damaged, and its ECRC says so: nobody sends it again, and the driver looks for the drive to
/// become ready now and then.
#[test]
fn a_driver_does_not_keep_the_links_busy_while_its_drive_is_not_ready() {
    let text = fabric(0, (false, true), false, &[Fault::Damage("s", 1692, 3)]);
    let result = run(&text);
    assert_eq!(result.errors("n", "ECRC error"), 1);
    assert!(!result.flow("n-h-write").completed);
    assert_eq!(result.standing_packets, 0);
    let looks = result.link("s-n", "down").tlps;
    assert!(looks < 200, "{looks}");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_run_with_faults_ends_and_no_byte_is_wrong_that_nobody_has_reported(
        seed: u32,
        ways: (bool, bool),
        contains: bool,
        mut faults in vec(Fault::any(), 1..4),
    ) {
        // What is out cannot be taken out.
        let mut taken: Vec<&str> = Vec::new();
        faults.retain(|fault| match fault {
            Fault::Removal(node, ..) => {
                let is_there = !taken.contains(node);
                taken.push(node);
                is_there
            }
            _ => true,
        });
        let text = fabric(seed, ways, contains, &faults);
        let mut simulation = simulation(&text);
        let mut looks = 0;
        let ended = simulation.run(&mut |_| {
            looks += 1;
            looks < PATIENCE
        });
        prop_assert!(ended, "it goes on\n{}", text);
        let result = simulation.result();
        prop_assert_eq!(result.standing_packets, 0, "a deadlock\n{}", &text);
        // Nobody knows the offset of a completion that does not come.
        let loses_packets = contains || faults.iter().any(Fault::loses_packets);
        for flow in &result.flows {
            // Software that writes to registers does not know whether a write has arrived; the device does.
            let by_driver = ["n", "g"].contains(&&*flow.from);
            let is_reported = by_driver
                && result
                    .incidents
                    .iter()
                    .any(|one| one.place == flow.from && one.severity == Some("non-fatal"));
            prop_assert!(!flow.wrong || is_reported, "{} has wrong bytes\n{}", flow.id, text);
            let missing: u64 = flow.missing.iter().map(|(_, len)| len).sum();
            let size = if flow.from == "h" { 2 << 10 } else { 16 << 10 };
            prop_assert!(flow.bytes + missing <= size, "{} has too much\n{}", flow.id, text);
            if !flow.intact {
                prop_assert!(!result.incidents.is_empty(), "nobody tells why {} failed\n{}", flow.id, text);
            }
            if !loses_packets && !by_driver {
                prop_assert_eq!(flow.bytes + missing, size, "{}\n{}", flow.id, text);
            }
        }
    }
}

//! Whatever is wrong with a scenario, one message says where it is and what would be right.

mod accesses;
mod channels;
mod collectives;
mod fabric;
mod flows;
mod incidents;
mod iommu;
mod locks;
mod messages;
mod mutations;
mod networks;
mod nvme;
mod repeated;
mod sharing;
mod transfers;
mod workloads;

use sim::Plan;

/// What the file `bad.toml` with this text is answered.
pub fn refusal(text: &str) -> String {
    match Plan::read(text, "bad.toml") {
        Ok(_) => panic!("this is accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

const PAIR: &str = r#"[hosts.h0]
[switches.s0]
upstream = "h0"
[devices.a]
upstream = "s0"
[devices.b]
upstream = "s0"
"#;

/// `PAIR`, which ends on line 7, and what is added to it.
fn pair(added: &str) -> String {
    refusal(&format!("{PAIR}{added}"))
}

/// `PAIR` with a flow from `a` to `b` and what is added to that; the flow begins on line 8.
fn flow(added: &str) -> String {
    pair(&format!(
        "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{added}"
    ))
}

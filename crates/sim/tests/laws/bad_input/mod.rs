//! Any error in a scenario leads to one message, which says where the error is and what to write instead.

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

/// Returns the error message for a file `bad.toml` with this text.
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

/// Returns the error of `PAIR`, which ends on line 7, followed by `added`.
fn pair(added: &str) -> String {
    refusal(&format!("{PAIR}{added}"))
}

/// Returns the error of `PAIR` with a flow from `a` to `b`, followed by `added`. The flow begins on line 8.
fn flow(added: &str) -> String {
    pair(&format!(
        "[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{added}"
    ))
}

//! The ports that a circuit must have, and the ports that it has in the header that Verilator writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The direction of a port, from the view of the circuit, and its number of bits.
pub type Port = (&'static str, u32);

/// The ports of a leaf for beats of `width` bits (`docs/reference/circuit-ports.md`).
pub fn documented(width: u32) -> BTreeMap<&'static str, Port> {
    let bytes = (width / 8).ilog2() + 1;
    [
        ("clk_i", 1),
        ("rst_i", 1),
        ("function_id_i", 16),
        ("max_payload_i", 3),
        ("max_read_request_i", 3),
        ("bus_master_i", 1),
        ("ext_tag_i", 1),
        ("flr_i", 1),
        ("flr_done_o", 1),
        ("rx_valid_i", 1),
        ("rx_ready_o", 1),
        ("rx_np_ok_o", 1),
        ("rx_data_i", width),
        ("rx_first_i", 1),
        ("rx_last_i", 1),
        ("rx_bytes_i", bytes),
        ("rx_label_i", 16),
        ("rx_bar_i", 3),
        ("tx_valid_o", 1),
        ("tx_ready_i", 1),
        ("tx_data_o", width),
        ("tx_first_o", 1),
        ("tx_last_o", 1),
        ("tx_bytes_o", bytes),
        ("tx_label_o", 16),
        ("irq_valid_o", 1),
        ("irq_ready_i", 1),
        ("irq_vector_o", 11),
        ("err_valid_o", 1),
        ("err_kind_o", 3),
        ("err_header_o", 128),
        ("active_o", 1),
    ]
    .into_iter()
    .map(|(name, bits)| {
        let direction = if name.ends_with("_i") {
            "input"
        } else {
            "output"
        };
        (name, (direction, bits))
    })
    .collect()
}

/// The groups of ports that a circuit may omit. A circuit may omit a group only as a whole.
const OPTIONAL: [&[&str]; 3] = [
    &["ext_tag_i"],
    &["flr_i", "flr_done_o"],
    &["err_valid_o", "err_kind_o", "err_header_o"],
];

/// Whether a circuit with the ports `has` omits the whole group of the port `name`.
fn is_left_out(name: &str, has: &BTreeMap<&str, Port>) -> bool {
    let mut groups = OPTIONAL.iter().filter(|group| group.contains(&name));
    groups.any(|group| !group.iter().any(|port| has.contains_key(port)))
}

/// The ports in a header of Verilator, in lines such as `VL_IN8(&rx_bytes_i,3,0);`.
fn declared(header: &str) -> BTreeMap<&str, Port> {
    let port = |line: &str| {
        let (kind, rest) = line.trim().strip_prefix("VL_")?.split_once("(&")?;
        let direction = match kind.trim_end_matches(|end: char| end.is_ascii_digit() || end == 'W')
        {
            "IN" => "input",
            "OUT" => "output",
            "INOUT" => "inout",
            _ => return None,
        };
        let mut parts = rest.split([',', ')']);
        let name = parts.next()?;
        let bound = |part: Option<&str>| part?.parse::<u32>().ok();
        let (high, low) = (bound(parts.next())?, bound(parts.next())?);
        let start = line.find(name)?;
        Some((start, name.len(), (direction, high - low + 1)))
    };
    header
        .lines()
        .filter_map(|line| port(line).map(|(start, len, port)| (&line[start..start + len], port)))
        .collect()
}

/// The first fault of the ports of a circuit; `None` if the ports are as documented.
pub fn fault(header: &str, width: u32) -> Option<String> {
    let (has, needs) = (declared(header), documented(width));
    let show = |(direction, bits): &Port| {
        format!(
            "{direction} of {bits} {}",
            if *bits == 1 { "bit" } else { "bits" }
        )
    };
    for (name, port) in &needs {
        match has.get(name) {
            None if is_left_out(name, &has) => {}
            None => return Some(format!("it has no port {name} ({})", show(port))),
            Some(other) if other != port => {
                return Some(format!(
                    "its port {name} is an {}; it must be an {}",
                    show(other),
                    show(port)
                ));
            }
            Some(_) => {}
        }
    }
    let other = has.keys().find(|name| !needs.contains_key(*name))?;
    Some(format!("it has a port {other}, which a leaf does not have"))
}

/// The ports of a leaf that a circuit without a fault omits.
pub fn left_out(header: &str, width: u32) -> Vec<&'static str> {
    let has = declared(header);
    let mut names: Vec<_> = documented(width).into_keys().collect();
    names.retain(|name| !has.contains_key(name));
    names
}

/// The ports that the circuit `top` omits. Stops the build if its other ports are not the ports of a leaf.
pub fn check(top: &str, width: u32, header: &Path) -> Vec<&'static str> {
    let text = fs::read_to_string(header).unwrap_or_default();
    if let Some(fault) = fault(&text, width) {
        println!(
            "cargo::error=the circuit {top} with beats of {width} bits cannot be a leaf: {fault}; docs/reference/circuit-ports.md has the ports of a leaf"
        );
        std::process::exit(1);
    }
    left_out(&text, width)
}

//! The virtual channels of every port: the Virtual Channel capability, the values that firmware writes into it, and checks of the keys for both.

use fabric::PeerToPeer;
use host::firmware::{ChannelSetting, Setting};
use kernel::Quantity;
use protocol::{FunctionId, VirtualChannels};
use transaction::{FunctionPlace, Functions};

use crate::scenario::{
    ClassMap, FabricScenario, LinkParameters, Node, NodeKind, PhaseTable, PortArbitration,
    ScenarioError, VcArbitration, Wrong,
};

use super::tree::Tree;

/// The Virtual Channel capability of a port of `node` at `link`; `None` for a port without it. `lower` is the node below the port, or `node` itself
/// for its upstream port. The node has `below` links below it.
pub(crate) fn capability(
    node: &Node,
    lower: &Node,
    link: Option<&LinkParameters>,
    below: usize,
) -> Option<VirtualChannels> {
    let ports = match &node.kind {
        NodeKind::IoPort(_) => return None,
        NodeKind::Switch(_) => Some(below as u8 + 1),
        NodeKind::Host(host, _) => {
            (host.peer_to_peer != PeerToPeer::None).then_some(below as u8 + 1)
        }
        NodeKind::Device(..) => None,
    };
    let extended = node.port.extended_vc_count as u8;
    let is_mapped = link.is_some_and(|link| link.tc_vc_map.is_some());
    let is_weighted = ports.is_some() && port_arbitration(node, lower).0.is_some();
    (extended > 0 || is_mapped || is_weighted).then(|| VirtualChannels {
        extended,
        low_priority: low_priority(node) as u8,
        ports,
    })
}

/// The port arbitration and its table at one port of `node`: at the port above `lower`, or at the upstream port if `lower` is `node` itself.
fn port_arbitration<'n>(
    node: &'n Node,
    lower: &'n Node,
) -> (Option<PortArbitration>, Option<&'n PhaseTable>) {
    let own = &node.settings;
    let above = &lower.settings;
    if lower.name.value == node.name.value || above.port_arbitration_above.is_none() {
        return (own.port_arbitration, own.port_arbitration_table.as_ref());
    }
    let table = above.port_arbitration_table_above.as_ref();
    (above.port_arbitration_above, table)
}

fn low_priority(node: &Node) -> u32 {
    let extended = node.port.extended_vc_count;
    node.port.low_priority_vcs.unwrap_or(extended).min(extended)
}

/// The register settings for the virtual channels of `node`. `functions` are its functions after enumeration.
pub(crate) fn settings(
    scenario: &FabricScenario,
    tree: &Tree,
    index: usize,
    functions: &Functions,
) -> Vec<(FunctionId, Setting)> {
    let node = &scenario.nodes[index];
    let below = &tree.children[index];
    let own = match &node.kind {
        NodeKind::Switch(_) | NodeKind::Device(..) => Some((FunctionPlace::Own, index)),
        NodeKind::Host(..) | NodeKind::IoPort(_) => None,
    };
    let others = below.iter().enumerate();
    let others = others.map(|(port, child)| (FunctionPlace::Port(port), child.node));
    let ports = own.into_iter().chain(others);
    let of_port = |(place, lower): (FunctionPlace, usize)| {
        let lower = &scenario.nodes[lower];
        let link = lower.upstream.as_ref().map(|upstream| &upstream.link);
        let channels = capability(node, lower, link, below.len());
        let id = functions.id_of(place);
        let settings = channels.map(|channels| port_settings((node, lower), link, channels));
        let settings = settings.into_iter().flatten();
        settings.map(move |setting| (id, Setting::Channels(setting)))
    };
    ports.flat_map(of_port).collect()
}

fn port_settings(
    (node, lower): (&Node, &Node),
    link: Option<&LinkParameters>,
    channels: VirtualChannels,
) -> Vec<ChannelSetting> {
    let mut settings = Vec::new();
    let table = |table: Option<&PhaseTable>, bits| {
        let phases = table.map_or(&[][..], |table| &table.0);
        (0..).zip(dwords(phases, bits)).collect::<Vec<(u8, u32)>>()
    };
    if let Some(arbitration) = node.settings.vc_arbitration {
        let dwords = table(node.settings.vc_arbitration_table.as_ref(), 4);
        let write = |(register, value)| ChannelSetting::VcPhases { register, value };
        settings.extend(dwords.into_iter().map(write));
        settings.push(ChannelSetting::VcArbitration(arbitration.select().0));
    }
    let (by_port, phases) = port_arbitration(node, lower);
    if let (Some(arbitration), Some(_)) = (by_port, channels.ports) {
        for channel in 0..=channels.extended {
            let dwords = table(phases, channels.entry_bits());
            settings.extend(dwords.into_iter().map(|(register, value)| {
                ChannelSetting::PortPhases {
                    channel,
                    register,
                    value,
                }
            }));
            let select = arbitration.select().0;
            settings.push(ChannelSetting::PortArbitration { channel, select });
        }
    }
    if let Some(map) = link.and_then(|link| link.tc_vc_map) {
        for channel in 0..=channels.extended {
            let classes = map.classes_of(channel);
            settings.push(ChannelSetting::Classes { channel, classes });
        }
    }
    settings
}

/// The register values of a table of phases, in which each entry has `bits` bits.
fn dwords(phases: &[u8], bits: u32) -> Vec<u32> {
    let dword = |phases: &[u8]| {
        let places = (0..).step_by(bits as usize).zip(phases);
        places.fold(0, |dword, (at, phase)| dword | u32::from(*phase) << at)
    };
    phases.chunks(32 / bits as usize).map(dword).collect()
}

/// Checks the keys of virtual channels of all nodes and links.
pub(crate) fn check(scenario: &FabricScenario, tree: &Tree) -> Result<(), ScenarioError> {
    for (node, below) in scenario.nodes.iter().zip(&tree.children) {
        let error = |wrong: Wrong| node.error(scenario, wrong);
        check_counts(node).map_err(error)?;
        check_vc_arbitration(node).map_err(error)?;
        let settings = &node.settings;
        let own = (
            settings.port_arbitration,
            settings.port_arbitration_table.as_ref(),
        );
        check_port_arbitration((node, below.len()), own, KEYS).map_err(error)?;
        if node.upstream.is_none() {
            check_no_port_above(node).map_err(error)?;
        }
    }
    for &(above, _, below) in &tree.links {
        let ends = [&scenario.nodes[above], &scenario.nodes[below]];
        let settings = &ends[1].settings;
        let of_port = (
            settings.port_arbitration_above,
            settings.port_arbitration_table_above.as_ref(),
        );
        let siblings = tree.children[above].len();
        let checked = check_port_arbitration((ends[0], siblings), of_port, KEYS_ABOVE);
        checked.map_err(|wrong| ends[1].error(scenario, wrong))?;
        let Some(upstream) = &ends[1].upstream else {
            continue;
        };
        check_link(ends, &upstream.link).map_err(|message| {
            let message = format!("{}.upstream.tc_vc_map: {message}", ends[1].name.value);
            scenario.error(upstream.to.line, message)
        })?;
    }
    Ok(())
}

fn check_counts(node: &Node) -> Result<(), Wrong> {
    let extended = node.port.extended_vc_count;
    if extended > 0 && matches!(node.kind, NodeKind::IoPort(_)) {
        let message = "an I/O port has VC0 alone; leave the key out".to_owned();
        return Err(("extended_vc_count", message));
    }
    match node.port.low_priority_vcs {
        Some(low) if low > extended => Err((
            "low_priority_vcs",
            format!(
                "{low} are more than the {extended} channels besides VC0; write {extended} at most, or a larger extended_vc_count"
            ),
        )),
        _ => Ok(()),
    }
}

fn check_vc_arbitration(node: &Node) -> Result<(), Wrong> {
    let settings = &node.settings;
    let (select, phases) = settings
        .vc_arbitration
        .map_or((0, 0), VcArbitration::select);
    let table = settings.vc_arbitration_table.as_ref();
    check_table("vc_arbitration", "vc_arbitration_table", phases, table)?;
    let low = low_priority(node);
    if select > 0 && low == 0 {
        let message = match node.port.extended_vc_count {
            0 => "there is VC0 alone; write extended_vc_count = 1 or more, or leave this out",
            _ => "no channel shares the wire with VC0 by turns; write low_priority_vcs = 1 or more",
        };
        return Err(("vc_arbitration", message.to_owned()));
    }
    let Some(PhaseTable(phases)) = table else {
        return Ok(());
    };
    if let Some(other) = phases.iter().find(|id| u32::from(**id) > low) {
        let message = format!(
            "VC{other} is not in the low-priority group; write phases of VC0 to VC{low}, or a larger low_priority_vcs"
        );
        return Err(("vc_arbitration_table", message));
    }
    match (0..=low as u8).find(|id| !phases.contains(id)) {
        Some(missing) => {
            let message = format!(
                "VC{missing} has no phase, and would never send; write one phase of {missing} at least"
            );
            Err(("vc_arbitration_table", message))
        }
        None => Ok(()),
    }
}

/// The keys of the port arbitration at all ports of a node, and of its table.
const KEYS: [&str; 2] = ["port_arbitration", "port_arbitration_table"];

/// The keys of the port arbitration at the port above a node, and of its table.
const KEYS_ABOVE: [&str; 2] = ["port_arbitration_above", "port_arbitration_table_above"];

fn check_no_port_above(node: &Node) -> Result<(), Wrong> {
    let written = KEYS_ABOVE.into_iter().find(|key| node.lines.has(key));
    written.map_or(Ok(()), |key| {
        let noun = node.kind.noun();
        let message = format!(
            "there is no port above this {noun}; write it for a node below a switch or host"
        );
        Err((key, message))
    })
}

fn check_port_arbitration(
    (node, below): (&Node, usize),
    (arbitration, table): (Option<PortArbitration>, Option<&PhaseTable>),
    [key, table_key]: [&'static str; 2],
) -> Result<(), Wrong> {
    let phases = arbitration.map_or(0, |one| one.select().1);
    check_table(key, table_key, phases, table)?;
    if arbitration.is_none() {
        return Ok(());
    }
    match &node.kind {
        NodeKind::Switch(_) => {}
        NodeKind::Host(host, _) if host.peer_to_peer != PeerToPeer::None => {}
        kind => {
            let message = format!(
                "nothing is arbitrated by port at this {}; write it for a switch, or for a host with peer_to_peer = \"all\"",
                kind.noun()
            );
            return Err((key, message));
        }
    }
    let last = match &node.kind {
        NodeKind::Switch(_) => below,
        _ => below.saturating_sub(1),
    };
    let phases = table.map_or(&[][..], |table| &table.0);
    if let Some(other) = phases.iter().find(|port| usize::from(**port) > last) {
        let (first, others) = match &node.kind {
            NodeKind::Switch(_) => ("0 for the upstream port", "1"),
            _ => ("root ports", "0"),
        };
        let message = format!(
            "there is no port {other}; write {first}, and {others} to {last} for the ports below"
        );
        return Err((table_key, message));
    }
    Ok(())
}

/// Checks that the number of phases in a table is the number that its arbitration needs, and that an arbitration with phases has a table.
fn check_table(
    key: &'static str,
    table_key: &'static str,
    phases: usize,
    table: Option<&PhaseTable>,
) -> Result<(), Wrong> {
    match (phases, table) {
        (0, Some(_)) => Err((
            table_key,
            format!("without weights there is no table; write {key} = \"wrr-32\""),
        )),
        (0, None) => Ok(()),
        (phases, None) => Err((
            key,
            format!(
                "there is no table; write {table_key} with {phases} phases, such as \"(0 1)*{}\"",
                phases / 2
            ),
        )),
        (phases, Some(table)) if table.0.len() != phases => Err((
            table_key,
            format!(
                "{} phases are not {phases}; write {phases} phases, or the {key} of the table",
                table.0.len()
            ),
        )),
        _ => Ok(()),
    }
}

fn check_link(ends: [&Node; 2], link: &LinkParameters) -> Result<(), String> {
    let highest = link.tc_vc_map.as_ref().map_or(0, ClassMap::highest);
    for end in ends {
        let extended = end.port.extended_vc_count;
        if u32::from(highest) > extended {
            return Err(format!(
                "{} has VC0 to VC{extended}, so that VC{highest} would never be initialised; write extended_vc_count = {highest} there, or another map",
                end.name.value
            ));
        }
    }
    let is_coherent = ends[1].kind.properties().is_coherent;
    let has_capability =
        ends.iter().any(|end| end.port.extended_vc_count > 0) || link.tc_vc_map.is_some();
    let alone = link.tc_vc_map.is_some_and(
        |map| matches!(map.0[1], Some(channel) if channel > 0 && map.classes_of(channel) == 0b10),
    );
    if is_coherent && has_capability && !alone {
        return Err(format!(
            "coherence messages have TC1, and a channel of their own; write {:?}",
            ClassMap([
                Some(0),
                Some(1),
                Some(0),
                Some(0),
                Some(0),
                Some(0),
                Some(0),
                Some(0)
            ])
            .show()
        ));
    }
    Ok(())
}

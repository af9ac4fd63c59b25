//! Feature headers, by which software discovers the units of a card.

use sim::{AfuId, BuiltInAfu};

use super::*;

const LAST: u64 = 1 << 40;

fn kind(header: u64) -> u64 {
    header >> 60
}

fn next(header: u64) -> u64 {
    header >> 16 & 0xff_ffff
}

/// The list of features that begins at `offset` of a BAR: the offset, kind and ID of each.
fn walk(machine: &mut Machine, bar: usize, mut offset: u64) -> Vec<(u64, u64, u64)> {
    let mut found = Vec::new();
    loop {
        let header = machine.load(bar, offset, 8);
        found.push((offset, kind(header), header & 0xfff));
        if header & LAST != 0 {
            return found;
        }
        assert!(next(header) > 0, "a list goes on or ends");
        offset += next(header);
    }
}

#[test]
fn the_features_lead_from_the_management_engine_to_the_port_and_the_unit() {
    let mut machine = machine("afu = \"dma_afu\"");
    let management = walk(&mut machine, 0, 0);
    assert_eq!(management[0], (0, 4, 0));
    assert!(
        management
            .iter()
            .any(|(_, kind, id)| (*kind, *id) == (3, 4))
    );
    let port = machine.load(0, 0x38, 8);
    assert_eq!(port >> 60 & 1, 1, "port 0 is implemented");
    let (bar, offset) = ((port >> 32 & 7) as usize, port & 0xff_ffff);
    let features = walk(&mut machine, bar, offset);
    let ids: Vec<_> = features.iter().map(|(_, kind, id)| (*kind, *id)).collect();
    assert_eq!(ids, [(4, 1), (3, 0x10), (3, 0x12)]);
    let afu = offset + (machine.load(bar, offset + 0x18, 8) & 0xff_ffff);
    let units = walk(&mut machine, bar, afu);
    let ids: Vec<_> = units.iter().map(|(_, kind, id)| (*kind, *id)).collect();
    assert_eq!(ids, [(1, 0), (2, 0x765)]);
    let id = |machine: &mut Machine, at: u64| {
        let high = machine.load(bar, at + 0x10, 8);
        let low = machine.load(bar, at + 0x08, 8);
        AfuId(u128::from(high) << 64 | u128::from(low)).to_string()
    };
    assert_eq!(
        id(&mut machine, afu),
        "331db30c-9885-41ea-9081-f88b8f655caa"
    );
    let block = units[1].0;
    assert_eq!(
        id(&mut machine, block),
        "ef82def7-f6ec-40fc-a914-9a35bace01ea"
    );
}

#[test]
fn every_unit_is_found_by_its_id() {
    for (name, afu) in BuiltInAfu::NAMES {
        let mut machine = machine(&format!("afu = \"{name}\""));
        assert_eq!(
            machine
                .simulation
                .card("card")
                .map(|card| card.slots()[0].afu_id()),
            Ok(afu.id())
        );
        let (high, low) = (machine.get(0x10), machine.get(0x08));
        match afu.id() {
            Some(id) => assert_eq!((high, low), (id.high(), id.low())),
            None => assert_eq!((high, low), (u64::MAX, u64::MAX)),
        }
    }
}

#[test]
fn scratchpads_keep_what_is_written_in_halves_or_whole() {
    let mut machine = machine("");
    for (bar, offset) in [(0, 0x28), (2, 0x28), (2, AFU + 0x100)] {
        machine.store(bar, offset, &0x1122_3344_5566_7788_u64.to_le_bytes());
        machine.store(bar, offset + 4, &7_u32.to_le_bytes());
        assert_eq!(machine.load(bar, offset, 8), 0x7_5566_7788);
        assert_eq!(machine.load(bar, offset + 4, 4), 7);
    }
}

#[test]
fn the_card_is_the_one_that_drivers_look_for() {
    let machine = machine("");
    let nodes = &machine.simulation.plan().nodes;
    let card = nodes.iter().find(|node| node.name == "card");
    let space = card
        .expect("it is there")
        .functions
        .space(transaction::FunctionPlace::Own);
    assert_eq!(space.read(0), 0x09c4_8086);
    assert_eq!(space.read(2) >> 8, 0x12_0000);
}

#[test]
fn the_scenario_with_a_card_is_right() {
    run(include_str!("../../../../../scenarios/pac.toml")).all_intact();
}

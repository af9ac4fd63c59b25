//! Errors in maps of traffic classes, in numbers of channels, and in tables of phases.

use super::{pair, refusal};

/// Returns the error of a fabric whose device has `map` as its `tc_vc_map`. The link is on line 5.
fn mapped(map: &str) -> String {
    refusal(&format!(
        "[hosts.h]\nextended_vc_count = 2\n[devices.d]\nextended_vc_count = 1\nupstream = {{ to = \"h\", tc_vc_map = \"{map}\" }}\n"
    ))
}

#[test]
fn a_map_has_each_class_once() {
    assert_eq!(
        mapped("TC0-5: VC0"),
        "bad.toml:5: devices.d.upstream.tc_vc_map: TC6 maps to no channel; write \"TC6: VC0\", or \"TC6: none\" if the link does not carry it"
    );
    assert_eq!(
        mapped("TC0-7: VC0, TC3: VC1"),
        "bad.toml:5: devices.d.upstream.tc_vc_map: TC3 maps to two channels; write it once, with one channel"
    );
    assert_eq!(
        mapped("TC0: VC1, TC1-7: VC0"),
        "bad.toml:5: devices.d.upstream.tc_vc_map: TC0 is always on VC0 (PCIe Base 7.9.1.8); write \"TC0: VC0\""
    );
    for wrong in [
        "TC0-8: VC0",
        "0-7: VC0",
        "TC0-7",
        "TC5-2: VC0",
        "TC0-7: VC8",
        "",
    ] {
        assert!(mapped(wrong).contains("is no entry of a map; write entries such as"));
    }
}

#[test]
fn both_ends_of_a_link_have_the_channels_of_its_map() {
    assert_eq!(
        mapped("TC0-6: VC0, TC7: VC2"),
        "bad.toml:5: d.upstream.tc_vc_map: d has VC0 to VC1, so that VC2 would never be initialised; write extended_vc_count = 2 there, or another map"
    );
}

#[test]
fn the_low_priority_group_is_a_part_of_the_channels() {
    assert_eq!(
        pair("extended_vc_count = 1\nlow_priority_vcs = 2"),
        "bad.toml:9: b.low_priority_vcs: 2 are more than the 1 channels besides VC0; write 1 at most, or a larger extended_vc_count"
    );
}

#[test]
fn a_table_has_the_phases_of_its_arbitration() {
    let vcs = |keys: &str| pair(&format!("extended_vc_count = 1\n{keys}"));
    assert_eq!(
        vcs("vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"0*24 1*7\""),
        "bad.toml:10: b.vc_arbitration_table: 31 phases are not 32; write 32 phases, or the vc_arbitration of the table"
    );
    assert_eq!(
        vcs("vc_arbitration = \"wrr-64\""),
        "bad.toml:9: b.vc_arbitration: there is no table; write vc_arbitration_table with 64 phases, such as \"(0 1)*32\""
    );
    assert_eq!(
        vcs("vc_arbitration_table = \"0*32\""),
        "bad.toml:9: b.vc_arbitration_table: without weights there is no table; write vc_arbitration = \"wrr-32\""
    );
    assert_eq!(
        vcs("vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"(0 2)*16\""),
        "bad.toml:10: b.vc_arbitration_table: VC2 is not in the low-priority group; write phases of VC0 to VC1, or a larger low_priority_vcs"
    );
    assert_eq!(
        vcs("vc_arbitration = \"wrr-32\"\nvc_arbitration_table = \"0*32\""),
        "bad.toml:10: b.vc_arbitration_table: VC1 has no phase, and would never send; write one phase of 1 at least"
    );
    assert_eq!(
        vcs("vc_arbitration_table = \"0*\""),
        "bad.toml:9: devices.b.vc_arbitration_table: \"0*\" is no table of phases; write \"0*24 1*8\" or \"(0 0 0 1)*8\" for 32 phases"
    );
}

#[test]
fn ports_are_arbitrated_where_there_are_several() {
    assert_eq!(
        pair("port_arbitration = \"round-robin\""),
        "bad.toml:8: b.port_arbitration: nothing is arbitrated by port at this device; write it for a switch, or for a host with peer_to_peer = \"all\""
    );
    assert_eq!(
        refusal(
            "[hosts.h]\n[switches.s]\nupstream = \"h\"\nport_arbitration = \"wrr-32\"\nport_arbitration_table = \"(1 2)*16\"\n[devices.d]\nupstream = \"s\"\n"
        ),
        "bad.toml:5: s.port_arbitration_table: there is no port 2; write 0 for the upstream port, and 1 to 1 for the ports below"
    );
}

#[test]
fn the_table_of_a_port_fits_the_node_above() {
    let below = |lines: &str| {
        refusal(&format!(
            "[hosts.h]\npeer_to_peer = \"none\"\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\n{lines}"
        ))
    };
    assert_eq!(
        below("port_arbitration_above = \"wrr-32\"\nport_arbitration_table_above = \"(1 2)*16\"\n"),
        "bad.toml:8: d.port_arbitration_table_above: there is no port 2; write 0 for the upstream port, and 1 to 1 for the ports below"
    );
    assert_eq!(
        below("port_arbitration_table_above = \"(0 1)*16\"\n"),
        "bad.toml:7: d.port_arbitration_table_above: without weights there is no table; write port_arbitration_above = \"wrr-32\""
    );
    assert_eq!(
        below("port_arbitration_above = \"wrr-64\"\nport_arbitration_table_above = \"(0 1)*16\"\n"),
        "bad.toml:8: d.port_arbitration_table_above: 32 phases are not 64; write 64 phases, or the port_arbitration_above of the table"
    );
    assert_eq!(
        refusal(
            "[hosts.h]\npeer_to_peer = \"none\"\n[devices.d]\nupstream = \"h\"\nport_arbitration_above = \"round-robin\"\n"
        ),
        "bad.toml:5: d.port_arbitration_above: nothing is arbitrated by port at this host; write it for a switch, or for a host with peer_to_peer = \"all\""
    );
    assert_eq!(
        refusal("[hosts.h]\nport_arbitration_above = \"round-robin\"\n"),
        "bad.toml:2: h.port_arbitration_above: there is no port above this host; write it for a node below a switch or host"
    );
}

#[test]
fn coherence_messages_keep_a_channel_of_their_own() {
    assert_eq!(
        refusal(
            "[hosts.h]\ncoherent = true\nextended_vc_count = 1\n[devices.d]\nmodel = \"accelerator\"\nextended_vc_count = 1\nupstream = \"h\"\n"
        ),
        "bad.toml:7: d.upstream.tc_vc_map: coherence messages have TC1, and a channel of their own; write \"TC0: VC0, TC1: VC1, TC2-7: VC0\""
    );
}

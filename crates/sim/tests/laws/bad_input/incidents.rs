//! Errors in incidents.

use super::refusal;

/// Returns the error of a scenario with a host, a device and an incident. The incident begins on line 4.
fn incident(keys: &str) -> String {
    refusal(&format!(
        "[hosts.h]\n[devices.d]\nupstream = \"h\"\n[[incidents]]\n{keys}\n"
    ))
}

#[test]
fn an_incident_has_a_time_a_kind_and_a_node() {
    assert_eq!(
        incident("what = \"function-level-reset\"\nnode = \"d\""),
        "bad.toml:4: incidents 1: there is no at; write the time of the incident, such as at = \"20 us\""
    );
    let missing = incident("at = \"1 us\"\nnode = \"d\"");
    let start = "bad.toml:4: incidents 1: there is no what; write what = \"KIND\", one of ";
    assert!(missing.starts_with(start), "{missing}");
    assert!(missing.contains("function-level-reset"), "{missing}");
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"function-level-reset\""),
        "bad.toml:4: incidents 1: there is no node; write node = \"NAME\" of the node that it concerns"
    );
    let early = incident("at = \"-1 us\"\nwhat = \"function-level-reset\"\nnode = \"d\"");
    assert!(early.starts_with("bad.toml:5: incidents 1.at"), "{early}");
}

#[test]
fn an_unknown_kind_key_or_node_has_a_nearest_one() {
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"function-level-rest\"\nnode = \"d\""),
        "bad.toml:6: incidents 1.what: there is no incident \"function-level-rest\"; did you mean \"function-level-reset\"?"
    );
    let flr = |keys: &str| {
        incident(&format!(
            "at = \"1 us\"\nwhat = \"function-level-reset\"\n{keys}"
        ))
    };
    assert_eq!(
        flr("node = \"d\"\nfunctions = 1"),
        "bad.toml:8: unknown key \"functions\" in incidents 1; did you mean \"function\"?"
    );
    assert_eq!(
        flr("node = \"e\""),
        "bad.toml:7: incidents \"incident-1\", node: there is no node \"e\"; write one of h, d"
    );
    assert_eq!(
        flr("node = \"h\""),
        "bad.toml:7: incidents \"incident-1\", node: h is above all links; write the name of a switch or of a device below it"
    );
    assert_eq!(
        flr("node = \"d\"\ndrivers = true"),
        "bad.toml:8: incidents \"incident-1\", drivers: no driver of the host works with function 0 of d; write it for function 0 of a device with model = \"sg-dma\", \"nvme\", \"block-dma\" or \"accelerator\""
    );
}

#[test]
fn two_incidents_have_two_names() {
    let one = "at = \"1 us\"\nwhat = \"function-level-reset\"\nnode = \"d\"\nid = \"a\"\n";
    let message = incident(&format!("{one}[[incidents]]\n{one}"));
    assert!(message.starts_with("bad.toml:13: "), "{message}");
    assert!(message.contains("already on line 8"), "{message}");
}

#[test]
fn a_link_degrades_only_to_less_than_it_has() {
    let degrade = |keys: &str| {
        let one = format!("at = \"1 us\"\nwhat = \"degrade\"\nnode = \"d\"\n{keys}");
        incident(&one)
    };
    assert_eq!(
        degrade(""),
        "bad.toml:4: incidents \"incident-1\", lanes: nothing of h-d fails; write lanes, generation, or both, of what still works"
    );
    assert_eq!(
        degrade("lanes = 16"),
        "bad.toml:8: incidents \"incident-1\", lanes: h-d cannot degrade to 16 lanes, because it has 16; write 1, 2, 4, 8 or 12"
    );
    assert_eq!(
        degrade("lanes = 3"),
        "bad.toml:8: incidents 1.lanes: there is no link of 3 lanes; write 1, 2, 4, 8, 12, 16 or 32"
    );
    assert_eq!(
        degrade("lanes = 4\ngeneration = 5"),
        "bad.toml:9: incidents \"incident-1\", generation: h-d cannot degrade to 32 GT/s, because its rate is 8 GT/s; write 1 or 2"
    );
    let narrow = "[hosts.h]\n[devices.d]\nupstream = { to = \"h\", lanes = 1, generation = 1 }\n[[incidents]]\nat = \"1 us\"\nwhat = \"degrade\"\nnode = \"d\"\n";
    assert_eq!(
        refusal(&format!("{narrow}lanes = 1\n")),
        "bad.toml:8: incidents \"incident-1\", lanes: h-d cannot degrade to 1 lanes, because it has 1; leave lanes out and write generation"
    );
    assert_eq!(
        refusal(&format!("{narrow}generation = 1\n")),
        "bad.toml:8: incidents \"incident-1\", generation: h-d cannot degrade to 2.5 GT/s, because its rate is 2.5 GT/s; leave generation out and write lanes"
    );
}

#[test]
fn an_incident_of_a_link_is_at_a_node_with_a_link_above_it() {
    for what in ["degrade", "restore", "retrain"] {
        let keys = if what == "degrade" { "lanes = 1" } else { "" };
        let at = |node: &str| {
            let one = format!("at = \"1 us\"\nwhat = \"{what}\"\nnode = \"{node}\"\n{keys}");
            incident(&one)
        };
        assert_eq!(
            at("h"),
            "bad.toml:7: incidents \"incident-1\", node: h has no link above it; write the name of a switch or of a device"
        );
        assert_eq!(
            at("e"),
            "bad.toml:7: incidents \"incident-1\", node: there is no node \"e\"; write one of h, d"
        );
    }
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"retrain\"\nnode = \"d\"\ngeneration = 4"),
        "bad.toml:8: incidents \"incident-1\", generation: the port above has no rate above 8 GT/s; write 1 to 3"
    );
}

#[test]
fn a_node_is_taken_out_only_where_it_is_and_put_in_only_where_it_is_not() {
    let one = |at: u32, what: &str| format!("at = \"{at} us\"\nwhat = \"{what}\"\nnode = \"d\"\n");
    let both = |first: String, second: String| incident(&format!("{first}[[incidents]]\n{second}"));
    let (out, back) = ("surprise-removal", "insertion");
    assert_eq!(
        incident(&one(1, back)),
        "bad.toml:7: incidents \"incident-1\", node: d is there from the beginning; write a surprise-removal of d before"
    );
    assert_eq!(
        both(one(2, out), one(1, out)),
        "bad.toml:7: incidents \"incident-1\", node: d is not there at this time; write an insertion of d before"
    );
    let thrice = one(2, back) + "[[incidents]]\n" + &one(3, back);
    assert_eq!(
        both(one(1, out), thrice),
        "bad.toml:15: incidents \"incident-3\", node: d is there since \"incident-2\"; write a surprise-removal of d between"
    );
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"surprise-removal\"\nnode = \"h\""),
        "bad.toml:7: incidents \"incident-1\", node: h has no link above it; write the name of a switch or of a device"
    );
}

#[test]
fn a_port_is_contained_only_where_firmware_has_enabled_that() {
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"containment\"\nnode = \"d\""),
        "bad.toml:6: incidents \"incident-1\", what: containment of the ports below h is off; write containment = \"fatal\" in hosts.h"
    );
    let severity = refusal("[hosts.h]\ncontainment = \"all\"\n");
    assert!(
        severity.starts_with("bad.toml:2: hosts.h.containment"),
        "{severity}"
    );
    assert!(severity.contains("non-fatal"), "{severity}");
}

#[test]
fn the_link_of_a_coherent_device_stays() {
    for what in ["surprise-removal", "secondary-bus-reset", "disable-link"] {
        let message = refusal(&format!(
            "[hosts.h]\ncoherent = true\n[devices.d]\nupstream = \"h\"\nmodel = \"accelerator\"\n[[incidents]]\nat = \"1 us\"\nwhat = \"{what}\"\nnode = \"d\"\n"
        ));
        assert_eq!(
            message,
            "bad.toml:9: incidents \"incident-1\", node: d has coherent lines of its host in its cache, which would be lost; write the name of a node without a coherent device"
        );
    }
}

#[test]
fn nothing_is_contained_above_a_coherent_device() {
    assert_eq!(
        refusal(
            "[hosts.h]\ncoherent = true\ncontainment = \"fatal\"\n[devices.d]\nupstream = \"h\"\nmodel = \"accelerator\"\n"
        ),
        "bad.toml:3: hosts.h.containment: a coherent device below has lines of the host in its cache, which containment would lose; write containment = \"none\""
    );
}

#[test]
fn only_a_slot_has_an_attention_button() {
    assert_eq!(
        incident("at = \"1 us\"\nwhat = \"attention-button\"\nnode = \"d\""),
        "bad.toml:7: incidents \"incident-1\", node: d is in no slot; write slot = \"hot-plug\" at d"
    );
    let slot = refusal("[hosts.h]\n[devices.d]\nupstream = \"h\"\nslot = \"hotplug\"\n");
    assert!(slot.starts_with("bad.toml:4: devices.d.slot"), "{slot}");
    assert!(slot.contains("hot-plug"), "{slot}");
}

#[test]
fn registers_that_a_model_keeps_do_not_go_bad() {
    assert_eq!(
        refusal(
            "[hosts.h]\n[devices.d]\nupstream = \"h\"\nmodel = \"nvme\"\n[[incidents]]\nat = \"1 us\"\nwhat = \"poison\"\nnode = \"d\"\nsize = \"64 B\"\n"
        ),
        "bad.toml:8: incidents \"incident-1\", node: the registers of d belong to its model; write the name of another node, or let the model do it"
    );
}

#[test]
fn drivers_are_told_only_where_there_are_any() {
    let out = "at = \"1 us\"\nwhat = \"surprise-removal\"\nnode = \"d\"\n[[incidents]]\n";
    for (before, what, line) in [
        ("", "secondary-bus-reset", 8),
        ("", "enable-link", 8),
        (out, "insertion", 12),
    ] {
        let name = if before.is_empty() { 1 } else { 2 };
        assert_eq!(
            incident(&format!(
                "{before}at = \"2 us\"\nwhat = \"{what}\"\nnode = \"d\"\ndrivers = true"
            )),
            format!(
                "bad.toml:{line}: incidents \"incident-{name}\", drivers: no driver of the host works with d or a device below it; leave it out, or write the name of a device with model = \"sg-dma\", \"nvme\", \"block-dma\" or \"accelerator\""
            )
        );
    }
}

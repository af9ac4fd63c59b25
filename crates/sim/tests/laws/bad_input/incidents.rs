//! What can be wrong with an incident.

use super::refusal;

/// A host with a device, and an incident on the lines from 4 on.
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

//! Errors in workloads of networks.

use super::networks::{bad_network, flow, two};

/// Returns the error of an open-loop workload on a 4x4 torus. The entry begins on line 5, and `added` begins on line 9.
fn workload(added: &str) -> String {
    let traffic =
        format!("[[traffic]]\nnetwork = \"n\"\nload = \"1 GB/s\"\nduration = \"1 us\"\n{added}\n");
    bad_network("size = \"4x4\"", "", &traffic)
}

#[test]
fn a_key_that_would_do_nothing_is_refused() {
    assert_eq!(
        workload("hot_share = 0.5"),
        "bad.toml:9: traffic \"traffic-1\", hot_share: there is one only where pattern = \"hot-spot\"; write that, or leave it out"
    );
}

#[test]
fn a_workload_says_how_much_and_how_long() {
    let of = |line: &str| {
        bad_network(
            "size = \"4x4\"",
            "",
            &format!("[[traffic]]\nnetwork = \"n\"\n{line}\n"),
        )
    };
    let load = "write load = \"1 GB/s\" that each node offers";
    assert_eq!(
        of("duration = \"1 us\""),
        format!("bad.toml:5: traffic \"traffic-1\", load: there is none; {load}")
    );
    assert_eq!(
        of("duration = \"1 us\"\nload = \"0 GB/s\""),
        format!("bad.toml:8: traffic \"traffic-1\", load: it is 0, and must be more; {load}")
    );
    let duration = "write duration = \"100 us\"";
    assert_eq!(
        of("load = \"1 GB/s\""),
        format!("bad.toml:5: traffic \"traffic-1\", duration: there is none; {duration}")
    );
    assert_eq!(
        of("load = \"1 GB/s\"\nduration = \"0 us\""),
        format!(
            "bad.toml:8: traffic \"traffic-1\", duration: it is 0, and must be more; {duration}"
        )
    );
    assert_eq!(
        workload("message = \"1 B\"\narrivals = \"bernoulli\""),
        "bad.toml:7: traffic \"traffic-1\", load: a trial each cycle can't make so many messages; write less, or arrivals = \"poisson\""
    );
}

#[test]
fn a_workload_goes_where_it_can() {
    assert_eq!(
        workload("pattern = \"hot-spot\"\nhot_node = 16"),
        "bad.toml:10: traffic \"traffic-1\", hot_node: there is no node 16; write one from 0 to 15"
    );
    assert_eq!(
        workload("hot_share = 1.5"),
        "bad.toml:9: traffic 1.hot_share: 1.5 is out of range; write a value from 0 up to 1"
    );
    let workload = |size: &str, line: &str| {
        bad_network(
            size,
            "bar = \"4 KiB\"",
            &format!(
                "[[traffic]]\nnetwork = \"n\"\nload = \"1 GB/s\"\nduration = \"1 us\"\n{line}\n"
            ),
        )
    };
    for size in ["4x2", "4"] {
        assert_eq!(
            workload(&format!("size = \"{size}\""), "pattern = \"transpose\""),
            "bad.toml:9: traffic \"traffic-1\", pattern: only a network whose first two sides are equal can be transposed; write another pattern, or such a size"
        );
    }
    assert_eq!(
        workload("", "from = \"routers\"\nmessage = \"1537 B\""),
        "bad.toml:10: traffic \"traffic-1\", message: 1537 B is over the 1536 B that one packet of these routers carries (packet_size), or that an aperture shows; write less"
    );
    assert_eq!(
        workload("", "to = \"routers\"\nmessage = \"8 KiB\""),
        "bad.toml:10: traffic \"traffic-1\", message: 8 KiB is more than the 4 KiB of n-0-0, where it goes; write less, or a larger bar or memory there"
    );
}

#[test]
fn a_workload_has_a_network_and_a_name_of_its_own() {
    let traffic =
        |network: &str| format!("[[traffic]]\n{network}\nload = \"1 GB/s\"\nduration = \"1 us\"\n");
    assert_eq!(
        two(&traffic("network = \"x\"")),
        "bad.toml:13: traffic \"traffic-1\", network: there is no network \"x\"; write \"r0\""
    );
    assert_eq!(
        two(&traffic("network = \"r9\"")),
        "bad.toml:13: traffic \"traffic-1\", network: there is no network \"r9\"; did you mean \"r0\"?"
    );
    assert_eq!(
        two(&traffic("")),
        "bad.toml:12: traffic 1: there is no network; write network = \"NAME\" of one under [networks]"
    );
    assert_eq!(
        two(&traffic("network = \"r0\"\npattern = \"neighbour\"")),
        "bad.toml:14: traffic \"traffic-1\", pattern: this network has no coordinates; write \"uniform\" or \"hot-spot\", or a [networks.NAME] with a size"
    );
    let named = traffic("network = \"r0\"\nid = \"t\"").repeat(2);
    assert_eq!(
        two(&named),
        "bad.toml:19: traffic \"t\": this id is already on line 14; write another one"
    );
    let both = traffic("network = \"r0\"\nid = \"f\"") + &flow("r0", "r1", "");
    assert_eq!(
        two(&both),
        "bad.toml:14: traffic \"f\": this id is already on line 18; write another one"
    );
}

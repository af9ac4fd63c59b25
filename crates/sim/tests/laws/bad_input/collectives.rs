//! Errors in collectives.

use super::networks::{bad_network, two};

/// Returns the error of a collective on a 4x4 torus. The entry begins on line 5, and `added` begins on line 7.
fn collective(added: &str) -> String {
    let text = format!("[[collectives]]\nnetwork = \"n\"\n{added}\n");
    bad_network("size = \"4x4\"", "", &text)
}

#[test]
fn a_collective_fits_its_network() {
    assert_eq!(
        collective("size = \"100 B\""),
        "bad.toml:7: collective \"collective-1\", size: 100 B are not a whole number of 32-bit words for each of 16 nodes; write \"128 B\""
    );
    assert_eq!(
        collective("size = \"2 MiB\""),
        "bad.toml:7: collective \"collective-1\", size: 2 MiB of memory are needed in each router, and other nodes see 1 MiB; write aperture = \"2 MiB\" for its routers, or a smaller size"
    );
    assert_eq!(
        collective("size = \"128 KiB\""),
        "bad.toml:7: collective \"collective-1\", size: 128 KiB of memory are needed in each router, and n-0-0 has less; write bar = \"128 KiB\" for its routers, or a smaller size"
    );
    assert_eq!(
        collective("operation = \"halo\"\nsize = \"1 GiB\""),
        "bad.toml:8: collective \"collective-1\", size: 8 GiB of memory are needed in each router, and other nodes see 1 MiB; write a smaller size"
    );
    assert_eq!(
        collective("operation = \"halo\"\nalgorithm = \"ring\""),
        "bad.toml:8: collective \"collective-1\", algorithm: a halo exchange has none; leave it out, or write operation = \"all-reduce\""
    );
    assert_eq!(
        collective("iterations = 2"),
        "bad.toml:7: collective \"collective-1\", iterations: an all-reduce is made once; leave it out, or write another collective"
    );
    let torus = "[networks.torus]\nshape = \"torus\"\nsize = \"4x4\"\n";
    assert_eq!(
        two(&format!("{torus}[[collectives]]\nnetwork = \"tours\"\n")),
        "bad.toml:16: collective \"collective-1\", network: there is no generated network \"tours\"; did you mean \"torus\"?"
    );
    assert_eq!(
        two("[[collectives]]\nnetwork = \"r0\"\n"),
        "bad.toml:13: collective \"collective-1\", network: there is no generated network \"r0\"; there is none; write [networks.NAME]"
    );
    assert_eq!(
        two("[[collectives]]\n"),
        "bad.toml:12: collectives 1: there is no network; write network = \"NAME\" of one under [networks]"
    );
}

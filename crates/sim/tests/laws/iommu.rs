//! A host that translates the addresses of all requests from below.

use crate::fixture::*;

/// A device below a host with an I/O MMU, with a flow.
fn machine(host: &str, flow: &str) -> String {
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n{HOST}memory = \"64 MiB\"\n{host}\n[devices.d]\nupstream = \"h0\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\n{flow}\n"
    )
}

/// Time of a lookup, and of a read of a descriptor: a line of memory and the latency of a read.
const LOOKUP: f64 = 3.0;
const DESCRIPTOR: f64 = 82.5;

#[test]
fn a_request_waits_for_a_read_of_each_level_of_the_page_table() {
    for direction in ["write", "read"] {
        let flow = format!("direction = \"{direction}\"\ncount = 1\nrequest_size = \"64 B\"");
        let latency = |host: &str| latency(&machine(host, &flow));
        for (page, levels) in [("4 KiB", 4.0), ("64 KiB", 4.0), ("2 MiB", 3.0)] {
            let host = format!("iommu = true\niommu_page = \"{page}\"");
            let more = latency(&host) - latency("");
            // A packet begins with a symbol of the link, so a fraction of a nanosecond is lost.
            close(more, LOOKUP + levels * DESCRIPTOR, 0.3);
        }
    }
}

#[test]
fn a_request_beyond_the_mapped_memory_is_unsupported() {
    for direction in ["write", "read"] {
        let flow = format!(
            "direction = \"{direction}\"\nsize = \"16 KiB\"\noffset = \"1 MiB\"\nrequest_size = \"256 B\""
        );
        let host = |mapped: &str| format!("iommu = true\niommu_mapped = \"{mapped}\"");
        run(&machine(&host("1040 KiB"), &flow)).all_intact();
        let result = run(&machine(&host("1032 KiB"), &flow));
        assert!(!result.flow("f").intact);
        assert_eq!(result.errors("h0", "unsupported request"), 32);
    }
}

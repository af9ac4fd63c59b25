//! Built-in profiles of hosts: the parameters of root ports and of the root complex that are stated in documents.
//!
//! A document that describes a host only as a whole, for example by a measured latency, gives no profile, because its figures are results.

use link::Profile;

/// All built-in profiles of hosts.
pub fn host_profiles() -> &'static [Profile] {
    PROFILES
}

link::profiles! {
    "intel-xeon-c5500": "Integrated I/O of Intel Xeon C5500 and C3500 processors, root port of 16 lanes, up to 5 GT/s; of 8 lanes, half of the credits and tags." {
        posted_headers = "64", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: PRH 64 (x16)";
        posted_data = "5120 B", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: PRD 320 (x16)";
        nonposted_headers = "72", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: NPRH 72 (x16)";
        nonposted_data = "64 B", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: NPRD 4";
        completion_headers = "0", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: CPH infinite advertized";
        completion_data = "0 B", from "Intel 323103, table PCI Express Credit Mapping for Inbound Requests: CPD infinite advertized";
        update_fc_refresh = "28 us", from "Intel 323103, Flow Control Credit Return by IIO: Update_FCs if none was sent in the past say 28 usec";
        writes_per_ownership = "2", from "Intel 323103, Write Cache, Eviction Policy: only 2 writes may combine";
        ten_bit_tag_completer = "false", from "Intel 323103, of 2010: root ports of PCI Express Base 2.0; 10-bit tags came with 4.0";
        tags = "64", from "Intel 323103, Number of Outbound Non-posted Requests: x16 supports 64";
        peer_to_peer = "all", from "Intel 323103, Peer-to-Peer Ordering Rules: the IIO supports peer-to-peer read and write transactions";
    }
    "ti-am69": "Root port of Texas Instruments AM69 and TDA4VH processors, up to 8 GT/s x4." {
        max_payload_supported = "256 B", from "TI SPRUJ52C, PCIe subsystem, main features: maximum payload size of 256 bytes";
        tags = "32", from "TI SPRUJ52C, PCIe subsystem, main features: maximum number of non-posted outstanding transactions: 32";
        ports = "4", from "TI SPRUJ52C, PCIe subsystem, main features: up to 4x2 or 2x4 lanes";
    }
    "ti-am64x": "Root port of Texas Instruments AM64x processors, up to 5 GT/s x1." {
        max_payload_supported = "128 B", from "TI SPRUIM2H, PCIe subsystem, main features: maximum payload size of 128 bytes";
        tags = "8", from "TI SPRUIM2H, PCIe subsystem, main features: maximum number of non-posted outstanding transactions: 8";
        ports = "1", from "TI SPRUIM2H, PCIe subsystem, main features: 1-lane configuration";
        memory_bandwidth = "3.2 GB/s", from "TI SPRSP56F, table 7-36: a cycle of the DDR clock takes 1.25 ns at least; of its 16-bit DDR4 and LPDDR4";
    }
}

#[cfg(test)]
mod tests {
    use link::PortParameters;

    use super::*;
    use crate::RootComplexParameters;

    #[test]
    fn every_profile_sets_only_what_a_root_port_or_a_host_has() {
        for profile in host_profiles() {
            let mut port = PortParameters::default();
            let mut host = RootComplexParameters::default();
            profile.apply(&mut port);
            profile.apply(&mut host);
            assert_eq!(
                profile.unknown(&[&port, &host]),
                [""; 0],
                "{}",
                profile.name
            );
        }
    }
}

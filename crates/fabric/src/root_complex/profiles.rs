//! Built-in profiles of hosts: the parameters of root ports and of the root complex that documents state.
//!
//! The source of a value is a document, which includes the sources of an operating system or of a vendor's library, and the registers that a
//! part shows. A source that begins with "measured" names the figure from which the value comes. That figure does not judge the profile any
//! more. A host for which fewer than three values have a source has no profile.

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
    "amd-threadripper-pro-7955wx": "AMD Ryzen Threadripper PRO 7955WX, one socket, root ports of 16 lanes, up to 32 GT/s." {
        quadrants = "4", from "measured: root buses 00, 20, 40 and e0 (rtx6kpro, hardware/collapse-report.md); the authors call them quadrants";
        ports = "8", from "measured: two root ports of 16 lanes on each root bus (rtx6kpro, hardware/collapse-report.md)";
        quadrant_bandwidth = "77 GB/s", from "measured: two links of 16 lanes in one quadrant read 73.1 GB/s of memory together and write 72.9 GB/s (rtx6kpro, hardware/wrx90-cpayne-8gpu-root-topology-comparison.md), here with the headers of packets of 256 B";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c, cpu_supports_p2pdma: any pair of root ports from AMD family 17h on";
    }
    "amd-epyc-rome": "AMD EPYC 7002 (Rome), one socket or two, root ports of 16 lanes, up to 16 GT/s." {
        quadrants = "4", from "Dell and HPC Advisory Council on EPYC 7002: four quadrants in a socket; a device belongs to the quadrant of its root port";
        ports = "8", from "notes on the Processor Programming Reference (grantcurell.com): four NBIO, each with two controllers of 16 lanes";
        memory_bandwidth = "204.8 GB/s", from "servethehome.com on EPYC 7002: eight channels of DDR4-3200";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c, cpu_supports_p2pdma: any pair of root ports from AMD family 17h on";
    }
    "amd-epyc-genoa": "AMD EPYC 9004 (Genoa), one socket or two, root ports of 16 lanes, up to 32 GT/s." {
        max_payload_supported = "512 B", from "linux-pci, 2023, PCI: pciehp: Add support for async hotplug, kernel log below root port 1022:14ab: Max Payload Size set to 512";
        quadrants = "4", from "AMD esmi_ib_library: NBIO 0 to 3 of each socket";
        ports = "8", from "AMD esmi_ib_library: links P0 to P3 and G0 to G3 of 16 lanes";
        memory_bandwidth = "460.8 GB/s", from "hpctech.co.jp on EPYC 9004: twelve channels of DDR5-4800";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c, cpu_supports_p2pdma: any pair of root ports from AMD family 17h on";
    }
    "amd-epyc-turin": "AMD EPYC 9005 (Turin), one socket or two, root ports of 16 lanes, up to 32 GT/s." {
        quadrants = "8", from "Linux, tools/perf/pmu-events/arch/x86/amdzen5/data-fabric.json: IO Root Complex 0 to 7 of a socket; each is taken as a quadrant";
        ports = "8", from "AMD esmi_ib_library: links P0 to P3 and G0 to G3 of 16 lanes";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c, cpu_supports_p2pdma: any pair of root ports from AMD family 17h on";
    }
    "intel-haswell-e": "Intel Core i7-5960X, root port of the generation of Xeon E5 v3, up to 8 GT/s." {
        max_payload_supported = "256 B", from "registers of its root ports (ROCm/legacy-rocm-build#93): DevCap MaxPayload 256 bytes";
        read_completion_boundary = "64 B", from "registers of its root ports (ROCm/legacy-rocm-build#93): RCB 64 bytes";
        ari_forwarding = "true", from "registers of its root ports (ROCm/legacy-rocm-build#93): ARIFwd+";
        ten_bit_tag_completer = "false", from "its root ports are of PCI Express Base 3.0; 10-bit tags came with 4.0";
    }
    "intel-skylake-sp": "Intel Xeon Scalable processors, first generation (Skylake-SP), up to 8 GT/s." {
        largest_peer_payload = "64 B", from "NVIDIA NCCL, src/graph/topo.h: Intel CPUs hand on peer-to-peer packets with 64 B";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c: host bridges 8086:2030 to 2033 and 2020, also two different ones";
        memory_bandwidth = "128 GB/s", from "ISSCC 2018, Skylake-SP: six channels of DDR4-2666";
        ten_bit_tag_completer = "false", from "its root ports are of PCI Express Base 3.0; 10-bit tags came with 4.0";
    }
    "intel-ice-lake-sp": "Intel Xeon Scalable processors, third generation (Ice Lake-SP), root port 8086:347a, up to 16 GT/s." {
        max_payload_supported = "512 B", from "registers of a root port 8086:347a (public lspci dump): DevCap MaxPayload 512 bytes";
        read_completion_boundary = "64 B", from "registers of a root port 8086:347a (public lspci dump): RCB 64 bytes";
        ten_bit_tag_completer = "true", from "registers of a root port 8086:347a (public lspci dump): 10BitTagComp+";
        ari_forwarding = "true", from "registers of a root port 8086:347a (public lspci dump): ARIFwd+";
        largest_peer_payload = "64 B", from "NVIDIA NCCL, src/graph/topo.h: Intel CPUs hand on peer-to-peer packets with 64 B";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c: host bridges of processors with 8086:09a2, also two different ones";
        socket_latency = "26.75 ns", from "measured: half of the difference of a load from the other socket, 142.7 ns, and a local one, 89.2 ns (Intel Memory Latency Checker, gjbex/Code-optimization, icelake_mlc.txt)";
        socket_bandwidth = "55.7 GB/s", from "measured: reads from the other socket, 55.7 GB/s (Intel Memory Latency Checker, gjbex/Code-optimization, icelake_mlc.txt)";
        memory_bandwidth = "175.7 GB/s", from "measured: reads of the memory of one socket, 175.7 GB/s (Intel Memory Latency Checker, gjbex/Code-optimization, icelake_mlc.txt)";
    }
    "intel-sapphire-rapids": "Intel Xeon Scalable processors, fourth generation (Sapphire Rapids), root port 8086:352a, up to 32 GT/s." {
        read_completion_boundary = "64 B", from "registers of a root port 8086:352a (linux-pci mail): RCB 64 bytes";
        largest_peer_payload = "64 B", from "NVIDIA NCCL, src/graph/topo.h: Intel CPUs hand on peer-to-peer packets with 64 B";
        peer_to_peer = "all", from "Linux, drivers/pci/p2pdma.c: host bridges of processors with 8086:09a2, also two different ones";
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

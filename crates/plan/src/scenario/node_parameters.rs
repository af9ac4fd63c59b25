//! Parameters that every host, I/O port, switch and device has.

use kernel::Bytes;

use super::{Code, PhaseTable, PortArbitration, Slot, VcArbitration};

kernel::parameters! {
    /// Parameters that every host, I/O port, switch and device has.
    pub struct NodeParameters {
        /// Max payload size in Device Control, set after enumeration as `setpci` would; none keeps the choice of enumeration.
        max_payload: Option<Bytes> = None, lifts "payload" to ["256 B", "512 B", "1024 B"], from "the largest size that the root port and all functions below it support, as firmware chooses";
        /// Whether the max payload size of this node may intentionally differ from the size at the other end of a link. The end with the smaller size
        /// treats larger packets as malformed, so a difference is an error of the scenario if this is false.
        max_payload_mismatch: bool = false, from "our choice; PCIe Base 7.5.3.4: software sets sizes that every packet on a path fits";
        /// Memory Space Enable in the Command register, set after enumeration; without it, requests to the function's addresses, or to
        /// addresses below a port, are unsupported requests.
        memory_enable: bool = true, from "as firmware leaves it";
        /// 10-Bit Tag Requester Enable in Device Control 2, set after enumeration; none keeps the choice of enumeration. A device with more
        /// than 256 tags has the bit.
        ten_bit_tags: Option<bool> = None, from "PCIe Base 2.2.6.2: firmware sets it where all completers support such tags";
        /// Enable Relaxed Ordering in Device Control, set after enumeration; without it, requests do not have this attribute. For a host, it is set
        /// in its root ports, and their registers apply to the requests of its CPU.
        relaxed_ordering_enable: bool = true, lifts "order" to ["true"], from "PCIe Base 7.5.3.4: set after reset, and firmware leaves it";
        /// Enable No Snoop in Device Control, set after enumeration; without it, requests do not have this attribute.
        no_snoop_enable: bool = true, from "PCIe Base 7.5.3.4: set after reset, and firmware leaves it";
        /// IDO Request Enable in Device Control 2, set after enumeration; without it, requests have no attribute of ID-based ordering.
        id_ordering_enable: bool = false, from "PCIe Base 7.5.3.16: clear after reset, and firmware leaves it";
        /// IDO Completion Enable in Device Control 2, set after enumeration: all completions of the node have the attribute of ID-based ordering.
        id_ordering_completion_enable: bool = false, from "PCIe Base 7.5.3.16: clear after reset, and firmware leaves it";
        /// PASID Enable in the PASID capability of a device, set after enumeration; none keeps the choice of enumeration. Without it, requests
        /// have no PASID prefix.
        pasid_enable: Option<bool> = None, from "our choice: firmware sets it where all ports up to the root support prefixes";
        /// Arbitration among VC0 and the channels of its low-priority group, at every port: "round-robin", or "wrr-32", "wrr-64" or
        /// "wrr-128" with as many phases in vc_arbitration_table. None keeps the arbitration after reset.
        vc_arbitration: Option<VcArbitration> = None, from "PCIe Base 7.9.1.4: fixed in hardware after reset; here round robin";
        /// The VC of each phase of a weighted arbitration, such as "0*24 1*8" or "(0 0 0 1)*8"; each phase is one packet.
        vc_arbitration_table: Option<PhaseTable> = None, from "each weighted arbitration";
        /// Arbitration among the ports whose packets leave by one channel of a port, at every channel and every port besides those with
        /// a port_arbitration_above: "round-robin", or
        /// "wrr-32" to "wrr-256" with as many phases in port_arbitration_table. None keeps the arbitration after reset, which uses the
        /// weights of links.
        port_arbitration: Option<PortArbitration> = None, from "PCIe Base 7.9.1.8: fixed in hardware after reset; here round robin";
        /// The port of each phase: 0 for the upstream port of a switch, and 1, 2 and so on for its downstream ports in order; 0, 1 and so on for the
        /// root ports of a host. Packets that the switch or host makes itself have one additional phase besides the table.
        port_arbitration_table: Option<PhaseTable> = None, from "each weighted arbitration";
        /// Port arbitration at the port directly above this node, instead of the port_arbitration of the switch or host above. None: the port uses
        /// the port_arbitration of the switch or host.
        port_arbitration_above: Option<PortArbitration> = None, from "our choice: one table for all ports of a node";
        /// The port of each phase of port_arbitration_above, numbered as in port_arbitration_table.
        port_arbitration_table_above: Option<PhaseTable> = None, from "each weighted arbitration";
        /// Whether the other downstream ports of the switch or host above block peer-to-peer requests for this node and for all below it:
        /// the bit of its port in their Egress Control Vectors, with P2P Egress Control in ACS Control. Such a request is an ACS Violation,
        /// or goes to the root if the port also redirects.
        acs_egress_control: bool = false, from "PCIe Base 6.12: off after reset";
        /// The kind of slot that the node is in, below the port above: "none" for no hot plug; "hot-plug" for a slot with an attention button and a
        /// power controller; or "surprise" if the node may also be removed without notice, so that Surprise Down is no error.
        slot: Slot = Slot::Fixed, from "our choice: no hot plug";
        /// Vendor ID of every function, such as "0x10ee"; if none is written, the ID of a common product.
        vendor_id: Option<Code> = None, within None..=Some(Code(0xfffe)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Device ID of every function; if none is written, the ID of a common product.
        device_id: Option<Code> = None, within None..=Some(Code(0xffff)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Class code of a device: base class, subclass and programming interface, such as "0x020000" for Ethernet.
        class_code: Option<Code> = None, within None..=Some(Code(0xff_ffff)), from "0x120000, a processing accelerator";
    }
}

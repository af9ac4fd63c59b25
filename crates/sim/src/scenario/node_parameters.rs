//! Parameters that every host, I/O port, switch and device has.

use kernel::Bytes;

use super::Code;

kernel::parameters! {
    /// Parameters that every host, I/O port, switch and device has.
    pub struct NodeParameters {
        /// Max payload size in Device Control, set after enumeration as `setpci` would; none keeps the choice of enumeration.
        max_payload: Option<Bytes> = None, from "the smallest supported in the tree, as firmware chooses";
        /// Memory Space Enable in the Command register, set after enumeration; without it, requests to the function's addresses, or to
        /// addresses below a port, are unsupported requests.
        memory_enable: bool = true, from "as firmware leaves it";
        /// Whether the other downstream ports of the switch or host above block peer-to-peer requests for this node and for all below it:
        /// the bit of its port in their Egress Control Vectors, with P2P Egress Control in ACS Control. Such a request is an ACS Violation,
        /// or goes to the root if the port also redirects.
        acs_egress_control: bool = false, from "PCIe Base 6.12: off after reset";
        /// Vendor ID of every function, such as "0x10ee"; if none is written, that of a common product.
        vendor_id: Option<Code> = None, within None..=Some(Code(0xfffe)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Device ID of every function; if none is written, that of a common product.
        device_id: Option<Code> = None, within None..=Some(Code(0xffff)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Class code of a device: base class, subclass and programming interface, such as "0x020000" for Ethernet.
        class_code: Option<Code> = None, within None..=Some(Code(0xff_ffff)), from "0x120000, a processing accelerator";
    }
}

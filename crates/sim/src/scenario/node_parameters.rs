//! Parameters of every host, switch and device.

use kernel::Bytes;

use super::Code;

kernel::parameters! {
    /// What every host, switch and device may set besides its own parameters.
    pub struct NodeParameters {
        /// Max payload size in Device Control, set after enumeration as `setpci` would; none leaves what enumeration chose.
        max_payload: Option<Bytes> = None, from "the smallest supported in the tree, as firmware chooses";
        /// Memory Space Enable in the Command register, set after enumeration: without it requests to its addresses, or to
        /// those below a port, are unsupported requests.
        memory_enable: bool = true, from "as firmware leaves it";
        /// Vendor ID of every function, such as "0x10ee"; none for that of a common model of the kind.
        vendor_id: Option<Code> = None, within None..=Some(Code(0xfffe)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Device ID of every function.
        device_id: Option<Code> = None, within None..=Some(Code(0xffff)), from "PLX switches, Xilinx devices, QEMU hosts";
        /// Class code of a device: base class, subclass and programming interface, such as "0x020000" for Ethernet.
        class_code: Option<Code> = None, within None..=Some(Code(0xff_ffff)), from "0x120000, a processing accelerator";
    }
}

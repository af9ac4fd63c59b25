//! Parameters of the PCI Express core of every device.

use kernel::{Bytes, Frequency, Quantity, Span, Value};
use protocol::{AddressSpaces, Bar, MsixTable, SrIov, TrafficClass};
use transaction::{CompletionBuffer, Datapath, OutstandingLimits};

kernel::parameters! {
    /// The parameters of a device's PCI Express core.
    pub struct EndpointParameters {
        /// Size of BAR 0, a power of two; "0 B" for none.
        bar: Bytes = Bytes(64 * 1024), from "a common choice";
        /// Address width of BAR 0 and of the virtual functions' BAR 0: 32 for below 4 GiB, 64 for any address; none for 64 if the BAR is larger than
        /// 256 MiB, otherwise 32.
        bar_address_bits: Option<u32> = None, among [None, Some(32), Some(64)], from "our choice: hosts have 1 GiB or so for 32-bit BARs; PCIe Base 7.5.1.2.1";
        /// Number of virtual functions (SR-IOV). They are functions 1 and up of the device; more than 7 need ARI Forwarding at the port
        /// above, or else take the next bus number. Firmware enables them, as the driver of function 0 would; 0 for no SR-IOV.
        virtual_functions: u32 = 0, within 0..=255, from "our choice: none; PCIe Base 6.13: a device has up to 256 functions";
        /// Size of BAR 0 of each virtual function, a power of two.
        virtual_bar: Bytes = Bytes(4096), from "PCIe Base 9.3.3.14: a system page";
        /// Number of MSI vectors that each function requests.
        msi_vectors: u32 = 1, among [1, 2, 4, 8, 16, 32], from "PCIe Base 7.7.1.2";
        /// Number of entries of the MSI-X table of each function; 0 for no MSI-X. Firmware then enables MSI-X instead of MSI, and
        /// drivers write the entries before they use the device.
        msix_vectors: u32 = 0, within 0..=2048, from "our choice: MSI only; PCIe Base 7.7.2.2: 1 to 2048";
        /// BAR with the MSI-X table and its pending bits. 0 places them at the end of BAR 0, and of each virtual function's BAR 0; another
        /// number selects a BAR that contains nothing else.
        msix_bar: u32 = 0, within 0..=5, from "our choice: no other BAR; PCIe Base 7.7.2.3";
        /// Offset of the MSI-X table in its BAR, a multiple of 8. With none, the table is at the beginning of a BAR of its own. In BAR 0, it is
        /// then at the beginning of the last 4 KiB blocks, as many as table and pending bits need.
        msix_table: Option<Bytes> = None, within None..=Some(Bytes((4 << 30) - 8)), from "PCIe Base 7.7.2: in a range of 4 KiB of its own";
        /// Offset of the pending bits in the BAR of the MSI-X table, a multiple of 8. With none, they are 2 KiB after the beginning of the
        /// table, or, if the table has more than 128 entries, at the first multiple of 4 KiB after its beginning that is behind the table.
        msix_pending: Option<Bytes> = None, within None..=Some(Bytes((4 << 30) - 8)), from "our choice: beside the table";
        /// Traffic class of the messages of interrupts, MSI and MSI-X. Messages of another class than the data before them may overtake it.
        interrupt_traffic_class: u32 = 0, within 0..=7, from "our choice: that of data; PCIe Base 6.1.4: the function may use any class";
        /// Largest payload of the engine's memory writes, where it is less than Max_Payload_Size; none for Max_Payload_Size.
        write_payload: Option<Bytes> = None, among [None, Some(Bytes(64)), Some(Bytes(128)), Some(Bytes(256)), Some(Bytes(512)), Some(Bytes(1024)), Some(Bytes(2048))], lifts "payload" to ["none"], ranges ["128 B", "none"], from "our choice: packets as large as Max_Payload_Size permits; every engine can send its least value, 128 B, and need not send more (PCIe Base 2.2.2)";
        /// Max read request size in Device Control.
        max_read_request: Bytes = Bytes(512), lifts "tags" to ["4096 B"], from "PCIe Base 7.5.3.4, the default";
        /// Time that a function level reset takes. During this time the function drops the packets that arrive.
        function_level_reset_time: Span = Span::from_us(100), within Span::ZERO..=Span::from_us(100_000), from "our choice; PCIe Base 6.6.2: at most 100 ms";
        /// Completion timeout of non-posted requests. Device Control 2 has the range of times that contains it. If software selects another
        /// range, the timeout is the time of that range that is nearest to this value. If this value is between two ranges, Device Control 2 has
        /// the longer range.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
        /// Time after the timeout of a non-posted request during which its tag is not used again, so that its late completion is unexpected
        /// instead of the answer to another request.
        tag_quarantine: Span = Span::from_us(50_000), within Span::ZERO..=Span::from_us(50_000), from "PCIe Base 2.8: the longest time to a timeout in the default range, so that what comes later is lost to every requester";
        /// Size of the completion buffer of each function; none for no limit. A function has no more requests outstanding than fit into the
        /// buffer. A request occupies its space until its completions have reached the engine.
        completion_buffer: Option<Bytes> = None, within None..=Some(Bytes(1 << 30)), lifts "outstanding", from "our choice: tags are the limit. Intel P-Tile Avalon Streaming user guide, Completion Buffer Size: 1444 entries of 256 bits; AMD PG213, Completion Space: 32,768 B";
        /// Number of completions for which the completion buffer of each function has space; none for no limit. A request occupies the space of
        /// as many completions as it may be divided into, at multiples of 64 bytes.
        completion_buffer_headers: Option<u32> = None, within None..=Some(65536), lifts "outstanding", from "our choice: tags are the limit. Intel P-Tile Avalon Streaming user guide, Completion Buffer Size: 1144; AMD PG213, Completion Space: 128";
        /// Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported in Device Capabilities 2. Without it, firmware
        /// enables 10-bit tags at no device of the host, because each may send requests to this one.
        ten_bit_tag_completer: bool = true, from "PCIe Base 2.2.6.2: required from 16 GT/s on";
        /// Width in bits of the PASIDs that the functions can use: Max PASID Width in the PASID capability; none for no capability. The PASID of
        /// a request identifies the process whose addresses it uses. Firmware enables the capability if all ports up to the root port have
        /// `tlp_prefixes`.
        pasid_width: Option<u32> = None, within None..=Some(20), from "our choice: no capability; PCIe Base 6.20: optional";
        /// Whether the functions can request permission to execute the data that they read: Execute Permission Supported.
        pasid_execute: bool = false, from "PCIe Base 6.20: optional";
        /// Whether the functions can send requests of privileged software: Privileged Mode Supported.
        pasid_privileged: bool = false, from "PCIe Base 6.20: optional";
        /// Engine behind the core: "model", or "rtl" for a circuit in SystemVerilog that takes the place of the model. None is "rtl" for a
        /// device with a `circuit`, and "model" for all others. The circuit's beats have the width of `datapath`, and its clock is `clock`.
        implementation: Option<Implementation> = None, from "our choice: faster, and always there";
        /// Circuit of a library that --circuit loads, or of gateware/circuits.toml; none for the model's own circuit. Another circuit than the
        /// model's own receives the packets for the device's BARs, but no driver supports its registers.
        circuit: Option<String> = None, from "our choice: the circuit that does what the model does";
        /// Times, from the beginning of the run, between which the circuit's signals are written to DEVICE.vcd in the current folder,
        /// such as "10 us..12 us"; of a circuit only.
        waves: Option<Window> = None, from "our choice: slow, and large";
        /// Clock of the datapath between engine and core.
        clock: Frequency = Frequency(250_000_000), within Frequency(1_000_000)..=Frequency(10_000_000_000), lifts "datapath", ranges ["250 MHz", "500 MHz"], from "common for FPGA cores at the full rate of their link: 250 MHz in AMD PG213, up to 500 MHz in Intel 683501 (R-Tile)";
        /// Bytes that the datapath takes from the engine each cycle, headers and payloads in whole beats; "0 B" for no limit.
        datapath: Bytes = Bytes(0), within Bytes(0)..=Bytes(1024), lifts "datapath" times [2, 4, 8], from "our choice: the link is the limit";
        /// Idle cycles of the datapath between two packets of the engine.
        idle_cycles: u32 = 0, within 0..=1000, from "our choice: none";
        /// Distance between the positions in a beat of the datapath at which a packet of the engine may begin if the previous packet ends in
        /// this beat; "0 B" if each packet begins with a beat.
        straddling: Bytes = Bytes(0), within Bytes(0)..=Bytes(512), from "our choice: none. AMD PG213, 512-bit requester request interface: an option, at bytes 0 and 32";
        /// Bytes that the datapath passes to the engine each cycle, headers and payloads in whole beats; "0 B" for no limit. A packet occupies
        /// the receive buffer until its last beat has passed. `datapath` is for sending only, as in the documents for device profiles.
        receive_datapath: Bytes = Bytes(0), within Bytes(0)..=Bytes(1024), lifts "datapath" times [2, 4, 8], from "our choice: the link is the limit";
        /// Idle cycles of the datapath between two packets for the engine.
        receive_idle_cycles: u32 = 0, within 0..=1000, from "our choice: none";
        /// Distance between the positions in a beat of the receive datapath at which a packet for the engine may begin if the previous packet
        /// ends in this beat; "0 B" if each packet begins with a beat.
        receive_straddling: Bytes = Bytes(0), within Bytes(0)..=Bytes(512), from "our choice: none. AMD PG213, 512-bit requester completion interface: an option, at multiples of 16 bytes";
        /// Time from the engine's transfer of a packet to its first bit on the wire. The path is a pipeline: it does not limit the rate.
        send_latency: Span = Span::ZERO, within Span::ZERO..=Span::from_us(1_000), from "our choice: none";
        /// Time from a packet's last bit on the wire to its arrival at the engine, besides its beats on the receive datapath.
        receive_latency: Span = Span::ZERO, from "our choice: none";
        /// Time from a read request's arrival at the engine to the data of its completions.
        read_latency: Span = Span::from_ns(100), lifts "memory", from "our choice: a few cycles of an FPGA";
        /// Largest number of requests that wait for the wire before the engine stops. Requests that pass the send path within `send_latency` do
        /// not count, and completions do not count. While completions wait, the limit is at most 8, or the number of completions if that is
        /// larger.
        send_queue: u32 = 8, within 1..=4096, lifts "datapath", from "our choice: just enough to keep any link busy";
    }
}

/// An interval of time; both times count from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The begin of the interval.
    pub from: Span,
    /// The end of the interval.
    pub to: Span,
}

impl Quantity for Window {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let wanted =
            || "write two times, the earlier one first, such as \"10 us..12 us\"".to_owned();
        let Value::Text(text) = value else {
            return Err(wanted());
        };
        let (from, to) = text.split_once("..").ok_or_else(wanted)?;
        let (from, to) = (
            Span::read(&Value::Text(from.trim()))?,
            Span::read(&Value::Text(to.trim()))?,
        );
        (from < to)
            .then_some(Window { from, to })
            .ok_or_else(wanted)
    }

    fn show(&self) -> String {
        format!("{}..{}", self.from.show(), self.to.show())
    }
}

kernel::choices! {
    /// The engine behind a PCI Express core.
    pub enum Implementation {
        /// The device model.
        Model = "model",
        /// The circuit in SystemVerilog.
        Rtl = "rtl",
    }
}

impl EndpointParameters {
    /// Bits of a beat of the circuit, if a circuit takes the place of the model.
    pub fn circuit_width(&self) -> Option<u32> {
        let bits = match self.datapath.0 as u32 {
            0 => 64,
            bytes => 8 * bytes,
        };
        let implementation = self.implementation;
        let is_circuit =
            implementation.map_or(self.circuit.is_some(), |one| one == Implementation::Rtl);
        is_circuit.then_some(bits)
    }

    /// The key of a setting that cannot work or contradicts another setting, and a text with the error and the correction.
    pub fn contradiction(&self) -> Option<(&'static str, String)> {
        let sides = [
            (
                ["straddling", "datapath", "idle_cycles"],
                [self.straddling, self.datapath],
                self.idle_cycles,
            ),
            (
                [
                    "receive_straddling",
                    "receive_datapath",
                    "receive_idle_cycles",
                ],
                [self.receive_straddling, self.receive_datapath],
                self.receive_idle_cycles,
            ),
        ];
        for ([key, datapath, idle], [Bytes(place), Bytes(beat)], cycles) in sides {
            if place > 0 && (place >= beat || beat % place != 0) {
                let message = format!(
                    "{place} B is no part of a beat of {beat} B; write less than {datapath}, which must be a multiple of it"
                );
                return Some((key, message));
            }
            if place > 0 && cycles > 0 {
                let message = format!(
                    "no packet begins in the beat of another after idle cycles; write {idle} = 0"
                );
                return Some((key, message));
            }
        }
        let buffer = [
            (
                "completion_buffer",
                self.completion_buffer.map(|bytes| bytes.0),
                SMALLEST_READ,
                " B",
            ),
            (
                "completion_buffer_headers",
                self.completion_buffer_headers.map(u64::from),
                SMALLEST_READ / 64 + 1,
                "",
            ),
        ];
        buffer.into_iter().find_map(|(key, size, least, unit)| {
            let size = size.filter(|size| *size < least)?;
            Some((key, format!("{size}{unit} does not hold the completions of a read request of {SMALLEST_READ} B, the smallest max read request size; write {least}{unit} at least")))
        })
    }

    /// The time for which a packet of `bytes` occupies the receive buffer if nothing delays it.
    pub fn held(&self, bytes: u64) -> Span {
        self.receive_latency + self.received_in(bytes)
    }

    /// The time that a packet of `bytes` takes on the datapath to the engine.
    pub fn received_in(&self, bytes: u64) -> Span {
        let (Bytes(width), idle) = (self.receive_datapath, self.receive_idle_cycles);
        Datapath::new(self.clock.period(), width, idle, 0).time_of(bytes)
    }

    /// The time that a packet of `bytes` takes on the datapath from the engine.
    pub fn sent_in(&self, bytes: u64) -> Span {
        let (Bytes(width), idle) = (self.datapath, self.idle_cycles);
        Datapath::new(self.clock.period(), width, idle, 0).time_of(bytes)
    }

    pub(crate) fn completion_buffer(&self) -> CompletionBuffer {
        CompletionBuffer {
            bytes: self.completion_buffer.map(|Bytes(bytes)| bytes),
            headers: self.completion_buffer_headers,
        }
    }

    pub(crate) fn interrupt_class(&self) -> TrafficClass {
        class(self.interrupt_traffic_class)
    }

    /// The limits of outstanding non-posted requests of an engine with `tags` tags.
    pub(crate) fn outstanding(&self, tags: u32) -> OutstandingLimits {
        OutstandingLimits {
            tags: tags as u16,
            completion_timeout: self.completion_timeout,
            tag_quarantine: self.tag_quarantine,
            completion_buffer: self.completion_buffer(),
        }
    }

    /// BAR 0, if there is one.
    pub fn bar(&self) -> Option<Bar> {
        let Bytes(size) = self.bar;
        (size > 0).then_some(Bar {
            index: 0,
            size,
            wide: self.is_wide(size),
        })
    }

    /// Whether a BAR 0 of `size` bytes has a 64-bit address.
    fn is_wide(&self, size: u64) -> bool {
        let bits = self.bar_address_bits;
        bits.map_or(size > LARGEST_NARROW_BAR, |bits| bits == 64)
    }

    /// BAR 0 of a virtual function, if there are any.
    pub fn virtual_bar(&self) -> Option<Bar> {
        (self.virtual_functions > 0).then_some(Bar {
            index: 0,
            size: self.virtual_bar.0,
            wide: self.is_wide(self.virtual_bytes()),
        })
    }

    /// Size of BAR 0 of all virtual functions together.
    pub fn virtual_bytes(&self) -> u64 {
        self.virtual_bar.0 * u64::from(self.virtual_functions)
    }

    /// The PASID capability, if there is one.
    pub fn address_spaces(&self) -> Option<AddressSpaces> {
        self.pasid_width.map(|width| AddressSpaces {
            width: width as u8,
            execute: self.pasid_execute,
            privileged: self.pasid_privileged,
        })
    }

    /// The SR-IOV capability with the VF Device ID `device`, if there are virtual functions.
    pub fn sriov(&self, device: u16, msi_vectors: u8) -> Option<SrIov> {
        let bars = self.virtual_bars()?;
        Some(SrIov {
            total: self.virtual_functions as u8,
            device,
            msix: self.msix(&bars),
            bars,
            msi_vectors,
        })
    }

    /// The BARs of a virtual function, if there are any.
    pub fn virtual_bars(&self) -> Option<Vec<Bar>> {
        let bar = self.virtual_bar()?;
        Some([bar].into_iter().chain(self.msix_bar()).collect())
    }

    /// The MSI-X table of a function in a BAR of this size; none if the function has no MSI-X. The table may be larger than the BAR.
    fn msix_in(&self, size: u64) -> Option<MsixTable> {
        let vectors = u16::try_from(self.msix_vectors).ok()?;
        let place = MsixTable {
            vectors,
            bar: self.msix_bar as u8,
            table: 0,
            pending: 0,
        };
        let behind = if place.table_bytes() <= PAGE / 2 {
            PAGE / 2
        } else {
            place.table_bytes().next_multiple_of(PAGE)
        };
        let whole = (behind + place.pending_bytes()).next_multiple_of(PAGE);
        let begin = match self.msix_bar {
            0 => size.saturating_sub(whole),
            _ => 0,
        };
        let table = self.msix_table.map_or(begin, |Bytes(at)| at);
        let pending = self.msix_pending.map_or(table + behind, |Bytes(at)| at);
        (vectors > 0).then_some(MsixTable {
            table: u32::try_from(table).ok()?,
            pending: u32::try_from(pending).ok()?,
            ..place
        })
    }

    /// The BAR that contains nothing but the MSI-X table of a function and its pending bits, if there is one.
    pub fn msix_bar(&self) -> Option<Bar> {
        let place = self.msix_in(0).filter(|place| place.bar > 0)?;
        let table = u64::from(place.table) + place.table_bytes();
        let pending = u64::from(place.pending) + place.pending_bytes();
        Some(Bar {
            index: place.bar,
            size: table.max(pending).max(PAGE).next_power_of_two(),
            wide: self.bar_address_bits == Some(64) && place.bar < Bar::COUNT as u8 - 1,
        })
    }

    /// The MSI-X table of a function with these BARs; none if the function has no MSI-X, or if the BAR of the table is missing.
    pub fn msix(&self, bars: &[Bar]) -> Option<MsixTable> {
        let bar = bars
            .iter()
            .find(|bar| u32::from(bar.index) == self.msix_bar)?;
        self.msix_in(bar.size)
    }

    /// The reason why the MSI-X table of a function with these BARs cannot have its place, and the key to change.
    pub fn msix_contradiction(&self, bars: &[Bar]) -> Option<(&'static str, String)> {
        if self.msix_vectors == 0 {
            return None;
        }
        let of_bar = |bar: &&Bar| u32::from(bar.index) == self.msix_bar;
        let Some(bar) = bars.iter().find(of_bar) else {
            return Some(("msix_vectors", "there is no BAR 0 for the MSI-X table; write a bar of 8 KiB at least, or msix_bar = 4".to_owned()));
        };
        let Some(place) = self.msix_in(bar.size) else {
            return Some((
                "msix_table",
                "an MSI-X table must begin within 4 GiB of its BAR; write less, or msix_bar = 4"
                    .to_owned(),
            ));
        };
        let table = u64::from(place.table)..u64::from(place.table) + place.table_bytes();
        let pending = u64::from(place.pending)..u64::from(place.pending) + place.pending_bytes();
        let key = if self.msix_pending.is_some() {
            "msix_pending"
        } else if self.msix_table.is_some() {
            "msix_table"
        } else {
            "msix_vectors"
        };
        if table.start % 8 != 0 || pending.start % 8 != 0 {
            return Some((key, "the MSI-X table and its pending bits begin at multiples of 8 B; write such an offset".to_owned()));
        }
        if table.start < pending.end && pending.start < table.end {
            return Some((
                key,
                format!(
                    "the pending bits at {} B lie in the MSI-X table, which takes {} B from {} B on; write an msix_pending behind it",
                    pending.start,
                    place.table_bytes(),
                    table.start
                ),
            ));
        }
        let end = table.end.max(pending.end);
        if end > bar.size || self.msix_bar == 0 && self.msix_table.is_none() && table.start == 0 {
            let least = (end.max(PAGE) + PAGE).next_power_of_two();
            return Some((
                key,
                format!(
                    "the MSI-X table and its pending bits take whole 4 KiB of BAR {} beside other things, which has {} B; write a BAR of {} KiB at least, or msix_bar = 4",
                    bar.index,
                    bar.size,
                    least / 1024
                ),
            ));
        }
        None
    }
}

pub(crate) fn class(number: u32) -> TrafficClass {
    TrafficClass::new(number as u8).unwrap_or_default()
}

/// The largest BAR that has a 32-bit address if a scenario does not set the width.
const LARGEST_NARROW_BAR: u64 = 256 << 20;

/// A page of a BAR. Software can map each page separately.
const PAGE: u64 = 4096;

/// The smallest max read request size, in bytes (PCIe Base 7.5.3.4).
const SMALLEST_READ: u64 = 128;

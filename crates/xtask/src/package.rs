//! `gateware/rtl/peerlane_pkg.sv`: the formats of packets, and the registers that the driver, the model and the circuit share.

use std::fmt::Write;

use device::CIRCUIT_ERRORS;
use device::sg_dma::registers::{
    CIRCUIT_COUNTERS, COUNTERS, CROSSED, DESCRIPTOR, MOST_DESCRIPTORS, REPLY, ROUND_TRIP, SIZE,
    Status as Transfer, TIME_PEER, Unit, offset,
};
use protocol::{
    AtomicOperation, Attributes, Completion, Express, FunctionId, Header, Kind, MemoryRequest,
    Message, Page, Severity, Status, Tag, TlpError, TrafficClass, register,
};
use transaction::Pattern;

use crate::layout::{Field, positions};

/// The file of the package.
pub const PACKAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../gateware/rtl/peerlane_pkg.sv"
);

const HEAD: &str = "\
// Generated from the Rust crates `protocol` and `device` by `cargo xtask generate`; a test compares them.
//
// Formats of packets, and the registers that driver, model and circuit share. A header is a number whose highest byte is the
// first one on the wire; `wire_order` puts it in the order of a stream's lanes.

/* verilator lint_off UNUSEDPARAM */
package peerlane_pkg;
";

const HEADERS: &str = r"  // Fields of headers: the lowest bit in a number of 128 bits with byte 0 of the packet in bits 127:120, and the number of bits.
";

const WIRE_ORDER: &str = r"  // A header in the order of a stream's lanes: byte 0 of the packet in bits 7:0.
  function automatic logic [127:0] wire_order(input logic [127:0] header);
    for (int k = 0; k < 16; k = k + 1) wire_order[8 * k +: 8] = header[120 - 8 * k +: 8];
  endfunction
";

/// The text of the package.
///
/// # Panics
///
/// If a sample header is wrong, which is a fault of this crate.
pub fn package() -> String {
    let fields = fields().expect("the samples are correct headers");
    let values = values().expect("the samples are correct headers");
    format!("{HEAD}\n{values}\n{fields}{WIRE_ORDER}\nendpackage\n")
}

/// A list of constants, with one constant on each line.
#[derive(Default)]
struct Constants(String);

impl Constants {
    /// Begins a group of constants.
    fn title(&mut self, title: &str) {
        let space = if self.0.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.0, "{space}  // {title}");
    }

    fn bits(&mut self, name: &str, width: u32, value: impl Into<u64>, help: &str) {
        let (digits, value) = (width.div_ceil(4) as usize, value.into());
        let _ = writeln!(
            self.0,
            "  localparam logic [{}:0] {name} = {width}'h{value:0digits$x}; // {help}",
            width - 1
        );
    }

    fn number(&mut self, name: &str, value: impl Into<u64>, help: &str) {
        let value = value.into();
        let _ = writeln!(self.0, "  localparam int {name} = {value}; // {help}");
    }
}

/// Adds constants to a list: numbers with a given number of bits (`NAME[8] = value`) and other numbers (`NAME = value`), each with its help
/// text.
macro_rules! add {
    ($list:ident: $($name:ident $([$width:literal])? = $value:expr, $help:literal;)*) => {
        $(add!(one $list $name $([$width])? = $value, $help);)*
    };
    (one $list:ident $name:ident [$width:literal] = $value:expr, $help:literal) => {
        $list.bits(stringify!($name), $width, $value, $help);
    };
    (one $list:ident $name:ident = $value:expr, $help:literal) => {
        $list.number(stringify!($name), $value, $help);
    };
}

/// The bits of format and type that all messages share.
const MESSAGE_MASK: u8 = 0b1011_1000;
/// The bit of the type of a locked memory read and its completion (PCIe Base table 2-3).
const LOCKED: u8 = 1;
const REQUESTER: FunctionId = FunctionId(0);
/// The function whose ID has all bits set.
const LAST: FunctionId = FunctionId(u16::MAX);
const STATUSES: [Status; 4] = [
    Status::Successful,
    Status::UnsupportedRequest,
    Status::ConfigurationRetry,
    Status::CompleterAbort,
];
const WIDE: u64 = 1 << 32;

fn read(tag: u16, address: u64, len: u32) -> Result<Header, TlpError> {
    Header::memory_read(REQUESTER, Tag(tag), address, len)
}

fn completion(change: impl FnOnce(&mut Completion)) -> Header {
    let mut completion = Completion {
        completer: FunctionId(0),
        requester: FunctionId(0),
        tag: Tag(0),
        status: Status::Successful,
        byte_count: 4096,
        lower_address: 0,
        dwords: 1024,
    };
    change(&mut completion);
    Kind::Completion(completion).into()
}

fn values() -> Result<String, TlpError> {
    let mut list = Constants::default();
    packets(&mut list)?;
    results(&mut list);
    reported_errors(&mut list);
    sizes(&mut list)?;
    configuration(&mut list);
    engine(&mut list);
    Ok(list.0)
}

fn packets(list: &mut Constants) -> Result<(), TlpError> {
    let kind = |header: &Header| header.emit().0[0];
    let write = |address| Header::memory_write(REQUESTER, address, 4);
    let atomic = |operation| Header::atomic((REQUESTER, Tag(0)), operation, 0, 4);
    let [low, high] = [kind(&read(0, 0, 4)?), kind(&read(0, WIDE, 4)?)];
    let [low_write, high_write] = [kind(&write(0)?), kind(&write(WIDE)?)];
    let [done, data] = [completion(|c| c.dwords = 0), completion(|_| ())].map(|one| kind(&one));
    list.title("Format and type, the first byte of a packet (PCIe Base 2.2.1).");
    add! { list:
        TLP_MEMORY_READ[8] = low, "memory read, 12-byte header";
        TLP_MEMORY_READ_WIDE[8] = high, "memory read, 16-byte header";
        TLP_MEMORY_WRITE[8] = low_write, "memory write, 12-byte header";
        TLP_MEMORY_WRITE_WIDE[8] = high_write, "memory write, 16-byte header";
        TLP_COMPLETION[8] = done, "completion without data";
        TLP_COMPLETION_DATA[8] = data, "completion with data";
        TLP_WIDE[8] = high ^ low, "the bit of a 16-byte header";
        TLP_DATA[8] = low_write ^ low, "the bit of a packet with data";
        TLP_MEMORY_READ_LOCKED[8] = low | LOCKED, "locked memory read, 12-byte header";
        TLP_COMPLETION_LOCKED[8] = done | LOCKED, "completion of a locked read without data";
        TLP_COMPLETION_LOCKED_DATA[8] = data | LOCKED, "completion of a locked read with data";
        TLP_FETCH_ADD[8] = kind(&atomic(AtomicOperation::FetchAdd)?), "AtomicOp FetchAdd, 12-byte header";
        TLP_SWAP[8] = kind(&atomic(AtomicOperation::Swap)?), "AtomicOp Swap, 12-byte header";
        TLP_COMPARE_AND_SWAP[8] = kind(&atomic(AtomicOperation::CompareAndSwap)?), "AtomicOp CAS, 12-byte header";
    }
    list.title("Messages have these bits in this form; the others say how they are routed and whether they have data (PCIe Base table 2-3).");
    let message = Header::message(REQUESTER, Message::Error(Severity::Correctable));
    add! { list:
        TLP_MESSAGE_MASK[8] = MESSAGE_MASK, "bits that all messages share";
        TLP_MESSAGE[8] = kind(&message) & MESSAGE_MASK, "a message";
    }
    Ok(())
}

/// Completion statuses, and the results of requests that circuits report.
fn results(list: &mut Constants) {
    let [successful, unsupported, retry, abort] = STATUSES.map(Status::bits);
    list.title("Completion Status (PCIe Base table 2-34).");
    add! { list:
        STATUS_SUCCESSFUL[3] = successful, "the request was carried out";
        STATUS_UNSUPPORTED[3] = unsupported, "no function serves the request";
        STATUS_RETRY[3] = retry, "a configuration request came too early";
        STATUS_ABORT[3] = abort, "the completer could not carry it out";
    }
    list.title("The result of a request in a circuit: a Completion Status, or one of four that no completer sends.");
    add! { list:
        RESULT_SUCCESSFUL[3] = successful, "all data came";
        RESULT_UNSUPPORTED[3] = unsupported, "a completion with Unsupported Request or a reserved status";
        RESULT_RETRY[3] = retry, "a completion with Configuration Request Retry Status";
        RESULT_ABORT[3] = abort, "a completion with Completer Abort";
        RESULT_POISONED[3] = 3_u8, "all data came, some of it poisoned";
        RESULT_MALFORMED[3] = 5_u8, "a completion that does not fit its request, or whose beats end early";
        RESULT_TIMEOUT[3] = 6_u8, "no completion came in time";
        RESULT_DESCRIPTOR[3] = 7_u8, "a descriptor or a command whose range ends beyond 64 bits of address, or a command of 4 GiB or more";
    }
}

/// Errors that circuits report at their ports.
fn reported_errors(list: &mut Constants) {
    list.title("The errors that a circuit reports (`err_kind_o`).");
    for (code, (name, help, _)) in CIRCUIT_ERRORS.into_iter().enumerate() {
        list.bits(&format!("ERROR_{name}"), 3, code as u64, help);
    }
}

/// Sizes of headers, pages and payloads.
fn sizes(list: &mut Constants) -> Result<(), TlpError> {
    let header_len = |address| Ok(read(0, address, 4)?.header_len() as u64);
    let (short, wide) = (header_len(0)?, header_len(WIDE)?);
    list.title("Sizes in bytes.");
    add! { list:
        HEADER_SHORT = short, "a header with a 32-bit address, or of a completion";
        HEADER_WIDE = wide, "a header with a 64-bit address";
        PAGE = MemoryRequest::room_at(0), "no request crosses a multiple (PCIe Base 2.2.7)";
        MOST_PAYLOAD = u64::from(MemoryRequest::MAX_DWORDS) * 4, "largest payload and largest read request";
        LEAST_PAYLOAD = Express::supported_in(0), "size that the value 0 of MPS and MRRS stands for";
    }
    Ok(())
}

fn configuration(list: &mut Constants) {
    let offset = |number: u16| u64::from(number) * 4;
    let low = u32::trailing_zeros;
    let payload = Express::max_payload_field(128).0;
    let read = Express::max_read_request_field(128).0;
    list.title("Registers of the configuration space: byte offsets, and bits of a dword.");
    add! { list:
        CFG_COMMAND[12] = offset(register::COMMAND), "Command and Status";
        CFG_DEVICE_CONTROL[12] = offset(register::DEVICE_CONTROL), "Device Control and Status";
        CFG_MSI[12] = offset(register::MSI), "MSI capability, Message Control";
        CFG_MSIX[12] = offset(register::MSIX), "MSI-X capability, Message Control";
        CFG_MEMORY_SPACE_BIT = low(register::MEMORY_SPACE), "Memory Space Enable, in Command";
        CFG_BUS_MASTER_BIT = low(register::BUS_MASTER), "Bus Master Enable, in Command";
        CFG_MAX_PAYLOAD_BIT = low(payload), "Max_Payload_Size, in Device Control";
        CFG_MAX_PAYLOAD_WIDTH = payload.count_ones(), "bits of the field";
        CFG_MAX_READ_BIT = low(read), "Max_Read_Request_Size, in Device Control";
        CFG_MAX_READ_WIDTH = read.count_ones(), "bits of the field";
        CFG_MSI_ENABLE_BIT = low(register::MSI_ENABLE), "MSI Enable, in the dword of Message Control";
        CFG_MSIX_ENABLE_BIT = low(register::MSIX_ENABLE), "MSI-X Enable, in the dword of Message Control";
        CFG_MSIX_MASK_BIT = low(register::MSIX_FUNCTION_MASK), "Function Mask, in the dword of Message Control";
        CFG_MSI_COUNT_BIT = register::MSI_COUNT_SHIFT, "Multiple Message Enable, in the dword of Message Control";
        MSIX_ENTRY = register::MSIX_ENTRY, "bytes of an entry of the MSI-X table";
        MSIX_VECTOR_CONTROL = register::MSIX_VECTOR_CONTROL, "offset of Vector Control in an entry";
        MSIX_VECTOR_MASK_BIT = low(register::MSIX_VECTOR_MASK), "Mask Bit, in Vector Control";
    }
}

fn engine(list: &mut Constants) {
    list.title("The DMA engine's registers in BAR 2. A unit's registers begin at its base.");
    add! { list:
        DMA_SIZE = SIZE, "bytes of the BAR";
    }
    for unit in Unit::ALL {
        let name = format!("DMA_{}", format!("{unit:?}").to_uppercase());
        list.bits(&name, 18, unit.base(), "base of the unit's registers");
        if unit != Unit::Peer {
            let name = format!("{name}_LIST");
            list.bits(&name, 18, unit.list(), "its descriptors");
        }
        let name = format!("{name}_VECTOR");
        list.number(&name, unit.vector(), "its interrupt vector");
    }
    add! { list:
        DMA_ADDRESS[6] = offset::ADDRESS, "address of the list, or of the target, 64 bits";
        DMA_LENGTH[6] = offset::LENGTH, "number of descriptors, or of bytes, 64 bits";
        DMA_PAYLOAD[6] = offset::PAYLOAD, "largest payload of a packet in bytes";
        DMA_START[6] = offset::START, "a write begins a transfer";
        DMA_STATUS[6] = offset::STATUS, "status of the transfer";
        DMA_TIMER[6] = offset::TIMER, "duration of the transfer in cycles";
        DMA_CLASS[6] = offset::CLASS, "traffic class of the requests for the data";
        DMA_ERROR[6] = offset::ERROR, "error that ended the transfer, of RESULT";
        DMA_PATTERN[6] = offset::PATTERN, "first word of the source's data, 64 bits";
        DMA_CROSSED[18] = CROSSED, "bit 0 crosses the interconnect matrix";
        DMA_REPLY[18] = REPLY, "address to which a reflector sends, 64 bits";
        DMA_ROUND_TRIP[18] = ROUND_TRIP, "cycles that the peer timer has measured";
        DMA_TIME_PEER[18] = TIME_PEER, "bit 0 lets the peer timer measure the next peer transfer";
        DMA_COUNTERS[18] = COUNTERS, "the counters, 64 bits each, in the order of DMA_COUNTER";
        DMA_COUNTERS_END = CIRCUIT_COUNTERS.len() as u64, "number of counters";
    }
    for (number, (name, help)) in (0_u64..).zip(CIRCUIT_COUNTERS) {
        list.number(&format!("DMA_COUNTER_{name}"), number, help);
    }
    add! { list:
        DMA_STATUS_RUNNING = Transfer::Running as u64, "value of DMA_STATUS";
        DMA_STATUS_DONE = Transfer::Done as u64, "value of DMA_STATUS";
        DMA_STATUS_FAILED = Transfer::Failed as u64, "value of DMA_STATUS";
        PATTERN_STEP[64] = Pattern::STEP, "step from a word of a source's data to the next one";
        DMA_DESCRIPTOR = DESCRIPTOR, "bytes of a descriptor: address (64 bits), length (32 bits), 32 unused bits";
        DMA_MOST_DESCRIPTORS = MOST_DESCRIPTORS, "most descriptors of a list in the engine";
    }
}

/// The positions of the fields: of every header, of requests, of their two forms of addresses, and of completions.
fn fields() -> Result<String, TlpError> {
    let (mut short, mut wide) = (memory(0, 32)?, memory(WIDE, 64)?);
    let addresses = [("SHORT", short.pop()), ("WIDE", wide.pop())];
    let mut text = HEADERS.to_owned() + &positions("TLP", &common(completion(|_| ())));
    text += "\n  // Memory requests (PCIe Base 2.2.7), at the same bits with both sizes of header but for the address.\n";
    text += &positions("REQUEST", &short);
    assert_eq!(positions("REQUEST", &short), positions("REQUEST", &wide));
    for (size, address) in addresses {
        text += &positions(size, address.as_slice());
    }
    text += "\n  // Completions (PCIe Base 2.2.9).\n";
    Ok(text + &positions("COMPLETION", &completion_fields()) + "\n")
}

/// The fields of every header. Each field is found from a copy of `header` in which this field is changed.
fn common(header: Header) -> Vec<Field> {
    let class = |number| Header {
        traffic_class: TrafficClass::new(number).unwrap_or_default(),
        ..header
    };
    let attribute = |bits| Header {
        attributes: Attributes::from_bits(bits),
        ..header
    };
    let poisoned = Header {
        poisoned: true,
        ..header
    };
    let field = |name, help, sample| Field::new(name, help, [header, sample]);
    vec![
        Field::first_byte("kind", "format and type"),
        field("traffic_class", "traffic class", class(7)),
        field("id_ordering", "ID-based ordering", attribute(4)),
        field("ordering", "relaxed ordering and no snoop", attribute(3)),
        field("poisoned", "the data is poisoned (EP)", poisoned),
    ]
}

/// The fields of a memory request whose address has `bits` bits and is `base` or above.
fn memory(base: u64, bits: u32) -> Result<Vec<Field>, TlpError> {
    let read = |tag, address, len| read(tag, base + address, len);
    let first = read(0, 0, 4)?;
    let request = MemoryRequest::new(REQUESTER, Tag(0), base, 8)?;
    let translation = MemoryRequest::translation((REQUESTER, Tag(0)), Page::of(base), 1, false)?;
    let types =
        [request, request.translated(), translation].map(|one| Kind::MemoryRead(one).into());
    let requester = Header::memory_read(LAST, Tag(0), base, 4)?;
    let addresses = (2..bits).map(|bit| match 1_u64.checked_shl(bit) {
        Some(address) if base & address == 0 => read(0, address, 4),
        _ => Header::memory_read(REQUESTER, Tag(0), base << 1, 4),
    });
    let addresses = [Ok(first)].into_iter().chain(addresses);
    let writes = (2..=1024).map(|n| Header::memory_write(REQUESTER, base, n * 4));
    let ends = (4..=8).map(|len| read(0, 0, len));
    let beginnings = (0..=4).map(|len| read(0, 0, len));
    let field = |name, help, sample| Field::new(name, help, [first, sample]);
    let dwords = all("dwords", "length; 0 for 1024", writes)?;
    Ok(vec![
        field("tag_9", "bit 9 of the tag", read(0x200, 0, 4)?),
        field("tag_8", "bit 8 of the tag", read(0x100, 0, 4)?),
        Field::new("address_type", "address type (AT)", types),
        field("requester", "Requester ID", requester),
        field("tag", "bits 7 to 0 of the tag", read(0xff, 0, 4)?),
        all("last_be", "byte enables of the last dword", ends)?.outside(&dwords),
        all("first_be", "byte enables of the first dword", beginnings)?,
        dwords,
        all("address", "address, in dwords", addresses)?,
    ])
}

/// The field in which `samples` differ. All samples must be correct headers.
fn all(
    name: &'static str,
    help: &'static str,
    samples: impl Iterator<Item = Result<Header, TlpError>>,
) -> Result<Field, TlpError> {
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    Ok(Field::new(name, help, samples))
}

fn completion_fields() -> Vec<Field> {
    let plain = completion(|_| ());
    let field = |name, help, change: fn(&mut Completion)| {
        Field::new(name, help, [plain, completion(change)])
    };
    let lengths = (1..=1024).map(|n| completion(|c| c.dwords = n));
    let statuses = STATUSES.map(|status| completion(|c| c.status = status));
    let left = "bytes still to come, with those here; 0 for 4096";
    let lowest = "bits 6 to 0 of the address of the first byte";
    vec![
        field("tag_9", "bit 9 of the tag", |c| c.tag = Tag(0x200)),
        field("tag_8", "bit 8 of the tag", |c| c.tag = Tag(0x100)),
        Field::new("dwords", "length; 0 for 1024", lengths),
        field("completer", "Completer ID", |c| c.completer = LAST),
        Field::new("status", "Completion Status", statuses),
        field("byte_count", left, |c| c.byte_count = 0xfff),
        field("requester", "Requester ID", |c| c.requester = LAST),
        field("tag", "bits 7 to 0 of the tag", |c| c.tag = Tag(0xff)),
        field("lower_address", lowest, |c| c.lower_address = 0x7f),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_package_is_the_generated_one() {
        let committed = std::fs::read_to_string(PACKAGE).unwrap_or_default();
        assert!(
            committed == package(),
            "gateware/rtl/peerlane_pkg.sv differs: run `cargo xtask generate`"
        );
    }
}

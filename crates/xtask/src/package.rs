//! `gateware/rtl/peerlane_pkg.sv`: formats of packets and the registers that driver, model and circuit share.

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
/// Where a sample header is wrong, which is a fault of this crate.
pub fn package() -> String {
    let fields = fields().expect("the samples are correct headers");
    let values = values().expect("the samples are correct headers");
    format!("{HEAD}\n{values}{fields}{WIRE_ORDER}\nendpackage\n")
}

/// A list of constants, one a line.
#[derive(Default)]
struct Constants(String);

impl Constants {
    fn title(&mut self, title: &str) {
        let _ = writeln!(self.0, "  // {title}");
    }

    fn bits(&mut self, name: &str, width: u32, value: u64, help: &str) {
        let digits = width.div_ceil(4) as usize;
        let _ = writeln!(
            self.0,
            "  localparam logic [{}:0] {name} = {width}'h{value:0digits$x}; // {help}",
            width - 1
        );
    }

    fn number(&mut self, name: &str, value: u64, help: &str) {
        let _ = writeln!(self.0, "  localparam int {name} = {value}; // {help}");
    }

    fn end(&mut self) {
        self.0.push('\n');
    }
}

/// The bits of format and type that all messages share.
const MESSAGE_MASK: u64 = 0b1011_1000;
/// The bit of the type of a locked memory read and its completion (PCIe Base table 2-3).
const LOCKED: u64 = 1;
const REQUESTER: FunctionId = FunctionId(0);
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
    errors(&mut list);
    Ok(list.0)
}

fn packets(list: &mut Constants) -> Result<(), TlpError> {
    let kind = |header: &Header| u64::from(header.emit().0[0]);
    let [low, high] = [0, WIDE].map(|address| read(0, address, 4));
    let [low_write, high_write] =
        [0, WIDE].map(|address| Header::memory_write(REQUESTER, address, 4));
    let (low, high) = (low?, high?);
    list.title("Format and type, the first byte of a packet (PCIe Base 2.2.1).");
    let kinds = [
        ("TLP_MEMORY_READ", low, "memory read, 12-byte header"),
        ("TLP_MEMORY_READ_WIDE", high, "memory read, 16-byte header"),
        (
            "TLP_MEMORY_WRITE",
            low_write?,
            "memory write, 12-byte header",
        ),
        (
            "TLP_MEMORY_WRITE_WIDE",
            high_write?,
            "memory write, 16-byte header",
        ),
        (
            "TLP_COMPLETION",
            completion(|c| c.dwords = 0),
            "completion without data",
        ),
        (
            "TLP_COMPLETION_DATA",
            completion(|_| ()),
            "completion with data",
        ),
    ];
    for (name, header, help) in &kinds {
        list.bits(name, 8, kind(header), help);
    }
    let wide = kind(&high) ^ kind(&low);
    list.bits("TLP_WIDE", 8, wide, "the bit of a 16-byte header");
    let data = kind(&kinds[2].1) ^ kind(&low);
    list.bits("TLP_DATA", 8, data, "the bit of a packet with data");
    for (name, of, help) in [
        (
            "TLP_MEMORY_READ_LOCKED",
            &kinds[0].1,
            "locked memory read, 12-byte header",
        ),
        (
            "TLP_COMPLETION_LOCKED",
            &kinds[4].1,
            "completion of a locked read without data",
        ),
        (
            "TLP_COMPLETION_LOCKED_DATA",
            &kinds[5].1,
            "completion of a locked read with data",
        ),
    ] {
        list.bits(name, 8, kind(of) | LOCKED, help);
    }
    for (name, operation, help) in [
        (
            "TLP_FETCH_ADD",
            AtomicOperation::FetchAdd,
            "AtomicOp FetchAdd, 12-byte header",
        ),
        (
            "TLP_SWAP",
            AtomicOperation::Swap,
            "AtomicOp Swap, 12-byte header",
        ),
        (
            "TLP_COMPARE_AND_SWAP",
            AtomicOperation::CompareAndSwap,
            "AtomicOp CAS, 12-byte header",
        ),
    ] {
        let request = Header::atomic((REQUESTER, Tag(0)), operation, 0, 4)?;
        list.bits(name, 8, kind(&request), help);
    }
    list.end();

    list.title("Messages have these bits in this form; the others say how they are routed and whether they have data (PCIe Base table 2-3).");
    let message = Header::message(REQUESTER, Message::Error(Severity::Correctable));
    list.bits(
        "TLP_MESSAGE_MASK",
        8,
        MESSAGE_MASK,
        "bits that all messages share",
    );
    list.bits("TLP_MESSAGE", 8, kind(&message) & MESSAGE_MASK, "a message");
    list.end();
    Ok(())
}

/// Completion statuses, and the results of requests that circuits report.
fn results(list: &mut Constants) {
    list.title("Completion Status (PCIe Base table 2-34).");
    for (name, status, help) in [
        (
            "STATUS_SUCCESSFUL",
            Status::Successful,
            "the request was carried out",
        ),
        (
            "STATUS_UNSUPPORTED",
            Status::UnsupportedRequest,
            "no function serves the request",
        ),
        (
            "STATUS_RETRY",
            Status::ConfigurationRetry,
            "a configuration request came too early",
        ),
        (
            "STATUS_ABORT",
            Status::CompleterAbort,
            "the completer could not carry it out",
        ),
    ] {
        list.bits(name, 3, u64::from(status.bits()), help);
    }
    list.end();

    list.title("The result of a request in a circuit: a Completion Status, or one of four that no completer sends.");
    for (name, value, help) in [
        (
            "RESULT_SUCCESSFUL",
            Status::Successful.bits(),
            "all data came",
        ),
        (
            "RESULT_UNSUPPORTED",
            Status::UnsupportedRequest.bits(),
            "a completion with Unsupported Request or a reserved status",
        ),
        (
            "RESULT_RETRY",
            Status::ConfigurationRetry.bits(),
            "a completion with Configuration Request Retry Status",
        ),
        (
            "RESULT_ABORT",
            Status::CompleterAbort.bits(),
            "a completion with Completer Abort",
        ),
        ("RESULT_POISONED", 3, "all data came, some of it poisoned"),
        (
            "RESULT_MALFORMED",
            5,
            "a completion that does not fit its request, or whose beats end early",
        ),
        ("RESULT_TIMEOUT", 6, "no completion came in time"),
        (
            "RESULT_DESCRIPTOR",
            7,
            "a descriptor or a command whose range ends beyond 64 bits of address, or a command of 4 GiB or more",
        ),
    ] {
        list.bits(name, 3, u64::from(value), help);
    }
    list.end();
}

/// Errors that circuits report at their ports.
fn reported_errors(list: &mut Constants) {
    list.title("The errors that a circuit reports (`err_kind_o`).");
    for (code, (name, help, _)) in CIRCUIT_ERRORS.into_iter().enumerate() {
        list.bits(&format!("ERROR_{name}"), 3, code as u64, help);
    }
    list.end();
}

/// Sizes of headers, pages, payloads and credits.
fn sizes(list: &mut Constants) -> Result<(), TlpError> {
    let (short, wide) = (read(0, 0, 4)?, read(0, WIDE, 4)?);
    list.title("Sizes in bytes.");
    list.number(
        "HEADER_SHORT",
        short.header_len() as u64,
        "a header with a 32-bit address, or of a completion",
    );
    list.number(
        "HEADER_WIDE",
        wide.header_len() as u64,
        "a header with a 64-bit address",
    );
    list.number(
        "PAGE",
        MemoryRequest::room_at(0),
        "no request crosses a multiple (PCIe Base 2.2.7)",
    );
    let most = u64::from(MemoryRequest::MAX_DWORDS) * 4;
    list.number(
        "MOST_PAYLOAD",
        most,
        "largest payload and largest read request",
    );
    let credit = (1..=4096)
        .take_while(|bytes| write_credits(*bytes) == 1)
        .last();
    list.number(
        "CREDIT",
        u64::from(credit.unwrap_or(0)),
        "bytes of a data credit (PCIe Base 2.6.1)",
    );
    let least = u64::from(Express::supported_in(0));
    list.number(
        "LEAST_PAYLOAD",
        least,
        "size that the value 0 of MPS and MRRS stands for",
    );
    list.end();
    Ok(())
}

/// Data credits of a memory write of `len` bytes.
fn write_credits(len: u32) -> u16 {
    Header::memory_write(REQUESTER, 0, len).map_or(0, |header| header.data_credits())
}

/// Position and width of the bits of a mask.
fn position(mask: u32) -> (u64, u64) {
    (
        u64::from(mask.trailing_zeros()),
        u64::from(mask.count_ones()),
    )
}

fn configuration(list: &mut Constants) {
    list.title("Registers of the configuration space: byte offsets, and bits of a dword.");
    let offset = |number: u16| u64::from(number) * 4;
    list.bits(
        "CFG_COMMAND",
        12,
        offset(register::COMMAND),
        "Command and Status",
    );
    list.bits(
        "CFG_DEVICE_CONTROL",
        12,
        offset(register::DEVICE_CONTROL),
        "Device Control and Status",
    );
    list.bits(
        "CFG_MSI",
        12,
        offset(register::MSI),
        "MSI capability, Message Control",
    );
    list.bits(
        "CFG_MSIX",
        12,
        offset(register::MSIX),
        "MSI-X capability, Message Control",
    );
    for (name, mask, help) in [
        (
            "CFG_MEMORY_SPACE",
            register::MEMORY_SPACE,
            "Memory Space Enable, in Command",
        ),
        (
            "CFG_BUS_MASTER",
            register::BUS_MASTER,
            "Bus Master Enable, in Command",
        ),
        (
            "CFG_MAX_PAYLOAD",
            Express::max_payload_field(128).0,
            "Max_Payload_Size, in Device Control",
        ),
        (
            "CFG_MAX_READ",
            Express::max_read_request_field(128).0,
            "Max_Read_Request_Size, in Device Control",
        ),
        (
            "CFG_MSI_ENABLE",
            register::MSI_ENABLE,
            "MSI Enable, in the dword of Message Control",
        ),
        (
            "CFG_MSIX_ENABLE",
            register::MSIX_ENABLE,
            "MSI-X Enable, in the dword of Message Control",
        ),
        (
            "CFG_MSIX_MASK",
            register::MSIX_FUNCTION_MASK,
            "Function Mask, in the dword of Message Control",
        ),
    ] {
        let (low, width) = position(mask);
        list.number(&format!("{name}_BIT"), low, help);
        if width > 1 {
            list.number(&format!("{name}_WIDTH"), width, "bits of the field");
        }
    }
    let count = u64::from(register::MSI_COUNT_SHIFT);
    list.number(
        "CFG_MSI_COUNT_BIT",
        count,
        "Multiple Message Enable, in the dword of Message Control",
    );
    list.number(
        "MSIX_ENTRY",
        register::MSIX_ENTRY,
        "bytes of an entry of the MSI-X table",
    );
    list.number(
        "MSIX_VECTOR_CONTROL",
        register::MSIX_VECTOR_CONTROL,
        "offset of Vector Control in an entry",
    );
    list.number(
        "MSIX_VECTOR_MASK_BIT",
        position(register::MSIX_VECTOR_MASK).0,
        "Mask Bit, in Vector Control",
    );
    list.end();
}

fn engine(list: &mut Constants) {
    list.title("The DMA engine's registers in BAR 2. A unit's registers begin at its base.");
    list.number("DMA_SIZE", SIZE, "bytes of the BAR");
    for unit in Unit::ALL {
        let name = format!("{unit:?}").to_uppercase();
        list.bits(
            &format!("DMA_{name}"),
            18,
            unit.base(),
            "base of the unit's registers",
        );
        if unit != Unit::Peer {
            list.bits(
                &format!("DMA_{name}_LIST"),
                18,
                unit.list(),
                "its descriptors",
            );
        }
        list.number(
            &format!("DMA_{name}_VECTOR"),
            u64::from(unit.vector()),
            "its interrupt vector",
        );
    }
    unit_registers(list);
    list.bits(
        "DMA_CROSSED",
        18,
        CROSSED,
        "bit 0 crosses the interconnect matrix",
    );
    list.bits(
        "DMA_REPLY",
        18,
        REPLY,
        "address to which a reflector sends, 64 bits",
    );
    list.bits(
        "DMA_ROUND_TRIP",
        18,
        ROUND_TRIP,
        "cycles that the peer timer has measured",
    );
    list.bits(
        "DMA_TIME_PEER",
        18,
        TIME_PEER,
        "bit 0 lets the peer timer measure the next peer transfer",
    );
    list.bits(
        "DMA_COUNTERS",
        18,
        COUNTERS,
        "the counters, 64 bits each, in the order of DMA_COUNTER",
    );
    list.number(
        "DMA_COUNTERS_END",
        CIRCUIT_COUNTERS.len() as u64,
        "number of counters",
    );
    for (number, (name, help)) in CIRCUIT_COUNTERS.into_iter().enumerate() {
        list.number(&format!("DMA_COUNTER_{name}"), number as u64, help);
    }
    for (name, status) in [
        ("RUNNING", Transfer::Running),
        ("DONE", Transfer::Done),
        ("FAILED", Transfer::Failed),
    ] {
        list.number(
            &format!("DMA_STATUS_{name}"),
            status as u64,
            "value of DMA_STATUS",
        );
    }
    list.bits(
        "PATTERN_STEP",
        64,
        Pattern::STEP,
        "step from a word of a source's data to the next one",
    );
    list.number(
        "DMA_DESCRIPTOR",
        DESCRIPTOR,
        "bytes of a descriptor: address (64 bits), length (32 bits), 32 unused bits",
    );
    list.number(
        "DMA_MOST_DESCRIPTORS",
        u64::from(MOST_DESCRIPTORS),
        "most descriptors of a list in the engine",
    );
    list.end();
}

/// The offsets of a unit's registers from its base.
fn unit_registers(list: &mut Constants) {
    for (name, at, help) in [
        (
            "ADDRESS",
            offset::ADDRESS,
            "address of the list, or of the target, 64 bits",
        ),
        (
            "LENGTH",
            offset::LENGTH,
            "number of descriptors, or of bytes, 64 bits",
        ),
        (
            "PAYLOAD",
            offset::PAYLOAD,
            "largest payload of a packet in bytes",
        ),
        ("START", offset::START, "a write begins a transfer"),
        ("STATUS", offset::STATUS, "status of the transfer"),
        ("TIMER", offset::TIMER, "duration of the transfer in cycles"),
        (
            "CLASS",
            offset::CLASS,
            "traffic class of the requests for the data",
        ),
        (
            "ERROR",
            offset::ERROR,
            "error that ended the transfer, of RESULT",
        ),
        (
            "PATTERN",
            offset::PATTERN,
            "first word of the source's data, 64 bits",
        ),
    ] {
        list.bits(&format!("DMA_{name}"), 6, at, help);
    }
}

/// The reasons for which a channel of the engine stops.
fn errors(list: &mut Constants) {
    list.title("Why a channel of the DMA engine stopped.");
    for (number, (name, help)) in [
        ("NONE", "it has not stopped"),
        ("LENGTH", "a command with a length of 0"),
        (
            "ADDRESS",
            "a command whose range ends beyond 64 bits of address",
        ),
        ("STOPPED", "it was told to stop"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("DMA_ERROR_{name}");
        list.bits(&name, 3, number as u64, help);
    }
    list.end();
}

/// The positions of the fields: those of every header, of requests, of their two forms of addresses, and of completions.
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

/// The fields of every header, with `header` as the one to change.
fn common(header: Header) -> Vec<Field> {
    let class = |number| Header {
        traffic_class: TrafficClass::new(number).unwrap_or_default(),
        ..header
    };
    let attribute = |bits| Header {
        attributes: Attributes::from_bits(bits),
        ..header
    };
    let field = |name, help, sample| Field::new(name, help, [header, sample]);
    vec![
        Field::first_byte("kind", "format and type"),
        field("traffic_class", "traffic class", class(7)),
        field("id_ordering", "ID-based ordering", attribute(4)),
        field("ordering", "relaxed ordering and no snoop", attribute(3)),
        field(
            "poisoned",
            "the data is poisoned (EP)",
            Header {
                poisoned: true,
                ..header
            },
        ),
    ]
}

/// The fields of a memory request with an address from `base` on, of `bits` bits.
fn memory(base: u64, bits: u32) -> Result<Vec<Field>, TlpError> {
    let read = |tag, address, len| read(tag, base + address, len);
    let first = read(0, 0, 4)?;
    let all =
        |samples: Vec<Result<Header, TlpError>>| samples.into_iter().collect::<Result<Vec<_>, _>>();
    let request = MemoryRequest::new(REQUESTER, Tag(0), base, 8)?;
    let translation = MemoryRequest::translation((REQUESTER, Tag(0)), Page::of(base), 1, false)?;
    let types =
        [request, request.translated(), translation].map(|one| Kind::MemoryRead(one).into());
    let requester = Header::memory_read(FunctionId(u16::MAX), Tag(0), base, 4)?;
    let addresses = (2..bits).map(|bit| match 1_u64.checked_shl(bit) {
        Some(address) if base & address == 0 => read(0, address, 4),
        _ => Header::memory_read(REQUESTER, Tag(0), base << 1, 4),
    });
    let dwords = Field::new(
        "dwords",
        "length; 0 for 1024",
        all((1..=1024)
            .map(|n| Header::memory_write(REQUESTER, base, n * 4))
            .skip(1)
            .collect())?,
    );
    Ok(vec![
        Field::new("tag_9", "bit 9 of the tag", [first, read(0x200, 0, 4)?]),
        Field::new("tag_8", "bit 8 of the tag", [first, read(0x100, 0, 4)?]),
        Field::new("address_type", "address type (AT)", types),
        Field::new("requester", "Requester ID", [first, requester]),
        Field::new("tag", "bits 7 to 0 of the tag", [first, read(0xff, 0, 4)?]),
        Field::new(
            "last_be",
            "byte enables of the last dword",
            all((4..=8).map(|len| read(0, 0, len)).collect())?,
        )
        .outside(&dwords),
        Field::new(
            "first_be",
            "byte enables of the first dword",
            all((0..=4).map(|len| read(0, 0, len)).collect())?,
        ),
        dwords,
        Field::new(
            "address",
            "address, in dwords",
            all([Ok(first)].into_iter().chain(addresses).collect())?,
        ),
    ])
}

fn completion_fields() -> Vec<Field> {
    let plain = completion(|_| ());
    let statuses = [
        Status::Successful,
        Status::UnsupportedRequest,
        Status::ConfigurationRetry,
        Status::CompleterAbort,
    ];
    let with = |change: fn(&mut Completion)| [plain, completion(change)];
    vec![
        Field::new("tag_9", "bit 9 of the tag", with(|c| c.tag = Tag(0x200))),
        Field::new("tag_8", "bit 8 of the tag", with(|c| c.tag = Tag(0x100))),
        Field::new(
            "dwords",
            "length; 0 for 1024",
            (1..=1024).map(|n| completion(|c| c.dwords = n)),
        ),
        Field::new(
            "completer",
            "Completer ID",
            with(|c| c.completer = FunctionId(u16::MAX)),
        ),
        Field::new(
            "status",
            "Completion Status",
            statuses.map(|status| completion(|c| c.status = status)),
        ),
        Field::new(
            "byte_count",
            "bytes still to come, with those here; 0 for 4096",
            with(|c| c.byte_count = 0xfff),
        ),
        Field::new(
            "requester",
            "Requester ID",
            with(|c| c.requester = FunctionId(u16::MAX)),
        ),
        Field::new("tag", "bits 7 to 0 of the tag", with(|c| c.tag = Tag(0xff))),
        Field::new(
            "lower_address",
            "bits 6 to 0 of the address of the first byte",
            with(|c| c.lower_address = 0x7f),
        ),
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

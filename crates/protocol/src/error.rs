//! What can be wrong with a transaction layer packet.

use thiserror::Error;

/// Why a packet cannot be made, or bytes are not one that is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TlpError {
    /// Fewer bytes than the header needs.
    #[error("the header has {have} bytes; it needs {need}")]
    Truncated {
        /// Bytes there.
        have: usize,
        /// Bytes that the format asks for.
        need: usize,
    },
    /// Format and type of a packet that is not modelled.
    #[error(
        "format and type {0:#04x} are not modelled; memory, atomic operations, configuration, messages and completion are"
    )]
    Unsupported(u8),
    /// TLP digest: the end-to-end CRC is not modelled.
    #[error("the header announces a TLP digest (TD); end-to-end CRC is not modelled")]
    Digest,
    /// Processing hints, lightweight notification, address type of an atomic operation or byte-count-modified are set.
    #[error("the header uses {0}, which is not modelled")]
    Feature(&'static str),
    /// PCIe Base 2.2.7: a request stays in its 4 KiB page.
    #[error("{len} bytes at {address:#x} cross a 4 KiB boundary; a request must not")]
    CrossesPage {
        /// Address of the request.
        address: u64,
        /// Bytes of the request.
        len: u32,
    },
    /// PCIe Base 2.2.5: the byte enables break a rule.
    #[error("byte enables {first_be:04b} and {last_be:04b} do not fit the length of the request")]
    ByteEnables {
        /// Of the first dword.
        first_be: u8,
        /// Of the last dword.
        last_be: u8,
    },
    /// PCIe Base 2.2.4.1: addresses below 4 GiB use the short header.
    #[error("address {0:#x} is in a 4-dword header; below 4 GiB it must be in a 3-dword header")]
    WideAddress(u64),
    /// PCIe Base 2.2.7: an atomic operation is on a value of 4 or 8 bytes, or 16 of a compare-and-swap, at a multiple of that.
    #[error(
        "an atomic operation has no operands of {width} bytes at {address:#x}; 4, 8 and for a compare-and-swap 16 are possible, at a multiple of that"
    )]
    Operand {
        /// Address of the value.
        address: u64,
        /// Bytes of it.
        width: u32,
    },
    /// PCIe Base 10.2.1: the address type is reserved, or says that a write asks for translations.
    #[error("a {request} cannot have address type {address_type:#04b}")]
    AddressType {
        /// What has it.
        request: &'static str,
        /// The field.
        address_type: u8,
    },
    /// PCIe Base 10.2.2.2: a translation has 8 bytes, and as many are asked for as fit in the read completion boundary.
    #[error(
        "a translation request has {0} dwords; it must have two for each of 1 to 16 translations"
    )]
    TranslationLength(u16),
    /// The translations of a completion are none, more than those asked for, or more than the boundary has room for.
    #[error(
        "{translations} translations do not answer a request for {asked} at a read completion boundary of {boundary} bytes"
    )]
    Translations {
        /// Those of the completion.
        translations: u16,
        /// Those of the request.
        asked: u16,
        /// Read completion boundary.
        boundary: u16,
    },
    /// PCIe Base 10.2.3.2: a range is a power of two of bytes, 4096 at least, at a multiple of that.
    #[error(
        "{size} bytes at {first:#x} are no range; it has a power of two of bytes, 4096 at least, at a multiple of them"
    )]
    Range {
        /// First address.
        first: u64,
        /// Bytes.
        size: u64,
    },
    /// PCIe Base 10.2.3.2: S and all address bits are set, which has no meaning.
    #[error("the size of a range is encoded by ones up to bit 63; it must end before")]
    EndlessRange,
    /// Format, routing and code of a message that is not modelled.
    #[error(
        "a message of format and type {kind:#04x} with code {code:#04x} is not modelled; those of address translation are"
    )]
    Message {
        /// Format and type.
        kind: u8,
        /// Message Code.
        code: u8,
    },
    /// PCIe Base 10.3.1: the data of an Invalidate Request is one range.
    #[error("an Invalidate Request has {0} dwords of data; it must have 2")]
    InvalidateLength(u16),
    /// A configuration request is always one dword.
    #[error("a configuration request has {0} dwords; it must have 1")]
    ConfigLength(u16),
    /// Beyond the configuration space of a function.
    #[error("configuration register {0} does not exist; dwords 0 to 1023 do")]
    Register(u16),
    /// Posted requests and completions have no completion, writes none with data.
    #[error("no such completion answers this packet")]
    NotCompleted,
    /// The bytes of a completion are not among those of its request.
    #[error("{len} bytes from byte {offset} are not in a request of {bytes} bytes")]
    OutsideRequest {
        /// First byte, counted from the first enabled one.
        offset: u32,
        /// Bytes of the completion.
        len: u32,
        /// Bytes of the request.
        bytes: u32,
    },
}

//! Errors in transaction layer packets.

use thiserror::Error;

/// The reason why a packet cannot be made, or why bytes are not a packet of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TlpError {
    /// There are fewer bytes than the header needs.
    #[error("the header has {have} bytes; it needs {need}")]
    Truncated {
        /// Bytes present.
        have: usize,
        /// Bytes that the format needs.
        need: usize,
    },
    /// The packet's format and type are not modelled.
    #[error(
        "format and type {0:#04x} are not modelled; supported are memory, atomic, configuration and message requests, and completions"
    )]
    Unsupported(u8),
    /// The packet has a TLP digest, which is not part of a header.
    #[error(
        "the TD bit is set: the packet has a TLP digest, which is not read; clear TD and leave the digest out"
    )]
    Digest,
    /// The header uses processing hints, lightweight notification, an address type in an atomic operation, or byte count modified
    /// (BCM).
    #[error("the header uses {0}, which is not modelled")]
    Feature(&'static str),
    /// A PASID prefix is before a packet that cannot have one, or before another one (PCIe Base 6.20.2).
    #[error(
        "a PASID prefix must be the only one, before a request with an untranslated address or a message of address translation"
    )]
    Prefix,
    /// A request must stay in one 4 KiB page (PCIe Base 2.2.7).
    #[error("{len} bytes at {address:#x} cross a 4 KiB boundary; divide the request there")]
    CrossesPage {
        /// Address of the request.
        address: u64,
        /// Bytes of the request.
        len: u32,
    },
    /// The byte enables break a rule of PCIe Base 2.2.5.
    #[error("byte enables {first_be:04b} and {last_be:04b} do not fit the length of the request")]
    ByteEnables {
        /// Byte enables of the first dword.
        first_be: u8,
        /// Byte enables of the last dword.
        last_be: u8,
    },
    /// An address below 4 GiB is in the long header (PCIe Base 2.2.4.1).
    #[error("address {0:#x} is in a 4-dword header; below 4 GiB it must be in a 3-dword header")]
    WideAddress(u64),
    /// The operand size or the alignment of an atomic operation is invalid (PCIe Base 2.2.7).
    #[error(
        "an atomic operation cannot have {width} bytes at {address:#x}; use 4, 8 or (compare and swap) 16 bytes at a multiple of the size"
    )]
    Operand {
        /// Address of the value.
        address: u64,
        /// Size of the value, in bytes.
        width: u32,
    },
    /// The address type is reserved, or a write has the address type of a translation request (PCIe Base 10.2.1).
    #[error("a {request} cannot have address type {address_type:#04b}")]
    AddressType {
        /// Type of the request.
        request: &'static str,
        /// The field AT.
        address_type: u8,
    },
    /// The length of a translation request is invalid: a translation has 8 bytes, and the read completion boundary limits their
    /// number (PCIe Base 10.2.2.2).
    #[error(
        "a translation request has {0} dwords; it must have two for each of 1 to 16 translations"
    )]
    TranslationLength(u16),
    /// The number of translations in a completion is 0, is larger than the number in the request, or does not fit in the read completion
    /// boundary.
    #[error(
        "a completion with {translations} translations does not fit a request for {asked} and a read completion boundary of {boundary} bytes"
    )]
    Translations {
        /// Translations in the completion.
        translations: u16,
        /// Translations that are requested.
        asked: u16,
        /// Read completion boundary in bytes.
        boundary: u16,
    },
    /// The size of a range is not a power of two of at least 4096 bytes, or its address is not a multiple of the size (PCIe Base
    /// 10.2.3.2).
    #[error(
        "{size} bytes at {first:#x} are not a translation range; the size must be a power of two from 4096, the address a multiple of it"
    )]
    Range {
        /// First address.
        first: u64,
        /// Size in bytes.
        size: u64,
    },
    /// S and all address bits are set, which has no meaning (PCIe Base 10.2.3.2).
    #[error(
        "the size field of a translation range has ones up to bit 63; a zero must end it below"
    )]
    EndlessRange,
    /// The message has a format, a routing or a code that is not modelled.
    #[error(
        "a message of format and type {kind:#04x} with code {code:#04x} is not modelled; only messages of address translation are"
    )]
    Message {
        /// Format and type.
        kind: u8,
        /// Message Code.
        code: u8,
    },
    /// The length of an Invalidate Request is wrong: its data is one range (PCIe Base 10.3.1).
    #[error("an Invalidate Request has {0} dwords of data; it must have 2")]
    InvalidateLength(u16),
    /// The length of a configuration request is wrong: it is always one dword.
    #[error("a configuration request has {0} dwords; it must have 1")]
    ConfigLength(u16),
    /// The packet cannot have a completion of this kind: posted requests and completions have none, and a completion of a write has no
    /// data.
    #[error("this packet cannot have such a completion")]
    NotCompleted,
    /// The bytes of a completion are outside its request.
    #[error(
        "a completion with {len} bytes from byte {offset} is outside its request of {bytes} bytes"
    )]
    OutsideRequest {
        /// First byte of the completion, counted from the first enabled byte of the request.
        offset: u32,
        /// Bytes of the completion.
        len: u32,
        /// Bytes of the request.
        bytes: u32,
    },
}

//! Packets from descriptions in JSON, for comparison with other implementations.

use protocol::{
    Access, AtomicOperation, Attributes, Class, Completion, CompletionCount, ConfigKind,
    ConfigRequest, Credit, Dllp, FunctionId, Header, InvalidateTag, InvalidateTags, Invalidation,
    Kind, Message, Page, PageGroup, PageRange, PageRequest, PageResponse, Scale, Status, Tag,
    TrafficClass,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::numbers::named;

/// A packet as described in JSON.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Description {
    MemoryRead {
        address: u64,
        length: u32,
    },
    MemoryWrite {
        address: u64,
        data: String,
    },
    FetchAdd(Operands),
    Swap(Operands),
    CompareAndSwap(Operands),
    Completion {
        completer: u16,
        status: String,
        byte_count: u16,
        lower_address: u8,
        data: Option<String>,
    },
    ConfigRead(Config),
    ConfigWrite(Config),
    TranslationRequest {
        address: u64,
        translations: u16,
        #[serde(default)]
        no_write: bool,
    },
    InvalidateRequest {
        target: u16,
        itag: u8,
        address: u64,
        /// The size of the range. Absent for a range of all addresses.
        size: Option<u64>,
        #[serde(default)]
        global: bool,
    },
    InvalidateCompletion {
        target: u16,
        count: u8,
        itags: u32,
    },
    PageRequest {
        address: u64,
        group: u16,
        #[serde(default)]
        last: bool,
        access: u8,
    },
    PageResponse {
        target: u16,
        group: u16,
        response: String,
    },
    Ack {
        sequence: u16,
    },
    Nak {
        sequence: u16,
    },
    InitFc1(Limits),
    InitFc2(Limits),
    UpdateFc(Limits),
    Feature {
        acknowledges: bool,
        scaled_flow_control: bool,
    },
}

#[derive(Deserialize)]
struct Operands {
    address: u64,
    data: String,
}

#[derive(Deserialize)]
struct Config {
    target: u16,
    r#type: u8,
    register: u16,
    byte_enables: u8,
    data: Option<String>,
}

#[derive(Deserialize)]
struct Limits {
    channel: u8,
    class: String,
    headers: u8,
    data: u16,
    /// Scaling factors of headers and data: 1, 4 or 16. Absent without scaled flow control.
    #[serde(default)]
    scale: Option<[u32; 2]>,
}

/// The fields that every TLP has.
#[derive(Deserialize)]
struct Common {
    #[serde(default)]
    requester: u16,
    #[serde(default)]
    tag: u16,
    #[serde(default)]
    traffic_class: u8,
    #[serde(default)]
    relaxed_ordering: bool,
    #[serde(default)]
    id_ordering: bool,
    #[serde(default)]
    no_snoop: bool,
    #[serde(default)]
    poisoned: bool,
    /// Whether the address is translated (AT). Used only for memory reads and writes.
    #[serde(default)]
    translated: bool,
}

/// Returns the bytes of the TLP or DLLP that the JSON object `description` describes.
#[pyfunction]
pub fn pack_tlp(description: &str) -> PyResult<Vec<u8>> {
    pack(description).map_err(PyValueError::new_err)
}

#[expect(clippy::too_many_lines, reason = "each kind of packet has its arm")]
fn pack(text: &str) -> Result<Vec<u8>, String> {
    let common: Common = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let description = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let requester = FunctionId(common.requester);
    let tag = Tag::new(common.tag).ok_or("the tag is too large; a tag has at most 10 bits")?;
    let dllp = |dllp: Dllp| Ok(dllp.emit().to_vec());
    let message = |message| Header::message(requester, message);
    let mut data = Vec::new();
    let mut atomic = |operands: Operands, operation: AtomicOperation| {
        data = bytes_of(&operands.data)?;
        let width = (data.len() / operation.operands()) as u32;
        Header::atomic((requester, tag), operation, operands.address, width).map_err(said)
    };
    let mut header = match description {
        Description::MemoryRead { address, length } => {
            Header::memory_read(requester, tag, address, length).map_err(said)?
        }
        Description::MemoryWrite { address, data: hex } => {
            let bytes = bytes_of(&hex)?;
            let header = Header::memory_write(requester, address, bytes.len() as u32);
            let header = header.map_err(said)?;
            data = vec![0; header.payload_len()];
            let lead = (address % 4) as usize;
            data[lead..lead + bytes.len()].copy_from_slice(&bytes);
            header
        }
        Description::FetchAdd(operands) => atomic(operands, AtomicOperation::FetchAdd)?,
        Description::Swap(operands) => atomic(operands, AtomicOperation::Swap)?,
        Description::CompareAndSwap(operands) => atomic(operands, AtomicOperation::CompareAndSwap)?,
        Description::Completion {
            completer,
            status,
            byte_count,
            lower_address,
            data: hex,
        } => {
            data = hex.as_deref().map_or(Ok(Vec::new()), bytes_of)?;
            let completion = Completion {
                completer: FunctionId(completer),
                requester,
                tag,
                status: named("completion status", &status, STATUSES)?,
                byte_count,
                lower_address,
                dwords: (data.len() / 4) as u16,
            };
            Kind::Completion(completion).into()
        }
        Description::ConfigRead(config) => Kind::ConfigRead(config.request(requester, tag)?).into(),
        Description::ConfigWrite(config) => {
            let hex = config.data.as_deref();
            data =
                bytes_of(hex.ok_or("data is missing; a configuration write has 4 bytes of data")?)?;
            Kind::ConfigWrite(config.request(requester, tag)?).into()
        }
        Description::TranslationRequest {
            address,
            translations,
            no_write,
        } => {
            let page = Page::of(address);
            let header = Header::translation_request(requester, tag, page, translations, no_write);
            header.map_err(said)?
        }
        Description::InvalidateRequest {
            target,
            itag,
            address,
            size,
            global,
        } => {
            let range = match size {
                Some(size) => PageRange::new(address, size).map_err(said)?,
                None => PageRange::ALL,
            };
            data = Invalidation { range, global }.emit().to_vec();
            message(Message::InvalidateRequest {
                target: FunctionId(target),
                tag: InvalidateTag::new(itag).ok_or("the ITag is too large; write 0 to 31")?,
            })
        }
        Description::InvalidateCompletion {
            target,
            count,
            itags,
        } => message(Message::InvalidateCompletion {
            target: FunctionId(target),
            count: CompletionCount::new(count)
                .ok_or("the completion count is wrong; write 1 to 8")?,
            tags: InvalidateTags(itags),
        }),
        Description::PageRequest {
            address,
            group,
            last,
            access,
        } => message(Message::PageRequest(PageRequest {
            page: Page::of(address),
            group: page_group(group)?,
            is_last: last,
            access: *Access::ALL
                .get(usize::from(access))
                .ok_or("the access is wrong; write R plus twice W, 0 to 3")?,
        })),
        Description::PageResponse {
            target,
            group,
            response,
        } => message(Message::PageGroupResponse {
            target: FunctionId(target),
            group: page_group(group)?,
            response: named("response to page requests", &response, PAGE_RESPONSES)?,
        }),
        Description::Ack { sequence } => return dllp(Dllp::Ack { sequence }),
        Description::Nak { sequence } => return dllp(Dllp::Nak { sequence }),
        Description::InitFc1(limits) => return dllp(Dllp::InitFc1(limits.credit()?)),
        Description::InitFc2(limits) => return dllp(Dllp::InitFc2(limits.credit()?)),
        Description::UpdateFc(limits) => return dllp(Dllp::UpdateFc(limits.credit()?)),
        Description::Feature {
            acknowledges,
            scaled_flow_control,
        } => {
            return dllp(Dllp::Feature {
                acknowledges,
                scaled_flow_control,
            });
        }
    };
    header.traffic_class = TrafficClass::new(common.traffic_class)
        .ok_or("the traffic class is too large; write 0 to 7")?;
    header.attributes = Attributes {
        relaxed_ordering: common.relaxed_ordering,
        id_ordering: common.id_ordering,
        no_snoop: common.no_snoop,
    };
    header.poisoned = common.poisoned;
    if common.translated {
        header = header.translated();
    }
    let (bytes, len) = header.emit();
    Ok([&bytes[..len], &data].concat())
}

impl Config {
    fn request(&self, requester: FunctionId, tag: Tag) -> Result<ConfigRequest, String> {
        let kind = match self.r#type {
            0 => ConfigKind::Type0,
            1 => ConfigKind::Type1,
            other => {
                return Err(format!(
                    "{other} is not a type of configuration request; write 0 or 1"
                ));
            }
        };
        Ok(ConfigRequest {
            requester,
            tag,
            target: FunctionId(self.target),
            register: self.register,
            first_be: self.byte_enables,
            kind,
        })
    }
}

impl Limits {
    fn credit(&self) -> Result<Credit, String> {
        let [header_scale, data_scale] = match self.scale {
            None => [Scale::Unscaled; 2],
            Some([headers, data]) => [scale(headers)?, scale(data)?],
        };
        Ok(Credit {
            channel: self.channel,
            class: named("flow-control class", &self.class, CLASSES)?,
            headers: self.headers,
            data: self.data,
            header_scale,
            data_scale,
        })
    }
}

fn page_group(number: u16) -> Result<PageGroup, String> {
    let group = PageGroup::new(number);
    group.ok_or_else(|| "the page request group is too large; write 0 to 511".to_owned())
}

fn scale(factor: u32) -> Result<Scale, String> {
    match factor {
        1 => Ok(Scale::One),
        4 => Ok(Scale::Four),
        16 => Ok(Scale::Sixteen),
        other => Err(format!("{other} is not a scaling factor; write 1, 4 or 16")),
    }
}

fn said(error: protocol::TlpError) -> String {
    error.to_string()
}

const STATUSES: [(&str, Status); 4] = [
    ("successful", Status::Successful),
    ("unsupported-request", Status::UnsupportedRequest),
    ("configuration-retry", Status::ConfigurationRetry),
    ("completer-abort", Status::CompleterAbort),
];
const PAGE_RESPONSES: [(&str, PageResponse); 3] = [
    ("success", PageResponse::Success),
    ("invalid-request", PageResponse::InvalidRequest),
    ("failure", PageResponse::Failure),
];
const CLASSES: [(&str, Class); 3] = [
    ("posted", Class::Posted),
    ("non-posted", Class::NonPosted),
    ("completion", Class::Completion),
];

fn bytes_of(hex: &str) -> Result<Vec<u8>, String> {
    let pairs = (0..hex.len()).step_by(2).map(|at| hex.get(at..at + 2));
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    let bytes: Option<_> = bytes.collect();
    bytes.ok_or_else(|| "data is not hexadecimal; write two digits for each byte".to_owned())
}

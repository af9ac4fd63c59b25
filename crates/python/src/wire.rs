//! Packets from descriptions in JSON, for comparison with other implementations.

mod translation;

use protocol::{
    AtomicOperation, Attributes, Class, Completion, ConfigKind, ConfigRequest, Credit, Dllp,
    FunctionId, Header, Kind, Scale, Status, Tag, TrafficClass,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use translation::{
    InvalidateCompletion, InvalidateRequest, PageRequestMessage, PageResponseMessage,
    TranslationRequest,
};

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
    TranslationRequest(TranslationRequest),
    InvalidateRequest(InvalidateRequest),
    InvalidateCompletion(InvalidateCompletion),
    PageRequest(PageRequestMessage),
    PageResponse(PageResponseMessage),
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
    /// Scaling factors of headers and data, 1, 4 or 16; absent without scaled flow control.
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
    /// Whether the address is translated (AT); only for memory reads and writes.
    #[serde(default)]
    translated: bool,
}

/// Returns the bytes of the TLP or DLLP that the JSON object `description` describes.
#[pyfunction]
pub fn pack_tlp(description: &str) -> PyResult<Vec<u8>> {
    pack(description).map_err(PyValueError::new_err)
}

fn pack(text: &str) -> Result<Vec<u8>, String> {
    let common: Common = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let description = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let requester = FunctionId(common.requester);
    let tag = Tag::new(common.tag).ok_or("the tag is too large; a tag has at most 10 bits")?;
    let (mut header, data) = match description {
        Description::MemoryRead { address, length } => (
            Header::memory_read(requester, tag, address, length).map_err(said)?,
            Vec::new(),
        ),
        Description::MemoryWrite { address, data } => {
            let data = bytes_of(&data)?;
            let header =
                Header::memory_write(requester, address, data.len() as u32).map_err(said)?;
            let mut payload = vec![0; header.payload_len()];
            let lead = (address % 4) as usize;
            payload[lead..lead + data.len()].copy_from_slice(&data);
            (header, payload)
        }
        Description::FetchAdd(operands) => {
            operands.request((requester, tag), AtomicOperation::FetchAdd)?
        }
        Description::Swap(operands) => operands.request((requester, tag), AtomicOperation::Swap)?,
        Description::CompareAndSwap(operands) => {
            operands.request((requester, tag), AtomicOperation::CompareAndSwap)?
        }
        Description::Completion {
            completer,
            status,
            byte_count,
            lower_address,
            data,
        } => {
            let data = data.as_deref().map_or(Ok(Vec::new()), bytes_of)?;
            let completion = Completion {
                completer: FunctionId(completer),
                requester,
                tag,
                status: status_of(&status)?,
                byte_count,
                lower_address,
                dwords: (data.len() / 4) as u16,
            };
            (Kind::Completion(completion).into(), data)
        }
        Description::ConfigRead(config) => (
            Kind::ConfigRead(config.request(requester, tag)?).into(),
            Vec::new(),
        ),
        Description::ConfigWrite(config) => {
            let data = bytes_of(
                config
                    .data
                    .as_deref()
                    .ok_or("data is missing; a configuration write has 4 bytes of data")?,
            )?;
            (
                Kind::ConfigWrite(config.request(requester, tag)?).into(),
                data,
            )
        }
        Description::TranslationRequest(request) => request.packet(requester, tag)?,
        Description::InvalidateRequest(request) => request.packet(requester)?,
        Description::InvalidateCompletion(completion) => completion.packet(requester)?,
        Description::PageRequest(request) => request.packet(requester)?,
        Description::PageResponse(response) => response.packet(requester)?,
        Description::Ack { sequence } => return Ok(Dllp::Ack { sequence }.emit().to_vec()),
        Description::Nak { sequence } => return Ok(Dllp::Nak { sequence }.emit().to_vec()),
        Description::InitFc1(limits) => return Ok(Dllp::InitFc1(limits.credit()?).emit().to_vec()),
        Description::InitFc2(limits) => return Ok(Dllp::InitFc2(limits.credit()?).emit().to_vec()),
        Description::Feature {
            acknowledges,
            scaled_flow_control,
        } => {
            let feature = Dllp::Feature {
                acknowledges,
                scaled_flow_control,
            };
            return Ok(feature.emit().to_vec());
        }
        Description::UpdateFc(limits) => {
            return Ok(Dllp::UpdateFc(limits.credit()?).emit().to_vec());
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

impl Operands {
    fn request(
        &self,
        transaction: (FunctionId, Tag),
        operation: AtomicOperation,
    ) -> Result<(Header, Vec<u8>), String> {
        let data = bytes_of(&self.data)?;
        let width = (data.len() / operation.operands()) as u32;
        let header = Header::atomic(transaction, operation, self.address, width).map_err(said)?;
        Ok((header, data))
    }
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
        let class = match self.class.as_str() {
            "posted" => Class::Posted,
            "non-posted" => Class::NonPosted,
            "completion" => Class::Completion,
            other => {
                return Err(format!(
                    "{other:?} is not a flow-control class; write posted, non-posted or completion"
                ));
            }
        };
        let [header_scale, data_scale] = match self.scale {
            None => [Scale::Unscaled; 2],
            Some([headers, data]) => [scale(headers)?, scale(data)?],
        };
        Ok(Credit {
            channel: self.channel,
            class,
            headers: self.headers,
            data: self.data,
            header_scale,
            data_scale,
        })
    }
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

fn status_of(name: &str) -> Result<Status, String> {
    match name {
        "successful" => Ok(Status::Successful),
        "unsupported-request" => Ok(Status::UnsupportedRequest),
        "configuration-retry" => Ok(Status::ConfigurationRetry),
        "completer-abort" => Ok(Status::CompleterAbort),
        other => Err(format!(
            "{other:?} is not a completion status; write successful, unsupported-request, configuration-retry or completer-abort"
        )),
    }
}

fn bytes_of(hex: &str) -> Result<Vec<u8>, String> {
    let digits = |at: usize| {
        hex.get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    (0..hex.len())
        .step_by(2)
        .map(|at| {
            digits(at)
                .ok_or_else(|| "data is not hexadecimal; write two digits for each byte".to_owned())
        })
        .collect()
}

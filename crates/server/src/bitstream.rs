//! The file of an accelerator: a header, metadata as JSON, and configuration bits for a real FPGA.
//!
//! The format is used by Intel's green bitstreams (`.gbs`): 16 bytes of magic number, the length of the metadata as 32 bits, little-endian, the
//! metadata, the bits.

use kernel::Frequency;
use serde::Deserialize;
use serde_json::{Value, json};
use session::USER_CLOCK;
use thiserror::Error;

/// The magic number at the beginning of the file.
const MAGIC: [u8; 16] = *b"XeonFPGA\xb7GBSv001";

/// Longest metadata in bytes: real metadata has less than a kilobyte.
const LONGEST: usize = 1 << 20;

/// The reason why a file is not a bitstream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BitstreamError {
    /// The file is too short, or has another magic number.
    #[error("the file does not begin with \"XeonFPGA\u{b7}GBSv001\"")]
    Magic,
    /// The metadata would be longer than the rest of the file.
    #[error(
        "the length field of the metadata says {0} bytes, which is more than the rest of the file or than 1 MiB"
    )]
    Length(usize),
    /// The metadata is invalid.
    #[error("the metadata is invalid: {0}")]
    Metadata(String),
}

/// The metadata of a bitstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The UUID of the accelerator, as text.
    pub accelerator: String,
    /// The UUID of the interface that the accelerator was made for, as text.
    pub interface: String,
    /// The model of the accelerator, if a user has written it: `FILE.py` or `FILE.py:CLASS`.
    pub model: Option<String>,
    /// The user clock that the accelerator was made for, `clock-frequency-high`.
    pub clock: Option<Frequency>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "afu-image")]
    image: AfuImage,
    #[serde(default)]
    peerlane: Option<Own>,
}

#[derive(Deserialize)]
struct AfuImage {
    #[serde(rename = "interface-uuid")]
    interface: String,
    #[serde(rename = "accelerator-clusters")]
    clusters: Vec<Cluster>,
    /// The user clock in MHz. Some tools leave a text here, which sets no clock.
    #[serde(rename = "clock-frequency-high", default)]
    clock: Value,
}

#[derive(Deserialize)]
struct Cluster {
    #[serde(rename = "accelerator-type-uuid")]
    accelerator: String,
}

#[derive(Deserialize)]
struct Own {
    model: String,
}

impl Image {
    /// An image of an accelerator for the simulated cards. It has metadata only.
    pub fn new(accelerator: String, model: Option<String>) -> Self {
        Image {
            accelerator,
            interface: sim::INTERFACE.to_string(),
            model,
            clock: None,
        }
    }

    /// The bytes of the file; `name` is the accelerator's name in the metadata.
    pub fn emit(&self, name: &str) -> Vec<u8> {
        let mut metadata = json!({
            "version": 1,
            "platform-name": "DCP",
            "afu-image": {
                "magic-no": 488_605_312,
                "power": 0,
                "interface-uuid": self.interface,
                "accelerator-clusters": [
                    {"name": name, "total-contexts": 1, "accelerator-type-uuid": self.accelerator},
                ],
            },
        });
        if let Some(model) = &self.model {
            metadata["peerlane"] = json!({"model": model});
        }
        if let Some(clock) = self.clock {
            let mhz = clock.0 as f64 / 1e6;
            metadata["afu-image"]["clock-frequency-high"] = json!(mhz);
            metadata["afu-image"]["clock-frequency-low"] = json!(mhz / 2.0);
        }
        let metadata = metadata.to_string();
        let length = metadata.len() as u32;
        [&MAGIC[..], &length.to_le_bytes(), metadata.as_bytes()].concat()
    }

    /// Whether the bytes of a file begin like a bitstream.
    pub fn is_begun(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BitstreamError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(BitstreamError::Magic)?;
        let (length, rest) = rest.split_first_chunk().ok_or(BitstreamError::Magic)?;
        let length = u32::from_le_bytes(*length) as usize;
        let metadata = rest.get(..length).filter(|_| length <= LONGEST);
        let metadata = metadata.ok_or(BitstreamError::Length(length))?;
        let metadata: Metadata = serde_json::from_slice(metadata)
            .map_err(|error| BitstreamError::Metadata(error.to_string()))?;
        let cluster = metadata.image.clusters.into_iter().next();
        let cluster =
            cluster.ok_or_else(|| BitstreamError::Metadata("no accelerator-clusters".into()))?;
        Ok(Image {
            accelerator: cluster.accelerator,
            clock: user_clock(&metadata.image.clock)?,
            interface: metadata.image.interface,
            model: metadata.peerlane.map(|own| own.model),
        })
    }
}

/// A megahertz in hertz.
const MHZ: u64 = 1_000_000;

/// The user clock in the metadata. `None` if the value is zero, a text or absent.
fn user_clock(value: &Value) -> Result<Option<Frequency>, BitstreamError> {
    let Some(mhz) = value.as_f64().filter(|mhz| *mhz > 0.0) else {
        return Ok(None);
    };
    let hertz = (mhz * 1e6).round() as u64;
    if !USER_CLOCK.contains(&hertz) {
        return Err(BitstreamError::Metadata(format!(
            "clock-frequency-high is {mhz} MHz; a user clock has {} to {} MHz",
            USER_CLOCK.start() / MHZ,
            USER_CLOCK.end() / MHZ
        )));
    }
    Ok(Some(Frequency(hertz)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(metadata: &str) -> Vec<u8> {
        let length = (metadata.len() as u32).to_le_bytes();
        [&MAGIC[..], &length, metadata.as_bytes(), b"bits"].concat()
    }

    const METADATA: &str = r#"{"version": 1, "platform-name": "DCP", "afu-image": {"power": 0,
        "interface-uuid": "9926ab6d-6c92-5a68-aabc-a7d84c545738", "accelerator-clusters":
        [{"name": "a", "total-contexts": 1, "accelerator-type-uuid": "331db30c-9885-41ea-9081-f88b8f655caa"}]}}"#;

    #[test]
    fn an_image_tells_its_accelerator_and_its_interface() {
        let image = Image::parse(&file(METADATA)).expect("a good file");
        assert_eq!(image.accelerator, "331db30c-9885-41ea-9081-f88b8f655caa");
        assert_eq!(image.interface, "9926ab6d-6c92-5a68-aabc-a7d84c545738");
        assert_eq!((image.model, image.clock), (None, None));
    }

    #[test]
    fn the_clock_that_an_image_was_made_for_is_in_its_metadata() {
        let with = |clock: &str| {
            let clock = format!(r#"{{"power": 0, "clock-frequency-high": {clock}"#);
            Image::parse(&file(&METADATA.replace(r#"{"power": 0"#, &clock)))
        };
        let clock = |text| with(text).map(|image| image.clock);
        assert_eq!(clock("312"), Ok(Some(Frequency::mhz(312))));
        assert_eq!(clock("312.5"), Ok(Some(Frequency(312_500_000))));
        for none in ["0", "\"auto\"", "null"] {
            assert_eq!(clock(none), Ok(None));
        }
        for wrong in ["1", "5000", "1e300"] {
            let refused = with(wrong).expect_err("no card has such a clock");
            assert!(refused.to_string().contains("25 to 1200 MHz"));
        }
    }

    #[test]
    fn an_image_is_what_it_was_before_it_was_written() {
        let id = "331db30c-9885-41ea-9081-f88b8f655caa".to_owned();
        for model in [None, Some("a.py:\"B\"".to_owned())] {
            let mut image = Image::new(id.clone(), model);
            image.clock = Some(Frequency::mhz(312));
            assert_eq!(Image::parse(&image.emit("a\nb")), Ok(image));
        }
    }

    #[test]
    fn what_is_no_bitstream_is_refused_wherever_it_is_cut_or_changed() {
        let good = file(METADATA);
        for cut in 0..MAGIC.len() + 4 + METADATA.len() {
            assert!(Image::parse(&good[..cut]).is_err(), "{cut} bytes");
        }
        let mut changed = good.clone();
        changed[3] ^= 1;
        assert_eq!(Image::parse(&changed), Err(BitstreamError::Magic));
        let mut long = good;
        long[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(
            Image::parse(&long),
            Err(BitstreamError::Length(_))
        ));
        let empty = METADATA.replace(r#"[{"name""#, r#"[], "rest": [{"name""#);
        assert!(matches!(
            Image::parse(&file(&empty)),
            Err(BitstreamError::Metadata(_))
        ));
    }
}

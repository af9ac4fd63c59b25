//! The data structures of Identify (NVM Express 1.4, section 5.15.2).

use crate::logs::{FIRMWARE, LOGGED_ERRORS};
use crate::parameters::NvmeParameters;

/// Size of a data structure in bytes.
pub const SIZE: usize = 4096;
/// The only namespace.
pub const NAMESPACE: u32 = 1;
/// Vendor ID of QEMU. Its NVM Express controller is not a hardware product.
pub const VENDOR: u16 = 0x1b36;
/// The temperature in kelvin from which a drive has a critical warning. Our choice: 70 degrees Celsius.
pub const WARNING_TEMPERATURE: u16 = 343;

/// The data structures of one drive.
pub struct Identify<'a> {
    /// The parameters of the drive.
    pub parameters: &'a NvmeParameters,
    pub serial: &'a str,
}

impl Identify<'_> {
    /// The data structure with the number `structure` (CNS); none if there is no such structure.
    pub fn data(&self, structure: u8, namespace: u32) -> Option<Vec<u8>> {
        Some(match structure {
            0x00 => self.namespace(),
            0x01 => self.controller(),
            0x02 => Self::active(namespace),
            0x03 => self.descriptors(),
            _ => return None,
        })
    }

    fn controller(&self) -> Vec<u8> {
        let parameters = self.parameters;
        let mut data = Structure::new();
        data.put(0, &VENDOR.to_le_bytes());
        data.put(2, &VENDOR.to_le_bytes());
        data.text(4..24, self.serial);
        data.text(24..64, "Peerlane NVMe drive");
        data.put(64, FIRMWARE);
        data.put(77, &[parameters.transfer_exponent() as u8]);
        data.put(80, &crate::registers::VERSION.to_le_bytes());
        // Controller type: I/O controller.
        data.put(111, &[1]);
        // Limit of Abort commands, limit of asynchronous event requests, one read-only firmware slot, long log pages, size of the error log.
        let requests = crate::events::MOST_REQUESTS as u8 - 1;
        data.put(
            258,
            &[
                MOST_ABORTS - 1,
                requests,
                0b11,
                0b100,
                LOGGED_ERRORS as u8 - 1,
            ],
        );
        data.put(266, &WARNING_TEMPERATURE.to_le_bytes());
        data.put(268, &(WARNING_TEMPERATURE + 15).to_le_bytes());
        data.put(280, &parameters.used().to_le_bytes());
        data.put(512, &[0x66, 0x44]);
        data.put(516, &NAMESPACE.to_le_bytes());
        // A volatile write cache, and support of a flush of all namespaces.
        data.put(525, &[if parameters.has_cache() { 0b111 } else { 0 }]);
        let name = format!("nqn.2014-08.org.nvmexpress:uuid:{}", self.uuid_text());
        data.put(768, name.as_bytes());
        // Power state 0 has 25 W, in units of 10 mW.
        data.put(2048, &2500_u16.to_le_bytes());
        data.0
    }

    fn namespace(&self) -> Vec<u8> {
        let parameters = self.parameters;
        let mut data = Structure::new();
        for at in [0, 8, 16] {
            data.put(at, &parameters.blocks().to_le_bytes());
        }
        // Blocks that were never written return zeros.
        data.put(33, &[1]);
        data.put(48, &parameters.used().to_le_bytes());
        data.put(128, &(parameters.block_exponent() << 16).to_le_bytes());
        data.0
    }

    /// The active namespaces with identifiers above `after`.
    fn active(after: u32) -> Vec<u8> {
        let mut data = Structure::new();
        if after < NAMESPACE {
            data.put(0, &NAMESPACE.to_le_bytes());
        }
        data.0
    }

    /// The identifiers of the namespace: one UUID.
    fn descriptors(&self) -> Vec<u8> {
        let mut data = Structure::new();
        data.put(0, &[3, 16]);
        data.put(4, &self.uuid());
        data.0
    }

    /// A UUID of version 8 (RFC 9562, 5.8), which is different for each serial number.
    fn uuid(&self) -> [u8; 16] {
        let hash = |seed: u64| {
            // A 64-bit hash of the serial number (FNV-1a).
            let bytes = self.serial.bytes();
            bytes.fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            })
        };
        let mut uuid = (u128::from(hash(0)) << 64 | u128::from(hash(1))).to_be_bytes();
        uuid[6] = uuid[6] & 0x0f | 0x80;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }

    fn uuid_text(&self) -> String {
        let hex = format!("{:032x}", u128::from_be_bytes(self.uuid()));
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        parts.join("-")
    }
}

/// The most Abort commands in progress. Each ends at once.
pub const MOST_ABORTS: u8 = 4;

/// A data structure to fill.
struct Structure(Vec<u8>);

impl Structure {
    fn new() -> Self {
        Structure(vec![0; SIZE])
    }

    fn put(&mut self, at: usize, field: &[u8]) {
        self.0[at..at + field.len()].copy_from_slice(field);
    }

    /// Stores a text with trailing spaces. A text that is too long is cut off.
    fn text(&mut self, field: std::ops::Range<usize>, text: &str) {
        self.0[field.clone()].fill(b' ');
        let shown = text.bytes().map(|byte| match byte {
            b' '..=b'~' => byte,
            _ => b'?',
        });
        for (place, byte) in self.0[field].iter_mut().zip(shown) {
            *place = byte;
        }
    }
}

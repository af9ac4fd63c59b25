//! The management engine (FME): registers at the beginning of BAR 0, from which software learns what the card has.

use super::AfuId;
use super::errors::LinkError;
use super::features::{FeatureHeader, FeatureKind};
use super::words::{merged, part_of};

/// The registers of the management engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Management {
    scratchpad: u64,
    error_mask: u64,
    link_mask: u64,
    link_errors: u64,
}

/// Bytes of BAR 0 that are registers.
pub(super) const SIZE: u64 = 256 * 1024;

/// BFAF2AE9-4A52-46E3-82FE-38F0F9E17764.
const ID: AfuId = AfuId(0xbfaf_2ae9_4a52_46e3_82fe_38f0_f9e1_7764);

/// What AFUs for this card are compiled for: the interface of the Intel PAC with Arria 10 GX, version 1.2.
pub const INTERFACE: AfuId = AfuId(0x9926_ab6d_6c92_5a68_aabc_a7d8_4c54_5738);

const SCRATCHPAD: u64 = 0x28;
const CAPABILITY: u64 = 0x30;
const PORT_0: u64 = 0x38;
const BITSTREAM_ID: u64 = 0x60;
const ERRORS: u64 = 0x4000;
const ERROR_MASK: u64 = ERRORS + 0x08;
const LINK_MASK: u64 = ERRORS + 0x18;
const LINK_ERRORS: u64 = ERRORS + 0x20;
const RECONFIGURATION: u64 = 0x5000;
const INTERFACE_LOW: u64 = RECONFIGURATION + 0xa8;
const INTERFACE_HIGH: u64 = RECONFIGURATION + 0xb0;

/// Errors of the link are recorded in these bits.
const LINK_BITS: u64 = 0xff;

impl Management {
    pub(super) fn load(&self, offset: u64, len: u32) -> u64 {
        part_of(self.register(offset & !7), offset, len)
    }

    fn register(&self, offset: u64) -> u64 {
        match offset {
            0 => header(FeatureKind::InterfaceUnit, 0, Some(ERRORS)),
            0x08 => ID.low(),
            0x10 => ID.high(),
            SCRATCHPAD => self.scratchpad,
            // One port; PCI Express link 0; 48-bit addresses.
            CAPABILITY => 48 << 24 | 1 << 17 | 1 << 12,
            // It is there, in BAR 2, at its beginning.
            PORT_0 => 1 << 60 | 2 << 32,
            BITSTREAM_ID => BITSTREAM,
            ERRORS => header(FeatureKind::Private, 0x4, Some(RECONFIGURATION - ERRORS)),
            ERROR_MASK => self.error_mask,
            LINK_MASK => self.link_mask,
            LINK_ERRORS => self.link_errors,
            RECONFIGURATION => header(FeatureKind::Private, 0x5, None),
            INTERFACE_LOW => INTERFACE.low(),
            INTERFACE_HIGH => INTERFACE.high(),
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) {
        let register = match offset & !7 {
            SCRATCHPAD => &mut self.scratchpad,
            ERROR_MASK => &mut self.error_mask,
            LINK_MASK => &mut self.link_mask,
            LINK_ERRORS => {
                let (seen, _) = merged(0, offset, bytes);
                self.link_errors &= !seen;
                return;
            }
            _ => return,
        };
        *register = merged(*register, offset, bytes).0;
    }

    pub(super) fn link_errors(&self) -> u64 {
        self.link_errors
    }

    pub(super) fn record(&mut self, error: LinkError) {
        self.link_errors |= 1 << error as u32 & !self.link_mask & LINK_BITS;
    }
}

fn header(kind: FeatureKind, id: u16, next: Option<u64>) -> u64 {
    let next = next.map(|next| next as u32);
    FeatureHeader { kind, id, next }.bits()
}

/// Version 1.2.1 of nobody's build.
pub const BITSTREAM: u64 = 0x0121_0000_0000_0000;

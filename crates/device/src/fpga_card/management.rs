//! The management engine (FME): registers at the beginning of BAR 0 that describe the card.

use super::AfuId;
use super::errors::{CardErrors, alert_capability};
use super::features::{FeatureHeader, FeatureKind};
use super::interrupts::MANAGEMENT_ALERT;
use super::words::{merged, part_of};

/// The registers of the management engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Management {
    scratchpad: u64,
    pub(super) errors: CardErrors,
}

/// Size of the registers in BAR 0.
pub(super) const SIZE: u64 = 256 * 1024;

/// BFAF2AE9-4A52-46E3-82FE-38F0F9E17764.
const ID: AfuId = AfuId(0xbfaf_2ae9_4a52_46e3_82fe_38f0_f9e1_7764);

/// The interface for which AFUs are compiled: that of the Intel PAC with Arria 10 GX, version 1.2.
pub const INTERFACE: AfuId = AfuId(0x9926_ab6d_6c92_5a68_aabc_a7d8_4c54_5738);

/// Errors of the engine's own units (`FME_ERROR`).
pub const OWN_ERRORS: u64 = ERRORS + 0x10;
/// The first error of the engine's own units.
pub const FIRST_OWN_ERROR: u64 = ERRORS + 0x38;
/// The next error of the engine's own units.
pub const NEXT_OWN_ERROR: u64 = ERRORS + 0x40;
/// Errors of the link to the host (`PCIE0_ERROR`); writing ones clears them.
pub const LINK_ERRORS: u64 = ERRORS + 0x20;
/// Errors of a second link (`PCIE1_ERROR`).
pub const SECOND_LINK_ERRORS: u64 = ERRORS + 0x30;
/// Non-fatal errors (`RAS_NONFAT_ERROR`).
pub const NONFATAL_ERRORS: u64 = ERRORS + 0x50;
/// Fatal errors (`RAS_CATFAT_ERROR`).
pub const FATAL_ERRORS: u64 = ERRORS + 0x60;
/// Errors that software injects (`RAS_ERROR_INJECT`).
pub const INJECT: u64 = ERRORS + 0x68;

const SCRATCHPAD: u64 = 0x28;
const CAPABILITY: u64 = 0x30;
const PORT_0: u64 = 0x38;
const BITSTREAM_ID: u64 = 0x60;
const ERRORS: u64 = 0x4000;
const OWN_MASK: u64 = ERRORS + 0x08;
const LINK_MASK: u64 = ERRORS + 0x18;
const SECOND_LINK_MASK: u64 = ERRORS + 0x28;
const NONFATAL_MASK: u64 = ERRORS + 0x48;
const FATAL_MASK: u64 = ERRORS + 0x58;
const ERROR_CAPABILITY: u64 = ERRORS + 0x70;
const RECONFIGURATION: u64 = 0x5000;
const INTERFACE_LOW: u64 = RECONFIGURATION + 0xa8;
const INTERFACE_HIGH: u64 = RECONFIGURATION + 0xb0;

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
            // The port is present, at the beginning of BAR 2.
            PORT_0 => 1 << 60 | 2 << 32,
            BITSTREAM_ID => BITSTREAM,
            ERRORS => header(FeatureKind::Private, 0x4, Some(RECONFIGURATION - ERRORS)),
            OWN_MASK => self.errors.own_mask,
            LINK_MASK => self.errors.link_mask,
            LINK_ERRORS => self.errors.link,
            SECOND_LINK_MASK => self.errors.second_link_mask,
            NONFATAL_MASK => self.errors.nonfatal_mask,
            NONFATAL_ERRORS => self.errors.nonfatal(),
            FATAL_MASK => self.errors.fatal_mask,
            FATAL_ERRORS => self.errors.fatal(),
            INJECT => self.errors.injected(),
            ERROR_CAPABILITY => alert_capability(MANAGEMENT_ALERT),
            RECONFIGURATION => header(FeatureKind::Private, 0x5, None),
            INTERFACE_LOW => INTERFACE.low(),
            INTERFACE_HIGH => INTERFACE.high(),
            _ => 0,
        }
    }

    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) {
        let register = match offset & !7 {
            SCRATCHPAD => &mut self.scratchpad,
            OWN_MASK => &mut self.errors.own_mask,
            LINK_MASK => &mut self.errors.link_mask,
            SECOND_LINK_MASK => &mut self.errors.second_link_mask,
            NONFATAL_MASK => &mut self.errors.nonfatal_mask,
            FATAL_MASK => &mut self.errors.fatal_mask,
            LINK_ERRORS => {
                self.errors.link &= !merged(0, offset, bytes).0;
                return;
            }
            INJECT => {
                let bits = merged(self.errors.injected(), offset, bytes).0;
                self.errors.inject(bits);
                return;
            }
            _ => return,
        };
        *register = merged(*register, offset, bytes).0;
    }
}

fn header(kind: FeatureKind, id: u16, next: Option<u64>) -> u64 {
    let next = next.map(|next| next as u32);
    FeatureHeader { kind, id, next }.bits()
}

/// Version 1.2.1, without a build number.
pub const BITSTREAM: u64 = 0x0121_0000_0000_0000;

//! The management engine (FME): registers at the beginning of BAR 0 that describe the card.

use kernel::{Span, Time};

use super::AfuId;
use super::errors::{CardErrors, alert_capability};
use super::features::{FeatureKind, header};
use super::interrupts::management_alert;
use super::performance::{self, Performance};
use super::port;
use super::words::{merged, part_of};

/// The registers of the management engine.
#[derive(Clone, Debug)]
pub(super) struct Management {
    ports: u8,
    scratchpad: u64,
    pub(super) errors: CardErrors,
    pub(super) performance: Performance,
}

/// Size of the registers in BAR 0.
pub(super) const SIZE: u64 = 256 * 1024;

/// The UUID of the management engine, BFAF2AE9-4A52-46E3-82FE-38F0F9E17764.
const ID: AfuId = AfuId(0xbfaf_2ae9_4a52_46e3_82fe_38f0_f9e1_7764);

/// The ID of the interface for which AFUs are compiled: the interface of the Intel PAC with Arria 10 GX, version 1.2.
pub const INTERFACE: AfuId = AfuId(0x9926_ab6d_6c92_5a68_aabc_a7d8_4c54_5738);

/// Errors of the engine's own units (`FME_ERROR`).
pub const OWN_ERRORS: u64 = ERRORS + 0x10;
/// The first error of the engine's own units.
pub const FIRST_OWN_ERROR: u64 = ERRORS + 0x38;
/// The next error of the engine's own units.
pub const NEXT_OWN_ERROR: u64 = ERRORS + 0x40;
/// Errors of the link to the host (`PCIE0_ERROR`). Writing ones clears them.
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
const PORTS: u64 = 0x38;
const PORTS_END: u64 = PORTS + 8 * 4;
const BITSTREAM_ID: u64 = 0x60;
/// The feature header of the performance counters.
pub const PERFORMANCE: u64 = 0x3000;
const PERFORMANCE_LAST: u64 = PERFORMANCE + performance::CLOCK;
/// The register that selects a performance counter.
pub const FABRIC_CONTROL: u64 = PERFORMANCE + performance::FABRIC_CONTROL;
/// The performance counter that is selected.
pub const FABRIC_COUNTER: u64 = PERFORMANCE + performance::FABRIC_COUNTER;
/// The counter of the interface clock.
pub const CLOCK_COUNTER: u64 = PERFORMANCE + performance::CLOCK;
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
    /// The registers after reset, on a card with `ports` ports and an interface clock of this cycle.
    pub(super) fn new(ports: u8, cycle: Span) -> Self {
        Management {
            ports,
            scratchpad: 0,
            errors: CardErrors::default(),
            performance: Performance::new(ports.into(), cycle),
        }
    }

    pub(super) fn load(&mut self, offset: u64, len: u32, now: Time) -> u64 {
        match offset & !7 {
            FABRIC_CONTROL..=PERFORMANCE_LAST => {
                self.performance.load(offset - PERFORMANCE, len, now)
            }
            register => part_of(self.register(register), offset, len),
        }
    }

    fn register(&mut self, offset: u64) -> u64 {
        if let Some(register) = self.writable(offset) {
            return *register;
        }
        match offset {
            0 => header(FeatureKind::InterfaceUnit, 0, Some(PERFORMANCE)),
            0x08 => ID.low(),
            0x10 => ID.high(),
            // Fields: address width of 48 bits; number of ports; PCI Express link 0.
            CAPABILITY => 48 << 24 | u64::from(self.ports) << 17 | 1 << 12,
            PORTS..PORTS_END => self.port((offset - PORTS) / 8),
            BITSTREAM_ID => BITSTREAM,
            PERFORMANCE => header(FeatureKind::Private, 0x7, Some(ERRORS - PERFORMANCE)),
            ERRORS => header(FeatureKind::Private, 0x4, Some(RECONFIGURATION - ERRORS)),
            LINK_ERRORS => self.errors.link,
            NONFATAL_ERRORS => self.errors.nonfatal(),
            FATAL_ERRORS => self.errors.fatal(),
            INJECT => self.errors.injected(),
            ERROR_CAPABILITY => alert_capability(management_alert(self.ports)),
            RECONFIGURATION => header(FeatureKind::Private, 0x5, None),
            INTERFACE_LOW => INTERFACE.low(),
            INTERFACE_HIGH => INTERFACE.high(),
            _ => 0,
        }
    }

    /// The register of a port: present, at an offset in BAR 2; 0 if there is no port with this number.
    fn port(&self, number: u64) -> u64 {
        if number < self.ports.into() {
            1 << 60 | 2 << 32 | (number * port::DISTANCE)
        } else {
            0
        }
    }

    pub(super) fn store(&mut self, offset: u64, bytes: &[u8]) {
        if (FABRIC_CONTROL..=PERFORMANCE_LAST).contains(&(offset & !7)) {
            return self.performance.store(offset - PERFORMANCE, bytes);
        }
        match offset & !7 {
            LINK_ERRORS => self.errors.link &= !merged(0, offset, bytes).0,
            INJECT => {
                let bits = merged(self.errors.injected(), offset, bytes).0;
                self.errors.inject(bits);
            }
            other => {
                if let Some(register) = self.writable(other) {
                    *register = merged(*register, offset, bytes).0;
                }
            }
        }
    }

    /// A register that stores the value that software writes; none at other offsets.
    fn writable(&mut self, offset: u64) -> Option<&mut u64> {
        Some(match offset {
            SCRATCHPAD => &mut self.scratchpad,
            OWN_MASK => &mut self.errors.own_mask,
            LINK_MASK => &mut self.errors.link_mask,
            SECOND_LINK_MASK => &mut self.errors.second_link_mask,
            NONFATAL_MASK => &mut self.errors.nonfatal_mask,
            FATAL_MASK => &mut self.errors.fatal_mask,
            _ => return None,
        })
    }
}

/// The version of the bitstream, 1.2.1, without a build number.
pub const BITSTREAM: u64 = 0x0121_0000_0000_0000;

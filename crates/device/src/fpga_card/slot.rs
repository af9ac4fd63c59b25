//! A slot: its unit, the port with its control registers, its interface to host memory and its clock.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use kernel::Frequency;

use super::host_interface::HostInterface;
use super::port::PortRegisters;
use super::{Afu, AfuId};

/// A slot of a card.
#[derive(Debug)]
pub struct Slot {
    pub(super) port: PortRegisters,
    pub(super) host: HostInterface,
    pub(super) unit: Unit,
    /// The user clock: the clock of the unit in this slot.
    pub clock: Frequency,
    /// The clock for which the unit was built; none if its bitstream does not contain it.
    pub made_for: Option<Frequency>,
    /// Number of the last write packet of the slot, counted over the write packets of all slots.
    pub(super) last_posted: u64,
}

impl Slot {
    /// The ID of the unit, if the slot is not empty.
    pub fn afu_id(&self) -> Option<AfuId> {
        self.unit.id
    }

    /// Whether the slot may have something to send, or its unit may have to be woken, before the next alarm.
    pub(super) fn has_work(&self) -> bool {
        self.host.has_work() || self.port.errors.is_alerting
    }
}

/// The unit in a slot. Its mutex is needed because the card must be `Sync`, but an AFU need not be.
pub(super) struct Unit {
    afu: Option<Mutex<Box<dyn Afu>>>,
    pub(super) id: Option<AfuId>,
    pub(super) next_feature: Option<u32>,
}

impl Unit {
    /// A slot with this unit, or an empty slot.
    pub(super) fn of(afu: Option<Box<dyn Afu>>) -> Self {
        Unit {
            id: afu.as_ref().map(|afu| afu.id()),
            next_feature: afu.as_ref().and_then(|afu| afu.next_feature()),
            afu: afu.map(Mutex::new),
        }
    }

    pub(super) fn get(&mut self) -> Option<&mut dyn Afu> {
        let afu = self.afu.as_mut()?;
        let afu = afu.get_mut().unwrap_or_else(PoisonError::into_inner);
        Some(afu.as_mut())
    }
}

impl fmt::Debug for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Unit").field(&self.id).finish()
    }
}

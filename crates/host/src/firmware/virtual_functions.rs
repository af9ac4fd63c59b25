//! Virtual functions as the driver of their physical function sets them up: all that there can be, with pages of 4 KiB.

use protocol::{FunctionId, SrIov, register};

use super::access::Registers;
use super::bars::{Ask, bars};

/// An SR-IOV capability.
#[derive(Clone, Debug)]
pub(super) struct FoundVirtual {
    /// The register of its header.
    register: u16,
    total: u16,
    /// First VF Offset and VF Stride.
    places: u32,
}

impl FoundVirtual {
    /// That of the function with this ID, if it has one.
    pub(super) async fn of(registers: &Registers, id: FunctionId) -> Option<Self> {
        let at = registers.extended(id, register::SRIOV_ID).await?;
        let totals = registers.read(id, beyond(at, register::TOTAL_VFS)).await;
        let places = beyond(at, register::VF_OFFSET_AND_STRIDE);
        Some(Self {
            register: at,
            total: (totals >> 16) as u16,
            places: registers.read(id, places).await,
        })
    }

    /// The addresses that all of them ask for, with pages of 4 KiB.
    pub(super) async fn asks(&self, registers: &Registers, id: FunctionId) -> Vec<Ask> {
        let page = beyond(self.register, register::SYSTEM_PAGE_SIZE);
        registers.write(id, page, PAGE_4_KIB).await;
        let first = beyond(self.register, register::VF_BARS);
        bars(registers, id, first, self.total.into()).await
    }

    /// Enables all of them, and their memory; their IDs, if that of their physical function is `id`.
    pub(super) async fn enable(
        &self,
        registers: &Registers,
        id: FunctionId,
    ) -> impl Iterator<Item = FunctionId> {
        let number = beyond(self.register, register::NUM_VFS);
        registers
            .write_bytes(id, number, self.total.into(), 0b0011)
            .await;
        let control = beyond(self.register, register::SRIOV_CONTROL);
        let enable = register::VF_ENABLE | register::VF_MEMORY_SPACE;
        registers.replace(id, control, (enable, enable)).await;
        let places = self.places;
        (0..self.total).map(move |number| SrIov::virtual_id(id, places, number))
    }
}

/// The register that is as far beyond a capability `at` as `register` is beyond [`register::SRIOV`].
fn beyond(at: u16, register: u16) -> u16 {
    at + (register - register::SRIOV)
}

const PAGE_4_KIB: u32 = 1;

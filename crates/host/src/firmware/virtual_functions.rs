//! Firmware enables virtual functions as a driver of the physical function does: the largest number of them, with pages of 4 KiB.

use protocol::{FunctionId, SrIov, register};

use super::access::Registers;
use super::bars::{BarRequest, bars};

/// The SR-IOV capability of a function.
#[derive(Clone, Debug)]
pub(super) struct FoundVirtual {
    /// The register of the capability's header.
    register: u16,
    total: u16,
    /// The values of First VF Offset and VF Stride.
    places: u32,
}

impl FoundVirtual {
    /// The SR-IOV capability of the function `id`, if it has one. `has_ari` is true if ARI Forwarding is enabled in the port above; the IDs of
    /// the virtual functions may depend on it.
    pub(super) async fn of(registers: &Registers, id: FunctionId, has_ari: bool) -> Option<Self> {
        let at = registers.extended(id, register::SRIOV_ID).await?;
        let totals = registers.read(id, beyond(at, register::TOTAL_VFS)).await;
        if has_ari {
            let control = beyond(at, register::SRIOV_CONTROL);
            let hierarchy = register::ARI_CAPABLE_HIERARCHY;
            registers.set(id, control, hierarchy).await;
        }
        let places = beyond(at, register::VF_OFFSET_AND_STRIDE);
        Some(Self {
            register: at,
            total: (totals >> 16) as u16,
            places: registers.read(id, places).await,
        })
    }

    /// The number of the last bus with virtual functions of the function `id`. The number may exceed 255, the largest bus number.
    pub(super) fn last_bus(&self, id: FunctionId) -> u32 {
        let (offset, stride) = (self.places & 0xffff, self.places >> 16);
        let last = u32::from(self.total).saturating_sub(1);
        (u32::from(id.0) + offset + stride * last) >> 8
    }

    /// The BARs of all virtual functions, with 4 KiB pages.
    pub(super) async fn asks(&self, registers: &Registers, id: FunctionId) -> Vec<BarRequest> {
        let page = beyond(self.register, register::SYSTEM_PAGE_SIZE);
        registers.write(id, page, PAGE_4_KIB).await;
        let first = beyond(self.register, register::VF_BARS);
        bars(registers, id, first, self.total.into()).await
    }

    /// Enables all virtual functions and their memory. Returns their IDs; `id` is that of the physical function.
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
        registers.set(id, control, enable).await;
        let places = self.places;
        (0..self.total).map(move |number| SrIov::virtual_id(id, places, number))
    }
}

/// The number of a register of the SR-IOV capability at `at`. `register` is its number if the capability is at [`register::SRIOV`].
fn beyond(at: u16, register: u16) -> u16 {
    at + (register - register::SRIOV)
}

const PAGE_4_KIB: u32 = 1;

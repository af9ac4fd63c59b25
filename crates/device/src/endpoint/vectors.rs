//! The MSI-X table of one function with its pending bits (PCIe Base 7.7.2, 6.1.4). The table determines the message of each interrupt and the
//! time at which it may be sent, but makes no packets.

use protocol::register::{MSIX_ENTRY, MSIX_VECTOR_CONTROL, MSIX_VECTOR_MASK};
use protocol::{MsixTable, Signalling};

/// Address and data of the memory write that signals an interrupt.
pub(super) type Message = (u64, u32);

/// The result of an interrupt that a function raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raised {
    /// The function sends this message.
    Sent(Message),
    /// The pending bit is set. The message follows when neither the vector nor the function is masked.
    Held,
    /// The interrupt is lost because MSI-X is not enabled.
    Dropped,
}

/// The numbers of interrupts of a vector since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorCounts {
    /// Messages sent.
    pub sent: u64,
    /// Interrupts that set the pending bit, or whose pending bit was set already.
    pub held: u64,
    /// Pending bits that the function cleared without a message, because software had served the cause.
    pub withdrawn: u64,
    /// Interrupts while MSI-X was not enabled.
    pub dropped: u64,
}

/// The MSI-X table of a function and its pending bits.
#[derive(Clone, Debug)]
pub(super) struct VectorTable {
    place: MsixTable,
    signalling: Signalling,
    /// Whether the function may send memory requests.
    may_send: bool,
    entries: Vec<[u8; MSIX_ENTRY as usize]>,
    pending: Vec<u8>,
    counts: Vec<VectorCounts>,
}

impl VectorTable {
    /// The table after reset: every vector is masked, and no bit is pending.
    pub(super) fn new(place: MsixTable) -> Self {
        let mut entry = [0; MSIX_ENTRY as usize];
        entry[MSIX_VECTOR_CONTROL as usize] = MSIX_VECTOR_MASK as u8;
        VectorTable {
            signalling: Signalling::None,
            may_send: false,
            entries: vec![entry; place.vectors.into()],
            pending: vec![0; place.pending_bytes() as usize],
            counts: vec![VectorCounts::default(); place.vectors.into()],
            place,
        }
    }

    pub(super) fn place(&self) -> MsixTable {
        self.place
    }

    pub(super) fn counts(&self) -> &[VectorCounts] {
        &self.counts
    }

    /// Returns the entries and the pending bits to their values after reset; the counts do not change.
    pub(super) fn reset(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        *self = VectorTable {
            counts,
            ..Self::new(self.place)
        };
    }

    /// Applies the configuration registers: how the function may signal interrupts, and whether it may send memory requests.
    pub(super) fn apply_registers(&mut self, signalling: Signalling, may_send: bool) {
        (self.signalling, self.may_send) = (signalling, may_send);
    }

    /// Whether an interrupt would use this table and not MSI.
    pub(super) fn is_used(&self) -> bool {
        self.signalling != Signalling::Msi
    }

    /// Handles an interrupt of `vector`, which the table must have.
    pub(super) fn raise(&mut self, vector: u16) -> Raised {
        let Signalling::Msix { is_masked } = self.signalling else {
            self.counts[usize::from(vector)].dropped += 1;
            return Raised::Dropped;
        };
        if is_masked || self.is_masked(vector) || !self.may_send {
            let (byte, bit) = place(vector);
            self.pending[byte] |= bit;
            self.counts[usize::from(vector)].held += 1;
            return Raised::Held;
        }
        Raised::Sent(self.send(vector))
    }

    /// Clears the pending bit of the first vector whose message may be sent now, and returns the message.
    pub(super) fn release(&mut self) -> Option<Message> {
        if self.signalling != (Signalling::Msix { is_masked: false }) || !self.may_send {
            return None;
        }
        let vector =
            (0..self.place.vectors).find(|one| self.is_pending(*one) && !self.is_masked(*one))?;
        let (byte, bit) = place(vector);
        self.pending[byte] &= !bit;
        Some(self.send(vector))
    }

    /// Clears the pending bit of `vector`, because software has served the cause of the interrupt (PCIe Base 6.1.4).
    pub(super) fn withdraw(&mut self, vector: u16) {
        if self.is_pending(vector) {
            let (byte, bit) = place(vector);
            self.pending[byte] &= !bit;
            self.counts[usize::from(vector)].withdrawn += 1;
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending.iter().any(|byte| *byte != 0)
    }

    /// Address and data of the message of `vector`.
    fn message(&self, vector: u16) -> Message {
        let [address, upper, data, _] = self.words(vector);
        (u64::from(upper) << 32 | u64::from(address), data)
    }

    /// Whether the mask bit of `vector` is set.
    fn is_masked(&self, vector: u16) -> bool {
        self.words(vector)[3] & MSIX_VECTOR_MASK != 0
    }

    fn is_pending(&self, vector: u16) -> bool {
        let (byte, bit) = place(vector);
        self.pending[byte] & bit != 0
    }

    fn send(&mut self, vector: u16) -> Message {
        self.counts[usize::from(vector)].sent += 1;
        self.message(vector)
    }

    fn words(&self, vector: u16) -> [u32; 4] {
        let entry = &self.entries[usize::from(vector)];
        std::array::from_fn(|word| {
            u32::from_le_bytes(std::array::from_fn(|byte| entry[4 * word + byte]))
        })
    }

    /// Whether all of the `len` bytes at `offset` of the BAR belong to the table, or all to the pending bits.
    pub(super) fn holds(&self, offset: u64, len: u64) -> bool {
        let table = (self.place.table, self.place.table_bytes());
        let pending = (self.place.pending, self.place.pending_bytes());
        [table, pending].into_iter().any(|(start, size)| {
            let start = u64::from(start);
            offset >= start && offset + len <= start + size
        })
    }

    /// The byte at `offset` of the BAR.
    pub(super) fn read(&self, offset: u64) -> u8 {
        if let Some(at) = offset.checked_sub(self.place.pending.into())
            && let Some(byte) = self.pending.get(at as usize)
        {
            return *byte;
        }
        self.entry(offset)
            .map_or(0, |(vector, byte)| self.entries[vector][byte])
    }

    /// Writes the byte at `offset` of the BAR. Reserved bits stay 0: the two lowest bits of the address, and all bits of Vector Control except
    /// the mask bit. Pending bits cannot be written.
    pub(super) fn write(&mut self, offset: u64, value: u8) {
        if let Some((vector, byte)) = self.entry(offset) {
            self.entries[vector][byte] = value & WRITABLE[byte];
        }
    }

    /// The vector whose entry has the byte at `offset` of the BAR, and the index of the byte in the entry.
    fn entry(&self, offset: u64) -> Option<(usize, usize)> {
        let at = offset.checked_sub(self.place.table.into())?;
        (at < self.place.table_bytes())
            .then_some(((at / MSIX_ENTRY) as usize, (at % MSIX_ENTRY) as usize))
    }
}

/// The bits that software can write, for each byte of an entry.
const WRITABLE: [u8; MSIX_ENTRY as usize] = {
    let mut bits = [0xff; MSIX_ENTRY as usize];
    bits[0] = 0xfc;
    bits[12] = MSIX_VECTOR_MASK as u8;
    (bits[13], bits[14], bits[15]) = (0, 0, 0);
    bits
};

/// The index of the byte with the pending bit of `vector`, and the mask of the bit.
fn place(vector: u16) -> (usize, u8) {
    (usize::from(vector / 8), 1 << (vector % 8))
}

#[cfg(test)]
mod tests;

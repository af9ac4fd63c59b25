//! Accesses of software to configuration registers, one request each.

use std::iter;

use protocol::FunctionId;
use transaction::{Action, ConfigAccess};

use crate::System;

impl System {
    /// The interface of the same program, whose configuration accesses are loads and stores of the configuration space that begins at `base`
    /// (PCIe Base 7.2.2): for functions that the host owns below an I/O port.
    #[must_use]
    pub fn below(&self, base: u64) -> Self {
        Self(self.0.clone(), Some(base))
    }

    /// Accesses a configuration space at `base` of the host's addresses. Returns the bytes of a register that was read. A write is posted: it is
    /// complete when a later read is.
    pub(crate) async fn configure_at(&self, base: u64, access: ConfigAccess) -> Vec<u8> {
        let address = base + u64::from(access.target.0) * 4096 + u64::from(access.register) * 4;
        let Action::Write { value, enables } = access.action else {
            return self.read(address, 4).await;
        };
        for (first, len) in runs(enables) {
            let bytes = &value.to_le_bytes()[first..first + len];
            self.store(address + first as u64, bytes).await;
        }
        vec![0; 4]
    }

    /// Reads a register of a function. Returns `None` if no function answers.
    pub async fn read_register(&self, target: FunctionId, register: u16) -> Option<u32> {
        let action = Action::Read;
        let access = ConfigAccess {
            target,
            register,
            action,
        };
        let value = self.configure(access).await;
        value.filter(|value| *value != u32::MAX)
    }

    /// Writes the bytes of a register that `enables` selects.
    pub async fn write_register(
        &self,
        (target, register): (FunctionId, u16),
        value: u32,
        enables: u8,
    ) {
        let action = Action::Write { value, enables };
        let access = ConfigAccess {
            target,
            register,
            action,
        };
        self.configure(access).await;
    }

    /// Reads a register, changes the bits of `mask` to their values in `value`, and writes only the bytes that contain these bits.
    pub async fn change_register(&self, at: (FunctionId, u16), (mask, value): (u32, u32)) {
        let Some(old) = self.read_register(at.0, at.1).await else {
            return;
        };
        let bytes = (0..4).filter(|byte| mask >> (8 * byte) & 0xff != 0);
        let enables = bytes.fold(0, |enables, byte| enables | 1 << byte);
        self.write_register(at, old & !mask | value & mask, enables)
            .await;
    }
}

/// The runs of enabled bytes: the first byte and the number of bytes of each.
fn runs(enables: u8) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    iter::from_fn(move || {
        let rest = enables.checked_shr(from).filter(|rest| *rest > 0)?;
        let first = from + rest.trailing_zeros();
        let len = (enables >> first).trailing_ones();
        from = first + len;
        Some((first as usize, len as usize))
    })
}

#[cfg(test)]
mod tests {
    use fabric::Cpu;
    use kernel::{Span, Time};
    use packet::Packets;
    use transaction::{CompletionBuffer, Memory, OutstandingLimits, RequesterLimits, Staging};

    use super::*;
    use crate::Processor;

    const FUNCTION: FunctionId = FunctionId::new(1, 0, 0);
    const REGISTER: u16 = 9;

    /// The accesses by which a register is changed. The register has the value `old`; `None` means that no function answers.
    fn accesses(old: Option<u32>, (mask, value): (u32, u32)) -> Vec<Action> {
        let limits = RequesterLimits {
            max_payload: 128,
            max_read_request: 64,
            outstanding: OutstandingLimits {
                tags: 8,
                completion_timeout: Span::from_us(50),
                tag_quarantine: Span::from_us(50),
                completion_buffer: CompletionBuffer::default(),
            },
            staging: Staging::default(),
        };
        let mut processor = Processor::new(FunctionId(0), limits, 1);
        processor.spawn(Time::ZERO, |system| async move {
            let at = (FUNCTION, REGISTER);
            system.change_register(at, (mask, value)).await;
        });
        let mut all = Vec::new();
        loop {
            let memory = fabric::Ram {
                base: 0,
                bytes: &Memory::new(0),
            };
            processor.next(Time::ZERO, &mut Packets::default(), memory);
            let Some((ticket, access)) = processor.next_configuration() else {
                return all;
            };
            assert_eq!((access.target, access.register), (FUNCTION, REGISTER));
            all.push(access.action);
            processor.configured(ticket, old, Time::ZERO);
        }
    }

    #[test]
    fn a_change_of_a_register_writes_only_the_bytes_with_changed_bits() {
        let write = |value, enables| Action::Write { value, enables };
        assert_eq!(
            accesses(Some(0x1234_5678), (0x0000_ff00, 0xabab_abab)),
            [Action::Read, write(0x1234_ab78, 0b0010)]
        );
        assert_eq!(
            accesses(Some(0), (0x8000_0001, u32::MAX)),
            [Action::Read, write(0x8000_0001, 0b1001)]
        );
    }

    #[test]
    fn each_run_of_enabled_bytes_is_one_store() {
        let all = |enables| runs(enables).collect::<Vec<_>>();
        assert_eq!(all(0b1111), [(0, 4)]);
        assert_eq!(all(0b1011), [(0, 2), (3, 1)]);
        assert_eq!(all(0), []);
    }

    #[test]
    fn a_register_of_which_no_function_answers_is_not_written() {
        assert_eq!(accesses(None, (1, 1)), [Action::Read]);
        assert_eq!(accesses(Some(u32::MAX), (1, 1)), [Action::Read]);
    }
}

//! Accesses of software to configuration registers, one request each.

use protocol::FunctionId;
use transaction::{Action, ConfigAccess};

use crate::System;

impl System {
    /// Reads a register of a function; none if no function answers.
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

    /// Sets the bits of `mask` in a register to those of `value`, by a write of the bytes with these bits.
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

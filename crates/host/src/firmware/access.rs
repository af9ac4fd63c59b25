//! The firmware's accesses to configuration space, one dword at a time.

use protocol::{FunctionId, register};
use transaction::{Action, ConfigAccess};

use crate::Desk;

pub(super) struct Registers(pub(super) Desk<ConfigAccess, u32>);

impl Registers {
    pub(super) async fn read(&self, target: FunctionId, register: u16) -> u32 {
        self.access(target, register, Action::Read).await
    }

    pub(super) async fn write(&self, target: FunctionId, register: u16, value: u32) {
        self.write_bytes(target, register, value, 0b1111).await;
    }

    /// Changes the bits of `mask` to their values in `value`. Bytes without bits of `mask` are not written, because they may contain status bits
    /// that are cleared by writing a one.
    pub(super) async fn replace(
        &self,
        target: FunctionId,
        register: u16,
        (mask, value): (u32, u32),
    ) {
        let old = self.read(target, register).await;
        let touched = |byte: u8| mask >> (8 * byte) & 0xff != 0;
        let enables = (0..4).fold(0, |enables, byte| enables | u8::from(touched(byte)) << byte);
        self.write_bytes(target, register, old & !mask | value & mask, enables)
            .await;
    }

    /// Sets the bits `bits` of `register`, and does not change the other bits.
    pub(super) async fn set(&self, target: FunctionId, register: u16, bits: u32) {
        self.replace(target, register, (bits, bits)).await;
    }

    pub(super) async fn write_bytes(
        &self,
        target: FunctionId,
        register: u16,
        value: u32,
        enables: u8,
    ) {
        let action = Action::Write { value, enables };
        self.access(target, register, action).await;
    }

    async fn access(&self, target: FunctionId, register: u16, action: Action) -> u32 {
        let access = ConfigAccess {
            target,
            register,
            action,
        };
        self.0.ask(access).await
    }

    /// The offset of the capability `id` of `function`, if it has one.
    pub(super) async fn capability(&self, function: FunctionId, id: u8) -> Option<u16> {
        let status = self.read(function, register::COMMAND).await;
        if status & register::CAPABILITY_LIST == 0 {
            return None;
        }
        let mut at = self.read(function, register::CAPABILITIES).await;
        for _ in 0..MOST_CAPABILITIES {
            let register = (at & 0xfc) as u16 / 4;
            if register == 0 {
                return None;
            }
            let header = self.read(function, register).await;
            if header & 0xff == u32::from(id) {
                return Some(register);
            }
            at = header >> 8;
        }
        None
    }

    /// The offset of the extended capability `id` of `function`, if it has one.
    pub(super) async fn extended(&self, function: FunctionId, id: u16) -> Option<u16> {
        let mut register = FIRST_EXTENDED;
        for _ in 0..MOST_EXTENDED {
            let header = self.read(function, register).await;
            if header & 0xffff == u32::from(id) {
                return Some(register);
            }
            register = (header >> 20) as u16 / 4;
            if register < FIRST_EXTENDED {
                return None;
            }
        }
        None
    }
}

const FIRST_EXTENDED: u16 = 0x100 / 4;
/// The largest possible number of capabilities. A longer list is circular.
const MOST_CAPABILITIES: usize = 48;
const MOST_EXTENDED: usize = 480;

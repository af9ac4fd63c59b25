//! The bytes of one function's configuration space, and the bits that software may change.

use std::sync::Arc;

use crate::ConfigRequest;

/// The 4 KiB of configuration space of a function (PCIe Base 7.2.1). Undeclared bits read as zero and cannot be written.
///
/// A copy shares the bytes until the copy or the original changes. A plan and each of its simulations have a copy, and few copies ever
/// change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSpace {
    dwords: Arc<Dwords>,
    /// The writable registers, in order of their numbers.
    fields: Arc<Vec<Field>>,
    /// The arbitration tables that software has loaded.
    pub(super) loaded_tables: Vec<LoadedTable>,
}

type Dwords = [u32; ConfigRequest::REGISTERS as usize];

/// The writable bits of one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    register: u16,
    writable: u32,
    /// Bits that writing a one clears (RW1C).
    cleared: u32,
    /// The register's value after reset.
    reset: u32,
    /// Whether a hot reset leaves the register as it is.
    sticky: bool,
    /// The bits that a function level reset leaves as they are.
    kept: u32,
}

/// The registers of an arbitration table, as they were when software last set the bit that loads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadedTable {
    /// The first register.
    pub(super) first: u16,
    pub(super) dwords: Vec<u32>,
}

impl ConfigSpace {
    pub(super) fn empty() -> Self {
        Self {
            dwords: Arc::new([0; ConfigRequest::REGISTERS as usize]),
            fields: Arc::default(),
            loaded_tables: Vec::new(),
        }
    }

    /// The dword `register`; 0 beyond the last register.
    pub fn read(&self, register: u16) -> u32 {
        self.dwords
            .get(usize::from(register))
            .copied()
            .unwrap_or_default()
    }

    /// Writes the bytes of the dword `register` that `enables` selects; bit 0 of `enables` is the lowest byte.
    pub fn write(&mut self, register: u16, value: u32, enables: u8) {
        let Some(Field {
            writable, cleared, ..
        }) = self.field(register)
        else {
            return;
        };
        let bytes = byte_mask(enables);
        let dword = &mut Arc::make_mut(&mut self.dwords)[usize::from(register)];
        let before = *dword;
        *dword = *dword & !(writable & bytes) | value & writable & bytes;
        *dword &= !(value & cleared & bytes);
        self.write_channels(register, before);
        self.write_resizable(register, before);
    }

    pub(super) fn loaded_tables_mut(&mut self) -> &mut Vec<LoadedTable> {
        &mut self.loaded_tables
    }

    fn field(&self, register: u16) -> Option<Field> {
        let found = self
            .fields
            .binary_search_by_key(&register, |field| field.register);
        found.ok().map(|index| self.fields[index])
    }

    /// The bits of `register` that take the written value.
    pub(super) fn writable(&self, register: u16) -> u32 {
        self.field(register).map_or(0, |field| field.writable)
    }

    /// Changes which bits of the declared `register` take the written value.
    pub(super) fn set_writable(&mut self, register: u16, writable: u32) {
        let fields = Arc::make_mut(&mut self.fields).iter_mut();
        for field in fields.filter(|field| field.register == register) {
            field.writable = writable;
        }
    }

    /// All 4096 bytes, in order.
    pub fn bytes(&self) -> Vec<u8> {
        self.dwords
            .iter()
            .flat_map(|dword| dword.to_le_bytes())
            .collect()
    }

    /// The registers whose writable bits differ from their values after reset, each with a value and the bytes to write. Written to another
    /// function, they give it the same settings and clear none of its status bits.
    pub fn settings(&self) -> impl Iterator<Item = (u16, u32, u8)> {
        let changed = self.fields.iter().filter(|field| {
            let dword = self.dwords[usize::from(field.register)];
            (dword ^ field.reset) & field.writable != 0
        });
        changed.map(|field| {
            let value = self.dwords[usize::from(field.register)] & field.writable;
            let bytes = (0..4).filter(|byte| field.writable >> (8 * byte) & 0xff != 0);
            let enables = bytes.fold(0, |enables, byte| enables | 1 << byte);
            (field.register, value, enables)
        })
    }

    /// Declares bits of `register`: the bits of `value` are set after reset, the bits of `writable` take the written value, and
    /// writing a one to a bit of `cleared` clears it.
    pub(super) fn declare(&mut self, register: u16, value: u32, writable: u32, cleared: u32) {
        Arc::make_mut(&mut self.dwords)[usize::from(register)] |= value;
        let reset = self.dwords[usize::from(register)];
        if writable | cleared == 0 {
            return;
        }
        let fields = Arc::make_mut(&mut self.fields);
        match fields.binary_search_by_key(&register, |field| field.register) {
            Ok(index) => {
                fields[index].writable |= writable;
                fields[index].cleared |= cleared;
                fields[index].reset = reset;
            }
            Err(index) => fields.insert(
                index,
                Field {
                    register,
                    writable,
                    cleared,
                    reset,
                    sticky: false,
                    kept: 0,
                },
            ),
        }
    }

    /// Declares that a hot reset leaves the declared `register` as it is: its fields are sticky (PCIe Base 7.4).
    pub(super) fn declare_sticky(&mut self, register: u16) {
        let fields = Arc::make_mut(&mut self.fields).iter_mut();
        for field in fields.filter(|field| field.register == register) {
            field.sticky = true;
        }
    }

    /// Declares that a function level reset leaves the bits `kept` of the declared `register` as they are (PCIe Base 6.6.2).
    pub(super) fn declare_kept(&mut self, register: u16, kept: u32) {
        let fields = Arc::make_mut(&mut self.fields).iter_mut();
        for field in fields.filter(|field| field.register == register) {
            field.kept |= kept;
        }
    }

    /// Declares that a function level reset leaves all declared registers from `first` on as they are.
    pub(super) fn declare_all_kept(&mut self, first: u16) {
        let fields = Arc::make_mut(&mut self.fields).iter_mut();
        for field in fields.filter(|field| field.register >= first) {
            field.kept = u32::MAX;
        }
    }

    /// Executes a function level reset: the bits that software or hardware has changed return to their values after reset, except sticky
    /// bits and the bits of the link.
    pub fn function_level_reset(&mut self) {
        self.reset_fields(|field| if field.sticky { 0 } else { !field.kept });
        self.resize();
    }

    /// Executes a hot reset or, with `is_cold`, a cold reset: the bits that software or hardware has changed return to their values after
    /// reset. A hot reset does not change sticky bits.
    pub(super) fn reset(&mut self, is_cold: bool) {
        self.reset_fields(|field| if is_cold || !field.sticky { !0 } else { 0 });
        self.reset_channels();
        self.resize();
    }

    /// Resets bits to their values after reset: in each register, the bits that `which` selects and that software or hardware can change.
    fn reset_fields(&mut self, which: impl Fn(&Field) -> u32) {
        let dwords = Arc::make_mut(&mut self.dwords);
        for field in self.fields.iter() {
            let changed = (field.writable | field.cleared) & which(field);
            let dword = &mut dwords[usize::from(field.register)];
            *dword = *dword & !changed | field.reset & changed;
        }
    }

    /// Changes a register by hardware: the bits of `mask` in `register` get their values from `value`.
    pub(super) fn update(&mut self, register: u16, mask: u32, value: u32) {
        let dword = &mut Arc::make_mut(&mut self.dwords)[usize::from(register)];
        *dword = *dword & !mask | value & mask;
    }

    /// Sets status bits of `register` by hardware.
    pub(super) fn raise(&mut self, register: u16, bits: u32) {
        self.update(register, bits, bits);
    }
}

/// Returns `bits` if `condition` is true, otherwise 0.
pub(super) const fn bits_if(condition: bool, bits: u32) -> u32 {
    if condition { bits } else { 0 }
}

/// A mask of the bits in the bytes that `enables` selects.
const fn byte_mask(enables: u8) -> u32 {
    let mut mask = 0;
    let mut byte = 0;
    while byte < 4 {
        if enables >> byte & 1 != 0 {
            mask |= 0xff << (8 * byte);
        }
        byte += 1;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_write_changes_only_enabled_bytes() {
        let mut space = ConfigSpace::empty();
        space.declare(3, 0x1122_3344, u32::MAX, 0);
        space.write(3, 0xaabb_ccdd, 0b0101);
        assert_eq!(space.read(3), 0x11bb_33dd);
    }

    #[test]
    fn status_bits_are_cleared_by_writing_ones() {
        let mut space = ConfigSpace::empty();
        space.declare(1, 0, 0xff, 0xffff_0000);
        space.raise(1, 0x0030_0000);
        space.write(1, 0x0010_0001, 0b0011);
        assert_eq!(space.read(1), 0x0030_0001);
        space.write(1, 0x0010_0001, 0b1111);
        assert_eq!(space.read(1), 0x0020_0001);
    }

    #[test]
    fn registers_beyond_the_last_and_undeclared_ones_are_zero() {
        let mut space = ConfigSpace::empty();
        space.write(1023, u32::MAX, 0xf);
        assert_eq!((space.read(1023), space.read(1024)), (0, 0));
    }

    #[test]
    fn a_reset_returns_what_was_written_but_not_what_is_sticky() {
        let mut space = ConfigSpace::empty();
        for register in [3, 4] {
            space.declare(register, 0x10, 0xff, 0xff00);
        }
        space.declare_sticky(4);
        for register in [3, 4] {
            space.write(register, 0x22, 0xf);
            space.raise(register, 0x100);
        }
        space.reset(false);
        assert_eq!((space.read(3), space.read(4)), (0x10, 0x122));
        space.reset(true);
        assert_eq!((space.read(3), space.read(4)), (0x10, 0x10));
    }

    #[test]
    fn the_settings_of_a_space_make_another_equal_to_it() {
        let mut space = ConfigSpace::empty();
        space.declare(3, 0x10, 0xff, 0xff00);
        space.declare(4, 0, u32::MAX, 0);
        let mut other = space.clone();
        space.write(3, 0x22, 0xf);
        other.raise(3, 0x100);
        let settings: Vec<_> = space.settings().collect();
        assert_eq!(settings, [(3, 0x22, 0b0001)]);
        for (register, value, enables) in settings {
            other.write(register, value, enables);
        }
        assert_eq!(other.read(3), 0x122);
    }

    #[test]
    fn a_function_level_reset_also_keeps_what_belongs_to_the_link() {
        let mut space = ConfigSpace::empty();
        for register in [3, 4] {
            space.declare(register, 0, 0xff, 0);
        }
        space.declare_kept(4, 0xf0);
        for register in [3, 4] {
            space.write(register, 0x22, 0xf);
        }
        space.function_level_reset();
        assert_eq!((space.read(3), space.read(4)), (0, 0x20));
        space.reset(false);
        assert_eq!((space.read(3), space.read(4)), (0, 0));
    }

    proptest! {
        #[test]
        fn what_is_not_writable_never_changes(reset: u32, writable: u32, writes: Vec<(u32, u8)>) {
            let mut space = ConfigSpace::empty();
            space.declare(9, reset, writable, 0);
            for (value, enables) in writes {
                space.write(9, value, enables);
                prop_assert_eq!(space.read(9) & !writable, reset & !writable);
            }
            space.write(9, u32::MAX, 0xf);
            prop_assert_eq!(space.read(9), reset | writable);
        }
    }
}

//! Accesses to registers, by calls and by pointers. The pointers are to unmapped memory, and the library executes the program's accesses to this
//! memory (`registers/`).

use session::{Reply, Request};

use crate::abi::{Code, bytes, entry, user_pointer};
use crate::enter::{answer, perform, with};
use crate::fault;
use crate::registers::mappings::Register;
use crate::state::State;

/// Widest access in bytes.
const LINE: u64 = 64;
const WORD: usize = 4;

impl State {
    /// Loads bytes from registers, by aligned accesses of 64, 8 and 4 bytes.
    pub fn load(&mut self, register: Register, bytes: &mut [u8]) -> Result<(), Code> {
        let Register { handle, offset } = register;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let access = Access::next(at, bytes.len() - done);
            let (offset, len) = (access.offset, access.len as u32);
            let request = Request::Load {
                handle,
                offset,
                len,
            };
            let Reply::Bytes(loaded) = self.call(request, None)? else {
                return Err(Code::Exception);
            };
            let part = access.part();
            let loaded = loaded.get(part.clone()).ok_or(Code::Exception)?;
            bytes[done..done + part.len()].copy_from_slice(loaded);
            done += part.len();
        }
        Ok(())
    }

    /// Loads bytes for an instruction of the program. The bytes are all ones if no device answers.
    pub fn load_or_ones(&mut self, register: Register, bytes: &mut [u8]) {
        if self.load(register, bytes).is_err() {
            bytes.fill(0xff);
        }
    }

    /// Stores bytes to registers, by aligned accesses of 64, 8 and 4 bytes. To write a part of a word, loads the word, changes the part, and stores
    /// the whole word.
    pub fn store(&mut self, register: Register, bytes: &[u8]) -> Result<(), Code> {
        let Register { handle, offset } = register;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let access = Access::next(at, bytes.len() - done);
            let part = access.part();
            let mut stored = vec![0; access.len];
            let offset = access.offset;
            if part.len() < access.len {
                self.load(Register { handle, offset }, &mut stored)?;
            }
            stored[part.clone()].copy_from_slice(&bytes[done..done + part.len()]);
            let request = Request::Store {
                handle,
                offset,
                bytes: stored,
            };
            self.call(request, None)?;
            done += part.len();
        }
        Ok(())
    }

    fn register(
        &mut self,
        name: usize,
        mmio_num: u32,
        offset: u64,
        len: u64,
    ) -> Result<Register, Code> {
        let opened = self.handle(name)?;
        let handle = opened.handle;
        let end = offset.checked_add(len).ok_or(Code::InvalidParam)?;
        let within = end <= opened.object.mmio_size && offset.is_multiple_of(len);
        if mmio_num >= opened.object.mmio || !within {
            return Err(Code::InvalidParam);
        }
        if mmio_num > 0 {
            return Err(Code::NotSupported);
        }
        Ok(Register { handle, offset })
    }

    fn read<const N: usize>(
        &mut self,
        name: usize,
        mmio_num: u32,
        offset: u64,
    ) -> Result<[u8; N], Code> {
        let register = self.register(name, mmio_num, offset, N as u64)?;
        let mut bytes = [0; N];
        self.load(register, &mut bytes)?;
        Ok(bytes)
    }
}

/// An access of a valid size, and the part of its bytes that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    offset: u64,
    len: usize,
    skip: usize,
    meant: usize,
}

impl Access {
    fn next(offset: u64, left: usize) -> Self {
        for len in [LINE as usize, 2 * WORD, WORD] {
            if offset.is_multiple_of(len as u64) && left >= len {
                return Access {
                    offset,
                    len,
                    skip: 0,
                    meant: len,
                };
            }
        }
        let skip = (offset % WORD as u64) as usize;
        Access {
            offset: offset - skip as u64,
            len: WORD,
            skip,
            meant: left.min(WORD - skip),
        }
    }

    fn part(self) -> std::ops::Range<usize> {
        self.skip..self.skip + self.meant
    }
}

fn write(handle: usize, mmio_num: u32, offset: u64, bytes: &[u8]) -> Result<(), Code> {
    with(|state| {
        let register = state.register(handle, mmio_num, offset, bytes.len() as u64)?;
        state.store(register, bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReadMMIO32(handle: usize, mmio_num: u32, offset: u64, value: *mut u32) -> u32 {
    answer(value, |state| {
        Ok(u32::from_le_bytes(state.read(handle, mmio_num, offset)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReadMMIO64(handle: usize, mmio_num: u32, offset: u64, value: *mut u64) -> u32 {
    answer(value, |state| {
        Ok(u64::from_le_bytes(state.read(handle, mmio_num, offset)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaWriteMMIO32(handle: usize, mmio_num: u32, offset: u64, value: u32) -> u32 {
    entry(|| write(handle, mmio_num, offset, &value.to_le_bytes()))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaWriteMMIO64(handle: usize, mmio_num: u32, offset: u64, value: u64) -> u32 {
    entry(|| write(handle, mmio_num, offset, &value.to_le_bytes()))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaWriteMMIO512(handle: usize, mmio_num: u32, offset: u64, value: *const u8) -> u32 {
    entry(|| write(handle, mmio_num, offset, &bytes::<64>(value)?))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaMapMMIO(handle: usize, mmio_num: u32, mmio_ptr: *mut usize) -> u32 {
    entry(|| {
        if mmio_ptr.is_null() {
            return with(|state| state.register(handle, mmio_num, 0, 1).map(drop));
        }
        let base = with(|state| {
            let register = state.register(handle, mmio_num, 0, 1)?;
            fault::prepare().ok_or(Code::NotSupported)?;
            if let Some(base) = state.mappings.base(handle) {
                return Ok(base);
            }
            fault::install();
            let size = state.handle(handle)?.object.mmio_size;
            state.mappings.map(handle, register.handle, size)
        })?;
        user_pointer(mmio_ptr)?.put(base);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaUnmapMMIO(handle: usize, mmio_num: u32) -> u32 {
    perform(|state| {
        state.register(handle, mmio_num, 0, 1)?;
        // If the program has called `fpgaMapMMIO` without a pointer, nothing was mapped, and nothing is removed.
        state.mappings.forget(handle);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(mut offset: u64, mut left: usize) -> Vec<(u64, usize, usize)> {
        let mut all = Vec::new();
        while left > 0 {
            let access = Access::next(offset, left);
            all.push((access.offset, access.len, access.meant));
            offset += access.meant as u64;
            left -= access.meant;
        }
        all
    }

    #[test]
    fn an_access_is_of_4_8_or_64_bytes_at_a_multiple_of_that() {
        assert_eq!(accesses(64, 64), [(64, 64, 64)]);
        assert_eq!(accesses(16, 16), [(16, 8, 8), (24, 8, 8)]);
        assert_eq!(accesses(4, 8), [(4, 4, 4), (8, 4, 4)]);
        assert_eq!(accesses(6, 8), [(4, 4, 2), (8, 4, 4), (12, 4, 2)]);
        assert_eq!(accesses(3, 1), [(0, 4, 1)]);
    }
}

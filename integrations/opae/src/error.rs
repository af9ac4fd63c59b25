//! The errors of an object by number.

use crate::abi::{Code, text};
use crate::attributes::{Attribute, errors};
use crate::enter::{answer, perform};
use crate::state::State;
use crate::token::Token;

/// Size of a name in bytes, with the final zero.
const NAME: usize = 64;

/// `struct fpga_error_info`.
#[repr(C)]
pub struct ErrorInfo {
    name: [u8; NAME],
    can_clear: bool,
}

impl State {
    fn errors(&mut self, token: usize) -> Result<(Token, Vec<&'static Attribute>), Code> {
        let token = self.token(token)?;
        let (objects, place) = self.object(token)?;
        Ok((token, errors(objects[place].kind).collect()))
    }

    fn numbered(&mut self, token: usize, number: u32) -> Result<(Token, &'static Attribute), Code> {
        let (token, errors) = self.errors(token)?;
        let error = errors.get(number as usize).ok_or(Code::NotFound)?;
        Ok((token, error))
    }
}

#[unsafe(no_mangle)]
extern "C" fn fpgaReadError(token: usize, error_num: u32, value: *mut u64) -> u32 {
    answer(value, |state| {
        let (token, error) = state.numbered(token, error_num)?;
        state.value(token, error)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClearError(token: usize, error_num: u32) -> u32 {
    perform(|state| {
        let (token, error) = state.numbered(token, error_num)?;
        state.clear_error(token, error)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaClearAllErrors(token: usize) -> u32 {
    perform(|state| {
        let (token, errors) = state.errors(token)?;
        let mut errors = errors.into_iter().filter(|error| error.can_clear());
        errors.try_for_each(|error| state.clear_error(token, error))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetErrorInfo(token: usize, error_num: u32, error_info: *mut ErrorInfo) -> u32 {
    answer(error_info, |state| {
        let (_, error) = state.numbered(token, error_num)?;
        Ok(ErrorInfo {
            name: text(error.name().as_bytes()),
            can_clear: error.can_clear(),
        })
    })
}

//! `fpgaInitialize`, `fpgaEnumerate`, and the functions for tokens.

use std::ffi::c_char;

use crate::abi::{Code, entry, user_pointer};
use crate::enter::{answer, destroy, perform, with};
use crate::properties::Properties;
use crate::token::Token;

#[unsafe(no_mangle)]
extern "C" fn fpgaInitialize(_config_file: *const c_char) -> u32 {
    perform(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaFinalize() -> u32 {
    entry(|| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn fpgaEnumerate(
    filters: *const usize,
    num_filters: u32,
    tokens: *mut usize,
    max_tokens: u32,
    num_matches: *mut u32,
) -> u32 {
    entry(|| {
        let matches = user_pointer(num_matches)?;
        let no_room = max_tokens > 0 && tokens.is_null();
        if no_room || (num_filters > 0) == filters.is_null() {
            return Err(Code::InvalidParam);
        }
        let filters: Vec<usize> = match user_pointer(filters.cast_mut()) {
            Ok(first) => first.take_all(num_filters as usize).collect(),
            Err(_) => Vec::new(),
        };
        matches.put(0);
        let (found, names) = with(|state| {
            let filters: Vec<Properties> = filters
                .iter()
                .map(|&name| state.objects.find::<Properties>(name).cloned())
                .collect::<Result<_, _>>()?;
            let objects = state.objects()?;
            let found: Vec<u64> = (0..objects.len())
                .map(|place| Properties::of(&objects, place))
                .filter(|object| filters.is_empty() || filters.iter().any(|f| f.matches(object)))
                .filter_map(|object| object.object_id)
                .collect();
            let names = found
                .iter()
                .take(max_tokens as usize)
                .map(|&id| state.new_token(id))
                .collect::<Result<Vec<_>, _>>()?;
            Ok((found.len(), names))
        })?;
        matches.put(found as u32);
        if !names.is_empty() {
            user_pointer(tokens)?.put_all(names);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaCloneToken(src: usize, dst: *mut usize) -> u32 {
    answer(dst, |state| {
        let token = state.token(src)?;
        state.new_token(token.object_id)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyToken(token: *mut usize) -> u32 {
    destroy::<Token>(token, |_, _| Ok(()))
}

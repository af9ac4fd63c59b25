//! `fpgaInitialize`, `fpgaEnumerate`, and the functions for tokens.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::c_char;

use crate::abi::{Code, entry, user_pointer};
use crate::enter::with;
use crate::properties::Properties;
use crate::state::lock;
use crate::token::Token;

#[unsafe(no_mangle)]
extern "C" fn fpgaInitialize(_config_file: *const c_char) -> u32 {
    entry(|| with(|_| Ok(())))
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
        let filters: Vec<usize> = (0..num_filters as usize)
            .map(|index| user_pointer(filters.cast_mut()).map(|first| first.at(index).take()))
            .collect::<Result<_, _>>()?;
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
        for (index, name) in names.into_iter().enumerate() {
            user_pointer(tokens)?.at(index).put(name);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaCloneToken(src: usize, dst: *mut usize) -> u32 {
    entry(|| {
        let result = user_pointer(dst)?;
        let clone = with(|state| {
            let token = state.token(src)?;
            state.new_token(token.object_id)
        })?;
        result.put(clone);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyToken(token: *mut usize) -> u32 {
    entry(|| {
        let token = user_pointer(token)?;
        let name = token.take();
        let mut state = lock().ok_or(Code::Exception)?;
        state.objects.remove::<Token>(name)?;
        drop(state);
        token.put(0);
        Ok(())
    })
}

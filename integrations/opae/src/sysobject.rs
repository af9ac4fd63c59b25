//! System objects: the attributes of an object as files in directories.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int};

use session::Kind;

use crate::abi::{Code, entry, put_text, user_pointer};
use crate::attributes::{Attribute, attributes};
use crate::enter::{answer, destroy, perform, with};
use crate::state::State;
use crate::token::Token;

const SYNC: c_int = 1;
const GLOB: c_int = 1 << 1;
const RAW: c_int = 1 << 2;
const RECURSE_ONE: c_int = 1 << 3;
const RECURSE_ALL: c_int = 1 << 4;

const CONTAINER: c_int = 1;
const ATTRIBUTE: c_int = 1 << 1;

/// A system object of a program.
#[derive(Clone, Debug)]
pub struct Sysobject {
    of: Owner,
    /// Path of the system object in the attributes of the object.
    path: String,
    /// The name by which the program requested the system object.
    name: String,
    content: Content,
}

/// The object that contains the system object.
#[derive(Clone, Copy, Debug)]
struct Owner {
    token: Token,
    kind: Kind,
    slots: u32,
    /// The handle through which the system object was opened. A system object without a handle cannot be written.
    handle: Option<usize>,
}

#[derive(Clone, Debug)]
enum Content {
    /// A directory. It has names only if the program requested its content; `is_deep` is true if the program also requested the names in
    /// subdirectories.
    Directory { names: Vec<String>, is_deep: bool },
    /// An attribute, and the text that was last read from it.
    File(&'static Attribute, String),
}

impl Owner {
    fn attribute(self, path: &str) -> Option<&'static Attribute> {
        attributes(self.kind, self.slots).find(|one| one.path == path)
    }

    /// All paths of attributes and directories.
    fn paths(self) -> BTreeSet<&'static str> {
        let files = attributes(self.kind, self.slots).map(|attribute| attribute.path);
        let above = |path: &'static str| {
            let ends = path.match_indices('/').map(|(end, _)| end);
            ends.chain([path.len()]).map(|end| &path[..end])
        };
        files.flat_map(above).collect()
    }

    /// The names in the directory `path`.
    fn names(self, path: &str) -> Vec<String> {
        let inside = |other: &str| {
            let rest = other.strip_prefix(path)?.strip_prefix('/')?;
            (!rest.contains('/')).then(|| rest.to_owned())
        };
        self.paths().into_iter().filter_map(inside).collect()
    }

    /// The path that equals `wanted`, or that matches it as a pattern.
    fn find(self, wanted: &str, is_pattern: bool) -> Result<&'static str, Code> {
        let wanted = CString::new(wanted).map_err(|_| Code::InvalidParam)?;
        let is_it = |path: &&str| {
            if !is_pattern {
                return path.as_bytes() == wanted.as_bytes();
            }
            CString::new(*path).is_ok_and(|path| {
                // SAFETY: both arguments are C strings.
                unsafe { libc::fnmatch(wanted.as_ptr(), path.as_ptr(), libc::FNM_PATHNAME) == 0 }
            })
        };
        self.paths().into_iter().find(is_it).ok_or(Code::NotFound)
    }
}

/// Reads a name, which must not contain a path out of its object.
fn named(name: *const c_char) -> Result<String, Code> {
    user_pointer(name.cast_mut())?;
    // SAFETY: the program guarantees a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let name = name.to_str().map_err(|_| Code::NotFound)?;
    if name.contains("..") || name.starts_with(['.', '/']) || name.is_empty() {
        return Err(Code::InvalidParam);
    }
    Ok(name.trim_end_matches('/').to_owned())
}

impl State {
    /// Creates a system object: `name` below the directory `above`.
    fn described(
        &mut self,
        of: Owner,
        above: Option<&str>,
        name: &str,
        flags: c_int,
    ) -> Result<usize, Code> {
        let wanted = above.map_or_else(|| name.to_owned(), |above| format!("{above}/{name}"));
        let path = of.find(&wanted, flags & GLOB != 0)?;
        let content = match of.attribute(path) {
            Some(attribute) => Content::File(attribute, self.text_of(of.token, attribute)?),
            None => Content::Directory {
                names: if flags & (RECURSE_ONE | RECURSE_ALL) == 0 {
                    Vec::new()
                } else {
                    of.names(path)
                },
                is_deep: flags & RECURSE_ALL != 0,
            },
        };
        let object = Sysobject {
            of,
            path: path.to_owned(),
            name: name.to_owned(),
            content,
        };
        self.objects.insert(object)
    }

    fn owner(&mut self, token: Token, handle: Option<usize>) -> Result<Owner, Code> {
        let (objects, place) = self.object(token)?;
        Ok(Owner {
            token,
            kind: objects[place].kind,
            slots: objects[place].slots,
            handle,
        })
    }

    /// An attribute and its text. The text is read again if `flags` requests it.
    fn file(&mut self, object: usize, flags: c_int) -> Result<(&'static Attribute, String), Code> {
        let Sysobject { of, content, .. } = self.objects.find::<Sysobject>(object)?;
        let Content::File(attribute, text) = content else {
            return Err(Code::InvalidParam);
        };
        if flags & SYNC == 0 {
            return Ok((attribute, text.clone()));
        }
        let (token, attribute) = (of.token, *attribute);
        let new = self.text_of(token, attribute)?;
        if let Content::File(_, text) = &mut self.objects.find_mut::<Sysobject>(object)?.content {
            text.clone_from(&new);
        }
        Ok((attribute, new))
    }
}

/// Creates a system object by `find` for the name, and returns it to the program.
fn get(
    name: *const c_char,
    object: *mut usize,
    find: impl FnOnce(&mut State, &str) -> Result<usize, Code>,
) -> u32 {
    entry(|| {
        let result = user_pointer(object)?;
        let name = named(name)?;
        result.put(with(|state| find(state, &name))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaTokenGetObject(
    token: usize,
    name: *const c_char,
    object: *mut usize,
    flags: c_int,
) -> u32 {
    get(name, object, |state, name| {
        let token = state.token(token)?;
        let of = state.owner(token, None)?;
        state.described(of, None, name, flags)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaHandleGetObject(
    handle: usize,
    name: *const c_char,
    object: *mut usize,
    flags: c_int,
) -> u32 {
    get(name, object, |state, name| {
        let token = state.handle(handle)?.token();
        let of = state.owner(token, Some(handle))?;
        state.described(of, None, name, flags)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetObject(
    parent: usize,
    name: *const c_char,
    object: *mut usize,
    flags: c_int,
) -> u32 {
    get(name, object, |state, name| {
        let parent = state.objects.find::<Sysobject>(parent)?.clone();
        match parent.content {
            Content::Directory { .. } => {
                state.described(parent.of, Some(&parent.path), name, flags)
            }
            Content::File(..) => Err(Code::InvalidParam),
        }
    })
}

/// An object in a directory that was opened with its content.
#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetObjectAt(parent: usize, index: usize, object: *mut usize) -> u32 {
    answer(object, |state| {
        let parent = state.objects.find::<Sysobject>(parent)?.clone();
        let Content::Directory { names, is_deep } = parent.content else {
            return Err(Code::InvalidParam);
        };
        let name = names.get(index).ok_or(Code::InvalidParam)?;
        let flags = if is_deep { RECURSE_ALL } else { 0 };
        state.described(parent.of, Some(&parent.path), name, flags)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetType(object: usize, kind: *mut c_int) -> u32 {
    answer(kind, |state| {
        Ok(match state.objects.find::<Sysobject>(object)?.content {
            Content::Directory { .. } => CONTAINER,
            Content::File(..) => ATTRIBUTE,
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetName(object: usize, name: *mut u8, max_len: usize) -> u32 {
    entry(|| {
        let result = user_pointer(name)?;
        let name = with(|state| Ok(state.objects.find::<Sysobject>(object)?.name.clone()))?;
        if name.len() >= max_len {
            return Err(Code::Exception);
        }
        put_text(name.as_bytes(), &result, max_len);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaDestroyObject(object: *mut usize) -> u32 {
    destroy::<Sysobject>(object, |_, _| Ok(()))
}

/// Size of an attribute's text in bytes, or number of objects in a directory that was opened with its content.
#[unsafe(no_mangle)]
extern "C" fn fpgaObjectGetSize(object: usize, value: *mut u32, flags: c_int) -> u32 {
    answer(value, |state| {
        let size = match &state.objects.find::<Sysobject>(object)?.content {
            Content::Directory { names, .. } => names.len(),
            Content::File(..) => state.file(object, flags)?.1.len(),
        };
        Ok(size as u32)
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaObjectRead(
    object: usize,
    buffer: *mut u8,
    offset: usize,
    len: usize,
    flags: c_int,
) -> u32 {
    entry(|| {
        let result = user_pointer(buffer)?;
        let (_, text) = with(|state| state.file(object, flags))?;
        let end = offset.checked_add(len).ok_or(Code::InvalidParam)?;
        let bytes = text.as_bytes().get(offset..end);
        result.put_all(bytes.ok_or(Code::InvalidParam)?.iter().copied());
        Ok(())
    })
}

/// The number in an attribute's text, or with `FPGA_OBJECT_RAW` the first bytes of the text.
#[unsafe(no_mangle)]
extern "C" fn fpgaObjectRead64(object: usize, value: *mut u64, flags: c_int) -> u32 {
    answer(value, |state| {
        let (_, text) = state.file(object, flags)?;
        if flags & RAW == 0 {
            return Ok(number(&text));
        }
        let mut first = [0; 8];
        let len = text.len().min(8);
        first[..len].copy_from_slice(&text.as_bytes()[..len]);
        Ok(u64::from_ne_bytes(first))
    })
}

/// The number in a text, as from `strtoull`: 0 if it is not a number.
fn number(text: &str) -> u64 {
    let text = text.trim();
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.unwrap_or(0)
}

/// Objects that were opened by a token cannot be written.
#[unsafe(no_mangle)]
extern "C" fn fpgaObjectWrite64(object: usize, value: u64, _flags: c_int) -> u32 {
    perform(|state| {
        let (attribute, _) = state.file(object, 0)?;
        let of = state.objects.find::<Sysobject>(object)?.of;
        state.handle(of.handle.ok_or(Code::InvalidParam)?)?;
        state.write(of.token, attribute, value)?;
        state.file(object, SYNC).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Owner = Owner {
        token: Token { object_id: 1 },
        kind: Kind::Device,
        slots: 1,
        handle: None,
    };

    #[test]
    fn directories_hold_what_is_one_level_below() {
        let names = DEVICE.names("errors");
        assert!(names.contains(&"fme-errors".to_owned()));
        assert!(names.contains(&"inject_error".to_owned()));
        assert!(!names.contains(&"first_error/errors".to_owned()));
        let names = DEVICE.names("errors/fme-errors");
        assert_eq!(names, ["clear", "errors", "first_error", "next_error"]);
    }

    #[test]
    fn a_pattern_finds_what_it_says_and_is_one_only_if_it_is_meant_so() {
        let inject = Ok("errors/inject_error");
        assert_eq!(DEVICE.find("err*/inject*", true), inject);
        assert_eq!(DEVICE.find("*/inject_error", true), inject);
        assert_eq!(DEVICE.find("*inject_error", true), Err(Code::NotFound));
        assert_eq!(DEVICE.find("err*/inject*", false), Err(Code::NotFound));
        assert_eq!(
            DEVICE.find("errors/fme-errors", false),
            Ok("errors/fme-errors")
        );
    }

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        assert_eq!(number("0x1f\n"), 0x1f);
        assert_eq!(number("12\n"), 12);
        assert_eq!(number("331db30c"), 0);
    }
}

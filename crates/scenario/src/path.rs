//! Paths of keys: parts with dots between them, such as `devices.a.tags`. A part that contains a dot is in quotes.

use std::collections::BTreeMap;

use toml::de::DeValue;

/// Returns the parts of a path, or an error message if the text is not a path.
pub fn split(path: &str) -> Result<Vec<String>, String> {
    let mut parts = Vec::new();
    let mut rest = path;
    while let Some((part, after)) = first(rest) {
        parts.push(part);
        if after.is_empty() {
            return Ok(parts);
        }
        let Some(next) = after.strip_prefix('.') else {
            break;
        };
        rest = next;
    }
    Err(format!(
        "'{}' is not the path of a key; write one such as devices.a.tags",
        path.escape_debug()
    ))
}

/// Makes the text of a path from its parts.
pub fn join<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> String {
    let bare = |part: &str| {
        !part.is_empty()
            && !part.contains(|c: char| matches!(c, '.' | '"' | '\'') || c.is_whitespace())
    };
    let shown = parts.into_iter().map(|part| match part.as_ref() {
        part if bare(part) => part.to_owned(),
        part => quoted(part),
    });
    shown.collect::<Vec<_>>().join(".")
}

/// Puts a part in quotes, as TOML does for a key.
fn quoted(part: &str) -> String {
    let pair = toml::to_string(&BTreeMap::from([(part, 0)]));
    let key = pair.map(|pair| pair.trim_end_matches(" = 0\n").to_owned());
    key.unwrap_or_else(|_| part.to_owned())
}

/// Returns the first part of a path, and the rest of the path after it.
fn first(path: &str) -> Option<(String, &str)> {
    if let Some(inner) = path.strip_prefix('\'') {
        let (part, after) = inner.split_once('\'')?;
        return Some((part.to_owned(), after));
    }
    if path.starts_with('"') {
        let end = closing(path)?;
        let parsed = DeValue::parse(&path[..end]).ok()?.into_inner();
        return Some((parsed.as_str()?.to_owned(), &path[end..]));
    }
    let end = path.find(['.', '"', '\'']).unwrap_or(path.len());
    (end > 0).then(|| (path[..end].trim().to_owned(), &path[end..]))
}

/// The offset of the byte after the closing quotation mark. `path` begins with the opening one.
fn closing(path: &str) -> Option<usize> {
    let mut escaped = false;
    path.char_indices().skip(1).find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_a_dot_stands_in_quotes() {
        for (path, parts) in [
            ("flows.\"a.b\".size", &["flows", "a.b", "size"][..]),
            ("devices.'a.\"b'.tags", &["devices", "a.\"b", "tags"]),
            (
                "devices.\"a\\\"\\u00e9\".tags",
                &["devices", "a\"é", "tags"],
            ),
            ("devices.ep{i / 2}.tags", &["devices", "ep{i / 2}", "tags"]),
            ("devices.*.tags", &["devices", "*", "tags"]),
        ] {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(split(&join(&parts)), Ok(parts.clone()));
            assert_eq!(split(path), Ok(parts));
        }
        assert_eq!(join(["flows", "a.b", "size"]), "flows.\"a.b\".size");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["", ".", "a.", "a..b", ".a", "a\"b\"", "\"a", "\"a\\q\""] {
            assert!(split(path).is_err(), "{path}");
        }
    }
}

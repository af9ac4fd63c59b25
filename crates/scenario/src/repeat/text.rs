//! Texts with expressions in braces: `"sw{i / 64}"`. Two braces (`"{{"`) stand for one brace.

use super::expression;
use super::ranges::Values;
use crate::tree::Content;

/// The value of a text with expressions: a number if the text is one expression and nothing else, such as `"{i}"`; otherwise a text.
pub(super) fn value(text: &str, values: &Values) -> Result<Content<'static>, String> {
    let inner = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    match inner.filter(|inner| !inner.contains(['{', '}'])) {
        Some(inner) => expanded(inner, values).map(Content::Integer),
        None => Ok(Content::Text(filled(text, values)?.into())),
    }
}

/// Replaces each expression in the text by its value.
pub(super) fn filled(text: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            filled.push_str(brace);
            rest = after;
            continue;
        }
        let inner = (brace == "{").then(|| after.split_once('}')).flatten();
        let Some((inner, after)) = inner else {
            return Err(format!(
                "{text:?} has a brace without the other; write {{i}}, or {brace}{brace} for the sign itself"
            ));
        };
        filled.push_str(&expanded(inner, values)?.to_string());
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn expanded(expression: &str, values: &Values) -> Result<i64, String> {
    let about = |message: String| format!("{{{expression}}}: {message}");
    match expression::value(expression, values).map_err(about)? {
        value if value < 0 => Err(about(format!(
            "this is {value}; write an expression that is 0 or more, such as {{(i - 1) % 16}}"
        ))),
        value => Ok(value),
    }
}

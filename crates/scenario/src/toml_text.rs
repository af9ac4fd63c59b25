//! Tables as TOML text.

use std::fmt::Write;

use crate::tree::{Content, Part, Table};

/// The text of a scenario.
pub(crate) fn text(root: &Table<'_>) -> String {
    let mut text = String::new();
    table(&mut text, root, "", "");
    text
}

/// Writes a table: its values, then the tables in it.
fn table(text: &mut String, table: &Table<'_>, name: &str, head: &str) {
    let (tables, values): (Vec<_>, Vec<_>) = table
        .entries
        .iter()
        .partition(|entry| has_head(&entry.value));
    if !head.is_empty() && (!values.is_empty() || tables.is_empty() || head.starts_with("[[")) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{head}");
    }
    for entry in values {
        let _ = writeln!(text, "{} = {}", key(&entry.key), value(&entry.value));
    }
    for entry in tables {
        let separator = if name.is_empty() { "" } else { "." };
        let inner = format!("{name}{separator}{}", key(&entry.key));
        match &entry.value.content {
            Content::Table(one) => self::table(text, one, &inner, &format!("[{inner}]")),
            Content::List(all) => {
                for part in all {
                    if let Content::Table(one) = &part.content {
                        self::table(text, one, &inner, &format!("[[{inner}]]"));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a value is a table with a head of its own, or a list of such tables.
fn has_head(part: &Part<'_>) -> bool {
    let is_table = |part: &Part<'_>| matches!(part.content, Content::Table(_));
    match &part.content {
        Content::List(list) => !list.is_empty() && list.iter().all(is_table),
        _ => is_table(part),
    }
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A value as TOML.
pub(crate) fn value(part: &Part<'_>) -> String {
    match &part.content {
        Content::Text(text) => quoted(text),
        Content::Integer(number) => number.to_string(),
        Content::TooLarge(number) | Content::Date(number) => number.clone(),
        Content::Float(number) => match number {
            Some(number) if number.is_finite() => format!("{number:?}"),
            Some(number) if number.is_infinite() => {
                if *number > 0.0 { "inf" } else { "-inf" }.to_owned()
            }
            _ => "nan".to_owned(),
        },
        Content::Flag(flag) => flag.to_string(),
        Content::List(list) => {
            let values: Vec<String> = list.iter().map(value).collect();
            format!("[{}]", values.join(", "))
        }
        Content::Table(table) => {
            let entries = table.entries.iter();
            let entries = entries.map(|one| format!("{} = {}", key(&one.key), value(&one.value)));
            let entries: Vec<String> = entries.collect();
            match entries.is_empty() {
                true => "{}".to_owned(),
                false => format!("{{ {} }}", entries.join(", ")),
            }
        }
    }
}

/// A text in quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push('\t'),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

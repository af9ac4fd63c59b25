//! The tables of a scenario's text, each part with the byte at which it begins.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table: its keys in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
    /// The values of the variables, such as "i = 3", if the table is a member of a repeated one.
    pub(crate) member: Option<String>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Cow<'a, str>,
    /// The byte at which the key begins.
    pub(crate) at: usize,
    pub(crate) value: Part<'a>,
}

/// A value, and the byte at which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) at: usize,
    pub(crate) content: Content<'a>,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
    /// A whole number that 64 bits do not hold, as written.
    TooLarge(String),
    /// A number with a fraction; none if it is not one after all.
    Float(Option<f64>),
    Flag(bool),
    Date,
    List(Vec<Part<'a>>),
    Table(Table<'a>),
}

impl<'a> Table<'a> {
    pub(crate) fn new(parsed: DeTable<'a>) -> Self {
        let entries = parsed.into_iter().map(|(key, value)| Entry {
            at: key.span().start,
            key: key.into_inner(),
            value: Part::new(value),
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.at);
        Self {
            entries,
            member: None,
        }
    }

    /// Whether the table has no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<'a> Part<'a> {
    fn new(parsed: Spanned<DeValue<'a>>) -> Self {
        let at = parsed.span().start;
        let content = match parsed.into_inner() {
            DeValue::String(text) => Content::Text(text),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Content::TooLarge(number.to_string()), Content::Integer),
            DeValue::Float(number) => Content::Float(number.as_str().parse().ok()),
            DeValue::Boolean(flag) => Content::Flag(flag),
            DeValue::Datetime(_) => Content::Date,
            DeValue::Array(list) => Content::List(list.into_iter().map(Part::new).collect()),
            DeValue::Table(table) => Content::Table(Table::new(table)),
        };
        Self { at, content }
    }
}

/// A table is serialized as a map from its keys to their values.
impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for entry in &self.entries {
            map.serialize_entry(&entry.key, &entry.value)?;
        }
        map.end()
    }
}

/// A value that no scenario can have, such as a date, is serialized as none.
impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Text(text) => text.serialize(serializer),
            Content::Integer(number) => number.serialize(serializer),
            Content::Float(number) => number.serialize(serializer),
            Content::Flag(flag) => flag.serialize(serializer),
            Content::List(parts) => parts.serialize(serializer),
            Content::Table(table) => table.serialize(serializer),
            Content::TooLarge(_) | Content::Date => serializer.serialize_none(),
        }
    }
}

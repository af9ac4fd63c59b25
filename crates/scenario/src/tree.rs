//! The tables of a scenario's text, each part with the byte at which it begins.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::ser::ValueSerializer;
use toml::value::Datetime;

/// A table: its keys in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
    /// The values of the variables, such as "i = 3", if the table is a member of a repeated one.
    pub(crate) member: Option<String>,
}

/// The key of a table that is repeated.
pub(crate) const EACH: &str = "each";

/// The place of keys and values that were set after the text was read, so that they are not in the text.
pub(crate) const NOWHERE: usize = usize::MAX;

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Cow<'a, str>,
    /// The byte at which the key begins, or [`NOWHERE`].
    pub(crate) at: usize,
    pub(crate) value: Part<'a>,
}

/// A value, and the byte at which it begins.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    pub(crate) at: usize,
    /// The value itself.
    pub content: Content<'a>,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A whole number.
    Integer(i64),
    /// A whole number that does not fit into 64 bits, as written.
    TooLarge(String),
    /// A number with a fraction; `None` if it cannot be read as a number.
    Float(Option<f64>),
    /// True or false.
    Flag(bool),
    /// A date or time, as written.
    Date(String),
    /// A list.
    List(Vec<Part<'a>>),
    /// A table.
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

    /// The keys and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Content<'a>)> {
        let entries = self.entries.iter();
        entries.map(|entry| (entry.key.as_ref(), &entry.value.content))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Part<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.get(EACH).is_some()
    }

    /// Converts the table into a table that owns its texts.
    pub(crate) fn into_owned(self) -> Table<'static> {
        let own = |entry: Entry<'a>| Entry {
            key: Cow::Owned(entry.key.into_owned()),
            at: entry.at,
            value: entry.value.into_owned(),
        };
        Table {
            entries: self.entries.into_iter().map(own).collect(),
            member: self.member,
        }
    }

    /// Whether the table has no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Table<'static> {
    /// The value of a key. If the table does not have the key, it is added with the value that `absent` returns.
    pub(crate) fn entry(
        &mut self,
        key: &str,
        absent: impl FnOnce() -> Content<'static>,
    ) -> &mut Part<'static> {
        let known = self.entries.iter().position(|entry| entry.key == key);
        let number = known.unwrap_or_else(|| {
            self.entries.push(Entry {
                key: Cow::Owned(key.to_owned()),
                at: NOWHERE,
                value: absent().into(),
            });
            self.entries.len() - 1
        });
        &mut self.entries[number].value
    }

    /// Sets a key, which then has no place in the text any more; without a value, removes the key.
    pub(crate) fn set(&mut self, key: &str, value: Option<Content<'static>>) {
        let Some(value) = value else {
            self.entries.retain(|entry| entry.key != key);
            return;
        };
        self.entry(key, || Content::Flag(false)).content = value;
        for entry in self.entries.iter_mut().filter(|entry| entry.key == key) {
            (entry.at, entry.value.at) = (NOWHERE, NOWHERE);
        }
    }
}

impl FromIterator<(String, Content<'static>)> for Table<'static> {
    fn from_iter<I: IntoIterator<Item = (String, Content<'static>)>>(pairs: I) -> Self {
        let mut table = Self::default();
        for (key, value) in pairs {
            table.set(&key, Some(value));
        }
        table
    }
}

impl From<Content<'static>> for Part<'static> {
    fn from(content: Content<'static>) -> Self {
        Part {
            at: NOWHERE,
            content,
        }
    }
}

impl<'a> Part<'a> {
    pub(crate) fn table(&self) -> Option<&Table<'a>> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    fn into_owned(self) -> Part<'static> {
        let content = match self.content {
            Content::Text(text) => Content::Text(Cow::Owned(text.into_owned())),
            Content::Integer(number) => Content::Integer(number),
            Content::TooLarge(number) => Content::TooLarge(number),
            Content::Float(number) => Content::Float(number),
            Content::Flag(flag) => Content::Flag(flag),
            Content::Date(date) => Content::Date(date),
            Content::List(list) => Content::List(list.into_iter().map(Part::into_owned).collect()),
            Content::Table(table) => Content::Table(table.into_owned()),
        };
        let at = self.at;
        Part { at, content }
    }

    fn new(parsed: Spanned<DeValue<'a>>) -> Self {
        let at = parsed.span().start;
        let content = match parsed.into_inner() {
            DeValue::String(text) => Content::Text(text),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Content::TooLarge(number.to_string()), Content::Integer),
            DeValue::Float(number) => Content::Float(number.as_str().parse().ok()),
            DeValue::Boolean(flag) => Content::Flag(flag),
            DeValue::Datetime(date) => Content::Date(date.to_string()),
            DeValue::Array(list) => Content::List(list.into_iter().map(Part::new).collect()),
            DeValue::Table(table) => Content::Table(Table::new(table)),
        };
        Self { at, content }
    }
}

/// Reads a value in the notation of TOML. Anything that is not TOML is read as a text, so that 200 MHz needs no quotes.
pub fn read_value(text: &str) -> Content<'static> {
    let text = text.trim();
    let document = format!("value = {text}\n");
    let parsed = DeTable::parse(&document).ok().map(Spanned::into_inner);
    let mut entries = parsed.map_or_else(Vec::new, |parsed| Table::new(parsed).entries);
    let value = entries.pop().filter(|_| entries.is_empty());
    let value = value.map(|entry| entry.value.into_owned().content);
    match value {
        // Numbers that are not finite (`inf`, `nan`) are read as texts, because no quantity can have such a value.
        Some(Content::Float(number)) if !number.is_some_and(f64::is_finite) => None,
        Some(Content::Table(_) | Content::Date(_)) => None,
        other => other,
    }
    .unwrap_or_else(|| Content::Text(Cow::Owned(text.to_owned())))
}

impl Content<'_> {
    /// Whether the value is a table, or a list of tables.
    pub(crate) fn is_tables(&self) -> bool {
        match self {
            Content::List(list) => list.iter().all(|part| part.table().is_some()),
            Content::Table(_) => true,
            _ => false,
        }
    }
}

/// A value is shown as TOML writes it.
impl fmt::Display for Content<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let written = self.serialize(ValueSerializer::new(&mut text));
        written.map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

/// A table is serialized as a map from its keys to their values. Tables are last, because a writer of TOML would otherwise have to move the text of
/// each table after a later key.
impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (tables, values): (Vec<_>, Vec<_>) = self.iter().partition(|(_, one)| one.is_tables());
        serializer.collect_map(values.into_iter().chain(tables))
    }
}

/// A number that is not valid in TOML is serialized as a text.
impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Content::Text(text) => text.serialize(serializer),
            Content::Integer(number) => number.serialize(serializer),
            Content::TooLarge(number) => number.serialize(serializer),
            Content::Float(number) => number.unwrap_or(f64::NAN).serialize(serializer),
            Content::Flag(flag) => flag.serialize(serializer),
            Content::Date(date) => match date.parse::<Datetime>() {
                Ok(date) => date.serialize(serializer),
                Err(_) => date.serialize(serializer),
            },
            Content::List(parts) => serializer.collect_seq(parts.iter().map(|part| &part.content)),
            Content::Table(table) => table.serialize(serializer),
        }
    }
}

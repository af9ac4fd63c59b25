//! A TOML document in which each section, key and value has its line number.
//!
//! A reader takes the keys out of a section one by one. A key that is left at the end is unknown.

use kernel::{Parameters, Quantity, Value};
use toml::de::DeTable;

use crate::repeat::written_out;
use crate::tree::{Content, NOWHERE, Part, Table};
use crate::{ScenarioError, extent};

/// A value and its line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The line number, counted from one.
    pub line: usize,
}

/// The line numbers of a section and of the keys in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    own: usize,
    keys: Vec<(String, usize)>,
}

impl Lines {
    /// The line of the section.
    pub fn own(&self) -> usize {
        self.own
    }

    /// Whether the section has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| name == key)
    }

    /// The line of `key`, or of the section if the key is absent and has its default.
    pub fn of(&self, key: &str) -> usize {
        let set = self.keys.iter().find(|(name, _)| name == key);
        set.map_or(self.own, |(_, line)| *line)
    }
}

/// The text of a scenario, and the offsets at which its lines begin.
#[derive(Debug)]
pub struct Source {
    file: String,
    starts: Vec<usize>,
    elsewhere: FindElsewhere,
}

/// Advice for a key that a section does not have: the present name of the key, and the sections that have a key of this name.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    /// The present name of the key, if it has been renamed.
    pub renamed: Option<&'static str>,
    /// Descriptions of the sections that have a key of this name.
    pub sections: Vec<String>,
}

/// A function that finds the advice for a key that a section does not have. The first argument is the section, the second one the key.
pub type FindElsewhere = fn(&str, &str) -> Elsewhere;

impl Source {
    /// Creates the source of a scenario's text. Error messages call it `file`.
    pub fn new(file: &str, text: &str, elsewhere: FindElsewhere) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file: file.to_owned(),
            starts: std::iter::once(0).chain(after).collect(),
            elsewhere,
        }
    }

    /// The name of the text in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Creates an error at a line, or about the whole file.
    pub fn error(&self, line: impl Into<Option<usize>>, mut message: String) -> ScenarioError {
        // The message may contain names and texts of the scenario. A message is always one line, so line breaks in it are escaped.
        if message.contains('\n') {
            message = message.replace('\n', "\\n");
        }
        ScenarioError::new(&self.file, line.into().unwrap_or(0), message)
    }

    /// Parses the document, replaces each repeated table by its members, and returns the top-level table.
    pub fn parse<'a>(&self, text: &'a str) -> Result<Table<'a>, ScenarioError> {
        self.written_out(self.tables(text)?)
    }

    /// Parses the document, and returns the top-level table as it is written, without expanding repeated tables.
    pub(crate) fn tables<'a>(&self, text: &'a str) -> Result<Table<'a>, ScenarioError> {
        self.spanned(text).map(Table::new)
    }

    /// Parses the document, and returns the top-level table with the byte range of each part.
    pub(crate) fn spanned<'a>(&self, text: &'a str) -> Result<DeTable<'a>, ScenarioError> {
        let parsed = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| self.line(span.start));
            let message = error.message().replace('\n', ", ");
            let what = error.span().and_then(|span| text.get(span));
            let message = match what {
                Some(key) if message == "duplicate key" => {
                    format!("{message} {key}; write each name once in a table")
                }
                _ => format!("{message}; write key = value under [sections]"),
            };
            self.error(line, format!("this is not TOML: {message}"))
        })?;
        Ok(parsed.into_inner())
    }

    /// Replaces each repeated table of a document by its members.
    pub(crate) fn written_out<'a>(&self, table: Table<'a>) -> Result<Table<'a>, ScenarioError> {
        extent::check(&table)
            .and_then(|tables| written_out(table, tables, &|offset| self.line(offset)))
            .map_err(|(offset, message)| self.error(self.line(offset), message))
    }

    /// The bytes at which the lines of the text begin.
    pub(crate) fn lines(&self) -> &[usize] {
        &self.starts
    }

    /// Returns a source with the same file name but other line starts.
    pub(crate) fn with_lines(&self, starts: Vec<usize>) -> Self {
        Self {
            file: self.file.clone(),
            starts,
            elsewhere: self.elsewhere,
        }
    }

    /// The number of the line that contains the byte at `offset`; 0 for [`NOWHERE`], which stands for a key or value that is not in the
    /// text.
    pub(crate) fn line(&self, offset: usize) -> usize {
        if offset == NOWHERE {
            return 0;
        }
        self.starts.partition_point(|start| *start <= offset)
    }
}

/// A table of the document that is being read.
#[derive(Debug)]
pub struct Section<'a> {
    source: &'a Source,
    name: String,
    line: usize,
    left: Vec<Item<'a>>,
    known: Vec<&'static str>,
    lines: Lines,
}

impl<'a> Section<'a> {
    /// Creates the section `name`, which begins at `line`.
    pub fn new(source: &'a Source, name: String, line: usize, table: &'a Table<'a>) -> Self {
        let left = table.entries.iter().map(|entry| Item {
            source,
            path: join(&name, &entry.key),
            key: &entry.key,
            line: source.line(entry.at),
            value: &entry.value,
        });
        Self {
            source,
            line,
            left: left.collect(),
            known: Vec::new(),
            lines: Lines {
                own: line,
                keys: Vec::new(),
            },
            name,
        }
    }

    /// The line at which the section begins.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Creates an error about the section.
    pub fn error(&self, message: &str) -> ScenarioError {
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.name)
        };
        self.source.error(self.line, format!("{name}{message}"))
    }

    /// Takes `key` out of the section, if it is present.
    pub fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.known.push(key);
        let at = self.left.iter().position(|item| item.key == key)?;
        let item = self.left.remove(at);
        self.lines.keys.push((key.to_owned(), item.line));
        Some(item)
    }

    /// Takes `key` and reads it as a quantity.
    pub fn read<Q: Quantity>(&mut self, key: &'static str) -> Result<Option<At<Q>>, ScenarioError> {
        self.take(key).map(|item| item.read()).transpose()
    }

    /// Takes `key`, a table of named entries. Returns the entries.
    pub fn named(&mut self, key: &'static str) -> Result<Vec<Item<'a>>, ScenarioError> {
        let Some(item) = self.take(key) else {
            return Ok(Vec::new());
        };
        Ok(item.section()?.left)
    }

    /// Takes `key`, an array of tables. Returns the tables.
    pub fn repeated(&mut self, key: &'static str) -> Result<Vec<Section<'a>>, ScenarioError> {
        let Some(item) = self.take(key) else {
            return Ok(Vec::new());
        };
        let Content::List(array) = &item.value.content else {
            return Err(item.error(&format!(
                "is not a list of tables; begin each table with [[{key}]]"
            )));
        };
        let tables = array.iter().enumerate().map(|(n, value)| {
            let path = match &value.content {
                Content::Table(Table {
                    member: Some(values),
                    ..
                }) => format!("{key} {} ({values})", n + 1),
                _ => format!("{key} {}", n + 1),
            };
            let one = Item {
                path,
                line: self.source.line(value.at),
                value,
                ..item.clone()
            };
            one.section()
        });
        tables.collect()
    }

    /// Takes `key`, a list of quantities. Returns an empty list if the key is absent.
    pub fn list<Q: Quantity>(&mut self, key: &'static str) -> Result<Vec<At<Q>>, ScenarioError> {
        let Some(item) = self.take(key) else {
            return Ok(Vec::new());
        };
        let Content::List(array) = &item.value.content else {
            return Err(item.error("is not a list; write [\"...\", \"...\"]"));
        };
        let entries = array.iter().map(|value| {
            let line = self.source.line(value.at);
            let entry = Item {
                line,
                value,
                ..item.clone()
            };
            entry.read()
        });
        entries.collect()
    }

    /// Returns an error with `advice` if the section has one of `keys`, which belong to another section.
    pub fn refuse(&self, keys: &[&str], advice: &str) -> Result<(), ScenarioError> {
        let misplaced = self.left.iter().find(|item| keys.contains(&item.key));
        misplaced.map_or(Ok(()), |item| Err(item.error(advice)))
    }

    /// Takes all remaining keys. Each must be a parameter of at least one of `sets`, and is set in all sets that have it.
    pub fn set(mut self, sets: &mut [&mut dyn Parameters]) -> Result<Lines, ScenarioError> {
        for item in std::mem::take(&mut self.left) {
            if !sets.iter().any(|set| set.keys().contains(&item.key)) {
                self.known.extend(sets.iter().flat_map(|set| set.keys()));
                return Err(self.unknown(&item));
            }
            let value = item.scalar()?;
            for set in &mut *sets {
                set.set(item.key, &value)
                    .map_err(|message| item.error(&message))?;
            }
            self.lines.keys.push((item.key.to_owned(), item.line));
        }
        Ok(self.lines)
    }

    /// Takes all remaining keys. At least one of `sets` must have each key and accept its value.
    pub fn known_to_some(
        mut self,
        sets: &mut [&mut dyn Parameters],
    ) -> Result<Vec<Item<'a>>, ScenarioError> {
        let items = std::mem::take(&mut self.left);
        for item in &items {
            let value = item.scalar()?;
            let tries: Vec<_> = sets
                .iter_mut()
                .map(|set| set.set(item.key, &value))
                .collect();
            if tries.contains(&Ok(true)) {
                continue;
            }
            let Some(message) = tries.into_iter().find_map(Result::err) else {
                self.known.extend(sets.iter().flat_map(|set| set.keys()));
                return Err(self.unknown(item));
            };
            return Err(item.error(&message));
        }
        Ok(items)
    }

    /// Returns an error if any key is left.
    pub fn finish(self) -> Result<Lines, ScenarioError> {
        self.set(&mut [])
    }

    fn unknown(&self, item: &Item<'_>) -> ScenarioError {
        let place = if self.name.is_empty() {
            "the scenario"
        } else {
            &self.name
        };
        let section = match self.name.rsplit_once('.') {
            Some((_, UPSTREAM)) => UPSTREAM,
            _ => self.name.split(['.', ' ']).next().unwrap_or_default(),
        };
        let Elsewhere { renamed, sections } = (self.source.elsewhere)(section, item.key);
        let hint = match (renamed, nearest(item.key, &self.known)) {
            (Some(now), _) => format!("it is {now:?} now, which peerlane fix FILE writes"),
            (None, Some(near)) => format!("did you mean {near:?}?"),
            _ if !sections.is_empty() => format!("it is a key of {}", sections.join("; ")),
            _ => format!("the keys are {}", self.known.join(", ")),
        };
        let message = format!("unknown key {:?} in {place}; {hint}", item.key);
        self.source.error(item.line, message)
    }
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    source: &'a Source,
    path: String,
    /// The key.
    pub key: &'a str,
    /// The line of the key.
    pub line: usize,
    value: &'a Part<'a>,
}

impl<'a> Item<'a> {
    /// The key with its line, for tables whose keys are names.
    pub fn name(&self) -> At<String> {
        At {
            value: self.key.to_owned(),
            line: self.line,
        }
    }

    /// Creates an error about the value.
    pub fn error(&self, message: &str) -> ScenarioError {
        let message = format!("{}: {message}", self.path);
        self.source.error(self.line, message)
    }

    /// Reads the value as a quantity.
    pub fn read<Q: Quantity>(&self) -> Result<At<Q>, ScenarioError> {
        let read = Q::read(&self.scalar()?);
        Ok(At {
            value: read.map_err(|message| self.error(&message))?,
            line: self.line,
        })
    }

    /// Sets the key in all parameter sets in `sets` that have it.
    pub fn set(&self, sets: &mut [&mut dyn Parameters]) -> Result<(), ScenarioError> {
        let value = self.scalar()?;
        for set in sets {
            set.set(self.key, &value)
                .map_err(|message| self.error(&message))?;
        }
        Ok(())
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.content, Content::Table(_))
    }

    /// Whether the value is a member of a repeated table.
    pub fn is_member(&self) -> bool {
        matches!(&self.value.content, Content::Table(table) if table.member.is_some())
    }

    /// An empty section at the position of this key.
    pub fn nothing(&self) -> Section<'a> {
        Section::new(self.source, self.path.clone(), self.line, &NOTHING)
    }

    /// Reads the value as a section.
    pub fn section(&self) -> Result<Section<'a>, ScenarioError> {
        match &self.value.content {
            Content::Table(table) => Ok(Section::new(
                self.source,
                self.path.clone(),
                self.line,
                table,
            )),
            _ => Err(self.error(&format!(
                "is not a section; write [{}] and its keys below it",
                self.path
            ))),
        }
    }

    fn scalar(&self) -> Result<Value<'a>, ScenarioError> {
        let refused = |what: &str| {
            let message = format!("{what} is not allowed here; write a single value");
            Err(self.error(&message))
        };
        match &self.value.content {
            Content::Text(text) => Ok(Value::Text(text)),
            Content::Integer(number) => Ok(Value::Integer(*number)),
            Content::TooLarge(number) => {
                let message = format!("{number} is too large; write a number below 2^63");
                Err(self.error(&message))
            }
            Content::Float(Some(number)) => Ok(Value::Float(*number)),
            Content::Float(None) => refused("this number"),
            Content::Flag(flag) => Ok(Value::Flag(*flag)),
            Content::Date(_) => refused("a date"),
            Content::List(_) => refused("a list"),
            Content::Table(_) => refused("a section"),
        }
    }
}

/// The key of a node whose value is the table of the link to the node above.
const UPSTREAM: &str = "upstream";

/// A table without keys.
pub(crate) static NOTHING: Table<'static> = Table {
    entries: Vec::new(),
    member: None,
};

/// Names of parameters that are common among engineers, and the names of these parameters in scenarios.
const FIELD_NAMES: [(&str, &str); 8] = [
    ("mps", "max_payload"),
    ("mrrs", "max_read_request"),
    ("rcb", "read_completion_boundary"),
    ("gen", "generation"),
    ("speed", "generation"),
    ("rate", "generation"),
    ("width", "lanes"),
    ("ber", "bit_error_rate"),
];

/// The name in `known` that the user probably meant with `written`, if there is one: a name that differs in a few letters, the name of a link whose
/// ends are exchanged ("s-a" for "a-s"), or the only name that has `written` as a part.
pub fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let field = FIELD_NAMES
        .iter()
        .find(|(name, _)| *name == written.to_lowercase());
    if let Some(key) = field.and_then(|(_, key)| known.iter().find(|one| *one == key)) {
        return Some(key);
    }
    if let Some(turned) = known.iter().find(|name| is_turned(name, written)) {
        return Some(turned);
    }
    let distance = |name: &str| strsim::damerau_levenshtein(&written.to_lowercase(), name);
    let near = known.iter().map(|name| (distance(name), *name)).min()?;
    let shorter = near.1.len().min(written.len());
    if near.0 <= 2.max(shorter / 3) && near.0 < shorter {
        return Some(near.1);
    }
    let mut having = known.iter().filter(|name| has_part(name, written));
    let first = having.next().copied();
    first.filter(|_| having.next().is_none())
}

/// Whether two names have the same two parts around a hyphen, in exchanged order.
fn is_turned(name: &str, written: &str) -> bool {
    let mut cuts = written.match_indices('-');
    cuts.any(|(at, _)| {
        let (one, other) = (&written[..at], &written[at + 1..]);
        let rest = name
            .strip_prefix(other)
            .and_then(|rest| rest.strip_prefix('-'));
        rest == Some(one)
    })
}

/// Whether one of the words of a name is `written`. Words of up to three letters do not count.
fn has_part(name: &str, written: &str) -> bool {
    written.len() > 3 && name.split(['-', '_', '.']).any(|part| part == written)
}

/// The maximum number of names that advice lists: enough for all models or all kinds of incidents, but not for all nodes of a large fabric.
pub(crate) const SHOWN: usize = 24;

/// Advice on a wrong name: the most similar name in `known`, or a list of these names.
pub fn advice(written: &str, known: &[&str]) -> String {
    match (nearest(written, known), known) {
        (Some(near), _) => format!("did you mean {near:?}?"),
        (None, []) => "there is none".to_owned(),
        (None, [one]) => format!("write {one:?}"),
        (None, known) => format!("write one of {}", listed(known)),
    }
}

/// A list of the names for a message: all names, or the first ones and the number of the others.
pub(crate) fn listed(known: &[&str]) -> String {
    let shown = known[..known.len().min(SHOWN)].join(", ");
    match known.len().saturating_sub(SHOWN) {
        0 => shown,
        others => format!("{shown} and {others} others"),
    }
}

/// The position of the name `written` in `known`. If it is not there, the error message says that there is no `what` of this name; if `known` is
/// empty, the advice in the message is `first`.
pub fn position(written: &str, known: &[&str], what: &str, first: &str) -> Result<usize, String> {
    let found = known.iter().position(|name| *name == written);
    found.ok_or_else(|| match known {
        [] => format!("there is no {what} {written:?}; {first}"),
        known => format!("there is no {what} {written:?}; {}", advice(written, known)),
    })
}

fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::{NAME, TABLES};

    fn message(text: &str) -> Option<String> {
        let source = Source::new("wide.toml", text, |_, _| Elsewhere::default());
        source.parse(text).err().map(|error| error.to_string())
    }

    #[test]
    fn advice_is_the_nearest_name_or_a_list() {
        assert_eq!(advice("nodes", &[]), "there is none");
        assert_eq!(advice("nodes", &["a"]), "write \"a\"");
        assert_eq!(advice("nodes", &["a", "b"]), "write one of a, b");
        assert_eq!(advice("nodes", &["a", "node"]), "did you mean \"node\"?");
        let many: Vec<String> = (0..=SHOWN).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let listed = advice("nodes", &many);
        assert!(listed.starts_with("write one of 0, 1, 2, "), "{listed}");
        assert!(listed.ends_with(", 22, 23 and 1 others"), "{listed}");
    }

    #[test]
    fn a_part_of_a_name_or_a_link_from_its_other_end_is_known() {
        let kinds = ["surprise-removal", "surprise-insertion", "poison"];
        assert_eq!(nearest("removal", &kinds), Some("surprise-removal"));
        assert_eq!(nearest("surprise", &kinds), None);
        assert_eq!(nearest("a-s", &["h-s", "s-a", "s-b"]), Some("s-a"));
        let long = ["fpga-card-root-port", "fpga-root-port"];
        assert_eq!(nearest("root-port-fpga", &long), Some("fpga-root-port"));
    }

    #[test]
    fn a_long_name_or_text_is_refused_by_its_beginning() {
        let name = "n".repeat(10_000_000);
        for text in [format!("\n[devices.{name}]"), format!("\n{name} = 1")] {
            let refused = message(&text).expect("the name is too long");
            assert_eq!(
                refused,
                r#"wide.toml:2: a name of 10000000 bytes ("nnnnnnnnnnnnnnnnnnnn" and so on) is too long; write 255 at most"#
            );
        }
        let refused =
            message(&format!("a = [{{ b = \"{name}\" }}]")).expect("the text is too long");
        assert!(refused.contains("a text of 10000000 bytes"), "{refused}");
        assert_eq!(message(&format!("{} = 1", &name[..NAME])), None);
    }

    #[test]
    fn too_many_tables_are_refused_at_the_first_of_them() {
        let tables = |count| "[[flows]]\n".repeat(count);
        assert_eq!(message(&tables(TABLES)), None);
        let refused = message(&tables(TABLES + 1)).expect("one is too many");
        assert!(
            refused.starts_with("wide.toml:65537: more than 65536 tables"),
            "{refused}"
        );
    }
}

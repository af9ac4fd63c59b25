//! Keys that had other names in older versions: advice for messages, and the conversion of files to the present names.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::document::Source;
use crate::error::ScenarioError;
use crate::form::{Form, InnerForm, Shape};

/// A key that was renamed in some version.
#[derive(Debug)]
pub struct Rename {
    /// The section whose tables had the key.
    pub section: &'static str,
    /// The value of `model` in these tables, if other models had no such key.
    pub model: Option<&'static str>,
    /// The old name of the key.
    pub before: &'static str,
    /// The present name of the key.
    pub now: &'static str,
    /// Converts the value of the old key into the value of the present key, both as TOML; `None` if this is not possible.
    pub value: fn(&str) -> Option<String>,
    /// A remark about the present value, if it differs from the value of the old key; otherwise empty.
    pub note: &'static str,
}

impl Rename {
    /// The conversion for a key whose value did not change.
    pub fn same(value: &str) -> Option<String> {
        Some(value.to_owned())
    }
}

/// The text of a scenario with the present names of its keys, and the changes from the old text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    /// The text, with unchanged comments and layout.
    pub text: String,
    /// The changes that were made, each with its line and a message.
    pub made: Vec<(usize, String)>,
    /// The changes that the user has to make, each with its line and a message.
    pub left: Vec<(usize, String)>,
}

/// Replaces the old names of keys in the scenario `text` by their present names.
pub fn renamed(
    source: &Source,
    text: &str,
    form: &Form,
    renames: &[Rename],
) -> Result<Renamed, ScenarioError> {
    let root = source.spanned(text)?;
    let mut rewriting = Rewriting {
        source,
        text,
        renames,
        edits: Vec::new(),
        made: Vec::new(),
        left: Vec::new(),
    };
    for (name, value) in &root {
        let Some(section) = form.section(name.get_ref()) else {
            continue;
        };
        let visit = |one: &mut Rewriting<'_>, value: &Spanned<DeValue<'_>>| {
            one.table(section.name, section.inner, value.get_ref());
        };
        match (section.shape, value.get_ref()) {
            (Shape::Named, DeValue::Table(tables)) => {
                tables
                    .iter()
                    .for_each(|(_, one)| visit(&mut rewriting, one));
            }
            (Shape::Keys, DeValue::Table(_)) => visit(&mut rewriting, value),
            (_, DeValue::Array(list)) => list.iter().for_each(|one| visit(&mut rewriting, one)),
            _ => {}
        }
    }
    Ok(rewriting.finish())
}

/// A text whose keys are being renamed.
struct Rewriting<'a> {
    source: &'a Source,
    text: &'a str,
    renames: &'a [Rename],
    /// The replacements in the text: a range of bytes, and the new text for this range.
    edits: Vec<(std::ops::Range<usize>, String)>,
    made: Vec<(usize, String)>,
    left: Vec<(usize, String)>,
}

impl Rewriting<'_> {
    /// Renames the keys of a table with the keys of `section`, and of the tables within this table.
    fn table(&mut self, section: &str, inner: &[InnerForm], value: &DeValue<'_>) {
        let DeValue::Table(table) = value else {
            return;
        };
        let model = table.get("model").and_then(|one| one.get_ref().as_str());
        for (key, value) in table {
            let known = self.renames.iter().find(|one| {
                one.section == section
                    && one.before == key.get_ref()
                    && (one.model.is_none() || one.model == model)
            });
            if let Some(rename) = known {
                self.rename(rename, table, key, value);
            }
            if let Some(form) = inner.iter().find(|one| one.name == key.get_ref()) {
                self.table(form.like, form.inner, value.get_ref());
            }
        }
    }

    fn rename(
        &mut self,
        rename: &Rename,
        table: &DeTable<'_>,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let line = self.source.line(key.span().start);
        let Rename {
            before, now, note, ..
        } = rename;
        let written = &self.text[value.span()];
        let moves = |one: &&Rename| one.before == *now && one.section == rename.section;
        let is_taken = before != now
            && table.contains_key(*now)
            && !self.renames.iter().any(|one| moves(&one));
        let Some(value_now) = (rename.value)(written).filter(|_| !is_taken) else {
            let why = if is_taken {
                format!("{now} is written, too; write one of them")
            } else {
                format!("{note}; write it by hand")
            };
            self.left
                .push((line, format!("{before} is {now} now: {why}")));
            return;
        };
        if before != now {
            self.edits.push((key.span(), (*now).to_owned()));
        }
        if value_now != written {
            self.edits.push((value.span(), value_now.clone()));
        }
        let note = if note.is_empty() {
            String::new()
        } else {
            format!("; {note}")
        };
        let message = format!("{before} = {written} is now {now} = {value_now}{note}");
        self.made.push((line, message));
    }

    fn finish(mut self) -> Renamed {
        self.edits.sort_by_key(|(at, _)| at.start);
        let mut text = self.text.to_owned();
        for (at, now) in self.edits.into_iter().rev() {
            text.replace_range(at, &now);
        }
        self.made.sort();
        self.left.sort();
        Renamed {
            text,
            made: self.made,
            left: self.left,
        }
    }
}

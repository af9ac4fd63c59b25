//! The form of scenarios: their sections, the keys that each section has, and the built-in profiles.

use std::collections::BTreeMap;

use kernel::{Declaration, Kind, Lift};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// How the tables of a section are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One table of keys.
    Keys,
    /// Tables with names.
    Named,
    /// A list of tables with ids. A table without an id has this noun and its number as its name.
    List(&'static str),
    /// A list of tables whose names are the names of their two ends.
    Joined,
}

/// A section of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct SectionForm {
    /// The name of the section.
    pub name: &'static str,
    /// How the tables of the section are written.
    pub shape: Shape,
    /// The tables within each table of the section.
    pub inner: &'static [InnerForm],
}

/// A table within each table of a section.
#[derive(Clone, Copy, Debug)]
pub struct InnerForm {
    /// The key of the table.
    pub name: &'static str,
    /// The section whose keys the table has.
    pub like: &'static str,
    /// The device model that the table has without writing it, if it has one.
    pub model: Option<&'static str>,
    /// The tables within the table.
    pub inner: &'static [InnerForm],
}

/// A key, and the sections that have it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The sections that have the key.
    pub sections: Vec<String>,
    /// If only tables of one device model or one kind of incident have the key: the key that must be written there (`model` or `what`), and its
    /// value.
    pub only: Option<(&'static str, String)>,
    /// The declaration of the key.
    pub declaration: Declaration,
}

impl Row {
    /// Makes a row of each declaration, for the sections in `sections`, which are separated by commas.
    pub fn of(
        sections: &str,
        only: Option<(&'static str, &str)>,
        declarations: Vec<Declaration>,
    ) -> impl Iterator<Item = Self> {
        declarations.into_iter().map(move |declaration| Self {
            sections: sections.split(", ").map(str::to_owned).collect(),
            only: only.map(|(key, value)| (key, value.to_owned())),
            declaration,
        })
    }

    /// A description of the tables that have the key, such as "devices, model nic".
    pub fn place(&self) -> String {
        let only = self
            .only
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        let all: Vec<String> = self.sections.iter().cloned().chain(only).collect();
        all.join(", ")
    }

    /// Whether tables of the section `section` with this model have the key.
    pub fn fits(&self, section: &str, model: Option<&str>) -> bool {
        let is_of_model = match &self.only {
            Some(("model", own)) => model == Some(own),
            _ => true,
        };
        is_of_model && self.sections.iter().any(|one| one == section)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let declared = &self.declaration;
        let only = |key: &str| self.only.as_ref().filter(|(own, _)| *own == key);
        let mut row = serializer.serialize_struct("Row", 13)?;
        row.serialize_field("where", &self.place())?;
        row.serialize_field("sections", &self.sections)?;
        row.serialize_field("model", &only("model").map(|(_, value)| value))?;
        row.serialize_field("what", &only("what").map(|(_, value)| value))?;
        row.serialize_field("key", declared.key)?;
        row.serialize_field("kind", declared.kind.name())?;
        row.serialize_field("choices", &declared.choices)?;
        row.serialize_field("unit", declared.unit)?;
        row.serialize_field("default", &declared.default)?;
        row.serialize_field("help", declared.help)?;
        row.serialize_field("source", declared.source)?;
        row.serialize_field("lifts", &declared.lifts.map(|lift| lift.limit))?;
        row.serialize_field("range", declared.range)?;
        row.end()
    }
}

/// A built-in profile: its name, and its settings as keys and values.
pub type BuiltIn = (&'static str, Vec<(&'static str, &'static str)>);

/// The form of scenarios.
#[derive(Debug, Default)]
pub struct Form {
    scalars: Vec<&'static str>,
    sections: Vec<SectionForm>,
    rows: BTreeMap<&'static str, Vec<Row>>,
    profiles: Vec<BuiltIn>,
    alternatives: &'static [Alternatives],
}

/// A section, and a group of keys that exclude each other: setting one of them removes the others.
pub type Alternatives = (&'static str, &'static [&'static str]);

impl Form {
    /// The form of scenarios with these sections, keys and built-in profiles.
    pub fn new(sections: Vec<SectionForm>, rows: Vec<Row>, profiles: Vec<BuiltIn>) -> Self {
        let mut by_key: BTreeMap<_, Vec<Row>> = BTreeMap::new();
        let of_top = rows.iter().filter(|row| row.fits(TOP, None));
        let scalars = of_top.map(|row| row.declaration.key).collect();
        for row in rows {
            by_key.entry(row.declaration.key).or_default().push(row);
        }
        Self {
            scalars,
            sections,
            rows: by_key,
            profiles,
            alternatives: &[],
        }
    }

    /// Returns the form with these groups of keys that exclude each other.
    #[must_use]
    pub fn with_alternatives(self, alternatives: &'static [Alternatives]) -> Self {
        Self {
            alternatives,
            ..self
        }
    }

    /// The keys that are removed if this key of a section is set.
    pub fn replaced_by(&self, section: &str, key: &str) -> impl Iterator<Item = &'static str> {
        let groups = self.alternatives.iter();
        let own = groups.filter(move |(place, keys)| *place == section && keys.contains(&key));
        let all = own.flat_map(|(_, keys)| keys.iter().copied());
        all.filter(move |other| *other != key)
    }

    /// All sections, in the order in which messages list them.
    pub fn sections(&self) -> &[SectionForm] {
        &self.sections
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&SectionForm> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The names of the sections with this shape. The noun of [`Shape::List`] does not matter.
    pub(crate) fn shaped(&self, shape: Shape) -> impl Iterator<Item = &'static str> {
        let alike = move |one: &&SectionForm| {
            std::mem::discriminant(&one.shape) == std::mem::discriminant(&shape)
        };
        self.sections
            .iter()
            .filter(alike)
            .map(|section| section.name)
    }

    /// The keys of the top level that are not sections.
    pub fn scalars(&self) -> impl Iterator<Item = &'static str> {
        self.scalars.iter().copied()
    }

    /// All keys that some section has.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.rows.keys().copied()
    }

    /// The row of a key in tables of a section with this model.
    pub fn row(&self, section: &str, model: Option<&str>, key: &str) -> Option<&Row> {
        let rows = self.rows.get(key)?;
        rows.iter().find(|row| row.fits(section, model))
    }

    /// The rows of all keys of tables of a section with this model.
    pub(crate) fn rows_of<'f, 'k>(
        &'f self,
        section: &'k str,
        model: Option<&'k str>,
    ) -> impl Iterator<Item = &'f Row> {
        let rows = self.rows.values().flatten();
        rows.filter(move |row| row.fits(section, model))
    }

    /// The keys that can lift a limit in tables of a section with this model, in the order in which `explain` tries them: first keys that remove the
    /// limit, then keys whose value is increased, then keys that are true or false. Keys of only this model are before keys that other models have as
    /// well.
    pub(crate) fn lifts(
        &self,
        section: &str,
        model: Option<&str>,
        limit: &str,
    ) -> Vec<(&'static str, Lift)> {
        let lifting = self.rows_of(section, model).filter_map(|row| {
            let lift = row.declaration.lifts.filter(|lift| lift.limit == limit)?;
            let is_flag = row.declaration.kind == Kind::Flag;
            let rank = (
                is_flag,
                !lift.times.is_empty(),
                row.declaration.key != limit,
            );
            Some((rank, row.only.is_none(), row.declaration.key, lift))
        });
        let mut found: Vec<_> = lifting.collect();
        found.sort_by_key(|(rank, is_shared, key, _)| (*rank, *is_shared, *key));
        let found = found.into_iter();
        found.map(|(.., key, lift)| (key, lift)).collect()
    }

    pub(crate) fn is_list(&self, key: &str) -> bool {
        let is_list = |row: &Row| row.declaration.kind == Kind::List;
        self.rows
            .get(key)
            .is_some_and(|rows| rows.iter().any(is_list))
    }

    pub(crate) fn built_in(&self, profile: &str, key: &str) -> Option<&'static str> {
        let (_, settings) = self.profiles.iter().find(|(name, _)| *name == profile)?;
        let found = settings.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value)
    }
}

/// The name of the top level of a scenario in the sections of rows.
pub const TOP: &str = "the scenario";

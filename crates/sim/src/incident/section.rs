//! Incidents as they are written in a scenario.

use kernel::{Parameters, Span};

use ::scenario::{At, Lines, ScenarioError, Section, advice};

use crate::scenario::{id_of, need};

use super::{Any, KINDS, SECTION};

/// One `[[incidents]]` entry.
#[derive(Clone, Debug)]
pub struct Incident {
    /// Name of the entry; `incident-1` and so on if none is written.
    pub id: At<String>,
    /// Time of the incident, counted from when every link is up.
    pub at: Span,
    /// Name of the kind.
    pub what: &'static str,
    /// The node that the incident concerns.
    pub node: At<String>,
    /// The incident, with the keys of its kind.
    pub kind: Any,
    /// Lines of the entry in the scenario.
    pub lines: Lines,
}

impl Incident {
    /// Reads an `[[incidents]]` entry.
    fn read(number: usize, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let id = id_of(&mut section, "incident", number)?;
        let missing = "there is no at; write the time of the incident, such as at = \"20 us\"";
        let at = section.read("at")?.ok_or_else(|| section.error(missing))?;
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let item = section.take("what").ok_or_else(|| {
            section.error(&format!(
                "there is no what; write what = \"KIND\", one of {}",
                names.join(", ")
            ))
        })?;
        let written = item.read::<String>()?.value;
        let kind = KINDS.iter().find(|kind| kind.name == written);
        let kind = kind.ok_or_else(|| {
            let advice = advice(&written, &names);
            item.error(&format!("there is no incident {written:?}; {advice}"))
        })?;
        let node = need(&mut section, "node", "the node that it concerns")?;
        let mut own = (kind.make)();
        let keys: &mut dyn Parameters = own.as_mut();
        let lines = section.set(&mut [keys])?;
        Ok(Self {
            id,
            at: at.value,
            what: kind.name,
            node,
            kind: own.into(),
            lines,
        })
    }
}

/// Reads all `[[incidents]]` entries.
pub(crate) fn read(root: &mut Section<'_>) -> Result<Vec<Incident>, ScenarioError> {
    let all = (1..).zip(root.repeated(SECTION)?);
    all.map(|(number, section)| Incident::read(number, section))
        .collect()
}

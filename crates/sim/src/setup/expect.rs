//! Expectations of a scenario: bounds that numbers of its result must keep.

use kernel::{Quantity, Value, Written};

use ::scenario::{At, Row, ScenarioError, Section, SectionForm, Shape};

use crate::scenario::entries::of_form;
use crate::scenario::{id_of, taken};

/// One `[[expect]]` entry. The metric is not checked here: the code that reads results checks that the metric exists, and knows its unit.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Name of the expectation; `expectation-1` and so on if none is written.
    pub id: At<String>,
    /// The path of a number of the result.
    pub metric: At<String>,
    /// The least value that is right.
    pub at_least: Option<At<Bound>>,
    /// The greatest value that is right.
    pub at_most: Option<At<Bound>>,
}

/// A bound of a number: a number, which may have a unit, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound(pub String);

impl Quantity for Bound {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let text = match value {
            Value::Text(text) => (*text).to_owned(),
            other => other.to_string(),
        };
        let refused = || format!("{value} is no number; write one, such as \"3 GB/s\" or 0.9");
        Written::read(&text).ok_or_else(refused)?;
        Ok(Self(text))
    }

    fn show(&self) -> String {
        self.0.clone()
    }
}

impl Expectation {
    fn read(number: usize, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let id = id_of(&mut section, NOUN, number)?;
        let missing = "there is no metric; write the path of a number of the result, such as metric = \"flows.up.bytes_per_second\"";
        let metric = section.read("metric")?;
        let metric = metric.ok_or_else(|| section.error(missing))?;
        let at_least = section.read("at_least")?;
        let at_most = section.read("at_most")?;
        let unbound = section.error("there is no bound; write at_least, at_most, or both");
        section.finish()?;
        if at_least.is_none() && at_most.is_none() {
            return Err(unbound);
        }
        Ok(Self {
            id,
            metric,
            at_least,
            at_most,
        })
    }
}

/// Reads all `[[expect]]` entries.
pub(super) fn read(root: &mut Section<'_>) -> Result<Vec<Expectation>, ScenarioError> {
    let all = (1..).zip(root.repeated(FORM.name)?);
    let all = all.map(|(number, section)| Expectation::read(number, section));
    all.collect()
}

/// Checks that no two expectations have one id; otherwise returns the line of the second one and a message.
pub(super) fn check(all: &[Expectation]) -> Result<(), (usize, String)> {
    let Some((number, message)) = taken(all.iter().map(|one| &one.id)) else {
        return Ok(());
    };
    let id = &all[number].id;
    Err((id.line, format!("expect {:?}, id: {message}", id.value)))
}

/// The keys of an expectation.
pub(super) fn forms() -> impl Iterator<Item = Row> {
    FORMS.iter().copied().map(of_form)
}

/// The form of the section.
pub(super) const FORM: SectionForm = SectionForm {
    name: "expect",
    shape: Shape::List(NOUN),
    inner: &[],
};

/// The word for an entry.
const NOUN: &str = "expectation";

::plan::structure! {
    /// The keys of an expectation.
    const FORMS;
    "expect": {
        /// Name of the expectation in results.
        id = "expectation-1, expectation-2, ...";
        /// The number that is expected: its path in the JSON of a result, such as "flows.up.bytes_per_second", "flows.up.latency_ns.p99" or "links.h0-s0.up.utilisation".
        metric = "none";
        /// The least value that is right, with its unit ("3 GB/s", "2 us"); a number alone is in the unit of the metric.
        at_least = "none";
        /// The greatest value that is right.
        at_most = "none";
    }
}

//! The places in the text of all parts of a scenario, stored separately from the parts, so that a scenario that is sent as TOML keeps its line
//! numbers.

use super::Scenario;
use crate::tree::{Content, Part, Table};

/// The places of all parts of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The bytes of the text at which its lines begin.
    pub lines: Vec<usize>,
    /// The byte at which each key and each value begins: table by table, with the keys of each table in the order of their names.
    pub places: Vec<usize>,
    /// For each table, in the same order: the values of its variables, if it is a member of a repeated table.
    pub members: Vec<Option<String>>,
}

impl Scenario {
    /// Returns the places of all parts.
    pub fn marks(&self) -> Marks {
        let mut marks = Marks {
            lines: self.source.lines().to_vec(),
            ..Marks::default()
        };
        visit(&mut self.tree.clone(), &mut |mark| match mark {
            Mark::Place(place) => marks.places.push(*place),
            Mark::Member(member) => marks.members.push(member.take()),
        });
        marks
    }

    /// Returns the scenario with these places. They are from the scenario whose TOML this scenario was read from.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        let (mut places, mut members) = (marks.places.into_iter(), marks.members.into_iter());
        visit(&mut self.tree, &mut |mark| match mark {
            Mark::Place(place) => *place = places.next().unwrap_or(*place),
            Mark::Member(member) => *member = members.next().flatten(),
        });
        self.source = self.source.with_lines(marks.lines).into();
        self
    }
}

enum Mark<'t> {
    Place(&'t mut usize),
    Member(&'t mut Option<String>),
}

/// Visits the marks of a table and of all parts in it. The order is the same before and after the scenario is written as TOML and read again.
fn visit(table: &mut Table<'static>, see: &mut impl FnMut(Mark<'_>)) {
    see(Mark::Member(&mut table.member));
    let mut entries: Vec<_> = table.entries.iter_mut().collect();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    for entry in entries {
        see(Mark::Place(&mut entry.at));
        visit_part(&mut entry.value, see);
    }
}

fn visit_part(part: &mut Part<'static>, see: &mut impl FnMut(Mark<'_>)) {
    see(Mark::Place(&mut part.at));
    match &mut part.content {
        Content::Table(table) => visit(table, see),
        Content::List(list) => list.iter_mut().for_each(|one| visit_part(one, see)),
        _ => {}
    }
}

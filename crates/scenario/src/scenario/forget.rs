//! Removal of wrong keys by their lines, so that a check finds further errors.

use super::Scenario;
use crate::tree::{Content, Part, Table};

impl Scenario {
    /// Removes the key that is written on this line, or the table of a list that begins on this line. Returns false if there is no such key or table,
    /// or if several keys of one table are on the line.
    pub fn forget(&mut self, line: usize) -> bool {
        let source = self.source.clone();
        forget_in(&mut self.tree, &|at| source.line(at) == line)
    }

    /// For the key on this line: the line at which its table begins.
    pub fn beginning_of(&self, line: usize) -> Option<usize> {
        let is_there = |at| self.source.line(at) == line;
        let begin = beginning_in(&self.tree, 0, &is_there)?;
        Some(self.source.line(begin))
    }
}

fn beginning_in(
    table: &Table<'static>,
    begin: usize,
    is_there: &impl Fn(usize) -> bool,
) -> Option<usize> {
    table
        .entries
        .iter()
        .find_map(|one| match &one.value.content {
            Content::Table(inner) => beginning_in(inner, one.at, is_there),
            Content::List(list) if one.value.content.is_tables() => list
                .iter()
                .find_map(|part| beginning_in(part.table()?, part.at, is_there)),
            _ => is_there(one.at).then_some(begin),
        })
}

fn forget_in(table: &mut Table<'static>, is_there: &impl Fn(usize) -> bool) -> bool {
    let is_key = |value: &Content<'_>| !value.is_tables();
    let keys = table.entries.iter().enumerate();
    let mut keys = keys.filter(|(_, one)| is_there(one.at) && is_key(&one.value.content));
    match (keys.next().map(|(number, _)| number), keys.next()) {
        (Some(number), None) => {
            table.entries.remove(number);
            true
        }
        (Some(_), Some(_)) => false,
        (None, _) => {
            let mut values = table.entries.iter_mut();
            values.any(|one| forget_below(&mut one.value, is_there))
        }
    }
}

fn forget_below(part: &mut Part<'static>, is_there: &impl Fn(usize) -> bool) -> bool {
    match &mut part.content {
        Content::Table(table) => forget_in(table, is_there),
        Content::List(list) => {
            let begins = |one: &Part<'static>| one.table().is_some() && is_there(one.at);
            if list.iter_mut().any(|one| forget_below(one, is_there)) {
                return true;
            }
            let number = list.iter().position(begins);
            number.map(|number| list.remove(number)).is_some()
        }
        _ => false,
    }
}

//! The tables of a scenario by their names: the tables of a section, and the tables of links. Tables can be added and removed.

use super::{Scenario, below};
use crate::form::Shape;
use crate::path;
use crate::tree::{Content, Part, Table};

/// The steps from the top level to a table: each step is the index of an entry in a table, or of a table in a list.
pub(super) type Steps = Vec<usize>;

/// The table at the end of the steps.
pub(super) fn table_at<'t>(root: &'t Table<'static>, steps: &[usize]) -> &'t Table<'static> {
    let Some((first, rest)) = steps.split_first() else {
        return root;
    };
    let part = &root.entries[*first].value;
    let part = match (&part.content, rest) {
        (Content::List(list), [number]) => &list[*number],
        (Content::Table(tables), [number]) => &tables.entries[*number].value,
        _ => part,
    };
    part.table().expect("a way leads to a table")
}

/// The table at the end of the steps, mutable.
pub(super) fn table_at_mut<'t>(
    root: &'t mut Table<'static>,
    steps: &[usize],
) -> &'t mut Table<'static> {
    let Some((first, rest)) = steps.split_first() else {
        return root;
    };
    let part = &mut root.entries[*first].value;
    let content = match (&mut part.content, rest) {
        (Content::List(list), [number]) => &mut list[*number].content,
        (Content::Table(tables), [number]) => &mut tables.entries[*number].value.content,
        (content, _) => content,
    };
    match content {
        Content::Table(table) => table,
        _ => unreachable!("a way leads to a table"),
    }
}

impl Scenario {
    /// The tables of a section by their names, ids or ends.
    pub(super) fn tables_of(&self, section: &str) -> Vec<(String, Steps)> {
        let at = self.tree.entries.iter().position(|one| one.key == section);
        let (Some(at), Some(shape)) = (at, self.shape(section)) else {
            return Vec::new();
        };
        match (&self.tree.entries[at].value.content, shape) {
            (Content::Table(tables), Shape::Named) => {
                let tables = tables.entries.iter().enumerate();
                tables
                    .filter(|(_, one)| one.value.table().is_some())
                    .map(|(number, one)| (one.key.to_string(), vec![at, number]))
                    .collect()
            }
            (Content::List(list), Shape::List(noun)) => tables_in(list)
                .enumerate()
                .map(|(n, (number, table))| (id_of(table, noun, n + 1), vec![at, number]))
                .collect(),
            (Content::List(list), Shape::Joined) => joined(at, list),
            _ => Vec::new(),
        }
    }

    /// The table of this name in a section. If two tables have the same name, it is the last one.
    pub(super) fn table_of(&self, section: &str, name: &str) -> Option<Steps> {
        let mut tables = self.tables_of(section).into_iter().rev();
        tables.find(|(one, _)| one == name).map(|(_, steps)| steps)
    }

    /// For each link: its name, the steps to the table that writes it, and whether the keys of the link are in the table `upstream` within this table
    /// (a node) or in the table itself (a cable).
    pub(super) fn links(&self) -> Vec<(String, Steps, bool)> {
        let mut links = Vec::new();
        for section in self.form.sections() {
            let within = section.inner.iter().any(|inner| inner.name == UPSTREAM);
            for (name, steps) in self.tables_of(section.name) {
                let upstream = table_at(&self.tree, &steps).get(UPSTREAM);
                if within && let Some(upstream) = upstream {
                    links.push((format!("{}-{name}", above(upstream)), steps, true));
                }
            }
        }
        for section in self.form.shaped(Shape::Joined) {
            // Fibres are not links: their tables do not have the keys of links.
            if self.form.row(section, None, "lanes").is_some() {
                let cables = self.tables_of(section).into_iter();
                links.extend(cables.map(|(name, steps)| (name, steps, false)));
            }
        }
        links
    }

    pub(super) fn link(&self, id: &str) -> Option<(Steps, bool)> {
        let mut links = self.links().into_iter().rev();
        let found = links.find(|(one, ..)| one == id);
        found.map(|(_, steps, within)| (steps, within))
    }

    /// Adds a table with a name to a section.
    pub fn add(&mut self, section: &str, name: &str, table: Table<'static>) -> Result<(), String> {
        self.check_table(&table)?;
        let part = self
            .tree
            .entry(section, || Content::Table(Table::default()));
        let Content::Table(tables) = &mut part.content else {
            return Err(format!("{section} is not a table; write [{section}]"));
        };
        if tables.get(name).is_some() {
            return Err(format!("'{name}' is already among the {section}"));
        }
        tables.set(name, Some(Content::Table(table)));
        Ok(())
    }

    /// Adds a table to a list.
    pub fn append(&mut self, section: &str, table: Table<'static>) -> Result<(), String> {
        self.check_table(&table)?;
        let part = self.tree.entry(section, || Content::List(Vec::new()));
        match &mut part.content {
            Content::List(list) if list.iter().all(|one| one.table().is_some()) => {
                list.push(Content::Table(table).into());
                Ok(())
            }
            _ => Err(format!(
                "{section} is not a list of tables; write [[{section}]]"
            )),
        }
    }

    /// Removes a section, or a table of a section. The other tables of a list keep their ids. Any other path is the path of a key, which is removed.
    pub fn remove(&mut self, path: &str) -> Result<(), String> {
        let parts = path::split(path)?;
        match parts.as_slice() {
            [section] if self.section(section).is_some() => {
                self.tree.set(section, None);
                Ok(())
            }
            [section, name] if let Some(steps) = self.table_of(section, name) => {
                if let Some(Shape::List(_)) = self.shape(section) {
                    self.write_ids(section);
                }
                let part = &mut self.tree.entries[steps[0]].value;
                match &mut part.content {
                    Content::Table(tables) => tables.set(name, None),
                    Content::List(list) => {
                        list.remove(steps[1]);
                    }
                    _ => {}
                }
                Ok(())
            }
            _ => self.set(path, None),
        }
    }

    /// Writes into each table of a list the id that it has, if the table does not write one.
    fn write_ids(&mut self, section: &str) {
        for (id, steps) in self.tables_of(section) {
            let table = table_at_mut(&mut self.tree, &steps);
            if table.get("id").is_none() && !table.is_repeated() {
                table.set("id", Some(Content::Text(id.into())));
            }
        }
    }

    fn check_table(&self, table: &Table<'static>) -> Result<(), String> {
        let mut entries = table.entries.iter();
        entries.try_for_each(|one| self.check(&one.key, Some(&one.value.content)))
    }

    /// The path of the table of a node. For a node of a network, it is the path of the table for all hosts or all routers of the network.
    pub fn path_of_node(&self, name: &str) -> Option<String> {
        let nodes = self.form.sections().iter();
        let nodes = nodes.filter(|one| one.shape == Shape::Named && one.name != "profiles");
        let mut written = nodes.filter(|one| self.table_of(one.name, name).is_some());
        if let Some(section) = written.next() {
            return Some(below(section.name, name));
        }
        let part = if name.ends_with("-host") {
            "hosts"
        } else {
            "routers"
        };
        self.network_of(name)
            .map(|network| format!("{}.{part}", below(NETWORKS, &network)))
    }

    /// The path of the table of a link. For a link of a network, it is the path of the table for all links of the network.
    pub fn path_of_link(&self, id: &str) -> Option<String> {
        if self.link(id).is_some() {
            return Some(below(LINKS, id));
        }
        self.network_of(id)
            .map(|network| format!("{}.routers.upstream", below(NETWORKS, &network)))
    }

    /// The path of the table with the keys of a fibre of this router. For a router of a network, it is the path of the network.
    pub fn path_of_fibre(&self, id: &str, router: &str) -> Option<String> {
        if self.table_of("devices", router).is_some() {
            return Some(below("fibres", id));
        }
        self.network_of(router)
            .map(|network| below(NETWORKS, &network))
    }

    /// The network that a node or link belongs to, by the beginning of its name.
    pub(super) fn network_of(&self, name: &str) -> Option<String> {
        let is_of = |network: &String| {
            name.strip_prefix(network.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        };
        let networks = self.members(NETWORKS).into_iter().filter(is_of);
        networks.max_by_key(String::len)
    }
}

fn tables_in<'t>(list: &'t [Part<'static>]) -> impl Iterator<Item = (usize, &'t Table<'static>)> {
    let parts = list.iter().enumerate();
    parts.filter_map(|(number, part)| Some((number, part.table()?)))
}

/// The id of a table in a list. The `number` of the table counts from 1.
fn id_of(table: &Table<'static>, noun: &str, number: usize) -> String {
    match table.get("id").map(|part| &part.content) {
        Some(Content::Text(id)) => id.to_string(),
        Some(other) => other.to_string(),
        None => format!("{noun}-{number}"),
    }
}

/// The tables of a list by the names of their ends. If several have the same ends, a number is appended to the later ones.
fn joined(at: usize, list: &[Part<'static>]) -> Vec<(String, Steps)> {
    let mut found: Vec<(String, Steps)> = Vec::new();
    for (number, table) in tables_in(list) {
        let end = |key| table.text(key).unwrap_or("None").to_owned();
        let pair = format!("{}-{}", end("from"), end("to"));
        let numbered = format!("{pair}-");
        let alike = found
            .iter()
            .filter(|(one, _)| *one == pair || one.starts_with(&numbered))
            .count();
        let is_taken = found.iter().any(|(one, _)| *one == pair);
        let name = if is_taken {
            format!("{pair}-{}", alike + 1)
        } else {
            pair
        };
        found.push((name, vec![at, number]));
    }
    found
}

/// The name of the node above in a value of `upstream`.
fn above(upstream: &Part<'static>) -> String {
    let name = match &upstream.content {
        Content::Text(name) => Some(name.as_ref()),
        Content::Table(table) => table.text("to"),
        _ => None,
    };
    name.unwrap_or("None").to_owned()
}

/// The part of a path that stands for every name in a section.
pub(super) const EVERY: &str = "*";

pub(super) const LINKS: &str = "links";

pub(super) const UPSTREAM: &str = "upstream";

pub(super) const NETWORKS: &str = "networks";

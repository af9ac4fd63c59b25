//! Limits of a scenario's text, so that a wrong file leads to an error message immediately.
//!
//! The number of names and tables and their length must be limited, because names and tables are compared with each other and names appear in
//! messages and results.

use crate::tree::{Content, Part, Table};

/// The maximum number of bytes of a key or name. Our choice: far more than a line of a table can show.
pub(crate) const NAME: usize = 255;

/// The maximum number of bytes of a text. Our choice: the length of the longest path that Linux accepts.
const TEXT: usize = 4096;

/// The key whose text is a list with a line for each request, so that it has no limit of its own.
const REQUESTS: &str = "requests";

/// The maximum number of tables, not counting the nodes that networks generate. Our choice: far more than can be simulated in a day.
pub(crate) const TABLES: usize = 1 << 16;

/// The number of characters of a name or text that a message shows.
const SHOWN: usize = 20;

/// The violation of a limit: the byte at which the name, text or table begins that exceeds the limit, and a message.
pub(crate) type Violation = (usize, String);

/// Checks the length of all names and texts in `table`, and the number of tables. Returns the number of tables.
pub(crate) fn check(table: &Table<'_>) -> Result<usize, Violation> {
    let mut extent = Extent { tables: 0 };
    extent.table(table)?;
    Ok(extent.tables)
}

struct Extent {
    tables: usize,
}

impl Extent {
    fn table(&mut self, table: &Table<'_>) -> Result<(), Violation> {
        for entry in &table.entries {
            length("name", &entry.key, NAME, entry.at)?;
            if entry.key != REQUESTS || !matches!(entry.value.content, Content::Text(_)) {
                self.part(&entry.value)?;
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part<'_>) -> Result<(), Violation> {
        match &part.content {
            Content::Text(text) => length("text", text, TEXT, part.at),
            Content::List(parts) => parts.iter().try_for_each(|one| self.part(one)),
            Content::Table(table) => {
                self.tables += 1;
                if self.tables > TABLES {
                    let message = format!(
                        "more than {TABLES} tables are too many; write fewer nodes and workloads, or a network, which makes nodes of its own"
                    );
                    return Err((part.at, message));
                }
                self.table(table)
            }
            _ => Ok(()),
        }
    }
}

fn length(what: &str, text: &str, most: usize, at: usize) -> Result<(), Violation> {
    if text.len() <= most {
        return Ok(());
    }
    let begin: String = text.chars().take(SHOWN).collect();
    let length = text.len();
    let message = format!(
        "a {what} of {length} bytes ({begin:?} and so on) is too long; write {most} at most"
    );
    Err((at, message))
}

//! Limits of a scenario's text, so that a wrong file ends with a message at once.
//!
//! Names and tables are compared with each other, and names stand in messages and results, so their number and length must be bounded.

use toml::de::{DeTable, DeValue};

use crate::ScenarioError;
use crate::document::Source;

/// The most bytes of a key or name. Our choice: far more than a line of a table shows.
const NAME: usize = 255;

/// The most bytes of a text. Our choice: the longest path that Linux takes.
const TEXT: usize = 4096;

/// The most tables. Our choice: far more than can be simulated in a day, but for what a network generates.
const TABLES: usize = 1 << 16;

/// The part of a name or text that a message shows, in signs.
const SHOWN: usize = 20;

/// Checks the length of all names and texts in `table`, and the number of tables.
pub fn check(source: &Source, table: &DeTable<'_>) -> Result<(), ScenarioError> {
    Extent { source, tables: 0 }.table(table)
}

struct Extent<'s> {
    source: &'s Source,
    tables: usize,
}

impl Extent<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Result<(), ScenarioError> {
        for (key, value) in table {
            self.length("name", key.get_ref(), NAME, key.span().start)?;
            self.value(value.get_ref(), value.span().start)?;
        }
        Ok(())
    }

    fn value(&mut self, value: &DeValue<'_>, at: usize) -> Result<(), ScenarioError> {
        match value {
            DeValue::String(text) => self.length("text", text, TEXT, at),
            DeValue::Array(entries) => entries
                .iter()
                .try_for_each(|entry| self.value(entry.get_ref(), entry.span().start)),
            DeValue::Table(table) => {
                self.tables += 1;
                if self.tables > TABLES {
                    let message = format!(
                        "more than {TABLES} tables by here are too many; write fewer nodes and workloads, or a network, which makes nodes of its own"
                    );
                    return Err(self.source.error(self.source.line(at), message));
                }
                self.table(table)
            }
            _ => Ok(()),
        }
    }

    fn length(&self, what: &str, text: &str, most: usize, at: usize) -> Result<(), ScenarioError> {
        if text.len() <= most {
            return Ok(());
        }
        let begin: String = text.chars().take(SHOWN).collect();
        let length = text.len();
        let message = format!(
            "a {what} of {length} bytes ({begin:?} and so on) is too long; write {most} at most"
        );
        Err(self.source.error(self.source.line(at), message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        let source = Source::new("wide.toml", text, |_| Vec::new());
        source.parse(text).err().map(|error| error.to_string())
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

//! The log of incidents: errors that functions and links detect, and other rare events, in the order of time.

use std::collections::BTreeMap;

use kernel::Time;
use packet::{Incident, Site};

/// The log of a run. Equal errors of one function are one entry, so that a link with bit errors does not fill the log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    /// The index of the entry of each error.
    errors: BTreeMap<(u32, Site, Incident), usize>,
    left_out: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub component: u32,
    /// The function or port of the component.
    pub site: Site,
    /// The error or event.
    pub what: Incident,
    pub first: Time,
    pub last: Time,
    /// The number of times that the error or event has happened.
    pub count: u64,
}

/// The largest number of entries of a log. Our choice: more than anyone reads, in less than 1 MiB of JSON.
const MOST: usize = 1024;

impl Log {
    pub fn add(&mut self, component: u32, (site, what): (Site, Incident), now: Time) {
        let key = (component, site, what);
        if let Some(entry) = self.errors.get(&key) {
            let entry = &mut self.entries[*entry];
            entry.last = now;
            entry.count += 1;
            return;
        }
        if self.entries.len() == MOST {
            self.left_out += 1;
            return;
        }
        if what.is_counted() {
            self.errors.insert(key, self.entries.len());
        }
        self.entries.push(Entry {
            component,
            site,
            what,
            first: now,
            last: now,
            count: 1,
        });
    }

    /// The entries, in the order of their first times.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The number of incidents that have no entry, because the log was full.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::CorrectableError;

    const BAD_TLP: (Site, Incident) = (
        Site::Port(0),
        Incident::Correctable(CorrectableError::BadTlp),
    );

    #[test]
    fn equal_errors_are_one_entry_with_the_first_and_the_last_time() {
        let mut log = Log::default();
        for (component, time) in [(1, 3), (2, 5), (1, 7)] {
            log.add(component, BAD_TLP, Time::from_fs(time));
        }
        let found = log.entries().iter();
        let found: Vec<_> = found
            .map(|one| (one.component, one.first, one.last, one.count))
            .collect();
        let [three, five, seven] = [3, 5, 7].map(Time::from_fs);
        assert_eq!(found, [(1, three, seven, 2), (2, five, five, 1)]);
    }

    #[test]
    fn equal_events_have_an_entry_each_and_a_full_log_counts_the_rest() {
        let mut log = Log::default();
        for time in 0..MOST as u64 + 3 {
            let event = (Site::Node, Incident::Event("hot reset"));
            log.add(0, event, Time::from_fs(time));
        }
        assert_eq!((log.entries().len(), log.left_out()), (MOST, 3));
    }
}

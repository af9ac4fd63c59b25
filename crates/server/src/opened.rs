//! Who has what open.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use session::{Event, Failure};

use crate::cards::INTERRUPTS;

/// What one process has open.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The process.
    pub(crate) client: u64,
    /// What it has open, by the name of the card and whether that is the accelerator in it.
    pub(crate) card: usize,
    pub(crate) is_accelerator: bool,
    is_shared: bool,
    /// Where interrupts are told, by vector.
    pub(crate) listening: BTreeMap<u8, OwnedFd>,
}

/// All that is open, by handle.
#[derive(Debug, Default)]
pub(crate) struct Table {
    all: BTreeMap<u64, Opened>,
    last: u64,
}

impl Table {
    /// Opens a card, or the accelerator in it, for a process: alone, or shared with others that want it so.
    pub(crate) fn open(
        &mut self,
        client: u64,
        (card, is_accelerator): (usize, bool),
        is_shared: bool,
    ) -> Result<u64, Failure> {
        let mut others = self.all.values();
        let is_in_the_way = |other: &Opened| !(is_shared && other.is_shared);
        if others.any(|other| other.is(card, is_accelerator) && is_in_the_way(other)) {
            return Err(Failure::Busy);
        }
        self.last += 1;
        let opened = Opened {
            client,
            card,
            is_accelerator,
            is_shared,
            listening: BTreeMap::new(),
        };
        self.all.insert(self.last, opened);
        Ok(self.last)
    }

    /// What the process has open under that handle.
    pub(crate) fn of(&mut self, client: u64, handle: u64) -> Result<&mut Opened, Failure> {
        let opened = self.all.get_mut(&handle);
        opened
            .filter(|opened| opened.client == client)
            .ok_or(Failure::NotFound)
    }

    /// It is open no more.
    pub(crate) fn close(&mut self, handle: u64) {
        self.all.remove(&handle);
    }

    /// The handles of a process.
    pub(crate) fn handles_of(&self, client: u64) -> Vec<u64> {
        let own = self
            .all
            .iter()
            .filter(|(_, opened)| opened.client == client);
        own.map(|(handle, _)| *handle).collect()
    }

    /// Whether anybody has it open, and whether for itself alone.
    pub(crate) fn state(&self, card: usize, is_accelerator: bool) -> State {
        let mut all = self.all.values().filter(|one| one.is(card, is_accelerator));
        match all.next() {
            None => State::Free,
            Some(one) if one.is_shared => State::Shared,
            Some(_) => State::Taken,
        }
    }

    /// Everything that is open.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Opened> {
        self.all.values()
    }
}

/// Who has something open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody.
    Free,
    /// Some who share it.
    Shared,
    /// One alone.
    Taken,
}

impl Opened {
    /// From now on it is told of an event by `file`.
    pub(crate) fn listen(&mut self, event: Event, file: OwnedFd) -> Result<(), Failure> {
        let vector = self.vector(event)?;
        if self.listening.contains_key(&vector) {
            return Err(Failure::Invalid);
        }
        self.listening.insert(vector, file);
        Ok(())
    }

    /// It is told of it no more.
    pub(crate) fn ignore(&mut self, event: Event) -> Result<(), Failure> {
        let heard = self.listening.remove(&self.vector(event)?);
        heard.map(drop).ok_or(Failure::NotFound)
    }

    /// The interrupt that tells of an event.
    fn vector(&self, event: Event) -> Result<u8, Failure> {
        match event {
            Event::Interrupt(_) if !self.is_accelerator => Err(Failure::NotSupported),
            Event::Interrupt(vector) if vector >= INTERRUPTS => Err(Failure::Invalid),
            Event::Interrupt(vector) => Ok(vector as u8),
            Event::Error if self.is_accelerator => Ok(sim::PORT_ALERT),
            Event::Error => Ok(sim::MANAGEMENT_ALERT),
        }
    }

    fn is(&self, card: usize, is_accelerator: bool) -> bool {
        self.card == card && self.is_accelerator == is_accelerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_has_alone_nobody_else_opens_and_what_is_shared_nobody_has_alone() {
        let mut table = Table::default();
        let alone = table.open(1, (0, true), false).expect("nobody has it");
        assert_eq!(table.open(1, (0, true), false), Err(Failure::Busy));
        assert_eq!(table.open(2, (0, true), true), Err(Failure::Busy));
        table.open(2, (0, false), false).expect("another thing");
        table.open(2, (1, true), false).expect("another card");
        table.close(alone);
        assert_eq!(table.state(0, true), State::Free);
        table.open(1, (0, true), true).expect("it is free");
        table.open(2, (0, true), true).expect("both share it");
        assert_eq!(table.open(3, (0, true), false), Err(Failure::Busy));
        assert_eq!(table.state(0, true), State::Shared);
    }

    #[test]
    fn a_handle_is_its_process_s_alone() {
        let mut table = Table::default();
        let handle = table.open(1, (0, true), false).expect("nobody has it");
        assert!(table.of(1, handle).is_ok());
        assert_eq!(table.of(2, handle).err(), Some(Failure::NotFound));
        table.close(handle);
        assert_eq!(table.of(1, handle).err(), Some(Failure::NotFound));
    }
}

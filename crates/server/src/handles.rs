//! The open handles of all processes.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use session::{Event, Failure};

/// An open handle of a process.
#[derive(Debug)]
pub(crate) struct OpenHandle {
    /// The number of the process.
    pub(crate) client: u64,
    /// The card, and whether its accelerator is open instead of the device.
    pub(crate) card: usize,
    pub(crate) is_accelerator: bool,
    is_shared: bool,
    /// The `eventfd` for each vector that the process has subscribed to.
    pub(crate) listening: BTreeMap<u8, OwnedFd>,
}

/// All open handles.
#[derive(Debug, Default)]
pub(crate) struct OpenHandles {
    all: BTreeMap<u64, OpenHandle>,
    last: u64,
}

impl OpenHandles {
    /// Opens a card, or its accelerator, for a process: exclusively, or shared with others that open it shared.
    pub(crate) fn open(
        &mut self,
        client: u64,
        (card, is_accelerator): (usize, bool),
        is_shared: bool,
    ) -> Result<u64, Failure> {
        let mut others = self.all.values();
        let is_in_the_way = |other: &OpenHandle| !(is_shared && other.is_shared);
        if others.any(|other| other.is(card, is_accelerator) && is_in_the_way(other)) {
            return Err(Failure::Busy);
        }
        if self.all.len() >= MOST_HANDLES {
            return Err(Failure::NoMemory);
        }
        self.last += 1;
        let opened = OpenHandle {
            client,
            card,
            is_accelerator,
            is_shared,
            listening: BTreeMap::new(),
        };
        self.all.insert(self.last, opened);
        Ok(self.last)
    }

    /// The open handle `handle` of a process.
    pub(crate) fn of(&mut self, client: u64, handle: u64) -> Result<&mut OpenHandle, Failure> {
        let opened = self.all.get_mut(&handle);
        opened
            .filter(|opened| opened.client == client)
            .ok_or(Failure::NotFound)
    }

    /// Closes a handle.
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

    /// Whether a card, or its accelerator, is open, and how.
    pub(crate) fn state(&self, card: usize, is_accelerator: bool) -> State {
        let mut all = self.all.values().filter(|one| one.is(card, is_accelerator));
        match all.next() {
            None => State::Free,
            Some(one) if one.is_shared => State::Shared,
            Some(_) => State::Taken,
        }
    }

    /// All open handles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenHandle> {
        self.all.values()
    }
}

/// Most open handles of all processes.
const MOST_HANDLES: usize = 65_536;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No process has it open.
    Free,
    /// Some processes share it.
    Shared,
    /// One process has it open exclusively.
    Taken,
}

impl OpenHandle {
    /// Subscribes to an event; `file` signals it.
    pub(crate) fn listen(&mut self, event: Event, file: OwnedFd) -> Result<(), Failure> {
        let vector = self.vector(event)?;
        if self.listening.contains_key(&vector) {
            return Err(Failure::Invalid);
        }
        self.listening.insert(vector, file);
        Ok(())
    }

    /// Ends the subscription to an event.
    pub(crate) fn ignore(&mut self, event: Event) -> Result<(), Failure> {
        let heard = self.listening.remove(&self.vector(event)?);
        heard.map(drop).ok_or(Failure::NotFound)
    }

    /// The interrupt vector of an event.
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

/// Number of interrupts of a card's port that processes can use.
pub(crate) const INTERRUPTS: u32 = sim::INTERRUPTS as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_has_alone_nobody_else_opens_and_what_is_shared_nobody_has_alone() {
        let mut table = OpenHandles::default();
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
        let mut table = OpenHandles::default();
        let handle = table.open(1, (0, true), false).expect("nobody has it");
        assert!(table.of(1, handle).is_ok());
        assert_eq!(table.of(2, handle).err(), Some(Failure::NotFound));
        table.close(handle);
        assert_eq!(table.of(1, handle).err(), Some(Failure::NotFound));
    }
}

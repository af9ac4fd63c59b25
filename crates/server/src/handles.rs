//! The open handles of all processes.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use session::{Event, Failure};

/// An open handle of a process.
#[derive(Debug)]
pub(crate) struct OpenHandle {
    /// The number of the process.
    pub(crate) client: u64,
    pub(crate) object: Named,
    is_shared: bool,
    /// The `eventfd` for each vector that the process has subscribed to.
    pub(crate) listening: BTreeMap<u8, OwnedFd>,
}

/// An object of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) card: usize,
    /// The slot of the accelerator. `None` if the object is the device.
    pub(crate) slot: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct OpenHandles {
    all: BTreeMap<u64, OpenHandle>,
    last: u64,
}

impl OpenHandles {
    /// Opens a card, or an accelerator in it, for a process: exclusively, or shared with other processes that also open it shared.
    pub(crate) fn open(
        &mut self,
        client: u64,
        object: Named,
        is_shared: bool,
    ) -> Result<u64, Failure> {
        let mut others = self.all.values();
        let is_in_the_way = |other: &OpenHandle| !(is_shared && other.is_shared);
        if others.any(|other| other.object == object && is_in_the_way(other)) {
            return Err(Failure::Busy);
        }
        if self.all.len() >= MOST_HANDLES {
            return Err(Failure::NoMemory);
        }
        self.last += 1;
        let opened = OpenHandle {
            client,
            object,
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

    /// Closes a handle; returns its object.
    pub(crate) fn close(&mut self, handle: u64) -> Option<Named> {
        self.all.remove(&handle).map(|opened| opened.object)
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    /// The handles of a process.
    pub(crate) fn handles_of(&self, client: u64) -> Vec<u64> {
        let own = self
            .all
            .iter()
            .filter(|(_, opened)| opened.client == client);
        own.map(|(handle, _)| *handle).collect()
    }

    /// Whether an object is open, and how.
    pub(crate) fn state(&self, object: Named) -> State {
        let mut all = self.all.values().filter(|one| one.object == object);
        match all.next() {
            None => State::Free,
            Some(one) if one.is_shared => State::Shared,
            Some(_) => State::Taken,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenHandle> {
        self.all.values()
    }
}

/// Largest number of open handles of all processes.
const MOST_HANDLES: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No process has the object open.
    Free,
    /// One or more processes have the object open and share it.
    Shared,
    /// One process has the object open exclusively.
    Taken,
}

impl OpenHandle {
    /// Subscribes to an event of a card with `slots` slots; `file` signals it.
    pub(crate) fn listen(
        &mut self,
        event: Event,
        slots: usize,
        file: OwnedFd,
    ) -> Result<(), Failure> {
        let vector = self.vector(event, slots)?;
        if self.listening.contains_key(&vector) {
            return Err(Failure::Invalid);
        }
        self.listening.insert(vector, file);
        Ok(())
    }

    /// Ends the subscription to an event of a card with `slots` slots.
    pub(crate) fn ignore(&mut self, event: Event, slots: usize) -> Result<(), Failure> {
        let removed = self.listening.remove(&self.vector(event, slots)?);
        removed.map(drop).ok_or(Failure::NotFound)
    }

    fn vector(&self, event: Event, slots: usize) -> Result<u8, Failure> {
        let slot = self.object.slot.map(|slot| slot as u8);
        match (event, slot) {
            (Event::Interrupt(_), None) => Err(Failure::NotSupported),
            (Event::Interrupt(vector), Some(_)) if vector >= INTERRUPTS => Err(Failure::Invalid),
            (Event::Interrupt(vector), Some(slot)) => Ok(sim::first_vector(slot) + vector as u8),
            (Event::Error, Some(slot)) => Ok(sim::port_alert(slot)),
            (Event::Error, None) => Ok(sim::management_alert(slots as u8)),
        }
    }
}

/// Number of interrupts of a card's port that processes can use.
pub(crate) const INTERRUPTS: u32 = sim::INTERRUPTS as u32;

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Named = Named {
        card: 0,
        slot: None,
    };

    /// An accelerator in slot `slot` of card 0.
    fn accelerator(slot: usize) -> Named {
        Named {
            card: 0,
            slot: Some(slot),
        }
    }

    #[test]
    fn what_one_has_alone_nobody_else_opens_and_what_is_shared_nobody_has_alone() {
        let mut table = OpenHandles::default();
        let alone = table.open(1, accelerator(0), false).expect("nobody has it");
        assert_eq!(table.open(1, accelerator(0), false), Err(Failure::Busy));
        assert_eq!(table.open(2, accelerator(0), true), Err(Failure::Busy));
        table.open(2, DEVICE, false).expect("another thing");
        table.open(2, accelerator(1), false).expect("another slot");
        let other = Named { card: 1, ..DEVICE };
        table.open(2, other, false).expect("another card");
        table.close(alone);
        assert_eq!(table.state(accelerator(0)), State::Free);
        table.open(1, accelerator(0), true).expect("it is free");
        table.open(2, accelerator(0), true).expect("both share it");
        assert_eq!(table.open(3, accelerator(0), false), Err(Failure::Busy));
        assert_eq!(table.state(accelerator(0)), State::Shared);
    }

    #[test]
    fn a_handle_is_its_process_s_alone() {
        let mut table = OpenHandles::default();
        let handle = table.open(1, accelerator(0), false).expect("nobody has it");
        assert!(table.of(1, handle).is_ok());
        assert_eq!(table.of(2, handle).err(), Some(Failure::NotFound));
        table.close(handle);
        assert_eq!(table.of(1, handle).err(), Some(Failure::NotFound));
    }
}

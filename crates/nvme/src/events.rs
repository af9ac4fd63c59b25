//! Asynchronous events, and the asynchronous event requests of software (NVM Express 1.4, section 5.2).

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Software has written to the doorbell of a queue that does not exist.
    InvalidDoorbellRegister,
    /// Software has written an invalid value to a doorbell.
    InvalidDoorbellValue,
    /// The temperature has reached a threshold.
    TemperatureThreshold,
}

/// The kind of an event. Software acknowledges events of a kind by reading a log page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Error status; log page 1.
    Error = 0,
    /// SMART or health status; log page 2.
    Health = 1,
}

impl Event {
    pub fn kind(self) -> EventKind {
        match self {
            Event::InvalidDoorbellRegister | Event::InvalidDoorbellValue => EventKind::Error,
            Event::TemperatureThreshold => EventKind::Health,
        }
    }

    /// Dword 0 of the completion: kind, information, and log page.
    pub fn result(self) -> u32 {
        let information = match self {
            Event::InvalidDoorbellRegister => 0,
            Event::InvalidDoorbellValue | Event::TemperatureThreshold => 1,
        };
        let kind = self.kind() as u32;
        kind | information << 8 | (kind + 1) << 16
    }
}

/// The events of which software was not notified, and the asynchronous event requests that wait for events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    requests: VecDeque<u16>,
    pending: VecDeque<Event>,
    /// For each kind of event, whether software was notified of one and has not read its log page since.
    is_masked: [bool; 2],
}

impl Events {
    /// Stores a request by its command identifier. Returns false if too many requests wait.
    pub fn request(&mut self, id: u16) -> bool {
        let fits = self.requests.len() < MOST_REQUESTS;
        if fits {
            self.requests.push_back(id);
        }
        fits
    }

    /// Whether a request with this command identifier waits.
    pub fn has(&self, id: u16) -> bool {
        self.requests.contains(&id)
    }

    /// Removes the request with this command identifier. Returns false if there is none.
    pub fn abort(&mut self, id: u16) -> bool {
        let before = self.requests.len();
        self.requests.retain(|one| *one != id);
        self.requests.len() < before
    }

    /// Records an event, if the same event is not recorded already.
    pub fn raise(&mut self, event: Event) {
        if !self.pending.contains(&event) {
            self.pending.push_back(event);
        }
    }

    /// Allows notifications of a kind of event again, because software has read its log page.
    pub fn acknowledge(&mut self, kind: EventKind) {
        self.is_masked[kind as usize] = false;
    }

    /// Removes the next request that can be completed with an event. Returns its command identifier and the result.
    pub fn next(&mut self) -> Option<(u16, u32)> {
        if self.requests.is_empty() {
            return None;
        }
        let is_masked = self.is_masked;
        let mut pending = self.pending.iter();
        let place = pending.position(|event| !is_masked[event.kind() as usize])?;
        let id = self.requests.pop_front()?;
        let event = self.pending.remove(place)?;
        self.is_masked[event.kind() as usize] = true;
        Some((id, event.result()))
    }
}

/// The largest number of requests that can wait.
pub const MOST_REQUESTS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_told_once_until_its_log_page_is_read() {
        let mut events = Events::default();
        events.raise(Event::InvalidDoorbellValue);
        assert_eq!(events.next(), None);
        assert!((1..=4).all(|id| events.request(id)) && !events.request(5));
        assert_eq!(events.next(), Some((1, 0x01_0100)));
        events.raise(Event::InvalidDoorbellRegister);
        assert_eq!(events.next(), None);
        events.raise(Event::TemperatureThreshold);
        assert_eq!(events.next(), Some((2, 0x02_0101)));
        events.acknowledge(EventKind::Error);
        assert_eq!(events.next(), Some((3, 0x01_0000)));
        assert!(events.abort(4) && !events.abort(4));
    }
}

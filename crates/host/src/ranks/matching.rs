//! Matching: receives that wait for messages, and messages that wait for receives, both in order.

use std::collections::VecDeque;

use device::nic::descriptor::Item;

/// The origin of a message. Messages of a program never match receives of the layer's collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Program = 0,
    Collective = 1,
}

/// The properties of a message that a receive is matched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) context: Context,
    pub(super) from: usize,
    pub(super) tag: u32,
    pub(super) len: u32,
}

/// A receive that waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posted {
    pub(super) number: u32,
    pub(super) context: Context,
    /// The sender, or `None` for any sender.
    pub(super) from: Option<usize>,
    pub(super) tag: Option<u32>,
    pub(super) target: Item,
}

/// A message that waits for a receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unexpected {
    pub(super) envelope: Envelope,
    pub(super) content: Content,
}

/// The content of a message, as far as it has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The whole message.
    Bytes(Vec<u8>),
    /// The address of the message at its sender, and its number there.
    Announced { source: u64, number: u32 },
}

/// Both queues. No entry of one queue matches an entry of the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
}

impl Posted {
    fn wants(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.from.is_none_or(|from| from == envelope.from)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}

impl Matching {
    /// Takes the oldest message that matches `posted`. Queues `posted` if there is none.
    pub(super) fn post(&mut self, posted: Posted) -> Option<Unexpected> {
        let mut all = self.unexpected.iter();
        let place = all.position(|message| posted.wants(&message.envelope));
        if place.is_none() {
            self.posted.push_back(posted);
        }
        self.unexpected.remove(place?)
    }

    /// Takes the oldest receive that matches a message.
    pub(super) fn arrive(&mut self, envelope: &Envelope) -> Option<Posted> {
        let mut all = self.posted.iter();
        let place = all.position(|posted| posted.wants(envelope));
        self.posted.remove(place?)
    }

    /// Queues a message without a matching receive.
    pub(super) fn keep(&mut self, message: Unexpected) {
        self.unexpected.push_back(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(number: u32, from: Option<usize>, tag: Option<u32>) -> Posted {
        Posted {
            number,
            context: Context::Program,
            from,
            tag,
            target: Item { address: 0, len: 0 },
        }
    }

    fn envelope(from: usize, tag: u32) -> Envelope {
        Envelope {
            context: Context::Program,
            from,
            tag,
            len: 0,
        }
    }

    fn message(from: usize, tag: u32, byte: u8) -> Unexpected {
        Unexpected {
            envelope: envelope(from, tag),
            content: Content::Bytes(vec![byte]),
        }
    }

    #[test]
    fn a_message_goes_to_the_oldest_receive_that_wants_it() {
        let mut matching = Matching::default();
        for (number, from, tag) in [(1, Some(2), None), (2, None, Some(7)), (3, None, None)] {
            assert_eq!(matching.post(posted(number, from, tag)), None);
        }
        let number = |one: Option<Posted>| one.map(|posted| posted.number);
        assert_eq!(number(matching.arrive(&envelope(0, 7))), Some(2));
        assert_eq!(number(matching.arrive(&envelope(2, 7))), Some(1));
        assert_eq!(number(matching.arrive(&envelope(2, 7))), Some(3));
        assert_eq!(number(matching.arrive(&envelope(2, 7))), None);
    }

    #[test]
    fn a_receive_gets_the_oldest_message_that_it_wants() {
        let mut matching = Matching::default();
        let messages = [message(0, 5, 1), message(1, 5, 2), message(0, 6, 3)];
        for message in &messages {
            matching.keep(message.clone());
        }
        assert_eq!(matching.post(posted(0, Some(2), None)), None);
        let mut get = |from, tag| matching.post(posted(1, from, tag));
        assert_eq!(get(None, Some(6)), Some(messages[2].clone()));
        assert_eq!(get(None, None), Some(messages[0].clone()));
        assert_eq!(get(Some(1), Some(5)), Some(messages[1].clone()));
    }

    #[test]
    fn messages_of_the_layer_match_no_receive_of_a_program() {
        let mut matching = Matching::default();
        matching.post(posted(1, None, None));
        let own = Envelope {
            context: Context::Collective,
            ..envelope(0, 0)
        };
        assert_eq!(matching.arrive(&own), None);
    }
}

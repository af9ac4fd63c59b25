//! Counters of queues and credit: their last values, and those that an event has changed.

use std::mem;

use link::LinkEnd;
use protocol::Class;

use crate::names::DirectionId;

use super::tracks::{self, Track};

#[derive(Debug, Default)]
pub(super) struct Counters {
    /// The last value of each counter, by the place of its track, for one direction after the other.
    values: Vec<u64>,
    /// Whether each direction has counters of credit, because its link has come up.
    have_credit: Vec<bool>,
    /// The counters that have changed: the number of the track, and the value.
    changed: Vec<(u64, u64)>,
    /// Counters that have their first value, whose tracks are not described yet.
    new: Vec<(DirectionId, Track)>,
}

/// The value of a counter that has none yet.
const UNKNOWN: u64 = u64::MAX;

impl Counters {
    /// The counters of so many directions, without values.
    pub(super) fn new(directions: usize) -> Self {
        Counters {
            values: vec![UNKNOWN; directions * tracks::EACH],
            have_credit: vec![false; directions],
            ..Counters::default()
        }
    }

    /// Counts the queues of a link end, and all its credit when the link has come up.
    pub(super) fn count_queues(&mut self, direction: DirectionId, link: &LinkEnd) {
        self.count((direction, Track::Waiting), link.waiting() as u64);
        self.count((direction, Track::ReplayBuffer), link.replay_buffer_bytes());
        // Before, there is no credit, and it is not known which is infinite.
        if !self.have_credit[direction.0] && link.is_up() {
            self.have_credit[direction.0] = true;
            for class in Class::ALL {
                self.count_credit((direction, class), link);
            }
        }
    }

    /// Counts the credit of one class, if the link has come up.
    pub(super) fn count_credit(
        &mut self,
        (direction, class): (DirectionId, Class),
        link: &LinkEnd,
    ) {
        if !self.have_credit[direction.0] {
            return;
        }
        for (channel, left) in (0..).zip(link.credit_left(class)) {
            let track = |is_data| Track::Credit {
                channel,
                class,
                is_data,
            };
            if let Some(headers) = left.headers {
                self.count((direction, track(false)), headers.into());
            }
            if let Some(data) = left.data {
                self.count((direction, track(true)), data.into());
            }
        }
    }

    /// The counters that have changed since [`forget_changes`](Self::forget_changes): the numbers of their tracks, and the values.
    pub(super) fn changed(&self) -> &[(u64, u64)] {
        &self.changed
    }

    /// Takes the changes as written.
    pub(super) fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Returns the counters that have their first values since the last call.
    pub(super) fn take_new(&mut self) -> Vec<(DirectionId, Track)> {
        mem::take(&mut self.new)
    }

    fn count(&mut self, (direction, track): (DirectionId, Track), value: u64) {
        let last = &mut self.values[direction.0 * tracks::EACH + track.place()];
        if *last != value {
            let is_first = mem::replace(last, value) == UNKNOWN;
            if is_first {
                self.new.push((direction, track));
            }
            self.changed.push((track.uuid(direction), value));
        }
    }
}

//! Counters of queues and credit: their last values, and the counters that an event has changed.

use std::mem;

use link::LinkEnd;
use protocol::Class;

use crate::names::DirectionId;

use super::tracks::{self, Track};

#[derive(Debug, Default)]
pub(super) struct Counters {
    /// The last value of each counter. The counters of one direction are after each other, by the place of their tracks.
    values: Vec<u64>,
    /// For each direction: whether it has counters of credit. This is the case after the link has come up.
    have_credit: Vec<bool>,
    /// The counters that have changed: the number of the track, and the value.
    changed: Vec<(u64, u64)>,
    /// Counters that have just got their first value. Their tracks are not described yet.
    new: Vec<(DirectionId, Track)>,
}

/// The entry of a counter that has no value yet.
const UNKNOWN: u64 = u64::MAX;

impl Counters {
    /// Creates the counters of this number of directions, without values.
    pub(super) fn new(directions: usize) -> Self {
        Counters {
            values: vec![UNKNOWN; directions * tracks::EACH],
            have_credit: vec![false; directions],
            ..Counters::default()
        }
    }

    /// Updates the counters of the queues of a link end and, when the link has just come up, the counters of all its credit.
    pub(super) fn count_queues(&mut self, direction: DirectionId, link: &LinkEnd) {
        self.count((direction, Track::Waiting), link.waiting() as u64);
        self.count((direction, Track::ReplayBuffer), link.replay_buffer_bytes());
        // Before the link is up, there is no credit, and it is not known which credit is infinite.
        if !self.have_credit[direction.0] && link.is_up() {
            self.have_credit[direction.0] = true;
            for class in Class::ALL {
                self.count_credit((direction, class), link);
            }
        }
    }

    /// Updates the counters of the credit of one class, if the link has come up.
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

    /// Empties the list of changed counters, after they have been written.
    pub(super) fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Returns the counters that got their first values since the last call.
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

//! The timers of a link end. Deadlines change often, but a wake-up that is scheduled in the kernel cannot be cancelled.

use kernel::Time;

/// A timer of a link end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTimer {
    /// The wire becomes free for the next packet.
    Wire,
    /// An Ack must be sent.
    Acknowledge,
    /// The replay timer: an Ack or Nak from the far end is overdue.
    Replay,
    /// Freed credit must be checked, or an UpdateFC must be sent.
    UpdateCredit,
    /// A credit limit must be sent again on an idle link.
    RefreshCredit,
    /// The initial limits of channels that software has enabled must be sent again.
    InitializeChannels,
    /// The component reads the errors that the link has corrected, or is notified that the link has failed.
    Errors,
    /// Training continues, or the component is notified of a change of the link.
    Training,
    /// Bit errors between frames may be found.
    Framing,
    /// The end may request L1, or a DLLP of the L1 handshake is due.
    Power,
}

impl LinkTimer {
    /// The number of timers.
    pub const COUNT: u32 = 10;
    /// The number of timers that packets set. These timers have the lowest numbers.
    pub(crate) const OF_PACKETS: usize = 4;

    /// The timer with this number.
    #[inline]
    pub fn from_number(number: u32) -> Self {
        // The arms are in the order of the timers, so that the compiler generates no table.
        match number {
            0 => LinkTimer::Wire,
            1 => LinkTimer::Acknowledge,
            2 => LinkTimer::Replay,
            3 => LinkTimer::UpdateCredit,
            4 => LinkTimer::RefreshCredit,
            5 => LinkTimer::InitializeChannels,
            6 => LinkTimer::Errors,
            7 => LinkTimer::Training,
            8 => LinkTimer::Framing,
            9 => LinkTimer::Power,
            _ => panic!("a link has {} timers", Self::COUNT),
        }
    }
}

/// A timer of a link end. A deadline that moves later needs no new wake-up at once: when the pending wake-up occurs, it schedules the next
/// one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    deadline: Time,
    /// The next wake-up in the kernel, and the wake-up after it, which can be used for a later deadline.
    pending: Time,
    later: Time,
}

impl Alarm {
    pub(crate) const IDLE: Alarm = Alarm {
        deadline: Time::NEVER,
        pending: Time::NEVER,
        later: Time::NEVER,
    };

    pub(crate) fn is_set(&self) -> bool {
        self.deadline != Time::NEVER
    }

    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Moves the deadline. Returns the time at which a wake-up is needed, or `None` if an earlier wake-up is pending.
    #[must_use]
    pub(crate) fn set(&mut self, deadline: Time) -> Option<Time> {
        self.deadline = deadline;
        (self.pending > deadline).then(|| self.pend())
    }

    pub(crate) fn clear(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Handles a wake-up. If the deadline has been reached, clears it and returns `Due`.
    pub(crate) fn ring(&mut self, now: Time) -> Ring {
        if now >= self.pending {
            (self.pending, self.later) = (self.later, Time::NEVER);
        }
        if self.deadline <= now {
            self.deadline = Time::NEVER;
            return Ring::Due;
        }
        if self.deadline < self.pending {
            return Ring::Again(self.pend());
        }
        Ring::Stale
    }

    /// Schedules the next wake-up at the deadline. Returns the deadline.
    fn pend(&mut self) -> Time {
        (self.pending, self.later) = (self.deadline, self.pending);
        self.deadline
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    Due,
    /// Another wake-up is needed at this time.
    Again(Time),
    Stale,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_moved_later_is_kept_by_the_pending_wake_up() {
        let mut alarm = Alarm::IDLE;
        assert_eq!(alarm.set(Time::from_fs(10)), Some(Time::from_fs(10)));
        assert_eq!(alarm.set(Time::from_fs(30)), None);
        assert_eq!(
            alarm.ring(Time::from_fs(10)),
            Ring::Again(Time::from_fs(30))
        );
        assert_eq!(alarm.ring(Time::from_fs(30)), Ring::Due);
        assert!(!alarm.is_set());
    }

    #[test]
    fn a_wake_up_after_an_earlier_deadline_serves_the_next_one() {
        let mut alarm = Alarm::IDLE;
        assert!(alarm.set(Time::from_fs(30)).is_some());
        assert!(alarm.set(Time::from_fs(10)).is_some());
        assert_eq!(alarm.ring(Time::from_fs(10)), Ring::Due);
        assert_eq!(alarm.set(Time::from_fs(40)), None);
        assert_eq!(
            alarm.ring(Time::from_fs(30)),
            Ring::Again(Time::from_fs(40))
        );
        assert_eq!(alarm.ring(Time::from_fs(40)), Ring::Due);
    }

    #[test]
    fn a_timer_is_found_by_its_number() {
        for number in 0..LinkTimer::COUNT {
            assert_eq!(LinkTimer::from_number(number) as u32, number);
        }
    }

    #[test]
    fn a_wake_up_after_the_alarm_was_cleared_is_stale() {
        let mut alarm = Alarm::IDLE;
        assert!(alarm.set(Time::from_fs(10)).is_some());
        alarm.clear();
        assert_eq!(alarm.ring(Time::from_fs(10)), Ring::Stale);
    }
}

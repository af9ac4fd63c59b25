//! The timers of a link end. Deadlines move often, but a scheduled wake-up of the kernel cannot be cancelled.

use kernel::Time;

/// A timer of a link end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTimer {
    /// The wire becomes free for the next packet.
    Wire,
    /// An Ack must be sent.
    Acknowledge,
    /// An Ack from the far end is overdue.
    Replay,
    /// An UpdateFC must be checked or sent.
    UpdateCredit,
    /// A limit must be sent again.
    RefreshCredit,
    /// The initial limits of channels that software has enabled must be sent again.
    InitializeChannels,
    /// The component takes the errors that the link has corrected, or learns that it has failed.
    Errors,
    /// Training goes on, or the component is notified of a change of the link.
    Training,
    /// Damage between frames may be found.
    Framing,
    /// The link may enter L1, or a DLLP of the handshake for it is due.
    Power,
}

impl LinkTimer {
    /// The number of timers.
    pub const COUNT: u32 = 10;
    /// The number of timers that packets set, which are the first ones.
    pub(crate) const OF_PACKETS: usize = 4;

    /// The timer with the given number.
    #[inline]
    pub fn from_number(number: u32) -> Self {
        // Numbers in the order of the timers: the compiler makes no table of it.
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

/// One timer of a link end. Moving the deadline later costs nothing: the pending wake-up only sets another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    deadline: Time,
    /// The next wake-up of the kernel, and one after it, which serves later deadlines.
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

    /// Handles a wake-up. Returns `Due` and clears the deadline if it has been reached.
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

    /// Makes the deadline the next wake-up, and returns it.
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

//! A process that has connected.

use std::os::fd::OwnedFd;
use std::time::Duration;

use session::{Call, Channel, ChannelError};

/// A process that has connected.
#[derive(Debug)]
pub(crate) struct Client {
    /// A unique number, which is not reused.
    pub(crate) number: u64,
    pub(crate) channel: Channel,
    /// Whether its [hello](session::Request::Hello) was accepted.
    pub(crate) is_welcome: bool,
    /// Whether its next call is awaited without a sleep.
    pub(crate) pace: Pace,
}

/// Whether the next call of a process is awaited where it is received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// No wait.
    None,
    /// A wait as long as [`BRIEF`].
    Brief,
}

/// Real time for which the server waits for the next call of the only process alone, without a look at others: about the shortest
/// that the system measures for sockets.
pub(crate) const BRIEF: Duration = Duration::from_millis(2);

/// The choice whether the next call of a process is awaited without a sleep, which pays if calls follow each other closely. On a loaded
/// machine it does not: the process may need the processor on which the server waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The number of calls that are still awaited with a sleep.
    asleep: u32,
    /// The value of `asleep` after the last call that came too late.
    last: u32,
}

/// Most calls that are awaited with a sleep before one is awaited without.
const MOST_ASLEEP: u32 = 256;

impl Pace {
    /// Whether to await the next call without a sleep.
    pub(crate) fn begins(&mut self) -> bool {
        let is_awake = self.asleep == 0;
        self.asleep = self.asleep.saturating_sub(1);
        is_awake
    }

    /// Records whether calls have come that were awaited without a sleep.
    pub(crate) fn record(&mut self, have_come: bool) {
        self.last = if have_come {
            0
        } else {
            (2 * self.last).clamp(1, MOST_ASLEEP)
        };
        self.asleep = self.last;
    }
}

impl Client {
    /// The next call, with its file; with `patience`, it is awaited for the time that the channel has set.
    pub(crate) fn receive(
        &self,
        patience: Patience,
    ) -> Result<(Call, Option<OwnedFd>), ChannelError> {
        match patience {
            Patience::None => self.channel.receive_at_once(),
            Patience::Brief => self.channel.receive(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that are awaited without a sleep among the next `count`, which come too late then.
    fn awake(pace: &mut Pace, count: u32) -> u32 {
        let tried = (0..count).filter(|_| {
            let begins = pace.begins();
            if begins {
                pace.record(false);
            }
            begins
        });
        tried.count() as u32
    }

    #[test]
    fn calls_that_come_too_late_are_awaited_asleep_until_one_is_in_time() {
        let mut pace = Pace::default();
        assert_eq!(awake(&mut pace, 1000), 11);
        while !pace.begins() {}
        pace.record(true);
        assert!(pace.begins());
        assert_eq!(awake(&mut pace, 4), 2);
    }
}

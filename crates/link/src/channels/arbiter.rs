//! The arbitration among the virtual channels of a port (PCIe Base 6.3.3.2).

use protocol::ChannelsControl;

use super::Phases;

/// The arbitration among virtual channels. Channels above the low-priority group have strict priority, the highest VC ID first. Then the
/// low-priority group is served by round robin or by a table of phases. After the table, each channel without a phase has one turn.
#[derive(Clone, Debug)]
pub(crate) struct Arbiter {
    /// The number of channels of the low-priority group, from VC0 on.
    low: usize,
    /// The channel of the low-priority group whose turn is next.
    turn: usize,
    phases: Option<Box<Phases>>,
}

impl Arbiter {
    /// Round robin among the first `channels` channels.
    pub(crate) fn round_robin(channels: usize) -> Self {
        Arbiter {
            low: channels,
            turn: 0,
            phases: None,
        }
    }

    /// Applies control registers.
    pub(crate) fn configure(&mut self, control: &ChannelsControl) {
        let low = usize::from(control.low_priority) + 1;
        if low != self.low {
            (self.low, self.turn) = (low, 0);
        }
        Phases::select(&mut self.phases, &control.arbitration);
    }

    /// The first channel in the order of arbitration for which `can_send` holds. `channels` is the number of channels.
    pub(crate) fn first(
        &self,
        channels: usize,
        mut can_send: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let low = self.low.min(channels);
        if let Some(high) = (low..channels).rev().find(|channel| can_send(*channel)) {
            return Some(high);
        }
        let Some(phases) = &self.phases else {
            return (self.turn..low)
                .chain(0..self.turn.min(low))
                .find(|channel| can_send(*channel));
        };
        let mut in_turn = phases.in_turn((1 << low) - 1);
        in_turn.find(|channel| can_send(*channel))
    }

    /// Records that `channel` had the wire.
    pub(crate) fn grant(&mut self, channel: usize) {
        if channel >= self.low {
            return;
        }
        self.turn = (channel + 1) % self.low;
        if let Some(phases) = &mut self.phases {
            phases.grant(channel as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Arbitration;

    fn arbiter(low_priority: u8, arbitration: Arbitration) -> Arbiter {
        let mut arbiter = Arbiter::round_robin(1);
        arbiter.configure(&ChannelsControl {
            channels: Default::default(),
            low_priority,
            arbitration,
        });
        arbiter
    }

    fn turns(arbiter: &mut Arbiter, ready: &[usize], count: usize) -> Vec<usize> {
        let mut turn = || {
            let channel = arbiter.first(8, |channel| ready.contains(&channel));
            let channel = channel.expect("a channel has a packet");
            arbiter.grant(channel);
            channel
        };
        (0..count).map(|_| turn()).collect()
    }

    #[test]
    fn a_higher_channel_goes_first_as_long_as_it_has_packets() {
        let mut strict = arbiter(0, Arbitration::Fixed);
        assert_eq!(turns(&mut strict, &[0, 1, 3], 4), [3; 4]);
        assert_eq!(turns(&mut strict, &[0, 1], 2), [1; 2]);
        assert_eq!(turns(&mut strict, &[0], 2), [0; 2]);
    }

    #[test]
    fn the_low_priority_group_takes_turns_below_the_others() {
        let mut group = arbiter(2, Arbitration::Fixed);
        assert_eq!(turns(&mut group, &[0, 1, 2], 4), [0, 1, 2, 0]);
        assert_eq!(turns(&mut group, &[0, 2, 5], 2), [5; 2]);
        assert_eq!(turns(&mut group, &[0, 2], 3), [2, 0, 2]);
    }

    #[test]
    fn phases_share_the_wire_within_the_group() {
        let mut group = arbiter(1, Arbitration::Phases(vec![0, 0, 0, 1]));
        assert_eq!(turns(&mut group, &[0, 1], 8), [0, 0, 0, 1, 0, 0, 0, 1]);
        assert_eq!(turns(&mut group, &[1, 4], 2), [4; 2]);
        assert_eq!(turns(&mut group, &[1], 2), [1; 2]);
    }

    /// This is our choice, as for ports: a channel that is missing in the table of software does not wait for ever.
    #[test]
    fn a_channel_without_phases_has_one_turn_in_each_round() {
        let mut group = arbiter(1, Arbitration::Phases(vec![0, 0, 0]));
        assert_eq!(turns(&mut group, &[0, 1], 8), [0, 0, 0, 1, 0, 0, 0, 1]);
    }
}

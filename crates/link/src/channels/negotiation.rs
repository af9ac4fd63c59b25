//! The initialisation of the flow control of channels besides VC0 (PCIe Base 3.4.1). It begins when software has enabled the channel and the
//! link is up. The other channels carry traffic meanwhile.

use protocol::{Class, Credit, Dllp, MOST_CHANNELS, PerClass};

use super::{channel_and_class, number_of};

/// The state of the initialisation of each channel, by VC ID.
#[derive(Clone, Debug, Default)]
pub(crate) struct Negotiation {
    states: [State; MOST_CHANNELS],
    /// The `InitFC` DLLPs to send, as bits by their [number](number_of).
    to_send: u32,
    /// The initial limits that the far end has sent, by channel and class.
    limits: [PerClass<Option<Credit>>; MOST_CHANNELS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Disabled,
    /// `FC_INIT1`, with a bit for each class whose limits have been received.
    First(u8),
    /// `FC_INIT2`.
    Second,
    Done,
}

const ALL_CLASSES: u8 = 0b111;

impl Negotiation {
    /// Begins the initialisation of the disabled channels that are in `enabled`, and disables the channels that are not. Returns whether
    /// there is anything to send.
    pub(crate) fn enable(&mut self, enabled: u8) -> bool {
        for (channel, state) in self.states.iter_mut().enumerate().skip(1) {
            match (enabled >> channel & 1 != 0, *state) {
                (true, State::Disabled) => {
                    *state = State::First(0);
                    self.to_send |= round_of(channel);
                }
                (true, _) => {}
                (false, _) => {
                    *state = State::Disabled;
                    self.to_send &= !round_of(channel);
                }
            }
        }
        self.to_send != 0
    }

    /// The number of DLLPs to send.
    pub(crate) fn left(&self) -> u32 {
        self.to_send.count_ones()
    }

    /// The channels whose initialisation is not complete, as bits by VC ID.
    pub(crate) fn pending(&self) -> u8 {
        let waits = |state: &State| matches!(state, State::First(_) | State::Second);
        let channels = (0..).zip(&self.states);
        channels.fold(0, |pending, (channel, state)| {
            pending | u8::from(waits(state)) << channel
        })
    }

    /// Starts one more round of DLLPs for every channel whose initialisation is not complete. Returns whether there is one.
    pub(crate) fn begin_round(&mut self) -> bool {
        let pending = self.pending();
        for channel in (0..MOST_CHANNELS).filter(|channel| pending >> channel & 1 != 0) {
            self.to_send |= round_of(channel);
        }
        pending != 0
    }

    /// Returns the next DLLP to send, with the limits from `grant`.
    pub(crate) fn next(&mut self, grant: impl FnOnce(usize, Class) -> Credit) -> Option<Dllp> {
        if self.to_send == 0 {
            return None;
        }
        let index = self.to_send.trailing_zeros() as usize;
        self.to_send &= self.to_send - 1;
        let (channel, class) = channel_and_class(index);
        let credit = grant(channel, class);
        Some(match self.states[channel] {
            State::First(_) => Dllp::InitFc1(credit),
            _ => Dllp::InitFc2(credit),
        })
    }

    /// Handles an `InitFC1` DLLP, or an `InitFC2` DLLP if `second`. Returns whether it completes the initialisation of its channel.
    pub(crate) fn receive(&mut self, credit: &Credit, second: bool) -> bool {
        let channel = usize::from(credit.channel);
        match &mut self.states[channel] {
            State::First(received) => {
                *received |= 1 << credit.class.index();
                let is_last = *received == ALL_CLASSES;
                self.limits[channel][credit.class] = Some(*credit);
                if !is_last {
                    return false;
                }
                self.to_send |= round_of(channel);
                // A far end that sends InitFC2 has received all limits of this end.
                self.states[channel] = if second { State::Done } else { State::Second };
            }
            State::Second if second => self.states[channel] = State::Done,
            State::Second | State::Done | State::Disabled => return false,
        }
        self.is_done(credit.channel)
    }

    /// The initial limits of `channel` that have arrived from the far end.
    pub(crate) fn limits_of(&self, channel: u8) -> impl Iterator<Item = &Credit> {
        self.limits[usize::from(channel)].iter().flatten()
    }

    /// Whether the far end may send packets by `channel`, because it may have received all limits of this end.
    pub(crate) fn receives(&self, channel: u8) -> bool {
        matches!(
            self.states[usize::from(channel)],
            State::Second | State::Done
        )
    }

    /// Whether the initialisation of `channel` is complete.
    pub(crate) fn is_done(&self, channel: u8) -> bool {
        self.states[usize::from(channel)] == State::Done
    }

    /// Handles an `UpdateFC` of `channel`, which shows that the far end has received all limits. Returns whether it completes the
    /// initialisation.
    pub(crate) fn receive_update(&mut self, channel: u8) -> bool {
        let state = &mut self.states[usize::from(channel)];
        let completes = *state == State::Second;
        if completes {
            *state = State::Done;
        }
        completes
    }
}

/// The DLLPs of one round of `channel`.
fn round_of(channel: usize) -> u32 {
    u32::from(ALL_CLASSES) << number_of(channel, Class::ALL[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Scale;

    fn credit(channel: u8, class: Class) -> Credit {
        Credit {
            channel,
            class,
            headers: 1,
            data: 1,
            header_scale: Scale::Unscaled,
            data_scale: Scale::Unscaled,
        }
    }

    /// Sends all that `from` has to send to `to`.
    fn pass(from: &mut Negotiation, to: &mut Negotiation) {
        while let Some(dllp) = from.next(|channel, class| credit(channel as u8, class)) {
            match dllp {
                Dllp::InitFc1(credit) => to.receive(&credit, false),
                Dllp::InitFc2(credit) => to.receive(&credit, true),
                _ => panic!("only InitFC"),
            };
        }
    }

    #[test]
    fn a_channel_is_up_when_both_ends_have_enabled_it() {
        let (mut one, mut other) = (Negotiation::default(), Negotiation::default());
        assert!(one.enable(0b110));
        pass(&mut one, &mut other);
        assert_eq!((one.pending(), other.pending()), (0b110, 0));
        assert!(other.enable(0b10));
        one.begin_round();
        for _ in 0..3 {
            pass(&mut one, &mut other);
            pass(&mut other, &mut one);
        }
        // VC2 is enabled at one end only, and stays pending there.
        assert_eq!((one.pending(), other.pending()), (0b100, 0));
        assert!(one.begin_round() && !other.begin_round());
        assert_eq!(one.left(), 3);
        one.enable(0);
        assert_eq!((one.pending(), one.left()), (0, 0));
    }
}

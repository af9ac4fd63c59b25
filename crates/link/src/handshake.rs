//! Flow-control initialisation: both ends announce their buffer sizes before any TLP is sent (PCIe Base 3.4).

use protocol::{Class, Credit, Dllp};

/// The state of flow-control initialisation at one end.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    phase: Phase,
    channels: usize,
    /// The number of InitFC DLLPs left to send in this round.
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// `FC_INIT1`, with a bit for each class whose limits have been received.
    First(u32),
    /// The state `FC_INIT2`.
    Second,
    Done,
}

/// The effect of an InitFC DLLP from the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitFcEffect {
    /// It has the initial limits of a class.
    Limit,
    /// It has the initial limits of the last missing class.
    LastLimit,
    /// The far end has received all limits of this end.
    Done,
    Nothing,
}

impl Handshake {
    pub(crate) fn new(channels: usize) -> Self {
        Handshake {
            phase: Phase::First(0),
            channels,
            left: 0,
        }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    #[inline]
    pub(crate) fn has_init_fc(&self) -> bool {
        self.left > 0
    }

    /// Starts a round that sends the limits of every class of every channel.
    pub(crate) fn begin_round(&mut self) {
        self.left = self.classes();
    }

    fn classes(&self) -> usize {
        Class::ALL.len() * self.channels
    }

    /// Returns the next InitFC DLLP to send, with the limits from `grant`.
    #[inline]
    pub(crate) fn next(&mut self, grant: impl FnOnce(usize, Class) -> Credit) -> Option<Dllp> {
        let left = self.left.checked_sub(1)?;
        let index = self.classes() - self.left;
        self.left = left;
        let credit = grant(
            index / Class::ALL.len(),
            Class::ALL[index % Class::ALL.len()],
        );
        Some(match self.phase {
            Phase::First(_) => Dllp::InitFc1(credit),
            Phase::Second | Phase::Done => Dllp::InitFc2(credit),
        })
    }

    /// Handles an `InitFC1` DLLP, or an `InitFC2` DLLP if `second`.
    pub(crate) fn receive(&mut self, credit: &Credit, second: bool) -> InitFcEffect {
        let classes = self.classes();
        match &mut self.phase {
            Phase::First(received) => {
                *received |=
                    1 << (usize::from(credit.channel) * Class::ALL.len() + credit.class.index());
                if received.count_ones() as usize == classes {
                    self.phase = Phase::Second;
                    InitFcEffect::LastLimit
                } else {
                    InitFcEffect::Limit
                }
            }
            Phase::Second if second => {
                self.phase = Phase::Done;
                InitFcEffect::Done
            }
            Phase::Second | Phase::Done => InitFcEffect::Nothing,
        }
    }

    /// Handles a TLP or an UpdateFC. Either shows that the far end has received all limits. Returns true if this completes
    /// initialisation.
    #[inline]
    pub(crate) fn receive_traffic(&mut self) -> bool {
        let ends = self.phase == Phase::Second;
        if ends {
            self.phase = Phase::Done;
        }
        ends
    }
}

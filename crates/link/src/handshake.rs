//! Flow-control initialisation: both ends say how much room they have before any packet goes (PCIe Base 3.4).

use protocol::{Class, Credit, Dllp};

/// How far one end has come.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    phase: Phase,
    channels: usize,
    /// InitFC packets of this round yet to send.
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// `FC_INIT1`, and the classes heard of, as bits.
    First(u32),
    /// `FC_INIT2`.
    Second,
    Done,
}

/// What an InitFC packet of the far end meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The first limit of a class.
    Limit,
    /// The same, and no class is left.
    LastLimit,
    /// The far end knows all our limits.
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
    pub(crate) fn has_greeting(&self) -> bool {
        self.left > 0
    }

    /// Every class of every channel is to be said once more.
    pub(crate) fn begin_round(&mut self) {
        self.left = self.classes();
    }

    fn classes(&self) -> usize {
        Class::ALL.len() * self.channels
    }

    /// The next packet to send, with the limits that `grant` says.
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

    /// An `InitFC1`, or a `second`, arrives.
    pub(crate) fn hear(&mut self, credit: &Credit, second: bool) -> Heard {
        let classes = self.classes();
        match &mut self.phase {
            Phase::First(heard) => {
                *heard |=
                    1 << (usize::from(credit.channel) * Class::ALL.len() + credit.class.index());
                if heard.count_ones() as usize == classes {
                    self.phase = Phase::Second;
                    Heard::LastLimit
                } else {
                    Heard::Limit
                }
            }
            Phase::Second if second => {
                self.phase = Phase::Done;
                Heard::Done
            }
            Phase::Second | Phase::Done => Heard::Nothing,
        }
    }

    /// A packet or an UpdateFC arrives: the far end is done, so it knows all our limits. True when this ends the handshake.
    #[inline]
    pub(crate) fn hear_traffic(&mut self) -> bool {
        let ends = self.phase == Phase::Second;
        if ends {
            self.phase = Phase::Done;
        }
        ends
    }
}

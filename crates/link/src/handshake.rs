//! Flow-control initialisation: both ends exchange their features (PCIe Base 3.2.1, `DL_Feature`), then announce their buffer sizes before
//! any TLP is sent (3.4).

use protocol::{Class, Credit, Dllp};

use crate::channels::{Negotiation, channel_and_class, number_of};

/// The state of flow-control initialisation at one end. Each packet needs only the first two fields.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Handshake {
    phase: Phase,
    /// The number of DLLPs left to send in this round, including the DLLPs of `others`.
    left: u32,
    channels: u8,
    /// Whether the far end's features have arrived. If they have, this end's Feature DLLPs acknowledge them.
    has_far_features: bool,
    /// The channels that software has enabled, besides the channels that are initialised with the link. Boxed, because few links have them.
    others: Option<Box<Negotiation>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// `DL_Feature`, the exchange of features.
    Feature,
    /// `FC_INIT1`, with a bit for the [number](number_of) of each class whose limits have been received.
    First(u32),
    /// The state `FC_INIT2`.
    Second,
    Done,
}

/// The effect of an InitFC DLLP from the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitFcEffect {
    /// The DLLP contains the initial limits of a class.
    Limit,
    /// The DLLP contains the initial limits of the last missing class.
    LastLimit,
    /// The far end has received all limits of this end.
    Done,
    Nothing,
}

/// The effect of a Feature DLLP, or of an InitFC DLLP that ends the exchange of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureEffect {
    /// The exchange has ended. `is_scaled` means that both ends support scaled flow control.
    Exchanged {
        is_scaled: bool,
    },
    /// The far end has not acknowledged this end's features yet.
    Acknowledge,
    Nothing,
}

impl Handshake {
    /// The initial state of an end. If `has_features`, it begins with the exchange of features.
    pub(crate) fn new(channels: usize, has_features: bool) -> Self {
        Handshake {
            phase: if has_features {
                Phase::Feature
            } else {
                Phase::First(0)
            },
            channels: channels as u8,
            left: 0,
            others: None,
            has_far_features: false,
        }
    }

    /// The state of a link that is initialised again. Channels that software had enabled must be enabled again.
    pub(crate) fn anew(&self, has_features: bool) -> Self {
        Handshake::new(self.channels.into(), has_features)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(crate) fn has_dllp(&self) -> bool {
        self.left > 0
    }

    /// Starts a round that sends the features, or the limits of every class of every channel.
    pub(crate) fn begin_round(&mut self) {
        self.left = self.left_of_others()
            + match self.phase {
                Phase::Feature => 1,
                Phase::First(_) | Phase::Second | Phase::Done => self.classes(),
            };
    }

    /// Whether the link's own initialisation includes the virtual channel `channel`.
    pub(crate) fn covers(&self, channel: u8) -> bool {
        channel < self.channels
    }

    fn left_of_others(&self) -> u32 {
        self.others.as_ref().map_or(0, |others| others.left())
    }

    /// Begins the initialisation of the channels of `enabled`, as bits by VC ID, that are disabled, and disables the others. Returns
    /// whether there is a DLLP to send.
    pub(crate) fn enable(&mut self, enabled: u8) -> bool {
        if self.others.is_none() && enabled >> 1 == 0 {
            return false;
        }
        self.change_others(|others| others.enable(enabled))
    }

    /// Changes the state of the channels that software enables, and updates the number of DLLPs to send.
    fn change_others<T>(&mut self, change: impl FnOnce(&mut Negotiation) -> T) -> T {
        let before = self.left_of_others();
        let changed = change(self.others.get_or_insert_default());
        self.left = self.left + self.left_of_others() - before;
        changed
    }

    /// The channels that software has enabled and whose initialisation is not complete, as bits by VC ID.
    pub(crate) fn pending(&self) -> u8 {
        self.others.as_ref().map_or(0, |others| others.pending())
    }

    /// Starts one more round of DLLPs for the channels that software enables and that wait for the far end. Returns whether there is one.
    pub(crate) fn begin_round_of_others(&mut self) -> bool {
        self.others.is_some() && self.change_others(Negotiation::begin_round)
    }

    /// Handles an `InitFC1` DLLP of a channel that software enables, or an `InitFC2` DLLP if `second`. Returns whether this completes the
    /// initialisation of the channel.
    pub(crate) fn receive_of_others(&mut self, credit: &Credit, second: bool) -> bool {
        self.others.is_some() && self.change_others(|others| others.receive(credit, second))
    }

    /// Whether the far end may send packets by `channel`, which software enables.
    pub(crate) fn receives(&self, channel: u8) -> bool {
        let mut others = self.others.iter();
        others.any(|others| others.receives(channel))
    }

    /// Whether the initialisation of `channel`, which software enables, is complete.
    pub(crate) fn is_channel_done(&self, channel: u8) -> bool {
        let mut others = self.others.iter();
        others.any(|others| others.is_done(channel))
    }

    /// Handles an `UpdateFC` of a channel that software enables. Returns whether this completes the initialisation of the channel.
    pub(crate) fn receive_update(&mut self, channel: u8) -> bool {
        let others = self.others.as_mut();
        others.is_some_and(|others| others.receive_update(channel))
    }

    /// The initial limits that the far end has sent for a channel that software enables.
    pub(crate) fn limits_of(&self, channel: u8) -> impl Iterator<Item = &Credit> {
        let others = self.others.iter();
        others.flat_map(move |others| others.limits_of(channel))
    }

    fn classes(&self) -> u32 {
        Class::ALL.len() as u32 * u32::from(self.channels)
    }

    /// Returns the next DLLP to send, with the limits from `grant`.
    pub(crate) fn next(&mut self, grant: impl FnOnce(usize, Class) -> Credit) -> Option<Dllp> {
        let left = self.left.checked_sub(1)?;
        let own = self.left - self.left_of_others();
        self.left = left;
        if own == 0 {
            return self.others.as_mut()?.next(grant);
        }
        let index = (self.classes() - own.min(self.classes())) as usize;
        if self.phase == Phase::Feature {
            return Some(Dllp::Feature {
                acknowledges: self.has_far_features,
                scaled_flow_control: true,
            });
        }
        let (channel, class) = channel_and_class(index);
        let credit = grant(channel, class);
        Some(match self.phase {
            Phase::First(_) | Phase::Feature => Dllp::InitFc1(credit),
            Phase::Second | Phase::Done => Dllp::InitFc2(credit),
        })
    }

    /// Handles a Feature DLLP. An end without features ignores it.
    pub(crate) fn receive_feature(&mut self, acknowledges: bool, is_scaled: bool) -> FeatureEffect {
        if self.phase != Phase::Feature {
            return FeatureEffect::Nothing;
        }
        self.has_far_features = true;
        if acknowledges {
            self.phase = Phase::First(0);
            return FeatureEffect::Exchanged { is_scaled };
        }
        FeatureEffect::Acknowledge
    }

    /// Handles an InitFC DLLP of a far end that has ended the exchange of features, or never began one.
    pub(crate) fn end_features(&mut self) -> FeatureEffect {
        if self.phase != Phase::Feature {
            return FeatureEffect::Nothing;
        }
        self.phase = Phase::First(0);
        // A far end with features sends InitFC only after it has received an acknowledgement of its features.
        FeatureEffect::Exchanged {
            is_scaled: self.has_far_features,
        }
    }

    /// Handles an `InitFC1` DLLP, or an `InitFC2` DLLP if `second`.
    pub(crate) fn receive(&mut self, credit: &Credit, second: bool) -> InitFcEffect {
        let classes = self.classes();
        match &mut self.phase {
            Phase::First(received) => {
                *received |= 1 << number_of(credit.channel.into(), credit.class);
                if received.count_ones() == classes {
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
            Phase::Second | Phase::Done | Phase::Feature => InitFcEffect::Nothing,
        }
    }

    /// Handles a TLP or an UpdateFC. Both show that the far end has received all limits. Returns whether this completes the initialisation.
    pub(crate) fn receive_traffic(&mut self) -> bool {
        let ends = self.phase == Phase::Second;
        if ends {
            self.phase = Phase::Done;
        }
        ends
    }
}

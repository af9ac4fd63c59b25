//! The Link Training and Status State Machine in the states that are visible to users (PCIe Base 4.2.6), without the link end itself.
//!
//! The state machine stores what this end sends and what has arrived from the far end, and returns the next step. A link trains when both
//! ends send TS1 and then TS2. An end does not continue before it has received the ordered sets of the other end.

use kernel::{Span, Time};
use packet::{OrderedSet, OrderedSetKind};
use protocol::Generation;

/// A state of a link at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Detect, at an end that does not take part in training: it sends nothing, and everything that arrives is lost.
    Down,
    /// Detect, Polling and Configuration: the link trains from the beginning.
    Training,
    /// The link carries packets.
    L0,
    /// The link is electrically idle, and up.
    L1,
    /// The link is up and trains again. Packets wait.
    Recovery,
    /// One end of the link holds the other end in reset.
    HotReset,
    /// One end of the link has disabled the link.
    Disabled,
}

/// The highest rate and width that an end offers in training, or the rate and width that both ends have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The highest data rate.
    pub generation: Generation,
    /// The number of lanes.
    pub lanes: u8,
}

impl Offer {
    /// The highest rate and width that both ends support.
    fn common(self, other: Self) -> Self {
        Offer {
            generation: self.generation.min(other.generation),
            lanes: self.lanes.min(other.lanes),
        }
    }
}

/// A command to one end of a link, from its component or from outside the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCommand {
    /// Go down, and stay down until commanded to train: this end is removed or loses its power.
    TakeDown,
    /// Go down, and hold the far end in hot reset until commanded to train (PCIe Base 4.2.6.11).
    HotReset,
    /// Go down, and disable the link until commanded to train (PCIe Base 4.2.6.9).
    Disable,
    /// Train from Detect on. It has no effect at an end that trains or is up.
    Train,
    /// Go from L0 or L1 to Recovery. It has no effect at an end that is not up.
    Retrain,
    /// Use at most these lanes and this rate from now on, because other lanes or rates do not work, and go from L0 to Recovery.
    Limit(Offer),
    /// Use all lanes and rates of the port again, and go from L0 to Recovery.
    Restore,
}

/// A change of a link that its component may have to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The link has gone down: `DL_Down`. The packets on the wire and in the replay buffer are lost.
    Down(DownCause),
    /// The link is up again, and its flow control is initialised: `DL_Up`.
    Up,
    /// The link has entered L1, or has begun to leave it.
    Power,
    /// The link has gone through Recovery.
    Retrained {
        /// Whether the rate or the width has changed, or software has requested the retraining: Link Bandwidth Management Status.
        is_notified: bool,
    },
}

/// The reason why a link has gone down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownCause {
    /// This end was commanded to go down.
    Command,
    /// The signal of the far end has disappeared, or the far end trains from the beginning: Surprise Down at a downstream port.
    LossOfSignal,
    /// The far end sends TS1 with Hot Reset, which resets the component.
    HotReset,
    /// The far end sends TS1 with Disable Link, which also resets the component.
    Disable,
}

/// The state of a link, as the Link Status register shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The data rate when the link was last in L0.
    pub generation: Generation,
    /// The width when the link was last in L0.
    pub lanes: u8,
    /// The Link Training bit: the link is in Configuration or Recovery.
    pub is_training: bool,
    /// The Data Link Layer Link Active bit.
    pub is_active: bool,
}

/// The state machine of one end.
#[derive(Clone, Debug)]
pub(crate) struct Ltssm {
    state: LinkState,
    /// The time at which the link fails, or [`Time::NEVER`].
    pub(crate) fails_at: Time,
    /// Whether the data link layer is active: `DL_Active`.
    is_active: bool,
    /// Whether the far end holds the link in hot reset, or has disabled it. If not, this end has.
    is_held: bool,
    /// The exchange of TS1 and TS2 in training and Recovery.
    exchange: Exchange,
    /// The ordered sets that are arriving from the far end. None while a data stream or nothing arrives.
    far: Option<OrderedSet>,
    times: TrainingTimes,
    /// The rate and width of the port.
    full: Offer,
    /// The highest rate and width that work.
    limit: Offer,
    /// The highest rate that software permits: Target Link Speed.
    target: Generation,
    /// The rate and width when the link was last in L0.
    pub(crate) agreed: Offer,
    /// Whether the end goes to Recovery again when it reaches L0, because its offer has changed too late for the exchange that is under way.
    retrains_again: bool,
}

/// The durations of training. Each begins when an end both sends and receives TS1, and ends when the end has sent its TS2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrainingTimes {
    /// The duration from Detect to Configuration.
    pub(crate) training: Span,
    /// The duration of Recovery without a change of rate or width. None stands for the least time at the rate of the link.
    pub(crate) recovery: Option<Span>,
    pub(crate) speed_change: Span,
    /// The duration of the exit from L1 to L0 through Recovery. It is at least the duration of Recovery.
    pub(crate) l1_exit: Span,
}

impl TrainingTimes {
    /// The time in Recovery of a link that changes from one rate and width to another. At a new rate the ends acquire bit, symbol and block
    /// lock again. A new width is negotiated in Configuration (PCIe Base 4.2.6.4).
    fn recovery(&self, from: Offer, to: Offer) -> Span {
        let at = |generation: Generation, sets: u64| {
            Span::from_fs(generation.lane_byte_fs_x64() * 16 * sets / 64)
        };
        let once = |generation| {
            let least = at(generation, RECOVERY_SETS);
            self.recovery.unwrap_or(least)
        };
        let mut time = once(from.generation);
        if to.generation != from.generation {
            time += self.speed_change + once(to.generation);
        }
        if to.lanes != from.lanes {
            time += at(to.generation, CONFIGURATION_SETS);
        }
        time
    }
}

/// The minimum number of ordered sets of Recovery (PCIe Base 4.2.6.4): 8 TS1 in Recovery.RcvrLock, 16 TS2 in Recovery.RcvrCfg, and in
/// Recovery.Idle as many idle symbols as an ordered set has.
const RECOVERY_SETS: u64 = 8 + 16 + 1;

/// The minimum number of ordered sets of Configuration (PCIe Base 4.2.6.3): 8 TS1, 16 TS2, and idle symbols.
const CONFIGURATION_SETS: u64 = 8 + 16 + 1;

/// The exchange of TS1 and TS2 with the far end.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// The time at which this end may send its TS2, or [`Time::NEVER`] before the far end's TS1 has arrived.
    ready_at: Time,
    /// The offer in the TS2 that this end has sent.
    sent_ts2: Option<Offer>,
    /// Whether the exchange began with an exit from L1.
    is_from_l1: bool,
}

impl Exchange {
    const BEGUN: Self = Exchange {
        ready_at: Time::NEVER,
        sent_ts2: None,
        is_from_l1: false,
    };
}

/// The result of an input to the state machine: the link end makes the transition, then sends the ordered set, then sets its timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub(crate) transition: Option<Transition>,
    pub(crate) send: Option<OrderedSet>,
    pub(crate) wake_at: Option<Time>,
}

/// A transition that the link end must make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    /// A transition from L0 or Recovery to a state without a link.
    Down(DownCause),
    /// A transition from L0 or L1 to Recovery.
    Recovery,
    /// A transition from L0 to L1.
    Rest,
    /// A transition from training to L0, with this rate and width.
    Up(Offer),
    /// A transition from Recovery to L0, with this rate and width.
    Recovered(Offer),
}

impl Ltssm {
    /// A state machine in L0, which is the state at the beginning of a run.
    pub(crate) fn new(full: Offer, times: TrainingTimes, fails_at: Time) -> Self {
        Ltssm {
            state: LinkState::L0,
            fails_at,
            is_active: true,
            is_held: false,
            exchange: Exchange::BEGUN,
            far: None,
            times,
            full,
            limit: full,
            target: full.generation,
            agreed: full,
            retrains_again: false,
        }
    }

    /// The time from which on the link is not in L0: the time of its failure, or zero if it has already left L0 or begun to enter L1.
    pub(crate) fn outside_l0_from(&self, is_leaving: bool) -> Time {
        let is_in_l0 = self.state == LinkState::L0 && !is_leaving;
        if is_in_l0 { self.fails_at } else { Time::ZERO }
    }

    /// The time from which on the link is down: the time of its failure, or zero from `DL_Down` until `DL_Up`.
    pub(crate) fn down_from(&self) -> Time {
        if self.is_active {
            self.fails_at
        } else {
            Time::ZERO
        }
    }

    /// Records that flow control is initialised (`DL_Up`). Returns whether the link was down before.
    pub(crate) fn activate(&mut self) -> bool {
        !std::mem::replace(&mut self.is_active, true)
    }

    /// Whether the link trains at `now`: Configuration or Recovery. An end that has not received TS1 is in Detect or Polling.
    pub(crate) fn is_training(&self, now: Time) -> bool {
        match self.state_at(now) {
            LinkState::Recovery => true,
            LinkState::Training => self.far.is_some(),
            _ => false,
        }
    }

    /// Sets the highest rate that the end offers from its next training on. If the number is not a generation below the port's rate, every
    /// rate is permitted.
    pub(crate) fn set_target(&mut self, number: u8) {
        let below = number < self.full.generation.number();
        let target = Generation::from_number(number).filter(|_| below);
        self.target = target.unwrap_or(self.full.generation);
    }

    fn offer(&self) -> Offer {
        Offer {
            generation: self.limit.generation.min(self.target),
            ..self.limit
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        self.state
    }

    /// The state at `now`: a link that has failed is down.
    pub(crate) fn state_at(&self, now: Time) -> LinkState {
        if now < self.fails_at {
            self.state
        } else {
            LinkState::Down
        }
    }

    pub(crate) fn command(&mut self, command: LinkCommand) -> Step {
        match command {
            LinkCommand::TakeDown => self.leave(LinkState::Down, OrderedSetKind::ElectricalIdle),
            LinkCommand::HotReset => self.leave(LinkState::HotReset, OrderedSetKind::HotReset),
            LinkCommand::Disable => self.leave(LinkState::Disabled, OrderedSetKind::DisableLink),
            LinkCommand::Train => match self.state {
                LinkState::Down | LinkState::HotReset | LinkState::Disabled => self.train(),
                _ => Step::default(),
            },
            LinkCommand::Retrain => self.retrain(),
            LinkCommand::Limit(limit) => {
                self.limit = self.limit.common(limit);
                self.retrain()
            }
            LinkCommand::Restore => {
                self.limit = self.full;
                self.retrain()
            }
        }
    }

    /// Goes from L0 to L1, because both ends of the link have agreed to enter L1.
    pub(crate) fn rest(&mut self) -> Step {
        self.state = LinkState::L1;
        Step {
            transition: Some(Transition::Rest),
            send: Some(self.set(OrderedSetKind::ElectricalIdleOrderedSet)),
            wake_at: None,
        }
    }

    /// Goes to Recovery at once from L0 or L1. If this end has already sent its TS2 in the current exchange, another exchange follows.
    fn retrain(&mut self) -> Step {
        match self.state {
            LinkState::L0 | LinkState::L1 => self.recover(),
            LinkState::Training | LinkState::Recovery => {
                self.retrains_again |= self.exchange.sent_ts2.is_some();
                Step::default()
            }
            _ => Step::default(),
        }
    }

    /// Returns whether the end must go to Recovery again, and resets the flag.
    pub(crate) fn take_retraining(&mut self) -> bool {
        std::mem::take(&mut self.retrains_again)
    }

    /// Goes to a state without a link, and notifies the far end by ordered sets of `kind`.
    fn leave(&mut self, state: LinkState, kind: OrderedSetKind) -> Step {
        let transition = self.end_link(DownCause::Command);
        (self.state, self.is_held) = (state, false);
        self.retrains_again = false;
        // The far end answers any of these ordered sets by ordered sets of its own.
        self.far = None;
        Step {
            transition,
            send: Some(self.set(kind)),
            wake_at: None,
        }
    }

    /// Whether the physical layer has a link (`LinkUp` = 1): L0, L1 and Recovery.
    fn is_link_up(&self) -> bool {
        matches!(
            self.state,
            LinkState::L0 | LinkState::L1 | LinkState::Recovery
        )
    }

    /// Ends the link, if there is one, because of `cause`.
    fn end_link(&mut self, cause: DownCause) -> Option<Transition> {
        let is_up = self.is_link_up();
        self.is_active &= !is_up;
        is_up.then_some(Transition::Down(cause))
    }

    fn train(&mut self) -> Step {
        (self.state, self.exchange) = (LinkState::Training, Exchange::BEGUN);
        self.retrains_again = false;
        Step {
            send: Some(self.set(OrderedSetKind::Ts1)),
            ..Step::default()
        }
    }

    fn recover(&mut self) -> Step {
        self.exchange = Exchange {
            is_from_l1: self.state == LinkState::L1,
            ..Exchange::BEGUN
        };
        self.state = LinkState::Recovery;
        Step {
            transition: Some(Transition::Recovery),
            send: Some(self.set(OrderedSetKind::Ts1)),
            wake_at: None,
        }
    }

    fn set(&self, kind: OrderedSetKind) -> OrderedSet {
        let Offer { generation, lanes } = self.offer();
        OrderedSet {
            kind,
            is_numbered: matches!(self.state, LinkState::L1 | LinkState::Recovery),
            generation,
            lanes,
        }
    }

    /// Handles ordered sets that have arrived from the far end.
    pub(crate) fn receive(&mut self, set: OrderedSet) -> Step {
        match set.kind {
            OrderedSetKind::ElectricalIdle => {
                self.far = None;
                match self.state {
                    LinkState::Training => self.train(),
                    _ => self.look_again(),
                }
            }
            OrderedSetKind::Fts => Step::default(),
            OrderedSetKind::ElectricalIdleOrderedSet => match self.state {
                LinkState::L0 => self.rest(),
                _ => Step::default(),
            },
            OrderedSetKind::HotReset => self.yield_to(LinkState::HotReset, DownCause::HotReset),
            OrderedSetKind::DisableLink => self.yield_to(LinkState::Disabled, DownCause::Disable),
            OrderedSetKind::Ts1 | OrderedSetKind::Ts2 if set.is_numbered => {
                if self.is_link_up() {
                    self.far = Some(set);
                }
                match self.state {
                    LinkState::L0 | LinkState::L1 => self.recover(),
                    _ => Step::default(),
                }
            }
            OrderedSetKind::Ts1 | OrderedSetKind::Ts2 => {
                self.far = Some(set);
                self.look_again()
            }
        }
    }

    /// Trains from the beginning, because the far end has left a link that is up, or no longer holds the link.
    fn look_again(&mut self) -> Step {
        match self.state {
            LinkState::L0 | LinkState::L1 | LinkState::Recovery => Step {
                transition: self.end_link(DownCause::LossOfSignal),
                ..self.train()
            },
            LinkState::HotReset | LinkState::Disabled if self.is_held => self.train(),
            _ => Step::default(),
        }
    }

    /// Goes to a state in which the far end holds the link. An end that itself holds the link does not change its state.
    fn yield_to(&mut self, state: LinkState, cause: DownCause) -> Step {
        match self.state {
            LinkState::Down => return Step::default(),
            LinkState::HotReset | LinkState::Disabled if !self.is_held => return Step::default(),
            _ => {}
        }
        let transition = self.end_link(cause);
        (self.state, self.is_held) = (state, true);
        self.far = None;
        Step {
            transition,
            ..Step::default()
        }
    }

    /// Continues training as far as possible. An end can leave training only when its receive buffers `are_empty`, because it then announces
    /// the whole buffers.
    pub(crate) fn advance(&mut self, now: Time, are_empty: bool) -> Step {
        let is_recovery = match self.state {
            LinkState::Training => false,
            LinkState::Recovery => true,
            _ => return Step::default(),
        };
        let Some(far) = self.far else {
            return Step::default();
        };
        let offered = Offer {
            generation: far.generation,
            lanes: far.lanes,
        };
        let time = if is_recovery {
            let next = self.offer().common(offered);
            let least = if self.exchange.is_from_l1 {
                self.times.l1_exit
            } else {
                Span::ZERO
            };
            self.times.recovery(self.agreed, next).max(least)
        } else {
            self.times.training
        };
        let ready_at = self.exchange.ready_at.min(now + time);
        self.exchange.ready_at = ready_at;
        if now < ready_at {
            return Step {
                wake_at: Some(ready_at),
                ..Step::default()
            };
        }
        let Some(sent) = self.exchange.sent_ts2 else {
            if !is_recovery && !are_empty {
                return Step::default();
            }
            self.exchange.sent_ts2 = Some(self.offer());
            return Step {
                send: Some(self.set(OrderedSetKind::Ts2)),
                // The next step follows at the same time.
                wake_at: Some(now),
                ..Step::default()
            };
        };
        if far.kind != OrderedSetKind::Ts2 {
            return Step::default();
        }
        (self.state, self.far) = (LinkState::L0, None);
        self.agreed = sent.common(offered);
        Step {
            transition: Some(if is_recovery {
                Transition::Recovered(self.agreed)
            } else {
                Transition::Up(self.agreed)
            }),
            ..Step::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Offer = Offer {
        generation: Generation::Gen3,
        lanes: 4,
    };

    fn end() -> Ltssm {
        let times = TrainingTimes {
            training: Span::from_us(1),
            recovery: None,
            speed_change: Span::from_us(1),
            l1_exit: Span::from_us(1),
        };
        Ltssm::new(FULL, times, Time::NEVER)
    }

    fn set(kind: OrderedSetKind) -> OrderedSet {
        let Offer { generation, lanes } = FULL;
        OrderedSet {
            kind,
            is_numbered: false,
            generation,
            lanes,
        }
    }

    #[test]
    fn an_end_that_has_disabled_its_link_is_not_held_by_the_far_end() {
        let mut end = end();
        end.command(LinkCommand::Disable);
        let step = end.receive(set(OrderedSetKind::HotReset));
        assert_eq!((end.state(), step.transition), (LinkState::Disabled, None));
        end.receive(set(OrderedSetKind::ElectricalIdle));
        assert_eq!(end.state(), LinkState::Disabled);
    }

    #[test]
    fn an_end_that_the_far_end_holds_goes_where_that_one_wants_and_trains_once_it_may() {
        let mut end = end();
        let step = end.receive(set(OrderedSetKind::HotReset));
        let down = Transition::Down(DownCause::HotReset);
        assert_eq!(
            (end.state(), step.transition),
            (LinkState::HotReset, Some(down))
        );
        let step = end.receive(set(OrderedSetKind::DisableLink));
        assert_eq!((end.state(), step.transition), (LinkState::Disabled, None));
        let step = end.receive(set(OrderedSetKind::Ts1));
        assert_eq!(end.state(), LinkState::Training);
        assert_eq!(step.send, Some(set(OrderedSetKind::Ts1)));
    }
}

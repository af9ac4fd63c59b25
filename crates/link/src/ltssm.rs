//! The Link Training and Status State Machine in the states that users meet (PCIe Base 4.2.6), without the link that it is of.
//!
//! It knows what this end sends and what has arrived from the far end, and says what follows. A link trains when both ends send
//! TS1 and then TS2: neither goes on before it has received what the other sends.

use kernel::{Span, Time};
use packet::{OrderedSet, OrderedSetKind};
use protocol::Generation;

/// A state of a link, as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Detect, at an end that does not take part: it sends nothing, and what arrives is lost.
    Down,
    /// Detect, Polling and Configuration: the link trains from the beginning.
    Training,
    /// The link carries packets.
    L0,
    /// The link is up and trains again; packets wait.
    Recovery,
    /// One end holds the other in reset.
    HotReset,
    /// One end has disabled the link.
    Disabled,
}

/// A command to one end of a link, from its component or from outside the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCommand {
    /// Go down, and stay down until told to train: this end is taken out, or loses its power.
    TakeDown,
    /// Go down, and hold the far end in hot reset until told to train (PCIe Base 4.2.6.11).
    HotReset,
    /// Go down, and disable the link until told to train (PCIe Base 4.2.6.9).
    Disable,
    /// Train from Detect on. It has no effect at an end that trains or is up.
    Train,
    /// Go from L0 to Recovery. It has no effect in any other state.
    Retrain,
}

/// A change of a link that its component may have to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The link has gone down: `DL_Down`. What was on its way or in the replay buffer is lost.
    Down(DownCause),
    /// The link is up again, and its flow control is initialised: `DL_Up`.
    Up,
    /// The link has gone through Recovery.
    Retrained,
}

/// The reason why a link has gone down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownCause {
    /// This end was told to.
    Command,
    /// The signal of the far end has gone, or it trains from the beginning: a surprise at a downstream port.
    LossOfSignal,
    /// The far end sends TS1 with Hot Reset, which resets the component.
    HotReset,
    /// The far end sends TS1 with Disable Link, which resets the component, too.
    Disable,
}

/// The state machine of one end.
#[derive(Clone, Debug)]
pub(crate) struct Ltssm {
    state: State,
    /// The ordered sets that arrive from the far end; none while a data stream does, or nothing.
    far: Option<OrderedSet>,
    times: TrainingTimes,
    generation: Generation,
    lanes: u8,
}

/// The times of training, from when an end both sends and receives TS1 until it has sent its TS2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrainingTimes {
    /// Detect to Configuration.
    pub(crate) training: Span,
    /// Recovery.
    pub(crate) recovery: Span,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Down,
    Training(Exchange),
    L0,
    Recovery(Exchange),
    /// Held by this end, or by the far end.
    HotReset(HeldBy),
    Disabled(HeldBy),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBy {
    ThisEnd,
    FarEnd,
}

/// The exchange of TS1 and TS2 with the far end.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    begun: Time,
    /// The time at which this end has trained for long enough, or [`Time::NEVER`] before the far end's TS1 has arrived.
    ready_at: Time,
    has_sent_ts2: bool,
}

impl Exchange {
    fn begin(now: Time) -> Self {
        Exchange {
            begun: now,
            ready_at: Time::NEVER,
            has_sent_ts2: false,
        }
    }
}

/// What follows from an input: the link end makes the transition, then sends, then sets its timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub(crate) transition: Option<Transition>,
    pub(crate) send: Option<OrderedSet>,
    pub(crate) wake_at: Option<Time>,
}

/// A transition to be made by the link end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    /// From L0 or Recovery to a state without a link.
    Down(DownCause),
    /// From L0 to Recovery.
    Recovery,
    /// To L0, from training that began at this time.
    Up(Time),
    /// To L0, from Recovery that began at this time.
    Recovered(Time),
}

impl Ltssm {
    /// A state machine in L0, as runs begin.
    pub(crate) fn new(generation: Generation, lanes: u8, times: TrainingTimes) -> Self {
        Ltssm {
            state: State::L0,
            far: None,
            times,
            generation,
            lanes,
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        match self.state {
            State::Down => LinkState::Down,
            State::Training(_) => LinkState::Training,
            State::L0 => LinkState::L0,
            State::Recovery(_) => LinkState::Recovery,
            State::HotReset(_) => LinkState::HotReset,
            State::Disabled(_) => LinkState::Disabled,
        }
    }

    /// Obeys a command.
    pub(crate) fn command(&mut self, command: LinkCommand, now: Time) -> Step {
        match command {
            LinkCommand::TakeDown => self.leave(State::Down, OrderedSetKind::ElectricalIdle),
            LinkCommand::HotReset => {
                self.leave(State::HotReset(HeldBy::ThisEnd), OrderedSetKind::HotReset)
            }
            LinkCommand::Disable => {
                let disabled = State::Disabled(HeldBy::ThisEnd);
                self.leave(disabled, OrderedSetKind::DisableLink)
            }
            LinkCommand::Train => match self.state {
                State::Down | State::HotReset(_) | State::Disabled(_) => self.train(now),
                State::Training(_) | State::L0 | State::Recovery(_) => Step::default(),
            },
            LinkCommand::Retrain => match self.state {
                State::L0 => self.recover(now),
                _ => Step::default(),
            },
        }
    }

    /// Leaves for a state without a link, and tells the far end by ordered sets of `kind`.
    fn leave(&mut self, state: State, kind: OrderedSetKind) -> Step {
        let was_up = self.is_link_up();
        self.state = state;
        // The far end answers whatever it learns by ordered sets of its own.
        self.far = None;
        Step {
            transition: was_up.then_some(Transition::Down(DownCause::Command)),
            send: Some(self.set(kind)),
            wake_at: None,
        }
    }

    /// Whether the physical layer has a link (`LinkUp` = 1): L0 and Recovery.
    fn is_link_up(&self) -> bool {
        matches!(self.state, State::L0 | State::Recovery(_))
    }

    fn train(&mut self, now: Time) -> Step {
        self.state = State::Training(Exchange::begin(now));
        Step {
            send: Some(self.set(OrderedSetKind::Ts1)),
            ..Step::default()
        }
    }

    fn recover(&mut self, now: Time) -> Step {
        self.state = State::Recovery(Exchange::begin(now));
        Step {
            transition: Some(Transition::Recovery),
            send: Some(self.set(OrderedSetKind::Ts1)),
            wake_at: None,
        }
    }

    fn set(&self, kind: OrderedSetKind) -> OrderedSet {
        OrderedSet {
            kind,
            is_numbered: matches!(self.state, State::Recovery(_)),
            generation: self.generation,
            lanes: self.lanes,
        }
    }

    /// Takes note of ordered sets from the far end.
    pub(crate) fn receive(&mut self, set: OrderedSet, now: Time) -> Step {
        match set.kind {
            OrderedSetKind::ElectricalIdle => {
                self.far = None;
                match self.state {
                    State::L0 | State::Recovery(_) => self.lose(now),
                    State::Training(_)
                    | State::HotReset(HeldBy::FarEnd)
                    | State::Disabled(HeldBy::FarEnd) => self.train(now),
                    State::Down | State::HotReset(_) | State::Disabled(_) => Step::default(),
                }
            }
            OrderedSetKind::HotReset => {
                self.yield_to(State::HotReset(HeldBy::FarEnd), DownCause::HotReset)
            }
            OrderedSetKind::DisableLink => {
                self.yield_to(State::Disabled(HeldBy::FarEnd), DownCause::Disable)
            }
            OrderedSetKind::Ts1 | OrderedSetKind::Ts2 if set.is_numbered => {
                if self.is_link_up() {
                    self.far = Some(set);
                }
                match self.state {
                    State::L0 => self.recover(now),
                    _ => Step::default(),
                }
            }
            OrderedSetKind::Ts1 | OrderedSetKind::Ts2 => {
                self.far = Some(set);
                match self.state {
                    State::L0 | State::Recovery(_) => self.lose(now),
                    State::HotReset(HeldBy::FarEnd) | State::Disabled(HeldBy::FarEnd) => {
                        self.train(now)
                    }
                    _ => Step::default(),
                }
            }
        }
    }

    /// Goes down because the far end has gone, and looks for it anew.
    fn lose(&mut self, now: Time) -> Step {
        Step {
            transition: Some(Transition::Down(DownCause::LossOfSignal)),
            ..self.train(now)
        }
    }

    /// Goes to a state in which the far end holds the link. An end that holds it itself does not.
    fn yield_to(&mut self, state: State, cause: DownCause) -> Step {
        if matches!(
            self.state,
            State::Down | State::HotReset(HeldBy::ThisEnd) | State::Disabled(HeldBy::ThisEnd)
        ) {
            return Step::default();
        }
        let was_up = self.is_link_up();
        self.state = state;
        self.far = None;
        Step {
            transition: was_up.then_some(Transition::Down(cause)),
            ..Step::default()
        }
    }

    /// Goes on with training as far as it can. An end can leave it only once its receive buffers `are_empty`, because it then
    /// announces them whole.
    pub(crate) fn advance(&mut self, now: Time, are_empty: bool) -> Step {
        let (exchange, time, is_recovery) = match self.state {
            State::Training(exchange) => (exchange, self.times.training, false),
            State::Recovery(exchange) => (exchange, self.times.recovery, true),
            _ => return Step::default(),
        };
        let Some(far) = self.far else {
            return Step::default();
        };
        let ready_at = exchange.ready_at.min(now + time);
        self.keep(Exchange {
            ready_at,
            ..exchange
        });
        if now < ready_at {
            return Step {
                wake_at: Some(ready_at),
                ..Step::default()
            };
        }
        if !exchange.has_sent_ts2 {
            if !is_recovery && !are_empty {
                return Step::default();
            }
            self.keep(Exchange {
                ready_at,
                has_sent_ts2: true,
                ..exchange
            });
            return Step {
                send: Some(self.set(OrderedSetKind::Ts2)),
                // What follows from it is to be done now, too.
                wake_at: Some(now),
                ..Step::default()
            };
        }
        if far.kind != OrderedSetKind::Ts2 {
            return Step::default();
        }
        (self.state, self.far) = (State::L0, None);
        Step {
            transition: Some(if is_recovery {
                Transition::Recovered(exchange.begun)
            } else {
                Transition::Up(exchange.begun)
            }),
            ..Step::default()
        }
    }

    fn keep(&mut self, exchange: Exchange) {
        match &mut self.state {
            State::Training(kept) | State::Recovery(kept) => *kept = exchange,
            _ => {}
        }
    }
}

//! Three clients take the lock of one bucket twice each. The tests check every order of their operations, and every moment at which a
//! client dies, is wrongly declared dead or gives up.

use std::collections::HashMap;

use locktable::{Table, Width};

use crate::world::{Standing, World};

/// A state of the world, and the events that may still happen to its clients.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    world: World,
    /// The standing that one client may still get by a declared death.
    fate: Option<Standing>,
    /// Whether a waiter may still give up.
    may_give_up: bool,
}

/// All states that were reached. The flag is true while some step from the state has not been followed.
type Reached = HashMap<State, bool>;

impl State {
    /// The states after the next operation of a client or a sweep.
    fn operations(&self) -> Vec<State> {
        let clients = self.world.clients.iter().enumerate();
        let client = clients.filter(|(_, client)| !client.is_over());
        let client = client.map(|(index, _)| {
            self.with(|world| {
                world.go(index);
            })
        });
        let sweeps = 0..self.world.sweeps.len();
        let sweep = sweeps.map(|index| {
            self.with(|world| {
                world.sweep(index);
            })
        });
        client.chain(sweep).collect()
    }

    /// The states after a client is declared dead or a waiter gives up.
    fn turns_of_fate(&self) -> Vec<State> {
        let clients = 0..self.world.clients.len();
        let mut turns = Vec::new();
        for client in clients.filter(|client| !self.world.clients[*client].is_over()) {
            if let Some(standing) = self.fate {
                let mut next = self.with(|world| {
                    world.declare_dead(client, standing);
                });
                next.fate = None;
                turns.push(next);
            }
            if self.may_give_up {
                let mut next = self.with(|world| {
                    world.give_up(client);
                });
                next.may_give_up = next.world == self.world;
                turns.push(next);
            }
        }
        turns
    }

    /// The state after `change`, with each client just before its next operation on memory.
    fn with(&self, change: impl Fn(&mut World)) -> State {
        let mut next = self.clone();
        change(&mut next.world);
        for client in 0..next.world.clients.len() {
            while !next.world.clients[client].is_settled() {
                next.world.go(client);
                next.world.check();
            }
        }
        next.world.check();
        next
    }
}

/// Follows all steps from `state`.
///
/// The load of a waiter changes nothing, and the same steps remain. All other operations must lead to new states. No step leads back, so
/// each client that continues reaches its end.
fn follow(state: &State, reached: &mut Reached) {
    reached.insert(state.clone(), true);
    let mut operations = state.operations();
    operations.retain(|next| next != state);
    assert!(
        !operations.is_empty() || state.world.is_over(),
        "a client waits forever: {:?}",
        state.world
    );
    let mut turns = state.turns_of_fate();
    turns.retain(|next| next != state);
    for next in operations.iter().chain(&turns) {
        match reached.get(next) {
            None => follow(next, reached),
            Some(is_open) => assert!(!is_open, "a step leads back: {:?}", next.world),
        }
    }
    reached.insert(state.clone(), false);
}

/// Number of states of three clients that take one lock twice each.
fn follow_all(fate: Standing, may_give_up: bool) -> usize {
    let table = Table::new(0x1_0000, 1, Width::Bits64).unwrap();
    let state = State {
        world: World::new(table, &vec![vec![0, 0]; 3]),
        fate: Some(fate),
        may_give_up,
    };
    let mut reached = Reached::new();
    follow(&state.with(|_| ()), &mut reached);
    reached.len()
}

#[test]
fn nobody_waits_for_ever_whoever_dies_and_whoever_gives_up() {
    let states = follow_all(Standing::Dead, true);
    assert!(states > 50_000, "{states} states are too few to be all");
}

#[test]
fn an_owner_that_is_thought_dead_and_goes_on_corrupts_nothing() {
    let states = follow_all(Standing::Doubted, false);
    assert!(states > 50_000, "{states} states are too few to be all");
}

//! The program of a rank that carries out calls from outside, one after the other.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device::nic::descriptor::Item;
use host::System;
use host::ranks::{Combine, Rank, RankConfig, Receiving, Sending, Status};
use kernel::Span;
use packet::Fault;

/// An order for a rank, with its bytes in memory.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Send(Letter),
    BeginSend(u32, Letter),
    Receive(Wanted),
    BeginReceive(u32, Wanted),
    SendReceive(Letter, Wanted),
    /// Waits for the end of the request with this number.
    End(u32),
    Barrier,
    Broadcast(usize, Item),
    AllReduce(Item, Combine),
    Put(usize, Item, u64),
    Get(usize, u64, Item),
    Compute(Span),
    /// Leaves the job.
    Leave,
}

/// Destination rank, tag, and location of the bytes.
pub(super) type Letter = (usize, u32, Item);

/// Source rank, tag, and location for the bytes.
pub(super) type Wanted = (Option<usize>, Option<u32>, Item);

/// The outcome of an order.
pub(super) type Answer = Result<Option<Status>, Fault>;

/// The exchange of orders and answers between a rank and the program outside the simulation.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) order: Option<Order>,
    pub(super) answer: Option<Answer>,
}

/// Signals from all programs of a job to the outside.
#[derive(Debug, Default)]
pub(super) struct Bell {
    /// Whether an answer has not been taken yet.
    pub(super) rung: AtomicBool,
    /// The number of times that programs have run.
    pub(super) stirs: AtomicU64,
}

/// A slot that a rank and the program outside the simulation share; only one of them runs at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Desk(Arc<Mutex<Slot>>);

enum Begun {
    Send(Sending),
    Receive(Receiving),
}

impl Desk {
    pub(super) fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries out the orders at `desk` until the order to leave.
pub(super) async fn serve(system: System, config: RankConfig, desk: Desk, bell: Arc<Bell>) {
    let mut work = pin!(orders(system, config, desk, &bell));
    std::future::poll_fn(|context| {
        bell.stirs.fetch_add(1, Ordering::Relaxed);
        work.as_mut().poll(context)
    })
    .await;
}

async fn orders(system: System, config: RankConfig, desk: Desk, bell: &Bell) {
    let mut rank = Rank::new(system.clone(), config);
    let mut begun = BTreeMap::new();
    loop {
        let order = desk.slot().order.take();
        match order {
            None => system.pause().await,
            Some(Order::Leave) => return,
            Some(order) => {
                let status = perform(&mut rank, &mut begun, order).await;
                let answer = rank.take_refusal().map_or(Ok(status), Err);
                desk.slot().answer = Some(answer);
                bell.rung.store(true, Ordering::Relaxed);
            }
        }
    }
}

async fn perform(
    rank: &mut Rank,
    begun: &mut BTreeMap<u32, Begun>,
    order: Order,
) -> Option<Status> {
    match order {
        Order::Send((to, tag, source)) => rank.send(to, tag, source).await,
        Order::BeginSend(number, (to, tag, source)) => {
            let sending = rank.begin_send(to, tag, source).await;
            begun.insert(number, Begun::Send(sending));
        }
        Order::Receive((from, tag, target)) => {
            return Some(rank.receive(from, tag, target).await);
        }
        Order::BeginReceive(number, (from, tag, target)) => {
            let receiving = rank.begin_receive(from, tag, target).await;
            begun.insert(number, Begun::Receive(receiving));
        }
        Order::SendReceive(letter, wanted) => {
            return Some(rank.send_receive(letter, wanted).await);
        }
        Order::End(number) => match begun.remove(&number)? {
            Begun::Send(sending) => rank.end_send(sending).await,
            Begun::Receive(receiving) => return Some(rank.end_receive(receiving).await),
        },
        Order::Barrier => rank.barrier().await,
        Order::Broadcast(root, range) => rank.broadcast(root, range).await,
        Order::AllReduce(Item { address, len }, combine) => {
            let range = (address, u64::from(len));
            rank.all_reduce_with(range, combine).await;
        }
        Order::Put(to, source, target) => rank.put(to, source, target).await,
        Order::Get(from, source, target) => rank.get(from, source, target).await,
        Order::Compute(span) => rank.compute(span).await,
        Order::Leave => {}
    }
    None
}

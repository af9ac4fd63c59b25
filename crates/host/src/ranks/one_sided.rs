//! Data that goes to an address at the other side, or comes from one, and that nobody there sees to.

use device::nic::descriptor::{Body, Item};
use device::nic::event::Event;

use super::{Rank, Status, Word};
/// A GET.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub(super) from: usize,
    /// What its descriptor is called.
    pub(super) label: u32,
    pub(super) source: u64,
    pub(super) target: Item,
    pub(super) purpose: Purpose,
}

/// What is fetched.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A message, for this receive; and which number it has at its sender.
    Message {
        receive: u32,
        status: Status,
        number: u32,
    },
    /// What a program asked for.
    Program { number: u32 },
}

impl Rank {
    /// Writes the bytes of `source` to the address `target` of the memory of `to`, whose program need not do anything. They may
    /// change when this returns; they are there before any message that is sent to `to` after it.
    pub async fn put(&mut self, to: usize, source: Item, target: u64) {
        if source.len == 0 {
            return;
        }
        if to == self.seat.rank {
            let bytes = self.load(source).await;
            return self.copy(target, &bytes).await;
        }
        let number = self.number();
        self.open.insert(number);
        let len = source.len;
        let body = Body::Put {
            sources: vec![source],
            targets: vec![Item {
                address: target,
                len,
            }],
        };
        self.post(to, number, body).await;
        self.end(number).await;
    }

    /// Reads the bytes at the address `source` of the memory of `from`, whose program need not do anything, to `target`. They are
    /// there when this returns.
    pub async fn get(&mut self, from: usize, source: u64, target: Item) {
        if target.len == 0 {
            return;
        }
        if from == self.seat.rank {
            let len = target.len;
            let address = source;
            let bytes = self.load(Item { address, len }).await;
            return self.copy(target.address, &bytes).await;
        }
        let number = self.number();
        self.open.insert(number);
        let purpose = Purpose::Program { number };
        let fetch = Fetch {
            from,
            label: number,
            source,
            target,
            purpose,
        };
        self.begin_fetch(fetch).await;
        self.end(number).await;
    }

    /// Begins a GET, or lets it wait for its turn: half of the requests under way tell of their end as soon as they are sent.
    pub(super) async fn begin_fetch(&mut self, fetch: Fetch) {
        self.fetches.push_back(fetch);
        self.begin_fetches().await;
    }

    pub(super) async fn begin_fetches(&mut self) {
        while self.fetching.len() < self.seat.place.requests as usize / 2 {
            let Some(fetch) = self.fetches.pop_front() else {
                return;
            };
            self.fetching.push(fetch);
            self.post_fetch(&fetch).await;
        }
    }

    async fn post_fetch(&mut self, fetch: &Fetch) {
        let source = Item {
            address: fetch.source,
            ..fetch.target
        };
        let body = Body::Get {
            sources: vec![source],
            targets: vec![fetch.target],
        };
        self.post(fetch.from, fetch.label, body).await;
    }

    /// The data of a GET has come from `from`, or will not come.
    pub(super) async fn hear_data(&mut self, from: usize, event: &Event) {
        self.refused = self.refused.or(event.fault);
        let mut all = self.fetching.iter();
        let place = all.position(|fetch| {
            let word = match event.fault {
                Some(_) => fetch.label.into(),
                None => fetch.end(),
            };
            (fetch.from, word) == (from, event.word)
        });
        let Some(place) = place else {
            return;
        };
        let fetch = self.fetching.remove(place);
        self.pair.finish();
        match fetch.purpose {
            Purpose::Message {
                receive,
                status,
                number,
            } => {
                self.received.insert(receive, status);
                self.say(from, Word::fetched(number)).await;
            }
            Purpose::Program { number } => {
                self.open.remove(&number);
            }
        }
    }
}

impl Fetch {
    fn end(&self) -> u64 {
        self.target.address + u64::from(self.target.len)
    }
}

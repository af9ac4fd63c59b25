//! One-sided transfers: a rank writes or reads the memory of another rank, whose program makes no call.

use device::nic::descriptor::{Body, Item};
use device::nic::event::Event;

use super::{ControlWord, Rank, Status};

/// A GET.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub(super) from: usize,
    /// The label of the GET's descriptor.
    pub(super) label: u32,
    pub(super) source: u64,
    pub(super) target: Item,
    pub(super) purpose: Purpose,
}

/// The purpose of a GET.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Data of a message for this receive; `number` is its number at the sender.
    Message {
        receive: u32,
        status: Status,
        number: u32,
    },
    /// A GET that the program requested.
    Program { number: u32 },
}

impl Rank {
    /// Writes the bytes of `source` to the address `target` in the memory of `to`. The program of `to` takes no part. When this
    /// returns, `source` may be changed. The data arrives before any message that is sent to `to` afterwards.
    pub async fn put(&mut self, to: usize, source: Item, target: u64) {
        if source.len == 0 {
            return;
        }
        if to == self.config.rank {
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

    /// Reads the bytes at the address `source` in the memory of `from` to `target`. The program of `from` takes no part. When this
    /// returns, the data has arrived.
    pub async fn get(&mut self, from: usize, source: u64, target: Item) {
        if target.len == 0 {
            return;
        }
        if from == self.config.rank {
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

    /// Starts a GET or queues it. At most half of the outstanding requests are GETs. Each other request gives an event when it is sent, so there
    /// is always an event to wait for.
    pub(super) async fn begin_fetch(&mut self, fetch: Fetch) {
        self.fetches.push_back(fetch);
        self.begin_fetches().await;
    }

    pub(super) async fn begin_fetches(&mut self) {
        while self.fetching.len() < self.config.place.requests as usize / 2 {
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

    /// Handles the end of a GET from `from`, with its data or with a fault.
    pub(super) async fn handle_data(&mut self, from: usize, event: &Event) {
        self.refused = self.refused.or(event.fault);
        let mut all = self.fetching.iter();
        let place = all.position(|fetch| {
            let word = match event.fault {
                Some(_) => fetch.label.into(),
                None => fetch.target.address + u64::from(fetch.target.len),
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
                self.queue_word(from, ControlWord::fetched(number)).await;
            }
            Purpose::Program { number } => {
                self.open.remove(&number);
            }
        }
    }
}

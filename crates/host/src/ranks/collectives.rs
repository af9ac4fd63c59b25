//! Collective operations, made of messages between two ranks. All ranks must call them in the same order.

use device::nic::descriptor::Item;

use super::matching::Context;
use super::reduction::{Combine, Number, Operator};
use super::{HEADERS, Rank, SCRATCH, Status};

/// The number of bytes of a vector that are reduced at a time.
const PIECE: u64 = SCRATCH - HEADERS;

impl Rank {
    /// Waits until all ranks have called `barrier`. In round n, each rank sends to the rank 2^n above it and receives from the rank
    /// 2^n below it.
    ///
    /// A barrier does not wait for data of earlier PUTs: see [`put`](Self::put).
    pub async fn barrier(&mut self) {
        let (rank, size) = (self.rank(), self.size());
        let nothing = Item { address: 0, len: 0 };
        let mut distance = 1;
        while distance < size {
            let to = (rank + distance) % size;
            let from = (rank + size - distance) % size;
            self.exchange((to, nothing), (from, nothing)).await;
            distance *= 2;
        }
    }

    /// Copies the bytes of `range` from `root` to every other rank, along a binomial tree.
    pub async fn broadcast(&mut self, root: usize, range: Item) {
        let size = self.size();
        let own = (self.rank() + size - root) % size;
        let absolute = |relative: usize| (relative + root) % size;
        // In the tree, a rank's parent is its number without the lowest set bit. Its children are its number plus each lower bit.
        let lowest = if own == 0 {
            size.next_power_of_two()
        } else {
            1 << own.trailing_zeros()
        };
        if own != 0 {
            self.take(absolute(own - lowest), range).await;
        }
        let mut bit = lowest / 2;
        while bit > 0 {
            if own + bit < size {
                self.give(absolute(own + bit), range).await;
            }
            bit /= 2;
        }
    }

    /// Replaces each of the `count` little-endian 32-bit numbers at `address` by the sum over all ranks, modulo 2^32.
    pub async fn all_reduce(&mut self, address: u64, count: u32) {
        let add = Number::U32.combine(Operator::Sum);
        let range = (address, u64::from(count) * Number::U32.bytes());
        self.all_reduce_with(range, add).await;
    }

    /// Combines the `len` bytes at `address` of all ranks by `combine`, and stores the result at every rank. `combine` combines its second
    /// argument into its first. Both arguments have the same length, at most 60 KiB, and contain whole elements if the element size divides 60
    /// KiB. `combine` must be associative and commutative. Each [`Number`] and [`Operator`] has such a function.
    pub async fn all_reduce_with(&mut self, (address, len): (u64, u64), combine: Combine) {
        for at in (0..len).step_by(PIECE as usize) {
            let piece = Item {
                address: address + at,
                len: PIECE.min(len - at) as u32,
            };
            self.reduce_piece(piece, combine).await;
        }
    }

    /// Reduces a piece by recursive doubling among the largest power of two of ranks. Each further rank first sends its data to one
    /// of these ranks, and at the end receives the result from it.
    async fn reduce_piece(&mut self, piece: Item, combine: Combine) {
        let (rank, size) = (self.rank(), self.size());
        let paired = 1 << size.ilog2();
        let scratch = Item {
            address: self.config.scratch + HEADERS,
            ..piece
        };
        if rank >= paired {
            self.give(rank - paired, piece).await;
            self.take(rank - paired, piece).await;
            return;
        }
        let extra = rank + paired;
        if extra < size {
            self.take(extra, scratch).await;
            self.combine(piece, scratch, combine).await;
        }
        let mut bit = 1;
        while bit < paired {
            let other = rank ^ bit;
            self.exchange((other, piece), (other, scratch)).await;
            self.combine(piece, scratch, combine).await;
            bit *= 2;
        }
        if extra < size {
            self.give(extra, piece).await;
        }
    }

    async fn combine(&mut self, piece: Item, other: Item, combine: Combine) {
        let mut bytes = self.load(piece).await;
        let others = self.load(other).await;
        combine(&mut bytes, &others);
        self.copy(piece.address, &bytes).await;
    }

    async fn give(&mut self, to: usize, range: Item) {
        let sending = self.start_send(to, (Context::Collective, 0), range).await;
        self.end_send(sending).await;
    }

    async fn take(&mut self, from: usize, range: Item) -> Status {
        let wanted = (Some(from), None);
        let receiving = self.start_receive(Context::Collective, wanted, range).await;
        self.end_receive(receiving).await
    }

    async fn exchange(&mut self, (to, source): (usize, Item), (from, target): (usize, Item)) {
        let wanted = (Some(from), None);
        let receiving = self
            .start_receive(Context::Collective, wanted, target)
            .await;
        self.give(to, source).await;
        self.end_receive(receiving).await;
    }
}

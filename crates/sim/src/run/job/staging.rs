//! Staging of call data: memory of the rank's host that is allocated while the call lasts.

use device::nic::descriptor::Item;
use kernel::Time;

use super::call::{Call, CallError, Letter, Spot, Wanted};
use super::program::{self, Order};
use super::{Job, Member};
use crate::run::access::AccessError;
use crate::run::simulation::Simulation;

/// Memory that holds the data that a call sends or receives.
#[derive(Clone, Debug, Default)]
pub(super) struct Staged {
    pub(super) taken: Vec<Item>,
    /// Data that the caller receives at the end of the call.
    yields: Yields,
}

#[derive(Clone, Copy, Debug, Default)]
enum Yields {
    #[default]
    Nothing,
    /// All bytes of the item.
    All(Item),
    /// As many bytes of the item as the message had.
    Message(Item),
}

/// Memory of a rank that all ranks may write and read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    rank: usize,
    address: u64,
    pub(super) size: u64,
}

/// An empty item.
const NOTHING: Item = Item { address: 0, len: 0 };

/// Maximum bytes of a message.
const LONGEST: u64 = 1 << 30;

/// Latest end of a computation.
const LATEST: Time = Time::from_fs(10_000_000_000_000_000_000);

impl Staged {
    /// Location of the bytes that the caller receives after a message of `len` bytes.
    pub(super) fn yields_of(&self, len: u32) -> Item {
        match self.yields {
            Yields::Nothing => NOTHING,
            Yields::All(item) => item,
            Yields::Message(item) => Item {
                len: len.min(item.len),
                ..item
            },
        }
    }
}

impl Job {
    /// The order for the program of `rank`, and the number of the request that it begins. `staged` may hold memory even if this fails.
    pub(super) fn order(
        &mut self,
        simulation: &mut Simulation,
        rank: usize,
        call: Call<'_>,
        staged: &mut Staged,
    ) -> Result<(Order, u32), CallError> {
        let order = match call {
            Call::Send(letter) => Order::Send(self.letter(simulation, rank, letter, staged)?),
            Call::Receive(wanted) => Order::Receive(self.wanted(simulation, rank, wanted, staged)?),
            Call::BeginSend(letter) => {
                let letter = self.letter(simulation, rank, letter, staged)?;
                let number = self.ranks[rank].number();
                return Ok((Order::BeginSend(number, letter), number));
            }
            Call::BeginReceive(wanted) => {
                let wanted = self.wanted(simulation, rank, wanted, staged)?;
                let number = self.ranks[rank].number();
                return Ok((Order::BeginReceive(number, wanted), number));
            }
            Call::End(number) => {
                let begun = self.ranks[rank].begun.remove(&number);
                *staged = begun.ok_or(CallError::NotBegun(number))?;
                Order::End(number)
            }
            Call::SendReceive(letter, wanted) => {
                let letter = self.letter(simulation, rank, letter, staged)?;
                Order::SendReceive(letter, self.wanted(simulation, rank, wanted, staged)?)
            }
            Call::Barrier => Order::Barrier,
            Call::Broadcast { root, len, bytes } => {
                self.check(root)?;
                let item = if root == rank {
                    self.stage(simulation, rank, bytes, staged)?
                } else {
                    self.room(simulation, rank, len, staged)?
                };
                staged.yields = Yields::All(item);
                Order::Broadcast(root, item)
            }
            Call::AllReduce {
                number,
                operator,
                bytes,
            } => {
                let len = bytes.len() as u64;
                if !len.is_multiple_of(number.bytes()) {
                    return Err(CallError::Elements(len, number.bytes()));
                }
                let item = self.stage(simulation, rank, bytes, staged)?;
                staged.yields = Yields::All(item);
                Order::AllReduce(item, number.combine(operator))
            }
            Call::Allocate(size) => {
                let Item { address, .. } = self.room(simulation, rank, size, staged)?;
                // The window keeps this memory after the end of the call.
                staged.taken.clear();
                let window = Window {
                    rank,
                    address,
                    size,
                };
                self.ranks[rank].put(simulation, address, &vec![0; size as usize]);
                return Ok((Order::Barrier, self.open(window)));
            }
            Call::Put(spot, bytes) => {
                let (to, target) = self.place(spot, bytes.len() as u64)?;
                let source = self.stage(simulation, rank, bytes, staged)?;
                Order::Put(to, source, target)
            }
            Call::Get(spot, len) => {
                let (from, source) = self.place(spot, len)?;
                let item = self.room(simulation, rank, len, staged)?;
                staged.yields = Yields::All(item);
                Order::Get(from, source, item)
            }
            Call::Compute(span) => {
                let is_late = simulation.now() + span > LATEST;
                if is_late {
                    return Err(CallError::TooLate);
                }
                Order::Compute(span)
            }
        };
        Ok((order, 0))
    }

    fn letter(
        &self,
        simulation: &mut Simulation,
        rank: usize,
        letter: Letter<'_>,
        staged: &mut Staged,
    ) -> Result<program::Letter, CallError> {
        self.check(letter.to)?;
        let source = self.stage(simulation, rank, letter.bytes, staged)?;
        Ok((letter.to, letter.tag, source))
    }

    fn wanted(
        &self,
        simulation: &mut Simulation,
        rank: usize,
        wanted: Wanted,
        staged: &mut Staged,
    ) -> Result<program::Wanted, CallError> {
        wanted.from.map_or(Ok(()), |from| self.check(from))?;
        let target = self.room(simulation, rank, wanted.room, staged)?;
        staged.yields = Yields::Message(target);
        Ok((wanted.from, wanted.tag, target))
    }

    /// Copies `bytes` into memory of `rank`.
    fn stage(
        &self,
        simulation: &mut Simulation,
        rank: usize,
        bytes: &[u8],
        staged: &mut Staged,
    ) -> Result<Item, CallError> {
        let item = self.room(simulation, rank, bytes.len() as u64, staged)?;
        self.ranks[rank].put(simulation, item.address, bytes);
        Ok(item)
    }

    /// Allocates `len` bytes of the memory of `rank`.
    fn room(
        &self,
        simulation: &mut Simulation,
        rank: usize,
        len: u64,
        staged: &mut Staged,
    ) -> Result<Item, CallError> {
        if len == 0 {
            return Ok(NOTHING);
        }
        if len > LONGEST {
            return Err(CallError::TooLong(len));
        }
        let host = self.ranks[rank].host;
        let Some(address) = simulation.outside.spare[host].take(len) else {
            let name = simulation.plan.nodes[host].name.clone();
            return Err(AccessError::NoRoom(name, len).into());
        };
        let item = Item {
            address,
            len: len as u32,
        };
        staged.taken.push(item);
        Ok(item)
    }

    /// Registers the window that a rank allocates, and returns the number of the first rank's window.
    fn open(&mut self, window: Window) -> u32 {
        let size = self.ranks.len();
        let member = &mut self.ranks[window.rank];
        let first = member.allocations * size;
        member.allocations += 1;
        let all = self.windows.len().max(first + size);
        self.windows.resize(all, None);
        self.windows[first + window.rank] = Some(window);
        first as u32
    }

    pub(super) fn window(&self, number: usize) -> Result<Window, CallError> {
        let window = self.windows.get(number).copied().flatten();
        window.ok_or(CallError::NoWindow(number))
    }

    /// The rank and address of the `len` bytes at `spot`.
    pub(super) fn place(&self, spot: Spot, len: u64) -> Result<(usize, u64), CallError> {
        let Window {
            rank,
            address,
            size,
        } = self.window(spot.window)?;
        let offset = spot.offset;
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(CallError::Outside {
                rank,
                size,
                offset,
                len,
            });
        }
        Ok((rank, address + offset))
    }
}

impl Member {
    /// Writes `bytes` to `address` of the rank's memory.
    pub(super) fn put(&self, simulation: &mut Simulation, address: u64, bytes: &[u8]) {
        if let Some(memory) = simulation.model_mut(self.host).memory_mut()
            && !bytes.is_empty()
        {
            memory.write(address - self.base, bytes);
        }
    }
}

impl Simulation {
    /// Frees memory of a host.
    pub(super) fn give_back(&mut self, host: usize, items: &[Item]) {
        for item in items {
            let freed = self.outside.spare[host].give_back(item.address, u64::from(item.len));
            debug_assert_eq!(freed, Ok(()), "an item is allocated as a whole");
        }
    }
}

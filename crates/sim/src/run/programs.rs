//! User programs on the hosts of a simulation, with memory and queue pairs.

use std::sync::Arc;

use device::{Endpoint, HasEndpoint, Nic, VectorCounts};
use host::queue_pair::{QueuePairPlace, area};
use host::ranks::{self, RankConfig, RankParameters, SCRATCH};
use host::{DriverParameters, System, ThreadId};
use kernel::Time;
use packet::{Incident, Site};
use protocol::register::MSIX_ENTRY;
use protocol::{QueuePairId, Signalling};
use transaction::{Backing, FunctionPlace};

use crate::model::Model;
use crate::plan::Attachment;
use crate::run::access::AccessError;
use crate::run::simulation::Simulation;
use crate::scenario::NodeKind;
use crate::workload::flow::message;

/// A vector of a function with MSI-X, with the addresses that a user's software needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Address of the entry of 16 bytes: Message Address, Message Upper Address, Message Data, Vector Control.
    pub entry: u64,
    /// Address of the quadword with the pending bit.
    pub pending: u64,
    /// Number of the pending bit in the quadword.
    pub bit: u32,
    /// The message that firmware has assigned to the vector.
    pub message: u32,
}

impl Simulation {
    /// Starts a program on `host` now.
    pub fn spawn<F>(
        &mut self,
        host: &str,
        program: impl FnOnce(System) -> F,
    ) -> Result<ThreadId, AccessError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.start();
        let node = self.node(host)?;
        let now = self.now();
        let thread = self.root_mut(host)?.cpu_mut().spawn(now, program);
        self.act(node, Model::ask);
        Ok(thread)
    }

    /// Software costs of `host`.
    pub fn costs(&self, host: &str) -> Result<DriverParameters, AccessError> {
        match &self.plan().nodes[self.node(host)?].kind {
            NodeKind::Host(_, costs) => Ok(costs.clone()),
            _ => Err(AccessError::NoProcessor(host.to_owned())),
        }
    }

    /// Allocates `size` unused bytes of the memory of `host`, aligned to a page, and gives their address.
    pub fn allocate(&mut self, host: &str, size: u64) -> Result<u64, AccessError> {
        let node = self.node(host)?;
        let taken = self.outside.spare[node].take(size);
        taken.ok_or_else(|| AccessError::NoRoom(host.to_owned(), size))
    }

    /// Allocates `size` unused bytes of the memory of `host`, aligned to `alignment`, a power of two.
    pub fn allocate_aligned(
        &mut self,
        host: &str,
        size: u64,
        alignment: u64,
    ) -> Result<u64, AccessError> {
        let node = self.node(host)?;
        let taken = self.outside.spare[node].take_aligned(size, alignment);
        taken.ok_or_else(|| AccessError::NoRoom(host.to_owned(), size))
    }

    /// Frees the `size` bytes that were allocated at `address`.
    pub fn free(&mut self, host: &str, address: u64, size: u64) -> Result<(), AccessError> {
        let node = self.node(host)?;
        let host = || host.to_owned();
        match self.outside.spare[node].give_back(address, size) {
            Ok(()) => Ok(()),
            Err(None) => Err(AccessError::NotAllocated(host(), address)),
            Err(Some(taken)) => Err(AccessError::OtherSize(host(), address, taken, size)),
        }
    }

    /// Backs the `size` allocated bytes of the memory of `host` at `address` with `backing` from now on; both are multiples of
    /// [`Memory::SHARED_PAGE`].
    pub fn share(
        &mut self,
        host: &str,
        address: u64,
        size: u64,
        backing: &Arc<dyn Backing>,
    ) -> Result<(), AccessError> {
        let (node, offset) = self.locate(host, address, size)?;
        self.engine.keep_to_one_thread();
        if let Some(memory) = self.model_mut(node).memory_mut() {
            memory.share(offset, size, backing);
        }
        Ok(())
    }

    /// Ends the sharing of memory of `host`: the bytes belong to the host alone again, and are zero.
    pub fn unshare(&mut self, host: &str, address: u64, size: u64) -> Result<(), AccessError> {
        let (node, offset) = self.locate(host, address, size)?;
        self.engine.keep_to_one_thread();
        if let Some(memory) = self.model_mut(node).memory_mut() {
            memory.unshare(offset, size);
        }
        Ok(())
    }

    /// Adds to the log of incidents that devices have written `bytes` bytes to a buffer of a program of `device` after its release at `at`.
    pub fn log_written_after_release(
        &mut self,
        device: &str,
        at: Time,
        bytes: u64,
    ) -> Result<(), AccessError> {
        let node = self.node(device)?;
        let what = Incident::WrittenAfterRelease(at, bytes);
        self.probes.log.add(node as u32, (Site::Node, what), at);
        Ok(())
    }

    /// The message that the function of `device` writes to interrupt its host: the message in its MSI registers, or the message that firmware has
    /// assigned to the vector of its MSI-X table. `None` while neither MSI nor MSI-X is enabled, or if there are fewer vectors.
    pub fn interrupt_message(&self, device: &str, vector: u16) -> Result<Option<u32>, AccessError> {
        let node = self.node(device)?;
        let functions = self.model(node).functions(self.now());
        let own = functions.space(FunctionPlace::Own);
        let number = u8::try_from(vector).ok();
        Ok(match own.signalling() {
            Signalling::None => None,
            Signalling::Msi => number.and_then(|vector| Some(own.msi(vector)?.1)),
            Signalling::Msix { .. } => self.plan().nodes[node].interrupt_message(vector),
        })
    }

    /// Vector `vector` of `function` of `device`: the addresses of its entry and of its pending bit, and its message.
    pub fn vector(&self, device: &str, vector: u32, function: u8) -> Result<Vector, AccessError> {
        let node = &self.plan().nodes[self.node(device)?];
        let all = node.vectors_of(function);
        let all = all.ok_or_else(|| AccessError::NoVectors(device.to_owned(), function))?;
        if vector >= all.count.into() {
            let device = device.to_owned();
            return Err(AccessError::NoVector(device, vector, all.count));
        }
        Ok(Vector {
            entry: all.table + u64::from(vector) * MSIX_ENTRY,
            pending: all.pending + u64::from(vector / 64) * 8,
            bit: vector % 64,
            message: all.first + vector,
        })
    }

    /// The interrupts of each function of `device` with MSI-X, by vector: the physical function, then the virtual ones; empty without
    /// MSI-X.
    pub fn interrupt_counts(&self, device: &str) -> Result<Vec<Vec<VectorCounts>>, AccessError> {
        let model = self.model(self.node(device)?);
        let endpoint = model.leaf().map(HasEndpoint::endpoint).into_iter();
        let counts = endpoint.flat_map(Endpoint::interrupt_counts);
        Ok(counts.map(<[_]>::to_vec).collect())
    }

    /// The first address by which loads and stores of the host `from` reach `to`: a host, an I/O port, or a device below one of these. The address is
    /// in the window of a network interface controller whose crossbar leads to `to`. If `from` is an endpoint below an I/O port, the address is in
    /// the window of the port, which leads to other I/O ports.
    pub fn window(&self, from: &str, to: &str) -> Result<u64, AccessError> {
        let (own, other) = (self.node(from)?, self.node(to)?);
        self.plan()
            .window(own, other)
            .map(|(base, _)| base)
            .ok_or_else(|| AccessError::NoWindow(from.to_owned(), to.to_owned()))
    }

    /// Opens the given queue pair of each network interface controller, all with the key `key`, for the ranks of one job in this order. Returns the
    /// configuration of each rank.
    pub fn open_rank_pairs(
        &mut self,
        pairs: &[(&str, (u8, u8))],
        key: u16,
        parameters: &RankParameters,
    ) -> Result<Vec<RankConfig>, AccessError> {
        self.check_ways(pairs)?;
        let buffers = ranks::entries(pairs.len(), parameters);
        let open = |(nic, pair): &(&str, _)| self.open_pair(nic, *pair, key, buffers);
        let places: Vec<QueuePairPlace> = pairs.iter().map(open).collect::<Result<_, _>>()?;
        let all: Arc<[QueuePairId]> = places.iter().map(|place| place.id).collect();
        let configs = places.into_iter().enumerate();
        configs
            .map(|(rank, place)| {
                let host = self.host_of(pairs[rank].0)?;
                Ok(RankConfig {
                    rank,
                    place,
                    all: all.clone(),
                    scratch: self.allocate(&host, SCRATCH)?,
                    costs: self.costs(&host)?,
                    parameters: parameters.clone(),
                })
            })
            .collect()
    }

    /// Checks that each of these network interface controllers can send to each of them.
    fn check_ways(&self, pairs: &[(&str, (u8, u8))]) -> Result<(), AccessError> {
        let places = pairs.iter().map(|(nic, _)| self.attachment(nic));
        let places: Vec<Attachment> = places.collect::<Result<_, _>>()?;
        for (from, here) in places.iter().enumerate() {
            let own = &self.plan().controllers[here.controller];
            let is_far = |there: &Attachment| own.port_to(there.processor).is_none();
            if let Some(to) = places.iter().position(is_far) {
                let name = |rank: usize| pairs[rank].0.to_owned();
                return Err(AccessError::NoWay(name(from), name(to)));
            }
        }
        Ok(())
    }

    /// The attachment of the network interface controller `nic`.
    pub(crate) fn attachment(&self, nic: &str) -> Result<Attachment, AccessError> {
        let place = self.plan().nodes[self.node(nic)?].attachment;
        place.ok_or_else(|| AccessError::NoNic(nic.to_owned()))
    }

    pub(crate) fn host_of(&self, node: &str) -> Result<String, AccessError> {
        let root = self.plan().nodes[self.node(node)?].root;
        Ok(self.plan().nodes[root].name.clone())
    }

    /// Opens a queue pair of a network interface controller with the key `key`, as the driver of its host does: with descriptors, rings and `entries`
    /// buffers, a multiple of 16, in the memory of that host. `pair` is the number of a function (0..=7) and the number of the queue pair in it
    /// (0..=3).
    pub fn open_pair(
        &mut self,
        nic: &str,
        pair: (u8, u8),
        key: u16,
        entries: u64,
    ) -> Result<QueuePairPlace, AccessError> {
        let node = self.node(nic)?;
        let place = self.place(nic, pair, key, entries)?;
        self.start();
        self.outside.opened.push(place.id);
        message::open(&self.plan, node, &place, self.engine.models_mut());
        self.engine.act(node, Model::ask);
        Ok(place)
    }

    /// The place of a queue pair that a program [opens](host::queue_pair::QueuePair::open) itself, with memory for `entries` buffers.
    pub fn place(
        &mut self,
        nic: &str,
        (function, pair): (u8, u8),
        key: u16,
        entries: u64,
    ) -> Result<QueuePairPlace, AccessError> {
        let node = self.node(nic)?;
        let place = self.attachment(nic)?;
        let id = QueuePairId::new(place.processor, function, pair);
        let page = self.plan().nodes[node].doorbells(id.function());
        let page = page.ok_or_else(|| {
            let last = self.plan().nodes[node].functions.virtual_places().count();
            AccessError::NoFunction(nic.to_owned(), function, last)
        })?;
        let host = self.host_of(nic)?;
        let area = self.allocate(&host, area(entries))?;
        Ok(QueuePairPlace {
            id,
            page,
            area,
            entries,
            requests: self.plan().nodes[node].requests(),
            key,
            pushes: self.plan().nodes[node].pushes_descriptors(),
        })
    }

    /// Lets programs of `host` count device writes to the byte at `address` of its memory.
    pub fn watch(&mut self, host: &str, address: u64) -> Result<(), AccessError> {
        self.root_mut(host)?.cpu_mut().watch(address);
        self.engine.keep_to_one_thread();
        Ok(())
    }

    /// Number of faults of each kind that the controller `nic` has stopped in `function`, in the order of [`packet::Fault::ALL`].
    pub fn faults(&self, nic: &str, function: u8) -> Result<Vec<u64>, AccessError> {
        match self.model(self.node(nic)?).device::<Nic>() {
            Some(nic) => Ok(nic.faults(function & 7).to_vec()),
            None => Err(AccessError::NoNic(nic.to_owned())),
        }
    }
}

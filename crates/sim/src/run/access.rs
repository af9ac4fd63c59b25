//! Accesses from outside the simulation: requests in the fabric for a caller, and direct reads and writes of memory without a request.

use device::fpga_card::Slot;
use device::{Afu, FpgaCard};
use host::Host;
use kernel::Time;
use packet::{FlowId, Refusal};
use protocol::Status;
use thiserror::Error;
use transaction::{Content, Direction, Flow};

use crate::meters::coherence;
use crate::model::Model;
use crate::plan::NodePlan;
use crate::result::name_of;
use crate::run::outside::InFlight;
use crate::run::simulation::Simulation;
use crate::scenario::advice;

/// Longest read from outside, in bytes.
const LONGEST_READ: u64 = 1 << 30;

/// The reason why an access from outside failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// No node has this name.
    #[error("there is no node {name:?} in this scenario; {advice}")]
    NoSuchNode {
        /// The wrong name.
        name: String,
        /// The most similar name, or a list of all names.
        advice: String,
    },
    /// The node makes no requests. It is a switch or a reflector, for example.
    #[error("{0} makes no requests of its own; name a host or a dma device")]
    NoRequester(String),
    /// The node has no memory. It is a switch, for example.
    #[error("{0} has no memory")]
    NoMemory(String),
    /// The registers of the device belong to its model from outside.
    #[error(
        "the registers of {0} belong to its model; read and write them as a host, or ask the model"
    )]
    HeldByModel(String),
    /// The range is not within the node's memory or BAR.
    #[error(
        "{name} holds {base:#x} to {last:#x}, which {address:#x} with {len} bytes is not within"
    )]
    Outside {
        /// Name of the node.
        name: String,
        /// First address of the node.
        base: u64,
        /// Last address of the node.
        last: u64,
        /// Requested address.
        address: u64,
        /// Requested number of bytes.
        len: u64,
    },
    /// The address is in the host's own memory, which no request across the fabric reaches.
    #[error(
        "{0} holds {1:#x} itself; look at its memory, or fill it, instead of asking the fabric"
    )]
    OwnMemory(String, u64),
    /// The read is too long.
    #[error("{0} bytes are too many for one read; ask for 1 GiB at most")]
    TooLong(u64),
    /// The node has no queue pairs, because it is not a network interface controller.
    #[error("{0} is not a network interface controller; name a device with model = \"nic\"")]
    NoNic(String),
    /// Loads and stores reach only nodes at the same controller or at controllers joined to it.
    #[error(
        "{0} does not reach {1} by loads and stores; join both by network interface controllers (nic) of one controller or of joined ones"
    )]
    NoWindow(String, String),
    /// The device has no function with this number.
    #[error("function {1} of {0}: virtual_functions is {2}; use 0 to {2}, or write a larger one")]
    NoFunction(String, u8, usize),
    /// Workloads and ranks use all functions of the device.
    #[error(
        "no function of {0} is left: workloads of the scenario or other ranks use them; write a larger virtual_functions for it, or fewer flows"
    )]
    NoFunctionLeft(String),
    /// No cables lead from the first controller to the second.
    #[error(
        "no cables lead from the controller of {0} to that of {1}; write [[cables]] between them"
    )]
    NoWay(String, String),
    /// A `free` of an address at which nothing is allocated.
    #[error(
        "{0} has no memory allocated at {1:#x}; free what was allocated there by its first address, once"
    )]
    NotAllocated(String, u64),
    /// A `free` of fewer or more bytes than were allocated at the address.
    #[error("{0} has {2} bytes allocated at {1:#x}, not {3}; free all of them together")]
    OtherSize(String, u64, u64, u64),
    /// The host has too little free memory.
    #[error("{0} has no {1} bytes of memory left together; write a larger memory for it")]
    NoRoom(String, u64),
    /// The function has no MSI-X table.
    #[error(
        "function {1} of {0} has no MSI-X table; write msix_vectors for {0}, or a larger virtual_functions"
    )]
    NoVectors(String, u8),
    /// The function has no vector with this number.
    #[error(
        "vector {1} of {0}: msix_vectors is {2}; use 0 to {last}, or write a larger one",
        last = .2 - 1
    )]
    NoVector(String, u32, u16),
    /// The node has no slot, because it is not an FPGA card.
    #[error(
        "{0} has no slot for an accelerator functional unit; name a device with model = \"fpga-card\""
    )]
    NoSlot(String),
    /// The card has no slot with this number.
    #[error(
        "{0} has no slot {1}, because it has slots = {2}, counted from 0; name another one, or set slots of {0} to a larger number"
    )]
    NoSuchSlot(String, usize, usize),
    /// The node has no processor, because it is not a host.
    #[error("{0} has no processor; name a host")]
    NoProcessor(String),
    /// The bytes are not a register of a configuration space: 1, 2 or 4 aligned bytes.
    #[error("{1} bytes at {0:#x} are no register; ask for 1, 2 or 4 aligned bytes below 0x1000")]
    NoRegister(u64, u64),
    /// The value has more bytes than the register.
    #[error(
        "{0:#x} is not a value of {1} bytes; give one without its upper bits, or a larger size"
    )]
    TooWide(u32, u64),
    /// The caller has ended the access early.
    #[error("the access was left before its end")]
    Interrupted,
    /// The access has no bytes.
    #[error("an access moves at least one byte")]
    Empty,
    /// The fabric answered with Unsupported Request.
    #[error("unsupported request: nobody answers at {0:#x}")]
    UnsupportedRequest(u64),
    /// The completer answered with Completer Abort.
    #[error("completer abort: the completer at {0:#x} cannot carry the request out")]
    CompleterAbort(u64),
    /// The data arrived poisoned.
    #[error("poisoned data: what was read at {0:#x} cannot be used")]
    PoisonedData(u64),
    /// No completion arrived in time, or no event was left.
    #[error("completion timeout: no answer came from {0:#x} in time")]
    NoAnswer(u64),
    /// The requester was reset, and the reset has dropped the access.
    #[error("reset: the requester was reset before its access to {0:#x} had ended")]
    Reset(u64),
    /// A packet was dropped for another reason.
    #[error("{0}: a packet of the access to {1:#x} was lost")]
    Lost(&'static str, u64),
}

impl AccessError {
    /// Whether the access was made and has then failed in the fabric.
    pub fn is_failure(&self) -> bool {
        use AccessError::{
            CompleterAbort, Lost, NoAnswer, PoisonedData, Reset, UnsupportedRequest,
        };
        matches!(
            self,
            UnsupportedRequest(_)
                | CompleterAbort(_)
                | PoisonedData(_)
                | NoAnswer(_)
                | Reset(_)
                | Lost(..)
        )
    }

    /// The error of a read that has ended with a completion of this status.
    pub(super) fn of_status(status: Status, address: u64) -> Self {
        match status {
            Status::CompleterAbort => AccessError::CompleterAbort(address),
            Status::Poisoned => AccessError::PoisonedData(address),
            _ => AccessError::UnsupportedRequest(address),
        }
    }

    /// The error of an access that has lost a packet for the reason `why`.
    fn of_refusal(why: Refusal, address: u64) -> Self {
        match why {
            Refusal::UnsupportedRequest | Refusal::NotForwarded(_) => {
                AccessError::UnsupportedRequest(address)
            }
            Refusal::CompleterAbort => AccessError::CompleterAbort(address),
            Refusal::PoisonedTlp => AccessError::PoisonedData(address),
            Refusal::CompletionTimeout => AccessError::NoAnswer(address),
            other => AccessError::Lost(name_of(other), address),
        }
    }
}

/// The outcome of an access: the bytes, or the reason why it failed.
pub type Outcome = Result<Vec<u8>, AccessError>;

impl Simulation {
    /// Makes `requester` write `bytes` to `address` from now on; time does not advance.
    pub fn write(
        &mut self,
        requester: &str,
        address: u64,
        bytes: Vec<u8>,
    ) -> Result<(), AccessError> {
        let len = bytes.len() as u64;
        self.inject(requester, Direction::Write, address, len, bytes)
            .map(|_| ())
    }

    /// Makes `requester` read `len` bytes at `address`, and runs until they arrive, while `watch` allows it.
    pub fn read_back(
        &mut self,
        requester: &str,
        address: u64,
        len: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, AccessError> {
        Self::check_read(len)?;
        let empty = vec![0; len as usize];
        let (node, flow) = self.inject(requester, Direction::Read, address, len, empty)?;
        let is_complete = |all: &mut Self| {
            let is_complete = all.probes.meter.flow(flow).is_complete();
            is_complete.then_some(())
        };
        let waited = self.step_while(Time::NEVER, watch, is_complete);
        waited.map_err(|_| AccessError::NoAnswer(address))?;
        self.outcome(InFlight {
            node,
            flow,
            address,
        })
    }

    pub(super) fn check_read(len: u64) -> Result<(), AccessError> {
        if len > LONGEST_READ {
            return Err(AccessError::TooLong(len));
        }
        Ok(())
    }

    /// The outcome of an access that has ended.
    pub(super) fn outcome(&mut self, access: InFlight) -> Outcome {
        let InFlight {
            node,
            flow,
            address,
        } = access;
        let meter = self.probes.meter.flow(flow);
        let model = &mut self.engine.models_mut()[node];
        let Some(requester) = model.requester_mut() else {
            return Err(AccessError::NoAnswer(address));
        };
        if meter.is_delivered() {
            let bytes = requester.take_bytes(flow);
            return bytes.ok_or(AccessError::NoAnswer(address));
        }
        // The status of a completion, a reset of the requester and its time-outs describe the failure better than the reason why a packet was
        // dropped.
        Err(match (requester.failure(flow), meter.lost_as) {
            _ if meter.forgotten => AccessError::Reset(address),
            (Some(status), _) => AccessError::of_status(status, address),
            (None, Some(why)) if !meter.timed_out => AccessError::of_refusal(why, address),
            // A write that has arrived with poisoned data.
            (None, None) if meter.is_complete() => AccessError::PoisonedData(address),
            _ => AccessError::NoAnswer(address),
        })
    }

    pub(super) fn inject(
        &mut self,
        requester: &str,
        direction: Direction,
        address: u64,
        len: u64,
        bytes: Vec<u8>,
    ) -> Result<(usize, FlowId), AccessError> {
        let node = self.node(requester)?;
        if len == 0 {
            return Err(AccessError::Empty);
        }
        if self.model(node).requester().is_none() {
            return Err(AccessError::NoRequester(requester.to_owned()));
        }
        if self.plan.nodes[node]
            .memory
            .is_some_and(|memory| memory.contains(address))
        {
            return Err(AccessError::OwnMemory(requester.to_owned(), address));
        }
        if address.checked_add(len).is_none() {
            return Err(AccessError::UnsupportedRequest(address));
        }
        self.start();
        let id = self.probes.meter.add();
        let start = self.now();
        let flow = Flow::once(id, direction, (address, len), start, Content::Bytes(bytes));
        self.model_mut(node).add_flow(0, flow);
        self.act(node, Model::ask);
        Ok((node, id))
    }

    /// The `len` bytes at `address` of a host's memory or a device's BAR 0, without simulating an access. They include writes that
    /// wait at the memory, and dirty lines in caches.
    pub fn memory(&self, name: &str, address: u64, len: u64) -> Result<Vec<u8>, AccessError> {
        let (index, offset) = self.locate(name, address, len)?;
        let mut bytes = vec![0; len as usize];
        if let Some(memory) = self.model(index).memory() {
            memory.read(offset, &mut bytes);
        }
        if let Some(leaf) = self.model(index).leaf() {
            leaf.endpoint().show_table(offset, &mut bytes);
        }
        let all = (&*self.plan, self.engine.models(), self.now());
        coherence::overlay(all, index, (address, &mut bytes));
        Ok(bytes)
    }

    /// Writes `bytes` to `address` of a host's memory or a device's BAR 0, without simulating an access.
    pub fn fill(&mut self, name: &str, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        let (index, offset) = self.locate(name, address, bytes.len() as u64)?;
        self.engine.keep_to_one_thread();
        if let Some(memory) = self.model_mut(index).memory_mut() {
            memory.write(offset, bytes);
        }
        if let Some(leaf) = self.model_mut(index).leaf_mut() {
            leaf.endpoint_mut().fill_table(offset, bytes);
        }
        Ok(())
    }

    /// The index of the node `name`, and the offset of the `len` bytes at `address` in its memory or BAR 0.
    pub(crate) fn locate(
        &self,
        name: &str,
        address: u64,
        len: u64,
    ) -> Result<(usize, u64), AccessError> {
        let index = self.node(name)?;
        let (Some(memory), Some(region)) =
            (self.model(index).memory(), self.plan.nodes[index].region())
        else {
            let name = name.to_owned();
            return Err(if self.plan.nodes[index].keeps_registers() {
                AccessError::HeldByModel(name)
            } else {
                AccessError::NoMemory(name)
            });
        };
        let offset = address
            .checked_sub(region.base)
            .filter(|offset| memory.holds(*offset, len));
        offset
            .map(|offset| (index, offset))
            .ok_or_else(|| AccessError::Outside {
                name: name.to_owned(),
                base: region.base,
                last: region.base + (region.size - 1),
                address,
                len,
            })
    }

    /// Takes the interrupts that have reached the processor of `host` and for which no program of the host waits: the message and the count of each.
    pub fn take_interrupts(&mut self, host: &str) -> Result<Vec<(u32, u32)>, AccessError> {
        let root = self.root_mut(host)?;
        if !root.cpu().is_interrupted() {
            return Ok(Vec::new());
        }
        let taken = root.cpu_mut().take_interrupts();
        self.engine.keep_to_one_thread();
        Ok(taken)
    }

    /// The root complex of `host`.
    pub(super) fn root_mut(&mut self, host: &str) -> Result<&mut Host, AccessError> {
        let node = self.node(host)?;
        let root = self.model_mut(node).host_mut();
        root.ok_or_else(|| AccessError::NoProcessor(host.to_owned()))
    }

    /// Configures a slot of the FPGA card `device` with `afu`, as partial reconfiguration does. Completions of the previous unit's requests are
    /// dropped. The card's memory keeps its contents, and the card's other slots continue.
    pub fn load_afu(
        &mut self,
        device: &str,
        slot: usize,
        afu: Box<dyn Afu>,
    ) -> Result<(), AccessError> {
        let node = self.node(device)?;
        self.check_slot(device, slot)?;
        self.start();
        self.act(node, |model, id, world| {
            if let Some(card) = model.device_mut::<FpgaCard>() {
                card.load(slot, Some(afu), &mut world.effects(id));
            }
        });
        Ok(())
    }

    fn check_slot(&self, device: &str, slot: usize) -> Result<(), AccessError> {
        let slots = self.card(device)?.slots().len();
        if slot < slots {
            return Ok(());
        }
        Err(AccessError::NoSuchSlot(device.to_owned(), slot, slots))
    }

    /// A slot of the FPGA card `device`, mutable, so that its clocks can be set.
    pub fn slot(&mut self, device: &str, slot: usize) -> Result<&mut Slot, AccessError> {
        self.engine.keep_to_one_thread();
        self.check_slot(device, slot)?;
        let node = self.node(device)?;
        let card = self.model_mut(node).device_mut::<FpgaCard>();
        card.and_then(|card| card.slot_mut(slot))
            .ok_or_else(|| AccessError::NoSlot(device.to_owned()))
    }

    /// The FPGA card `device`.
    pub fn card(&self, device: &str) -> Result<&FpgaCard, AccessError> {
        let node = self.node(device)?;
        let card = self.model(node).device::<FpgaCard>();
        card.ok_or_else(|| AccessError::NoSlot(device.to_owned()))
    }

    pub(crate) fn node(&self, name: &str) -> Result<usize, AccessError> {
        let all = &self.plan.nodes;
        let found = all.iter().position(|node: &NodePlan| node.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|node| node.name.as_str()).collect();
            AccessError::NoSuchNode {
                name: name.to_owned(),
                advice: advice(name, &names),
            }
        })
    }
}

//! A driver for scatter/gather DMA engines. Its system call pins a buffer, writes the descriptor list, and sleeps until the
//! interrupt.

use device::sg_dma::registers::{DESCRIPTOR, Descriptor, Unit, offset};
use kernel::Span;
use packet::{FlowId, Observation};
use protocol::TrafficClass;
use transaction::CallNote;

use crate::interrupts::Interrupt;
use crate::{DriverParameters, System, ThreadId};

/// A DMA transfer of a buffer by an engine.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The number of the flow for the probes.
    pub flow: FlowId,
    /// The unit of the engine that moves the buffer.
    pub unit: Unit,
    /// The address of the engine's registers.
    pub registers: u64,
    /// The interrupt of the unit.
    pub interrupt: Interrupt,
    /// The first address of the buffer.
    pub address: u64,
    /// The size of the buffer in bytes.
    pub len: u64,
    /// The largest payload of a packet in bytes; 0 leaves the choice to the engine.
    pub payload: u32,
    /// The traffic class of the requests for the data. `None` if all transfers of the unit use the class that the unit has after reset.
    pub class: Option<TrafficClass>,
    /// The memory address of the descriptor list, which the engine fetches; `None` if the list is written into the engine.
    pub list: Option<u64>,
    /// The address of the register that holds a reflector's reply address, and the reply address.
    pub reply: Option<(u64, u64)>,
    /// Whether the engine is a circuit. A circuit does not report to the probes how many bytes it has moved, so the driver reports the number.
    pub is_circuit: bool,
    /// The first word of the data that the engine's circuit generates. `None` if it generates no data, or if the engine is a model.
    pub pattern: Option<u64>,
    /// Whether the driver repeats the transfer after a reset of the engine. It cannot if the FIFOs have lost bytes of another transfer.
    pub restarts: bool,
    /// The lock of the unit, which one call holds at a time.
    pub lock: u32,
    /// The threads that must end before this transfer starts: the thread of an earlier call, and the thread that sets up the interrupt vectors.
    pub after: [Option<ThreadId>; 2],
}

/// Splits the buffer of `len` bytes at `address` into one descriptor for each page. The first and the last may be shorter.
pub fn scatter(address: u64, len: u64) -> impl Iterator<Item = Descriptor> {
    let end = address + len;
    let mut next = address;
    std::iter::from_fn(move || {
        let address = next;
        next = end.min(address / PAGE * PAGE + PAGE);
        (address < end).then(|| Descriptor {
            address,
            len: (next - address) as u32,
        })
    })
}

/// Splits `bytes`, the content of a buffer at `address`, at the page boundaries. Each part has its address.
pub(crate) fn in_pages(address: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    scatter(address, bytes.len() as u64).map(move |page| {
        let from = (page.address - address) as usize;
        (page.address, &bytes[from..from + page.len as usize])
    })
}

/// The number of pages of a buffer.
pub fn pages(address: u64, len: u64) -> u64 {
    (address % PAGE + len).div_ceil(PAGE)
}

/// The system call that moves a buffer.
pub async fn call(system: System, costs: DriverParameters, transfer: Transfer) {
    for thread in transfer.after.into_iter().flatten() {
        system.join(thread).await;
    }
    let flow = transfer.flow;
    system.note(flow, CallNote::Called).await;
    system.work(costs.system_call).await;
    system.lock(transfer.lock).await;
    let driver = Driver {
        system: &system,
        costs: &costs,
        block: transfer.registers + transfer.unit.base(),
    };
    if !move_once_or_again(&driver, &transfer).await {
        give_up(&system, flow).await;
    }
    system.unlock(transfer.lock).await;
    system.note(flow, CallNote::Returned).await;
}

/// A system call that can be made again.
pub trait Repeated {
    /// Returns the call with another start: it begins when `thread` has ended.
    #[must_use]
    fn after(self, thread: ThreadId) -> Self;
}

impl Repeated for Transfer {
    fn after(self, thread: ThreadId) -> Self {
        Transfer {
            after: [Some(thread), None],
            ..self
        }
    }
}

/// Repeats a system call for ever. After a call that took no time, for example because the device does not work any more, the thread pauses.
pub async fn repeat<T: Clone, F: Future<Output = ()>>(
    system: System,
    costs: DriverParameters,
    transfer: T,
    call: fn(System, DriverParameters, T) -> F,
) {
    loop {
        let begin = system.now().await;
        call(system.clone(), costs.clone(), transfer.clone()).await;
        if system.now().await == begin {
            system.sleep(PAUSE).await;
        }
    }
}

/// The pause after a system call that took no time.
const PAUSE: Span = Span::from_ns(1000);

/// Moves a buffer, and moves it again after each reset of the engine. Returns false if the buffer cannot be moved any more.
async fn move_once_or_again(driver: &Driver<'_>, transfer: &Transfer) -> bool {
    let (system, interrupt) = (driver.system, transfer.interrupt);
    let mut is_first = true;
    while let Some(resets) = system.ready(interrupt.message).await {
        if !is_first {
            if !transfer.restarts {
                return false;
            }
            begin_again(system, transfer.flow, (0, 0)).await;
        }
        is_first = false;
        driver.program(transfer).await;
        if interrupt.take(system, driver.costs, resets).await {
            if transfer.is_circuit {
                let (flow, bytes) = (transfer.flow, transfer.len);
                system.report(Observation::Ended { flow, bytes }).await;
            }
            return true;
        }
        system.note(transfer.flow, CallNote::Interrupted).await;
    }
    false
}

/// Reports that a driver moves a flow again after a reset of its device, except for bytes that have arrived and bytes that are lost.
pub(crate) async fn begin_again(system: &System, flow: FlowId, (arrived, lost): (u64, u64)) {
    system
        .log("a driver begins again after a reset of its device")
        .await;
    let restarted = CallNote::Restarted { arrived, lost };
    system.note(flow, restarted).await;
}

/// Reports that a driver does not move a flow any more, because its device does not work or has lost data of the flow.
pub(crate) async fn give_up(system: &System, flow: FlowId) {
    system.log("a driver gives up its device").await;
    system.report(Observation::Forgotten { flow }).await;
}

struct Driver<'s> {
    system: &'s System,
    costs: &'s DriverParameters,
    /// The address of the unit's registers.
    block: u64,
}

impl Driver<'_> {
    async fn program(&self, transfer: &Transfer) {
        let Transfer {
            unit,
            registers,
            address,
            len,
            list,
            ..
        } = *transfer;
        if let Some((register, to)) = transfer.reply {
            self.store(register, &to.to_le_bytes()).await;
        }
        if unit == Unit::Peer {
            self.set(offset::ADDRESS, &address.to_le_bytes()).await;
            self.set(offset::LENGTH, &len.to_le_bytes()).await;
        } else {
            let pages: Vec<Descriptor> = scatter(address, len).collect();
            let count = pages.len() as u64;
            self.system.work(self.costs.page_pin * count).await;
            match list {
                Some(list) => {
                    self.keep(list, &pages).await;
                    self.set(offset::ADDRESS, &list.to_le_bytes()).await;
                }
                None => self.write(registers + unit.list(), &pages).await,
            }
            self.set(offset::LENGTH, &count.to_le_bytes()).await;
        }
        self.set(offset::PAYLOAD, &transfer.payload.to_le_bytes())
            .await;
        if let Some(class) = transfer.class {
            let class = u32::from(class.number());
            self.set(offset::CLASS, &class.to_le_bytes()).await;
        }
        if let Some(word) = transfer.pattern {
            self.set(offset::PATTERN, &word.to_le_bytes()).await;
        }
        let label = transfer.flow.0 + 1;
        self.set(offset::START, &label.to_le_bytes()).await;
    }

    /// Writes a register of the unit.
    async fn set(&self, register: u64, bytes: &[u8]) {
        self.store(self.block + register, bytes).await;
    }

    async fn store(&self, address: u64, bytes: &[u8]) {
        self.system.set(self.costs, address, bytes).await;
    }

    /// Writes a descriptor list into the engine, with two stores for each descriptor: address and length.
    async fn write(&self, list: u64, pages: &[Descriptor]) {
        for (at, page) in (list..).step_by(DESCRIPTOR as usize).zip(pages) {
            let bytes = page.emit();
            self.store(at, &bytes[..8]).await;
            self.store(at + 8, &bytes[8..12]).await;
        }
    }

    /// Writes a descriptor list to memory page by page, with the time of two stores for each descriptor.
    async fn keep(&self, list: u64, pages: &[Descriptor]) {
        let bytes: Vec<u8> = pages.iter().flat_map(|page| page.emit()).collect();
        let stores = 2 * pages.len() as u64;
        self.system.work(self.costs.memory_write * stores).await;
        for (address, part) in in_pages(list, &bytes) {
            self.system.store(address, part).await;
        }
    }
}

/// The size of the pages that a driver pins.
pub const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn list(address: u64, len: u64) -> Vec<(u64, u32)> {
        scatter(address, len)
            .map(|page| (page.address, page.len))
            .collect()
    }

    #[test]
    fn a_buffer_off_its_page_begins_and_ends_with_a_part_of_one() {
        assert_eq!(
            list(0x1f00, 0x1200),
            [(0x1f00, 0x100), (0x2000, 0x1000), (0x3000, 0x100)]
        );
        assert_eq!(list(0x1f00, 0x80), [(0x1f00, 0x80)]);
        assert_eq!(list(0x1000, 0x1000), [(0x1000, 0x1000)]);
        assert_eq!(list(0x1000, 0), []);
    }

    proptest::proptest! {
        #[test]
        fn the_pages_are_the_whole_buffer_and_cross_no_boundary(address in 0_u64..1 << 40, len in 1_u64..1 << 20) {
            assert_eq!(pages(address, len), scatter(address, len).count() as u64);
            let mut next = address;
            for page in scatter(address, len) {
                assert_eq!(page.address, next);
                assert_eq!(page.address / PAGE, (page.address + u64::from(page.len) - 1) / PAGE);
                next += u64::from(page.len);
            }
            assert_eq!(next, address + len);
        }
    }
}

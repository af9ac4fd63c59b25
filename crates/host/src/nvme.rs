//! A driver for NVM Express drives: system calls that pin a buffer, submit a command for each part of it, and sleep until the
//! interrupts.
//!
//! The queues, the lists of pages and the driver's own state are in the host's memory, in an [`Area`] of each drive. The first call
//! brings the controller up: it enables the controller with its admin queues, and creates a pair of I/O queues (NVM Express 1.4, 7.6.1).
//! The driver has the properties of the drive from the scenario. Both pairs of queues have vector 0.

use kernel::Span;
use nvme::NAMESPACE;
use nvme::command::{
    COMPLETION, CONTIGUOUS, CREATE_COMPLETION_QUEUE, CREATE_SUBMISSION_QUEUE, Command, End,
    INTERRUPTS, READ, SUBMISSION, WRITE,
};
use nvme::registers::{ACQ, AQA, ASQ, CC, CSTS, ENABLED, FATAL, READY, head_of, tail_of};
use packet::{FlowId, Observation};
use transaction::CallNote;

use crate::driver::{PAGE, Repeated, begin_again, give_up, pages};
use crate::interrupts::Interrupt;
use crate::system::Wake;
use crate::{DriverParameters, System, ThreadId};

/// The memory of the driver of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Address of the I/O submission queue, at the beginning of a page.
    pub address: u64,
    /// Number of entries of each I/O queue.
    pub entries: u32,
    /// Largest transfer of a command in bytes.
    pub max_transfer: u64,
}

impl Area {
    /// Address of the I/O completion queue.
    fn completions(&self) -> u64 {
        self.address + (u64::from(self.entries) * SUBMISSION).next_multiple_of(PAGE)
    }

    /// Address of the admin completion queue.
    fn admin_completions(&self) -> u64 {
        self.completions() + (u64::from(self.entries) * COMPLETION).next_multiple_of(PAGE)
    }

    /// Address of the admin submission queue.
    fn admin_submissions(&self) -> u64 {
        self.admin_completions() + PAGE
    }

    /// Address of the driver's state: tail, head and phase, after a word that is zero until the controller is up.
    fn state(&self) -> u64 {
        self.admin_submissions() + PAGE
    }

    /// Address of the list of pages of the command with identifier `id`.
    fn list(&self, id: u16) -> u64 {
        self.state() + PAGE + u64::from(id) * self.list_size()
    }

    /// Size of a list of pages, a power of two, so that no list crosses a page boundary.
    fn list_size(&self) -> u64 {
        (self.max_transfer / PAGE * 8).next_power_of_two()
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        let lists = u64::from(self.entries) * self.list_size();
        self.state() + PAGE + lists.next_multiple_of(PAGE) - self.address
    }
}

/// A buffer to move from or to consecutive blocks of a drive.
#[derive(Clone, Debug)]
pub struct BlockTransfer {
    /// The flow of the data.
    pub flow: FlowId,
    /// Whether the drive writes its blocks, with data that it reads from the buffer.
    pub writes_blocks: bool,
    /// Address of the drive's registers.
    pub registers: u64,
    /// The drive's interrupt.
    pub interrupt: Interrupt,
    /// The memory of the driver.
    pub area: Area,
    /// Address of the buffer, a multiple of 4.
    pub address: u64,
    /// Bytes of the buffer, a multiple of the block size.
    pub len: u64,
    /// The first block.
    pub first_block: u64,
    /// Size of a block in bytes.
    pub block: u64,
    /// Bytes of a command: a multiple of the block size, and at most `max_transfer`.
    pub command: u64,
    /// The threads that must end before this transfer starts: the thread of an earlier call, and the thread that sets up the interrupt vectors.
    pub after: [Option<ThreadId>; 2],
}

impl Repeated for BlockTransfer {
    fn after(self, thread: ThreadId) -> Self {
        BlockTransfer {
            after: [Some(thread), None],
            ..self
        }
    }
}

/// The system call that moves a buffer.
pub async fn call(system: System, costs: DriverParameters, transfer: BlockTransfer) {
    for thread in transfer.after.into_iter().flatten() {
        system.join(thread).await;
    }
    let flow = transfer.flow;
    system.note(flow, CallNote::Called).await;
    system.work(costs.system_call).await;
    system.lock(transfer.interrupt.message).await;
    let pinned = pages(transfer.address, transfer.len);
    system.work(costs.page_pin * pinned).await;
    let mut driver = Driver::new(&system, &costs, &transfer);
    if driver.move_all_or_again().await {
        driver.keep_state().await;
    } else {
        give_up(&system, flow).await;
    }
    system.unlock(transfer.interrupt.message).await;
    let ended = Observation::Ended {
        flow,
        bytes: transfer.len,
    };
    system.report(ended).await;
    system.note(flow, CallNote::Returned).await;
}

struct Driver<'s> {
    system: &'s System,
    costs: &'s DriverParameters,
    transfer: &'s BlockTransfer,
    /// Tail of the submission queue.
    tail: u32,
    /// Head of the completion queue.
    head: u32,
    /// Phase tag of the next completion entry.
    phase: bool,
    /// Identifiers that no command uses.
    free: Vec<u16>,
    /// Bytes of each command in progress, by identifier.
    bytes: Vec<u64>,
    /// Offset in the buffer of each command in progress, by identifier.
    offsets: Vec<u64>,
    /// Offset of the first part of the buffer for which no command was submitted.
    next: u64,
    /// Offsets of the parts whose commands were lost in a reset.
    again: Vec<u64>,
    /// Bytes of commands that have ended successfully, and bytes of commands that have ended with an error.
    ended: (u64, u64),
    /// The number of resets of the drive when it was brought up.
    resets: u32,
}

impl<'s> Driver<'s> {
    fn new(system: &'s System, costs: &'s DriverParameters, transfer: &'s BlockTransfer) -> Self {
        // One entry of a queue is always unused: head and tail would be equal in a full queue, as they are in an empty queue.
        let most = (transfer.area.entries - 1) as u16;
        Driver {
            system,
            costs,
            transfer,
            tail: 0,
            head: 0,
            phase: true,
            free: (0..most).rev().collect(),
            bytes: vec![0; usize::from(most)],
            offsets: vec![0; usize::from(most)],
            next: 0,
            again: Vec::new(),
            ended: (0, 0),
            resets: 0,
        }
    }

    /// Moves the buffer. After a reset of the drive, moves again the parts that the reset has lost. Returns false if the drive does not work any
    /// more.
    async fn move_all_or_again(&mut self) -> bool {
        let message = self.transfer.interrupt.message;
        let mut is_first = true;
        while let Some(resets) = self.system.ready(message).await {
            if !is_first {
                self.lose_commands();
                begin_again(self.system, self.transfer.flow, self.ended).await;
            }
            is_first = false;
            if !self.bring_up(resets).await {
                return false;
            }
            if self.move_all().await {
                return true;
            }
            let flow = self.transfer.flow;
            self.system.note(flow, CallNote::Interrupted).await;
        }
        false
    }

    /// Frees the identifiers of the commands in progress, and records that their parts must be moved again.
    fn lose_commands(&mut self) {
        for id in (0..self.bytes.len() as u16).rev() {
            if !self.free.contains(&id) {
                self.again.push(self.offsets[usize::from(id)]);
                self.free.push(id);
            }
        }
    }

    /// Continues with the queues of an earlier call, or brings the controller up if it was never up or was reset after that call. Returns false
    /// if the controller does not become ready.
    async fn bring_up(&mut self, resets: u32) -> bool {
        let area = self.transfer.area;
        let state = self.system.load(area.state(), 20).await;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| state[at + byte]));
        self.resets = resets;
        let is_up = word(0) != 0 && word(16) == resets;
        if is_up {
            (self.tail, self.head, self.phase) = (word(4), word(8), word(12) != 0);
            return true;
        }
        (self.tail, self.head, self.phase) = (0, 0, true);
        if resets > 0 {
            self.clear_completions().await;
        }
        self.enable().await
    }

    /// Writes zeros to the completion queues, so that no entry from before a reset has the phase tag of a new one.
    async fn clear_completions(&self) {
        let area = &self.transfer.area;
        for at in (area.completions()..area.admin_submissions()).step_by(PAGE as usize) {
            self.system.work(self.costs.memory_write).await;
            self.system.store(at, &[0; PAGE as usize]).await;
        }
    }

    /// Enables the controller, and creates the I/O queues. Returns false if the controller does not become ready, or fails at every attempt.
    async fn enable(&mut self) -> bool {
        for _ in 0..MOST_STARTS {
            let area = &self.transfer.area;
            let size = ADMIN_ENTRIES - 1;
            self.set(AQA, &(size | size << 16).to_le_bytes()).await;
            self.set(ASQ, &area.admin_submissions().to_le_bytes()).await;
            self.set(ACQ, &area.admin_completions().to_le_bytes()).await;
            self.set(CC, &ENABLED.to_le_bytes()).await;
            if !self.becomes(READY).await {
                return false;
            }
            if self.create_queues().await || self.was_reset().await {
                return true;
            }
            if !self.disable().await {
                return false;
            }
        }
        false
    }

    /// Disables the controller, which drops its commands. Returns false if the controller does not stop.
    async fn disable(&mut self) -> bool {
        self.system
            .log("a driver resets the controller of its drive")
            .await;
        self.set(CC, &0_u32.to_le_bytes()).await;
        let has_ended = self.becomes(0).await;
        self.clear_completions().await;
        has_ended
    }

    /// Waits until the ready bit of the controller is `ready`. Also ends if the drive does not answer, or if the controller fails while it
    /// starts. Returns false if the wait takes too long.
    async fn becomes(&self, ready: u32) -> bool {
        let end = self.system.now().await + LONGEST_START;
        while let Some(status) = self.status().await {
            let has_failed = ready == READY && status & FATAL != 0;
            if status & READY == ready || has_failed {
                return true;
            }
            if self.system.now().await >= end {
                return false;
            }
            self.system.sleep(START_PAUSE).await;
        }
        true
    }

    /// Creates the I/O completion queue, and then the submission queue. Returns false if the controller fails, or is reset.
    async fn create_queues(&self) -> bool {
        let area = &self.transfer.area;
        let size = (area.entries - 1) << 16 | u32::from(QUEUE);
        let create = |opcode, address, flags| Command {
            opcode,
            flags: 0,
            id: 0,
            namespace: 0,
            prp: [address, 0],
            words: [size, flags, 0, 0, 0, 0],
            label: None,
        };
        let flags = u32::from(CONTIGUOUS | INTERRUPTS);
        let completions = create(CREATE_COMPLETION_QUEUE, area.completions(), flags);
        let flags = u32::from(CONTIGUOUS) | u32::from(QUEUE) << 16;
        let submissions = create(CREATE_SUBMISSION_QUEUE, area.address, flags);
        self.administer(0, &completions).await && self.administer(1, &submissions).await
    }

    /// Executes the admin command with this number, counted from 0 after each start of the controller. Returns false if the command does not
    /// succeed.
    async fn administer(&self, number: u32, command: &Command) -> bool {
        let (area, interrupt) = (&self.transfer.area, self.transfer.interrupt);
        let at = u64::from(number);
        let entry = area.admin_submissions() + at * SUBMISSION;
        self.system.work(self.costs.memory_write).await;
        self.system.store(entry, &command.emit()).await;
        self.set(tail_of(0), &(number + 1).to_le_bytes()).await;
        let entry = area.admin_completions() + at * COMPLETION;
        let end = loop {
            match interrupt.wait(self.system, self.costs, self.resets).await {
                Wake::Reset => return false,
                Wake::Check if self.has_failed().await => return false,
                // If the driver does not mask the vector, each completion entry has its own interrupt, so the driver waits for it.
                Wake::Check if interrupt.control.is_none() => {}
                Wake::Check => {
                    if let Some(end) = self.end_at(entry, true).await {
                        break end;
                    }
                }
                Wake::Interrupt => match self.await_end(entry).await {
                    Some(end) => break end,
                    None => return false,
                },
            }
        };
        self.set(head_of(0), &(number + 1).to_le_bytes()).await;
        interrupt.rearm(self.system, self.costs).await;
        end.is_success
    }

    /// Waits for the completion entry at this address of the admin queue: the interrupt may arrive before the memory has stored the entry.
    /// Returns `None` if a reset of the drive begins first.
    async fn await_end(&self, address: u64) -> Option<End> {
        loop {
            let end = self.end_at(address, true).await;
            if end.is_some() || self.was_reset().await {
                return end;
            }
            self.poll().await;
        }
    }

    /// Works for the time of one poll, at least 1 ns, so that simulated time advances in a loop of polls.
    async fn poll(&self) {
        let span = self.costs.poll.max(Span::from_ns(1));
        self.system.work(span).await;
    }

    /// The status of the controller. `None` if the drive does not answer.
    async fn status(&self) -> Option<u32> {
        let bytes = self.system.read(self.transfer.registers + CSTS, 4).await;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// Stores the queue positions in memory, for the next call.
    async fn keep_state(&self) {
        let words = [1, self.tail, self.head, self.phase.into(), self.resets];
        let bytes = words.map(u32::to_le_bytes).concat();
        self.system.work(self.costs.memory_write).await;
        self.system.store(self.transfer.area.state(), &bytes).await;
    }

    /// Submits commands for the remaining parts of the buffer, as many at a time as the queue holds, and waits for the end of each command.
    /// Returns false if a reset of the drive begins first.
    async fn move_all(&mut self) -> bool {
        while self.is_left() || self.free.len() < self.bytes.len() {
            let tail = self.tail;
            while self.is_left() && !self.free.is_empty() {
                self.submit().await;
            }
            if self.tail != tail {
                self.set(tail_of(QUEUE), &self.tail.to_le_bytes()).await;
            }
            let interrupt = self.transfer.interrupt;
            match interrupt.wait(self.system, self.costs, self.resets).await {
                Wake::Interrupt => {}
                Wake::Reset => return false,
                Wake::Check => {
                    if !self.look().await {
                        return false;
                    }
                    continue;
                }
            }
            if interrupt.control.is_some() {
                self.take_all_completions().await;
            } else if !self.take_completions().await {
                return false;
            }
            self.set(head_of(QUEUE), &self.head.to_le_bytes()).await;
            interrupt.rearm(self.system, self.costs).await;
        }
        true
    }

    /// Whether a part of the buffer needs a command.
    fn is_left(&self) -> bool {
        self.next < self.transfer.len || !self.again.is_empty()
    }

    /// Writes the submission entry for the next part of the buffer.
    async fn submit(&mut self) {
        let BlockTransfer {
            flow,
            writes_blocks,
            area,
            address,
            len,
            first_block,
            block,
            command,
            ..
        } = *self.transfer;
        let Some(id) = self.free.pop() else { return };
        let at = self.again.pop().unwrap_or(self.next);
        let part = command.min(len - at);
        self.next = self.next.max(at + part);
        self.offsets[usize::from(id)] = at;
        let (first, blocks) = (first_block + at / block, (part / block) as u32);
        let entry = Command {
            opcode: if writes_blocks { WRITE } else { READ },
            flags: 0,
            id,
            namespace: NAMESPACE,
            prp: self.pages(id, address + at, part).await,
            words: [first as u32, (first >> 32) as u32, blocks - 1, 0, 0, 0],
            label: Some((flow.0, (at / block) as u32)),
        };
        self.bytes[usize::from(id)] = part;
        let slot = area.address + u64::from(self.tail) * SUBMISSION;
        self.system.work(self.costs.memory_write).await;
        self.system.store(slot, &entry.emit()).await;
        self.tail = (self.tail + 1) % area.entries;
    }

    /// The two PRP entries for `len` bytes at `address`; writes the list of pages if there are more than two.
    async fn pages(&self, id: u16, address: u64, len: u64) -> [u64; 2] {
        let second = address / PAGE * PAGE + PAGE;
        let count = pages(address, len);
        if count <= 2 {
            return [address, if count == 2 { second } else { 0 }];
        }
        let rest = (second..address + len).step_by(PAGE as usize);
        let list: Vec<u8> = rest.flat_map(u64::to_le_bytes).collect();
        let at = self.transfer.area.list(id);
        self.system
            .work(self.costs.memory_write * (count - 1))
            .await;
        self.system.store(at, &list).await;
        [address, at]
    }

    /// Takes the completion entries in memory, and for each entry one interrupt. The caller has already received one interrupt. Returns false if
    /// a reset of the drive begins first.
    async fn take_completions(&mut self) -> bool {
        let mut come = 1;
        loop {
            match self.next_completion().await {
                Some(_) if come == 0 => {
                    let message = self.transfer.interrupt.message;
                    let wake = self
                        .system
                        .interrupt_or_reset(message, self.resets, None)
                        .await;
                    if wake == Wake::Reset {
                        return false;
                    }
                    come += u32::from(wake == Wake::Interrupt);
                }
                Some(entry) => {
                    come -= 1;
                    self.take(entry).await;
                }
                None if self.was_reset().await => return false,
                // The interrupt may arrive before the memory has stored the completion entry.
                None if come > 0 => self.poll().await,
                None => return true,
            }
        }
    }

    /// Takes the completion entries in memory while the vector is masked. One interrupt may signal several entries, or entries that were taken
    /// before the interrupt arrived.
    async fn take_all_completions(&mut self) {
        // The interrupt may arrive before the memory has stored the completion entry.
        self.poll().await;
        self.take_entries().await;
    }

    /// Takes the completion entries in memory. Returns whether there were any.
    async fn take_entries(&mut self) -> bool {
        let mut any = false;
        while let Some(entry) = self.next_completion().await {
            self.take(entry).await;
            any = true;
        }
        any
    }

    /// Checks the completion queue and the status of the drive without an interrupt. If the controller has failed, it is reset, and its commands
    /// in progress are submitted again. Returns false if it does not become ready, or if a reset of the drive has begun.
    async fn look(&mut self) -> bool {
        // If the driver does not mask the vector, each completion entry has its own interrupt, so the driver waits for it.
        let is_masked = self.transfer.interrupt.control.is_some();
        if is_masked && self.take_entries().await {
            self.system
                .log("a driver takes entries without an interrupt")
                .await;
            self.set(head_of(QUEUE), &self.head.to_le_bytes()).await;
            return true;
        }
        let has_failed = self.has_failed().await;
        if self.was_reset().await {
            return false;
        }
        if !has_failed {
            return true;
        }
        self.lose_commands();
        (self.tail, self.head, self.phase) = (0, 0, true);
        self.disable().await && self.enable().await
    }

    /// Whether the controller has failed.
    async fn has_failed(&self) -> bool {
        let status = self.status().await;
        status.is_some_and(|status| status & FATAL != 0)
    }

    /// Whether a reset of the drive has begun since it was brought up.
    async fn was_reset(&self) -> bool {
        let resets = self.system.resets(self.transfer.interrupt.message).await;
        resets != self.resets
    }

    /// The next completion entry, if the drive has written it.
    async fn next_completion(&self) -> Option<End> {
        let at = self.transfer.area.completions() + u64::from(self.head) * COMPLETION;
        self.end_at(at, self.phase).await
    }

    /// The completion entry at this address, if it has this phase tag.
    async fn end_at(&self, address: u64, phase: bool) -> Option<End> {
        let bytes = self.system.load(address, COMPLETION as usize).await;
        let end = End::parse(&bytes.try_into().ok()?);
        (end.phase == phase).then_some(end)
    }

    async fn take(&mut self, entry: End) {
        self.head = (self.head + 1) % self.transfer.area.entries;
        self.phase ^= self.head == 0;
        let is_known = usize::from(entry.id) < self.bytes.len() && !self.free.contains(&entry.id);
        if !is_known {
            let what = "a completion entry of an NVMe drive names no open command";
            return self.system.log(what).await;
        }
        self.free.push(entry.id);
        let bytes = self.bytes[usize::from(entry.id)];
        let failed = !entry.is_success;
        let ended = if failed {
            &mut self.ended.1
        } else {
            &mut self.ended.0
        };
        *ended += bytes;
        if failed {
            let failed = Observation::Failed {
                flow: self.transfer.flow,
                bytes: bytes as u32,
                offset: Some(self.offsets[usize::from(entry.id)]),
            };
            self.system.report(failed).await;
        }
    }

    /// Stores a register of the controller.
    async fn set(&self, register: u64, bytes: &[u8]) {
        let address = self.transfer.registers + register;
        self.system.set(self.costs, address, bytes).await;
    }
}

/// The identifier of the pair of I/O queues.
const QUEUE: u16 = 1;
/// Number of entries of each admin queue. Our choice: they fit in one page, and the driver needs two commands.
const ADMIN_ENTRIES: u32 = 4;
/// The number of times that the driver enables a controller that fails at once. Our choice.
const MOST_STARTS: u32 = 3;
/// The longest time in which a controller becomes ready (NVM Express 1.4, 3.1.1: CAP.TO, in units of 500 ms).
const LONGEST_START: Span = Span::from_us(500_000);
/// The time between two reads of the controller's status, as in Linux. Our choice: 1 ms.
const START_PAUSE: Span = Span::from_us(1_000);

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_parts_of_an_area_do_not_overlap_and_no_list_crosses_a_page(entries in 2_u32..=4096, kib in 3_u32..=10) {
            let area = Area { address: 0x10_0000, entries, max_transfer: 1024 << kib };
            let submissions = u64::from(entries) * SUBMISSION;
            assert!(area.address + submissions <= area.completions());
            let completions = u64::from(entries) * COMPLETION;
            assert!(area.completions() + completions <= area.state());
            assert!(area.state() + 20 <= area.list(0));
            for id in [0, 1, entries as u16 - 1] {
                let (first, end) = (area.list(id), area.list(id) + area.max_transfer / PAGE * 8);
                assert_eq!(first / PAGE, (end - 1) / PAGE);
                assert!(end <= area.address + area.size());
            }
            assert_eq!(area.size() % PAGE, 0);
        }
    }
}

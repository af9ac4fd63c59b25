//! The controller: its registers with their handshakes, its queues, its transfers and its interrupts.

mod admin;
mod completion;
mod data;

use std::collections::{BTreeMap, VecDeque};

use peerlane_device::{Access, Answer, Failure, Mark, Misuse, Model, Shell};

use crate::command::{Command, SUBMISSION, Status};
use crate::events::{Event, Events};
use crate::features::Features;
use crate::logs::Logs;
use crate::media::Media;
use crate::parameters::{MOST_QUEUES, NvmeParameters};
use crate::progress::{Action, Outcome, Slots};
use crate::queues::{CompletionQueue, SubmissionQueue};
use crate::registers::{
    DOORBELLS, ENABLE, Effect, FATAL, READY, Registers, SHUT_DOWN, SHUTDOWN_STATUS, SHUTTING_DOWN,
};

/// An NVM Express drive.
#[derive(Debug)]
pub struct Nvme {
    parameters: NvmeParameters,
    serial: String,
    registers: Registers,
    features: Features,
    logs: Logs,
    events: Events,
    /// Whether software was notified of the current temperature warning.
    is_warned: bool,
    submissions: Vec<Option<SubmissionQueue>>,
    completions: Vec<Option<CompletionQueue>>,
    slots: Slots,
    /// The slots of the commands that have data for host memory, oldest first.
    to_send: VecDeque<usize>,
    state: State,
    media: Media,
    /// The index of the submission queue whose turn is next.
    turn: usize,
    /// The purposes of requests and timers in progress, by their tags.
    purposes: BTreeMap<u64, Purpose>,
    tags: u64,
    /// Number of reads and writes of host memory in progress.
    transfers: usize,
    /// The time since which at least one command has been in progress.
    busy_since: Option<u64>,
}

/// The state of the handshake with `CC.EN` and `CSTS.RDY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Disabled,
    /// The controller is enabled, and becomes ready after a delay.
    Starting,
    Ready,
    /// The controller was disabled, and transfers that it had begun before are still in progress.
    Stopping,
}

/// The purpose of a request or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A read of entries of a submission queue: the number of the queue, and the number of entries.
    Entries(u16, u32),
    /// A read of a PRP list of the command in a slot.
    List(usize),
    /// A read of data for the command in a slot: the slot, and the offset of the data.
    Data(usize, usize),
    /// A write of data of the command in a slot.
    Sent(usize),
    /// A write of a completion entry.
    Entry,
    /// A transfer that was begun before a reset of the controller; its result is ignored.
    Lost,
    /// A timer for the end of an access to the media by the command in a slot.
    Media(usize),
    /// A timer for the time at which the controller becomes ready.
    Ready,
    /// A timer for the end of the shutdown.
    ShutDown,
    /// A timer for the longest time of interrupt coalescing for a completion queue.
    Coalesced(u16),
}

impl Purpose {
    fn is_timer(self) -> bool {
        matches!(
            self,
            Purpose::Media(_) | Purpose::Ready | Purpose::ShutDown | Purpose::Coalesced(_)
        )
    }
}

impl Model for Nvme {
    /// Handles a reset of the function. The state returns to the state after power-on, except for the blocks and the logs. Virtual functions
    /// have no part in the drive.
    fn reset(&mut self, function: u8, _: &mut Shell<'_>) {
        if function > 0 {
            return;
        }
        self.registers = Registers::default();
        self.purposes.clear();
        self.transfers = 0;
        self.state = State::Disabled;
        self.forget();
    }

    fn read(&mut self, access: Access, into: &mut [u8], _: &mut Shell<'_>) -> Answer {
        self.registers.read(access, into, &self.parameters);
        Answer::Now
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        for effect in self.registers.write(access, bytes) {
            match effect {
                Effect::Configured(before) => self.configure(before, shell),
                Effect::Unmasked => self.unmask(shell),
            }
        }
        if access.offset >= DOORBELLS && access.offset.is_multiple_of(4) {
            for (number, value) in (0..).zip(bytes.as_chunks().0) {
                let doorbell = (access.offset - DOORBELLS) / 4 + number;
                self.ring(
                    doorbell as usize,
                    u32::from_le_bytes(*value) & 0xffff,
                    shell,
                );
            }
        }
        self.go_on(shell);
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        let purpose = self.end_transfer(tag);
        match (purpose, outcome) {
            (Some(Purpose::Entries(queue, count)), Ok(bytes)) => {
                self.take_entries(queue, count, bytes, shell);
            }
            (Some(Purpose::Entries(..)), Err(_)) => self.registers.status |= FATAL,
            (Some(Purpose::List(slot)), outcome) => self.take_list(slot, outcome, shell),
            (Some(Purpose::Data(slot, offset)), outcome) => {
                self.take_data(slot, offset, outcome, shell);
            }
            _ => {}
        }
        self.go_on(shell);
    }

    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        let purpose = self.end_transfer(tag);
        if let Some(Purpose::Sent(slot)) = purpose {
            self.take_sent(slot, shell);
        }
        // No work of the controller waits for the transmission of a completion entry.
        if purpose != Some(Purpose::Entry) {
            self.go_on(shell);
        }
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        match self.purposes.remove(&timer) {
            Some(Purpose::Media(slot)) => self.end_access(slot, shell),
            Some(Purpose::Ready) => self.begin(),
            Some(Purpose::ShutDown) => {
                self.registers.status &= !SHUTDOWN_STATUS;
                self.registers.status |= SHUT_DOWN;
            }
            Some(Purpose::Coalesced(queue)) => self.interrupt(queue, shell),
            _ => {}
        }
        self.go_on(shell);
    }
}

impl Nvme {
    /// A drive. Its serial number is made from `device`, the name of the device.
    pub fn new(parameters: &NvmeParameters, device: &str) -> Self {
        Nvme {
            features: Features::new(0, 0, false),
            slots: Slots::new(parameters.slots()),
            to_send: VecDeque::new(),
            media: Media::new(parameters),
            parameters: parameters.clone(),
            serial: device.to_owned(),
            registers: Registers::default(),
            logs: Logs::default(),
            events: Events::default(),
            is_warned: false,
            submissions: Vec::new(),
            completions: Vec::new(),
            state: State::Disabled,
            turn: 0,
            purposes: BTreeMap::new(),
            tags: 0,
            transfers: 0,
            busy_since: None,
        }
    }

    /// Writes blocks from byte `offset` on, before a run.
    pub fn fill(&mut self, offset: u64, bytes: &[u8]) {
        self.media.store(offset, bytes);
    }

    /// Whether a command waits for the media.
    pub fn accesses_media(&self) -> bool {
        self.slots.accesses_media()
    }

    /// Whether at least nine of ten dies have work at `now` (in femtoseconds). If fewer have work, more commands would use more dies at the same
    /// time.
    pub fn keeps_media_busy(&self, now: u64) -> bool {
        self.media.is_busy(now)
    }

    /// Whether a command is in progress.
    pub fn has_commands(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Drops queues and commands, and sets features to their defaults.
    fn forget(&mut self) {
        let parameters = &self.parameters;
        let vectors = MOST_QUEUES + 1;
        let queues = parameters.io_queues as u16;
        self.features = Features::new(queues, vectors, parameters.has_cache());
        self.slots = Slots::new(parameters.slots());
        self.to_send.clear();
        self.events = Events::default();
        self.is_warned = false;
        self.submissions = vec![None; usize::from(queues) + 1];
        self.completions = vec![None; usize::from(queues) + 1];
        self.turn = 0;
        self.busy_since = None;
    }

    /// Handles a change of Controller Configuration from the value `before`.
    fn configure(&mut self, before: u32, shell: &mut Shell<'_>) {
        let is_enabled = self.registers.configuration & ENABLE != 0;
        let was_enabled = before & ENABLE != 0;
        if is_enabled && !was_enabled && self.state == State::Disabled {
            self.start(shell);
        }
        if was_enabled && !is_enabled {
            self.stop(shell);
        }
        let status = self.registers.status & SHUTDOWN_STATUS;
        if self.registers.asks_for_shutdown() && status == 0 {
            self.registers.status |= SHUTTING_DOWN;
            let now = shell.now_fs();
            let after = self.media.flush(now) - now + self.parameters.shutdown_time.as_fs();
            self.wait(Purpose::ShutDown, after, shell);
        }
    }

    fn start(&mut self, shell: &mut Shell<'_>) {
        if !self.registers.is_possible() {
            self.registers.status |= FATAL;
            return;
        }
        self.state = State::Starting;
        self.wait(Purpose::Ready, self.parameters.ready_time.as_fs(), shell);
    }

    /// Makes the controller ready, with the admin queues.
    fn begin(&mut self) {
        let [submission, completion] = self.registers.admin_queues();
        self.submissions[0] = Some(SubmissionQueue::new(submission.0, submission.1, 0));
        self.completions[0] = Some(CompletionQueue::new(completion.0, completion.1, Some(0)));
        self.state = State::Ready;
        self.registers.status |= READY;
    }

    /// Resets the controller because `CC.EN` has changed to 0. `CSTS.RDY` becomes 0 when no transfer is in progress.
    fn stop(&mut self, shell: &mut Shell<'_>) {
        for queue in self.completions.iter().flatten() {
            if let Some(vector) = queue.vector {
                shell.withdraw(vector);
            }
        }
        self.purposes.retain(|_, purpose| !purpose.is_timer());
        for purpose in self.purposes.values_mut() {
            *purpose = Purpose::Lost;
        }
        self.forget();
        self.registers.status &= READY;
        self.state = State::Stopping;
    }

    fn go_on(&mut self, shell: &mut Shell<'_>) {
        if self.state == State::Stopping && self.transfers == 0 {
            self.state = State::Disabled;
            self.registers.reset_controller();
            if self.registers.configuration & ENABLE != 0 {
                self.start(shell);
            }
        }
        if !self.is_working() {
            return;
        }
        while let Some((id, result)) = self.events.next() {
            self.complete(0, id, Ok(result));
        }
        self.delete_queues();
        self.post(shell);
        if self.registers.status & SHUTDOWN_STATUS == 0 {
            self.fetch(shell);
        }
    }

    fn is_working(&self) -> bool {
        self.state == State::Ready && self.registers.status & FATAL == 0
    }

    fn ring(&mut self, doorbell: usize, value: u32, shell: &mut Shell<'_>) {
        if !self.is_working() {
            return;
        }
        let queue = doorbell / 2;
        let rung = if doorbell.is_multiple_of(2) {
            let queue = self.submissions.get_mut(queue).and_then(Option::as_mut);
            queue.map(|queue| queue.ring(value))
        } else {
            let queue = self.completions.get_mut(queue).and_then(Option::as_mut);
            let rung = queue.map(|queue| {
                let is_right = queue.ring(value);
                if queue.is_empty() {
                    (queue.held, queue.is_pending) = (0, false);
                }
                (is_right, queue.vector)
            });
            if let Some((_, Some(vector))) = rung {
                self.withdraw(vector, shell);
            }
            rung.map(|(is_right, _)| is_right)
        };
        let event = match rung {
            Some(true) => return,
            Some(false) => Event::InvalidDoorbellValue,
            None => Event::InvalidDoorbellRegister,
        };
        self.logs.add_other();
        self.events.raise(event);
        self.go_on(shell);
    }

    /// Withdraws the interrupt of a vector if software has taken all entries of all queues with this vector (section 7.5).
    fn withdraw(&mut self, vector: u16, shell: &mut Shell<'_>) {
        let mut queues = self.completions.iter().flatten();
        if queues.all(|queue| queue.vector != Some(vector) || queue.is_empty()) {
            shell.withdraw(vector);
        }
    }

    /// Reads entries of the submission queues. The queues take turns.
    fn fetch(&mut self, shell: &mut Shell<'_>) {
        let burst = self.features.burst();
        let count = self.submissions.len();
        let mut idle = 0;
        while idle < count {
            let number = self.turn;
            self.turn = (self.turn + 1) % count;
            let most = self.slots.free(number as u16).min(burst);
            let next = self.submissions[number].as_mut().and_then(|queue| {
                let next = queue.next(most)?;
                queue.is_fetching = true;
                Some(next)
            });
            let Some((address, entries)) = next else {
                idle += 1;
                continue;
            };
            idle = 0;
            self.slots.reserve(entries);
            let purpose = Purpose::Entries(number as u16, entries);
            let len = u64::from(entries) * SUBMISSION;
            let mark = self.mark_of_entries();
            if !self.transfer(purpose, shell, |shell, tag| {
                shell.marked(mark).read(tag, address, len)
            }) {
                self.registers.status |= FATAL;
                return;
            }
        }
    }

    /// Begins the commands in submission entries that have arrived.
    fn take_entries(&mut self, number: u16, count: u32, bytes: &[u8], shell: &mut Shell<'_>) {
        self.slots.release(count);
        let Some(queue) = self.submissions[usize::from(number)].as_mut() else {
            return;
        };
        queue.is_fetching = false;
        queue.take(count);
        if queue.deleted_by.is_some() {
            return;
        }
        for entry in bytes.as_chunks().0 {
            self.take_command(number, Command::parse(entry), shell);
        }
    }

    fn take_command(&mut self, queue: u16, command: Command, shell: &mut Shell<'_>) {
        let is_open = self.slots.find(queue, command.id).is_some()
            || queue == 0 && self.events.has(command.id);
        let checked = if is_open {
            Err(Status::IdConflict)
        } else {
            command.check()
        };
        let begun = match checked {
            Err(status) => Err(status),
            Ok(()) if queue == 0 => self.execute_admin(&command, shell),
            Ok(()) => self.plan_io(&command),
        };
        let begun = begun.and_then(|outcome| match outcome {
            Outcome::Done(result) => {
                self.complete(queue, command.id, Ok(result));
                Ok(())
            }
            Outcome::Later => Ok(()),
            Outcome::Data(bytes) => {
                let len = bytes.len() as u64;
                self.keep(queue, &command, (Action::Send, bytes, len), shell)
            }
            Outcome::Move(action, len) => {
                self.keep(queue, &command, (action, Vec::new(), len), shell)
            }
        });
        if let Err(status) = begun {
            self.fail(queue, &command, status);
        }
    }

    /// Removes the submission queues that software has deleted, once none of their commands is in progress.
    fn delete_queues(&mut self) {
        for number in 1..self.submissions.len() {
            let Some(queue) = &self.submissions[number] else {
                continue;
            };
            if let Some(id) = queue.deleted_by
                && !queue.is_fetching
                && !self.slots.has(number as u16)
            {
                self.submissions[number] = None;
                self.complete(0, id, Ok(0));
            }
        }
    }

    /// The attributes of requests for submission entries, completion entries and PRP lists.
    fn mark_of_entries(&self) -> Mark {
        Mark {
            traffic_class: self.parameters.descriptor_traffic_class as u8,
            label: None,
        }
    }

    /// Begins a read or a write of host memory. Returns false if the request is invalid or cannot be accepted.
    fn transfer(
        &mut self,
        purpose: Purpose,
        shell: &mut Shell<'_>,
        ask: impl FnOnce(&mut Shell<'_>, u64) -> Result<(), Misuse>,
    ) -> bool {
        self.tags += 1;
        let begun = ask(shell, self.tags).is_ok();
        if begun {
            self.purposes.insert(self.tags, purpose);
            self.transfers += 1;
        }
        begun
    }

    fn end_transfer(&mut self, tag: u64) -> Option<Purpose> {
        let purpose = self.purposes.remove(&tag)?;
        self.transfers -= 1;
        Some(purpose)
    }

    /// Sets a timer, and returns its tag.
    fn wait(&mut self, purpose: Purpose, after_fs: u64, shell: &mut Shell<'_>) -> u64 {
        self.tags += 1;
        if shell.wake_after(self.tags, after_fs).is_ok() {
            self.purposes.insert(self.tags, purpose);
        }
        self.tags
    }
}

#[cfg(test)]
mod tests;

//! Completion entries and their interrupts.

use peerlane_device::Shell;

use crate::command::{Command, Completion, Status};
use crate::queues::CompletionQueue;

use super::{FATAL, Nvme, Purpose};

impl Nvme {
    /// Ends a command with an error, and adds the error to the error log.
    pub(super) fn fail(&mut self, queue: u16, command: &Command, status: Status) {
        self.logs.add(queue, command, status);
        self.complete(queue, command.id, Err(status));
    }

    /// Adds the end of a command to the queue of ends that wait for space in the completion queue.
    pub(super) fn complete(&mut self, queue: u16, id: u16, outcome: Result<u32, Status>) {
        let submissions = self.submissions[usize::from(queue)].as_ref();
        let place = submissions.map(|one| usize::from(one.completions));
        if let Some(completions) = place.and_then(|place| self.completions[place].as_mut()) {
            completions
                .waiting
                .push_back(Completion { queue, id, outcome });
        }
    }

    /// Writes completion entries, each with its interrupt, as long as the completion queues have space.
    pub(super) fn post(&mut self, shell: &mut Shell<'_>) {
        for number in 0..self.completions.len() {
            while let Some((completion, address, phase)) = self.completions[number]
                .as_mut()
                .and_then(CompletionQueue::next)
            {
                let queue = self.submissions[usize::from(completion.queue)].as_ref();
                let head = queue.map_or(0, |queue| queue.head as u16);
                let entry = completion.emit(head, phase);
                let mark = self.mark_of_entries();
                if !self.transfer(Purpose::Entry, shell, |shell, tag| {
                    shell.marked(mark).write_tagged(tag, address, &entry)
                }) {
                    self.registers.status |= FATAL;
                    return;
                }
                self.signal(number as u16, shell);
            }
        }
    }

    /// Signals an interrupt for a new entry of a completion queue, unless interrupt coalescing delays it.
    pub(super) fn signal(&mut self, number: u16, shell: &mut Shell<'_>) {
        let Some(queue) = self.completions[usize::from(number)].as_mut() else {
            return;
        };
        queue.held += 1;
        let vector = queue.vector.filter(|_| number > 0);
        let coalescing = vector.and_then(|vector| self.features.coalescing(vector));
        match (coalescing, queue.held) {
            (Some((count, time)), held) if held < count => {
                if held == 1 {
                    let timer = self.wait(Purpose::Coalesced(number), time, shell);
                    if let Some(queue) = &mut self.completions[usize::from(number)] {
                        queue.timer = Some(timer);
                    }
                }
            }
            _ => self.interrupt(number, shell),
        }
    }

    /// Signals an interrupt for the entries of a completion queue for which none was signalled.
    pub(super) fn interrupt(&mut self, number: u16, shell: &mut Shell<'_>) {
        let Some(queue) = self.completions[usize::from(number)].as_mut() else {
            return;
        };
        let held = std::mem::take(&mut queue.held);
        if let Some(timer) = queue.timer.take() {
            self.purposes.remove(&timer);
        }
        let Some(vector) = queue.vector.filter(|_| held > 0) else {
            return;
        };
        if vector < u32::BITS as u16 && self.registers.mask >> vector & 1 != 0 {
            queue.is_pending = true;
            return;
        }
        // The vector may not exist any more because of the scenario. If so, no interrupt is signalled.
        let _ = shell.interrupt(vector);
    }

    /// Signals the interrupts that wait for a mask, if their vectors are not masked any more.
    pub(super) fn unmask(&mut self, shell: &mut Shell<'_>) {
        let mask = self.registers.mask;
        for queue in self.completions.iter_mut().flatten() {
            let Some(vector) = queue.vector.filter(|_| queue.is_pending) else {
                continue;
            };
            if mask >> vector & 1 == 0 {
                queue.is_pending = false;
                let _ = shell.interrupt(vector);
            }
        }
    }
}

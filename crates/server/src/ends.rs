//! The end of a use: reset of the port, close of the handle, release of memory.

use std::os::fd::OwnedFd;

use session::Failure;
use sim::card_registers::PORT_CONTROL;
use sim::{AccessError, FpgaCard};

use crate::buffers::{Released, Which};
use crate::handles::{Named, State};
use crate::server::{Server, Watch};

/// Bits of the port's control register: the reset request, and its acknowledgement.
const IN_RESET: u64 = 1;
const RESET_DONE: u64 = 1 << 4;

/// Number of reads of the control register after which the server stops waiting for the acknowledgement of a reset.
const RESET_LOOKS: u32 = 1000;

impl Server {
    /// Puts the port of an accelerator into reset and releases it, as its driver does.
    pub(crate) fn reset(&mut self, object: Named, watch: Watch<'_>) -> Result<(), Failure> {
        self.pass(self.thread.costs().system_call, watch);
        // If the port has not acknowledged the reset, it is taken out of reset all the same.
        let begun = self.begin_reset(object, watch);
        begun.and(self.end_reset(object, watch))
    }

    /// Puts the port of an accelerator into reset, and waits for the acknowledgement of the port, which is sent when no response is outstanding.
    /// All earlier writes of the accelerator have then reached memory, because the completion of the read does not pass them.
    pub(crate) fn begin_reset(&mut self, object: Named, watch: Watch<'_>) -> Result<(), Failure> {
        let control = self.port_control(object)?;
        let (thread, simulation) = (&self.thread, &mut self.simulation);
        let mut begin = || {
            thread.store(simulation, control, &IN_RESET.to_le_bytes(), watch)?;
            for _ in 0..RESET_LOOKS {
                let word = thread.load_word(simulation, control, watch)?;
                if word & RESET_DONE != 0 {
                    break;
                }
            }
            Ok(())
        };
        begin().map_err(|_: AccessError| Failure::Exception)
    }

    pub(crate) fn end_reset(&mut self, object: Named, watch: Watch<'_>) -> Result<(), Failure> {
        let control = self.port_control(object)?;
        self.store(control, &0_u64.to_le_bytes(), watch)
    }

    fn port_control(&self, object: Named) -> Result<u64, Failure> {
        let slots = &self.cards[object.card].place.slots;
        let slot = object.slot.and_then(|slot| slots.get(slot));
        Ok(slot.ok_or(Failure::NotSupported)?.port + PORT_CONTROL)
    }

    /// Closes a handle. As in the driver, the last close of an accelerator resets its port, and releases all memory that was pinned for it;
    /// transfers may continue until then.
    pub(crate) fn close(&mut self, handle: u64) {
        let Some(object) = self.handles.close(handle) else {
            return;
        };
        if self.handles.state(object) != State::Free {
            return;
        }
        if object.slot.is_some() {
            // The port of a card that does not answer cannot be reset; its memory is released all the same.
            let _ = self.reset(object, &mut || true);
        }
        self.buffers
            .unpin_all(&mut self.simulation, &self.host, object);
    }

    /// Shares memory with devices. Released memory is used again when no transfer is in progress in the fabric. If no other memory is left,
    /// released memory that no device has written to is used before that time.
    pub(crate) fn pin(
        &mut self,
        of: (u64, Named),
        file: &OwnedFd,
        size: (u64, u64),
    ) -> Result<(u64, u64), Failure> {
        if self.is_quiet() {
            self.give_back(Which::All);
        }
        let simulation = &mut self.simulation;
        let pinned = self.buffers.pin(simulation, &self.host, of, file, size);
        if pinned != Err(Failure::NoMemory) || !self.buffers.has_released() {
            return pinned;
        }
        self.give_back(Which::Unwritten);
        let simulation = &mut self.simulation;
        self.buffers.pin(simulation, &self.host, of, file, size)
    }

    /// Whether there is released memory, and no device can write to memory until a program starts an operation. Then no transfer is in progress,
    /// and no accelerator waits for a time.
    fn is_quiet(&mut self) -> bool {
        let cards = &self.cards;
        let simulation = &mut self.simulation;
        self.buffers.has_released()
            && simulation.is_at_rest()
            && cards.iter().all(|card| {
                let model = simulation.card_in(&card.place);
                model.is_none_or(FpgaCard::is_quiet)
            })
    }

    /// Gives released memory back to the host, and logs how many bytes were written to it after its release.
    fn give_back(&mut self, which: Which) {
        let (simulation, host) = (&mut self.simulation, &self.host);
        let given = self.buffers.give_back(simulation, host, which);
        self.log_late_writes(&given);
    }

    fn log_late_writes(&mut self, released: &[Released]) {
        for one in released.iter().filter(|one| one.written() > 0) {
            let card = &self.cards[one.card].place.name;
            // The card is a node of the fabric.
            let _ = self
                .simulation
                .log_written_after_release(card, one.at, one.written());
        }
    }

    /// Closes all handles at the end of the session, and logs how many bytes were written to released memory.
    pub(crate) fn close_all(&mut self) {
        for handle in self.handles.all() {
            self.close(handle);
        }
        if self.is_quiet() {
            return self.give_back(Which::All);
        }
        // The memory is not given back, because the simulation allocates no more memory.
        let released = self.buffers.take_released();
        self.log_late_writes(&released);
    }
}

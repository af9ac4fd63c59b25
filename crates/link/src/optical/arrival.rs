//! The receiving side of an optical end: frames and control blocks that arrive.

use crate::LinkContext;
use kernel::Span;
use packet::{Frame, Observation, PacketId, Refusal, Verdict};

use super::receiver::{Damage, inject_bit_errors};
use super::{FlowControl, Incoming, OpticalEnd, OpticalEvent};
use packet::{Block, FibreFrame};

impl OpticalEnd {
    /// Handles a frame or a control block that has arrived.
    pub fn receive(&mut self, frame: Frame, cx: &mut impl LinkContext) -> OpticalEvent {
        let is_dark = cx.now() >= self.severed;
        match frame {
            Frame::Fibre(frame) if is_dark => {
                if self.resend.is_none() {
                    lose(frame.packet, Refusal::SeveredFibre, cx);
                } else {
                    // The sender keeps the packet and will report its loss.
                    cx.packets().release(frame.packet);
                }
                OpticalEvent::Nothing
            }
            Frame::Fibre(frame) => self.receive_frame(frame, cx),
            Frame::Block(_) if is_dark || self.is_corrupted(1) => OpticalEvent::Nothing,
            Frame::Block(block) => {
                self.reset_timeouts();
                self.receive_block(block, cx)
            }
            Frame::Tlp(_)
            | Frame::Dllp(_)
            | Frame::OrderedSet(_)
            | Frame::Bus(_)
            | Frame::ReturnedSpace(_) => {
                panic!("a fibre carries frames and control blocks")
            }
        }
    }

    /// Resets the count of timeouts, because a readable frame or block shows that the fibre works.
    pub(super) fn reset_timeouts(&mut self) {
        if let Some(resend) = &mut self.resend {
            resend.timeouts = 0;
        }
    }

    pub(super) fn is_corrupted(&mut self, cycles: u32) -> bool {
        let bits = self.timing.bits(cycles);
        let errors = self.errors.as_mut();
        errors.is_some_and(|errors| !errors.wrong_bits(bits).is_empty())
    }

    pub(super) fn receive_frame(
        &mut self,
        frame: FibreFrame,
        cx: &mut impl LinkContext,
    ) -> OpticalEvent {
        let cycles = self.cycles_of(frame.packet, cx);
        let damage = match &mut self.errors {
            Some(errors) => inject_bit_errors(errors, &frame, cycles, &self.timing, cx.packets()),
            None => Damage::None,
        };
        let native = self.flow_control == FlowControl::Native;
        let overflows = native && self.occupied + cycles > self.room;
        let complete = if self.resend.is_some() {
            // A frame that overflows the buffer must be sent again.
            let damage = if overflows { Damage::Payload } else { damage };
            if !self.accept_in_order(&frame, damage, cx) {
                cx.packets().release(frame.packet);
                return OpticalEvent::Nothing;
            }
            cx.now()
        } else {
            if damage == Damage::Header {
                lose(frame.packet, Refusal::BitErrors, cx);
                return OpticalEvent::Nothing;
            }
            let intake = &mut self.intakes[usize::from(frame.channel)];
            let lost = intake.catch_up(frame.sequence);
            intake.received = intake.received.wrapping_add(cycles as u16);
            if lost {
                self.release(frame.channel, 0, Span::ZERO, cx);
            }
            cx.now() + self.timing.cycle * u64::from(cycles - 1 + u32::from(frame.gaps))
        };
        if native {
            if overflows {
                lose(frame.packet, Refusal::Overflow, cx);
                return OpticalEvent::Nothing;
            }
            self.occupied += cycles;
            if !self.pausing && self.occupied > self.marks.0 {
                self.pausing = true;
                self.send_block(Block::Pause, Span::ZERO, cx);
            }
        }
        OpticalEvent::Packet(Incoming {
            packet: frame.packet,
            channel: frame.channel,
            cycles,
            complete,
            damaged: frame.damaged || damage != Damage::None,
        })
    }

    /// Whether the frame is intact and the next in sequence. Sends an acknowledgement or a refusal to the far end.
    pub(super) fn accept_in_order(
        &mut self,
        frame: &FibreFrame,
        damage: Damage,
        cx: &mut impl LinkContext,
    ) -> bool {
        let Some(resend) = &mut self.resend else {
            return true;
        };
        let sequence = (damage == Damage::None).then_some(frame.sequence);
        let verdict = resend.judge(sequence);
        let next = resend.expected();
        match verdict {
            Verdict::Accepted | Verdict::Duplicate => {
                self.send_block(Block::Acknowledge(next), Span::ZERO, cx);
            }
            Verdict::Nak => self.send_block(Block::Refuse(next), Span::ZERO, cx),
            _ => {}
        }
        verdict == Verdict::Accepted
    }

    pub(super) fn receive_block(
        &mut self,
        block: Block,
        cx: &mut impl LinkContext,
    ) -> OpticalEvent {
        match block {
            Block::Freed { channel, cycles } => {
                let lane = &mut self.lanes[usize::from(channel)];
                let limit = cycles.wrapping_add(self.room as u16);
                // A limit that is not above the last one is old, and is ignored.
                if limit.wrapping_sub(lane.limit).cast_signed() <= 0 {
                    return OpticalEvent::Nothing;
                }
                lane.limit = limit;
            }
            Block::Sent { channel, cycles } => {
                if self.intakes[usize::from(channel)].catch_up(cycles) {
                    self.release(channel, 0, Span::ZERO, cx);
                }
                return OpticalEvent::Nothing;
            }
            Block::Acknowledge(next) => self.acknowledged(next, cx),
            Block::Refuse(next) => {
                self.acknowledged(next, cx);
                return self.send_again(cx);
            }
            Block::Pause => {
                self.paused = true;
                return OpticalEvent::Nothing;
            }
            Block::Resume => {
                self.paused = false;
                if self.resend.as_ref().is_some_and(|resend| resend.again > 0) {
                    return self.resend_next(cx);
                }
            }
        }
        OpticalEvent::Ready
    }

    pub(super) fn acknowledged(&mut self, next: u16, cx: &mut impl LinkContext) {
        let Some(resend) = &mut self.resend else {
            return;
        };
        for done in resend.acknowledge(next) {
            cx.packets().release(done.packet);
        }
        self.again.clear();
        self.await_acknowledgement(cx);
    }
}

/// Reports the loss of a packet and releases it.
fn lose(packet: PacketId, why: Refusal, cx: &mut impl LinkContext) {
    let lost = Observation::refused(&cx.packets()[packet], why);
    cx.observe(lost);
    cx.packets().release(packet);
}

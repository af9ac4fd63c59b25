//! Retransmission (go-back-N): frames are numbered, and stored until the far end has acknowledged them.

use std::collections::VecDeque;

use packet::Verdict;

use super::Outgoing;

/// The retransmission state of one end, for both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Resend {
    /// Frames that are not acknowledged, oldest first, each with its cycles.
    kept: VecDeque<(Outgoing, u32)>,
    /// The cycles of the stored frames, and the size of the buffer for them.
    cycles: u32,
    room: u32,
    /// The number of the oldest stored frame, or of the next frame if none is stored.
    oldest: u16,
    /// The number of stored frames that must be sent again before any new frame.
    pub(super) again: usize,
    /// Timeouts since the last frame was acknowledged.
    pub(super) timeouts: u32,
    /// The number of the next frame to receive.
    expected: u16,
    /// Whether the expected frame was refused and has not arrived since then.
    refused: bool,
}

impl Resend {
    pub(super) fn new(room: u32) -> Self {
        Resend {
            room,
            ..Resend::default()
        }
    }

    pub(super) fn has_room(&self, cycles: u32) -> bool {
        self.again == 0 && (self.cycles + cycles <= self.room || self.kept.is_empty())
    }

    /// Stores a frame that is sent for the first time, and returns its number.
    pub(super) fn keep(&mut self, outgoing: Outgoing, cycles: u32) -> u16 {
        self.kept.push_back((outgoing, cycles));
        self.cycles += cycles;
        self.oldest.wrapping_add(self.kept.len() as u16 - 1)
    }

    /// Returns the next frame to send again, and its number.
    pub(super) fn next_again(&mut self) -> Option<(Outgoing, u16)> {
        let place = self.kept.len().checked_sub(self.again)?;
        let (outgoing, _) = self.kept.get(place)?;
        self.again -= 1;
        Some((*outgoing, self.oldest.wrapping_add(place as u16)))
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Releases the frames before `next`, which the far end has received.
    pub(super) fn acknowledge(&mut self, next: u16) -> Vec<Outgoing> {
        let count = usize::from(next.wrapping_sub(self.oldest));
        if count > self.kept.len() {
            return Vec::new();
        }
        if count > 0 {
            self.timeouts = 0;
        }
        self.oldest = next;
        let done: Vec<_> = self.kept.drain(..count).collect();
        self.cycles -= done.iter().map(|(_, cycles)| cycles).sum::<u32>();
        self.again = self.again.min(self.kept.len());
        done.into_iter().map(|(outgoing, _)| outgoing).collect()
    }

    pub(super) fn send_again(&mut self) {
        self.again = self.kept.len();
    }

    /// Returns all unacknowledged frames, because the fibre is dark.
    pub(super) fn give_up(&mut self) -> Vec<Outgoing> {
        self.again = 0;
        self.cycles = 0;
        self.kept.drain(..).map(|(outgoing, _)| outgoing).collect()
    }

    pub(super) fn expected(&self) -> u16 {
        self.expected
    }

    /// Decides on a received frame with this number, or on an unreadable frame (`None`).
    pub(super) fn judge(&mut self, sequence: Option<u16>) -> Verdict {
        let ahead = sequence.map(|sequence| sequence.wrapping_sub(self.expected).cast_signed());
        match ahead {
            Some(0) => {
                self.expected = self.expected.wrapping_add(1);
                self.refused = false;
                Verdict::Accepted
            }
            Some(ahead) if ahead < 0 => Verdict::Duplicate,
            _ if std::mem::replace(&mut self.refused, true) => Verdict::Discarded,
            _ => Verdict::Nak,
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::Time;

    use super::*;
    use packet::Packets;

    /// A retransmission state that stores frames of four cycles each.
    fn with(frames: usize) -> Resend {
        let mut resend = Resend::new(12);
        for _ in 0..frames {
            resend.keep(frame(), 4);
        }
        resend
    }

    fn frame() -> Outgoing {
        Outgoing {
            packet: Packets::default().claim(),
            channel: 0,
            damaged: false,
            complete: Time::ZERO,
        }
    }

    fn numbers_again(resend: &mut Resend) -> Vec<u16> {
        std::iter::from_fn(|| resend.next_again().map(|(_, number)| number)).collect()
    }

    #[test]
    fn frames_are_kept_until_all_before_a_number_are_acknowledged() {
        let mut resend = with(3);
        assert!(!resend.has_room(4));
        assert_eq!(resend.acknowledge(2).len(), 2);
        assert!(resend.has_room(8) && !resend.has_room(9));
        assert_eq!(resend.keep(frame(), 4), 3);
        assert_eq!(resend.acknowledge(4).len(), 2);
        assert!(!resend.is_waiting());
    }

    #[test]
    fn a_frame_larger_than_the_buffer_goes_alone() {
        let mut resend = with(0);
        assert!(resend.has_room(100));
        resend.keep(frame(), 100);
        assert!(!resend.has_room(1));
    }

    #[test]
    fn an_acknowledgement_of_what_was_not_sent_or_of_the_past_says_nothing() {
        let mut resend = with(3);
        assert!(resend.acknowledge(4).is_empty());
        assert_eq!(resend.acknowledge(2).len(), 2);
        assert!(resend.acknowledge(1).is_empty());
        assert_eq!(resend.acknowledge(3).len(), 1);
    }

    #[test]
    fn everything_kept_is_sent_again_before_anything_new() {
        let mut resend = with(2);
        resend.send_again();
        assert!(!resend.has_room(1));
        assert_eq!(resend.next_again().map(|(_, number)| number), Some(0));
        // A frame that is acknowledged in the meantime is not sent again.
        assert_eq!(resend.acknowledge(1).len(), 1);
        assert_eq!(numbers_again(&mut resend), [1]);
        assert!(resend.has_room(8));
    }

    #[test]
    fn numbers_go_round() {
        let mut resend = with(0);
        for number in 0..=u16::MAX {
            assert_eq!(resend.keep(frame(), 4), number);
            assert_eq!(resend.acknowledge(number.wrapping_add(1)).len(), 1);
            assert_eq!(resend.judge(Some(number)), Verdict::Accepted);
        }
        assert_eq!(resend.keep(frame(), 4), 0);
        assert_eq!(resend.judge(Some(0)), Verdict::Accepted);
        assert_eq!(resend.judge(Some(u16::MAX)), Verdict::Duplicate);
    }

    #[test]
    fn a_gap_is_refused_once_until_it_is_filled() {
        let mut resend = with(0);
        assert_eq!(resend.judge(Some(0)), Verdict::Accepted);
        assert_eq!(resend.judge(Some(2)), Verdict::Nak);
        assert_eq!(resend.judge(Some(3)), Verdict::Discarded);
        assert_eq!(resend.judge(None), Verdict::Discarded);
        assert_eq!(resend.judge(Some(0)), Verdict::Duplicate);
        assert_eq!(resend.judge(Some(1)), Verdict::Accepted);
        assert_eq!(resend.judge(None), Verdict::Nak);
        assert_eq!(resend.expected(), 2);
    }
}

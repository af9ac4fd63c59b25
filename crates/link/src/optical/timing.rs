//! The timing of frames on a channel that stops periodically for clock compensation.

use kernel::{Span, Time};
use protocol::aurora::{COMPENSATION_CYCLES, COMPENSATION_PERIOD, cycles};

use super::OpticalConfig;

/// The clock of one direction.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) cycle: Span,
    lanes: u32,
    /// The time of the first clock compensation, or `None` without clock compensation.
    phase: Option<Span>,
}

impl Timing {
    pub(super) fn new(config: &OpticalConfig) -> Self {
        Timing {
            cycle: config.parameters.cycle(),
            lanes: config.parameters.optical_lanes,
            phase: config.parameters.clock_compensation.then_some(config.phase),
        }
    }

    /// The number of cycles of a frame of `bytes` bytes.
    pub(super) fn cycles(&self, bytes: u32) -> u32 {
        cycles(bytes, self.lanes)
    }

    /// The number of bits on all lanes in `cycles` cycles.
    pub(super) fn bits(&self, cycles: u32) -> u64 {
        u64::from(cycles * self.lanes) * u64::from(protocol::aurora::BLOCK_BITS)
    }

    /// The number of bytes in the blocks of all lanes in `cycles` cycles.
    pub(super) fn bytes(&self, cycles: u32) -> u64 {
        u64::from(cycles * self.lanes) * u64::from(protocol::aurora::BLOCK_BYTES)
    }

    /// The start of the first and the end of the last cycle of a transmission that is ready at `at`.
    pub(super) fn pass(&self, at: Time, cycles: u32) -> (Time, Time) {
        let length = self.cycle * u64::from(cycles);
        let Some(phase) = self.phase else {
            return (at, at + length);
        };
        let period = self.cycle * COMPENSATION_PERIOD;
        let pause = self.cycle * COMPENSATION_CYCLES;
        let Some(since) = at.as_fs().checked_sub(phase.as_fs()) else {
            return (at, at + length);
        };
        let within = Span::from_fs(since % period.as_fs());
        let wait = if within < pause {
            Span::from_fs(pause.as_fs() - within.as_fs())
        } else {
            Span::ZERO
        };
        let begin = at + wait;
        // The rest of this compensation period, and then the number of further compensations during the frame.
        let room = period.as_fs() - (within + wait).as_fs();
        let over = (length.as_fs().saturating_sub(room)).div_ceil((period.as_fs()) - pause.as_fs());
        (begin, begin + length + pause * over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optical::OpticalParameters;

    fn timing() -> Timing {
        Timing::new(&OpticalConfig {
            parameters: OpticalParameters::default(),
            flight: Span::ZERO,
            near_pipeline: Span::ZERO,
            far_pipeline: Span::ZERO,
            phase: Span::ZERO,
            errors: None,
        })
    }

    #[test]
    fn four_lanes_of_ten_gigabits_move_32_bytes_in_six_and_four_tenths_nanoseconds() {
        assert_eq!(timing().cycle, Span::from_fs(6_400_000));
        assert_eq!(timing().cycles(1536), 49);
    }

    #[test]
    fn a_saturated_channel_loses_8_of_4992_cycles() {
        let timing = timing();
        let mut at = Time::ZERO;
        for _ in 0..100_000 {
            at = timing.pass(at, 49).1;
        }
        let share = (100_000.0 * 49.0 * 6.4) / at.as_ns();
        assert!((share - 4984.0 / 4992.0).abs() < 1e-5, "{share}");
    }

    #[test]
    fn a_frame_waits_for_a_compensation_or_is_interrupted_by_one() {
        let timing = timing();
        let cycle = timing.cycle;
        assert_eq!(
            timing.pass(Time::ZERO + cycle * 3, 2),
            (Time::ZERO + cycle * 8, Time::ZERO + cycle * 10)
        );
        assert_eq!(
            timing.pass(Time::ZERO + cycle * 4990, 4),
            (Time::ZERO + cycle * 4990, Time::ZERO + cycle * 5002)
        );
        assert_eq!(
            timing.pass(Time::ZERO + cycle * 4988, 4),
            (Time::ZERO + cycle * 4988, Time::ZERO + cycle * 4992)
        );
    }
}

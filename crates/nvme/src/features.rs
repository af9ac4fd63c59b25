//! Features that software reads and sets (NVM Express 1.4, section 5.21.1).

use crate::command::Status;
use crate::identify::WARNING_TEMPERATURE;

#[derive(Clone, Debug)]
pub struct Features {
    arbitration: u32,
    /// Thresholds of the composite temperature in kelvin: over-temperature and under-temperature.
    temperature: [u16; 2],
    error_recovery: u32,
    /// Whether the volatile write cache is enabled; none if the drive has no write cache.
    pub write_cache: Option<bool>,
    /// Number of I/O submission and completion queues that software may create.
    pub queues: [u16; 2],
    coalescing: u32,
    /// For each vector, whether coalescing is disabled.
    is_direct: Vec<bool>,
    atomicity: u32,
    /// The critical warnings that are reported as asynchronous events, as a mask.
    pub event_warnings: u8,
    most_queues: u16,
}

impl Features {
    /// The default features of a drive with up to `most_queues` I/O queues and with `vectors` interrupt vectors.
    pub fn new(most_queues: u16, vectors: u16, has_cache: bool) -> Self {
        Features {
            // Bursts of 8 commands (2^3).
            arbitration: 3,
            temperature: [WARNING_TEMPERATURE, 0],
            error_recovery: 0,
            write_cache: has_cache.then_some(true),
            queues: [most_queues; 2],
            coalescing: 0,
            is_direct: vec![false; vectors.into()],
            atomicity: 0,
            event_warnings: 0,
            most_queues,
        }
    }

    /// The value of a feature. `select` is dword 11 of the command, which selects the vector or the threshold.
    pub fn get(&self, feature: u8, select: u32) -> Result<u32, Status> {
        Ok(match feature {
            0x01 => self.arbitration,
            0x02 => 0,
            0x04 => self.temperature[threshold(select)?].into(),
            0x05 => self.error_recovery,
            0x06 => self.write_cache.ok_or(Status::InvalidField)?.into(),
            0x07 => self.allocated(),
            0x08 => self.coalescing,
            0x09 => {
                let direct = self.is_direct.get(usize::from(select as u16));
                let direct = *direct.ok_or(Status::InvalidField)?;
                select & 0xffff | u32::from(direct) << 16
            }
            0x0a => self.atomicity,
            0x0b => self.event_warnings.into(),
            _ => return Err(Status::InvalidField),
        })
    }

    /// Sets a feature to `value`, which is dword 11 of the command. `has_queues` is true if I/O queues exist. Returns dword 0 of the completion.
    pub fn set(&mut self, feature: u8, value: u32, has_queues: bool) -> Result<u32, Status> {
        match feature {
            0x01 => self.arbitration = value & 0xffff_ff07,
            // Power state 0 is the only power state.
            0x02 if (value & 0x1f) as u8 == 0 => {}
            0x04 => self.temperature[threshold(value)?] = value as u16,
            // An error for blocks that were never written (DULBE) is not supported.
            0x05 if value >> 16 & 1 == 0 => self.error_recovery = value & 0xffff,
            0x06 if self.write_cache.is_some() => self.write_cache = Some(value & 1 != 0),
            0x07 => {
                if has_queues {
                    return Err(Status::SequenceError);
                }
                let asked = [value as u16, (value >> 16) as u16];
                if asked.contains(&u16::MAX) {
                    return Err(Status::InvalidField);
                }
                self.queues = asked.map(|count| (count + 1).min(self.most_queues));
                return Ok(self.allocated());
            }
            0x08 => self.coalescing = value & 0xffff,
            0x09 => {
                let direct = self.is_direct.get_mut(usize::from(value as u16));
                *direct.ok_or(Status::InvalidField)? = value >> 16 & 1 != 0;
            }
            0x0a => self.atomicity = value & 1,
            0x0b => self.event_warnings = value as u8,
            _ => return Err(Status::InvalidField),
        }
        Ok(0)
    }

    /// The most commands that are read from a queue in one turn.
    pub fn burst(&self) -> u32 {
        match self.arbitration & 7 {
            7 => u32::MAX,
            exponent => 1 << exponent,
        }
    }

    /// The number of entries after which an interrupt is signalled, and the longest time before it in femtoseconds; none if each entry has its
    /// own interrupt.
    pub fn coalescing(&self, vector: u16) -> Option<(u32, u64)> {
        let (count, time) = (self.coalescing & 0xff, u64::from(self.coalescing >> 8));
        let is_direct = self
            .is_direct
            .get(usize::from(vector))
            .is_none_or(|one| *one);
        (count > 0 && time > 0 && !is_direct).then_some((count + 1, time * COALESCING_UNIT))
    }

    /// The critical warnings at a temperature in kelvin.
    pub fn warnings(&self, temperature: u16) -> u8 {
        let [over, under] = self.temperature;
        u8::from(temperature >= over || temperature <= under) << 1
    }

    fn allocated(&self) -> u32 {
        let [submission, completion] = self.queues.map(|count| u32::from(count - 1));
        submission | completion << 16
    }
}

/// The index of the threshold that a value selects: over-temperature or under-temperature. There is no sensor besides the composite temperature.
fn threshold(value: u32) -> Result<usize, Status> {
    let (sensor, kind) = (value >> 16 & 0xf, value >> 20 & 3);
    match (sensor, kind) {
        (0 | 0xf, 0) => Ok(0),
        (0 | 0xf, 1) => Ok(1),
        _ => Err(Status::InvalidField),
    }
}

/// The unit of the aggregation time: 100 us, in femtoseconds.
const COALESCING_UNIT: u64 = 100_000_000_000;

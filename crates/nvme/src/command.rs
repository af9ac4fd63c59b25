//! Entries of the queues: commands, and completion entries (NVM Express 1.4, sections 4.2 and 4.6).

/// Size of a submission queue entry in bytes.
pub const SUBMISSION: u64 = 64;
/// Size of a completion queue entry in bytes.
pub const COMPLETION: u64 = 16;

/// An entry of a submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Opcode.
    pub opcode: u8,
    /// Fused operation (bits 1 and 0), and the choice of PRPs or SGLs for the data (bits 7 and 6).
    pub flags: u8,
    /// Command identifier.
    pub id: u16,
    /// Namespace identifier.
    pub namespace: u32,
    /// PRP entries 1 and 2.
    pub prp: [u64; 2],
    /// Command dwords 10 to 15.
    pub words: [u32; 6],
    /// The flow of the data, for measurements: its number, and the number of its blocks before the blocks of this command. The label occupies
    /// reserved dwords (2 and 3) of the specification's command.
    pub label: Option<(u32, u32)>,
}

impl Command {
    /// The bytes of the entry.
    pub fn emit(&self) -> [u8; SUBMISSION as usize] {
        let mut bytes = [0; SUBMISSION as usize];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &[self.opcode, self.flags]);
        put(2, &self.id.to_le_bytes());
        put(4, &self.namespace.to_le_bytes());
        if let Some((flow, block)) = self.label {
            put(8, &(flow + 1).to_le_bytes());
            put(12, &block.to_le_bytes());
        }
        put(24, self.prp.map(u64::to_le_bytes).as_flattened());
        put(40, self.words.map(u32::to_le_bytes).as_flattened());
        bytes
    }

    /// Parses the bytes of an entry.
    pub fn parse(bytes: &[u8; SUBMISSION as usize]) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Command {
            opcode: bytes[0],
            flags: bytes[1],
            id: u16::from_le_bytes([bytes[2], bytes[3]]),
            namespace: word(4),
            prp: [long(24), long(32)],
            words: std::array::from_fn(|number| word(40 + 4 * number)),
            label: word(8).checked_sub(1).map(|flow| (flow, word(12))),
        }
    }

    /// Returns an error if the command requests a fused operation or SGLs, which the controller does not support.
    pub fn check(&self) -> Result<(), Status> {
        if self.flags & 0b1100_0011 == 0 {
            Ok(())
        } else {
            Err(Status::InvalidField)
        }
    }

    /// The low half of a command dword. `dword` is 10 to 15.
    pub fn low(&self, dword: usize) -> u16 {
        self.words[dword - 10] as u16
    }

    /// The high half of a command dword. `dword` is 10 to 15.
    pub fn high(&self, dword: usize) -> u16 {
        (self.words[dword - 10] >> 16) as u16
    }
}

/// Opcode of Flush.
pub const FLUSH: u8 = 0x00;
/// Opcode of Write.
pub const WRITE: u8 = 0x01;
/// Opcode of Read.
pub const READ: u8 = 0x02;
/// Opcode of the admin command Create I/O Submission Queue.
pub const CREATE_SUBMISSION_QUEUE: u8 = 0x01;
/// Opcode of the admin command Create I/O Completion Queue.
pub const CREATE_COMPLETION_QUEUE: u8 = 0x05;
/// The new queue is contiguous (PC): a bit in dword 11 of the command that creates it.
pub const CONTIGUOUS: u16 = 1;
/// Interrupts are enabled for the new completion queue (IEN): a bit in dword 11 of the command that creates it.
pub const INTERRUPTS: u16 = 1 << 1;

/// The error status of a command: status code type (bits 10 to 8) and status code (bits 7 to 0) of section 4.6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// Invalid Command Opcode.
    InvalidOpcode = 0x001,
    /// Invalid Field in Command.
    InvalidField = 0x002,
    /// Command ID Conflict.
    IdConflict = 0x003,
    /// Data Transfer Error.
    DataTransferError = 0x004,
    /// Command Abort Requested.
    AbortRequested = 0x007,
    /// Invalid Namespace or Format.
    InvalidNamespace = 0x00b,
    /// Command Sequence Error.
    SequenceError = 0x00c,
    /// PRP Offset Invalid.
    PrpOffsetInvalid = 0x013,
    /// LBA Out of Range.
    OutOfRange = 0x080,
    /// Completion Queue Invalid.
    CompletionQueueInvalid = 0x100,
    /// Invalid Queue Identifier.
    InvalidQueueIdentifier = 0x101,
    /// Invalid Queue Size.
    InvalidQueueSize = 0x102,
    /// Asynchronous Event Request Limit Exceeded.
    EventRequestLimit = 0x105,
    /// Invalid Interrupt Vector.
    InvalidVector = 0x108,
    /// Invalid Log Page.
    InvalidLogPage = 0x109,
    /// Invalid Queue Deletion.
    InvalidQueueDeletion = 0x10c,
    /// Feature Identifier Not Saveable.
    NotSaveable = 0x10d,
}

/// The status field of a command that has ended, without the phase tag (bits 15 to 1 of the last half word of the completion entry).
pub fn status_field(outcome: Result<u32, Status>) -> u16 {
    let Err(status) = outcome else { return 0 };
    let can_help = matches!(status, Status::DataTransferError | Status::AbortRequested);
    status as u16 | MORE | if can_help { 0 } else { DO_NOT_RETRY }
}

/// More: the error log has an entry about the command.
const MORE: u16 = 1 << 13;
/// Do Not Retry: the same command would fail again if it were repeated.
const DO_NOT_RETRY: u16 = 1 << 14;

/// An entry of a completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Identifier of the submission queue.
    pub queue: u16,
    /// Command identifier.
    pub id: u16,
    /// Dword 0 of the entry if the command has succeeded, otherwise its error status.
    pub outcome: Result<u32, Status>,
}

impl Completion {
    /// The bytes of the entry, with the head of the submission queue and the phase tag.
    pub fn emit(&self, head: u16, phase: bool) -> [u8; COMPLETION as usize] {
        let mut bytes = [0; COMPLETION as usize];
        let status = status_field(self.outcome) << 1 | u16::from(phase);
        bytes[..4].copy_from_slice(&self.outcome.unwrap_or(0).to_le_bytes());
        bytes[8..10].copy_from_slice(&head.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.queue.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.id.to_le_bytes());
        bytes[14..].copy_from_slice(&status.to_le_bytes());
        bytes
    }
}

/// The end of a command as software reads it in a completion entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Command identifier.
    pub id: u16,
    /// Phase tag. It is true in the first pass through the queue, and is inverted in each further pass.
    pub phase: bool,
    /// Whether the command has succeeded.
    pub is_success: bool,
}

impl End {
    /// Parses the bytes of an entry.
    pub fn parse(bytes: &[u8; COMPLETION as usize]) -> Self {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        End {
            id: half(12),
            phase: half(14) & 1 != 0,
            is_success: half(14) >> 1 == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_command_comes_back_from_its_bytes(
            (opcode, flags, id, namespace) in any::<(u8, u8, u16, u32)>(),
            prp in any::<[u64; 2]>(),
            words in any::<[u32; 6]>(),
            label in prop::option::of((0..u32::MAX, any::<u32>())),
        ) {
            let command = Command { opcode, flags, id, namespace, prp, words, label };
            prop_assert_eq!(Command::parse(&command.emit()), command);
        }
    }

    #[test]
    fn the_fields_of_an_entry_are_where_the_specification_has_them() {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&[2, 0x41, 0x34, 0x12, 1, 0, 0, 0]);
        (bytes[25], bytes[33], bytes[40], bytes[60]) = (0x10, 0x20, 7, 9);
        let command = Command::parse(&bytes);
        assert_eq!(
            (command.opcode, command.id, command.namespace),
            (2, 0x1234, 1)
        );
        assert_eq!(command.prp, [0x1000, 0x2000]);
        assert_eq!((command.words[0], command.words[5]), (7, 9));
        assert_eq!(command.check(), Err(Status::InvalidField));
    }

    #[test]
    fn a_completion_has_result_head_queue_identifier_status_and_phase() {
        let (queue, id) = (3, 0x1234);
        let good = Completion {
            queue,
            id,
            outcome: Ok(0xabcd),
        };
        let bytes = good.emit(5, true);
        let end = End::parse(&bytes);
        assert_eq!((end.id, end.phase, end.is_success), (id, true, true));
        assert_eq!(bytes[..4], [0xcd, 0xab, 0, 0]);
        assert_eq!(bytes[8..], [5, 0, 3, 0, 0x34, 0x12, 1, 0]);
        let outcome = Err(Status::InvalidQueueSize);
        let bytes = Completion { outcome, ..good }.emit(5, false);
        assert!(!End::parse(&bytes).is_success);
        // Do Not Retry (bit 15), More (14), status code type 1 (11 to 9), status code 2 (8 to 1).
        assert_eq!(bytes[14..], [0x04, 0xc2]);
    }
}

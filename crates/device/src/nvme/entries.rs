//! The entries of the queues, as bytes in host memory (NVM Express 1.4, sections 4.2, 4.6, 6.9 and 6.15).

/// Size of a submission queue entry in bytes.
pub const SUBMISSION: u64 = 64;
/// Size of a completion queue entry in bytes.
pub const COMPLETION: u64 = 16;
/// The only namespace.
pub const NAMESPACE: u32 = 1;

/// The operations of the NVM command set that the drive knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes written blocks durable.
    Flush = 0,
    /// Writes blocks with data from host memory.
    Write = 1,
    /// Reads blocks to host memory.
    Read = 2,
}

impl Operation {
    /// The operation with an opcode; none if the drive does not know it.
    pub fn of(opcode: u8) -> Option<Self> {
        let all = [Self::Flush, Self::Write, Self::Read];
        all.get(usize::from(opcode)).copied()
    }
}

/// The outcome of a command: a status code of the type Generic Command Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Successful Completion.
    Success = 0x00,
    /// Invalid Command Opcode.
    InvalidOpcode = 0x01,
    /// Invalid Field in Command.
    InvalidField = 0x02,
    /// Data Transfer Error.
    DataTransferError = 0x04,
    /// Invalid Namespace or Format.
    InvalidNamespace = 0x0b,
    /// PRP Offset Invalid.
    InvalidOffset = 0x13,
    /// LBA Out of Range.
    OutOfRange = 0x80,
}

impl Status {
    const ALL: [Status; 7] = [
        Status::Success,
        Status::InvalidOpcode,
        Status::InvalidField,
        Status::DataTransferError,
        Status::InvalidNamespace,
        Status::InvalidOffset,
        Status::OutOfRange,
    ];
}

/// An entry of the submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmissionEntry {
    /// Opcode.
    pub opcode: u8,
    /// Command identifier.
    pub id: u16,
    /// Namespace.
    pub namespace: u32,
    /// PRP entries 1 and 2: the addresses of the data's first and second page; of more than two, the second is the address of a
    /// list with all but the first.
    pub pages: [u64; 2],
    /// First block.
    pub first_block: u64,
    /// Number of blocks, 1 to 65536.
    pub blocks: u32,
    /// The label of the flow that the data belongs to, for measurements: its number plus one, or 0 for none. A reserved dword (2)
    /// of the specification's command.
    pub flow: u32,
    /// Number of the flow's blocks before this command's. A reserved dword (3) of the specification's command.
    pub flow_block: u32,
}

impl SubmissionEntry {
    /// The bytes of the entry.
    pub fn emit(&self) -> [u8; SUBMISSION as usize] {
        let mut bytes = [0; SUBMISSION as usize];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &[self.opcode]);
        put(2, &self.id.to_le_bytes());
        put(4, &self.namespace.to_le_bytes());
        put(8, &self.flow.to_le_bytes());
        put(12, &self.flow_block.to_le_bytes());
        put(24, &self.pages[0].to_le_bytes());
        put(32, &self.pages[1].to_le_bytes());
        put(40, &self.first_block.to_le_bytes());
        put(48, &((self.blocks - 1) as u16).to_le_bytes());
        bytes
    }

    /// Reads an entry.
    pub fn parse(bytes: &[u8; SUBMISSION as usize]) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let word = |at: usize| long(at) as u32;
        SubmissionEntry {
            opcode: bytes[0],
            id: (word(0) >> 16) as u16,
            namespace: word(4),
            flow: word(8),
            flow_block: word(12),
            pages: [long(24), long(32)],
            first_block: long(40),
            blocks: (word(48) & 0xffff) + 1,
        }
    }
}

/// An entry of the completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionEntry {
    /// Head of the submission queue.
    pub head: u16,
    /// Command identifier.
    pub id: u16,
    /// Phase tag, which is inverted at each pass through the queue; the first pass has true.
    pub phase: bool,
    /// Outcome of the command.
    pub status: Status,
}

impl CompletionEntry {
    /// The bytes of the entry.
    pub fn emit(&self) -> [u8; COMPLETION as usize] {
        let mut bytes = [0; COMPLETION as usize];
        let status = (self.status as u16) << 1 | u16::from(self.phase);
        bytes[8..10].copy_from_slice(&self.head.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.id.to_le_bytes());
        bytes[14..16].copy_from_slice(&status.to_le_bytes());
        bytes
    }

    /// Reads an entry; none if its status is not one of the drive's.
    pub fn parse(bytes: &[u8; COMPLETION as usize]) -> Option<Self> {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let code = half(14) >> 1;
        let mut known = Status::ALL.into_iter();
        Some(CompletionEntry {
            head: half(8),
            id: half(12),
            phase: half(14) & 1 != 0,
            status: known.find(|status| *status as u16 == code)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_submission_entry_comes_back_from_its_bytes(
            opcode: u8, id: u16, namespace: u32, pages: [u64; 2], first_block: u64, blocks in 1_u32..=65536,
            flow: u32, flow_block: u32,
        ) {
            let entry = SubmissionEntry { opcode, id, namespace, pages, first_block, blocks, flow, flow_block };
            prop_assert_eq!(SubmissionEntry::parse(&entry.emit()), entry);
        }

        #[test]
        fn a_completion_entry_comes_back_from_its_bytes(head: u16, id: u16, phase: bool, status in 0..Status::ALL.len()) {
            let entry = CompletionEntry { head, id, phase, status: Status::ALL[status] };
            prop_assert_eq!(CompletionEntry::parse(&entry.emit()), Some(entry));
        }
    }

    #[test]
    fn the_fields_are_where_the_specification_has_them() {
        let entry = SubmissionEntry {
            opcode: 2,
            id: 0x1234,
            namespace: 1,
            pages: [0x1000, 0x2000],
            first_block: 7,
            blocks: 8,
            flow: 0,
            flow_block: 0,
        };
        let bytes = entry.emit();
        assert_eq!(bytes[..8], [2, 0, 0x34, 0x12, 1, 0, 0, 0]);
        assert_eq!((bytes[25], bytes[33]), (0x10, 0x20));
        assert_eq!((bytes[40], bytes[48]), (7, 7));
        let end = CompletionEntry {
            head: 3,
            id: 0x1234,
            phase: true,
            status: Status::OutOfRange,
        };
        assert_eq!(end.emit()[8..], [3, 0, 0, 0, 0x34, 0x12, 0x01, 0x01]);
    }
}

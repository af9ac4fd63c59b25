//! A command in progress, and the pages of its data.

use kernel::Time;
use packet::{FlowId, Stamp};

use super::entries::{NAMESPACE, Operation, Status, SubmissionEntry};

/// The page size of the controller.
pub(super) const PAGE: u64 = 4096;

/// A command in progress.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) entry: SubmissionEntry,
    pub(super) operation: Operation,
    pub(super) born: Time,
    /// Offset of the first block in the media.
    pub(super) offset: u64,
    /// The data's pages in host memory: address and number of bytes.
    pub(super) pages: Vec<(u64, u32)>,
    /// Bytes that were read from host memory: of the list of pages, then of the data; or that will be written to it.
    pub(super) bytes: Vec<u8>,
    /// Number of bytes that have been requested from host memory and have not arrived.
    pub(super) awaited: u32,
    /// Whether a read of host memory has failed.
    pub(super) has_failed: bool,
    pub(super) stage: Stage,
}

/// The stage of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The list of pages is read from host memory.
    List,
    /// The data is read from host memory, or from the media.
    Data,
    /// The data is written to host memory: next is `page`, with the data from byte `at` on.
    Sending {
        /// Number of the page.
        page: usize,
        /// Offset of its first byte in the data.
        at: usize,
    },
}

/// The properties of the drive that commands are checked against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) block: u64,
    pub(super) capacity: u64,
    pub(super) max_transfer: u64,
}

/// The next step of a command that has passed the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Nothing: it has no data.
    End,
    /// Read so many bytes of its list of pages from this address.
    List(u64, u32),
    /// Transfer the data; all pages are known.
    Data,
}

impl Work {
    /// Checks a command; returns it with its next step.
    pub(super) fn begin(
        entry: SubmissionEntry,
        limits: Limits,
        now: Time,
    ) -> Result<(Self, Begin), Status> {
        let operation = Operation::of(entry.opcode).ok_or(Status::InvalidOpcode)?;
        if entry.namespace != NAMESPACE {
            return Err(Status::InvalidNamespace);
        }
        let mut work = Work {
            entry,
            operation,
            born: now,
            offset: 0,
            pages: Vec::new(),
            bytes: Vec::new(),
            awaited: 0,
            has_failed: false,
            stage: Stage::Data,
        };
        if operation == Operation::Flush {
            return Ok((work, Begin::End));
        }
        let len = u64::from(entry.blocks) * limits.block;
        if len > limits.max_transfer {
            return Err(Status::InvalidField);
        }
        let end = entry.first_block.checked_add(u64::from(entry.blocks));
        if end.is_none_or(|end| end > limits.capacity / limits.block) {
            return Err(Status::OutOfRange);
        }
        work.offset = entry.first_block * limits.block;
        let [first, second] = entry.pages;
        if first % 4 != 0 {
            return Err(Status::InvalidOffset);
        }
        let here = len.min(PAGE - first % PAGE);
        work.pages.push((first, here as u32));
        let rest = len - here;
        if rest == 0 {
            return Ok((work, Begin::Data));
        }
        if rest <= PAGE {
            work.add_page(second, rest)?;
            return Ok((work, Begin::Data));
        }
        let list = rest.div_ceil(PAGE) * 8;
        // A list may go on in another page; this drive's longest transfer has a list that fits into one.
        if second % 8 != 0 || second % PAGE + list > PAGE {
            return Err(Status::InvalidOffset);
        }
        work.stage = Stage::List;
        Ok((work, Begin::List(second, list as u32)))
    }

    /// Adds the pages of the list that has arrived.
    pub(super) fn take_list(&mut self, limits: Limits) -> Result<(), Status> {
        let mut rest = u64::from(self.entry.blocks) * limits.block - self.len();
        let list = std::mem::take(&mut self.bytes);
        let addresses = list
            .as_chunks()
            .0
            .iter()
            .map(|page| u64::from_le_bytes(*page));
        for address in addresses {
            let here = rest.min(PAGE);
            self.add_page(address, here)?;
            rest -= here;
        }
        Ok(())
    }

    fn add_page(&mut self, address: u64, len: u64) -> Result<(), Status> {
        if !address.is_multiple_of(PAGE) {
            return Err(Status::InvalidOffset);
        }
        self.pages.push((address, len as u32));
        Ok(())
    }

    /// Expects so many bytes from host memory.
    pub(super) fn expect(&mut self, len: u32) {
        self.bytes = vec![0; len as usize];
        self.awaited = len;
    }

    /// Number of bytes in all known pages.
    pub(super) fn len(&self) -> u64 {
        self.pages.iter().map(|(_, len)| u64::from(*len)).sum()
    }

    /// The flow that the data belongs to.
    pub(super) fn flow(&self) -> Option<FlowId> {
        self.entry.flow.checked_sub(1).map(FlowId)
    }

    /// The stamp of a read request for the list or the data from byte `at` on; a list belongs to no flow.
    pub(super) fn read_stamp(&self, at: u32, limits: Limits) -> Stamp {
        match self.stage {
            Stage::List => Stamp::default(),
            _ => self.stamp(at.into(), true, limits),
        }
    }

    /// The stamp of a request for the data from byte `at` on; `last` for the last one of the command.
    pub(super) fn stamp(&self, at: u64, last: bool, limits: Limits) -> Stamp {
        Stamp {
            flow: self.flow(),
            offset: u64::from(self.entry.flow_block) * limits.block + at,
            born: self.born,
            last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        block: 512,
        capacity: 1 << 20,
        max_transfer: 128 << 10,
    };

    fn read(pages: [u64; 2], first_block: u64, blocks: u32) -> SubmissionEntry {
        SubmissionEntry {
            opcode: Operation::Read as u8,
            id: 1,
            namespace: NAMESPACE,
            pages,
            first_block,
            blocks,
            flow: 0,
            flow_block: 0,
        }
    }

    fn begin(entry: SubmissionEntry) -> Result<(Vec<(u64, u32)>, Begin), Status> {
        Work::begin(entry, LIMITS, Time::ZERO).map(|(work, begin)| (work.pages, begin))
    }

    #[test]
    fn one_and_two_pages_need_no_list() {
        let one = begin(read([0x1200, 0], 0, 7));
        assert_eq!(one, Ok((vec![(0x1200, 3584)], Begin::Data)));
        let two = begin(read([0x1200, 0x8000], 0, 8));
        assert_eq!(two, Ok((vec![(0x1200, 3584), (0x8000, 512)], Begin::Data)));
    }

    #[test]
    fn more_pages_come_from_a_list() {
        let entry = read([0x1000, 0x3008], 0, 20);
        let (mut work, begin) = Work::begin(entry, LIMITS, Time::ZERO).expect("a right command");
        assert_eq!(begin, Begin::List(0x3008, 16));
        work.bytes = [0x9000_u64, 0x5000].map(u64::to_le_bytes).concat();
        assert_eq!(work.take_list(LIMITS), Ok(()));
        let pages = [(0x1000, 4096), (0x9000, 4096), (0x5000, 2048)];
        assert_eq!((work.pages.as_slice(), work.len()), (&pages[..], 20 * 512));
    }

    #[test]
    fn a_wrong_command_has_the_status_that_says_why() {
        let good = read([0x1000, 0], 0, 1);
        let wrong = [
            (SubmissionEntry { opcode: 9, ..good }, Status::InvalidOpcode),
            (
                SubmissionEntry {
                    namespace: 2,
                    ..good
                },
                Status::InvalidNamespace,
            ),
            (read([0x1000, 0x2000], 0, 257), Status::InvalidField),
            (read([0x1000, 0], 2048, 1), Status::OutOfRange),
            (read([0x1000, 0], u64::MAX, 1), Status::OutOfRange),
            (read([0x1002, 0], 0, 1), Status::InvalidOffset),
            (read([0x1000, 0x2200], 0, 16), Status::InvalidOffset),
            (read([0x1000, 0x2ff8], 0, 24), Status::InvalidOffset),
        ];
        for (entry, status) in wrong {
            assert_eq!(begin(entry), Err(status), "{entry:?}");
        }
        assert!(begin(read([0x1000, 0], 2047, 1)).is_ok());
    }
}

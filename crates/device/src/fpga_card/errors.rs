//! The error registers of a card: those of its port, which an AFU fills by what it does wrong, and that of its link to the host.

use super::ReadError;
use super::afu::Misuse;

/// A bit of the port's error register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortError {
    ReadOverflow = 0,
    ReadInvalid = 1,
    ReadUnaligned = 4,
    MmioReadInReset = 9,
    MmioWriteInReset = 10,
    WriteOverflow = 16,
    WriteInvalid = 17,
    WriteUnaligned = 20,
    WriteLength = 21,
    WriteAddress = 23,
}

impl PortError {
    pub(super) fn of_read(why: Misuse) -> Self {
        match why {
            Misuse::Overflow => Self::ReadOverflow,
            Misuse::CrossesPage => Self::ReadUnaligned,
            Misuse::Address | Misuse::Length | Misuse::NoSuchInterrupt => Self::ReadInvalid,
        }
    }

    pub(super) fn of_write(why: Misuse) -> Self {
        match why {
            Misuse::Overflow => Self::WriteOverflow,
            Misuse::CrossesPage => Self::WriteUnaligned,
            Misuse::Length => Self::WriteLength,
            Misuse::Address => Self::WriteAddress,
            Misuse::NoSuchInterrupt => Self::WriteInvalid,
        }
    }
}

/// The errors of a port. Bits that are masked are not recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortErrors {
    pub(super) mask: u64,
    pub(super) all: u64,
    /// What was recorded when there was nothing else.
    pub(super) first: u64,
    /// How often anything was.
    pub(super) count: u64,
}

impl PortErrors {
    pub(super) fn record(&mut self, error: PortError) {
        let bit = 1 << error as u32 & !self.mask;
        if self.all == 0 {
            self.first = bit;
        }
        self.all |= bit;
        self.count += 1;
    }

    /// Software writes ones to what it has seen.
    pub(super) fn clear(&mut self, bits: u64) {
        self.all &= !bits;
        self.first &= !bits;
    }
}

/// A bit of the management engine's register for errors of its link to the host (`PCIE0_ERROR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkError {
    UnexpectedCompletion = 5,
    CompletionStatus = 6,
    CompletionTimeout = 7,
}

impl From<ReadError> for LinkError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::UnsupportedRequest | ReadError::CompleterAbort => Self::CompletionStatus,
            ReadError::TimedOut => Self::CompletionTimeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_stays_until_it_is_cleared() {
        let mut errors = PortErrors::default();
        errors.record(PortError::WriteAddress);
        errors.record(PortError::ReadOverflow);
        assert_eq!((errors.all, errors.first), (1 << 23 | 1, 1 << 23));
        errors.clear(1 << 23);
        assert_eq!((errors.all, errors.first, errors.count), (1, 0, 2));
    }

    #[test]
    fn what_is_masked_is_not_recorded() {
        let mut errors = PortErrors {
            mask: u64::MAX,
            ..PortErrors::default()
        };
        errors.record(PortError::ReadInvalid);
        assert_eq!((errors.all, errors.first), (0, 0));
    }
}

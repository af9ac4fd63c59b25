//! The error registers of a card. The registers of a port have violations of its rules, and the registers of the management engine have other
//! errors. The port and the management engine each signal new errors to the host's driver by an interrupt.

use peerlane_device::Failure;

use super::misuse::Misuse;

/// The value of the capability register from which software reads the vector of the error interrupt.
pub(super) fn alert_capability(vector: u8) -> u64 {
    u64::from(vector) << 1 | 1
}

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
            Misuse::Address
            | Misuse::Length
            | Misuse::Operands
            | Misuse::NoAtomics
            | Misuse::NoSuchInterrupt => Self::ReadInvalid,
        }
    }

    pub(super) fn of_write(why: Misuse) -> Self {
        match why {
            Misuse::Overflow => Self::WriteOverflow,
            Misuse::CrossesPage => Self::WriteUnaligned,
            Misuse::Length => Self::WriteLength,
            Misuse::Address => Self::WriteAddress,
            Misuse::Operands | Misuse::NoAtomics | Misuse::NoSuchInterrupt => Self::WriteInvalid,
        }
    }
}

/// The errors of a port. Masked bits are not recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortErrors {
    pub(super) mask: u64,
    pub(super) all: u64,
    /// The bit of the first error since all bits were clear.
    pub(super) first: u64,
    /// Number of errors so far.
    pub(super) count: u64,
    /// Whether a new error has occurred since the last [call](Self::take_alert).
    pub(super) is_alerting: bool,
}

impl PortErrors {
    pub(super) fn record(&mut self, error: PortError) {
        let bit = 1 << error as u32 & !self.mask;
        if self.all == 0 {
            self.first = bit;
        }
        self.is_alerting |= bit & !self.all != 0;
        self.all |= bit;
        self.count += 1;
    }

    /// Whether a new error was recorded since the last call.
    pub(super) fn take_alert(&mut self) -> bool {
        std::mem::take(&mut self.is_alerting)
    }

    /// Clears the bits in which software writes ones.
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

impl From<Failure> for LinkError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TimedOut => Self::CompletionTimeout,
            _ => Self::CompletionStatus,
        }
    }
}

/// The errors of the management engine: errors of its link to the host, and errors that software injects for tests. The model has no errors of
/// the engine's own units and no second link, so the registers for both stay zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CardErrors {
    pub(super) own_mask: u64,
    pub(super) link_mask: u64,
    pub(super) second_link_mask: u64,
    pub(super) nonfatal_mask: u64,
    pub(super) fatal_mask: u64,
    /// Errors of the link (`PCIE0_ERROR`).
    pub(super) link: u64,
    injected: u64,
    /// Whether a new error has occurred since the last [call](Self::take_alert).
    pub(super) is_alerting: bool,
}

const LINK_BITS: u64 = 0xff;

/// Bits of the register that injects errors (`RAS_ERROR_INJECT`).
const INJECT_CATASTROPHIC: u64 = 1;
const INJECT_FATAL: u64 = 1 << 1;
const INJECT_NONFATAL: u64 = 1 << 2;

/// Bits of the register for non-fatal errors (`RAS_NONFAT_ERROR`).
const LINK_ERROR: u64 = 1 << 2;
const INJECTED_NONFATAL: u64 = 1 << 6;

/// Bits of the register for fatal errors (`RAS_CATFAT_ERROR`).
const INJECTED_FATAL: u64 = 1 << 8;
const INJECTED_CATASTROPHIC: u64 = 1 << 11;

impl CardErrors {
    /// The value of `RAS_NONFAT_ERROR`.
    pub(super) fn nonfatal(&self) -> u64 {
        let link = if self.link == 0 { 0 } else { LINK_ERROR };
        let injected = bit(self.injected, INJECT_NONFATAL, INJECTED_NONFATAL);
        (link | injected) & !self.nonfatal_mask
    }

    /// The value of `RAS_CATFAT_ERROR`.
    pub(super) fn fatal(&self) -> u64 {
        let fatal = bit(self.injected, INJECT_FATAL, INJECTED_FATAL);
        let catastrophic = bit(self.injected, INJECT_CATASTROPHIC, INJECTED_CATASTROPHIC);
        (fatal | catastrophic) & !self.fatal_mask
    }

    /// The value of `RAS_ERROR_INJECT`.
    pub(super) fn injected(&self) -> u64 {
        self.injected
    }

    pub(super) fn record(&mut self, error: LinkError) {
        self.change(|errors| errors.link |= 1 << error as u32 & !errors.link_mask & LINK_BITS);
    }

    /// Injects the errors with these bits. They last until software clears them.
    pub(super) fn inject(&mut self, bits: u64) {
        let bits = bits & (INJECT_CATASTROPHIC | INJECT_FATAL | INJECT_NONFATAL);
        self.change(|errors| errors.injected = bits);
    }

    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.all();
        change(self);
        let new = |(after, before): (u64, u64)| after & !before != 0;
        self.is_alerting |= self.all().into_iter().zip(before).any(new);
    }

    fn all(&self) -> [u64; 3] {
        [self.link, self.nonfatal(), self.fatal()]
    }

    /// Whether a new error has occurred since the last call.
    pub(super) fn take_alert(&mut self) -> bool {
        std::mem::take(&mut self.is_alerting)
    }
}

/// `result` if `word` has a bit that `asked` has, otherwise 0.
fn bit(word: u64, asked: u64, result: u64) -> u64 {
    if word & asked == 0 { 0 } else { result }
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

    #[test]
    fn what_is_new_alerts_once() {
        let mut errors = PortErrors::default();
        errors.record(PortError::ReadInvalid);
        assert!(errors.take_alert());
        assert!(!errors.take_alert());
        errors.record(PortError::ReadInvalid);
        assert!(!errors.take_alert());
        errors.record(PortError::WriteInvalid);
        assert!(errors.take_alert());
    }

    #[test]
    fn injected_errors_last_until_they_are_taken_back() {
        let mut errors = CardErrors::default();
        errors.inject(INJECT_FATAL | INJECT_NONFATAL | 1 << 7);
        assert_eq!(
            (errors.injected(), errors.fatal(), errors.nonfatal()),
            (6, 1 << 8, 1 << 6)
        );
        assert!(errors.take_alert());
        errors.inject(0);
        assert_eq!((errors.fatal(), errors.nonfatal()), (0, 0));
        assert!(!errors.take_alert());
    }

    #[test]
    fn an_error_of_the_link_is_one_that_is_not_fatal() {
        let mut errors = CardErrors {
            nonfatal_mask: INJECTED_NONFATAL,
            ..CardErrors::default()
        };
        errors.record(LinkError::CompletionTimeout);
        assert_eq!((errors.link, errors.nonfatal()), (1 << 7, LINK_ERROR));
        assert!(errors.take_alert());
        errors.inject(INJECT_NONFATAL);
        assert!(!errors.take_alert());
    }
}

//! The space of a requester's completion buffer.
//!
//! An endpoint advertises infinite completion credit (PCIe Base 2.6.1), so that no completer waits for space. The requester therefore sends
//! a request only when the buffer has space for all its completions, in whatever way the completer divides them.

/// The size of a completion buffer. `None` stands for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionBuffer {
    /// The number of bytes of data.
    pub bytes: Option<u64>,
    /// The number of completions.
    pub headers: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Space {
    bytes: u64,
    headers: u32,
}

/// The smallest read completion boundary, at which a root complex may divide completions (PCIe Base 2.3.1.1).
const BOUNDARY: u64 = 64;

impl CompletionBuffer {
    pub(crate) fn is_limited(&self) -> bool {
        self.bytes.is_some() || self.headers.is_some()
    }

    /// Whether `more` fits into the buffer besides `used`. If `more` is larger than the whole buffer, it fits if `used` is empty.
    pub(crate) fn fits(&self, used: Space, more: Space) -> bool {
        let bytes = self.bytes.is_none_or(|all| used.bytes + more.bytes <= all);
        let headers = self
            .headers
            .is_none_or(|all| used.headers + more.headers <= all);
        used == Space::default() || bytes && headers
    }

    /// The largest read request, a power of two from 128 B on, whose completions always fit.
    pub fn largest_request(&self) -> u32 {
        let sizes = (7..=12).rev().map(|exponent| 1 << exponent);
        let mut fitting = sizes.filter(|size| {
            let most = Space::anywhere(*size);
            let bytes = self.bytes.is_none_or(|all| most.bytes <= all);
            bytes && self.headers.is_none_or(|all| most.headers <= all)
        });
        fitting.next().unwrap_or(128)
    }
}

impl Space {
    /// The maximum space that the completions of a request for `len` bytes at `address` need.
    pub(crate) fn of(address: u64, len: u32) -> Self {
        let headers = (address % BOUNDARY + u64::from(len)).div_ceil(BOUNDARY);
        Space {
            bytes: len.into(),
            headers: headers.max(1) as u32,
        }
    }

    /// The maximum space that the completions of a request for `len` bytes need at any address.
    pub(crate) fn anywhere(len: u32) -> Self {
        Space::of(BOUNDARY - 1, len)
    }

    pub(crate) fn add(&mut self, more: Space) {
        self.bytes += more.bytes;
        self.headers += more.headers;
    }

    /// Removes a completion with `bytes` of data, or all remaining space if it is the `last` completion. Returns the removed space.
    pub(crate) fn take_completion(&mut self, bytes: u32, last: bool) -> Space {
        let taken = if last {
            *self
        } else {
            Space {
                bytes: self.bytes.min(bytes.into()),
                headers: self.headers.min(1),
            }
        };
        self.remove(taken);
        taken
    }

    /// Removes `less`, which must be part of this space.
    pub(crate) fn remove(&mut self, less: Space) {
        self.bytes -= less.bytes;
        self.headers -= less.headers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_be_divided_at_every_boundary() {
        // The examples of Intel's P-Tile and R-Tile Avalon Streaming user guides, Completion Buffer Size, with a boundary of 64 B.
        assert_eq!(Space::of(0x1_0000, 192).headers, 3);
        assert_eq!(Space::of(0x1_0020, 256).headers, 5);
    }

    #[test]
    fn the_largest_request_fits_at_every_address() {
        let buffer = |bytes, headers| CompletionBuffer { bytes, headers };
        assert_eq!(buffer(None, None).largest_request(), 4096);
        assert_eq!(buffer(Some(2047), None).largest_request(), 1024);
        assert_eq!(buffer(None, Some(9)).largest_request(), 512);
        assert_eq!(buffer(None, Some(8)).largest_request(), 256);
        assert_eq!(buffer(Some(1), None).largest_request(), 128);
    }

    #[test]
    fn space_comes_back_completion_by_completion() {
        let mut used = Space::of(0, 256);
        let first = used.take_completion(64, false);
        assert_eq!(first, Space::of(0, 64));
        assert_eq!(used, Space::of(0, 192));
        assert_eq!(used.take_completion(192, true), Space::of(0, 192));
        assert_eq!(used, Space::default());
    }
}

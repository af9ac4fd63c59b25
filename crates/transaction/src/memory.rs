//! A memory that stores real bytes. Only pages that were written use memory of the machine. A page whose bytes are a pattern uses none, if
//! it was filled with the pattern, or if it was written up to its end for the first time. When this page is written again, it uses memory
//! again.

mod poison;

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::Pattern;
use poison::Poison;

/// The size of a page. It is small, so that scattered writes use little memory, and allocations can reuse freed memory.
const PAGE: usize = 64 * 1024;

/// Bytes that are shared with a party outside the simulation. This party may change them at any time.
pub trait Backing: Debug + Send + Sync {
    /// Copies bytes from `offset` on into `bytes`.
    fn read(&self, offset: usize, bytes: &mut [u8]);
    /// Copies `bytes` to `offset`.
    fn write(&self, offset: usize, bytes: &[u8]);
}

/// The bytes of a page.
pub type MemoryPage = [u8; PAGE];

/// A function that returns a page of zeros that is already mapped by the machine, or none if it has no more pages.
pub type PageSource = fn() -> Option<Box<MemoryPage>>;

static SOURCE: OnceLock<PageSource> = OnceLock::new();

/// Sets the source from which all memories take new pages, as long as it has any. If a source is already set, that source stays.
pub fn set_page_source(source: PageSource) {
    SOURCE.get_or_init(|| source);
}

fn new_page() -> Box<MemoryPage> {
    let ready = SOURCE.get().and_then(|source| source());
    ready.unwrap_or_else(|| vec![0; PAGE].into_boxed_slice().try_into().expect(WHOLE))
}

#[derive(Clone, Debug)]
enum Page {
    /// A page of bytes, and whether it has not been written up to its end yet.
    Own(Box<MemoryPage>, bool),
    /// A page of the bytes of a pattern from this offset on.
    Filled(Pattern, u64),
    /// A page of shared bytes, from this offset on.
    Shared(Arc<dyn Backing>, usize),
}

impl Page {
    /// Copies bytes from `start` on into `bytes`.
    fn read(&self, start: usize, bytes: &mut [u8]) {
        match self {
            Page::Own(page, _) => bytes.copy_from_slice(&page[start..start + bytes.len()]),
            Page::Filled(pattern, from) => pattern.fill(from + start as u64, bytes),
            Page::Shared(backing, from) => backing.read(*from + start, bytes),
        }
    }

    /// Copies `bytes` to `start` and the following positions.
    #[inline]
    fn write(&mut self, start: usize, bytes: &[u8]) {
        match self {
            Page::Own(page, is_new) => {
                page[start..start + bytes.len()].copy_from_slice(bytes);
                if *is_new && start + bytes.len() == PAGE {
                    self.condense();
                }
            }
            Page::Shared(backing, from) => backing.write(*from + start, bytes),
            Page::Filled(pattern, from) => {
                let mut page = new_page();
                pattern.fill(*from, &mut page[..]);
                page[start..start + bytes.len()].copy_from_slice(bytes);
                *self = Page::Own(page, false);
            }
        }
    }

    /// Stores the page as a pattern, if its bytes are one. This is tried only once, so that a ring buffer that is written repeatedly stays a
    /// page of bytes.
    #[inline(never)]
    fn condense(&mut self) {
        if let Page::Own(page, is_new) = self {
            *is_new = false;
            if let Some(pattern) = Pattern::of(&page[..]) {
                *self = Page::Filled(pattern, 0);
            }
        }
    }
}

/// Adds the 32-bit words of `more` to the words of `sum`, modulo 2^32.
pub fn add_words(sum: &mut [u8], more: &[u8]) {
    let (words, _) = sum.as_chunks_mut::<4>();
    let (others, _) = more.as_chunks::<4>();
    for (word, other) in words.iter_mut().zip(others) {
        let total = u32::from_le_bytes(*word).wrapping_add(u32::from_le_bytes(*other));
        *word = total.to_le_bytes();
    }
}

/// A memory that is zero until it is written.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The pages up to the last page that was written.
    pages: Vec<Option<Page>>,
    size: u64,
    /// The poisoned bytes. None if there are no poisoned bytes, as in nearly all memories.
    poison: Option<Box<Poison>>,
}

impl Memory {
    /// Creates a memory of `size` bytes.
    pub fn new(size: u64) -> Self {
        Memory {
            pages: Vec::new(),
            size,
            poison: None,
        }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the memory contains the `len` bytes at `address`.
    pub fn holds(&self, address: u64, len: u64) -> bool {
        address.checked_add(len).is_some_and(|end| end <= self.size)
    }

    /// The size of the pages that can be [shared](Self::share).
    pub const SHARED_PAGE: u64 = PAGE as u64;

    /// Replaces the `len` bytes at `address` by the bytes of `backing`. The range must consist of whole [pages](Self::SHARED_PAGE)
    /// of this memory.
    pub fn share(&mut self, address: u64, len: u64, backing: &Arc<dyn Backing>) {
        let first = address as usize / PAGE;
        for (number, page) in (first..first + len as usize / PAGE).enumerate() {
            *self.slot(page) = Some(Page::Shared(backing.clone(), number * PAGE));
        }
    }

    /// Ends the sharing of the bytes at `address`, which then are zero.
    pub fn unshare(&mut self, address: u64, len: u64) {
        let first = address as usize / PAGE;
        for page in first..first + len as usize / PAGE {
            *self.slot(page) = None;
        }
    }

    fn slot(&mut self, number: usize) -> &mut Option<Page> {
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        &mut self.pages[number]
    }

    /// Begins to load the `len` bytes at `address`, if they have been written.
    #[inline]
    pub fn prefetch(&self, address: u64, len: u32) {
        let (page, start) = (address as usize / PAGE, address as usize % PAGE);
        if let Some(Some(Page::Own(page, _))) = self.pages.get(page) {
            kernel::prefetch(&**page, start..start + len as usize);
        }
    }

    /// Copies `bytes` to `address`. The memory must contain the range.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        debug_assert!(self.holds(address, bytes.len() as u64));
        let (page, start) = (address as usize / PAGE, address as usize % PAGE);
        if self.poison.is_none()
            && start + bytes.len() <= PAGE
            && let Some(Some(page)) = self.pages.get_mut(page)
        {
            page.write(start, bytes);
        } else {
            self.write_anywhere(address, bytes);
        }
    }

    /// Copies bytes to a range that may contain poison, a page boundary, or a page that is not written yet.
    #[inline(never)]
    fn write_anywhere(&mut self, address: u64, bytes: &[u8]) {
        if self.poison.is_some() {
            self.heal(address, bytes.len() as u64);
        }
        let mut rest = bytes;
        let mut at = address as usize;
        while !rest.is_empty() {
            let (page, start) = (at / PAGE, at % PAGE);
            let (now, later) = rest.split_at(rest.len().min(PAGE - start));
            let page = self.slot(page);
            page.get_or_insert_with(|| Page::Own(new_page(), true))
                .write(start, now);
            at += now.len();
            rest = later;
        }
    }

    /// Poisons the `len` bytes at `address`. They must not be used until they are written.
    pub fn poison(&mut self, address: u64, len: u64) {
        self.poison.get_or_insert_default().add(address, len);
    }

    fn heal(&mut self, address: u64, len: u64) {
        if let Some(poison) = &mut self.poison {
            poison.remove(address, len);
            if poison.is_empty() {
                self.poison = None;
            }
        }
    }

    /// Whether any of the `len` bytes at `address` is poisoned.
    pub fn is_poisoned(&self, address: u64, len: u64) -> bool {
        let poison = self.poison.as_ref();
        poison.is_some_and(|poison| poison.touches(address, len))
    }

    /// Writes the first `size` bytes of `pattern` to `address` and the following addresses. The memory must contain the range.
    pub fn fill(&mut self, pattern: Pattern, size: u64, address: u64) {
        self.heal(address, size);
        let mut offset = 0;
        while offset < size {
            let at = address + offset;
            let len = (size - offset).min(PAGE as u64 - at % PAGE as u64);
            let page = self.slot(at as usize / PAGE);
            if len == PAGE as u64 && !matches!(page, Some(Page::Shared(..))) {
                *page = Some(Page::Filled(pattern, offset));
            } else {
                let mut bytes = vec![0; len as usize];
                pattern.fill(offset, &mut bytes);
                self.write(at, &bytes);
            }
            offset += len;
        }
    }

    /// Copies from `address` into `bytes`. The memory must contain the range.
    pub fn read(&self, address: u64, bytes: &mut [u8]) {
        debug_assert!(self.holds(address, bytes.len() as u64));
        let mut rest = bytes;
        let mut at = address as usize;
        while !rest.is_empty() {
            let (page, start) = (at / PAGE, at % PAGE);
            let len = rest.len().min(PAGE - start);
            let (now, later) = rest.split_at_mut(len);
            match self.pages.get(page) {
                Some(Some(page)) => page.read(start, now),
                _ => now.fill(0),
            }
            at += len;
            rest = later;
        }
    }

    /// The little-endian word of 32 bits at `address`.
    pub fn word(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// The little-endian word of 64 bits at `address`.
    pub fn long(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }
}

const WHOLE: &str = "the slice has the length of a page";

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug)]
    struct Outside(Mutex<Vec<u8>>);

    impl Backing for Outside {
        fn read(&self, offset: usize, bytes: &mut [u8]) {
            let all = self.0.lock().expect("no test panics with it");
            bytes.copy_from_slice(&all[offset..][..bytes.len()]);
        }
        fn write(&self, offset: usize, bytes: &[u8]) {
            let mut all = self.0.lock().expect("no test panics with it");
            all[offset..][..bytes.len()].copy_from_slice(bytes);
        }
    }

    #[test]
    fn shared_pages_are_somebody_elses_until_they_are_no_longer_shared() {
        let outside = Arc::new(Outside(Mutex::new(vec![7; 2 * PAGE])));
        let backing: Arc<dyn Backing> = outside.clone();
        let mut memory = Memory::new(4 * PAGE as u64);
        memory.share(PAGE as u64, 2 * PAGE as u64, &backing);
        memory.write(2 * PAGE as u64 - 1, &[1, 2]);
        memory.write(PAGE as u64 - 1, &[3]);
        let all = outside.0.lock().expect("no test panics with it").clone();
        assert_eq!(all[PAGE - 2..PAGE + 2], [7, 1, 2, 7]);
        let mut back = [0; 2];
        memory.read(PAGE as u64 - 1, &mut back);
        assert_eq!(back, [3, 7]);
        memory.unshare(PAGE as u64, 2 * PAGE as u64);
        memory.read(PAGE as u64 - 1, &mut back);
        assert_eq!(back, [3, 0]);
    }

    /// The number of pages that use memory of the machine.
    fn own(memory: &Memory) -> usize {
        let pages = memory.pages.iter();
        pages
            .filter(|page| matches!(page, Some(Page::Own(..))))
            .count()
    }

    #[test]
    fn written_pages_of_a_pattern_use_no_memory_until_they_are_written_again() {
        let pattern = Pattern::new(1, 2);
        let mut expected = vec![0; 4 * PAGE];
        pattern.fill(0, &mut expected);
        expected[3 * PAGE - 1] ^= 1;
        let mut memory = Memory::new(4 * PAGE as u64);
        for piece in (0..expected.len()).step_by(96) {
            let end = expected.len().min(piece + 96);
            memory.write(piece as u64, &expected[piece..end]);
        }
        assert_eq!(own(&memory), 1, "the page with another byte");
        for round in 1..3 {
            let last = 2 * PAGE - 8;
            expected[last..2 * PAGE].fill(round);
            memory.write(last as u64, &[round; 8]);
            assert_eq!(own(&memory), 2);
        }
        let mut back = vec![0; 4 * PAGE];
        memory.read(0, &mut back);
        assert!(back == expected);
    }

    #[test]
    fn a_pattern_is_read_as_it_was_filled_in_around_what_is_written_later() {
        let pattern = Pattern::new(1, 2);
        let (size, address) = (3 * PAGE, 1000);
        let mut expected = vec![0; size];
        pattern.fill(0, &mut expected);
        let mut memory = Memory::new(5 * PAGE as u64);
        memory.poison(address + PAGE as u64, 8);
        memory.fill(pattern, size as u64, address);
        assert!(!memory.is_poisoned(0, memory.size()));
        assert_eq!(own(&memory), 2, "the pages at both ends");
        let written = 2 * PAGE - 4;
        expected[written..written + 8].fill(7);
        memory.write(address + written as u64, &[7; 8]);
        assert_eq!(own(&memory), 3);
        let mut back = vec![1; size + 2000];
        memory.read(0, &mut back);
        assert_eq!(back[..1000], [0; 1000]);
        assert_eq!(back[1000..1000 + size], expected);
        assert_eq!(back[1000 + size..], [0; 1000]);
        memory.read(PAGE as u64 + 1100, &mut back[..9]);
        assert_eq!(back[..9], expected[PAGE + 100..][..9]);
    }

    #[test]
    fn bytes_across_a_page_boundary_come_back() {
        let mut memory = Memory::new(4 * PAGE as u64);
        let bytes: Vec<u8> = (0..200).collect();
        memory.write(PAGE as u64 - 100, &bytes);
        let mut back = vec![0; 204];
        memory.read(PAGE as u64 - 102, &mut back);
        assert_eq!(back[..2], [0, 0]);
        assert_eq!(back[2..202], bytes);
        assert_eq!(back[202..], [0, 0]);
    }

    #[test]
    fn a_range_past_the_end_is_not_held() {
        let memory = Memory::new(4096);
        assert!(memory.holds(4000, 96));
        assert!(!memory.holds(4000, 97));
        assert!(!memory.holds(u64::MAX, 2));
    }
}

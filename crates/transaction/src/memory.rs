//! Memory with real bytes, of which only the pages written take room.

/// Small enough that writes far from one another take little, and come from memory that was used before.
const PAGE: usize = 64 * 1024;

type Page = Box<[u8; PAGE]>;

/// `size` bytes, zero until written.
#[derive(Clone, Debug)]
pub struct Memory {
    /// As many as there are up to the last one written.
    pages: Vec<Option<Page>>,
    size: u64,
}

impl Memory {
    /// Memory of `size` bytes.
    pub fn new(size: u64) -> Self {
        Memory {
            pages: Vec::new(),
            size,
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether `len` bytes at `address` lie within.
    pub fn holds(&self, address: u64, len: u64) -> bool {
        address.checked_add(len).is_some_and(|end| end <= self.size)
    }

    /// Copies `bytes` to `address`. The range lies within.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        debug_assert!(self.holds(address, bytes.len() as u64));
        let mut rest = bytes;
        let mut at = address as usize;
        while !rest.is_empty() {
            let (page, start) = (at / PAGE, at % PAGE);
            let (now, later) = rest.split_at(rest.len().min(PAGE - start));
            self.page(page)[start..start + now.len()].copy_from_slice(now);
            at += now.len();
            rest = later;
        }
    }

    #[inline]
    fn page(&mut self, number: usize) -> &mut Page {
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        self.pages[number].get_or_insert_with(|| {
            let page: Box<[u8]> = vec![0; PAGE].into();
            page.try_into().expect("a page has the length of a page")
        })
    }

    /// Copies from `address` into `bytes`. The range lies within.
    pub fn read(&self, address: u64, bytes: &mut [u8]) {
        debug_assert!(self.holds(address, bytes.len() as u64));
        let mut rest = bytes;
        let mut at = address as usize;
        while !rest.is_empty() {
            let (page, start) = (at / PAGE, at % PAGE);
            let len = rest.len().min(PAGE - start);
            let (now, later) = rest.split_at_mut(len);
            match self.pages.get(page) {
                Some(Some(page)) => now.copy_from_slice(&page[start..start + len]),
                _ => now.fill(0),
            }
            at += len;
            rest = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! The pages in host memory that contain a command's data, from PRP entries and PRP lists (NVM Express 1.4, section 4.3).

use crate::command::Status;

/// The pages of a command's data whose addresses are known so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Size of a page of the host.
    page: u64,
    ranges: Vec<(u64, u64)>,
    /// Number of bytes whose pages are not known yet.
    left: u64,
    /// The address of the PRP list with the next pages.
    list: u64,
}

impl Pages {
    /// The pages of `len` bytes of data, as far as the two PRP entries of a command determine them.
    pub fn begin([first, second]: [u64; 2], len: u64, page: u64) -> Result<Self, Status> {
        if !first.is_multiple_of(4) {
            return Err(Status::PrpOffsetInvalid);
        }
        let here = len.min(page - first % page);
        let mut pages = Pages {
            page,
            ranges: vec![(first, here)],
            left: len - here,
            list: 0,
        };
        if pages.left > page {
            if !second.is_multiple_of(8) {
                return Err(Status::PrpOffsetInvalid);
            }
            pages.list = second;
        } else if pages.left > 0 {
            pages.add(second)?;
        }
        Ok(pages)
    }

    /// The address and the length of the PRP list to read next; none if all pages are known.
    pub fn list(&self) -> Option<(u64, u64)> {
        let needed = self.left.div_ceil(self.page);
        let entries = (self.page - self.list % self.page) / ENTRY;
        (needed > 0).then_some((self.list, needed.min(entries) * ENTRY))
    }

    /// Adds the pages in a PRP list. If more pages are needed than the list has entries, its last entry is the address of the next list.
    pub fn take_list(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let entries = bytes.as_chunks().0;
        let needed = self.left.div_ceil(self.page) as usize;
        for (number, entry) in entries.iter().enumerate() {
            let address = u64::from_le_bytes(*entry);
            if number + 1 == entries.len() && needed > entries.len() {
                if !address.is_multiple_of(self.page) {
                    return Err(Status::PrpOffsetInvalid);
                }
                self.list = address;
                return Ok(());
            }
            self.add(address)?;
        }
        Ok(())
    }

    /// The address of byte `at` of the data, and the number of bytes from there to the end of the page.
    pub fn piece(&self, at: u64) -> Option<(u64, u64)> {
        let mut before = 0;
        let (address, len) = self.ranges.iter().find(|(_, len)| {
            before += len;
            at < before
        })?;
        let (address, left) = (address + len - (before - at), before - at);
        Some((address, left.min(self.page - address % self.page)))
    }

    /// Address and length of each contiguous range of the data in host memory.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    fn add(&mut self, address: u64) -> Result<(), Status> {
        if !address.is_multiple_of(self.page) {
            return Err(Status::PrpOffsetInvalid);
        }
        let here = self.left.min(self.page);
        self.left -= here;
        match self.ranges.last_mut() {
            Some((from, len)) if from.checked_add(*len) == Some(address) => *len += here,
            _ => self.ranges.push((address, here)),
        }
        Ok(())
    }
}

/// Size of an entry of a PRP list in bytes.
const ENTRY: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    /// The ranges of `len` bytes of data. `memory` contains the PRP lists, each with its address.
    fn walk(
        prp: [u64; 2],
        len: u64,
        memory: &[(u64, Vec<u64>)],
    ) -> Result<Vec<(u64, u64)>, Status> {
        let mut pages = Pages::begin(prp, len, PAGE)?;
        while let Some((address, len)) = pages.list() {
            let list = memory.iter().find(|(at, _)| *at == address);
            let (_, entries) = list.expect("a list at this address");
            let bytes: Vec<u8> = entries.iter().flat_map(|one| one.to_le_bytes()).collect();
            pages.take_list(&bytes[..len as usize])?;
        }
        Ok(pages.ranges().to_vec())
    }

    #[test]
    fn one_and_two_pages_need_no_list_and_the_first_may_have_an_offset() {
        assert_eq!(walk([0x1204, 0], 3580, &[]), Ok(vec![(0x1204, 3580)]));
        let two = walk([0x1200, 0x8000], 4096, &[]);
        assert_eq!(two, Ok(vec![(0x1200, 3584), (0x8000, 512)]));
    }

    #[test]
    fn neighbours_are_one_range() {
        let list = (0x3008, vec![0x2000, 0x9000]);
        let pages = walk([0x1000, 0x3008], 3 * PAGE, &[list]);
        assert_eq!(pages, Ok(vec![(0x1000, 2 * PAGE), (0x9000, PAGE)]));
    }

    #[test]
    fn a_list_that_ends_with_its_page_goes_on_at_its_last_entry() {
        let first = (0x3ff0, vec![0x10_0000, 0x5000]);
        let second = (0x5000, vec![0x20_0000, 0x30_0000]);
        let pages = walk([0x1000, 0x3ff0], 4 * PAGE, &[first, second]);
        let expected = [0x1000, 0x10_0000, 0x20_0000, 0x30_0000].map(|at| (at, PAGE));
        assert_eq!(pages, Ok(expected.to_vec()));
    }

    #[test]
    fn a_list_of_just_enough_entries_at_the_end_of_its_page_has_no_address_of_a_next_one() {
        let list = (0x3ff0, vec![0x10_0000, 0x20_0000]);
        let pages = walk([0x1000, 0x3ff0], 3 * PAGE, &[list]);
        let expected = [0x1000, 0x10_0000, 0x20_0000].map(|at| (at, PAGE));
        assert_eq!(pages, Ok(expected.to_vec()));
    }

    #[test]
    fn wrong_offsets_are_refused() {
        let wrong = Err(Status::PrpOffsetInvalid);
        assert_eq!(walk([0x1002, 0], 512, &[]), wrong);
        assert_eq!(walk([0x1000, 0x2200], 2 * PAGE, &[]), wrong);
        assert_eq!(walk([0x1000, 0x2004], 3 * PAGE, &[]), wrong);
        let list = |entries: &[u64]| [(0x3ff0, entries.to_vec())];
        assert_eq!(
            walk([0x1000, 0x3ff0], 3 * PAGE, &list(&[0x2000, 0x4100])),
            wrong
        );
        assert_eq!(
            walk([0x1000, 0x3ff0], 4 * PAGE, &list(&[0x2000, 0x4100])),
            wrong
        );
    }

    proptest! {
        #[test]
        fn the_pieces_of_the_data_follow_each_other_and_none_crosses_a_page(offset in 0_u64..1024, len in 1_u64..12_000, is_next: bool) {
            let first = 0x10_0000 + 4 * offset;
            let second = if is_next { 0x10_1000 } else { 0x30_0000 };
            let pages = Pages::begin([first, second], len.min(2 * PAGE - 4 * offset), PAGE).expect("right entries");
            let total: u64 = pages.ranges().iter().map(|(_, len)| len).sum();
            let mut at = 0;
            while let Some((address, len)) = pages.piece(at) {
                prop_assert!(len > 0 && address / PAGE == (address + len - 1) / PAGE);
                let in_first = PAGE - 4 * offset;
                let right = if at < in_first { first + at } else { second + at - in_first };
                prop_assert_eq!(address, right);
                at += len;
            }
            prop_assert_eq!(at, total);
        }

        #[test]
        fn the_ranges_have_all_bytes_in_order(offset in 0_u64..1024, len in 1_u64..2_000_000, slot in 0_u64..512) {
            let first = 0x10_0000 + 4 * offset;
            let mut pages = Pages::begin([first, 0x40_0000 + 8 * slot], len, PAGE).or_else(|_| {
                Pages::begin([first, 0x40_0000], len, PAGE)
            }).expect("right entries");
            let mut next = 0x1000_0000;
            while let Some((address, size)) = pages.list() {
                prop_assert!(address / PAGE == (address + size - 1) / PAGE, "a list stays within its page");
                let entries = (0..size / 8).flat_map(|_| { next += 2 * PAGE; u64::to_le_bytes(next) });
                pages.take_list(&entries.collect::<Vec<_>>()).expect("right entries");
            }
            prop_assert_eq!(pages.ranges().iter().map(|(_, len)| len).sum::<u64>(), len);
            prop_assert_eq!(pages.ranges()[0].0, first);
        }
    }
}

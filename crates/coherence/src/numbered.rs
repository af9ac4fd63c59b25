//! A table of active items, by number.

/// Active items. A new item gets the lowest free number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Numbered<T> {
    /// The items by number, up to the last one in use.
    places: Vec<Option<T>>,
    /// Free numbers below the last one in use, one bit each.
    free: Vec<u64>,
    count: usize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered {
            places: Vec::new(),
            free: Vec::new(),
            count: 0,
        }
    }
}

const BITS: usize = u64::BITS as usize;

impl<T> Numbered<T> {
    /// Adds an item; returns its number.
    pub(crate) fn begin(&mut self, what: T) -> usize {
        self.count += 1;
        if let Some(word) = self.free.iter().position(|word| *word != 0) {
            let number = word * BITS + self.free[word].trailing_zeros() as usize;
            self.free[word] &= self.free[word] - 1;
            self.places[number] = Some(what);
            return number;
        }
        self.places.push(Some(what));
        self.free.resize(self.places.len().div_ceil(BITS), 0);
        self.places.len() - 1
    }

    /// Removes the item with this number.
    pub(crate) fn end(&mut self, number: usize) -> Option<T> {
        let ended = self.places.get_mut(number)?.take()?;
        self.count -= 1;
        self.free[number / BITS] |= 1 << (number % BITS);
        // Free places at the end are removed, so that equal contents compare as equal.
        while let Some(None) = self.places.last() {
            self.places.pop();
            let last = self.places.len();
            self.free[last / BITS] &= !(1 << (last % BITS));
        }
        self.free.truncate(self.places.len().div_ceil(BITS));
        Some(ended)
    }

    /// The item with this number.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.places.get_mut(number)?.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// All numbers up to the last one in use.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_next_and_what_was_leaves_no_trace() {
        let mut all = Numbered::default();
        for number in 0..130 {
            assert_eq!(all.begin(number), number);
        }
        for number in [70, 3, 129, 128] {
            assert_eq!(all.end(number), Some(number));
            assert_eq!(all.end(number), None);
        }
        assert_eq!((all.begin(3), all.begin(70), all.begin(128)), (3, 70, 128));
        assert_eq!(all.len(), 129);
        for number in 0..129 {
            assert_eq!(all.end(number), Some(number));
        }
        assert_eq!(all, Numbered::default());
    }
}

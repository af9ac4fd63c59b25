//! Notes: observations of flows that only one kind of workload or one family of devices defines.

/// An event of a flow that one kind of workload, or one family of devices, reports to the probes.
///
/// The type of a note is declared in the module that reports the note, and unpacked in the module that watches for it. No other module
/// depends on the type.
pub trait Note: Copy {
    /// The kind, which identifies the type of the note.
    const KIND: NoteKind;
    /// The note as two words.
    fn pack(self) -> [u64; 2];
    /// Restores the note from the words that [`pack`](Self::pack) made.
    fn unpack(words: [u64; 2]) -> Self;
}

/// The identifier of a type of notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteKind(u32);

impl NoteKind {
    /// The kind called `name`: the 32-bit FNV-1a hash of the name, so that no list of all kinds is needed.
    pub const fn named(name: &str) -> Self {
        let (bytes, mut hash, mut index) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
        while index < bytes.len() {
            hash = (hash ^ bytes[index] as u32).wrapping_mul(0x0100_0193);
            index += 1;
        }
        NoteKind(hash)
    }
}

/// A note of any kind, in the form that an observation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedNote {
    words: [u64; 2],
    kind: NoteKind,
}

impl PackedNote {
    /// Packs `note`.
    pub fn of<N: Note>(note: N) -> Self {
        PackedNote {
            words: note.pack(),
            kind: N::KIND,
        }
    }

    /// Unpacks the note if its kind is `N`.
    pub fn get<N: Note>(&self) -> Option<N> {
        (self.kind == N::KIND).then(|| N::unpack(self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Count(u64);
    impl Note for Count {
        const KIND: NoteKind = NoteKind::named("count");
        fn pack(self) -> [u64; 2] {
            [self.0, 0]
        }
        fn unpack([count, _]: [u64; 2]) -> Self {
            Count(count)
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Done;
    impl Note for Done {
        const KIND: NoteKind = NoteKind::named("done");
        fn pack(self) -> [u64; 2] {
            [0; 2]
        }
        fn unpack(_: [u64; 2]) -> Self {
            Done
        }
    }

    #[test]
    fn a_note_is_unpacked_as_its_own_kind_and_no_other() {
        let note = PackedNote::of(Count(7));
        assert_eq!(note.get::<Count>(), Some(Count(7)));
        assert_eq!(note.get::<Done>(), None);
    }
}

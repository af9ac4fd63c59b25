//! Notes: what a kind of workload, or a family of devices, tells the probes of its own flows.

/// Something that one kind of workload, or one family of devices, tells of a flow.
///
/// It is declared where it is told and unpacked where it is watched, so that neither the probes' general part nor any other room
/// knows of it.
pub trait Note: Copy {
    /// The kind, by which notes are told apart.
    const KIND: NoteKind;
    /// The note as two words.
    fn pack(self) -> [u64; 2];
    /// The note of these two words, which [`pack`](Self::pack) made.
    fn unpack(words: [u64; 2]) -> Self;
}

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteKind(u32);

impl NoteKind {
    /// The kind with that name: its 32-bit FNV-1a hash, so that no list of all kinds is needed.
    pub const fn named(name: &str) -> Self {
        let (bytes, mut hash, mut index) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
        while index < bytes.len() {
            hash = (hash ^ bytes[index] as u32).wrapping_mul(0x0100_0193);
            index += 1;
        }
        NoteKind(hash)
    }
}

/// A note of any kind, as an observation carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedNote {
    words: [u64; 2],
    kind: NoteKind,
}

impl PackedNote {
    /// The note, packed.
    #[inline]
    pub fn of<N: Note>(note: N) -> Self {
        PackedNote {
            words: note.pack(),
            kind: N::KIND,
        }
    }

    /// The note, if it is of the kind `N`.
    #[inline]
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

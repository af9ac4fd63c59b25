//! Where a node is plugged in.

/// The kind of connector above a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The node is soldered to the board, or in a slot without hot plug.
    Fixed,
    /// A slot with an attention button and a power controller.
    HotPlug,
    /// Such a slot, from which a node may go without notice: Hot-Plug Surprise.
    Surprise,
}

impl Slot {
    const NAMES: [(&str, Self); 3] = [
        ("none", Self::Fixed),
        ("hot-plug", Self::HotPlug),
        ("surprise", Self::Surprise),
    ];
}

kernel::choices!(Slot);

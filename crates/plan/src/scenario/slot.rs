//! The slot that a node is plugged into.

kernel::choices! {
    /// The kind of connector above a node.
    pub enum Slot {
        /// The node is soldered to the board, or in a slot without hot plug.
        Fixed = "none",
        /// A slot with an attention button and a power controller.
        HotPlug = "hot-plug",
        /// A hot-plug slot from which a node may also be removed without notice: Hot-Plug Surprise.
        Surprise = "surprise",
    }
}

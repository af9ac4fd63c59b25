//! The accelerator functional units that are part of the model.

use super::dma::DmaAfu;
use super::nlb::{Design, Nlb};
use super::streaming::StreamingAfu;
use super::{Afu, AfuId};

kernel::choices! {
    /// The configuration of a slot.
    pub enum BuiltInAfu {
        /// An empty slot.
        None = "none",
        /// The native loopback, mode 0: copies host memory.
        NlbMode0 = "nlb_mode_0",
        /// The native loopback, mode 3: reads or writes host memory, or both.
        NlbMode3 = "nlb_mode_3",
        /// The native loopback, mode 7: exchanges data with software.
        NlbMode7 = "nlb_mode_7",
        /// The host exerciser for loopback, HE-LB, of the later cards.
        HostExerciser = "he_lb",
        /// The host exerciser with local memory, HE-MEM, of the later cards.
        MemoryExerciser = "he_mem",
        /// The memory-mapped DMA: transfers data between host memory and the card's memory.
        Dma = "dma_afu",
        /// The streaming DMA: transfers data between host memory and streams.
        StreamingDma = "streaming_dma_afu",
    }
}

impl BuiltInAfu {
    /// The AFU with the ID `id`, as in the metadata of an image.
    pub fn of(id: AfuId) -> Option<Self> {
        let mut all = Self::NAMES.iter().map(|(_, afu)| *afu);
        all.find(|afu| afu.id() == Some(id))
    }

    /// The AFU's ID.
    pub fn id(self) -> Option<AfuId> {
        self.make().map(|afu| afu.id())
    }

    /// A new instance of the AFU; none for an empty slot.
    pub fn make(self) -> Option<Box<dyn Afu>> {
        let design = match self {
            Self::None => return None,
            Self::Dma => return Some(Box::new(DmaAfu::default())),
            Self::StreamingDma => return Some(Box::new(StreamingAfu::default())),
            Self::NlbMode0 => Design::Mode0,
            Self::NlbMode3 => Design::Mode3,
            Self::NlbMode7 => Design::Mode7,
            Self::HostExerciser => Design::HostExerciser,
            Self::MemoryExerciser => Design::MemoryExerciser,
        };
        Some(Box::new(Nlb::new(design)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_id() {
        for (_, afu) in BuiltInAfu::NAMES {
            let made = afu.make().map(|made| made.id());
            assert_eq!(made, afu.id());
            assert_eq!(made.and_then(BuiltInAfu::of), made.map(|_| afu));
        }
    }
}

//! The accelerator functional units that are part of the model.

use super::dma::DmaAfu;
use super::nlb::Nlb;
use super::streaming::StreamingAfu;
use super::{Afu, AfuId};

/// The configuration of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInAfu {
    /// An empty slot.
    None,
    /// The native loopback, mode 0: copies host memory.
    NlbMode0,
    /// The native loopback, mode 3: reads or writes host memory, or both.
    NlbMode3,
    /// The native loopback, mode 7: exchanges data with software.
    NlbMode7,
    /// The host exerciser for loopback, HE-LB, of the later cards.
    HostExerciser,
    /// The host exerciser with local memory, HE-MEM, of the later cards.
    MemoryExerciser,
    /// The memory-mapped DMA: transfers data between host memory and the card's memory.
    Dma,
    /// The streaming DMA: transfers data between host memory and streams.
    StreamingDma,
}

impl BuiltInAfu {
    /// All configurations, with the names of their images.
    pub const NAMES: [(&str, Self); 8] = [
        ("none", Self::None),
        ("nlb_mode_0", Self::NlbMode0),
        ("nlb_mode_3", Self::NlbMode3),
        ("nlb_mode_7", Self::NlbMode7),
        ("he_lb", Self::HostExerciser),
        ("he_mem", Self::MemoryExerciser),
        ("dma_afu", Self::Dma),
        ("streaming_dma_afu", Self::StreamingDma),
    ];

    /// The AFU with the ID `id`, as in the metadata of an image.
    pub fn of(id: AfuId) -> Option<Self> {
        let mut all = Self::NAMES.iter().map(|(_, afu)| *afu);
        all.find(|afu| afu.id() == Some(id))
    }

    /// The AFU's ID.
    pub fn id(self) -> Option<AfuId> {
        match self {
            Self::None => None,
            Self::NlbMode0 => Some(Nlb::MODE_0),
            Self::NlbMode3 => Some(Nlb::MODE_3),
            Self::NlbMode7 => Some(Nlb::MODE_7),
            Self::HostExerciser => Some(Nlb::HOST_EXERCISER),
            Self::MemoryExerciser => Some(Nlb::MEMORY_EXERCISER),
            Self::Dma => Some(DmaAfu::ID),
            Self::StreamingDma => Some(StreamingAfu::ID),
        }
    }

    /// A new instance of the AFU.
    pub fn make(self) -> Option<Box<dyn Afu>> {
        match self {
            Self::None => None,
            Self::NlbMode0 => Some(Box::new(Nlb::mode_0())),
            Self::NlbMode3 => Some(Box::new(Nlb::mode_3())),
            Self::NlbMode7 => Some(Box::new(Nlb::mode_7())),
            Self::HostExerciser => Some(Box::new(Nlb::host_exerciser())),
            Self::MemoryExerciser => Some(Box::new(Nlb::memory_exerciser())),
            Self::Dma => Some(Box::new(DmaAfu::default())),
            Self::StreamingDma => Some(Box::new(StreamingAfu::default())),
        }
    }
}

kernel::choices!(BuiltInAfu);

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

//! The memory-mapped DMA unit. It executes descriptors that transfer data between host memory and the card's memory, or within one of these
//! memories.
//!
//! The unit follows the published design `dma_afu`: a modular scatter/gather DMA, and a window for access to single words. One address space of
//! 50 bits contains both memories, and a word that software uses to wait. Only the later design has a prefetcher, for descriptors in host
//! memory; its registers have no use in the earlier design.

mod masters;

use peerlane_device::Failure;

use super::features::{FeatureKind, feature_dword, header};
use super::msgdma::{Block, Command, prefetcher};
use super::words::{dwords, half, load_dwords};
use super::{Afu, AfuId, Shell};
use masters::Masters;

/// The memory-mapped DMA unit.
#[derive(Debug)]
pub(super) struct DmaAfu {
    block: Block,
    masters: Masters,
    /// The first address in the card's memory that is visible in the window.
    page: u64,
}

/// The offset of the DMA engine (a basic building block, BBB) in the registers of the unit.
const BLOCK: u64 = 0x2_0000;
const WINDOW_PAGE: u64 = BLOCK + 0x200;
const WINDOW_PAGE_HIGH: u64 = WINDOW_PAGE + 4;
const WINDOW: u64 = BLOCK + 0x1000;
const WINDOW_END: u64 = WINDOW + WINDOW_SIZE;
const WINDOW_SIZE: u64 = 4096;

/// The UUID of the basic building block.
const BLOCK_ID: AfuId = AfuId(0xef82_def7_f6ec_40fc_a914_9a35_bace_01ea);

/// The number of the interrupt that signals the end of a descriptor.
const INTERRUPT: u8 = 0;

impl Default for DmaAfu {
    fn default() -> Self {
        DmaAfu {
            block: Block::new(prefetcher::TAGS, INTERRUPT),
            masters: Masters::default(),
            page: 0,
        }
    }
}

impl DmaAfu {
    fn load_dword(&self, offset: u64, shell: &mut Shell<'_>) -> u32 {
        match offset {
            BLOCK..WINDOW_PAGE => {
                let within = offset - BLOCK;
                let found = self.block.load(within, self.masters.state());
                let header = || header(FeatureKind::BuildingBlock, 0x765, None);
                found.unwrap_or_else(|| feature_dword(within, header(), BLOCK_ID))
            }
            WINDOW_PAGE | WINDOW_PAGE_HIGH => half(self.page, offset),
            WINDOW..WINDOW_END => {
                let mut bytes = [0xff; 4];
                // If the card has no memory at this address, all bits of the result are ones.
                let at = self.page | (offset - WINDOW);
                let _ = shell.read_memory(at, &mut bytes);
                u32::from_le_bytes(bytes)
            }
            _ => 0,
        }
    }

    fn store_dword(&mut self, offset: u64, value: u32, shell: &mut Shell<'_>) {
        let asked = match offset {
            BLOCK..WINDOW_PAGE => self.block.store(offset - BLOCK, value, shell.now()),
            WINDOW_PAGE => {
                self.page = self.page & !0xffff_ffff | u64::from(value) & !(WINDOW_SIZE - 1);
                None
            }
            WINDOW_PAGE_HIGH => {
                self.page = self.page & 0xffff_ffff | u64::from(value) << 32;
                None
            }
            WINDOW..WINDOW_END => {
                let at = self.page | (offset - WINDOW);
                let _ = shell.write_memory(at, &value.to_le_bytes());
                None
            }
            _ => None,
        };
        match asked {
            Some(Command::Reset | Command::Flush) => {
                self.masters.discard();
                self.block.prefetcher.discard();
            }
            Some(Command::Continue) => {}
            None => return,
        }
        self.go_on(shell);
    }

    fn go_on(&mut self, shell: &mut Shell<'_>) {
        self.masters.go_on(&mut self.block, shell);
    }
}

impl Afu for DmaAfu {
    fn id(&self) -> AfuId {
        AfuId(0x331d_b30c_9885_41ea_9081_f88b_8f65_5caa)
    }

    fn next_feature(&self) -> Option<u32> {
        Some(BLOCK as u32)
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64 {
        load_dwords(offset, len, |offset| self.load_dword(offset, shell))
    }

    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>) {
        for (offset, value) in dwords(offset, bytes) {
            self.store_dword(offset, value, shell);
        }
    }

    fn read_done(&mut self, tag: u32, data: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        if tag >= prefetcher::TAGS {
            self.block.prefetcher.answered(tag, data.ok(), shell);
            return self.go_on(shell);
        }
        if data.is_err() {
            self.block.dispatcher.fail();
        }
        self.masters.fifo.answered(tag, data.ok(), shell.now());
        self.go_on(shell);
    }

    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>) {
        if tag >= prefetcher::TAGS {
            self.block.prefetcher.written();
            self.go_on(shell);
        } else if self.masters.ending.written(tag) {
            self.go_on(shell);
        }
    }

    fn wake(&mut self, shell: &mut Shell<'_>) {
        self.go_on(shell);
    }
}

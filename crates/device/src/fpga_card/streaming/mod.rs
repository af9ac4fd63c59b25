//! The streaming DMA unit. It transfers data from host memory to a stream, and from a stream to host memory. A checker and a generator are at
//! the other ends of the streams.
//!
//! It follows the published design `streaming_dma_afu`. Each stream has its own modular scatter/gather DMA, so both streams work at the same
//! time. Two registers can connect the read master's stream to the write master, through a decimator.
//!
//! The later version of the design has the same IDs. It has a prefetcher of descriptors in host memory instead of registers for descriptors,
//! responses and the valve. Software only loads some of these registers in the earlier version. An engine becomes one of the later version when
//! software stores to a prefetcher register in their place.

mod decimator;
mod pattern;
mod reader;
mod stream;
mod valve;
mod writer;

use peerlane_device::Failure;

use super::features::{FeatureKind, NULL_ID, feature_dword, header};
use super::msgdma::{Command, prefetcher};
use super::words::{dwords, load_dwords};
use super::{Afu, AfuId, Shell};
use decimator::Decimator;
use kernel::Time;
use pattern::Pattern;
use reader::Reader;
use writer::Writer;

/// The streaming DMA unit.
#[derive(Debug)]
pub(super) struct StreamingAfu {
    reader: Reader,
    writer: Writer,
    checker: Pattern,
    generator: Pattern,
    /// Source of the write master's stream: the generator if even, the read master if odd.
    multiplexer: u32,
    /// Target of the read master's stream: the checker if even, the write master if odd.
    demultiplexer: u32,
    decimator: Decimator,
}

const MULTIPLEXER: u64 = 0x40;
const DECIMATOR: u64 = 0x48;
const DEMULTIPLEXER: u64 = 0x50;
const M2S: u64 = 0x100;
const S2M: u64 = 0x200;
const S2M_END: u64 = 0x300;
const NULL: u64 = 0x300;
const CHECKER_MEMORY: u64 = 0x1000;
const GENERATOR_MEMORY: u64 = 0x2000;
const CHECKER: u64 = 0x3000;
const GENERATOR: u64 = 0x3010;
const END: u64 = 0x3020;

/// Offsets in the registers of a building block: responses and valve.
const RESPONSE: u64 = 0x80;
const RESPONSE_STATUS: u64 = 0x84;
const VALVE: u64 = 0xa0;
const VALVE_END: u64 = 0xb4;
/// The lowest tags of the two prefetchers' requests.
const M2S_PREFETCHER: u32 = prefetcher::TAGS;
const S2M_PREFETCHER: u32 = 2 * prefetcher::TAGS;

const M2S_ID: AfuId = AfuId(0xfee6_9b44_2f77_43ed_9ff4_9b8c_f9ee_6335);
const S2M_ID: AfuId = AfuId(0xf118_209a_d59a_4b3f_a66c_d700_a658_a015);

/// The interrupt numbers of the two engines, which are their channel numbers.
const M2S_INTERRUPT: u8 = 0;
const S2M_INTERRUPT: u8 = 1;

impl Default for StreamingAfu {
    fn default() -> Self {
        StreamingAfu {
            reader: Reader::default(),
            writer: Writer::default(),
            checker: Pattern::checker(),
            generator: Pattern::generator(),
            multiplexer: 0,
            demultiplexer: 0,
            decimator: Decimator::default(),
        }
    }
}

impl StreamingAfu {
    fn load_dword(&mut self, offset: u64) -> u32 {
        let is_earlier = !self.writer.block.prefetcher.is_used();
        match offset {
            MULTIPLEXER => self.multiplexer,
            DECIMATOR..DEMULTIPLEXER => self.decimator.load(offset - DECIMATOR),
            DEMULTIPLEXER => self.demultiplexer,
            M2S..S2M => {
                let (within, state) = (offset - M2S, self.reader.fifo.engine());
                let found = self.reader.block.load(within, state);
                found.unwrap_or_else(|| block(within, M2S_ID, Some(S2M - M2S)))
            }
            S2M..S2M_END => match offset - S2M {
                RESPONSE if is_earlier => self.writer.response_bytes(),
                RESPONSE_STATUS if is_earlier => self.writer.take_response(),
                within @ VALVE..VALVE_END if is_earlier => self.writer.valve.load(within - VALVE),
                within => {
                    let found = self.writer.block.load(within, self.writer.state());
                    found.unwrap_or_else(|| block(within, S2M_ID, Some(NULL - S2M)))
                }
            },
            NULL..0x340 => block(offset - NULL, NULL_ID, None),
            CHECKER_MEMORY..GENERATOR_MEMORY => self.checker.word(offset - CHECKER_MEMORY),
            GENERATOR_MEMORY..CHECKER => self.generator.word(offset - GENERATOR_MEMORY),
            CHECKER..GENERATOR => self.checker.load(offset - CHECKER),
            GENERATOR..END => self.generator.load(offset - GENERATOR),
            _ => 0,
        }
    }

    fn store_dword(&mut self, offset: u64, value: u32, now: Time) {
        let is_earlier = !self.writer.block.prefetcher.is_used();
        match offset {
            MULTIPLEXER => self.multiplexer = value,
            DECIMATOR..DEMULTIPLEXER => self.decimator.store(offset - DECIMATOR, value),
            DEMULTIPLEXER => self.demultiplexer = value,
            M2S..S2M => match self.reader.block.store(offset - M2S, value, now) {
                Some(Command::Reset | Command::Flush) => self.reader.discard(),
                Some(Command::Continue) | None => {}
            },
            S2M..S2M_END => match offset - S2M {
                within @ VALVE..VALVE_END if is_earlier => {
                    self.writer.valve.store(within - VALVE, value);
                }
                within => match self.writer.block.store(within, value, now) {
                    Some(Command::Reset) => self.writer.discard(true),
                    Some(Command::Flush) => self.writer.discard(false),
                    Some(Command::Continue) | None => {}
                },
            },
            CHECKER_MEMORY..GENERATOR_MEMORY => {
                self.checker.set_word(offset - CHECKER_MEMORY, value);
            }
            GENERATOR_MEMORY..CHECKER => {
                self.generator.set_word(offset - GENERATOR_MEMORY, value);
            }
            CHECKER..GENERATOR => self.checker.store(offset - CHECKER, value),
            GENERATOR..END => self.generator.store(offset - GENERATOR, value),
            _ => {}
        }
    }

    fn go_on(&mut self, shell: &mut Shell<'_>) {
        loop {
            self.writer.end(shell);
            // Waiting interrupts are sent before further data. Otherwise data would fill the queue again and again.
            let (m2s, s2m) = (&mut self.reader.block, &mut self.writer.block);
            m2s.interrupt(shell);
            s2m.interrupt(shell);
            let fetched = m2s.fetch(shell) | s2m.fetch(shell);
            let may_write = !m2s.waits_to_write() && !s2m.waits_to_write();
            let moved = fetched
                | self.reader.read_next(shell)
                | (may_write && self.writer.go_on(shell))
                | self.pass(shell)
                | self.generate(shell);
            if !moved {
                return;
            }
        }
    }

    /// Transfers a beat of the read master to its target. Returns false if there is no beat or it must wait.
    fn pass(&mut self, shell: &mut Shell<'_>) -> bool {
        let loops = self.demultiplexer & 1 != 0;
        if loops && self.multiplexer & 1 == 0 {
            return false;
        }
        // The write master does not receive a removed beat, so a removed beat does not wait for space there.
        if loops
            && self.decimator.removes_next()
            && self.reader.has_beat(shell)
            && !self.reader.bounds_packet()
        {
            self.reader.take(shell);
            self.decimator.count();
            return true;
        }
        let is_taken = if loops {
            self.writer.has_room(shell)
        } else {
            self.checker.runs()
        };
        if !is_taken || !self.reader.has_beat(shell) {
            return false;
        }
        let beat = self.reader.take(shell);
        if loops {
            self.decimator.count();
            self.writer.put(&beat, shell);
        } else {
            self.checker.check(&beat);
        }
        true
    }

    /// Transfers a beat of the generator to the write master. Returns false if there is no beat or it must wait.
    fn generate(&mut self, shell: &mut Shell<'_>) -> bool {
        let may = self.multiplexer & 1 == 0 && self.generator.runs();
        if !may || !self.writer.has_room(shell) {
            return false;
        }
        let beat = self.generator.make();
        self.writer.put(&beat, shell);
        true
    }
}

/// The dword at offset `within` of the header and the ID of a building block.
fn block(within: u64, id: AfuId, next: Option<u64>) -> u32 {
    let number = if next.is_some() { 0x765 } else { 0 };
    let header = header(FeatureKind::BuildingBlock, number, next);
    feature_dword(within, header, id)
}

impl Afu for StreamingAfu {
    fn id(&self) -> AfuId {
        AfuId(0xeb59_bf9d_b211_4a4e_b3e3_753c_e686_34ba)
    }

    fn next_feature(&self) -> Option<u32> {
        Some(M2S as u32)
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn load(&mut self, offset: u64, len: u32, shell: &mut Shell<'_>) -> u64 {
        let value = load_dwords(offset, len, |offset| self.load_dword(offset));
        if offset & !7 == S2M + RESPONSE {
            // The load may have freed space in the queue of responses.
            self.go_on(shell);
        }
        value
    }

    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut Shell<'_>) {
        for (offset, value) in dwords(offset, bytes) {
            self.store_dword(offset, value, shell.now());
        }
        self.go_on(shell);
    }

    fn read_done(&mut self, tag: u32, data: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        match tag {
            S2M_PREFETCHER.. => self.writer.block.prefetcher.answered(tag, data.ok(), shell),
            M2S_PREFETCHER.. => self.reader.block.prefetcher.answered(tag, data.ok(), shell),
            _ => self.reader.answered(tag, data.ok(), shell.now()),
        }
        self.go_on(shell);
    }

    fn write_done(&mut self, tag: u32, shell: &mut Shell<'_>) {
        match tag {
            S2M_PREFETCHER.. => self.writer.block.prefetcher.written(),
            M2S_PREFETCHER.. => self.reader.block.prefetcher.written(),
            _ if self.writer.written(tag) => {}
            _ => return,
        }
        self.go_on(shell);
    }

    fn wake(&mut self, shell: &mut Shell<'_>) {
        self.go_on(shell);
    }
}

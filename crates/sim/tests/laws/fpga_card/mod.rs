//! FPGA cards: the registers that software reads and writes, and the traffic of the units in their slots.

mod dma;
mod exerciser;
mod features;
mod loopback;
mod misuse;
mod prefetcher;
mod slots;
mod streaming;

use kernel::{Span, Time};
use protocol::Bar;
use sim::Simulation;

use crate::fixture::*;

/// A host with a card that has the keys `more`.
pub fn machine(more: &str) -> Machine {
    machine_with(256, more)
}

/// A host with a card that has the keys `more`. The max payload size of both is `payload` bytes.
pub fn machine_with(payload: u32, more: &str) -> Machine {
    machine_below("\"h0\"", payload, more)
}

/// A host with a card that has the keys `more`. The max payload size of both is `payload` bytes, and `upstream` describes the link above the card.
pub fn machine_below(upstream: &str, payload: u32, more: &str) -> Machine {
    let text = format!(
        r#"{HOST}
memory = "64 GiB"
memory_address_bits = 64
max_payload_supported = "{payload} B"
[links]
generation = 3
lanes = 8
[devices.card]
model = "fpga-card"
upstream = {upstream}
max_payload_supported = "{payload} B"
max_read_request = "256 B"
{more}
[[flows]]
from = "h0"
to = "card"
offset = "256 KiB"
size = "64 B"
"#
    );
    let mut simulation = simulation(&text);
    assert!(simulation.run(&mut |_| true));
    assert!(simulation.result().flows.iter().all(|flow| flow.intact));
    Machine { simulation }
}

/// The simulation of a host with a card, and the accesses of the host's software.
pub struct Machine {
    pub simulation: Simulation,
}

/// The offset of the AFU in BAR 2.
pub const AFU: u64 = 0x4_0000;
/// The first address of the host's memory.
pub const MEMORY: u64 = 4 << 30;

impl Machine {
    pub fn bar(&self, number: usize) -> u64 {
        let nodes = &self.simulation.plan().nodes;
        let card = nodes.iter().find(|node| node.name == "card");
        let bars: [_; Bar::COUNT] = card.expect("the card is there").bars;
        bars[number].expect("the BAR is there").base
    }

    pub fn load(&mut self, bar: usize, offset: u64, len: u64) -> u64 {
        let at = self.bar(bar) + offset;
        let read = self.simulation.read_back("h0", at, len, &mut || true);
        let mut bytes = [0; 8];
        bytes[..len as usize].copy_from_slice(&read.expect("registers can be read"));
        u64::from_le_bytes(bytes)
    }

    pub fn store(&mut self, bar: usize, offset: u64, bytes: &[u8]) {
        let at = self.bar(bar) + offset;
        let written = self.simulation.write("h0", at, bytes.to_vec());
        written.expect("registers can be written");
    }

    /// Reads a register of 8 bytes of the AFU.
    pub fn get(&mut self, offset: u64) -> u64 {
        self.load(2, AFU + offset, 8)
    }

    pub fn get32(&mut self, offset: u64) -> u64 {
        self.load(2, AFU + offset, 4)
    }

    pub fn set(&mut self, offset: u64, value: u64) {
        self.store(2, AFU + offset, &value.to_le_bytes());
    }

    pub fn set32(&mut self, offset: u64, value: u32) {
        self.store(2, AFU + offset, &value.to_le_bytes());
    }

    pub fn pass(&mut self, span: Span) {
        let until = self.simulation.now() + span;
        self.simulation.run_until(until, &mut || true);
    }

    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Writes bytes to the host's memory, at `offset` from [`MEMORY`].
    pub fn fill(&mut self, offset: u64, bytes: &[u8]) {
        let filled = self.simulation.fill("h0", MEMORY + offset, bytes);
        filled.expect("it is the host's memory");
    }

    pub fn memory(&self, offset: u64, len: u64) -> Vec<u8> {
        let read = self.simulation.memory("h0", MEMORY + offset, len);
        read.expect("it is the host's memory")
    }

    /// The number of interrupts that arrived since the last call.
    pub fn interrupts(&mut self) -> u32 {
        let taken = self.simulation.take_interrupts("h0");
        let taken = taken.expect("it is a host");
        taken.iter().map(|(_, count)| count).sum()
    }

    /// Whether the card has recorded a completion timeout of its own requests: 1 or 0.
    pub fn timeouts(&self) -> u64 {
        let card = self.simulation.card("card").expect("it is one");
        card.link_errors() >> 7 & 1
    }

    /// Runs for 100 ms and asserts that no packet is left.
    pub fn rests(&mut self) {
        self.pass(Span::from_us(100_000));
        assert_eq!(self.simulation.packets_in_use(), 0);
    }
}

/// Pseudo-random bytes.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

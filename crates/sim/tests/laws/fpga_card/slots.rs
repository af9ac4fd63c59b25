//! Cards with several slots, each with its own port, unit and clock, and performance counters for the requests of each port.

use kernel::Frequency;
use sim::BuiltInAfu;

use super::*;

/// The distance in BAR 2 from one port to the next.
const PORT: u64 = 0x8_0000;
/// The offset of the performance counters in BAR 0.
const COUNTERS: u64 = 0x3000;

const STATUS: u64 = 0x10_0000;
const SOURCE: u64 = 0x20_0000;
const DESTINATION: u64 = 0x60_0000;
/// The distance between the memory ranges of the tests of two slots.
const STEP: u64 = 0x100_0000;

/// A card with two native loopbacks.
fn two() -> Machine {
    machine("slots = 2\nafu = \"nlb_mode_3\"\nafu_1 = \"nlb_mode_3\"")
}

impl Machine {
    fn set_in(&mut self, slot: u64, offset: u64, value: u64) {
        self.store(2, slot * PORT + AFU + offset, &value.to_le_bytes());
    }

    fn set32_in(&mut self, slot: u64, offset: u64, value: u32) {
        self.store(2, slot * PORT + AFU + offset, &value.to_le_bytes());
    }

    /// Starts a test of `lines` lines in a slot. Each slot uses its own memory range.
    fn start_in(&mut self, slot: u64, lines: u32, configuration: u32) {
        let base = MEMORY + slot * STEP;
        self.set_in(slot, 0x110, base + STATUS);
        self.set32_in(slot, 0x138, 0);
        self.set32_in(slot, 0x138, 1);
        self.set_in(slot, 0x120, (base + SOURCE) >> 6);
        self.set_in(slot, 0x128, (base + DESTINATION) >> 6);
        self.set32_in(slot, 0x130, lines);
        self.set32_in(slot, 0x140, configuration);
        self.set32_in(slot, 0x138, 3);
    }

    /// The words of a slot's status line.
    fn status_in(&self, slot: u64) -> Vec<u32> {
        let line = self.memory(slot * STEP + STATUS + 0x40, 64);
        let (words, _) = line.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// The value of a performance counter, for one port or for all ports.
    fn counter(&mut self, code: u64, port: Option<u64>) -> u64 {
        let filter = port.map_or(0, |port| 1 << 23 | port << 20);
        self.store(0, COUNTERS + 0x20, &(code << 16 | filter).to_le_bytes());
        let value = self.load(0, COUNTERS + 0x28, 8);
        assert_eq!(value >> 60, code);
        value & ((1 << 60) - 1)
    }
}

const COPY: u32 = 3 << 5;

#[test]
fn each_slot_has_a_port_and_a_unit_that_software_finds() {
    let mut machine = machine("slots = 3\nafu = \"nlb_mode_0\"\nafu_2 = \"dma_afu\"");
    let expected = [BuiltInAfu::NlbMode0.id(), None, BuiltInAfu::Dma.id()];
    for (slot, id) in (0..4).zip(expected.into_iter().chain([None])) {
        let port = machine.load(0, 0x38 + 8 * slot, 8);
        assert_eq!(port >> 60 & 1, u64::from(slot < 3), "slot {slot}");
        if slot == 3 {
            break;
        }
        let (bar, offset) = (port >> 32 & 7, port & 0xff_ffff);
        assert_eq!((bar, offset), (2, slot * PORT));
        assert_eq!(machine.load(2, offset, 8) >> 60, 4, "it is a port");
        let low = machine.load(2, offset + AFU + 8, 8);
        assert_eq!(low, id.map_or(u64::MAX, sim::AfuId::low));
        let card = machine.simulation.card("card").unwrap();
        assert_eq!(card.slots()[slot as usize].afu_id(), id);
    }
}

#[test]
fn two_units_work_at_the_same_time_and_both_copies_are_right() {
    let mut machine = two();
    let data = [noise(1 << 16, 1), noise(1 << 16, 2)];
    for slot in 0..2 {
        machine.fill(slot * STEP + SOURCE, &data[slot as usize]);
        machine.start_in(slot, 1024, COPY);
    }
    machine.pass(Span::from_us(100));
    for slot in 0..2 {
        assert_eq!(machine.status_in(slot)[..2], [1, 0]);
        assert!(machine.memory(slot * STEP + DESTINATION, 1 << 16) == data[slot as usize]);
    }
    // The two slots share the link equally.
    let [first, second] = [0, 1].map(|slot| f64::from(machine.status_in(slot)[2]));
    assert!((0.9..1.1).contains(&(first / second)), "{first} {second}");
    let mut alone = two();
    alone.start_in(0, 1024, COPY);
    alone.pass(Span::from_us(100));
    assert!(first > 1.5 * f64::from(alone.status_in(0)[2]));
    machine.rests();
}

#[test]
fn reset_and_reconfiguration_of_a_slot_leave_the_other_one_alone() {
    for reconfigures in [false, true] {
        let mut machine = two();
        let data = noise(1 << 18, 3);
        machine.fill(STEP + SOURCE, &data);
        machine.start_in(0, 4096, COPY);
        machine.start_in(1, 4096, COPY);
        machine.pass(Span::from_us(10));
        assert_eq!(machine.status_in(1)[0], 0, "both are at work");
        if reconfigures {
            let afu = BuiltInAfu::Dma.make().unwrap();
            machine.simulation.load_afu("card", 0, afu).unwrap();
        } else {
            machine.store(2, 0x38, &1_u64.to_le_bytes());
            machine.pass(Span::from_us(1));
            machine.store(2, 0x38, &0_u64.to_le_bytes());
        }
        machine.pass(Span::from_us(400));
        assert_eq!(machine.status_in(0)[0], 0, "slot 0 has stopped");
        assert_eq!(machine.status_in(1)[..2], [1, 0]);
        assert!(machine.memory(STEP + DESTINATION, 1 << 18) == data);
        let card = machine.simulation.card("card").unwrap();
        let id = |reconfigured: BuiltInAfu| {
            if reconfigures {
                reconfigured.id()
            } else {
                BuiltInAfu::NlbMode3.id()
            }
        };
        assert_eq!(card.slots()[0].afu_id(), id(BuiltInAfu::Dma));
        assert_eq!(card.slots()[1].afu_id(), BuiltInAfu::NlbMode3.id());
        machine.rests();
    }
}

#[test]
fn each_slot_has_interrupts_of_its_own() {
    let mut machine = two();
    let messages = |machine: &Machine, slot: u8| {
        let vectors = sim::first_vector(slot)..sim::first_vector(slot) + sim::INTERRUPTS;
        let message = |vector| {
            machine
                .simulation
                .interrupt_message("card", u16::from(vector))
        };
        vectors
            .map(|vector| message(vector).unwrap().unwrap())
            .collect::<Vec<u32>>()
    };
    machine.interrupts();
    for slot in 0..2 {
        machine.set32_in(slot.into(), 0x150, 2);
        machine.start_in(slot.into(), 16, 1 << 2 | 1 << 29);
        machine.pass(Span::from_us(20));
        let taken = machine.simulation.take_interrupts("h0").unwrap();
        assert_eq!(taken, [(messages(&machine, slot)[2], 1)], "slot {slot}");
    }
    assert!(
        messages(&machine, 0)
            .iter()
            .all(|one| !messages(&machine, 1).contains(one))
    );
}

#[test]
fn each_slot_has_its_own_clock() {
    let mut machine = two();
    machine.simulation.slot("card", 1).unwrap().clock = Frequency::mhz(50);
    for slot in 0..2 {
        machine.start_in(slot, 256, 2 << 2 | 3 << 5);
    }
    machine.pass(Span::from_us(100));
    let [fast, slow] = [0, 1].map(|slot| u64::from(machine.status_in(slot)[2]));
    // The slow slot takes 256 cycles of 20 ns and a few more. The fast slot ends much earlier, although it takes more cycles, of 2.5 ns each.
    assert!((256..290).contains(&slow), "{slow}");
    assert!(fast * 25 < slow * 200, "{fast} {slow}");
}

#[test]
fn the_counters_are_those_of_the_requests_of_each_port() {
    let mut machine = two();
    machine.store(0, COUNTERS + 0x20, &1_u64.to_le_bytes());
    // The unit makes 64 reads and 64 writes of 4 lines, and writes the status line.
    machine.start_in(0, 256, COPY);
    // The unit makes 100 writes of one line, and writes the status line.
    machine.start_in(1, 100, 2 << 2);
    machine.pass(Span::from_us(100));
    assert_eq!(machine.counter(0, Some(0)), 64);
    assert_eq!(machine.counter(1, Some(0)), 65);
    assert_eq!(machine.counter(0, Some(1)), 0);
    assert_eq!(machine.counter(1, Some(1)), 101);
    assert_eq!(machine.counter(0, None), 64);
    assert_eq!(machine.counter(1, None), 166);
    let before = machine.counter(6, Some(1));
    machine.load(2, PORT + AFU, 8);
    machine.load(2, AFU, 8);
    assert_eq!(machine.counter(6, Some(1)), before + 1);
    assert_eq!(machine.counter(7, Some(1)), 8, "registers were written");
}

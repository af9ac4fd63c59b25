//! Guarantees that hold for all actions of software and of units.

use proptest::prelude::*;
use sim::{Afu, AfuId, BuiltInAfu, Failure, Misuse, Shell};

use super::*;
use crate::cases::cases;

fn nlb_start(machine: &mut Machine) {
    machine.set(0x110, MEMORY);
    machine.set32(0x138, 1);
    machine.set(0x120, MEMORY >> 6);
    machine.set(0x128, (MEMORY + (1 << 20)) >> 6);
    machine.set32(0x130, 1 << 14);
    machine.set32(0x140, 3 << 5);
    machine.set32(0x138, 3);
}

/// A unit that makes requests which are not allowed, and records how they are refused.
#[derive(Debug, Default)]
struct Wild {
    refused: Vec<Misuse>,
    told: u64,
}

impl Afu for Wild {
    fn id(&self) -> AfuId {
        AfuId(7)
    }
    fn reset(&mut self) {}
    fn load(&mut self, _: u64, _: u32, _: &mut Shell<'_>) -> u64 {
        self.refused.len() as u64 | self.told << 32
    }
    fn store(&mut self, offset: u64, _: &[u8], shell: &mut Shell<'_>) {
        if offset == 0x88 {
            let beyond = shell.memory_size();
            assert!(shell.write_memory(beyond, &[0; 64]).is_err());
            return;
        }
        if offset == 0x80 {
            while shell.write(MEMORY, &[0; 64], 0).is_ok() {}
            while shell.read(MEMORY, 64, 0).is_ok() {}
            return;
        }
        let asked = [
            shell.read(MEMORY + 32, 64, 0),
            shell.read(MEMORY + 0xfc0, 128, 0),
            shell.read(MEMORY, 100, 0),
            shell.read(MEMORY, usize::MAX, 0),
            shell.write(1 << 50, &[0; 64], 0),
            shell.write(MEMORY, &[], 0),
            shell.write(MEMORY, &[0; 512], 0),
            shell.write(MEMORY + 0xfc0, &[0; 128], 0),
            shell.interrupt(4),
        ];
        self.refused
            .extend(asked.into_iter().filter_map(Result::err));
        shell.wake_at(Time::ZERO);
    }
    fn read_done(&mut self, _: u32, _: Result<&[u8], Failure>, _: &mut Shell<'_>) {
        self.told += 1;
    }
    fn write_done(&mut self, _: u32, _: &mut Shell<'_>) {}
    fn wake(&mut self, _: &mut Shell<'_>) {}
}

#[test]
fn a_unit_that_asks_for_what_is_no_request_is_refused_and_the_port_says_so() {
    let mut machine = machine("");
    let loaded = machine
        .simulation
        .load_afu("card", 0, Box::<Wild>::default());
    assert_eq!(loaded, Ok(()));
    machine.set(0x40, 0);
    assert_eq!(machine.get(0x40), 9);
    let bits = [1, 4, 17, 20, 21, 23];
    let bits = bits.iter().fold(0, |all, bit| all | 1_u64 << bit);
    assert_eq!(machine.load(2, 0x1010, 8), bits);
    machine.set(0x80, 0);
    machine.pass(Span::from_us(20));
    assert_eq!(machine.load(2, 0x1010, 8), bits | 1 | 1 << 16);
    assert_eq!(machine.get(0x40), 9 | 64 << 32);
    assert!(
        machine
            .simulation
            .card("card")
            .expect("it is one")
            .port_errors()
            >= 11
    );
    machine.rests();
}

#[test]
fn what_a_unit_is_refused_is_in_the_log_with_its_slot_and_how_often() {
    let mut machine = machine("");
    let wild = Box::<Wild>::default();
    assert_eq!(machine.simulation.load_afu("card", 0, wild), Ok(()));
    for offset in [0x40, 0x88, 0x40] {
        machine.set(offset, 0);
    }
    machine.pass(Span::from_us(5));
    let incidents = machine.simulation.noticeable_incidents();
    let told = incidents.iter();
    let told: Vec<_> = told
        .map(|one| (one.place.as_str(), one.what.as_str(), one.count))
        .collect();
    let rules = [
        (
            "slot 0: the address of a request must be a multiple of 64 below 2^48",
            4,
        ),
        ("slot 0: a request must not cross a 4 KiB boundary", 4),
        (
            "slot 0: the length of a request must be 64, 128, 192 or 256 bytes",
            8,
        ),
        ("slot 0: the interrupt must be 0 to 3", 2),
        ("slot 0: an access beyond the card's memory", 1),
    ];
    assert_eq!(told, rules.map(|(what, count)| ("card", what, count)));
}

#[test]
fn what_goes_wrong_alerts_the_host_once_and_injected_errors_do_too() {
    let mut machine = machine("");
    let wild = Box::<Wild>::default();
    assert_eq!(machine.simulation.load_afu("card", 0, wild), Ok(()));
    machine.interrupts();
    machine.set(0x40, 0);
    machine.pass(Span::from_us(5));
    let told = machine.interrupts();
    assert!(told >= 1, "several bits may share an interrupt");
    machine.set(0x40, 0);
    machine.pass(Span::from_us(5));
    assert_eq!(machine.interrupts(), 0, "the bits are set already");
    machine.store(2, 0x1010, &u64::MAX.to_le_bytes());
    machine.set(0x40, 0);
    machine.pass(Span::from_us(5));
    assert_eq!(machine.interrupts(), told);

    // The first four vectors belong to the unit. The port has the next vector, and the management engine has the last.
    assert_eq!(machine.load(2, 0x1038, 8), 4 << 1 | 1);
    assert_eq!(machine.load(0, 0x4070, 8), 5 << 1 | 1);
    let message = machine.simulation.interrupt_message("card", 5);
    machine.store(0, 0x4068, &0b010_u64.to_le_bytes());
    machine.pass(Span::from_us(5));
    assert_eq!(machine.load(0, 0x4060, 8), 1 << 8);
    let came = machine.simulation.take_interrupts("h0");
    let message = message.expect("it is a card").expect("it is enabled");
    assert_eq!(came, Ok(vec![(message, 1)]));
    machine.store(0, 0x4068, &0_u64.to_le_bytes());
    machine.store(0, 0x4058, &u64::MAX.to_le_bytes());
    machine.store(0, 0x4068, &0b011_u64.to_le_bytes());
    machine.pass(Span::from_us(5));
    assert_eq!(machine.load(0, 0x4060, 8), 0);
    assert_eq!(machine.interrupts(), 0, "they are masked");
    machine.rests();
}

#[test]
fn what_another_unit_has_asked_for_is_answered_to_nobody() {
    let mut machine = machine("");
    nlb_start(&mut machine);
    machine.pass(Span::from_us(3));
    let loaded = machine
        .simulation
        .load_afu("card", 0, Box::<Wild>::default());
    assert_eq!(loaded, Ok(()));
    machine.pass(Span::from_us(20));
    assert_eq!(machine.get(0x40), 0);
    assert_eq!(
        machine
            .simulation
            .card("card")
            .map(|card| card.slots()[0].afu_id()),
        Ok(Some(AfuId(7)))
    );
    machine.rests();
    assert!(
        machine
            .simulation
            .load_afu("h0", 0, Box::<Wild>::default())
            .is_err()
    );
}

#[test]
fn a_read_that_no_completion_comes_for_ends_by_its_timeout() {
    let link = "{ to = \"h0\", fails_at = \"60 us\" }";
    let more = "afu = \"dma_afu\"\ncompletion_timeout = \"50 us\"";
    let mut machine = machine_below(link, 256, more);
    let block = 0x2_0000;
    let from = 0x2_0000_0000_0000 | MEMORY;
    machine.set(block + 0x60, from & 0xffff_ffff);
    machine.set(block + 0x68, 4 << 48 | 1 << 20);
    machine.set(block + 0x70, from >> 32 << 32);
    machine.set(block + 0x78, 1 << 63);
    let until = Time::ZERO + Span::from_us(100);
    machine.simulation.run_until(until, &mut || true);
    assert_eq!(machine.timeouts(), 0);
    machine.pass(Span::from_us(300));
    // All reads in flight end by their timeouts. The engine makes further reads until the link transmits no more packets.
    assert!(machine.timeouts() > 0);
    let card = machine.simulation.card("card").expect("it is one");
    assert_eq!(card.port_errors(), 0);
}

#[test]
fn units_may_be_changed_at_any_time() {
    let mut machine = machine("");
    for round in 0..20_u64 {
        nlb_start(&mut machine);
        machine.pass(Span::from_ns(300 + 777 * round));
        let (_, next) = BuiltInAfu::NAMES[1 + round as usize % 4];
        let afu = next.make().expect("the slot is not emptied");
        assert_eq!(machine.simulation.load_afu("card", 0, afu), Ok(()));
        assert_eq!(
            machine
                .simulation
                .card("card")
                .map(|card| card.slots()[0].afu_id()),
            Ok(next.id())
        );
        assert_eq!(machine.get(0x08), next.id().map_or(0, AfuId::low));
        let loaded =
            machine
                .simulation
                .load_afu("card", 0, BuiltInAfu::NlbMode0.make().expect("it is one"));
        assert_eq!(loaded, Ok(()));
    }
    machine.fill(0, &noise(1 << 20, 9));
    nlb_start(&mut machine);
    machine.pass(Span::from_us(400));
    assert!(machine.memory((1 << 20) + 4096, 4096) == machine.memory(4096, 4096));
    assert_eq!(machine.get(0x168), 0);
    machine.rests();
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn no_store_or_load_of_a_register_does_harm(
        afu in 1_usize..BuiltInAfu::NAMES.len(),
        accesses in prop::collection::vec((0_u64..0x400, 0_u8..4, any::<u64>(), 0_u8..8), 1..60),
    ) {
        let (name, _) = BuiltInAfu::NAMES[afu];
        let mut machine = machine(&format!("afu = \"{name}\""));
        for (register, way, value, place) in accesses {
            let offset = [0, 0x100, 0x2_0000, 0x2_0040, 0x2_1000, 0x3000, 0x200, 0x3_ff00][usize::from(place)];
            let offset = (offset + register).min(0x3_fff8);
            let value = if way == 3 { value & 0xffff } else { value };
            let bytes = value.to_le_bytes();
            match way {
                0 => { machine.load(2, AFU + offset, 8); }
                1 => machine.store(2, AFU + offset, &bytes[..3]),
                2 => machine.store(2, AFU + (offset & !7), &bytes),
                _ => machine.store(2, AFU + (offset & !3), &bytes[..4]),
            }
        }
        machine.pass(Span::from_us(50));
        machine.store(2, 0x38, &1_u64.to_le_bytes());
        machine.rests();
    }
}

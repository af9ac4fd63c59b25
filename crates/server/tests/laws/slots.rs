//! A card with several slots, its performance counters, and the clocks of its units.

use session::{Attribute, Counter, Failure, Kind, Reply, Request};

use crate::fixture::{Process, Session};

const DEVICE: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;

const MHZ: u64 = 1_000_000;

fn two() -> Session {
    Session::with(
        false,
        "slots = 2\nafu_1 = \"nlb_mode_0\"\nmsix_vectors = 12",
    )
}

fn value(process: &Process, object: u32, attribute: Attribute) -> Result<u64, Failure> {
    match process.ask(Request::LoadAttribute { object, attribute })? {
        Reply::Value(value) => Ok(value),
        other => panic!("{other:?} is no value"),
    }
}

fn set(process: &Process, attribute: Attribute, value: u64) -> Result<Reply, Failure> {
    process.ask(Request::StoreAttribute {
        object: DEVICE,
        attribute,
        value,
    })
}

#[test]
fn each_slot_is_an_accelerator_with_registers_of_its_own() {
    let session = two();
    let process = session.process();
    let objects = process.objects();
    let found: Vec<_> = objects
        .iter()
        .map(|one| (one.kind, one.parent, one.slot))
        .collect();
    let accelerator = |slot| (Kind::Accelerator, Some(DEVICE), slot);
    assert_eq!(found[1..], [accelerator(0), accelerator(1)]);
    let first = process.open(FIRST, false).expect("nobody has it");
    let second = process.open(SECOND, false).expect("nobody has it");
    let ids = [first, second].map(|handle| process.load(handle, 8, 8).expect("a register"));
    assert_eq!(ids.map(|id| id[7]), [0x90, 0xf8]);
    process.store(second, 0x100, 7).expect("its scratchpad");
    process
        .ask(Request::Reset { handle: first })
        .expect("its own");
    assert_eq!(process.load(second, 0x100, 8).expect("a register")[0], 7);
    process
        .ask(Request::Reset { handle: second })
        .expect("its own");
    assert_eq!(process.load(second, 0x100, 8).expect("a register")[0], 0);
}

#[test]
fn register_accesses_are_counted_by_port() {
    let session = two();
    let process = session.process();
    let handle = process.open(SECOND, false).expect("nobody has it");
    let reads = |port| {
        value(
            &process,
            DEVICE,
            Attribute::Counter(Counter::RegisterRead, port),
        )
    };
    let before = reads(None).expect("a counter");
    for _ in 0..3 {
        process.load(handle, 0x100, 8).expect("a register");
    }
    assert_eq!(reads(None), Ok(before + 3));
    assert_eq!(reads(Some(1)), Ok(0), "it is not enabled");
    set(&process, Attribute::IsCounting(Some(1)), 1).expect("a port");
    assert_eq!(reads(None), Ok(0), "it is not enabled any more");
    let of_second = reads(Some(1)).expect("a counter");
    set(&process, Attribute::IsFrozen, 1).expect("a switch");
    assert_eq!(value(&process, DEVICE, Attribute::IsFrozen), Ok(1));
    process.load(handle, 0x100, 8).expect("a register");
    assert_eq!(reads(Some(1)), Ok(of_second));
    set(&process, Attribute::IsFrozen, 0).expect("a switch");
    process.load(handle, 0x100, 8).expect("a register");
    assert_eq!(reads(Some(1)), Ok(of_second + 1));
    assert_eq!(
        set(&process, Attribute::IsCounting(Some(1)), 0),
        Err(Failure::Invalid)
    );
    for port in [2, 255] {
        assert_eq!(reads(Some(port)), Err(Failure::NotFound));
    }
    let of_unit = Attribute::Counter(Counter::LinkRead, None);
    assert_eq!(value(&process, FIRST, of_unit), Err(Failure::NotFound));
    assert_eq!(set(&process, of_unit, 1), Err(Failure::NotSupported));
}

#[test]
fn a_clock_is_set_by_who_has_the_accelerator_and_within_limits() {
    let session = two();
    let (process, other) = (session.process(), session.process());
    let handle = process.open(SECOND, false).expect("nobody has it");
    let device = process.open(DEVICE, false).expect("nobody has it");
    let clock = |process: &Process, handle, hertz| process.ask(Request::SetClock { handle, hertz });
    clock(&process, handle, 100 * MHZ).expect("its own");
    for hertz in [0, 1, 24 * MHZ, 1201 * MHZ, u64::MAX] {
        assert_eq!(clock(&process, handle, hertz), Err(Failure::Invalid));
    }
    assert_eq!(clock(&other, handle, 100 * MHZ), Err(Failure::NotFound));
    assert!(clock(&process, device, 100 * MHZ).is_err());
    let clocks = [FIRST, SECOND].map(|object| value(&process, object, Attribute::UserClock));
    assert_eq!(clocks, [Ok(200 * MHZ), Ok(100 * MHZ)]);
    assert_eq!(
        value(&process, DEVICE, Attribute::UserClock),
        Err(Failure::NotFound)
    );
}

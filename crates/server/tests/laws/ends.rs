//! The end of a use: a close, the end of a process, a new configuration, or the end of the session. After each of these, the accelerator makes
//! no accesses, and no byte of memory that is allocated later changes.

use std::os::fd::AsFd;

use proptest::prelude::*;
use proptest::sample::select;
use rustix::fs::ftruncate;
use server::Image;
use session::{Attribute, Counter, Reply, Request, SharedMemory, Until};

use crate::fixture::{Process, Session};

const DEVICE: u32 = 0;
const LOOPBACK: u32 = 2;

const MODE_3: &str = "f7df405c-bd7a-cf72-22f1-44b0b93acd18";

/// Size of a buffer in bytes. A buffer is written in less than the 50 us that [`busy`] lets pass.
const SIZE: u64 = 1 << 18;

const DESTINATION: u64 = 0x128;

/// A card whose second slot has the native loopback of mode 3.
fn session() -> Session {
    Session::with(
        false,
        "slots = 2\nafu_1 = \"nlb_mode_3\"\nmsix_vectors = 12",
    )
}

/// Lets the loopback write lines of numbers to the `SIZE` bytes at `address`, for ever or once.
fn start_writes(process: &Process, handle: u64, (address, status): (u64, u64), is_endless: bool) {
    let configuration = 2 << 2 | u64::from(is_endless) << 1;
    let stores = [
        (0x110, status),
        (0x138, 1),
        (DESTINATION, address / 64),
        (0x130, SIZE / 64),
        (0x140, configuration),
        (0x138, 3),
    ];
    for (offset, value) in stores {
        process.store(handle, offset, value).expect("a register");
    }
}

/// Opens the loopback, pins memory and starts endless writes to it. Returns the handle and the number of the buffer.
fn busy(process: &Process, shared: bool) -> (u64, u64) {
    let handle = process.open(LOOPBACK, shared).expect("it is free");
    let (_, status, _) = process.pin(handle, 4096).expect("room");
    let (buffer, address, memory) = process.pin(handle, SIZE).expect("room");
    start_writes(process, handle, (address, status), true);
    pass(process, 50_000_000_000);
    let mut last = [0; 4];
    memory.read(SIZE as usize - 64, &mut last);
    assert!(last != [0; 4], "it writes");
    (handle, buffer)
}

/// Lets this number of femtoseconds pass.
fn pass(process: &Process, span: u64) {
    let (until, limit) = (Until::Limit, process.now() + span);
    let woken = process.ask(Request::Wait { until, limit });
    assert!(matches!(woken, Ok(Reply::Woken(_))));
}

/// Opens the loopback when it is free.
fn open_soon(process: &Process) -> u64 {
    let tries = std::iter::repeat_with(|| {
        std::thread::yield_now();
        process.open(LOOPBACK, false).ok()
    });
    tries.take(10_000).flatten().next().expect("it is free")
}

/// Whether no byte of new buffers of a process changes for 200 us, and the destination register has its value after reset.
fn is_untouched(process: &Process, handle: u64) -> bool {
    let buffers: Vec<_> = (0..4)
        .map(|_| process.pin(handle, SIZE).expect("room"))
        .collect();
    pass(process, 200_000_000_000);
    let register = process.load(handle, DESTINATION, 8).expect("a register");
    register == [0; 8] && buffers.iter().all(|(_, _, memory)| is_zero(memory))
}

fn is_zero(memory: &SharedMemory) -> bool {
    let mut bytes = vec![0; memory.size()];
    memory.read(0, &mut bytes);
    bytes.iter().all(|byte| *byte == 0)
}

#[derive(Clone, Copy, Debug)]
enum End {
    Close,
    Gone,
    Reset,
    Configuration,
}

fn configure(process: &Process) {
    let handle = process.open(DEVICE, true).expect("shared");
    let mut bitstream = Image::new(MODE_3.to_owned(), None).emit("nlb_mode_3");
    bitstream.resize(1 << 17, 0);
    let file = SharedMemory::create(4096).expect("a small file");
    ftruncate(&file, bitstream.len() as u64).expect("a small file");
    rustix::io::pwrite(&file, &bitstream, 0).expect("a file");
    let configure = Request::Configure {
        handle,
        slot: 1,
        size: bitstream.len() as u64,
        force: true,
        keeps_clock: false,
    };
    let done = process.call(0, configure, Some(file.as_fd()));
    assert_eq!(done.outcome, Ok(Reply::Done));
    process.ask(Request::Close { handle }).expect("its own");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn after_any_end_of_a_user_no_byte_of_memory_that_is_given_out_later_changes(
        ends in prop::collection::vec(select(vec![End::Close, End::Gone, End::Reset, End::Configuration]), 1..4),
        releases in any::<bool>(),
    ) {
        let session = session();
        for end in ends {
            let process = session.process();
            let (handle, buffer) = busy(&process, false);
            if releases {
                process.ask(Request::Unpin { handle, buffer }).expect("its own");
            }
            match end {
                End::Close => {
                    process.ask(Request::Close { handle }).expect("its own");
                    let next = process.open(LOOPBACK, false).expect("it is free");
                    prop_assert!(is_untouched(&process, next));
                }
                End::Gone => drop(process),
                End::Reset => {
                    process.ask(Request::Reset { handle }).expect("its own");
                    prop_assert!(is_untouched(&process, handle));
                }
                End::Configuration => {
                    configure(&process);
                    prop_assert!(is_untouched(&process, handle));
                }
            }
            let other = session.process();
            if let End::Close | End::Reset | End::Configuration = end {
                continue;
            }
            let next = open_soon(&other);
            prop_assert!(is_untouched(&other, next));
        }
    }
}

#[test]
fn a_transfer_goes_on_until_the_last_of_those_who_share_an_accelerator_ends() {
    let session = session();
    let (first, second) = (session.process(), session.process());
    let other = second.open(LOOPBACK, true).expect("shared");
    let (handle, _) = busy(&first, true);
    first.ask(Request::Close { handle }).expect("its own");
    let (_, _, memory) = second.pin(other, SIZE).expect("room");
    let register = second.load(other, DESTINATION, 8).expect("a register");
    assert_ne!(register, [0; 8], "the port is not reset");
    pass(&second, 100_000_000_000);
    assert!(is_zero(&memory), "the memory of the first is still its own");
    second
        .ask(Request::Close { handle: other })
        .expect("its own");
    let next = second.open(LOOPBACK, false).expect("it is free");
    assert!(is_untouched(&second, next));
}

#[test]
fn memory_that_is_released_in_use_is_nobody_s_and_the_log_counts_what_is_written_to_it() {
    let session = session();
    let process = session.process();
    let handle = process.open(LOOPBACK, false).expect("it is free");
    let (_, status, ended) = process.pin(handle, 4096).expect("room");
    let (buffer, address, memory) = process.pin(handle, SIZE).expect("room");
    start_writes(&process, handle, (address, status), false);
    pass(&process, 10_000_000_000);
    process
        .ask(Request::Unpin { handle, buffer })
        .expect("its own");
    let (_, other, next) = process.pin(handle, SIZE).expect("room");
    assert_ne!(address, other);
    pass(&process, 500_000_000_000);
    let mut word = [0; 4];
    ended.read(0x40, &mut word);
    assert_eq!(word[0] & 1, 1, "the test has ended");
    assert!(is_zero(&next), "nothing is written to other memory");
    // The released file contains all lines that were written before the release.
    let mut bytes = vec![0; SIZE as usize];
    memory.read(0, &mut bytes);
    let (words, _) = bytes.as_chunks::<64>();
    let before = words.iter().rposition(|line| line[..4] != [0; 4]);
    let late = SIZE - 64 * (before.expect("some lines") as u64 + 1);
    let incidents = session.end().noticeable_incidents();
    let texts: Vec<&str> = incidents.iter().map(|one| one.what.as_str()).collect();
    let [text] = texts[..] else {
        panic!("{texts:?} is not one")
    };
    assert!(
        text.starts_with(&format!("{late} bytes were written to a buffer")),
        "{text}"
    );
}

/// The number of writes of all slots on the link.
fn link_writes(process: &Process) -> u64 {
    let attribute = Attribute::Counter(Counter::LinkWrite, None);
    let object = DEVICE;
    match process.ask(Request::LoadAttribute { object, attribute }) {
        Ok(Reply::Value(value)) => value,
        other => panic!("{other:?} is no value"),
    }
}

#[test]
fn an_accelerator_that_is_replaced_does_nothing_while_its_slot_is_configured() {
    let session = session();
    let process = session.process();
    busy(&process, false);
    let (began, before) = (process.now(), link_writes(&process));
    configure(&process);
    assert!(
        process.now() - began > 1_000_000_000_000,
        "it takes a millisecond"
    );
    assert!(
        link_writes(&process) - before < 1000,
        "a millisecond has 28,000 writes"
    );
}

#[test]
fn after_the_end_of_a_session_its_accelerators_are_idle() {
    let session = session();
    let process = session.process();
    busy(&process, false);
    let mut simulation = session.end();
    let limit = simulation.now() + kernel::Span::from_us(100);
    simulation.run_until(limit, &mut || true);
    assert!(simulation.is_at_rest());
    assert!(simulation.noticeable_incidents().is_empty());
}

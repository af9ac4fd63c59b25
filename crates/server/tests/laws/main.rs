//! Sessions, with the calls of processes made by hand.

mod adversary;
mod burdens;
mod ends;
mod fixture;
mod page;
mod rates;
mod served;
mod slots;

use std::os::fd::AsFd;
use std::thread;

use rustix::event::{EventfdFlags, eventfd};
use session::{
    Attribute, Channel, ErrorRegister, Event, Failure, Kind, Reply, Request, SharedMemory, Until,
    VERSION, WaitEnd,
};

use fixture::{Process, Session, write_magic};

const DEVICE: u32 = 0;
const ACCELERATOR: u32 = 1;

#[test]
fn a_card_is_a_device_and_an_accelerator_in_it() {
    let session = Session::new(false);
    let objects = session.process().objects();
    let [device, accelerator] = &objects[..] else {
        panic!("{objects:?} are not two")
    };
    assert_eq!(
        (device.kind, accelerator.kind),
        (Kind::Device, Kind::Accelerator)
    );
    assert_eq!((device.vendor_id, device.device_id), (0x8086, 0x09c4));
    assert_eq!((device.parent, accelerator.parent), (None, Some(0)));
    assert_eq!(accelerator.guid[..4], [0x33, 0x1d, 0xb3, 0x0c]);
}

#[test]
fn nobody_is_heard_before_he_has_said_hello() {
    let session = Session::new(false);
    let process = Process(Channel::connect(&session.path).expect("the server lets it in"));
    assert_eq!(process.ask(Request::Objects), Err(Failure::Invalid));
    let version = VERSION + 1;
    assert_eq!(
        process.ask(Request::Hello { version }),
        Err(Failure::NotSupported)
    );
    assert_eq!(process.ask(Request::Objects), Err(Failure::Invalid));
}

#[test]
fn what_a_process_has_alone_is_free_when_it_is_gone() {
    let session = Session::new(false);
    let (first, second) = (session.process(), session.process());
    let handle = first.open(ACCELERATOR, false).expect("nobody has it");
    assert!(first.objects()[1].assigned);
    assert_eq!(second.open(ACCELERATOR, false), Err(Failure::Busy));
    assert_eq!(second.load(handle, 0, 8), Err(Failure::NotFound));
    first.pin(handle, 1 << 20).expect("room");
    drop(first);
    // The server may serve the second process before it detects that the first one has closed its connection.
    let mut opened = second.open(ACCELERATOR, false);
    for _ in 0..1000 {
        if opened.is_ok() {
            break;
        }
        thread::yield_now();
        opened = second.open(ACCELERATOR, false);
    }
    let handle = opened.expect("the other is gone");
    second
        .pin(handle, 900 << 20)
        .expect("and so are its buffers");
}

#[test]
fn registers_are_taken_in_words_and_lines_at_their_multiples() {
    let session = Session::new(false);
    let process = session.process();
    let handle = process.open(ACCELERATOR, false).expect("nobody has it");
    assert_eq!(process.load(handle, 8, 8).map(|id| id[7]), Ok(0x90));
    for (offset, len) in [
        (4, 8),
        (2, 4),
        (0, 2),
        (0, 16),
        (1 << 18, 8),
        (u64::MAX - 7, 8),
    ] {
        assert_eq!(process.load(handle, offset, len), Err(Failure::Invalid));
    }
    let device = process.open(0, false).expect("nobody has it");
    assert_eq!(process.load(device, 0, 8), Err(Failure::NotSupported));
}

#[test]
fn time_passes_for_what_a_process_does_and_for_nothing_else() {
    let session = Session::new(false);
    let process = session.process();
    let before = process.now();
    assert_eq!(process.now(), before);
    let worked = process.call(70_000_000, Request::Objects, None);
    assert_eq!(worked.now, before + 70_000_000);
    let until = Until::Limit;
    let limit = before + 5_000_000_000;
    let woken = process.call(0, Request::Wait { until, limit }, None);
    assert_eq!(woken.outcome, Ok(Reply::Woken(WaitEnd::Limit)));
    assert_eq!(woken.now, limit);
}

#[test]
fn nobody_takes_a_session_beyond_the_end_of_time() {
    let session = Session::new(false);
    let process = session.process();
    let until = Until::Limit;
    let limit = u64::MAX - 1;
    let woken = process.ask(Request::Wait { until, limit });
    assert_eq!(woken, Ok(Reply::Woken(WaitEnd::Quiet)));
    let before = process.now();
    let worked = process.call(u64::MAX, Request::Objects, None);
    assert!(worked.now > before && worked.outcome.is_ok());
    assert!(process.objects().len() == 2);
}

#[test]
fn a_wait_ends_when_a_device_writes_and_an_interrupt_is_told() {
    for more in ["", "msix_vectors = 6", "msix_vectors = 9\nmsix_bar = 4"] {
        an_interrupt_is_told(&Session::with(false, more));
    }
}

fn an_interrupt_is_told(session: &Session) {
    let process = session.process();
    let handle = process.open(ACCELERATOR, false).expect("nobody has it");
    let (buffer, address, memory) = process.pin(handle, 4096).expect("room");
    let event = eventfd(0, EventfdFlags::NONBLOCK).expect("the system has one");
    let told = Event::Interrupt(0);
    let listen = Request::Listen {
        handle,
        event: told,
    };
    assert_eq!(
        process.call(0, listen, Some(event.as_fd())).outcome,
        Ok(Reply::Done)
    );
    write_magic(&process, handle, address + 64);
    let until = Until::Written {
        buffer,
        offset: 64,
        len: 8,
    };
    let limit = u64::MAX;
    let woken = process.ask(Request::Wait { until, limit });
    assert_eq!(woken, Ok(Reply::Woken(WaitEnd::Happened)));
    let mut word = [0; 8];
    memory.read(64, &mut word);
    assert_eq!(u64::from_le_bytes(word), 0x5772_745f_5379_6e63);
    let until = Until::Interrupt;
    let woken = process.ask(Request::Wait { until, limit });
    assert_eq!(woken, Ok(Reply::Woken(WaitEnd::Happened)));
    let mut count = [0; 8];
    assert_eq!(rustix::io::read(&event, &mut count), Ok(8));
    assert_eq!(u64::from_ne_bytes(count), 1);
    assert_eq!(
        process.ask(Request::Wait { until, limit }),
        Ok(Reply::Woken(WaitEnd::Quiet))
    );
}

#[test]
fn who_listens_to_errors_is_told_of_those_that_are_injected() {
    let session = Session::new(false);
    let (process, other) = (session.process(), session.process());
    let handle = process.open(DEVICE, true).expect("nobody has it");
    let event = eventfd(0, EventfdFlags::NONBLOCK).expect("the system has one");
    let listen = |event| Request::Listen { handle, event };
    assert_eq!(
        process
            .call(0, listen(Event::Interrupt(0)), Some(event.as_fd()))
            .outcome,
        Err(Failure::NotSupported)
    );
    assert_eq!(
        process
            .call(0, listen(Event::Error), Some(event.as_fd()))
            .outcome,
        Ok(Reply::Done)
    );
    let store = |object, register, value| Request::StoreAttribute {
        object,
        attribute: Attribute::Error(register),
        value,
    };
    let load = |object, register| Request::LoadAttribute {
        object,
        attribute: Attribute::Error(register),
    };
    let injected = store(DEVICE, ErrorRegister::Injected, 1);
    assert_eq!(other.ask(injected), Ok(Reply::Done));
    let (until, limit) = (Until::Interrupt, u64::MAX);
    let woken = process.ask(Request::Wait { until, limit });
    assert_eq!(woken, Ok(Reply::Woken(WaitEnd::Happened)));
    let mut count = [0; 8];
    assert_eq!(rustix::io::read(&event, &mut count), Ok(8));
    assert_eq!(
        process.ask(load(DEVICE, ErrorRegister::Fatal)),
        Ok(Reply::Value(1 << 11))
    );
    for (object, register) in [
        (DEVICE, ErrorRegister::Port),
        (ACCELERATOR, ErrorRegister::Fatal),
        (9, ErrorRegister::Port),
    ] {
        assert_eq!(process.ask(load(object, register)), Err(Failure::NotFound));
    }
    assert_eq!(
        process.ask(load(ACCELERATOR, ErrorRegister::Port)),
        Ok(Reply::Value(0))
    );
}

#[test]
fn buffers_are_within_memory_and_their_owners() {
    let session = Session::new(false);
    let process = session.process();
    let handle = process.open(ACCELERATOR, false).expect("nobody has it");
    assert_eq!(process.pin(handle, 2 << 30).err(), Some(Failure::NoMemory));
    assert_eq!(process.pin(handle + 1, 4096).err(), Some(Failure::NotFound));
    let (buffer, _, _) = process.pin(handle, 4096).expect("room");
    let other = process.open(0, false).expect("nobody has it");
    let foreign = Request::Unpin {
        handle: other,
        buffer,
    };
    assert_eq!(process.ask(foreign), Err(Failure::NotFound));
    let unpin = Request::Unpin { handle, buffer };
    assert_eq!(process.ask(unpin.clone()), Ok(Reply::Done));
    assert_eq!(process.ask(unpin), Err(Failure::NotFound));
    let pin = Request::Pin {
        handle,
        size: 4096,
        page: 4096,
    };
    assert_eq!(process.call(0, pin, None).outcome, Err(Failure::Invalid));
}

#[test]
fn what_is_no_bitstream_is_not_loaded_and_nothing_is_while_it_is_used() {
    let session = Session::new(false);
    let process = session.process();
    let device = process.open(0, false).expect("nobody has it");
    let file = SharedMemory::create(4096).expect("a small file");
    let configure = |slot, force| Request::Configure {
        handle: device,
        slot,
        size: 4096,
        force,
        keeps_clock: false,
    };
    let ask = |request| process.call(0, request, Some(file.as_fd())).outcome;
    assert_eq!(ask(configure(0, false)), Err(Failure::NotABitstream));
    assert_eq!(ask(configure(1, false)), Err(Failure::Invalid));
    let accelerator = process.open(ACCELERATOR, false).expect("nobody has it");
    assert_eq!(ask(configure(0, false)), Err(Failure::Busy));
    assert_eq!(ask(configure(0, true)), Err(Failure::NotABitstream));
    assert!(
        process
            .load(accelerator, 8, 8)
            .is_ok_and(|id| id[7] == 0x90)
    );
}

#[test]
fn with_the_clock_of_the_wall_the_fabric_goes_on_by_itself() {
    let session = Session::new(true);
    let process = session.process();
    let handle = process.open(ACCELERATOR, false).expect("nobody has it");
    let (_, address, memory) = process.pin(handle, 4096).expect("room");
    write_magic(&process, handle, address);
    let mut word = [0; 8];
    while u64::from_le_bytes(word) != 0x5772_745f_5379_6e63 {
        thread::yield_now();
        memory.read(0, &mut word);
    }
}

//! Tests of panics of models in libraries. Each of these panics becomes a message for the simulator, and other panics are not affected.

use std::panic::{catch_unwind, panic_any, set_hook, take_hook};
use std::sync::atomic::{AtomicU32, Ordering};

use library::LibraryModel;
use peerlane_device::{
    Access, Answer, Declare, Description, Misuse, Model, Port, Request, Settings, Shell,
};

/// A model that panics at each access.
struct Panics;

/// The payload of a panic. It panics when it is dropped.
struct Worse;

impl Drop for Worse {
    fn drop(&mut self) {
        panic!("worse");
    }
}

impl Model for Panics {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {}

    fn read(&mut self, _: Access, _: &mut [u8], _: &mut Shell<'_>) -> Answer {
        panic_any(Worse)
    }

    fn write(&mut self, _: Access, _: &[u8], _: &mut Shell<'_>) {
        panic!("bad")
    }
}

impl Declare for Panics {
    fn description() -> Description {
        Description::default()
    }

    fn new(_: &Settings) -> Self {
        Panics
    }
}

/// A port that stores the reason of a failure.
struct Told(String);

impl Port for Told {
    fn now_fs(&self) -> u64 {
        0
    }

    fn ask(&mut self, _: u8, request: Request<'_>) -> Result<(), Misuse> {
        if let Request::Fail { why } = request {
            why.clone_into(&mut self.0);
        }
        Ok(())
    }
}

/// The number of panics for which the hook of this program was called.
static PRINTED: AtomicU32 = AtomicU32::new(0);

fn access() -> Access {
    Access {
        function: 0,
        bar: 0,
        offset: 0,
        len: 4,
        ticket: peerlane_device::Ticket(1),
    }
}

// There is only one test, because a panic hook applies to the whole process.
#[test]
fn a_panic_of_a_model_is_a_message_and_other_panics_reach_the_hook_of_the_program() {
    let before = take_hook();
    set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::Relaxed);
    }));
    let model = LibraryModel::of::<Panics>().unwrap();
    let mut device = model.make(&Settings::default()).unwrap();

    let mut told = Told(String::new());
    device.write(access(), &[0; 4], &mut Shell::new(&mut told));
    let (message, printed) = (told.0, PRINTED.load(Ordering::Relaxed));

    let mut told = Told(String::new());
    let answer = device.read(access(), &mut [0; 4], &mut Shell::new(&mut told));
    let payload = told.0;

    let own = catch_unwind(|| panic!("of the program"));
    let after = PRINTED.load(Ordering::Relaxed);
    set_hook(before);

    assert!(message.contains("tests/panics.rs"), "{message}");
    assert!(message.contains("bad"), "{message}");
    assert_eq!(printed, 0);
    assert_eq!(answer, Answer::Abort);
    assert!(!payload.is_empty());
    assert!(own.is_err());
    assert_eq!(after, 1);
}

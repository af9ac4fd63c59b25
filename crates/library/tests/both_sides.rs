//! Tests of the two sides of the C interface together: the values that one side passes arrive unchanged at the other side.

use std::sync::Mutex;

use library::LibraryModel;
use peerlane_device::{
    Access, Answer, Bar, Declare, Defect, Description, Failure, Misuse, Model, Operation,
    Parameter, Port, Request, Setting, Settings, Severity, Shell, Ticket,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A request that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
struct Owned {
    function: u8,
    kind: Kind,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Read(u64, u64, u64),
    Write(Option<u64>, u64),
    Atomic(u64, Operation, u64),
    Interrupt(u16),
    Message(Severity),
    Timer(u64, u64),
    Answer(u64),
    Refusal(u64),
    Malformed(u64, Defect),
}

impl Owned {
    fn request(&self) -> Request<'_> {
        let bytes = &self.bytes;
        match self.kind {
            Kind::Read(tag, address, len) => Request::Read { tag, address, len },
            Kind::Write(tag, address) => Request::Write {
                tag,
                address,
                bytes,
            },
            Kind::Atomic(tag, operation, address) => Request::Atomic {
                tag,
                operation,
                address,
                operands: bytes,
            },
            Kind::Interrupt(vector) => Request::Interrupt { vector },
            Kind::Message(severity) => Request::Message { severity },
            Kind::Timer(timer, after_fs) => Request::Timer { timer, after_fs },
            Kind::Answer(ticket) => Request::Answer {
                ticket: Ticket(ticket),
                bytes: Some(bytes),
            },
            Kind::Malformed(ticket, defect) => Request::Malformed {
                ticket: Ticket(ticket),
                bytes,
                defect,
            },
            Kind::Refusal(ticket) => Request::Answer {
                ticket: Ticket(ticket),
                bytes: None,
            },
        }
    }

    fn of(function: u8, request: Request<'_>) -> Self {
        let (kind, bytes) = match request {
            Request::Read { tag, address, len } => (Kind::Read(tag, address, len), None),
            Request::Write {
                tag,
                address,
                bytes,
            } => (Kind::Write(tag, address), Some(bytes)),
            Request::Atomic {
                tag,
                operation,
                address,
                operands,
            } => (Kind::Atomic(tag, operation, address), Some(operands)),
            Request::Interrupt { vector } => (Kind::Interrupt(vector), None),
            Request::Message { severity } => (Kind::Message(severity), None),
            Request::Timer { timer, after_fs } => (Kind::Timer(timer, after_fs), None),
            Request::Answer { ticket, bytes } => match bytes {
                Some(bytes) => (Kind::Answer(ticket.0), Some(bytes)),
                None => (Kind::Refusal(ticket.0), None),
            },
            Request::Malformed {
                ticket,
                bytes,
                defect,
            } => (Kind::Malformed(ticket.0, defect), Some(bytes)),
            Request::Fail { .. } => panic!("no test fails"),
        };
        Owned {
            function,
            kind,
            bytes: bytes.unwrap_or_default().to_vec(),
        }
    }
}

fn owned() -> impl Strategy<Value = Owned> {
    let operation = prop_oneof![
        Just(Operation::FetchAdd),
        Just(Operation::Swap),
        Just(Operation::CompareAndSwap),
    ];
    let severity = prop_oneof![
        Just(Severity::Correctable),
        Just(Severity::NonFatal),
        Just(Severity::Fatal),
    ];
    let with_bytes = prop_oneof![
        any::<(Option<u64>, u64)>().prop_map(|(tag, address)| Kind::Write(tag, address)),
        (any::<u64>(), operation, any::<u64>())
            .prop_map(|(tag, operation, address)| Kind::Atomic(tag, operation, address)),
        any::<u64>().prop_map(Kind::Answer),
        (any::<u64>(), select(&Defect::ALL[..]))
            .prop_map(|(ticket, defect)| Kind::Malformed(ticket, defect)),
    ];
    let without = prop_oneof![
        any::<(u64, u64, u64)>().prop_map(|(tag, address, len)| Kind::Read(tag, address, len)),
        any::<u16>().prop_map(Kind::Interrupt),
        severity.prop_map(Kind::Message),
        any::<(u64, u64)>().prop_map(|(timer, after)| Kind::Timer(timer, after)),
        any::<u64>().prop_map(Kind::Refusal),
    ];
    prop_oneof![
        (any::<u8>(), with_bytes, vec(any::<u8>(), 0..64)).prop_map(|(function, kind, bytes)| {
            Owned {
                function,
                kind,
                bytes,
            }
        }),
        (any::<u8>(), without).prop_map(|(function, kind)| Owned {
            function,
            kind,
            bytes: Vec::new()
        }),
    ]
}

/// The requests that the model makes in its next call.
static ASKS: Mutex<Vec<Owned>> = Mutex::new(Vec::new());
static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// A lock for the statics `ASKS` and `HEARD`: only one test at a time may use them.
static TURN: Mutex<()> = Mutex::new(());

struct Echo(Settings);

fn hear(what: &str, shell: &mut Shell<'_>) {
    let now = shell.now_fs();
    HEARD.lock().unwrap().push(format!("{what} at {now}"));
    for one in ASKS.lock().unwrap().iter() {
        let said = shell.of(one.function).ask(one.request());
        HEARD.lock().unwrap().push(format!("{said:?}"));
    }
}

impl Model for Echo {
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>) {
        hear(&format!("reset {function} {:?}", self.0), shell);
    }

    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        assert!(access.offset != PANIC, "asked to panic");
        into.fill(access.bar);
        hear(&format!("{access:?}"), shell);
        match access.offset % 4 {
            0 => Answer::Now,
            1 => Answer::Later,
            2 => Answer::Unsupported,
            _ => Answer::Abort,
        }
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        hear(&format!("{access:?} {bytes:?}"), shell);
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        hear(&format!("{tag} {outcome:?}"), shell);
    }

    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        hear(&format!("sent {tag}"), shell);
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        hear(&format!("expired {timer}"), shell);
    }
}

const PANIC: u64 = 0xdead;

impl Declare for Echo {
    fn description() -> Description {
        let parameter = |key, value| Parameter::new(key, value, "A parameter.");
        Description {
            help: "Tells what it hears.".to_owned(),
            vendor: 0x1234,
            device: 0x5678,
            revision: 9,
            class: 0x01_0802,
            bars: vec![Bar::new(1, 256), Bar::wide(2, 1 << 40)],
            vectors: 2048,
            tags: 768,
            virtual_functions: 255,
            parameters: vec![
                parameter("whole", Setting::Integer(3))
                    .within(Setting::Integer(1), Setting::Integer(9)),
                parameter("number", Setting::Number(0.5)),
                parameter("flag", Setting::Flag(true)),
                parameter("text", Setting::Text("a text".to_owned())).from("a document"),
                parameter("size", Setting::Bytes(4096)),
                parameter("time", Setting::Time(150)),
                parameter("rate", Setting::Bandwidth(1)),
                parameter("clock", Setting::Frequency(2)),
            ],
        }
    }

    fn new(settings: &Settings) -> Self {
        Echo(settings.clone())
    }
}

/// The port of the simulator. It records the requests, and rejects them with each misuse in turn.
#[derive(Default)]
struct Desk {
    asked: Vec<Owned>,
    failed: Option<String>,
}

impl Port for Desk {
    fn now_fs(&self) -> u64 {
        4711
    }

    fn ask(&mut self, function: u8, request: Request<'_>) -> Result<(), Misuse> {
        if let Request::Fail { why } = request {
            self.failed = Some(why.to_owned());
            return Ok(());
        }
        self.asked.push(Owned::of(function, request));
        answer(self.asked.len() - 1)
    }
}

/// The simulator's result for the request with this number.
fn answer(number: usize) -> Result<(), Misuse> {
    let misuses = Misuse::ALL.len() + 1;
    Misuse::ALL
        .get(number % misuses)
        .map_or(Ok(()), |misuse| Err(*misuse))
}

fn device(settings: &Settings) -> Box<dyn Model> {
    let library = LibraryModel::of::<Echo>().unwrap();
    library.make(settings).unwrap()
}

#[test]
fn a_declaration_arrives_as_it_was_written_and_is_possible() {
    let library = LibraryModel::of::<Echo>().unwrap();
    assert_eq!(*library.description(), Echo::description());
    assert_eq!(Echo::description().check(), Ok(()));
    assert_eq!(Echo::description().vector_bar(), Some(4));
}

proptest! {
    #[test]
    fn what_a_model_asks_for_arrives_and_so_does_the_answer(asks in vec(owned(), 0..24)) {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ASKS.lock().unwrap().clone_from(&asks);
        let mut desk = Desk::default();
        let mut device = device(&Settings::defaults(&Echo::description()));
        HEARD.lock().unwrap().clear();
        device.expired(1, &mut Shell::new(&mut desk));
        ASKS.lock().unwrap().clear();
        let answers: Vec<String> = (0..asks.len()).map(|number| format!("{:?}", answer(number))).collect();
        prop_assert_eq!(&HEARD.lock().unwrap()[1..], answers);
        prop_assert_eq!(desk.asked, asks);
    }
}

#[test]
fn calls_arrive_with_all_that_they_have() {
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let settings = Settings::defaults(&Echo::description())
        .with("whole", Setting::Integer(7))
        .with("text", Setting::Text("another".to_owned()))
        .with("flag", Setting::Flag(false));
    let mut desk = Desk::default();
    let mut device = device(&settings);
    HEARD.lock().unwrap().clear();
    let mut shell = Shell::new(&mut desk);
    device.reset(3, &mut shell);
    let access = |offset| Access {
        function: 2,
        bar: 1,
        offset,
        len: 3,
        ticket: Ticket(u64::MAX),
    };
    let answers = [
        Answer::Now,
        Answer::Later,
        Answer::Unsupported,
        Answer::Abort,
    ];
    for (offset, answer) in (0..).zip(answers) {
        let mut into = [0; 3];
        assert_eq!(device.read(access(offset), &mut into, &mut shell), answer);
        assert_eq!(into, [1; 3]);
    }
    device.write(access(8), &[7, 8, 9], &mut shell);
    device.completed(5, Ok(&[1, 2]), &mut shell);
    for failure in [
        Failure::Unsupported,
        Failure::Aborted,
        Failure::TimedOut,
        Failure::Poisoned,
    ] {
        device.completed(6, Err(failure), &mut shell);
    }
    device.sent(8, &mut shell);
    let heard = HEARD.lock().unwrap();
    assert_eq!(heard[0], format!("reset 3 {settings:?} at 4711"));
    assert_eq!(heard[1], format!("{:?} at 4711", access(0)));
    assert_eq!(heard[5], format!("{:?} [7, 8, 9] at 4711", access(8)));
    assert_eq!(heard[6], "5 Ok([1, 2]) at 4711");
    assert_eq!(heard[8], "6 Err(Aborted) at 4711");
    assert_eq!(heard[11], "sent 8 at 4711");
}

#[test]
fn a_panic_is_told_with_its_place_and_goes_no_further() {
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut desk = Desk::default();
    let mut device = device(&Settings::defaults(&Echo::description()));
    let access = Access {
        function: 0,
        bar: 1,
        offset: PANIC,
        len: 1,
        ticket: Ticket(0),
    };
    let answer = device.read(access, &mut [0], &mut Shell::new(&mut desk));
    assert_eq!(answer, Answer::Abort);
    let said = desk.failed.unwrap();
    assert!(
        said.contains("both_sides.rs:") && said.contains("asked to panic"),
        "{said}"
    );
}

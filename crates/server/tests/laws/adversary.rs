//! Processes that send nonsense: they get errors, and the session serves the others as before.

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketType, connect, send, sendmsg, socket,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, getrlimit, setrlimit};
use session::{
    Attribute, Call, Channel, Counter, ErrorRegister, Event, Failure, Reply, Request, SharedMemory,
    Until, VERSION, WaitEnd, Work,
};

use crate::fixture::{Process, Session, write_magic};
use crate::page;

/// The device and the accelerator of the first card, which the honest process opens.
const OWN: [u32; 2] = [0, 1];

/// The accelerator of the other card.
pub const OTHER: u32 = 3;

pub const TWO_CARDS: &str =
    "[devices.other]\nmodel = \"fpga-card\"\nupstream = \"server\"\nafu = \"dma_afu\"\n";

/// A file that is sent with a call.
#[derive(Clone, Copy, Debug)]
enum Attached {
    Nothing,
    Buffer,
    Unsealable,
    Short,
    Pipe,
    FullPipe,
    Event,
    FullEvent,
    Zeros,
    Directory,
    /// The file of the program that runs.
    Code,
}

const ATTACHED: [Attached; 11] = [
    Attached::Nothing,
    Attached::Buffer,
    Attached::Unsealable,
    Attached::Short,
    Attached::Pipe,
    Attached::FullPipe,
    Attached::Event,
    Attached::FullEvent,
    Attached::Zeros,
    Attached::Directory,
    Attached::Code,
];

impl Attached {
    /// Opens the file, and other files that must stay open.
    fn open(self) -> Vec<OwnedFd> {
        let path = |path: &str| vec![File::open(path).expect("every system has it").into()];
        match self {
            Attached::Nothing => vec![],
            Attached::Buffer => vec![SharedMemory::create(1 << 16).expect("a small file")],
            Attached::Unsealable => {
                let file = memfd_create("nonsense", MemfdFlags::CLOEXEC).expect("a file");
                ftruncate(&file, 1 << 16).expect("a small file");
                vec![file]
            }
            Attached::Short => vec![SharedMemory::create(10).expect("a small file")],
            Attached::Pipe | Attached::FullPipe => {
                let (read, write) = pipe_with(PipeFlags::NONBLOCK).expect("a pipe");
                let is_full = matches!(self, Attached::FullPipe);
                while is_full && rustix::io::write(&write, &[0; 4096]).is_ok() {}
                rustix::fs::fcntl_setfl(&write, rustix::fs::OFlags::empty()).expect("a pipe");
                vec![write, read]
            }
            Attached::Event | Attached::FullEvent => {
                let file = eventfd(0, EventfdFlags::empty()).expect("the system has one");
                if matches!(self, Attached::FullEvent) {
                    let most = (u64::MAX - 1).to_ne_bytes();
                    rustix::io::write(&file, &most).expect("an empty counter");
                }
                vec![file]
            }
            Attached::Zeros => path("/dev/zero"),
            Attached::Directory => path("/"),
            Attached::Code => path("/proc/self/exe"),
        }
    }
}

/// An action of a malicious process. The processes have the numbers 0 to 3.
#[derive(Clone, Debug)]
enum Act {
    /// Closes the connection and connects again. Sends a hello if true.
    Connect(bool),
    /// Sends bytes that may not be a valid call.
    Bytes(Vec<u8>),
    /// Makes a call. Receives the answer only if true.
    Call(u64, Request, Attached, bool),
    /// Sends the first bytes of a call, with its file, and closes the connection.
    Half(Request, Attached, prop::sample::Index),
    /// Makes a call, and closes the connection before the answer.
    Leave(Request, Attached),
    /// Opens the accelerator of the other card and resets it this number of times.
    Resets(usize),
    /// Truncates all files that the process has sent to 0 bytes.
    Shrink,
    /// Connects this number of times.
    Crowd(usize),
}

/// Numbers near those that a session assigns, and other numbers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..40, 1 => select(vec![4096, 1 << 20, 1 << 31, u64::MAX - 4095, u64::MAX]), 1 => any::<u64>()]
}

/// Attributes of a device, of an accelerator, and of a port that does not exist.
const ATTRIBUTES: [Attribute; 7] = [
    Attribute::Error(ErrorRegister::Port),
    Attribute::ClockCounter,
    Attribute::Counter(Counter::LinkWrite, Some(0)),
    Attribute::Counter(Counter::RegisterRead, Some(200)),
    Attribute::IsCounting(Some(0)),
    Attribute::IsFrozen,
    Attribute::UserClock,
];

pub fn request() -> impl Strategy<Value = Request> {
    let object = prop_oneof![2_u32..4, 0_u32..9];
    let event = prop_oneof![(0_u32..6).prop_map(Event::Interrupt), Just(Event::Error)];
    let size = select(vec![
        0,
        1,
        4096,
        1 << 16,
        1 << 21,
        // The next sizes exceed the memory of the host. A process that pinned the whole memory would leave none for the honest process.
        1 << 31,
        1 << 45,
        u64::MAX,
    ]);
    let page = select(vec![0, 1, 4096, 1 << 21, 1 << 30, 1 << 63, 5000]);
    let len = select(vec![0_u32, 4, 8, 64, 63, u32::MAX]);
    let offset = prop_oneof![
        select(vec![0_u64, 8, 0x2_0040, 0x2_0060, u64::MAX]),
        number()
    ];
    prop_oneof![
        Just(Request::Objects),
        Just(Request::Hello { version: VERSION }),
        (object, any::<bool>()).prop_map(|(object, shared)| Request::Open { object, shared }),
        number().prop_map(|handle| Request::Close { handle }),
        number().prop_map(|handle| Request::Reset { handle }),
        (number(), offset.clone(), len).prop_map(|(handle, offset, len)| Request::Load {
            handle,
            offset,
            len
        }),
        (number(), offset.clone(), vec(any::<u8>(), 0..80)).prop_map(|(handle, offset, bytes)| {
            Request::Store {
                handle,
                offset,
                bytes,
            }
        }),
        (number(), offset, any::<u64>()).prop_map(|(handle, offset, value)| Request::Store {
            handle,
            offset,
            bytes: value.to_le_bytes().to_vec()
        }),
        (number(), size.clone(), page).prop_map(|(handle, size, page)| Request::Pin {
            handle,
            size,
            page
        }),
        (number(), number()).prop_map(|(handle, buffer)| Request::Unpin { handle, buffer }),
        (number(), event.clone()).prop_map(|(handle, event)| Request::Listen { handle, event }),
        (number(), event).prop_map(|(handle, event)| Request::Ignore { handle, event }),
        // Injected errors affect a whole card and may stop it, so they are injected into the other card only.
        (2_u32..9, any::<u64>()).prop_map(|(object, value)| Request::StoreAttribute {
            object,
            attribute: Attribute::Error(ErrorRegister::Injected),
            value
        }),
        (0_u32..9, select(&ATTRIBUTES[..]))
            .prop_map(|(object, attribute)| { Request::LoadAttribute { object, attribute } }),
        (2_u32..9, select(&ATTRIBUTES[..]), number()).prop_map(|(object, attribute, value)| {
            Request::StoreAttribute {
                object,
                attribute,
                value,
            }
        }),
        (number(), number()).prop_map(|(handle, mhz)| Request::SetClock {
            handle,
            hertz: mhz.saturating_mul(1_000_000)
        }),
        (number(), 0_u32..3, size, any::<bool>()).prop_map(|(handle, slot, size, force)| {
            Request::Configure {
                handle,
                slot,
                size,
                force,
                keeps_clock: slot > 0,
            }
        }),
        (number(), number(), number(), number()).prop_map(|(buffer, offset, len, limit)| {
            Request::Wait {
                until: Until::Written {
                    buffer,
                    offset,
                    len,
                },
                limit,
            }
        }),
        number().prop_map(|limit| Request::Wait {
            until: Until::Interrupt,
            limit
        }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => any::<bool>().prop_map(Act::Connect),
        1 => vec(any::<u8>(), 0..200).prop_map(Act::Bytes),
        20 => (prop_oneof![8 => Just(0), 1 => any::<u64>()], request(), select(&ATTACHED[..]), prop_oneof![4 => Just(true), 1 => Just(false)])
            .prop_map(|(worked, request, file, hears)| Act::Call(worked, request, file, hears)),
        2 => (request(), select(&ATTACHED[..]), any::<prop::sample::Index>())
            .prop_map(|(request, file, len)| Act::Half(request, file, len)),
        2 => (request(), select(&ATTACHED[..])).prop_map(|(request, file)| Act::Leave(request, file)),
        1 => (1_usize..100).prop_map(Act::Resets),
        2 => Just(Act::Shrink),
        1 => (1_usize..1200).prop_map(Act::Crowd),
    ]
}

/// Work of one kind.
fn work(looks: u64) -> Work {
    Work {
        looks,
        ..Work::default()
    }
}

/// A malicious process, and the files that it has sent.
struct Adversary {
    channel: Option<Channel>,
    sent: Vec<OwnedFd>,
}

impl Adversary {
    /// Performs an action. Every result of the action is accepted.
    fn act(&mut self, act: &Act, session: &Session) {
        match act {
            Act::Connect(says_hello) => {
                self.channel = Channel::connect(&session.path).ok();
                if *says_hello {
                    let request = Request::Hello { version: VERSION };
                    self.act(&Act::Call(0, request, Attached::Nothing, true), session);
                }
            }
            Act::Bytes(bytes) => {
                let socket =
                    socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
                let address = SocketAddrUnix::new(&session.path).expect("a short path");
                if connect(&socket, &address).is_ok() {
                    let _ = send(&socket, bytes, SendFlags::NOSIGNAL);
                }
            }
            Act::Call(worked, request, attached, hears) => {
                let Some(channel) = &self.channel else { return };
                let files = attached.open();
                let call = Call {
                    worked: work(*worked),
                    request: request.clone(),
                };
                let is_sent = channel.send(&call, files.first().map(AsFd::as_fd)).is_ok();
                self.sent.extend(files);
                if is_sent && *hears && channel.receive::<session::Response>().is_err() {
                    self.channel = None;
                }
            }
            Act::Half(request, attached, len) => {
                let call = Call {
                    worked: Work::default(),
                    request: request.clone(),
                };
                let mut bytes = postcard::to_stdvec(&call).expect("a call has an encoding");
                // The first byte of a packet states whether a file follows.
                bytes.insert(0, (*len).index(2) as u8);
                let Ok(channel) = Channel::connect(&session.path) else {
                    return;
                };
                let files = attached.open();
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                let sent = files.first().map(|file| [file.as_fd()]);
                if let Some(sent) = &sent {
                    ancillary.push(SendAncillaryMessage::ScmRights(sent));
                }
                let part = [IoSlice::new(&bytes[..len.index(bytes.len())])];
                let _ = sendmsg(&channel, &part, &mut ancillary, SendFlags::NOSIGNAL);
            }
            Act::Leave(request, attached) => {
                self.act(&Act::Call(0, request.clone(), *attached, false), session);
                self.channel = None;
            }
            Act::Resets(count) => {
                let (object, shared) = (OTHER, true);
                let open = Request::Open { object, shared };
                self.act(&Act::Call(0, open, Attached::Nothing, true), session);
                for handle in (0..40).cycle().take(*count) {
                    let reset = Request::Reset { handle };
                    self.act(&Act::Call(0, reset, Attached::Nothing, true), session);
                }
            }
            Act::Shrink => {
                for file in &self.sent {
                    let _ = ftruncate(file, 0);
                }
            }
            Act::Crowd(count) => {
                let crowd: Vec<_> = (0..*count)
                    .map(|_| Channel::connect(&session.path))
                    .collect();
                drop(crowd);
            }
        }
    }
}

/// Lets the honest process's accelerator write to a buffer, and checks the written bytes.
pub fn transfer(honest: &Process, handle: u64) {
    let (buffer, address, memory) = honest.pin(handle, 4096).expect("there is memory");
    write_magic(honest, handle, address + 64);
    let until = Until::Written {
        buffer,
        offset: 64,
        len: 8,
    };
    let limit = u64::MAX;
    loop {
        let woken = honest.ask(Request::Wait { until, limit });
        let Ok(Reply::Woken(end)) = woken else {
            panic!("{woken:?} is no end of a wait")
        };
        if end != WaitEnd::Interrupted {
            break;
        }
    }
    let mut word = [0; 8];
    memory.read(64, &mut word);
    assert_eq!(u64::from_le_bytes(word), 0x5772_745f_5379_6e63);
    TRANSFERS.fetch_add(1, Ordering::Relaxed);
    assert_eq!(
        honest.ask(Request::Unpin { handle, buffer }),
        Ok(Reply::Done)
    );
}

/// The number of actions, and the number of transfers with the right data.
pub static ACTS: AtomicU64 = AtomicU64::new(0);
static TRANSFERS: AtomicU64 = AtomicU64::new(0);

/// Four malicious processes act in turn. Meanwhile, all transfers of an honest process must have the right data.
fn withstands(acts: &[(usize, Act)]) {
    let session = Session::with(false, TWO_CARDS);
    let honest = session.process();
    let [_, handle] = OWN.map(|object| honest.open(object, false).expect("nobody has it"));
    let mut adversaries: Vec<Adversary> = (0..4)
        .map(|_| Adversary {
            channel: None,
            sent: vec![],
        })
        .collect();
    for adversary in &mut adversaries {
        adversary.act(&Act::Connect(true), &session);
    }
    for (number, (who, act)) in acts.iter().enumerate() {
        adversaries[*who].act(act, &session);
        ACTS.fetch_add(1, Ordering::Relaxed);
        if number % 8 == 0 {
            transfer(&honest, handle);
        }
    }
    transfer(&honest, handle);
}

/// Raises the limit of descriptors, because a thousand connections have two descriptors each in this process.
pub fn permit_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("the limit may be raised to the maximum");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn whatever_a_process_sends_the_transfers_of_another_one_are_right(acts in vec((0_usize..4, act()), 1..80)) {
        permit_descriptors();
        withstands(&acts);
    }
}

/// `make soak` sets the number of seconds in `ADVERSARY_SECONDS`, and prints the figures of this test.
#[test]
#[ignore = "it takes as long as it is told"]
fn for_as_long_as_processes_send_nonsense_the_transfers_of_another_one_are_right() {
    permit_descriptors();
    let seconds = std::env::var("ADVERSARY_SECONDS").map_or(5, |text| {
        text.parse()
            .expect("ADVERSARY_SECONDS is a number of seconds")
    });
    let (began, span) = (Instant::now(), Duration::from_secs(seconds));
    let mut sessions = 0;
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let strategy = vec((0_usize..4, act()), 1..400);
    let page_acts = vec(page::page_act(), 1..400);
    while began.elapsed() < span {
        let tree = strategy.new_tree(&mut runner).expect("acts are drawn");
        let ran = runner.run_one(tree, |acts| {
            withstands(&acts);
            Ok(())
        });
        ran.expect("the session survives");
        let tree = page_acts.new_tree(&mut runner).expect("acts are drawn");
        let ran = runner.run_one(tree, |acts| {
            page::withstands(&acts);
            Ok(())
        });
        ran.expect("the session survives");
        sessions += 2;
    }
    let [acts, transfers] = [&ACTS, &TRANSFERS].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{} s: {sessions} sessions, {acts} acts, {transfers} transfers verified",
        began.elapsed().as_secs()
    );
}

/// The usual number of cases, unless the environment gives another number.
pub fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}

#[test]
fn a_buffer_whose_file_can_become_shorter_is_refused_and_others_stay_as_long_as_they_are() {
    let session = Session::new(false);
    let process = session.process();
    let handle = process.open(1, false).expect("nobody has it");
    let (size, page) = (1 << 16, 4096);
    let pin = Request::Pin { handle, size, page };
    for attached in [
        Attached::Unsealable,
        Attached::Pipe,
        Attached::Zeros,
        Attached::Directory,
        Attached::Code,
    ] {
        let files = attached.open();
        let refused = process.call(0, pin.clone(), Some(files[0].as_fd())).outcome;
        assert_eq!(refused, Err(Failure::NoMemory), "{attached:?}");
    }
    let files = Attached::Buffer.open();
    let pinned = process.call(0, pin, Some(files[0].as_fd())).outcome;
    assert!(matches!(pinned, Ok(Reply::Pinned { .. })));
    assert!(ftruncate(&files[0], 0).is_err());
}

#[test]
fn an_event_is_signalled_by_an_eventfd_alone_and_a_full_one_stays_full() {
    let session = Session::new(false);
    let process = session.process();
    let handle = process.open(1, false).expect("nobody has it");
    let event = Event::Interrupt(0);
    let listen = Request::Listen { handle, event };
    for attached in [
        Attached::FullPipe,
        Attached::Pipe,
        Attached::Zeros,
        Attached::Buffer,
    ] {
        let files = attached.open();
        let refused = process
            .call(0, listen.clone(), Some(files[0].as_fd()))
            .outcome;
        assert_eq!(refused, Err(Failure::Invalid), "{attached:?}");
    }
    let files = Attached::FullEvent.open();
    assert_eq!(
        process.call(0, listen, Some(files[0].as_fd())).outcome,
        Ok(Reply::Done)
    );
    transfer(&process, handle);
    assert_eq!(process.objects().len(), 2);
}

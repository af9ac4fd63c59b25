//! Sessions: no sequence of calls stops the server. Each call has a response, and no process uses an object that the other process has opened.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use server::{Image, Server};
use session::{
    Attribute, Call, Channel, Counter, ErrorRegister, Event, Reply, Request, Response,
    SharedMemory, Until, VERSION, Work,
};

use served::serve_card;

#[path = "../../crates/server/tests/laws/served.rs"]
mod served;

/// Takes ten bytes for each call.
pub fn check(bytes: &[u8]) {
    let mut session = Session::new();
    for call in bytes.as_chunks().0.iter().take(MOST_CALLS) {
        session.call(*call);
    }
}

const MOST_CALLS: usize = 32;

/// Accelerators in bitstreams: three that exist, and one that does not exist.
const ACCELERATORS: [&str; 4] = [
    "d8424dc4-a4a3-c413-f89e-433683f9040b",
    "f7df405c-bd7a-cf72-22f1-44b0b93acd18",
    "331db30c-9885-41ea-9081-f88b8f655caa",
    "00000000-0000-0000-0000-000000000000",
];

/// A server and two processes.
struct Session {
    server: Server,
    processes: [Process; 2],
    now: u64,
}

struct Process {
    channel: Channel,
    opened: BTreeSet<u64>,
}

impl Session {
    fn new() -> Self {
        let name = format!("peerlane-calls-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let server = serve_card(&path, false, "");
        let processes = [(); 2].map(|()| Process {
            channel: Channel::connect(&path).expect("the server listens"),
            opened: BTreeSet::new(),
        });
        fs::remove_file(&path).expect("the socket is there");
        let mut session = Session {
            server,
            processes,
            now: 0,
        };
        for process in 0..2 {
            session.ask(process, Request::Hello { version: VERSION }, None);
        }
        session
    }

    fn call(&mut self, bytes: [u8; 10]) {
        let process = usize::from(bytes[0] >> 7);
        let (request, file) = request(bytes, self.now);
        self.ask(process, request, file.as_ref());
    }

    fn ask(&mut self, process: usize, request: Request, file: Option<&OwnedFd>) {
        let named = named(&request);
        let closes = matches!(request, Request::Close { .. });
        let asked = format!("{request:?}");
        let Process { channel, opened } = &mut self.processes[process];
        let worked = Work::default();
        let call = Call { worked, request };
        let sent = channel.send(&call, file.map(AsFd::as_fd));
        sent.expect("the server is there");
        let served = self.server.serve(&mut || !has_response(channel));
        served.expect("the socket is there");
        let (response, _) = channel.receive::<Response>().expect("the server responds");
        assert!(response.now >= self.now, "{asked}");
        self.now = response.now;
        let Ok(reply) = response.outcome else { return };
        if let Some(handle) = named {
            assert!(opened.contains(&handle), "{asked}: {reply:?}");
            if closes {
                opened.remove(&handle);
            }
        }
        if let Reply::Opened { handle } = reply {
            assert!(opened.insert(handle), "{asked} gives a handle of before");
        }
    }
}

/// The unit of the time limit of waits, in femtoseconds. Processes wait up to 0.4 ms.
const WAIT_UNIT: u64 = 100;

/// The request that the bytes encode, with its file.
fn request(bytes: [u8; 10], now: u64) -> (Request, Option<OwnedFd>) {
    let [what, handle, a, b, rest @ .., kind, last] = bytes;
    let handle = u64::from(handle);
    let place = u64::from(u16::from_le_bytes([a, b]));
    let offset = place << (rest[0] & 3);
    let value = u64::from(u32::from_le_bytes(rest));
    let len = [4, 8, 64, last][usize::from(kind & 3)];
    let is_set = last & 1 == 1;
    let (object, attribute) = (u32::from(a), attribute(b));
    let request = match what & 0xf {
        0 => Request::Hello {
            version: last.into(),
        },
        1 => Request::Objects,
        2 => Request::Open {
            object,
            shared: is_set,
        },
        3 => Request::Close { handle },
        4 => Request::Reset { handle },
        5 => Request::Load {
            handle,
            offset,
            len: len.into(),
        },
        6 | 7 => Request::Store {
            handle,
            offset,
            bytes: bytes.into_iter().rev().cycle().take(len.into()).collect(),
        },
        8 => Request::Unpin {
            handle,
            buffer: place,
        },
        9 => Request::Ignore {
            handle,
            event: event(is_set, object),
        },
        10 => Request::LoadAttribute { object, attribute },
        11 if is_set => Request::SetClock {
            handle,
            hertz: value,
        },
        11 => Request::StoreAttribute {
            object,
            attribute,
            value,
        },
        12 => Request::Wait {
            until: until([kind, a, b, last]),
            limit: now + value * WAIT_UNIT,
        },
        with_file => return request_with_file(with_file, handle, [a, b, rest[0], kind, last]),
    };
    (request, None)
}

fn request_with_file(
    what: u8,
    handle: u64,
    [a, b, c, kind, last]: [u8; 5],
) -> (Request, Option<OwnedFd>) {
    let is_set = last & 1 == 1;
    match what {
        13 => {
            let page = 1_u64.checked_shl(c.into()).unwrap_or(0);
            let held = u64::from(u16::from_le_bytes([a, b]));
            let size = held << (kind & 15);
            let file = file(if is_set { size } else { held });
            (Request::Pin { handle, size, page }, file)
        }
        14 => {
            let event = event(is_set, a.into());
            (Request::Listen { handle, event }, file(8))
        }
        _ => {
            let accelerator = ACCELERATORS[usize::from(a & 3)].to_owned();
            let model = (b == 1).then(|| "model.py".to_owned());
            let image = Image::new(accelerator, model).emit("name");
            let request = Request::Configure {
                handle,
                slot: c.into(),
                size: (image.len() as u64).saturating_sub(kind.into()),
                force: is_set,
                keeps_clock: last & 2 != 0,
            };
            (request, written(&image))
        }
    }
}

fn event(is_error: bool, vector: u32) -> Event {
    if is_error {
        Event::Error
    } else {
        Event::Interrupt(vector)
    }
}

fn until([kind, buffer, offset, len]: [u8; 4]) -> Until {
    match kind & 3 {
        0 => Until::Limit,
        1 => Until::Interrupt,
        _ => Until::Written {
            buffer: buffer.into(),
            offset: offset.into(),
            len: len.into(),
        },
    }
}

/// The handle that must be open for a request.
fn named(request: &Request) -> Option<u64> {
    match request {
        Request::Close { handle }
        | Request::Reset { handle }
        | Request::Load { handle, .. }
        | Request::Store { handle, .. }
        | Request::Pin { handle, .. }
        | Request::Unpin { handle, .. }
        | Request::Listen { handle, .. }
        | Request::Ignore { handle, .. }
        | Request::SetClock { handle, .. }
        | Request::Configure { handle, .. } => Some(*handle),
        Request::Hello { .. }
        | Request::Objects
        | Request::Open { .. }
        | Request::LoadAttribute { .. }
        | Request::StoreAttribute { .. }
        | Request::Wait { .. } => None,
    }
}

fn has_response(channel: &Channel) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut files = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut files, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// A file of `size` bytes.
fn file(size: u64) -> Option<OwnedFd> {
    SharedMemory::create(size).ok()
}

fn written(bytes: &[u8]) -> Option<OwnedFd> {
    let file = file(bytes.len() as u64)?;
    let memory = SharedMemory::map(&file, bytes.len() as u64).ok()?;
    memory.write(0, bytes);
    Some(file)
}

fn attribute(number: u8) -> Attribute {
    const ALL: [Attribute; 17] = [
        Attribute::Error(ErrorRegister::Management),
        Attribute::Error(ErrorRegister::FirstManagement),
        Attribute::Error(ErrorRegister::NextManagement),
        Attribute::Error(ErrorRegister::Link),
        Attribute::Error(ErrorRegister::SecondLink),
        Attribute::Error(ErrorRegister::Nonfatal),
        Attribute::Error(ErrorRegister::Fatal),
        Attribute::Error(ErrorRegister::Injected),
        Attribute::Error(ErrorRegister::Port),
        Attribute::Error(ErrorRegister::FirstPort),
        Attribute::Error(ErrorRegister::MalformedRequest),
        Attribute::ClockCounter,
        Attribute::Counter(Counter::LinkRead, None),
        Attribute::Counter(Counter::RegisterWrite, Some(7)),
        Attribute::IsCounting(Some(0)),
        Attribute::IsFrozen,
        Attribute::UserClock,
    ];
    ALL[usize::from(number) % ALL.len()]
}

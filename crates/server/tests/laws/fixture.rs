//! Sessions that end with a test, and processes whose calls are made by hand.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use server::Server;
use session::{
    Call, Channel, Failure, Object, Reply, Request, Response, SharedMemory, VERSION, Work,
};
use sim::Simulation;

use crate::served::serve_card;

/// A session that ends with the test.
pub struct Session {
    pub path: PathBuf,
    is_over: Arc<AtomicBool>,
    server: Option<JoinHandle<Server>>,
}

impl Session {
    pub fn new(is_wall: bool) -> Self {
        Self::with(is_wall, "")
    }

    /// A session with a card. `more` are further lines of its scenario.
    pub fn with(is_wall: bool, more: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("peerlane-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut server = serve_card(&path, is_wall, more);
        let is_over = Arc::new(AtomicBool::new(false));
        let until = is_over.clone();
        let server = thread::spawn(move || {
            let ended = server.serve(&mut || !until.load(Ordering::Relaxed));
            ended.expect("the socket is there");
            server.end();
            server
        });
        Session {
            path,
            is_over,
            server: Some(server),
        }
    }

    /// Ends the session; returns its simulation.
    pub fn end(mut self) -> Simulation {
        self.is_over.store(true, Ordering::Relaxed);
        let server = self.server.take().expect("it has not ended");
        server.join().expect("it does not panic").into_simulation()
    }

    pub fn process(&self) -> Process {
        let process = Process(Channel::connect(&self.path).expect("the server lets it in"));
        let welcome = process.ask(Request::Hello { version: VERSION });
        assert!(matches!(welcome, Ok(Reply::Welcome(_))));
        process
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.server.take().map(JoinHandle::join);
        std::fs::remove_file(&self.path).expect("the socket was there");
        assert!(ended.is_none_or(|ended| ended.is_ok()));
    }
}

pub struct Process(pub Channel);

impl Process {
    pub fn call(&self, worked: u64, request: Request, file: Option<BorrowedFd<'_>>) -> Response {
        self.0
            .send(
                &Call {
                    worked: Work {
                        copies: worked,
                        ..Work::default()
                    },
                    request,
                },
                file,
            )
            .expect("the server is there");
        self.0.receive().expect("it answers").0
    }

    pub fn ask(&self, request: Request) -> Result<Reply, Failure> {
        self.call(0, request, None).outcome
    }

    pub fn objects(&self) -> Vec<Object> {
        match self.ask(Request::Objects) {
            Ok(Reply::Objects(objects)) => objects,
            other => panic!("{other:?} is no list of objects"),
        }
    }

    pub fn open(&self, object: u32, shared: bool) -> Result<u64, Failure> {
        match self.ask(Request::Open { object, shared })? {
            Reply::Opened { handle } => Ok(handle),
            other => panic!("{other:?} is no handle"),
        }
    }

    pub fn load(&self, handle: u64, offset: u64, len: u32) -> Result<Vec<u8>, Failure> {
        match self.ask(Request::Load {
            handle,
            offset,
            len,
        })? {
            Reply::Bytes(bytes) => Ok(bytes),
            other => panic!("{other:?} are no bytes"),
        }
    }

    pub fn store(&self, handle: u64, offset: u64, value: u64) -> Result<Reply, Failure> {
        let bytes = value.to_le_bytes().to_vec();
        self.ask(Request::Store {
            handle,
            offset,
            bytes,
        })
    }

    /// Pins a buffer of `size` bytes. Returns its number, its address, and its memory.
    pub fn pin(&self, handle: u64, size: u64) -> Result<(u64, u64, SharedMemory), Failure> {
        let file = SharedMemory::create(size).expect("a small file");
        let page = 4096;
        let pin = Request::Pin { handle, size, page };
        match self.call(0, pin, Some(file.as_fd())).outcome? {
            Reply::Pinned { buffer, address } => {
                let memory = SharedMemory::map(&file, size).expect("a file of that size");
                Ok((buffer, address, memory))
            }
            other => panic!("{other:?} is no buffer"),
        }
    }

    pub fn now(&self) -> u64 {
        self.call(0, Request::Objects, None).now
    }
}

/// The first register of the DMA sample.
const BLOCK: u64 = 0x2_0000;

/// Lets the DMA sample copy the word that marks the end of a transfer to `address`, and signal an interrupt.
pub fn write_magic(process: &Process, handle: u64, address: u64) {
    process
        .store(handle, BLOCK + 0x40, 1 << 36)
        .expect("its control register");
    let (from, to) = (0x1_0000_0000_0000_u64, 0x3_0000_0000_0000 | address);
    let control = 1_u64 << 31 | 1 << 14;
    let words = [
        (to & 0xffff_ffff) << 32 | from & 0xffff_ffff,
        64 | 0x0101_u64 << 48,
        (from >> 32) << 32 | 0x1_0001,
        control << 32 | to >> 32,
    ];
    for (number, word) in (0..).zip(words) {
        process
            .store(handle, BLOCK + 0x60 + 8 * number, word)
            .expect("a descriptor");
    }
}

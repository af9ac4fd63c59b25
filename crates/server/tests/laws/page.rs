//! Calls over the page of a process have the same results as calls over the socket. Invalid content of the page affects no other process.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rustix::io::Errno;
use rustix::thread::futex;
use session::{
    Call, Caller, Channel, ChannelError, Clock, Costs, Exchange, Expected, Failure, Found,
    Listener, PAGE, Reply, Request, Response, SharedMemory, VERSION, Welcome, Work,
};

use crate::adversary::{ACTS, OTHER, TWO_CARDS, cases, request, transfer};
use crate::fixture::Session;

/// A process whose calls are written to the page if the server waits there.
pub struct Paged {
    channel: Channel,
    page: Exchange<Response, Call>,
    /// A second mapping of the page, for invalid content.
    memory: SharedMemory,
    /// Number of calls in the page.
    in_page: u32,
}

/// Real time within which an answer arrives, unless the content of the page is not a call.
const PATIENCE: Duration = Duration::from_secs(1);

impl Paged {
    pub fn new(session: &Session) -> Self {
        let channel = Channel::connect(&session.path).expect("the server lets it in");
        let request = Request::Hello { version: VERSION };
        channel.send(&call(request), None).expect("it is there");
        let (_, file): (Response, _) = channel.receive().expect("it answers");
        let file: OwnedFd = file.expect("a page");
        Paged {
            channel,
            page: Exchange::join(&file).expect("a page"),
            memory: SharedMemory::map(&file, PAGE).expect("a page"),
            in_page: 0,
        }
    }

    /// Makes a call. Returns `None` if no answer arrives within [`PATIENCE`].
    fn ask(&mut self, request: Request) -> Result<Option<Response>, ChannelError> {
        self.page.look();
        if !self.page.write(&call(request.clone())) {
            self.channel.send(&call(request), None)?;
            self.page.point_to_socket();
            return Ok(Some(self.channel.receive()?.0));
        }
        self.in_page += 1;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            // The server may wake this thread for the previous answer, which was read before the wake-up.
            match self.page.read_asleep(PATIENCE)? {
                Some(Found::Message(answer)) => return Ok(Some(answer)),
                Some(Found::InSocket) => return Ok(Some(self.channel.receive()?.0)),
                None => {}
            }
        }
        Ok(None)
    }
}

fn call(request: Request) -> Call {
    let worked = Work::default();
    Call { worked, request }
}

/// The answers of a new session to an open and to further calls. If `by_page`, the calls use the page when the server waits there.
fn answers(requests: &[Request], by_page: bool) -> Vec<Response> {
    let session = Session::with(false, TWO_CARDS);
    let open = Request::Open {
        object: OTHER,
        shared: false,
    };
    let requests = [open].into_iter().chain(requests.iter().cloned());
    if !by_page {
        let process = session.process();
        return requests
            .map(|request| process.call(0, request, None))
            .collect();
    }
    let mut process = Paged::new(&session);
    requests
        .map(|request| process.ask(request).expect("it is there").expect("in time"))
        .collect()
}

/// The server may wait in the page for only some of the calls, depending on the load of the machine. One call for which it waits there is enough.
#[test]
fn calls_that_follow_each_other_closely_go_by_the_page() {
    let session = Session::with(false, TWO_CARDS);
    let mut process = Paged::new(&session);
    let is_by_page = |_| {
        let answer = process.ask(Request::Objects).expect("it is there");
        assert!(answer.is_some_and(|answer| answer.outcome.is_ok()));
        process.in_page > 0
    };
    assert!((0..10_000).any(is_by_page));
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_call_has_the_same_answer_and_time_in_the_page_and_over_the_socket(requests in vec(request(), 1..40)) {
        prop_assert_eq!(answers(&requests, true), answers(&requests, false));
    }
}

/// An action of a process that may write anything to its page.
#[derive(Clone, Debug)]
pub enum PageAct {
    Call(Request),
    /// Sends a call over the socket, without a note in the page.
    Hide(Request),
    /// Writes the note that a call is in the socket, but sends no call.
    Point,
    /// Writes a word. The first word of each half is its state.
    Scribble(usize, u32),
    /// Wakes a reader that sleeps at a half.
    Wake(usize),
    Rest(u64),
}

/// The numbers of the first words of both halves, and of any other words.
fn word() -> impl Strategy<Value = usize> {
    let first = select(vec![0_usize, 1, 2, 3, 4, 512, 513, 514, 515]);
    prop_oneof![4 => first, 1 => 0_usize..PAGE as usize / 4]
}

/// A request that does not open the first card, which another process opens later.
fn request_of_other() -> impl Strategy<Value = Request> {
    request().prop_map(|request| match request {
        Request::Open { object, shared } => Request::Open {
            object: object.max(2),
            shared,
        },
        request => request,
    })
}

pub fn page_act() -> impl Strategy<Value = PageAct> {
    let value =
        prop_oneof![4 => 0_u32..6, 1 => select(vec![244, 245, u32::MAX]), 1 => any::<u32>()];
    prop_oneof![
        8 => request_of_other().prop_map(PageAct::Call),
        1 => request_of_other().prop_map(PageAct::Hide),
        1 => Just(PageAct::Point),
        6 => (word(), value).prop_map(|(word, value)| PageAct::Scribble(word, value)),
        2 => select(vec![0_usize, 512]).prop_map(PageAct::Wake),
        1 => (0_u64..4).prop_map(PageAct::Rest),
    ]
}

impl Paged {
    /// Performs an action. Every result of the action is accepted.
    pub fn act(&mut self, act: &PageAct) {
        match act {
            PageAct::Call(request) => {
                // The answer may never arrive, because the half may have been overwritten.
                self.page.look();
                if self.page.write(&call(request.clone())) {
                    let _ = self.page.read_asleep(Duration::from_millis(5));
                }
            }
            PageAct::Hide(request) => {
                let _ = self.channel.send_at_once(&call(request.clone()), None);
            }
            PageAct::Point => self.page.point_to_socket(),
            PageAct::Scribble(word, value) => self.scribble(*word, *value),
            PageAct::Wake(word) => {
                let _ = futex::wake(self.word(*word), futex::Flags::empty(), 1);
            }
            PageAct::Rest(ms) => thread::sleep(Duration::from_millis(*ms)),
        }
    }

    /// Whether the server has removed the process. Receives all answers that are left.
    fn is_removed(&self) -> bool {
        loop {
            match self.channel.receive_at_once::<Response>() {
                Ok(_) => {}
                Err(ChannelError::System(Errno::AGAIN)) => return false,
                Err(_) => return true,
            }
        }
    }

    fn word(&self, word: usize) -> &AtomicU32 {
        self.memory.word(4 * word)
    }

    fn scribble(&self, word: usize, value: u32) {
        self.word(word).store(value, Ordering::SeqCst);
    }

    /// Overwrites the states of the halves and wakes their readers until `is_over`.
    fn storm(&self, is_over: &AtomicBool) {
        let mut value = 0;
        while !is_over.load(Ordering::Relaxed) {
            for word in [0, 512, 1, 513, 2, 3] {
                value += 1;
                self.scribble(word, value % 6);
                let _ = futex::wake(self.word(word), futex::Flags::empty(), 1);
            }
        }
    }
}

/// Ends a `storm`, also if an assertion fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A process that is the only one writes anything to its page, and continues while another process connects. The second process is served, and
/// soon. When there is again only one process, its calls are answered.
pub fn withstands(acts: &[PageAct]) {
    let session = Session::with(false, TWO_CARDS);
    let mut adversary = Paged::new(&session);
    for act in acts {
        if adversary.is_removed() {
            adversary = Paged::new(&session);
        }
        adversary.act(act);
        ACTS.fetch_add(1, Ordering::Relaxed);
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| adversary.storm(&is_over));
        let _end = End(&is_over);
        let began = Instant::now();
        let honest = session.process();
        let handle = honest.open(1, false).expect("nobody else wants it");
        for _ in 0..4 {
            transfer(&honest, handle);
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    });
    drop(adversary);
    let (mut heir, _) = Caller::connect(&session.path, true).expect("the server lets it in");
    for _ in 0..100 {
        let answer = heir.call(&call(Request::Objects), None, Expected::Soon);
        assert!(answer.expect("the server is there").outcome.is_ok());
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn whatever_a_process_does_with_its_page_others_are_served(acts in vec(page_act(), 1..60)) {
        withstands(&acts);
    }
}

#[test]
fn a_process_that_is_gone_in_the_middle_of_a_call_in_its_page_leaves_others_what_it_had() {
    let session = Session::with(false, TWO_CARDS);
    for _ in 0..50 {
        let mut victim = Paged::new(&session);
        let open = |object| Request::Open {
            object,
            shared: false,
        };
        // The open succeeds when the server has detected that the connection of the last process is closed.
        while victim
            .ask(open(OTHER))
            .expect("the server is there")
            .is_some_and(|answer| answer.outcome == Err(Failure::Busy))
        {}
        victim.page.look();
        victim.page.write(&call(Request::Objects));
    }
    assert_eq!(session.process().objects().len(), 4);
}

#[test]
fn a_process_whose_server_ends_finds_the_session_closed() {
    let session = Session::new(false);
    let (mut caller, _) = Caller::connect(&session.path, true).expect("the server lets it in");
    for _ in 0..10 {
        let objects = caller.call(&call(Request::Objects), None, Expected::Soon);
        assert!(objects.is_ok());
    }
    drop(session);
    let objects = caller.call(&call(Request::Objects), None, Expected::Soon);
    assert_eq!(objects, Err(ChannelError::Closed));
}

#[test]
fn a_process_whose_server_is_killed_in_the_middle_of_a_call_finds_the_session_closed() {
    let path = std::env::temp_dir().join(format!("peerlane-killed-{}", std::process::id()));
    let listener = Listener::bind(&path).expect("a socket");
    thread::scope(|threads| {
        let server = threads.spawn(|| {
            let channel = listener.accept().expect("a process");
            let (_, _): (Call, _) = channel.receive().expect("its first call");
            let (page, file) = Exchange::<Call, Response>::create().expect("a page");
            page.look();
            let welcome = Welcome {
                clock: Clock::Virtual,
                realtime: 0,
                monotonic: 0,
                costs: Costs::default(),
                release: None,
            };
            let answer = Response {
                now: 0,
                active: false,
                outcome: Ok(Reply::Welcome(welcome)),
            };
            let file = Some(std::os::fd::AsFd::as_fd(&file));
            channel.send(&answer, file).expect("the process is there");
            let found = page.read_asleep(Duration::from_secs(20));
            assert!(matches!(found, Ok(Some(Found::Message(_)))));
            // The system closes the socket of a killed process, and nothing is written to the page.
            drop(channel);
        });
        let (mut caller, _) = Caller::connect(&path, true).expect("somebody listens");
        let objects = caller.call(&call(Request::Objects), None, Expected::Soon);
        assert_eq!(objects, Err(ChannelError::Closed));
        server.join().expect("it has had the call");
    });
    std::fs::remove_file(&path).expect("the socket was there");
}

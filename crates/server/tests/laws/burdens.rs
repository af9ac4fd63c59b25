//! Processes that burden a session without a wrong call: the session still serves the others.

use rustix::io::Errno;
use session::{Call, Channel, ChannelError, Reply, Request, Response, Work};

use crate::adversary::{OTHER, TWO_CARDS, permit_descriptors, transfer};
use crate::fixture::{Process, Session, write_magic};

/// A session with two cards, and a process that has the accelerator of the first.
fn served() -> (Session, Process, u64) {
    let session = Session::with(false, TWO_CARDS);
    let honest = session.process();
    let handle = honest.open(1, false).expect("nobody has it");
    (session, honest, handle)
}

fn send(channel: &Channel, request: Request) -> Result<(), ChannelError> {
    let worked = Work::default();
    channel.send(&Call { worked, request }, None)
}

#[test]
fn a_process_that_never_reads_its_answers_is_removed() {
    let (session, honest, handle) = served();
    let deaf = session.process();
    let mut sent = 0;
    let removed = loop {
        match send(&deaf.0, Request::Objects) {
            Ok(()) if sent < 1_000_000 => sent += 1,
            other => break other,
        }
        if sent % 64 == 0 {
            transfer(&honest, handle);
        }
    };
    assert_eq!(removed, Err(ChannelError::Closed));
    transfer(&honest, handle);
}

#[test]
fn more_processes_than_a_session_has_places_are_turned_away() {
    permit_descriptors();
    let (session, honest, handle) = served();
    let crowd: Vec<_> = (0..1100)
        .filter_map(|_| Channel::connect(&session.path).ok())
        .collect();
    transfer(&honest, handle);
    let last = crowd.last().expect("the socket accepts connections");
    let answer: Result<(Response, _), _> = last.receive();
    let gone = [ChannelError::Closed, ChannelError::System(Errno::CONNRESET)];
    assert!(answer.is_err_and(|error| gone.contains(&error)));
    drop(crowd);
    transfer(&honest, handle);
    assert_eq!(session.process().objects().len(), 4);
}

#[test]
fn a_process_that_is_gone_in_the_middle_of_its_transfer_leaves_a_card_that_works() {
    let (session, honest, handle) = served();
    for _ in 0..50 {
        let victim = session.process();
        let own = loop {
            // The open succeeds when the server has detected that the connection of the last process is closed.
            if let Ok(own) = victim.open(OTHER, false) {
                break own;
            }
        };
        let (_, address, _) = victim.pin(own, 4096).expect("there is memory");
        write_magic(&victim, own, address);
        drop(victim);
        transfer(&honest, handle);
    }
    let heir = session.process();
    let own = loop {
        if let Ok(own) = heir.open(OTHER, false) {
            break own;
        }
    };
    assert!(heir.pin(own, 900 << 20).is_ok(), "its buffers are free");
}

#[test]
fn a_process_that_only_resets_keeps_nobody_from_his_transfers() {
    let (session, honest, handle) = served();
    let resets = session.process();
    let own = resets.open(OTHER, false).expect("nobody has it");
    for _ in 0..200 {
        assert_eq!(resets.ask(Request::Reset { handle: own }), Ok(Reply::Done));
        assert!(send(&resets.0, Request::Reset { handle: own }).is_ok());
        transfer(&honest, handle);
        assert!(resets.0.receive::<Response>().is_ok());
    }
}

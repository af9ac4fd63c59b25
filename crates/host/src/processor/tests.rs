//! Tests of a processor's threads, without a fabric.

use super::*;
use kernel::Span;
use packet::Observation;
use transaction::{CallNote, CompletionBuffer, Memory, OutstandingLimits, Staging};

const LIMITS: RequesterLimits = RequesterLimits {
    max_payload: 128,
    max_read_request: 64,
    outstanding: OutstandingLimits {
        tags: 8,
        completion_timeout: Span::from_us(50),
        tag_quarantine: Span::from_us(50),
        completion_buffer: CompletionBuffer {
            bytes: None,
            headers: None,
        },
    },
    staging: Staging {
        latency: Span::ZERO,
        store_and_forward: None,
    },
};

fn processor(cores: u32) -> Processor {
    Processor::new(FunctionId(0), LIMITS, cores)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// All actions of the processor from `from` on, with their times.
fn watch(processor: &mut Processor, from: Time) -> Vec<(Time, u32)> {
    let (mut now, mut told) = (from, Vec::new());
    let mut packets = Packets::default();
    loop {
        let memory = Ram {
            base: 0,
            bytes: &Memory::new(0),
        };
        match processor.next(now, &mut packets, memory) {
            Next::Report(Observation::Own { flow, .. }) => told.push((now, flow.0)),
            Next::NotBefore(time) => now = time,
            _ => return told,
        }
    }
}

async fn say(system: &System, what: u32) {
    system
        .report(Observation::own(FlowId(what), CallNote::Called))
        .await;
}

fn worker(processor: &mut Processor, name: u32, start: u64, ns: u64) -> ThreadId {
    processor.spawn(at(start), move |system| async move {
        system.work(Span::from_ns(ns)).await;
        say(&system, name).await;
    })
}

#[test]
fn threads_on_cores_of_their_own_work_at_the_same_time() {
    let mut processor = processor(2);
    worker(&mut processor, 1, 0, 10);
    worker(&mut processor, 2, 5, 10);
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 1), (at(15), 2)]);
}

#[test]
fn threads_that_share_a_core_work_one_after_the_other() {
    let mut processor = processor(1);
    worker(&mut processor, 1, 0, 10);
    worker(&mut processor, 2, 5, 10);
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 1), (at(20), 2)]);
}

#[test]
fn a_thread_that_waits_for_an_interrupt_leaves_its_core_to_others() {
    let mut processor = processor(1);
    processor.spawn(at(0), |system| async move {
        system.interrupt(7).await;
        say(&system, 1).await;
    });
    worker(&mut processor, 2, 0, 10);
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 2)]);
    processor.interrupt(8);
    assert_eq!(watch(&mut processor, at(20)), []);
    processor.interrupt(7);
    assert_eq!(watch(&mut processor, at(30)), [(at(30), 1)]);
}

#[test]
fn a_thread_that_sleeps_leaves_its_core_to_others() {
    let mut processor = processor(1);
    processor.spawn(at(0), |system| async move {
        system.sleep(Span::from_ns(10)).await;
        say(&system, 1).await;
    });
    worker(&mut processor, 2, 0, 8);
    assert_eq!(watch(&mut processor, at(0)), [(at(8), 2), (at(10), 1)]);
}

#[test]
fn an_interrupt_that_came_before_it_was_waited_for_is_not_lost() {
    let mut processor = processor(1);
    processor.interrupt(7);
    processor.spawn(at(0), |system| async move {
        system.interrupt(7).await;
        say(&system, 1).await;
    });
    assert_eq!(watch(&mut processor, at(0)), [(at(0), 1)]);
}

#[test]
fn a_thread_that_waits_for_either_byte_takes_neither() {
    let mut processor = processor(1);
    processor.watch(0x10);
    processor.watch(0x20);
    processor.spawn(at(0), |system| async move {
        system.either_written([0x10, 0x20]).await;
        say(&system, 1).await;
        system.written(0x20).await;
        say(&system, 2).await;
        system.either_written([0x10, 0x20]).await;
        say(&system, 3).await;
    });
    assert_eq!(watch(&mut processor, at(0)), []);
    processor.written(0x20, 4);
    assert_eq!(watch(&mut processor, at(5)), [(at(5), 1), (at(5), 2)]);
    processor.written(0x08, 16);
    assert_eq!(watch(&mut processor, at(9)), [(at(9), 3)]);
}

#[test]
fn a_lock_has_one_holder_and_goes_to_who_waited_longest() {
    let mut processor = processor(4);
    for name in 1..=3 {
        processor.spawn(at(0), move |system| async move {
            system.lock(0).await;
            system.work(Span::from_ns(10)).await;
            say(&system, name).await;
            system.unlock(0).await;
        });
    }
    assert_eq!(
        watch(&mut processor, at(0)),
        [(at(10), 1), (at(20), 2), (at(30), 3)]
    );
}

#[test]
fn a_thread_that_joins_goes_on_when_the_other_has_ended() {
    let mut processor = processor(2);
    let first = worker(&mut processor, 1, 0, 10);
    processor.spawn(at(0), move |system| async move {
        system.join(first).await;
        system.work(Span::from_ns(1)).await;
        say(&system, 2).await;
    });
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 1), (at(11), 2)]);
}

#[test]
fn a_thread_that_pauses_keeps_its_core_until_it_is_told_to_go_on() {
    let mut processor = processor(1);
    let paused = processor.spawn(at(0), |system| async move {
        system.pause().await;
        say(&system, 1).await;
    });
    worker(&mut processor, 2, 0, 10);
    assert_eq!(watch(&mut processor, at(0)), []);
    assert!(processor.is_waiting(paused));
    processor.go_on(paused, at(20));
    processor.go_on(paused, at(20));
    assert!(!processor.is_waiting(paused));
    assert_eq!(watch(&mut processor, at(20)), [(at(20), 1), (at(30), 2)]);
}

#[test]
fn a_thread_without_a_program_holds_no_core() {
    let mut processor = processor(1);
    let idle = processor.add_thread();
    worker(&mut processor, 1, 0, 10);
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 1)]);
    for name in 2..=3 {
        processor.begin(idle, |system| async move { say(&system, name).await });
        assert!(!processor.has_ended(idle));
        assert_eq!(watch(&mut processor, at(20)), [(at(20), name)]);
        assert!(processor.has_ended(idle));
    }
}

#[test]
fn a_wait_that_is_withdrawn_takes_nothing_from_others() {
    let mut processor = processor(1);
    let withdrawn = processor.add_thread();
    processor.begin(withdrawn, |system| async move { system.interrupt(7).await });
    assert_eq!(watch(&mut processor, at(0)), []);
    processor.withdraw(withdrawn);
    assert!(processor.has_ended(withdrawn));
    processor.spawn(at(5), |system| async move {
        system.interrupt(7).await;
        say(&system, 1).await;
    });
    assert_eq!(watch(&mut processor, at(5)), []);
    processor.interrupt(7);
    assert_eq!(watch(&mut processor, at(9)), [(at(9), 1)]);
}

#[test]
fn a_program_that_is_withdrawn_before_it_has_a_core_never_begins() {
    let mut processor = processor(1);
    worker(&mut processor, 1, 0, 10);
    let withdrawn = processor.add_thread();
    processor.begin(withdrawn, |system| async move { say(&system, 2).await });
    processor.withdraw(withdrawn);
    assert!(processor.has_ended(withdrawn));
    assert_eq!(watch(&mut processor, at(0)), [(at(10), 1)]);
}

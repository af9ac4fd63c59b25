//! The cost of one event in the calendar queue and in a binary heap, with few and with many pending events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernel::{EventQueue, Span, Stream, Time};

const EVENTS: u64 = 100_000;

/// Random times between an event and the events it schedules, as in a fabric: mostly frames and switch latencies, rarely a timer.
fn distances() -> Vec<Span> {
    let mut stream = Stream::named(1, "distances");
    let mut draw = || match stream.below(100) {
        0 => Span::from_us(30),
        1..40 => Span::from_ns(150),
        _ => Span::from_ps(1_000 + stream.below(9_000)),
    };
    (0..1024).map(|_| draw()).collect()
}

fn hold(criterion: &mut Criterion) {
    let distances = distances();
    let mut group = criterion.benchmark_group("an event taken and one scheduled");
    group.throughput(Throughput::Elements(EVENTS));
    for pending in [16, 256, 4096] {
        group.bench_function(format!("calendar queue, {pending} pending"), |bencher| {
            bencher.iter(|| {
                let mut queue = EventQueue::default();
                for number in 0..pending {
                    queue.push(Time::from_fs(number), number, [0_u32; 4]);
                }
                for number in 0..EVENTS as usize {
                    let event = queue.pop().expect("as many are scheduled as are taken");
                    queue.push(
                        event.time + distances[number % distances.len()],
                        event.rank,
                        event.payload,
                    );
                }
                black_box(queue.pop())
            });
        });
        group.bench_function(format!("binary heap, {pending} pending"), |bencher| {
            bencher.iter(|| {
                let mut queue = BinaryHeap::new();
                for number in 0..pending {
                    queue.push(Reverse((Time::from_fs(number), number, [0_u32; 4])));
                }
                for number in 0..EVENTS {
                    let Reverse((time, _, payload)) =
                        queue.pop().expect("as many are scheduled as are taken");
                    let next = time + distances[number as usize % distances.len()];
                    queue.push(Reverse((next, pending + number, payload)));
                }
                black_box(queue.pop())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);

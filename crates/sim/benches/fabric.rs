//! How fast packets cross a fabric: the job of `peerlane bench fabric`, for 1 to 512 endpoints.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sim::bench;

const TLPS: u64 = 32_768;

fn fabric(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("posted writes of 128 bytes");
    group.throughput(Throughput::Elements(TLPS));
    for endpoints in [1, 8, 64, 512] {
        group.bench_function(format!("{endpoints} endpoints"), |bencher| {
            bencher.iter_batched(
                || bench::simulation(endpoints, TLPS),
                |mut simulation| black_box(simulation.run(&mut |_| true)),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, fabric);
criterion_main!(benches);

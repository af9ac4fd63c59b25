//! Measures the speed of packets in a fabric: the jobs of `peerlane bench fabric`, for 1 to 512 endpoints, and of `peerlane bench network`,
//! for 16 to 1,024 routers. Also measures the cost of captures, and the speed of the plan and the enumeration of a fabric.

use std::fs::File;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sim::{CaptureFormat, FilterOptions, bench};

const TLPS: u64 = 32_768;

fn fabric(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("posted writes of 128 bytes");
    group.throughput(Throughput::Elements(TLPS));
    for endpoints in [1, 8, 64, 512] {
        group.bench_function(format!("{endpoints} endpoints"), |bencher| {
            bencher.iter_batched(
                || bench::ready(&bench::scenario(endpoints, TLPS)),
                |mut simulation| black_box(simulation.run(&mut |_| true)),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// The cost of captures, without the disk: posted writes with a capture in each format, and the same writes without a capture.
fn captures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("captures of posted writes");
    group.sample_size(10);
    group.throughput(Throughput::Elements(TLPS));
    let formats = [
        ("none", None),
        ("trace", Some(CaptureFormat::Trace)),
        ("perfetto", Some(CaptureFormat::Perfetto)),
        ("vcd", Some(CaptureFormat::Vcd)),
    ];
    for (name, format) in formats {
        let captured = || {
            let mut simulation = bench::ready(&bench::scenario(1, TLPS));
            if let Some(format) = format {
                let nowhere = File::create("/dev/null").expect("the null device takes everything");
                let begun = simulation.capture(format, &FilterOptions::default(), nowhere);
                begun.expect("the filter lets everything pass");
            }
            simulation
        };
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                captured,
                |mut simulation| black_box(simulation.run(&mut |_| true)),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan and enumeration");
    group.sample_size(10);
    for endpoints in [8, 64, 512] {
        group.throughput(Throughput::Elements(endpoints));
        group.bench_function(format!("{endpoints} endpoints"), |bencher| {
            bencher.iter(|| black_box(bench::ready(&bench::scenario(endpoints as usize, TLPS))));
        });
    }
    group.finish();
}

const HOPS: u64 = 500_000;

fn network(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hops in a torus");
    group.sample_size(10);
    group.throughput(Throughput::Elements(HOPS));
    for side in [4, 8, 16, 32] {
        group.bench_function(format!("{side} x {side} routers"), |bencher| {
            bencher.iter_batched(
                || bench::ready(&bench::torus_scenario(side, HOPS)),
                |mut simulation| black_box(simulation.run(&mut |_| true)),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, fabric, captures, plan, network);
criterion_main!(benches);

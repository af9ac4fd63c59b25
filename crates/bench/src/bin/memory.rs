//! Measures the memory of a fabric: bytes of an idle link with its endpoint, and of a packet in flight, as the allocator counts them.

use std::alloc::System;
use std::hint::black_box;

use kernel::{Span, Time};
use sim::{Plan, Simulation, bench};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    println!("bytes, without those of the allocator itself");
    let (few, many) = (idle(16), idle(64));
    let links = many.links - few.links;
    let of_each = |bytes: fn(&Idle) -> usize| (bytes(&many) - bytes(&few)) / links;
    println!("both ends of an idle link: {}", of_each(|idle| idle.ends));
    println!(
        "idle link with its endpoint and its share of a switch: {} and {} of the plan, with its configuration spaces",
        of_each(|idle| idle.simulation),
        of_each(|idle| idle.plan),
    );
    println!(
        "any component, without what it points to: {}",
        bench::COMPONENT
    );
    for payload in [128, 256] {
        let (few, many) = (waiting(payload, 20), waiting(payload, 40));
        let packets = many.packets - few.packets;
        println!(
            "packet in flight with {payload} bytes of payload: {} ({packets} more packets)",
            (many.bytes - few.bytes) / packets
        );
    }
}

/// A fabric after the initialisation of its links.
struct Idle {
    links: usize,
    /// Bytes of the plan. The simulation shares its configuration spaces until they change.
    plan: usize,
    /// Bytes of everything else.
    simulation: usize,
    /// Bytes of the ends of its links.
    ends: usize,
}

fn idle(endpoints: usize) -> Idle {
    let text = bench::scenario(endpoints, 1);
    let region = Region::new(ALLOCATOR);
    let plan = Plan::read(&text, "memory").expect("the scenario is right");
    let of_plan = growth(&region);
    let links = plan.fabric.links.len();
    let region = Region::new(ALLOCATOR);
    let mut simulation = Simulation::new(plan);
    simulation.run_until(Time::ZERO, &mut || true);
    let of_simulation = growth(&region);
    let region = Region::new(ALLOCATOR);
    let copies = bench::link_ends(&simulation);
    let ends = growth(&region) - (copies.capacity() - copies.len()) * size_of_val(&copies[0]);
    black_box(copies);
    Idle {
        links,
        plan: of_plan,
        simulation: of_simulation,
        ends,
    }
}

/// A fabric in which packets wait.
struct Waiting {
    packets: usize,
    bytes: usize,
}

/// A fabric in which an endpoint on a link of x16 has written for this number of microseconds through an uplink of x1. The queue of the
/// uplink is never full.
fn waiting(payload: u64, microseconds: u64) -> Waiting {
    let text = format!(
        "name = \"waiting\"\n[links]\ngeneration = 3\nlanes = 16\n[hosts.h]\n\
         [switches.s]\nupstream = {{ to = \"h\", lanes = 1 }}\nposted_headers = 0\nposted_data = \"0 B\"\n\
         [devices.e]\nupstream = \"s\"\n\
         [[flows]]\nfrom = \"e\"\nto = \"h\"\ncount = 1000000\nrequest_size = \"{payload} B\"\nwindow = \"4 KiB\"\n"
    );
    let plan = Plan::read(&text, "memory").expect("the scenario is right");
    let region = Region::new(ALLOCATOR);
    let mut simulation = Simulation::new(plan);
    simulation.run_until(Time::ZERO + Span::from_us(microseconds), &mut || true);
    Waiting {
        packets: simulation.packets_in_use(),
        bytes: growth(&region),
    }
}

/// Bytes that were allocated in a region and are still in use.
fn growth(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

//! Benchmarks of the simulator's own speed: posted writes from endpoints through switches to memory, messages across a torus, and
//! messages between the memories of hosts at one controller.

mod shape;

use capture::Links;
use std::fmt::Write;

use kernel::Time;
use link::LinkEnd;

use crate::model::Model;
use crate::{Plan, Simulation};
pub use shape::Shape;

/// The payload of each write, in bytes.
const PAYLOAD: u64 = 128;

/// The payload of each message across a torus, in bytes.
const MESSAGE: u64 = 256;

/// Values of keys of links, hosts, switches, devices and controllers. They are written out, so that a shape stays the same when a default changes.
const LINKS: &str = "[links]\nspread_spectrum = false\n";
const HOST: &str = "memory_address_bits = 32\n";
const CREDIT: &str = "update_fc_share = 0.25\n";
const PIPELINES: &str = "receive_pipeline_symbols = 0\ntransmit_pipeline_symbols = 0\n";

/// The number of endpoints below one switch, and of switches below one host. With these numbers, a tree needs at most its 256 buses.
const PER_SWITCH: usize = 16;
const SWITCHES_PER_HOST: usize = 4;

/// The bytes of memory to which all endpoints together write again and again. They are few, so that the speed of the fabric is measured, and not the
/// memory of this machine.
const MEMORY: u64 = 1 << 20;

/// A fabric of Gen3 x16 links in which `endpoints` endpoints together make `tlps` writes of 128 bytes. If there are several
/// endpoints, each has an x1 link, so that sixteen of them just fill the uplink of their switch and no queue grows. Several hosts are
/// joined by a controller, and the processor of each makes as many writes to the memory of the next host as an endpoint makes.
pub fn scenario(endpoints: usize, tlps: u64) -> String {
    let mut text = format!("name = \"bench fabric\"\n{LINKS}generation = 3\nlanes = 16\n");
    let mut put = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line)
            .expect("a string takes all that is written");
    };
    let hosts = endpoints.div_ceil(PER_SWITCH * SWITCHES_PER_HOST);
    for host in 0..hosts {
        put(format_args!("[hosts.h{host}]\n{HOST}{CREDIT}{PIPELINES}"));
    }
    if hosts > 1 {
        put(format_args!("[controllers.c]\nports = {hosts}\n"));
        for host in 0..hosts {
            put(format_args!(
                "[devices.n{host}]\nmodel = \"nic\"\nupstream = \"h{host}\"\n{CREDIT}{PIPELINES}"
            ));
        }
    }
    for switch in 0..endpoints.div_ceil(PER_SWITCH) {
        put(format_args!(
            "[switches.s{switch}]\nupstream = {{ to = \"h{}\" }}\n{CREDIT}",
            switch / SWITCHES_PER_HOST
        ));
    }
    let lanes = if endpoints == 1 { 16 } else { 1 };
    for endpoint in 0..endpoints {
        put(format_args!(
            "[devices.e{endpoint}]\nupstream = {{ to = \"s{}\", lanes = {lanes} }}\n{CREDIT}{PIPELINES}",
            endpoint / PER_SWITCH
        ));
    }
    let from_endpoints = (0..endpoints).map(|endpoint| {
        let host = endpoint / (PER_SWITCH * SWITCHES_PER_HOST);
        (format!("e{endpoint}"), host)
    });
    let between_hosts = (0..hosts).filter(|_| hosts > 1);
    let between_hosts = between_hosts.map(|host| (format!("h{host}"), (host + 1) % hosts));
    let flows: Vec<_> = from_endpoints.chain(between_hosts).collect();
    let writers = flows.len() as u64;
    let window = (MEMORY / writers).max(PAYLOAD).next_multiple_of(PAYLOAD);
    for (number, (from, to)) in flows.iter().enumerate() {
        let share = tlps / writers + u64::from((number as u64) < tlps % writers);
        if share > 0 {
            put(format_args!(
                "[[flows]]\nid = \"f{number}\"\nfrom = \"{from}\"\nto = \"h{to}\"\ndirection = \"write\"\ncount = {share}\n\
                 request_size = \"{PAYLOAD} B\"\nwindow = \"{window} B\"\n"
            ));
        }
    }
    text
}

/// A torus of `side` times `side` routers whose user logic sends messages of [`MESSAGE`] bytes to all routers, at half of the load of this traffic
/// that the fibres can carry. The messages together make about `hops` hops.
pub fn torus_scenario(side: u16, hops: u64) -> String {
    let (nodes, side) = (f64::from(side) * f64::from(side), f64::from(side));
    // A frame of 276 bytes takes 9 cycles of 32 bytes at 5 GB/s; uniform traffic loads the fibres of a ring by side / 8.
    let carried = MESSAGE as f64 / (9.0 * 6.4);
    let load = carried * 0.5 * (8.0 / side).min(1.0);
    let per_message = side / 2.0;
    let span = hops as f64 / nodes / per_message * MESSAGE as f64 / load;
    format!(
        "name = \"bench network\"\n[networks.torus]\nshape = \"torus\"\nsize = \"{side}x{side}\"\n\
         [[traffic]]\nnetwork = \"torus\"\nload = \"{load} GB/s\"\nmessage = \"{MESSAGE} B\"\nfrom = \"routers\"\nto = \"routers\"\n\
         duration = \"{span:.0} ns\"\n"
    )
}

/// A scenario of `hosts` hosts, each of which PUTs `size` bytes to every other host. Their controllers have `ports` hosts each, and are
/// joined by a cable between each two.
pub fn all_to_all_scenario(hosts: usize, ports: usize, size: u64) -> String {
    let mut text = format!("name = \"bench messages\"\n{LINKS}generation = 3\nlanes = 8\n");
    let mut put = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line)
            .expect("a string takes all that is written");
    };
    let controllers = hosts.div_ceil(ports);
    for controller in 0..controllers {
        put(format_args!(
            "[controllers.c{controller}]\nports = {ports}\nvirtual_channels = 4\n{CREDIT}"
        ));
    }
    for to in 1..controllers {
        for from in 0..to {
            put(format_args!(
                "[[cables]]\nfrom = \"c{from}\"\nto = \"c{to}\"\n"
            ));
        }
    }
    for host in 0..hosts {
        put(format_args!(
            "[hosts.h{host}]\n{HOST}{CREDIT}{PIPELINES}[devices.n{host}]\nmodel = \"nic\"\nupstream = \"h{host}\"\n\
             controller = \"c{}\"\nvirtual_functions = 7\n{CREDIT}{PIPELINES}",
            host / ports
        ));
    }
    for step in 1..hosts {
        for host in 0..hosts {
            let to = (host + step) % hosts;
            put(format_args!(
                "[[flows]]\nfrom = \"n{host}\"\nto = \"n{to}\"\nsize = \"{size} B\"\n"
            ));
        }
    }
    text
}

/// Returns copies of all ends of PCI Express links, for measurements of their size.
pub fn link_ends(simulation: &Simulation) -> Vec<LinkEnd> {
    let mut ends = Vec::new();
    for model in simulation.models() {
        model.each_link(&mut |_, end| ends.push(end.clone()));
    }
    ends
}

/// The size of a component in the list of components, in bytes, without the data to which the component points.
pub const COMPONENT: usize = size_of::<Model>();

fn unstarted(scenario: &str) -> Simulation {
    Simulation::new(Plan::read(scenario, "bench").expect("the bench's own scenario is right"))
}

/// The fabric of a scenario of this module after link initialisation, just before its traffic begins.
pub fn ready(scenario: &str) -> Simulation {
    let mut simulation = unstarted(scenario);
    simulation.run_until(Time::ZERO, &mut || true);
    simulation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_of_the_torus_arrives_after_its_hops() {
        for side in [4, 10] {
            let mut simulation = ready(&torus_scenario(side, 20_000));
            assert!(simulation.run(&mut |_| true));
            let result = simulation.result();
            assert!(result.traffic[0].intact && result.traffic[0].completed);
            let hops: u64 = result.fibres.iter().map(|fibre| fibre.frames).sum();
            assert!((15_000..25_000).contains(&hops), "{hops}");
        }
    }

    #[test]
    fn every_message_from_all_to_all_arrives() {
        for ports in [16, 4] {
            let mut simulation = ready(&all_to_all_scenario(16, ports, 5000));
            assert!(simulation.run(&mut |_| true));
            let flows = &simulation.result().flows;
            assert_eq!(flows.len(), 240);
            assert!(flows.iter().all(|flow| flow.intact && flow.bytes == 5000));
        }
    }

    #[test]
    fn every_write_of_the_bench_arrives() {
        for endpoints in [1, 17, 130] {
            let mut simulation = ready(&scenario(endpoints, 1000));
            assert!(simulation.run(&mut |_| true));
            let result = simulation.result();
            assert!(
                result
                    .flows
                    .iter()
                    .all(|flow| flow.intact && flow.completed)
            );
            assert_eq!(
                result.flows.iter().map(|flow| flow.bytes).sum::<u64>(),
                1000 * PAYLOAD
            );
        }
    }
}

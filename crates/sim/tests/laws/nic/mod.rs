//! Hosts that send each other messages through network interface controllers.

mod any_messages;
mod cables;
mod clock;
mod io_port;
mod isolation;
mod open_and_close;
mod ranks;
mod safety;
mod start_mode;
mod window;

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use device::nic::descriptor::{Body, Descriptor, Item, Probe};
use device::nic::event::Event;
use host::DriverParameters;
use host::queue_pair::{ENTRIES, QueuePair, QueuePairPlace};
use kernel::{Span, Time};
use sim::Simulation;

use crate::fixture::simulation;

/// A scenario with hosts h0, h1, ... with network interface controllers n0, n1, ... at one crossbar. The lines `crossbar` are added to the section of
/// the crossbar, and the lines `nic` to the sections of the network interface controllers.
pub fn hosts(count: usize, crossbar: &str, nic: &str) -> String {
    let mut text = format!(
        "[links]\ngeneration = 2\nlanes = 8\n[controllers.c]\nports = {count}\n{crossbar}\n"
    );
    for number in 0..count {
        let _ = write!(
            text,
            "[hosts.h{number}]\n[devices.n{number}]\nmodel = \"nic\"\nupstream = \"h{number}\"\nvirtual_functions = 7\ndatapath = \"16 B\"\n{nic}\n"
        );
    }
    text
}

/// Changes the scenario `text` of [`hosts`] with `count` hosts: the hosts are distributed over `controllers` crossbars in a row.
pub fn in_a_row(text: &str, count: usize, controllers: usize) -> String {
    let (links, rest) = text.split_once("[controllers.c]").expect("there is one");
    let (crossbar, hosts) = rest.split_once("[hosts").expect("there are some");
    let mut row = format!("{links}[[cables]]\nfrom = \"c0\"\nto = \"c1\"\n");
    if controllers > 2 {
        row += "[[cables]]\nfrom = \"c2\"\nto = \"c1\"\nlanes = 1\nbit_error_rate = 1e-5\n";
    }
    for number in 0..controllers {
        let _ = write!(row, "[controllers.c{number}]{crossbar}");
    }
    let mut hosts = format!("[hosts{hosts}");
    for number in 0..count {
        let nic = format!("[devices.n{number}]\n");
        let placed = format!("{nic}controller = \"c{}\"\n", number % controllers);
        hosts = hosts.replace(&nic, &placed);
    }
    row + &hosts
}

/// The values that programs have collected.
pub type Seen<T> = Arc<Mutex<Vec<T>>>;

pub fn item(address: u64, len: usize) -> Item {
    Item {
        address,
        len: len as u32,
    }
}

/// A descriptor for a message to the queue pair at `to`. The sender and the receiver get an event.
pub fn descriptor(to: &QueuePairPlace, label: u32, body: Body) -> Descriptor {
    Descriptor {
        body,
        tell_sender: true,
        tell_receiver: true,
        key: to.key,
        destination: to.id,
        label,
        probe: Probe::default(),
    }
}

/// Posts each descriptor through the queue pair at `place`, and collects the events of the sent messages.
pub fn send(
    simulation: &mut Simulation,
    host: &str,
    place: QueuePairPlace,
    descriptors: Vec<Descriptor>,
) -> Seen<Event> {
    let seen = Seen::default();
    let sent = seen.clone();
    let costs = costs(simulation, host);
    let program = |system| async move {
        let mut pair = QueuePair::new(system, costs, place);
        for descriptor in descriptors {
            while pair.post(&descriptor).await.is_err() {
                let event = pair.sent().await;
                sent.lock().expect("nobody panics with it").push(event);
            }
            if matches!(descriptor.body, Body::Get { .. }) {
                pair.finish();
            }
        }
        loop {
            let event = pair.sent().await;
            sent.lock().expect("nobody panics with it").push(event);
        }
    };
    simulation
        .spawn(host, program)
        .expect("a host runs programs");
    seen
}

/// Collects the events of messages that arrive at the queue pair at `place`, with the bytes of each NAP.
pub fn receive(
    simulation: &mut Simulation,
    host: &str,
    place: QueuePairPlace,
) -> Seen<(Event, Vec<u8>)> {
    let seen = Seen::default();
    let arrived = seen.clone();
    let costs = costs(simulation, host);
    let program = |system: host::System| async move {
        let mut pair = QueuePair::new(system.clone(), costs, place);
        loop {
            let event = pair.arrived().await;
            let is_nap = event.kind == device::nic::event::EventKind::Nap;
            let bytes = if is_nap {
                system.load(event.word, event.len as usize).await
            } else {
                Vec::new()
            };
            arrived
                .lock()
                .expect("nobody panics with it")
                .push((event, bytes));
            if is_nap {
                pair.give_back(event.word).await;
            }
        }
    };
    simulation
        .spawn(host, program)
        .expect("a host runs programs");
    seen
}

fn costs(simulation: &Simulation, host: &str) -> DriverParameters {
    simulation.costs(host).expect("a host has software")
}

pub fn all<T: Clone>(seen: &Seen<T>) -> Vec<T> {
    seen.lock().expect("nobody panics with it").clone()
}

/// Continues the simulation for `us` microseconds.
pub fn pass(simulation: &mut Simulation, us: u64) {
    let until = simulation.now() + Span::from_us(us);
    simulation.run_until(until, &mut || true);
}

/// A simulation of two hosts, each with an open queue pair with the key 7, and the places of the two queue pairs.
pub fn two(crossbar: &str, nic: &str) -> (Simulation, QueuePairPlace, QueuePairPlace) {
    let mut simulation = simulation(&hosts(2, crossbar, nic));
    let from = simulation
        .open_pair("n0", (0, 0), 7, ENTRIES)
        .expect("it is there");
    let to = simulation
        .open_pair("n1", (0, 0), 7, ENTRIES)
        .expect("it is there");
    pass(&mut simulation, 5);
    assert!(simulation.now() > Time::ZERO);
    (simulation, from, to)
}

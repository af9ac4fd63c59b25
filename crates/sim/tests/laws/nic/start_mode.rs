//! Messages that start by a descriptor in memory and a doorbell, or by a descriptor that software stores in the controller.

use device::nic::registers::{DESCRIPTOR_WINDOW, offset, register};
use packet::Fault;

use super::*;
use crate::fixture::latency;

const PUSHED: &str = "start_mode = \"descriptor\"";

/// Nanoseconds of a message of `size` bytes, from the store that starts it.
fn message(primitive: &str, size: u32, nic: &str) -> f64 {
    let flow = format!(
        "[[flows]]\nid = \"f\"\nfrom = \"n0\"\nto = \"n1\"\nprimitive = \"{primitive}\"\nsize = \"{size} B\"\nrequest_size = \"{size} B\"\nstart = \"5 us\"\n"
    );
    latency(&(hosts(2, "", nic) + &flow))
}

#[test]
fn a_descriptor_in_the_controller_is_not_read_from_memory() {
    for primitive in ["nap-immediate", "put", "get"] {
        let (read, pushed) = (message(primitive, 64, ""), message(primitive, 64, PUSHED));
        assert!(pushed < read - 200.0, "{primitive} {read} {pushed}");
    }
}

#[test]
fn a_descriptor_that_is_larger_than_the_window_comes_from_memory() {
    let largest = (DESCRIPTOR_WINDOW - 32) as u32;
    let difference =
        |size| message("nap-immediate", size, "") - message("nap-immediate", size, PUSHED);
    assert!(difference(largest) > 200.0);
    assert!(difference(largest + 1).abs() < 0.001);
}

#[test]
fn a_program_that_stores_descriptors_needs_a_store_for_each_8_bytes() {
    let rate = |nic: &str| {
        let flow = "[[flows]]\nid = \"f\"\nfrom = \"n0\"\nto = \"n1\"\nrequest_size = \"1 B\"\nsize = \"400 B\"\noutstanding = 16\n";
        let result = crate::fixture::run(&(hosts(2, "", nic) + flow));
        let flow = &result.flows[0];
        assert!(flow.completed && flow.intact);
        flow.bytes_per_second.expect("it moved") / 1e9
    };
    // A PUT has a descriptor of 64 bytes, and each store takes 100 ns.
    let between = 1.0 / rate(PUSHED);
    assert!((900.0..950.0).contains(&between), "{between}");
    assert!(1.0 / rate("") < 200.0);
}

#[test]
fn a_length_that_no_window_has_is_a_fault() {
    for (nic, length, faults) in [
        (PUSHED, 0, 1),
        (PUSHED, DESCRIPTOR_WINDOW + 16, 1),
        ("", 64, 1),
    ] {
        let (mut simulation, from, _) = two("", nic);
        let push = from.page + register(from.id.pair(), offset::PUSH);
        let program = move |system: host::System| async move {
            system.store(push, &length.to_le_bytes()).await;
        };
        simulation
            .spawn("h0", program)
            .expect("a host runs programs");
        pass(&mut simulation, 20);
        let counted = simulation.faults("n0", 0).expect("it is a nic");
        let doorbell = Fault::ALL
            .iter()
            .position(|fault| *fault == Fault::Doorbell);
        assert_eq!(
            counted[doorbell.expect("it is one of all")],
            faults,
            "{nic} {length}"
        );
    }
}

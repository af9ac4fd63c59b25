//! An endpoint whose functions belong to several hosts: each function can access only its owner, and only the owner can access the function.

use proptest::prelude::*;

use super::window::play;
use super::*;
use crate::cases::cases;
use crate::fixture::{Ask, run};

/// A scenario with `count` hosts, and an endpoint `eth` with a function for each of `owners`.
fn shared(count: usize, owners: &[usize], port: &str) -> String {
    let names: Vec<String> = owners.iter().map(|owner| format!("\"h{owner}\"")).collect();
    let mut text = hosts(count, "", "");
    let _ = write!(
        text,
        "[io_ports.p]\nowners = [{}]\n{port}\n[devices.eth]\nmodel = \"dma\"\nupstream = \"p\"\nvirtual_functions = {}\n",
        names.join(", "),
        owners.len() - 1
    );
    // The controller needs one more port than there are hosts.
    text.replace(
        &format!("ports = {count}"),
        &format!("ports = {}", count + 1),
    )
}

/// A flow between a function of `eth` and a host.
fn flow(id: &str, function: usize, host: usize, direction: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"eth\"\nfunction = {function}\nto = \"h{host}\"\ndirection = \"{direction}\"\nsize = \"32 KiB\"\n"
    )
}

#[test]
fn every_function_reaches_its_own_host() {
    let text = shared(2, &[0, 1, 1], "")
        + &flow("a", 0, 0, "both")
        + &flow("b", 1, 1, "both")
        + &flow("c", 2, 1, "write");
    run(&text).all_intact();
}

#[test]
fn functions_beyond_the_seventh_reach_their_own_hosts() {
    let owners: Vec<usize> = (0..20).map(|function| function % 2).collect();
    let text = shared(2, &owners, "") + &flow("a", 18, 0, "both") + &flow("b", 19, 1, "both");
    run(&text).all_intact();
    let mut simulation = simulation(&text);
    assert_eq!(touch(&mut simulation, "h1", 19), [7; 8]);
    assert!(touch(&mut simulation, "h0", 19).is_empty());
}

#[test]
fn functions_share_the_link_evenly() {
    let text = shared(2, &[0, 1], "") + &flow("a", 0, 0, "write") + &flow("b", 1, 1, "write");
    let result = run(&text).all_intact();
    let rate = |id| result.flow(id).bytes_per_second.expect("it moved");
    crate::fixture::close(rate("a"), rate("b"), 2.0);
}

#[test]
fn loads_that_wait_for_credit_do_not_hold_back_answers() {
    let text = shared(2, &[0, 1], "").replace(
        "upstream = \"p\"",
        "upstream = { to = \"p\", delay = \"500 ns\" }\nnonposted_headers = 1",
    );
    let reads = flow("reads", 0, 0, "read").replace("32 KiB", "256 KiB");
    let loads = "[[flows]]\nfrom = \"h1\"\nto = \"eth\"\nfunction = 1\ndirection = \"read\"\nrequest_size = \"64 B\"\nsize = \"4 KiB\"\n";
    let rate = |text: &str| {
        let result = run(text).all_intact();
        result.flow("reads").bytes_per_second.expect("it moved")
    };
    let alone = text + &reads;
    crate::fixture::close(rate(&(alone.clone() + loads)), rate(&alone), 5.0);
}

/// Stores to the registers of `function` by a program on `host`, and returns the bytes that the program then loads from the registers.
fn touch(simulation: &mut Simulation, host: &str, function: u8) -> Vec<u8> {
    let plan = simulation.plan();
    let eth = plan.nodes.iter().find(|node| node.name == "eth");
    let registers = eth
        .and_then(|eth| eth.registers(function))
        .expect("it is there");
    let there = simulation
        .window(host, "p")
        .expect("they share a controller")
        + registers.base;
    play(simulation, host, move |system| async move {
        system.store(there + 16, &[7; 8]).await;
        system.read(there + 16, 8).await
    })
}

#[test]
fn a_host_reaches_the_registers_of_its_own_functions_alone() {
    let mut simulation = simulation(&shared(2, &[0, 1, 1], ""));
    assert_eq!(touch(&mut simulation, "h0", 0), [7; 8]);
    assert_eq!(touch(&mut simulation, "h1", 2), [7; 8]);
    for (host, function) in [("h0", 1), ("h1", 0)] {
        assert!(touch(&mut simulation, host, function).is_empty());
    }
    assert_eq!(simulation.result().errors("p", "unsupported request"), 4);
    // The refused stores have changed nothing: the owner reads the reset values.
    let registers = simulation
        .plan()
        .nodes
        .iter()
        .find(|node| node.name == "eth");
    let registers = registers
        .and_then(|eth| eth.registers(1))
        .expect("it is there");
    let there = simulation
        .window("h1", "p")
        .expect("they share a controller")
        + registers.base;
    let seen = play(&mut simulation, "h1", move |system| async move {
        system.read(there + 16, 8).await
    });
    assert_eq!(seen, [0; 8]);
}

#[test]
fn a_function_of_nobody_reaches_nobody() {
    // A function without an owner writes to an address that exists in both hosts.
    let text = shared(2, &[0, 1], "").replace("virtual_functions = 1", "virtual_functions = 2")
        + "[[flows]]\nid = \"f\"\nfrom = \"eth\"\nfunction = 2\nto = \"0x100000\"\nsize = \"4 KiB\"\n";
    let mut simulation = simulation(&text);
    let canary = vec![0xc5; 4096];
    for host in ["h0", "h1"] {
        simulation
            .fill(host, 0x10_0000, &canary)
            .expect("it is memory");
    }
    simulation.run(&mut |_| true);
    let result = simulation.result();
    assert!(result.errors("p", "unsupported request") > 0);
    assert_eq!(result.flow("f").bytes, 0);
    for host in ["h0", "h1"] {
        assert_eq!(
            simulation
                .memory(host, 0x10_0000, 4096)
                .expect("it is memory"),
            canary
        );
    }
}

#[test]
fn an_interrupt_goes_to_the_owner() {
    // A function writes to the address at which its owner receives interrupts.
    let text = shared(2, &[0, 1], "")
        + "[[flows]]\nid = \"f\"\nfrom = \"eth\"\nfunction = 1\nto = \"0xfee00000\"\nsize = \"4 B\"\n";
    let mut simulation = simulation(&text);
    simulation.run(&mut |_| true);
    pass(&mut simulation, 5);
    let taken = |simulation: &mut Simulation, host| {
        simulation
            .take_interrupts(host)
            .expect("it is a host")
            .len()
    };
    assert_eq!(taken(&mut simulation, "h1"), 1);
    assert_eq!(taken(&mut simulation, "h0"), 0);
}

proptest! {
    #![proptest_config(cases(10))]

    #[test]
    fn any_flows_of_any_functions_arrive(
        count in 2_usize..4,
        owners in prop::collection::vec(0_usize..4, 2..9),
        picks in prop::collection::vec((0_usize..8, 0_u8..4, 1_u32..1600, 0_u32..70), 1..10),
        loads in 1_u32..4,
        (payload, from_there, from_here) in (0_u32..3, 0_u32..6, 0_u32..6),
        controllers in 1_usize..4,
    ) {
        let owners: Vec<usize> = owners.iter().map(|owner| owner % count).collect();
        let mut text = shared(count, &owners, &format!("loads = {loads}\ntags = {loads}"));
        let own = format!("upstream = \"p\"\nvirtual_bar = \"64 KiB\"\nmax_payload_supported = \"{} B\"\nmax_read_request = \"{} B\"\n", 128 << payload, 128 << from_there);
        text = text.replace("upstream = \"p\"\n", &own);
        let asks = format!("[devices.n0]\nmax_read_request = \"{} B\"\n", 128 << from_here);
        text = text.replace("[devices.n0]\n", &asks);
        for (number, (function, kind, request, offset)) in picks.iter().enumerate() {
            let function = function % owners.len();
            let host = format!("h{}", owners[function]);
            let (from, to) = if *kind == 3 { (host.as_str(), "eth") } else { ("eth", host.as_str()) };
            let direction = ["write", "read", "both", "both"][usize::from(*kind)];
            let place = if *kind == 3 {
                format!("offset = \"{} B\"\nwindow = \"1600 B\"\n", number * 4096)
            } else {
                let base = (16 << 20) + number * (64 << 10);
                format!("offset = \"{} B\"\nwindow = \"8 KiB\"\n", base + *offset as usize)
            };
            let _ = write!(
                text,
                "[[flows]]\nid = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nfunction = {function}\ndirection = \"{direction}\"\n{place}request_size = \"{request} B\"\ncount = 30\n"
            );
        }
        if controllers > 1 {
            text = in_a_row(&text, count, controllers);
            text = text.replace("[io_ports.p]\n", &format!("[io_ports.p]\ncontroller = \"c{}\"\n", controllers - 1));
        }
        run(&text).all_intact();
    }
}

//! Loads and stores between hosts in one address space: every byte arrives at its place, stores arrive before later loads, and no program waits
//! forever.

use proptest::prelude::*;

use super::*;
use crate::cases::cases;
use crate::fixture::{Ask, close, run};

/// Runs a program on `host` to its end, and returns the result of the program.
pub fn play<T, F>(
    simulation: &mut Simulation,
    host: &str,
    program: impl FnOnce(host::System) -> F,
) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let result = Seen::<T>::default();
    let told = result.clone();
    let spawned = simulation.spawn(host, |system| {
        let played = program(system);
        async move {
            let value = played.await;
            told.lock().expect("nobody panics with it").push(value);
        }
    });
    spawned.expect("a host runs programs");
    pass(simulation, 200);
    let value = result.lock().expect("nobody panics with it").pop();
    value.expect("the program ends")
}

#[test]
fn a_load_sees_the_store_before_it() {
    let mut simulation = simulation(&hosts(2, "", ""));
    let memory = simulation.allocate("h1", 4096).expect("there is room");
    let there = simulation
        .window("h0", "h1")
        .expect("they share a controller")
        + memory;
    let seen = play(&mut simulation, "h0", |system| async move {
        system.store(there + 5, b"a store of nineteen").await;
        system.read(there, 32).await
    });
    assert_eq!(&seen[5..24], b"a store of nineteen");
    assert_eq!(
        simulation.memory("h1", memory, 32).expect("it is memory"),
        seen
    );
}

#[test]
fn stores_go_over_cables() {
    let apart = in_a_row(&hosts(3, "", ""), 3, 3);
    let mut simulation = simulation(&apart);
    let memory = simulation.allocate("h2", 8192).expect("there is room");
    let there = simulation
        .window("h0", "h2")
        .expect("cables join their controllers")
        + memory;
    let seen = play(&mut simulation, "h0", |system| async move {
        let mut seen = Vec::new();
        for number in 1..=20_u8 {
            system.store(there + 3500, &[number; 500]).await;
            seen.push(system.read(there + 3999, 2).await);
        }
        seen
    });
    let last: Vec<Vec<u8>> = (1..=20).map(|number| vec![number, 0]).collect();
    assert_eq!(seen, last);
}

#[test]
fn a_load_passes_no_store_however_busy_the_way_is() {
    // The link to the memory has one lane, and two other flows write to the memory all the time.
    let narrow = "upstream = { to = \"h1\", lanes = 1 }\n";
    let text = hosts(3, "io_buffer = \"4 KiB\"", "").replace("upstream = \"h1\"\n", narrow)
        + "[[flows]]\nid = \"a\"\nfrom = \"h2\"\nto = \"h1\"\ndirection = \"both\"\nduration = \"60 us\"\n"
        + "[[flows]]\nid = \"b\"\nfrom = \"h0\"\nto = \"h1\"\ndirection = \"write\"\nduration = \"60 us\"\n";
    let mut simulation = simulation(&text);
    let memory = simulation.allocate("h1", 4096).expect("there is room");
    let there = simulation
        .window("h0", "h1")
        .expect("they share a controller")
        + memory;
    let seen = play(&mut simulation, "h0", move |system| async move {
        let mut seen = Vec::new();
        for number in 1..=20_u8 {
            system.store(there, &[number]).await;
            seen.extend(system.read(there, 1).await);
        }
        seen
    });
    assert_eq!(seen, (1..=20).collect::<Vec<u8>>());
}

#[test]
fn the_io_of_another_host_is_as_near_as_its_memory() {
    let text =
        hosts(2, "", "") + "[devices.card]\nmodel = \"dma\"\nupstream = \"h1\"\nbar = \"4 KiB\"\n";
    let mut simulation = simulation(&text);
    let card = simulation
        .plan()
        .nodes
        .iter()
        .find(|node| node.name == "card");
    let bar = card
        .and_then(|card| card.bars[0])
        .expect("it has a BAR")
        .base;
    let there = simulation
        .window("h0", "h1")
        .expect("they share a controller")
        + bar;
    let seen = play(&mut simulation, "h0", |system| async move {
        system.store(there + 8, &[1, 2, 3, 4]).await;
        system.read(there + 8, 4).await
    });
    assert_eq!(seen, [1, 2, 3, 4]);
    assert_eq!(
        simulation.memory("card", bar + 8, 4).expect("it is memory"),
        seen
    );
}

#[test]
fn nobody_answers_where_nobody_is() {
    let mut simulation = simulation(&hosts(3, "", ""));
    let own = simulation
        .window("h0", "h0")
        .expect("a host reaches itself");
    let space = simulation
        .window("h0", "h1")
        .expect("they share a controller")
        - own;
    // The first address belongs to a fourth host, which does not exist. The second address does not exist in the third host.
    for nowhere in [own + 3 * space, own + 2 * space + (8 << 30)] {
        let seen = play(&mut simulation, "h0", move |system| async move {
            system.store(nowhere, &[1; 8]).await;
            system.read(nowhere, 8).await
        });
        assert!(seen.is_empty());
    }
    let faults = simulation.faults("n0", 0).expect("it is a controller");
    assert_eq!(faults[packet::Fault::NoDestination.index()], 2);
    let errors = simulation.result();
    assert_eq!(errors.errors("n0", "unsupported request"), 2);
    assert_eq!(errors.errors("h2", "unsupported request"), 2);
}

#[test]
fn stores_go_at_the_pace_of_the_crossbar() {
    let flow = |direction| {
        format!(
            "[[flows]]\nid = \"f\"\nfrom = \"h0\"\nto = \"h1\"\ndirection = \"{direction}\"\nsize = \"256 KiB\"\n"
        )
    };
    // Packets have 128 bytes of payload and 16 bytes of header, and the datapath carries 16 bytes in each cycle of 4 ns.
    let text = hosts(2, "", "max_payload_supported = \"128 B\"") + &flow("write");
    let text = text.replace("generation = 2", "generation = 3");
    let stores = run(&text).all_intact();
    close(
        stores.flow("f").bytes_per_second.expect("it moved"),
        128.0 / 36e-9,
        2.0,
    );
    // `loads` loads are in flight at the same time, and each takes as long as a single load.
    let rate = |loads: u32| {
        let result = run(&(hosts(2, "", &format!("loads = {loads}")) + &flow("read"))).all_intact();
        result.flow("f").bytes_per_second.expect("it moved")
    };
    close(rate(4) / rate(1), 4.0, 5.0);
}

/// Flows between pairs of hosts: loads and stores, and messages.
fn flows(count: usize, picks: &[(usize, usize, u8, u32, u32)]) -> String {
    let mut text = String::new();
    for (number, (from, to, kind, request, offset)) in picks.iter().enumerate() {
        let (from, to) = (from % count, to % count);
        if from == to {
            continue;
        }
        let ends = match kind {
            0..3 => format!("from = \"h{from}\"\nto = \"h{to}\"\n"),
            _ => format!("from = \"n{from}\"\nto = \"n{to}\"\n"),
        };
        let way = match kind {
            0 => "direction = \"write\"\n",
            1 => "direction = \"read\"\n",
            2 => "direction = \"both\"\n",
            _ => "primitive = \"put\"\n",
        };
        let offset = if *kind < 3 {
            let base = (16 << 20) + number * (64 << 10);
            format!(
                "offset = \"{} B\"\nwindow = \"8 KiB\"\n",
                base + *offset as usize
            )
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "[[flows]]\nid = \"f{number}\"\n{ends}{way}{offset}request_size = \"{request} B\"\ncount = 40\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(cases(14))]

    #[test]
    fn any_loads_and_stores_arrive_beside_messages(
        count in 2_usize..5,
        picks in prop::collection::vec((0_usize..4, 0_usize..4, 0_u8..4, 1_u32..1600, 0_u32..70), 1..12),
        loads in 1_u32..5,
        tags in 1_u32..5,
        buffer in 0_u32..3,
        (payload, from_here, to_here) in (0_u32..3, 0_u32..6, 0_u32..6),
        controllers in 1_usize..4,
    ) {
        let crossbar = format!("io_buffer = \"{} B\"\n", 640 << buffer);
        // The fabric of the first host may have smaller packets than the fabrics of the other hosts.
        let nic = format!("loads = {loads}\ntags = {tags}\nreceive_buffer = \"{} B\"\n", 640 << buffer);
        let text = hosts(count, &crossbar, &nic) + &flows(count, &picks);
        let own = format!("[devices.n0]\nmax_payload_supported = \"{} B\"\nmax_read_request = \"{} B\"\n", 128 << payload, 128 << to_here);
        let asks = format!("[hosts.h1]\nmax_read_request = \"{} B\"\n", 128 << from_here);
        let mut text = text.replace("[devices.n0]\n", &own).replace("[hosts.h1]\n", &asks);
        if controllers > 1 {
            text = in_a_row(&text, count, controllers);
        }
        run(&text).all_intact();
    }
}

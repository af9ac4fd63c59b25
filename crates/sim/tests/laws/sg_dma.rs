//! Scatter/gather engines and their driver: the traffic of a system call, and the registers that a program reads.

use device::sg_dma::registers::{Descriptor, Status, Unit, offset};
use kernel::{Span, Time};
use protocol::Bar;
use sim::{Simulation, workload::flow::TransferPlan};

use crate::fixture::*;

/// A scenario with a host whose software takes fixed times, and two engines below a switch.
fn machine(engine: &str, flows: &str) -> String {
    format!(
        r#"{HOST}
max_payload_supported = "128 B"
system_call = "1 us"
page_pin = "0 ns"
register_write = "100 ns"
memory_write = "0 ns"
interrupt_latency = "5 us"
thread_wake = "3 us"
[links]
generation = 2
lanes = 4
[switches.s]
upstream = "h0"
[devices.e]
model = "sg-dma"
upstream = "s"
bar = "1 MiB"
max_read_request = "4 KiB"
datapath = "8 B"
idle_cycles = 1
{engine}
[devices.p]
model = "sg-dma"
upstream = "s"
bar = "1 MiB"
{flows}"#
    )
}

fn flow(id: &str, from: &str, to: &str, more: &str) -> String {
    format!("[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
}

fn bar(simulation: &Simulation, name: &str, number: usize) -> u64 {
    let node = simulation
        .plan()
        .nodes
        .iter()
        .find(|node| node.name == name);
    let bars: [_; Bar::COUNT] = node.expect("the node is there").bars;
    bars[number].expect("the BAR is there").base
}

/// Reads a register of a unit of `e` over the fabric.
fn register(simulation: &mut Simulation, unit: Unit, register: u64) -> u32 {
    let at = bar(simulation, "e", 2) + unit.base() + register;
    let bytes = simulation
        .read_back("h0", at, 4, &mut || true)
        .expect("registers can be read");
    u32::from_le_bytes(bytes.try_into().expect("four bytes were read"))
}

fn set(simulation: &mut Simulation, unit: Unit, register: u64, bytes: &[u8]) {
    let at = bar(simulation, "e", 2) + unit.base() + register;
    simulation
        .write("h0", at, bytes.to_vec())
        .expect("registers can be written");
}

fn pass(simulation: &mut Simulation, us: u64) {
    let until = Time::from_fs(simulation.now().as_fs() + Span::from_us(us).as_fs());
    simulation.run_until(until, &mut || true);
}

/// Writes `list` to `unit` of `e`, starts the unit in the same way as a driver, and waits.
fn work_through(simulation: &mut Simulation, unit: Unit, list: &[Descriptor]) {
    let at = bar(simulation, "e", 2) + unit.list();
    let bytes = list.iter().flat_map(|one| one.emit()).collect();
    simulation
        .write("h0", at, bytes)
        .expect("a list is written");
    let count = list.len() as u64;
    set(simulation, unit, offset::LENGTH, &count.to_le_bytes());
    set(simulation, unit, offset::START, &[0; 4]);
    pass(simulation, 100);
}

#[test]
fn every_transfer_is_intact_whichever_way_the_list_comes() {
    for fetch in [false, true] {
        let engine = format!("descriptor_fetch = {fetch}");
        let flows = [
            flow(
                "write",
                "e",
                "h0",
                "size = \"100000 B\"\noffset = \"1000 B\"",
            ),
            flow(
                "read",
                "e",
                "h0",
                "size = \"100001 B\"\noffset = \"1000001 B\"\ndirection = \"read\"",
            ),
            flow("peer", "e", "p", "size = \"100000 B\"\noffset = \"1000 B\""),
            flow(
                "peer-read",
                "e",
                "p",
                "size = \"5 KiB\"\noffset = \"500000 B\"\ndirection = \"read\"",
            ),
        ];
        run(&machine(&engine, &flows.concat())).all_intact();
    }
}

#[test]
fn a_call_is_the_costs_of_its_software_and_the_time_of_the_fabric() {
    let costs = run(&machine("", &flow("f", "e", "h0", "size = \"8 KiB\""))).all_intact();
    let flow = costs.flow("f");
    let (called, returned) = (flow.called_ns.unwrap(), flow.returned_ns.unwrap());
    let (first, last) = (flow.sent_first_ns.unwrap(), flow.sent_last_ns.unwrap());
    // The time before the first packet is the time of the system call, of two descriptors of two stores each, and of the stores to LENGTH, PAYLOAD
    // and START.
    let before = 1000.0 + 7.0 * 100.0;
    assert!(first - called > before && first - called < before + 600.0);
    // The interrupt takes its path to the host, and is then handled.
    assert!(returned - last > 5000.0 && returned - last < 5600.0);
}

#[test]
fn calls_on_one_unit_follow_each_other_and_those_on_others_overlap() {
    let size = "size = \"64 KiB\"";
    let read = "size = \"64 KiB\"\ndirection = \"read\"";
    let flows = [
        flow("first", "e", "h0", size),
        flow("second", "e", "h0", size),
        flow("read", "e", "h0", read),
    ];
    let result = run(&machine("", &flows.concat())).all_intact();
    let sent = |id: &str| {
        let flow = result.flow(id);
        (flow.sent_first_ns.unwrap(), flow.sent_last_ns.unwrap())
    };
    assert!(sent("second").0 > sent("first").1);
    assert!(sent("read").0 < sent("first").1);
}

#[test]
fn threads_leave_the_barrier_one_after_the_other() {
    let flows = [
        flow("a", "e", "h0", "size = \"4 KiB\""),
        flow("b", "p", "h0", "size = \"4 KiB\""),
    ];
    let result = run(&machine("", &flows.concat())).all_intact();
    let called = |id: &str| result.flow(id).called_ns.unwrap();
    close(called("b") - called("a"), 3000.0, 0.001);
}

#[test]
fn a_flow_after_another_is_called_when_that_one_has_returned() {
    let flows = [
        flow("a", "e", "h0", "size = \"4 KiB\""),
        flow("b", "p", "h0", "size = \"4 KiB\"\nafter = \"a\""),
    ];
    let result = run(&machine("", &flows.concat())).all_intact();
    assert!(result.flow("b").called_ns.unwrap() >= result.flow("a").returned_ns.unwrap());
}

#[test]
fn each_descriptor_in_the_engine_costs_a_look_up_and_fetched_ones_do_not() {
    let rate_of = |engine: &str| {
        let text = machine(
            engine,
            &flow("f", "e", "h0", "size = \"1 MiB\"\nclock = \"sender\""),
        );
        rate(run(&text).all_intact().flow("f"))
    };
    let page = |rate: f64| 4096e9 / rate;
    let stream = page(rate_of("descriptor_cycles = 0"));
    let looked_up = page(rate_of("descriptor_cycles = 100"));
    close(looked_up - stream, 400.0, 2.0);
    let fetched = page(rate_of("descriptor_cycles = 100\ndescriptor_fetch = true"));
    close(fetched, stream, 0.5);
}

#[test]
fn no_more_is_asked_for_than_the_fifo_has_room_for() {
    let rate_of = |fifo: &str| {
        let read = "size = \"1 MiB\"\ndirection = \"read\"";
        let engine = format!("fifo = \"{fifo}\"");
        rate(
            run(&machine(&engine, &flow("f", "e", "h0", read)))
                .all_intact()
                .flow("f"),
        )
    };
    let (one, many) = (rate_of("4 KiB"), rate_of("64 KiB"));
    // With one request of 4 KiB, the wire is busy with its completions and then idle for a round trip.
    assert!(one < 0.85 * many, "{one} {many}");
    close(many, 2e9 * 128.0 / 152.0, 4.0);
}

/// The user circuit of `e` moves 8 bytes in each cycle of 100 MHz, half of what the link carries.
#[test]
fn a_slow_user_clock_limits_every_way_through_the_fifos() {
    let slow = "fifo = \"16 KiB\"\nuser_clock = \"100 MHz\"\n";
    let size = "size = \"1 MiB\"";
    let ways = [
        ("", "e", "h0", "clock = \"sender\""),
        ("", "e", "p", "clock = \"sender\""),
        ("", "e", "h0", "direction = \"read\""),
        ("", "p", "e", ""),
        ("user = \"loopback\"\n", "e", "h0", "direction = \"read\""),
    ];
    for (user, from, to, more) in ways {
        let mut flows = flow("f", from, to, &format!("{size}\n{more}"));
        if !user.is_empty() {
            flows += &flow("out", "e", "h0", &format!("{size}\ncarries = \"f\""));
        }
        let rate_with = |engine: &str| rate(run(&machine(engine, &flows)).all_intact().flow("f"));
        let (slow, fast) = (rate_with(&format!("{slow}{user}")), rate_with(user));
        close(slow, 0.8e9, 3.0);
        assert!(fast > 1.0e9, "{user} {from} {to} {more} {fast}");
    }
}

#[test]
fn what_comes_by_the_fifos_is_what_goes() {
    let flows = [
        flow(
            "in",
            "e",
            "h0",
            "size = \"256 KiB\"\ndirection = \"read\"\noffset = \"0 B\"",
        ),
        flow(
            "out",
            "e",
            "h0",
            "size = \"256 KiB\"\noffset = \"1 MiB\"\ncarries = \"in\"",
        ),
    ];
    for fetch in [false, true] {
        let engine = format!("user = \"loopback\"\ndescriptor_fetch = {fetch}");
        let mut simulation = simulation(&machine(&engine, &flows.concat()));
        simulation.run(&mut |_| true);
        simulation.result().all_intact();
        let memory = |at| simulation.memory("h0", at, 256 << 10).expect("memory");
        assert_eq!(memory(0), memory(1 << 20));
    }
}

#[test]
fn data_that_comes_long_before_the_list_is_dropped_and_the_list_arrives() {
    // `e` must forward the data of `p` to memory, but receives its list of descriptors too late.
    let flows = |start: &str| {
        let size = "size = \"64 KiB\"";
        [
            flow("peer", "p", "e", &format!("{size}\nstart = \"{start}\"")),
            flow(
                "out",
                "e",
                "h0",
                &format!("{size}\nstart = \"50 us\"\ncarries = \"peer\""),
            ),
        ]
        .concat()
    };
    let crossed = "user = \"matrix\"\ncrossed = true";
    let late = run(&machine(crossed, &flows("0 ns")));
    assert!(late.errors("e", "completer abort") > 0);
    assert!(!late.flow("out").completed);
    assert!(late.flow("out").sent_first_ns.is_some());
    run(&machine(crossed, &flows("100 us"))).all_intact();
}

#[test]
fn registers_answer_behind_writes_that_no_user_circuit_takes() {
    for (user, error) in [
        ("loopback", "unsupported request"),
        ("matrix", "completer abort"),
    ] {
        let mut simulation = simulation(&machine(&format!("user = \"{user}\""), ""));
        let data = bar(&simulation, "e", 0);
        for _ in 0..80 {
            simulation
                .write("h0", data, vec![7; 128])
                .expect("the BAR can be written");
        }
        assert_eq!(register(&mut simulation, Unit::Peer, offset::STATUS), 0);
        assert!(simulation.result().errors("e", error) >= 80 - 64, "{user}");
    }
}

#[test]
fn a_peer_write_of_4_gib_or_more_ends_with_an_error() {
    let mut simulation = simulation(&machine("", ""));
    let target = bar(&simulation, "p", 0);
    set(
        &mut simulation,
        Unit::Peer,
        offset::ADDRESS,
        &target.to_le_bytes(),
    );
    set(
        &mut simulation,
        Unit::Peer,
        offset::LENGTH,
        &0x1_0000_0010_u64.to_le_bytes(),
    );
    set(&mut simulation, Unit::Peer, offset::START, &[0; 4]);
    pass(&mut simulation, 20);
    let status = register(&mut simulation, Unit::Peer, offset::STATUS);
    assert_eq!(status, Status::Failed as u32);
}

#[test]
fn a_program_finds_the_end_of_a_transfer_in_the_registers() {
    let mut simulation = simulation(&machine("", ""));
    let list =
        [(0x10_0ffc, 8), (0x20_0000, 4096)].map(|(address, len)| Descriptor { address, len });
    assert_eq!(register(&mut simulation, Unit::Write, offset::STATUS), 0);
    work_through(&mut simulation, Unit::Write, &list);
    let status = register(&mut simulation, Unit::Write, offset::STATUS);
    assert_eq!(status, Status::Done as u32);
    // The transfer has 34 packets. A packet of 128 bytes takes 18 cycles of the 64-bit datapath, and one more cycle is idle.
    let cycles = register(&mut simulation, Unit::Write, offset::TIMER);
    assert!((32 * 19..38 * 19).contains(&cycles), "{cycles}");
    let memory = |at, len| simulation.memory("h0", at, len).expect("memory");
    assert!(memory(0x10_0ffc, 8).iter().any(|byte| *byte != 0));
    assert!(
        memory(0x20_0000, 4096)[4000..]
            .iter()
            .any(|byte| *byte != 0)
    );
}

#[test]
fn a_read_that_nobody_answers_ends_its_transfer_with_an_error() {
    let mut simulation = simulation(&machine("", ""));
    let list =
        [(0x10_0000, 64), (0x8000_0000, 64)].map(|(address, len)| Descriptor { address, len });
    work_through(&mut simulation, Unit::Read, &list);
    let status = register(&mut simulation, Unit::Read, offset::STATUS);
    assert_eq!(status, Status::Failed as u32);
    assert_eq!(simulation.result().errors("h0", "unsupported request"), 1);
}

#[test]
fn a_list_that_cannot_be_fetched_ends_its_transfer_with_an_error() {
    let mut simulation = simulation(&machine("descriptor_fetch = true", ""));
    set(
        &mut simulation,
        Unit::Write,
        offset::ADDRESS,
        &0x8000_0000_u64.to_le_bytes(),
    );
    set(
        &mut simulation,
        Unit::Write,
        offset::LENGTH,
        &4_u64.to_le_bytes(),
    );
    set(&mut simulation, Unit::Write, offset::START, &[0; 4]);
    pass(&mut simulation, 100);
    let status = register(&mut simulation, Unit::Write, offset::STATUS);
    assert_eq!(status, Status::Failed as u32);
}

#[test]
fn register_reads_are_answered_before_data_that_waits() {
    let mut simulation = simulation(&machine("", &flow("f", "e", "h0", "size = \"1 MiB\"")));
    let idle = {
        let begin = simulation.now();
        register(&mut simulation, Unit::Write, offset::STATUS);
        simulation.now().since(begin)
    };
    pass(&mut simulation, 400);
    let begin = simulation.now();
    let status = register(&mut simulation, Unit::Write, offset::STATUS);
    assert_eq!(status, Status::Running as u32);
    let busy = simulation.now().since(begin);
    // The answer waits only for packets that the engine has already queued: eight packets and the packet on the wire.
    let most = idle + Span::from_ns(10 * 80);
    assert!(busy < most, "{busy:?} {idle:?}");
}

#[test]
fn garbage_in_the_registers_stops_at_the_engine() {
    let mut simulation = simulation(&machine("", ""));
    for unit in Unit::ALL {
        for register in [offset::ADDRESS, offset::LENGTH, offset::PAYLOAD] {
            set(&mut simulation, unit, register, &[0xff; 8]);
        }
        set(&mut simulation, unit, offset::START, &[0xff; 4]);
    }
    pass(&mut simulation, 100);
    assert_eq!(
        register(&mut simulation, Unit::Peer, offset::LENGTH),
        u32::MAX
    );
}

#[test]
fn a_round_trip_between_engines_is_that_of_the_packets() {
    let round_trip = |user: &str, model: &str, more: &str| {
        let text = machine(
            "",
            &flow(
                "f",
                "e",
                "p",
                &format!("direction = \"round-trip\"\n{more}"),
            ),
        );
        let text = text.replace(
            "[devices.p]\nmodel = \"sg-dma\"",
            &format!("[devices.p]\n{model}{user}"),
        );
        run(&text)
            .all_intact()
            .flow("f")
            .latency_ns
            .as_ref()
            .unwrap()
            .max
    };
    let engines = round_trip(
        "user = \"reflector\"",
        "model = \"sg-dma\"\n",
        "size = \"8 B\"",
    );
    let text = format!(
        "{HOST}max_payload_supported = \"128 B\"\n[links]\ngeneration = 2\nlanes = 4\n[switches.s]\nupstream = \"h0\"\n[devices.e]\nupstream = \"s\"\n[devices.p]\nmodel = \"reflector\"\nupstream = \"s\"\n[[flows]]\nid = \"f\"\nfrom = \"e\"\nto = \"p\"\ndirection = \"round-trip\"\ncount = 1\nrequest_size = \"8 B\"\n"
    );
    // The latencies may differ by the cycle in which the requests begin, and by an UpdateFC that may precede the answer.
    close(engines, latency(&text), 1.5);
}

#[test]
fn a_plan_says_which_unit_moves_a_flow() {
    let flows = [
        flow("a", "e", "h0", "size = \"4 KiB\""),
        flow("b", "e", "h0", "size = \"4 KiB\"\ndirection = \"read\""),
        flow("c", "e", "p", "size = \"4 KiB\"\nrequest_size = \"64 B\""),
    ];
    let simulation = simulation(&machine("", &flows.concat()));
    let plans = simulation.plan().flows();
    let transfers: Vec<&TransferPlan> = plans.filter_map(|flow| flow.transfer()).collect();
    assert_eq!(
        transfers
            .iter()
            .map(|plan| (plan.unit, plan.payload))
            .collect::<Vec<_>>(),
        [(Unit::Write, 0), (Unit::Read, 0), (Unit::Peer, 64)]
    );
}

#[test]
fn an_interrupt_comes_after_the_data_that_was_written_before_it() {
    let slow = machine(
        "",
        &flow("f", "e", "h0", "size = \"64 KiB\"\nclock = \"application\""),
    )
    .replace(
        "memory_bandwidth = \"25.6 GB/s\"",
        "memory_bandwidth = \"500 MB/s\"",
    )
    .replace(
        "interrupt_latency = \"5 us\"",
        "interrupt_latency = \"0 ns\"",
    );
    let result = run(&slow).all_intact();
    let flow = result.flow("f");
    assert!(rate(flow) < 500e6);
    let memory = run(&slow.replace("clock = \"application\"", "")).all_intact();
    assert!(memory.flow("f").last_byte_ns <= flow.returned_ns);
}

#[test]
fn a_packet_above_the_max_payload_size_is_malformed_to_an_engine_too() {
    let read = flow("f", "e", "h0", "size = \"4 KiB\"\ndirection = \"read\"");
    let text = machine(
        "max_payload = \"128 B\"\nmax_payload_mismatch = true\ncompletion_timeout = \"50 us\"",
        &read,
    )
    .replace(
        "max_payload_supported = \"128 B\"",
        "max_payload_supported = \"256 B\"",
    );
    let result = run(&text);
    assert_eq!(result.errors("e", "malformed TLP"), 16);
    assert!(!result.flow("f").intact);
}

#[test]
fn an_engine_without_bus_mastering_still_gives_up_what_is_not_answered() {
    let read = flow("f", "e", "h0", "size = \"64 KiB\"\ndirection = \"read\"");
    let engine = "max_payload = \"128 B\"\nmax_payload_mismatch = true\ncompletion_timeout = \"50 us\"\nfifo = \"64 KiB\"";
    let text = machine(engine, &read).replace(
        "max_payload_supported = \"128 B\"",
        "max_payload_supported = \"256 B\"",
    );
    let mut simulation = simulation(&text);
    while simulation.result().errors("e", "malformed TLP") == 0 {
        assert!(simulation.step());
    }
    let e = protocol::FunctionId::new(3, 0, 0);
    simulation
        .config_write("h0", e, (4, 2), 2, &mut || true)
        .expect("a write to Command");
    simulation.run(&mut |_| true);
    let result = simulation.result();
    assert_eq!(result.errors("e", "completion timeout"), 16);
}

#[test]
fn a_store_into_the_registers_from_outside_is_over_when_it_is_there() {
    let mut simulation = simulation(&machine("", &flow("f", "p", "h0", "size = \"4 KiB\"")));
    set(&mut simulation, Unit::Write, offset::LENGTH, &[0; 4]);
    simulation.run(&mut |_| true);
    let end = simulation.now();
    assert!(!simulation.step() || simulation.now().since(end) < Span::from_us(200));
    assert!(end < Time::ZERO + Span::from_us(100), "{end:?}");
}

#[test]
fn a_flow_that_somebody_repeats_by_hand_was_over_once() {
    let size = "size = \"4 KiB\"";
    let flows = [
        flow("a", "e", "h0", size),
        flow("b", "e", "h0", size),
        flow("c", "p", "h0", size),
    ];
    let mut simulation = simulation(&machine("", &flows.concat()));
    simulation.run(&mut |_| true);
    for label in [2_u32, 3, 2] {
        set(
            &mut simulation,
            Unit::Write,
            offset::START,
            &label.to_le_bytes(),
        );
        pass(&mut simulation, 50);
    }
    simulation.run(&mut |_| true);
}

//! Endpoints whose functions belong to several hosts: each function reaches its owner, functions of the same owner and nobody else, and is
//! reached by them alone.

use proptest::prelude::*;

use protocol::{FunctionId, register};
use sim::result::FlowResult;
use transaction::FunctionPlace;

use super::window::play;
use super::*;
use crate::cases::cases;
use crate::fixture::{Ask, entry, log, rested, run};

/// A scenario with `count` hosts, and an endpoint `eth` with a function for each of `owners`.
fn shared(count: usize, owners: &[usize], port: &str) -> String {
    // One more port than there are hosts.
    let text = hosts(count, "", "").replace(
        &format!("ports = {count}"),
        &format!("ports = {}", count + 1),
    );
    text + &endpoint(["p", "eth"], owners, port)
}

/// An I/O port, and an endpoint below it with a function for each of `owners`.
fn endpoint([port, name]: [&str; 2], owners: &[usize], keys: &str) -> String {
    let names: Vec<String> = owners.iter().map(|owner| format!("\"h{owner}\"")).collect();
    format!(
        "[io_ports.{port}]\nowners = [{}]\n{keys}\n[devices.{name}]\nmodel = \"dma\"\nupstream = \"{port}\"\nvirtual_functions = {}\n",
        names.join(", "),
        owners.len() - 1
    )
}

/// Two hosts, and the endpoints `eth` and `disk` at two I/O ports.
fn two_endpoints(eth: &[usize], disk: &[usize]) -> String {
    let text = shared(2, eth, "").replace("ports = 3", "ports = 4");
    let text = text + &endpoint(["q", "disk"], disk, "");
    text.replace(
        "model = \"dma\"",
        "model = \"dma\"\nvirtual_bar = \"64 KiB\"",
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

/// A flow of `function` of `eth` to `to`.
fn across(id: &str, function: usize, to: &str, keys: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"eth\"\nfunction = {function}\nto = \"{to}\"\n{keys}\n"
    )
}

#[test]
fn endpoints_move_data_to_functions_of_the_same_owner() {
    let keys = |direction: &str, offset: &str| {
        format!("direction = \"{direction}\"\noffset = \"{offset}\"\nsize = \"8 KiB\"")
    };
    let text = two_endpoints(&[0, 1, 1], &[1, 0])
        + &across("a", 0, "disk", &keys("both", "4 KiB"))
        + &across("b", 1, "disk", &keys("both", "16 KiB"))
        + &across("c", 2, "disk", &keys("read", "32 KiB"))
        + &across("d", 2, "h1", &keys("both", "1 MiB"))
        + "[[flows]]\nid = \"e\"\nfrom = \"disk\"\nto = \"eth\"\ndirection = \"both\"\nsize = \"8 KiB\"\n";
    let simulation = finished(&text);
    simulation.result().all_intact();
    let functions = simulation.plan().flows().map(|flow| flow.functions);
    let expected = [[0, 1], [1, 0], [2, 0], [2, 0], [0, 1]];
    assert_eq!(functions.collect::<Vec<_>>(), expected);
}

/// A simulation that has run to its end.
fn finished(text: &str) -> Simulation {
    let mut simulation = simulation(text);
    simulation.run(&mut |_| true);
    simulation
}

/// The registers of `function` of `device`.
fn registers(simulation: &Simulation, device: &str, function: u8) -> u64 {
    let mut nodes = simulation.plan().nodes.iter();
    let node = nodes.find(|node| node.name == device);
    let region = node.and_then(|node| node.registers(function));
    region.expect("it is there").base
}

#[test]
fn a_function_reaches_no_function_of_another_owner() {
    let text = two_endpoints(&[0, 1], &[0, 1]);
    let before = simulation(&text);
    let window = before
        .window("eth", "disk")
        .expect("they share a controller");
    let there = [0, 1].map(|function| window + registers(&before, "disk", function));
    let flow = |id: &str, function: usize, to: u64| {
        across(
            id,
            function,
            &format!("{to:#x}"),
            "direction = \"both\"\nsize = \"4 KiB\"",
        )
    };
    let simulation =
        finished(&(text + &flow("own", 1, there[1] + 4096) + &flow("other", 1, there[0])));
    let result = simulation.result();
    assert!(result.errors("q", "unsupported request") > 0);
    assert_eq!(result.errors("p", "unsupported request"), 0);
    assert_eq!(
        (result.flow("own").bytes, result.flow("other").bytes),
        (8192, 0)
    );
    let kept = simulation.memory("disk", registers(&simulation, "disk", 0), 4096);
    assert_eq!(kept.expect("it is memory"), [0; 4096]);
}

#[test]
fn a_function_reaches_no_host_through_the_window_below_io_ports() {
    let text = shared(2, &[0, 1], "");
    let before = simulation(&text);
    let own = before.window("eth", "p").expect("a port reaches itself");
    let [first, last] = ["h0", "p"].map(|to| before.window("h0", to).expect("they are joined"));
    let memory = own - (last - first) + (1 << 20);
    for function in [0, 1] {
        let flow = across("f", function, &format!("{memory:#x}"), "size = \"4 KiB\"");
        let simulation = finished(&(text.clone() + &flow));
        assert!(simulation.result().errors("p", "unsupported request") > 0);
        assert_eq!(simulation.result().flow("f").bytes, 0);
    }
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
    let there = simulation
        .window(host, "p")
        .expect("they share a controller")
        + registers(simulation, "eth", function);
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
    // What was refused changed nothing: the owner reads what reset left there.
    let there = simulation
        .window("h1", "p")
        .expect("they share a controller")
        + registers(&simulation, "eth", 1);
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

/// The ID of `function` of `eth`, and the address at which `host` has the configuration space below the I/O port.
fn configuration(simulation: &Simulation, host: &str, function: usize) -> (FunctionId, u64) {
    let mut nodes = simulation.plan().nodes.iter();
    let eth = nodes.find(|node| node.name == "eth").expect("it is there");
    let place = match function {
        0 => FunctionPlace::Own,
        number => FunctionPlace::Virtual(number - 1),
    };
    let window = simulation.window(host, "p").expect("they are joined");
    (eth.functions.id_of(place), window + fabric::CONFIGURATION)
}

#[test]
fn a_host_configures_its_own_functions_alone() {
    let mut simulation = simulation(&shared(2, &[0, 1, 1], ""));
    let mut refused = 0;
    for (host, function, is_own) in [("h0", 0, true), ("h1", 2, true), ("h0", 1, false)] {
        let (id, base) = configuration(&simulation, host, function);
        let seen = play(&mut simulation, host, move |system| async move {
            let system = system.below(base);
            let own = system.read_register(id, register::COMMAND).await;
            let at = (id, register::COMMAND);
            system.change_register(at, (register::BUS_MASTER, 0)).await;
            (own, system.read_register(id, register::COMMAND).await)
        });
        let enabled = seen.0.map(|command| command & register::BUS_MASTER != 0);
        let left = seen.1.map(|command| command & register::BUS_MASTER);
        assert_eq!(
            (enabled, left),
            if is_own {
                (Some(true), Some(0))
            } else {
                (None, None)
            }
        );
        // Both reads of a stranger; it writes nothing without the value of a read.
        refused += if is_own { 0 } else { 3 };
        assert_eq!(
            simulation.result().errors("p", "unsupported request"),
            refused
        );
    }
    // A store of a stranger changes nothing.
    let (id, base) = configuration(&simulation, "h0", 1);
    play(&mut simulation, "h0", move |system| async move {
        let at = (id, register::COMMAND);
        system.below(base).write_register(at, 0, 0b1111).await;
    });
    let (id, base) = configuration(&simulation, "h1", 1);
    let command = play(&mut simulation, "h1", move |system| async move {
        system
            .below(base)
            .read_register(id, register::COMMAND)
            .await
    });
    assert_ne!(command.expect("it is its own") & register::BUS_MASTER, 0);
}

#[test]
fn an_access_to_configuration_space_is_within_a_register() {
    let mut simulation = simulation(&shared(1, &[0, 0], ""));
    let (id, base) = configuration(&simulation, "h0", 1);
    let there = base + u64::from(id.0) * 4096;
    let (whole, part, two, across) = play(&mut simulation, "h0", move |system| async move {
        let whole = system.read(there + 8, 4).await;
        let part = system.read(there + 9, 3).await;
        let two = system.read(there + 8, 8).await;
        (whole, part, two, system.read(there + 10, 4).await)
    });
    assert_eq!(part, whole[1..]);
    assert_eq!((two, across), (Vec::new(), Vec::new()));
    assert_eq!(simulation.result().errors("p", "unsupported request"), 2);
}

#[test]
fn a_load_does_not_pass_an_older_configuration_write() {
    let mut simulation = simulation(&shared(2, &[0, 1], ""));
    let (id, base) = configuration(&simulation, "h0", 0);
    let window = simulation.window("h0", "p").expect("they are joined");
    let there = window + registers(&simulation, "eth", 0);
    let seen = play(&mut simulation, "h0", move |system| async move {
        let own = system.below(base);
        let mut seen = Vec::new();
        for value in [0, register::MEMORY_SPACE, 0, register::MEMORY_SPACE] {
            own.write_register((id, register::COMMAND), value, 0b0001)
                .await;
            seen.push(system.read(there, 8).await.len());
        }
        seen
    });
    assert_eq!(seen, [0, 8, 0, 8]);
}

#[test]
fn a_function_makes_no_configuration_requests() {
    let text = two_endpoints(&[0, 0], &[0, 0]);
    let before = simulation(&text);
    let window = before.window("eth", "p").expect("a port reaches itself");
    let (id, _) = configuration(&before, "h0", 0);
    let there = window + fabric::CONFIGURATION + u64::from(id.0) * 4096;
    let flow = across(
        "f",
        0,
        &format!("{there:#x}"),
        "direction = \"both\"\nsize = \"4 B\"",
    );
    let result = finished(&(text + &flow)).result();
    assert_eq!(result.errors("p", "unsupported request"), 2);
    assert_eq!(result.flow("f").bytes, 0);
}

/// A function level reset of `eth` by the host of the function.
fn reset(function: usize) -> String {
    format!(
        "[[incidents]]\nat = \"20 us\"\nwhat = \"function-level-reset\"\nnode = \"eth\"\nfunction = {function}\nwait = \"200 us\"\n"
    )
}

#[test]
fn an_owner_resets_its_function_and_no_other() {
    let text = shared(2, &[0, 1, 1], "");
    let paced = |id: &str, function: usize, host: usize| {
        flow(id, function, host, "both").replace(
            "size = \"32 KiB\"",
            "interval = \"400 ns\"\nrequest_size = \"256 B\"\ncount = 400",
        )
    };
    // Loads of hosts from a function that does not answer wait for their completion timeout.
    let loads = |id: &str, host: usize, function: usize, count: u32| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"h{host}\"\nto = \"eth\"\nfunction = {function}\ndirection = \"read\"\nrequest_size = \"64 B\"\ninterval = \"1 us\"\ncount = {count}\n"
        )
    };
    let others = text + &paced("a", 0, 0) + &paced("c", 2, 1) + &loads("loads", 0, 0, 160);
    let own = paced("b", 1, 1)
        + &loads("lost", 1, 1, 40)
        + &flow("late", 1, 1, "both")
        + "start = \"400 us\"\n";
    let calm = run(&(others.clone() + &own)).all_intact();
    let simulation = finished(&(others + &own + &reset(1)));
    let result = simulation.result();
    let lost = result.flow("b");
    assert!(
        !lost.completed && lost.bytes > 0 && lost.bytes < 2 * 400 * 256,
        "{lost:?}"
    );
    assert!(!result.flow("lost").intact);
    for id in ["a", "c", "loads", "late"] {
        let flow = result.flow(id);
        assert!(flow.completed && flow.intact, "{flow:?}");
        let rate = |flow: &FlowResult| flow.bytes_per_second.expect("it moved");
        crate::fixture::close(rate(flow), rate(calm.flow(id)), 3.0);
    }
    let logged = [
        entry("eth VF 0", "Function Level Reset"),
        entry("h1", "set up again"),
    ];
    let log = log(&simulation);
    assert!(logged.iter().all(|line| log.contains(line)), "{log:?}");
}

#[test]
fn a_reset_of_the_physical_function_restores_the_functions_of_its_owner() {
    let late = |id, function, host| flow(id, function, host, "both") + "start = \"400 us\"\n";
    let text = shared(2, &[0, 1, 0], "") + &late("a", 0, 0) + &late("b", 1, 1) + &late("c", 2, 0);
    let result = finished(&(text + &reset(0))).result();
    for (id, works) in [("a", true), ("b", false), ("c", true)] {
        let flow = result.flow(id);
        assert_eq!((flow.completed, flow.intact), (works, works), "{flow:?}");
    }
}

/// Two hosts at two controllers that a cable joins, and flows of functions of both hosts: of h0 at the controller of the I/O port, and of h1 at
/// the other one. `link` and `cable` are keys of the link of n1 and of the cable.
fn apart(link: &str, cable: &str) -> String {
    let text = shared(2, &[0, 1, 1], "controller = \"c0\"")
        + "[[flows]]\nid = \"loads\"\nfrom = \"h0\"\nto = \"eth\"\nfunction = 0\ndirection = \"both\"\nsize = \"64 KiB\"\n"
        + &[(0, 0), (1, 1), (2, 1)]
            .map(|(function, host)| {
                let own = flow(&format!("f{function}"), function, host, "both");
                own.replace("32 KiB", "256 KiB")
            })
            .concat();
    let text = in_a_row(&text, 2, 2);
    text.replace(
        "upstream = \"h1\"",
        &format!("upstream = {{ to = \"h1\"{link} }}"),
    )
    .replace("to = \"c1\"\n", &format!("to = \"c1\"\n{cable}\n"))
}

/// All ways to take h1 away at `at`.
fn without_owner(at: &str) -> [String; 4] {
    let incident = |what: &str| {
        apart("", "") + &format!("[[incidents]]\nat = \"{at}\"\nwhat = \"{what}\"\nnode = \"n1\"\n")
    };
    let fails = format!("fails_at = \"{at}\"");
    [
        incident("surprise-removal"),
        incident("disable-link"),
        apart(&format!(", {fails}"), ""),
        apart("", &fails),
    ]
}

#[test]
fn functions_of_other_owners_go_on_after_an_owner_is_taken_away() {
    let calm = run(&apart("", "")).all_intact();
    for text in without_owner("40 us") {
        let result = finished(&text).result();
        for id in ["loads", "f0"] {
            let flow = result.flow(id);
            assert!(flow.completed && flow.intact, "{flow:?}\n{text}");
            let rate = |flow: &FlowResult| flow.bytes_per_second.expect("it moved");
            let share = rate(flow) / rate(calm.flow(id));
            assert!(share > 0.97, "{share}\n{text}");
        }
        for id in ["f1", "f2"] {
            let flow = result.flow(id);
            assert!(!flow.intact && flow.bytes > 0, "{flow:?}\n{text}");
        }
    }
}

/// Models with drivers.
const DRIVEN: [&str; 5] = [
    "model = \"sg-dma\"",
    "model = \"sg-dma\"\ndescriptor_fetch = true\nmsix_vectors = 4\nmsix_bar = 4",
    "model = \"nvme\"\nmedia_read_latency = \"1 us\"\nmedia_write_latency = \"1 us\"",
    "model = \"nvme\"\nmedia_read_latency = \"1 us\"\nmedia_write_latency = \"1 us\"\nmsix_vectors = 4\nmsix_bar = 4",
    "model = \"block-dma\"\nmsix_vectors = 4\nmsix_bar = 4",
];

/// Two hosts, and two devices with drivers on h1: `far` below an I/O port, and `near` below h1.
fn driven(model: &str) -> String {
    let mut text = hosts(2, "", "").replace("ports = 2", "ports = 3");
    let _ = write!(
        text,
        "[io_ports.p]\nowners = [\"h1\"]\n[devices.far]\nupstream = \"p\"\n{model}\n[devices.near]\nupstream = \"h1\"\n{model}\n"
    );
    for device in ["far", "near"] {
        if model.contains("block-dma") {
            let _ = write!(
                text,
                "[buffers.{device}]\nhost = \"h1\"\nsize = \"64 KiB\"\n[[accesses]]\nid = \"{device}\"\nby = \"{device}\"\nbuffer = \"{device}\"\nsize = \"4 KiB\"\ncount = 30\ndriven = \"program\"\ncompletion = \"interrupt\"\n"
            );
            continue;
        }
        for direction in ["read", "write"] {
            let _ = write!(
                text,
                "[[flows]]\nid = \"{device} {direction}\"\nfrom = \"{device}\"\nto = \"h1\"\nsize = \"128 KiB\"\ndirection = \"{direction}\"\n"
            );
        }
    }
    text
}

#[test]
fn a_driver_of_the_owner_works_with_a_device_below_an_io_port() {
    for model in DRIVEN {
        let result = run(&driven(model)).all_intact();
        for one in &result.accesses {
            assert_eq!(
                (one.count, one.failed, one.intact),
                (30, 0, true),
                "{one:?}"
            );
        }
        assert_eq!(result.flows.len() + 2 * result.accesses.len(), 4);
    }
}

#[test]
fn a_driver_of_the_owner_goes_on_after_a_reset_of_its_device() {
    for model in DRIVEN {
        let text = driven(model)
            + "[[incidents]]\nat = \"30 us\"\nwhat = \"function-level-reset\"\nnode = \"far\"\nwait = \"200 us\"\ndrivers = true\n";
        let result = finished(&text).result();
        for flow in &result.flows {
            assert!(flow.completed && flow.intact, "{flow:?}");
            assert!(flow.restarts == 0 || flow.id.starts_with("far"), "{flow:?}");
        }
        let restarts = result.flows.iter().map(|flow| flow.restarts).sum::<u32>();
        assert_eq!(restarts > 0, result.accesses.is_empty());
        for one in &result.accesses {
            assert!(one.completed, "{one:?}");
            assert_eq!((one.count, one.intact), (30, one.failed == 0), "{one:?}");
        }
    }
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

    #[test]
    fn any_flows_between_functions_of_one_owner_arrive(
        count in 1_usize..4,
        eth in prop::collection::vec(0_usize..4, 1..5),
        disk in prop::collection::vec(0_usize..4, 1..5),
        picks in prop::collection::vec((0_usize..8, any::<bool>(), 0_usize..3, 1_u32..1600), 1..10),
        loads in 1_u32..4,
        payloads in [0_u32..3, 0_u32..3],
        controllers in 1_usize..4,
    ) {
        let owners = [eth, disk].map(|owners| -> Vec<usize> {
            // Every host owns a function of each endpoint.
            (0..count).chain(owners.into_iter().map(|owner| owner % count)).collect()
        });
        let keys = format!("loads = {loads}\ntags = {loads}");
        let mut text = shared(count, &owners[0], &keys) + &endpoint(["q", "disk"], &owners[1], &keys);
        text = text.replace(&format!("ports = {}\n", count + 1), &format!("ports = {}\n", count + 2));
        for (port, payload) in ["p", "q"].into_iter().zip(payloads) {
            let upstream = format!("upstream = \"{port}\"\n");
            let own = format!("{upstream}virtual_bar = \"64 KiB\"\nmax_payload_supported = \"{} B\"\n", 128 << payload);
            text = text.replace(&upstream, &own);
        }
        for (number, (function, back, direction, request)) in picks.iter().enumerate() {
            let (from, to) = if *back { ("disk", "eth") } else { ("eth", "disk") };
            let function = function % owners[usize::from(*back)].len();
            let direction = ["write", "read", "both"][*direction];
            let _ = write!(
                text,
                "[[flows]]\nid = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nfunction = {function}\ndirection = \"{direction}\"\noffset = \"{} B\"\nwindow = \"1600 B\"\nrequest_size = \"{request} B\"\ncount = 30\n",
                number * 4096
            );
        }
        if controllers > 1 {
            text = in_a_row(&text, count, controllers);
            for (port, controller) in [("p", controllers - 1), ("q", 0)] {
                text = text.replace(&format!("[io_ports.{port}]\n"), &format!("[io_ports.{port}]\ncontroller = \"c{controller}\"\n"));
            }
        }
        run(&text).all_intact();
    }

    #[test]
    fn a_reset_harms_no_flow_of_other_functions(
        owners in prop::collection::vec(0_usize..2, 2..6),
        function in 0_usize..6,
        at in 0_u32..60_000,
        loads in 1_u32..8,
    ) {
        let owners: Vec<usize> = [0, 1].into_iter().chain(owners).collect();
        // The physical function belongs to h0, and its reset resets all functions.
        let function = 1 + function % (owners.len() - 1);
        let text = shared(2, &owners, &format!("loads = {loads}\ntags = {loads}"));
        let mut text = text.replace("[devices.eth]", "[devices.eth]\nvirtual_bar = \"64 KiB\"");
        for (number, owner) in owners.iter().enumerate() {
            text += &flow(&format!("f{number}"), number, *owner, "both");
            if number != function {
                let _ = write!(
                    text,
                    "[[flows]]\nid = \"g{number}\"\nfrom = \"h{owner}\"\nto = \"eth\"\nfunction = {number}\ndirection = \"both\"\nsize = \"4 KiB\"\n"
                );
            }
        }
        let incident = reset(function).replace("20 us", &format!("{at} ns"));
        let result = rested(&(text + &incident)).result();
        for flow in &result.flows {
            let is_reset = flow.id == format!("f{function}");
            prop_assert!(is_reset || flow.completed && flow.intact, "{flow:?}");
        }
    }

    #[test]
    fn an_owner_that_is_taken_away_harms_no_other(at in 0_u32..300_000, way in 0_usize..4) {
        let text = &without_owner(&format!("{at} ns"))[way];
        let result = rested(text).result();
        for id in ["loads", "f0"] {
            let flow = result.flow(id);
            prop_assert!(flow.completed && flow.intact, "{flow:?}\n{text}");
        }
    }
}

//! Resets of functions while they work: the state that the functions lose, and the effects on other components.

use kernel::Span;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use protocol::FunctionId;
use protocol::register::{BUS_MASTER, COMMAND, DEVICE_CAPABILITIES, DEVICE_CONTROL};

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a host and two DMA engines below a switch. The engine `a` is reset at 5 us.
fn machine(keys: &str, incident: &str, flows: &str) -> String {
    format!(
        r#"{HOST}
[switches.s]
upstream = "h0"
[devices.a]
upstream = "s"
{keys}
[devices.b]
upstream = "s"
[[incidents]]
at = "5 us"
what = "function-level-reset"
node = "a"
wait = "200 us"
{incident}
{flows}"#
    )
}

/// A flow of 256 KiB, which has not ended when the reset occurs.
fn flow(id: &str, from: &str, direction: &str, more: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"h0\"\nsize = \"256 KiB\"\ndirection = \"{direction}\"\n{more}\n"
    )
}

#[test]
fn a_function_level_reset_ends_the_flows_of_its_device_and_no_others() {
    let flows = [
        flow("ar", "a", "read", ""),
        flow("aw", "a", "write", ""),
        flow("br", "b", "read", ""),
        flow("bw", "b", "write", ""),
    ];
    let simulation = rested(&machine("", "", &flows.concat()));
    let result = simulation.result();
    for id in ["ar", "aw"] {
        let flow = result.flow(id);
        assert!(
            !flow.completed && !flow.intact && flow.bytes > 0,
            "{flow:?}"
        );
        assert!(flow.bytes < 256 << 10, "{flow:?}");
    }
    for id in ["br", "bw"] {
        let flow = result.flow(id);
        assert!(flow.completed && flow.intact, "{flow:?}");
    }
    // Completions for requests from before the reset are dropped, and are no error of the function (PCIe Base 6.6.2).
    assert!(result.errors("a", "function in reset") > 0);
    assert_eq!(result.errors.len(), 1, "{:?}", result.errors);
    let logged = [
        entry("a", "Function Level Reset"),
        entry("h0", "set up again"),
    ];
    assert_eq!(log(&simulation), logged);
}

#[test]
fn a_reset_returns_the_registers_of_its_function_but_not_those_of_its_link() {
    let keys = "max_payload = \"256 B\"\nmax_payload_mismatch = true\nmsix_vectors = 4";
    let text = machine(keys, "restore = false", &flow("ar", "a", "read", ""));
    let mut simulation = rested(&text);
    let a = FunctionId::new(3, 0, 0);
    let mut read = |register: u16| {
        let read = simulation.config_read("h0", a, u64::from(register) * 4, 4, &mut || true);
        read.expect("a host")
    };
    assert_eq!(read(DEVICE_CAPABILITIES) >> 28 & 1, 1);
    assert_eq!(read(COMMAND) & BUS_MASTER, 0);
    // Max_Payload_Size keeps its value, Max_Read_Request_Size has its reset value, and Initiate Function Level Reset reads as 0.
    assert_eq!(read(DEVICE_CONTROL) & 0xf0e0, 0x2020);
    let functions = simulation.functions("a").expect("a device");
    let space = functions.space(transaction::FunctionPlace::Own);
    assert_eq!(space.signalling(), protocol::Signalling::None);
    assert_eq!(space.bar_base(0), 0);
}

#[test]
fn a_virtual_function_is_reset_alone() {
    let keys = "virtual_functions = 2";
    let flows: Vec<String> = (0..3)
        .map(|function| {
            let id = format!("f{function}");
            flow(&id, "a", "read", &format!("function = {function}"))
        })
        .collect();
    let result = rested(&machine(keys, "function = 1", &flows.concat())).result();
    for (id, completes) in [("f0", true), ("f1", false), ("f2", true)] {
        let flow = result.flow(id);
        assert_eq!(
            (flow.completed, flow.intact),
            (completes, completes),
            "{flow:?}"
        );
    }
    assert_eq!(result.incidents[0].place, "a VF 0");
}

#[test]
fn the_reset_of_a_physical_function_ends_its_virtual_functions() {
    let keys = "virtual_functions = 2";
    let flows = flow("f1", "a", "write", "function = 1") + &flow("b", "b", "read", "");
    let simulation = rested(&machine(keys, "restore = false", &flows));
    let result = simulation.result();
    assert!(!result.flow("f1").completed && result.flow("b").intact);
    let functions = simulation.functions("a").expect("a device");
    assert_eq!(functions.virtual_places().count(), 0);
}

#[test]
fn a_function_that_its_host_sets_up_again_works_as_before() {
    // The cases are functions 1 and 2, functions 1 and 20 with ARI, and functions 1 and 20 with function 20 on the next bus.
    for (last, switch) in [(2, ""), (20, ""), (20, "ari_forwarding = false")] {
        is_set_up_again(last, switch);
    }
}

fn is_set_up_again(last: u32, switch: &str) {
    let keys = format!("virtual_functions = {last}\nmax_read_request = \"4 KiB\"");
    let later = ["f0", "f1", "f2"].iter().zip([0, 1, last]);
    let later = later.map(|(id, function)| {
        let more = format!("function = {function}\nstart = \"400 us\"");
        flow(id, "a", "read", &more)
    });
    let flows = flow("early", "a", "read", "") + &later.collect::<String>();
    let text = machine(&keys, "", &flows);
    let text = text.replace("[devices.a]", &format!("{switch}\n[devices.a]"));
    let simulation = rested(&text);
    let result = simulation.result();
    assert!(!result.flow("early").completed);
    for id in ["f0", "f1", "f2"] {
        let flow = result.flow(id);
        assert!(flow.completed && flow.intact, "{flow:?}");
    }
    // Every register has the value that firmware has written, except for error registers.
    let (now, planned) = (
        simulation.functions("a").expect("a device"),
        &simulation.plan().nodes[2],
    );
    for place in planned.functions.places() {
        let settings = |functions: &transaction::Functions| {
            functions.space(place).settings().collect::<Vec<_>>()
        };
        assert_eq!(settings(&now), settings(&planned.functions), "{place:?}");
    }
}

/// The sections for a device of each model below a switch and for the nodes that it needs, with work that has not ended when the reset occurs.
const DEVICES: [&str; 9] = [
    "[devices.d]\nupstream = \"s\"\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\nsize = \"256 KiB\"\ndirection = \"both\"\n",
    "[devices.d]\nupstream = \"s\"\nvirtual_functions = 1\nmsix_vectors = 2\nmsix_bar = 4\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\nsize = \"128 KiB\"\ndirection = \"read\"\nfunction = 1\n[[flows]]\nfrom = \"h0\"\nto = \"d\"\nsize = \"16 KiB\"\ndirection = \"write\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"sg-dma\"\nbar = \"1 MiB\"\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\nsize = \"64 KiB\"\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\nsize = \"64 KiB\"\ndirection = \"read\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"nvme\"\n[[flows]]\nfrom = \"d\"\nto = \"h0\"\nsize = \"128 KiB\"\nrequest_size = \"4 KiB\"\ndirection = \"read\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"block-dma\"\n[buffers.b]\nhost = \"h0\"\nsize = \"64 KiB\"\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 40\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"reflector\"\n[[flows]]\nfrom = \"h0\"\nto = \"d\"\ncount = 100\ndirection = \"round-trip\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"fpga-card\"\nafu = \"nlb_mode_0\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"nic\"\ncontroller = \"c\"\n[controllers.c]\n[hosts.h1]\n[devices.n]\nupstream = \"h1\"\nmodel = \"nic\"\ncontroller = \"c\"\n[[flows]]\nfrom = \"d\"\nto = \"n\"\nsize = \"128 KiB\"\n[[flows]]\nfrom = \"n\"\nto = \"d\"\nsize = \"128 KiB\"\n",
    "[devices.d]\nupstream = \"s\"\nmodel = \"router\"\n[hosts.h1]\n[devices.r]\nupstream = \"h1\"\nmodel = \"router\"\n[[fibres]]\nfrom = \"d\"\nto = \"r\"\n[[flows]]\nfrom = \"r\"\nto = \"h0\"\nsize = \"64 KiB\"\n[[flows]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"32 KiB\"\n",
];

proptest! {
    #![proptest_config(cases(24))]

    /// A device of any model is reset at any time. A second reset may occur before the first, during it, or after the host has set up the device
    /// again. The link of the device may fail, and the fabric may have bit errors.
    #[test]
    fn resets_of_any_device_at_any_time_end_and_lose_nothing_of_others(
        device in select(&DEVICES[..]),
        at in 0_u32..40_000,
        second in option::of((0_u32..400_000, any::<bool>())),
        restore: bool,
        errors: bool,
        fails_at in option::weighted(0.2, 1_u32..60_000),
    ) {
        let rate = if errors { 1e-6 } else { 0.0 };
        let mut text = format!("[links]\nbit_error_rate = {rate}\n{HOST}[switches.s]\nupstream = \"h0\"\n{device}");
        text += "[devices.o]\nupstream = \"s\"\n";
        text += &flow("ow", "o", "write", "");
        text += &flow("or", "o", "read", "");
        let first = (at, restore);
        for (at, restore) in [first].into_iter().chain(second) {
            let incident = format!("[[incidents]]\nat = \"{at} ns\"\nwhat = \"function-level-reset\"\nnode = \"d\"\nwait = \"200 us\"\nrestore = {restore}\n");
            text += &incident;
        }
        if let Some(fails_at) = fails_at {
            let below = format!("upstream = {{ to = \"s\", fails_at = \"{fails_at} ns\" }}");
            text = text.replacen("[devices.d]\nupstream = \"s\"", &format!("[devices.d]\n{below}"), 1);
        }
        let mut simulation = simulation(&text);
        prop_assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        for id in ["ow", "or"] {
            let flow = result.flow(id);
            prop_assert!(flow.completed && flow.intact, "{flow:?}");
        }
        prop_assert!(result.incidents.iter().any(|one| one.what == "Function Level Reset") || fails_at.is_some());
        // If a byte of a flow is missing or wrong, the flow is not complete or an error is reported.
        for flow in &result.flows {
            prop_assert!(flow.intact || !flow.completed || !result.errors.is_empty(), "{flow:?}");
        }
        let rest = simulation.now() + Span::from_us(200);
        simulation.run_until(rest, &mut || true);
        // Without Bus Master Enable, a router or a NIC keeps the packets that other nodes have sent to it.
        let keeps = ["\"router\"", "\"nic\""].iter().any(|model| device.contains(model));
        prop_assert!(keeps || simulation.packets_in_use() == 0);
    }
}

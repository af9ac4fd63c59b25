//! Resets of functions in the middle of their work: what they forget, and who notices.

use protocol::FunctionId;
use protocol::register::{BUS_MASTER, COMMAND, DEVICE_CAPABILITIES, DEVICE_CONTROL};

use crate::fixture::*;

/// A host with two DMA engines below a switch, of which `a` is reset at 5 us.
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

/// A flow of 256 KiB, which takes longer than until the reset.
fn flow(id: &str, from: &str, direction: &str, more: &str) -> String {
    format!(
        "[[flows]]\nid = \"{id}\"\nfrom = \"{from}\"\nto = \"h0\"\nsize = \"256 KiB\"\ndirection = \"{direction}\"\n{more}\n"
    )
}

/// Runs on until nothing of a fabric is under way.
fn rested(text: &str) -> sim::Simulation {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true));
    let rest = simulation.now() + kernel::Span::from_us(200);
    simulation.run_until(rest, &mut || true);
    assert_eq!(
        (simulation.packets_in_use(), simulation.credits_held()),
        (0, 0)
    );
    simulation
}

#[test]
fn a_function_level_reset_ends_the_flows_of_its_device_and_no_others() {
    let flows = [
        flow("ar", "a", "read", ""),
        flow("aw", "a", "write", ""),
        flow("br", "b", "read", ""),
        flow("bw", "b", "write", ""),
    ];
    let result = rested(&machine("", "", &flows.concat())).result();
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
    let log: Vec<_> = result
        .incidents
        .iter()
        .map(|one| (one.place.as_str(), one.what.as_str()))
        .collect();
    assert_eq!(log, [("a", "Function Level Reset")]);
}

#[test]
fn a_reset_returns_the_registers_of_its_function_but_not_those_of_its_link() {
    let keys = "max_payload = \"256 B\"\nmsix_vectors = 4";
    let text = machine(keys, "restore = false", &flow("ar", "a", "read", ""));
    let mut simulation = rested(&text);
    let a = FunctionId::new(3, 0, 0);
    let mut read = |register: u16| {
        let read = simulation.config_read("h0", a, u64::from(register) * 4, 4, &mut || true);
        read.expect("a host")
    };
    assert_eq!(read(DEVICE_CAPABILITIES) >> 28 & 1, 1);
    assert_eq!(read(COMMAND) & BUS_MASTER, 0);
    // Max_Payload_Size stays, and Max_Read_Request_Size does not; Initiate Function Level Reset reads as 0.
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
    let keys = "virtual_functions = 2\nmax_read_request = \"4 KiB\"";
    let later = ["f0", "f1", "f2"].iter().zip(0..).map(|(id, function)| {
        let more = format!("function = {function}\nstart = \"400 us\"");
        flow(id, "a", "read", &more)
    });
    let flows = flow("early", "a", "read", "") + &later.collect::<String>();
    let simulation = rested(&machine(keys, "", &flows));
    let result = simulation.result();
    assert!(!result.flow("early").completed);
    for id in ["f0", "f1", "f2"] {
        let flow = result.flow(id);
        assert!(flow.completed && flow.intact, "{flow:?}");
    }
    // Every register is as firmware left it, but for errors.
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

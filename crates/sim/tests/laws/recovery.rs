//! Drivers that are notified of a reset of their device: they set up the device again, and repeat the transfers that were lost.

use proptest::prelude::*;
use proptest::sample::select;
use sim::result::RunResult;

use crate::cases::cases;
use crate::fixture::*;

/// A scenario with a device below a switch, resets of the device at these times in ns, and flows.
fn machine(device: &str, resets: &[u32], keys: &str, flows: &str) -> String {
    let incident = |at: &u32| {
        format!(
            "[[incidents]]\nat = \"{at} ns\"\nwhat = \"function-level-reset\"\nnode = \"d\"\nwait = \"200 us\"\ndrivers = true\n{keys}\n"
        )
    };
    let resets = resets.iter().map(incident).collect::<Vec<_>>().concat();
    format!(
        "{HOST}completion_timeout = \"200 us\"\n[links]\ngeneration = 3\nlanes = 4\n[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\n{device}\n{flows}{resets}"
    )
}

fn flow(id: &str, more: &str) -> String {
    format!("[[flows]]\nid = \"{id}\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"128 KiB\"\n{more}\n")
}

fn both() -> String {
    flow("w", "") + &flow("r", "direction = \"read\"")
}

/// Runs to the end, and asserts that no packet remains.
fn ended(text: &str) -> RunResult {
    let mut simulation = simulation(text);
    assert!(simulation.run(&mut |_| true), "{text}");
    let result = simulation.result();
    assert_eq!(result.standing_packets, 0, "{text}");
    result
}

const ENGINE: &str = "model = \"sg-dma\"";
const DRIVE: &str =
    "model = \"nvme\"\nmedia_read_latency = \"1 us\"\nmedia_write_latency = \"1 us\"";

#[test]
fn a_driver_begins_again_after_a_reset_and_loses_nothing() {
    for device in [ENGINE, DRIVE] {
        for vectors in ["", "\nmsix_vectors = 4\nmsix_bar = 4"] {
            let device = format!("{device}{vectors}");
            let whole = ended(&machine(&device, &[], "", &both())).all_intact();
            let middle = whole.flow("w").last_byte_ns.expect("it arrives") - 10_000.0;
            let result = ended(&machine(&device, &[middle as u32], "", &both()));
            for id in ["w", "r"] {
                let flow = result.flow(id);
                assert!(
                    flow.completed && flow.intact,
                    "{device} {flow:?} {:?}",
                    result.incidents
                );
                assert_eq!(flow.bytes, 128 << 10);
            }
            let restarts: u32 = result.flows.iter().map(|flow| flow.restarts).sum();
            assert!(restarts > 0);
            let says = "a driver begins again after a reset of its device";
            assert!(result.incidents.iter().any(|one| one.what == says));
        }
    }
}

#[test]
fn a_call_after_a_reset_finds_a_device_that_works() {
    for device in [ENGINE, DRIVE] {
        let flows = flow("w", "") + &flow("later", "start = \"1 ms\"");
        let result = ended(&machine(device, &[500_000], "", &flows));
        for flow in &result.flows {
            assert!(
                flow.completed && flow.intact && flow.restarts == 0,
                "{flow:?} {:?} {:?} {}",
                result.errors,
                result.incidents,
                result.simulated_ns
            );
        }
    }
}

#[test]
fn a_drive_moves_only_the_commands_again_that_a_reset_has_lost() {
    let flows = flow("w", "request_size = \"4 KiB\"");
    let device = format!("{DRIVE}\nqueue_entries = 4\ncommands = 2");
    let moved = |resets: &[u32]| ended(&machine(&device, resets, "", &flows));
    let sent = |result: &RunResult| result.link("s-d", "up").payload_bytes;
    let whole = moved(&[]).all_intact();
    let middle = whole.flow("w").last_byte_ns.expect("it arrives") / 2.0;
    let result = moved(&[middle as u32]);
    assert!(result.flow("w").intact && result.flow("w").restarts == 1);
    let again = sent(&result) - sent(&whole);
    // At most three commands were in progress. Each command also has a completion entry and an interrupt.
    assert!(again <= 3 * (4096 + 64), "{again}");
}

#[test]
fn a_driver_gives_up_where_fifos_have_lost_the_bytes_of_another_transfer() {
    let flows = flow("out", "direction = \"read\"") + &flow("back", "carries = \"out\"");
    let device = format!("{ENGINE}\nuser = \"loopback\"");
    let result = ended(&machine(&device, &[30_000], "", &flows));
    for id in ["out", "back"] {
        let flow = result.flow(id);
        assert!(
            !flow.completed && !flow.wrong && flow.returned_ns.is_some(),
            "{flow:?}"
        );
    }
    let says = "a driver gives up its device";
    let log = result.incidents.iter().filter(|one| one.what == says);
    assert_eq!(log.map(|one| one.count).sum::<u64>(), 2);
}

#[test]
fn a_driver_gives_up_a_device_that_nobody_sets_up_again() {
    for device in [ENGINE, DRIVE] {
        let result = ended(&machine(device, &[30_000], "restore = false", &both()));
        for flow in &result.flows {
            assert!(!flow.completed && flow.returned_ns.is_some(), "{flow:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_driver_loses_nothing_by_resets_at_any_time(
        device in select(vec![ENGINE, DRIVE]),
        (first, second) in (0_u32..400_000, 200_000_u32..900_000),
        (masks, vectors, fetches) in any::<(bool, bool, bool)>(),
        small: bool,
    ) {
        let mut device = device.to_owned();
        if vectors {
            device += "\nmsix_vectors = 4\nmsix_bar = 4";
        }
        if fetches && device.contains(ENGINE) {
            device += "\ndescriptor_fetch = true";
        }
        let size = if small && device.contains(DRIVE) { "request_size = \"4 KiB\"" } else { "" };
        let flows = flow("w", size) + &flow("r", &format!("direction = \"read\"\n{size}")) + &flow("later", &format!("start = \"300 us\"\n{size}"));
        let text = machine(&device, &[first, second.max(first)], "", &flows);
        let text = text.replace("[links]", &format!("interrupt_masking = {masks}\n[links]"));
        let result = ended(&text);
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{:?}\n{}", flow, text);
        }
    }
}

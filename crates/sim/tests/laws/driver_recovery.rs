//! Drivers whose devices are reset by a port above, removed and inserted, contained, or report errors: the drivers restart the work, and every loss
//! is reported.

use proptest::prelude::*;
use proptest::sample::select;
use sim::result::RunResult;

use crate::cases::cases;
use crate::fixture::*;

/// An event that makes a device unavailable for some time: keys of the host, keys of the device, and the incidents, given the time in ns of the
/// first.
struct Event {
    host: &'static str,
    device: &'static str,
    incidents: fn(u32) -> String,
}

fn incident(at: u32, what: &str, keys: &str) -> String {
    format!("[[incidents]]\nat = \"{at} ns\"\nwhat = \"{what}\"\nnode = \"d\"\n{keys}\n")
}

fn out_and_in(at: u32, keys: &str) -> String {
    incident(at, "surprise-removal", "") + &incident(at + 300_000, "insertion", keys)
}

const EVENTS: [Event; 7] = [
    Event {
        host: "",
        device: "",
        incidents: |at| {
            incident(
                at,
                "secondary-bus-reset",
                "hold = \"20 us\"\ndrivers = true",
            )
        },
    },
    // The switch above the device is reset by the port above the switch, or the bus below the switch is reset by the upstream port of the switch.
    Event {
        host: "",
        device: "",
        incidents: |at| {
            let reset = incident(
                at,
                "secondary-bus-reset",
                "hold = \"20 us\"\ndrivers = true",
            );
            reset.replace("\"d\"", "\"s\"")
        },
    },
    Event {
        host: "",
        device: "",
        incidents: |at| {
            let keys = "bus = \"below\"\nhold = \"20 us\"\ndrivers = true";
            incident(at, "secondary-bus-reset", keys).replace("\"d\"", "\"s\"")
        },
    },
    Event {
        host: "",
        device: "",
        incidents: |at| out_and_in(at, "wait = \"200 us\"\ndrivers = true"),
    },
    Event {
        host: "containment = \"fatal\"\ndriver_recovery = true\n",
        device: "",
        incidents: |at| incident(at, "containment", ""),
    },
    Event {
        host: "containment = \"fatal\"\ndriver_recovery = true\nhot_plug = true\n",
        device: "slot = \"surprise\"\n",
        incidents: |at| incident(at, "containment", ""),
    },
    // The port above reports Surprise Down, which is fatal.
    Event {
        host: "error_reporting = true\ndriver_recovery = true\n",
        device: "",
        incidents: |at| out_and_in(at, "restore = false"),
    },
];

const DEVICES: [&str; 5] = [
    "model = \"sg-dma\"",
    "model = \"sg-dma\"\ndescriptor_fetch = true\nmsix_vectors = 4\nmsix_bar = 4",
    "model = \"nvme\"\nmedia_read_latency = \"1 us\"\nmedia_write_latency = \"1 us\"",
    "model = \"nvme\"\nmedia_read_latency = \"1 us\"\nmedia_write_latency = \"1 us\"\nmsix_vectors = 4\nmsix_bar = 4",
    "model = \"block-dma\"\nmsix_vectors = 4\nmsix_bar = 4",
];

/// A scenario with a device below a switch, a second device at the host, work for both, and an event.
fn machine(event: &Event, device: &str, at: u32) -> String {
    let work = if device.contains("block-dma") {
        "[buffers.b]\nhost = \"h0\"\nsize = \"64 KiB\"\n[[accesses]]\nby = \"d\"\nbuffer = \"b\"\nsize = \"4 KiB\"\ncount = 30\ndriven = \"program\"\ncompletion = \"interrupt\"\n".to_owned()
    } else {
        let flow = |id: &str, more: &str| {
            format!(
                "[[flows]]\nid = \"{id}\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"128 KiB\"\n{more}\n"
            )
        };
        flow("w", "") + &flow("r", "direction = \"read\"") + &flow("later", "start = \"2 ms\"")
    };
    let other = "[devices.o]\nupstream = \"h0\"\n[[flows]]\nid = \"o\"\nfrom = \"o\"\nto = \"h0\"\nsize = \"64 KiB\"\n";
    format!(
        "{HOST}completion_timeout = \"200 us\"\nlink_up_wait = \"200 us\"\n{}[links]\ngeneration = 3\nlanes = 4\n[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\n{}{device}\n{other}{work}{}",
        event.host,
        event.device,
        (event.incidents)(at)
    )
}

/// Checks that flows are complete, and that lost accesses are reported as failed.
fn check(result: &RunResult, text: &str) {
    for flow in &result.flows {
        let said = &result.incidents;
        assert!(flow.completed && flow.intact, "{flow:?} {said:#?}\n{text}");
    }
    for one in &result.accesses {
        assert!(one.completed, "{one:?}\n{text}");
        assert_eq!(
            (one.count, one.intact),
            (30, one.failed == 0),
            "{one:?}\n{text}"
        );
    }
}

#[test]
fn a_driver_begins_again_after_every_event_that_resets_its_device() {
    for (number, event) in EVENTS.iter().enumerate() {
        for device in DEVICES {
            let text = machine(event, device, 30_000);
            let result = rested(&text).result();
            check(&result, &text);
            let restarts: u32 = result.flows.iter().map(|flow| flow.restarts).sum();
            let failed: u64 = result.accesses.iter().map(|one| one.failed).sum();
            assert!(restarts > 0 || failed > 0, "{number} {device}");
        }
    }
}

#[test]
fn a_driver_gives_up_a_device_that_does_not_come_back() {
    let gone = |host: &'static str, device: &'static str| Event {
        host,
        device,
        incidents: |at| incident(at, "surprise-removal", ""),
    };
    let events = [
        gone("error_reporting = true\ndriver_recovery = true\n", ""),
        gone(
            "hot_plug = true\ndriver_recovery = true\n",
            "slot = \"surprise\"\n",
        ),
    ];
    for event in &events {
        for device in DEVICES {
            let text = machine(event, device, 30_000);
            let result = rested(&text).result();
            for flow in result.flows.iter().filter(|flow| flow.id != "o") {
                assert!(
                    !flow.completed && flow.returned_ns.is_some(),
                    "{flow:?}\n{text}"
                );
            }
            let failed: u64 = result.accesses.iter().map(|one| one.failed).sum();
            assert!(result.accesses.is_empty() || failed > 0, "{text}");
            assert!(result.flow("o").intact);
        }
    }
}

#[test]
fn an_orderly_removal_tells_the_drivers_before_the_power_goes_and_after_it_is_back() {
    let button = Event {
        host: "hot_plug = true\ndriver_recovery = true\nattention_wait = \"20 us\"\n",
        device: "slot = \"hot-plug\"\n",
        incidents: |at| {
            incident(at, "attention-button", "") + &incident(at + 500_000, "attention-button", "")
        },
    };
    for device in DEVICES {
        let text = machine(&button, device, 10_000);
        let simulation = rested(&text);
        let result = simulation.result();
        let log = log(&simulation);
        assert!(log.contains(&entry("h0", "slot: power on")), "{log:?}");
        // The drivers of the early flows give up, because the device is removed. A flow that begins later finds the device inserted again.
        for flow in &result.flows {
            let is_early = ["w", "r"].contains(&flow.id.as_str());
            assert!(flow.returned_ns.is_some() || flow.id == "o");
            assert_eq!(
                flow.completed && flow.intact,
                !is_early,
                "{flow:?} {log:#?}\n{text}"
            );
        }
    }
}

#[test]
fn a_function_that_reports_a_non_fatal_error_has_its_driver_told_and_a_failed_controller_is_reset()
{
    let poison = Event {
        host: "error_reporting = true\ndriver_recovery = true\n",
        device: "",
        incidents: |_| String::new(),
    };
    for device in [DEVICES[2], DEVICES[3]] {
        let text = machine(&poison, device, 0);
        let rest = text
            .split("[[flows]]\nid = \"later\"")
            .next()
            .expect("the machine");
        let poison = incident(10_000, "poison", "").replace("\"d\"", "\"h0\"");
        let simulation = rested(&(rest.to_owned() + &poison));
        let (result, log) = (simulation.result(), log(&simulation));
        assert!(
            log.contains(&entry("h0", "a driver is notified of a non-fatal error")),
            "{log:#?}"
        );
        assert!(
            result
                .flows
                .iter()
                .all(|flow| flow.completed && flow.returned_ns.is_some() || flow.id == "o"),
            "{:?} {log:#?}",
            result.flows
        );
    }
}

#[test]
fn registers_of_a_switch_and_of_all_below_it_are_as_before_after_a_reset_of_either_bus() {
    let channels = "extended_vc_count = 1\nlow_priority_vcs = 0\n";
    let host = format!("[hosts.h0]\nerror_reporting = true\nlink_up_wait = \"200 us\"\n{channels}");
    let switch = format!(
        "[switches.s]\nupstream = \"h0\"\nacs_redirect = true\nport_arbitration = \"wrr-32\"\nport_arbitration_table = \"(0 1)*16\"\n{channels}"
    );
    let lower = format!("[switches.t]\nupstream = \"s\"\n{channels}");
    let device = |name: &str, above: &str| {
        format!(
            "[devices.{name}]\nupstream = \"{above}\"\nbar = \"64 KiB\"\n{channels}[[flows]]\nid = \"{name}\"\nfrom = \"{name}\"\nto = \"h0\"\nsize = \"16 KiB\"\nstart = \"1 ms\"\ntraffic_class = 6\n"
        )
    };
    for keys in ["", "bus = \"below\"\n"] {
        let text = format!(
            "{host}[links]\ngeneration = 3\nlanes = 4\ntc_vc_map = \"TC0-3: VC0, TC4-7: VC1\"\n{switch}{lower}{}{}{}",
            device("a", "s"),
            device("d", "t"),
            incident(
                10_000,
                "secondary-bus-reset",
                &format!("hold = \"20 us\"\n{keys}")
            )
            .replace("\"d\"", "\"s\"")
        );
        let simulation = rested(&text);
        let result = simulation.result();
        for flow in &result.flows {
            assert!(
                flow.completed && flow.intact,
                "{keys} {flow:?} {:?}",
                log(&simulation)
            );
        }
        for name in ["a", "d", "t"] {
            assert!(
                log(&simulation).contains(&entry(name, "hot reset")),
                "{keys}"
            );
        }
        let is_whole = keys.is_empty();
        assert_eq!(
            log(&simulation).contains(&entry("s", "hot reset")),
            is_whole
        );
        let nodes = simulation.plan().nodes.iter();
        for node in nodes.filter(|node| node.name != "h0") {
            let now = simulation.functions(&node.name).expect("it has functions");
            for place in node.functions.places() {
                let settings = |functions: &transaction::Functions| {
                    functions.space(place).settings().collect::<Vec<_>>()
                };
                assert_eq!(
                    settings(&now),
                    settings(&node.functions),
                    "{keys} {} {place:?}",
                    node.name
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn nothing_is_lost_without_a_word_whenever_the_event_comes_and_with_bit_errors(
        event in 0..EVENTS.len(),
        device in select(&DEVICES[..]),
        at in 1_000_u32..200_000,
        errors: bool,
    ) {
        let mut text = machine(&EVENTS[event], device, at);
        if errors {
            text = text.replacen("lanes = 4\n", "lanes = 4\nbit_error_rate = 1e-6\n", 1);
        }
        let result = rested(&text).result();
        check(&result, &text);
    }
}

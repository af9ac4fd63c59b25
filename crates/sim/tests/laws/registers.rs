//! The effects of registers in a running fabric, and the accesses to registers.

use protocol::FunctionId;
use protocol::register::{BAR_SIZE_SHIFT, RESIZABLE_BAR_CONTROL};

use crate::fixture::*;

pub const PAIR: &str = "[hosts.h0]\n[switches.s]\nupstream = \"h0\"\n[devices.a]\nupstream = \"s\"\n[devices.b]\nupstream = \"s\"\n";

/// The offset and size of the Command register, and its bits Memory Space Enable and Bus Master Enable.
const COMMAND: (u64, u64) = (4, 2);
const MEMORY: u32 = 2;
const MASTER: u32 = 4;

const A: FunctionId = FunctionId::new(3, 0, 0);
const B: FunctionId = FunctionId::new(4, 0, 0);

#[test]
fn a_device_whose_memory_enable_is_off_answers_with_unsupported_request() {
    let text = format!("{PAIR}memory_enable = false\n");
    let mut simulation = simulation(&text);
    let bar = simulation.plan().nodes[3].bars[0]
        .expect("b has a BAR")
        .base;
    let read = simulation.read_back("h0", bar, 4, &mut || true);
    assert_eq!(read, Err(sim::AccessError::UnsupportedRequest(bar)));
    assert_eq!(simulation.result().errors("b", "unsupported request"), 1);
    let command = simulation.config_read("h0", B, COMMAND.0, COMMAND.1, &mut || true);
    assert_eq!(command, Ok(MASTER));
    simulation
        .config_write("h0", B, COMMAND, MEMORY | MASTER, &mut || true)
        .expect("a host");
    let read = simulation.read_back("h0", bar, 4, &mut || true);
    assert_eq!(read, Ok(vec![0; 4]));
}

#[test]
fn a_device_that_is_no_bus_master_holds_its_requests() {
    let mut simulation = simulation(PAIR);
    let bar = simulation.plan().nodes[3].bars[0]
        .expect("b has a BAR")
        .base;
    let set = |simulation: &mut sim::Simulation, command| {
        simulation
            .config_write("h0", A, COMMAND, command, &mut || true)
            .expect("a host");
    };
    set(&mut simulation, MEMORY);
    simulation.write("a", bar, vec![1; 4]).expect("a can ask");
    assert_eq!(
        simulation.read_back("h0", bar, 4, &mut || true),
        Ok(vec![0; 4])
    );
    set(&mut simulation, MEMORY | MASTER);
    assert_eq!(
        simulation.read_back("h0", bar, 4, &mut || true),
        Ok(vec![1; 4])
    );
}

/// The offset and size of Device Control and Device Control 2, and their bits that enable wider tags.
const DEVICE_CONTROL: (u64, u64) = (0x78, 2);
const DEVICE_CONTROL_2: (u64, u64) = (0x98, 2);
const EXTENDED_TAGS: u32 = 1 << 8;
const TEN_BIT_TAGS: u32 = 1 << 12;

#[test]
fn a_device_has_as_many_reads_under_way_as_its_registers_allow_tags() {
    let text = "[hosts.h0]\nnonposted_headers = 0\nmemory_read_latency = \"100 us\"\n[devices.a]\nupstream = \"h0\"\ntags = 300\nmax_read_request = \"128 B\"\n";
    let mut simulation = simulation(text);
    let below = FunctionId::new(1, 0, 0);
    let [control, control_2] = [DEVICE_CONTROL, DEVICE_CONTROL_2].map(|(offset, size)| {
        let read = simulation.config_read("h0", below, offset, size, &mut || true);
        read.expect("a host")
    });
    assert_eq!(control & EXTENDED_TAGS, EXTENDED_TAGS);
    assert_eq!(control_2 & TEN_BIT_TAGS, TEN_BIT_TAGS);
    let settings = [
        (EXTENDED_TAGS, TEN_BIT_TAGS, 1),
        (EXTENDED_TAGS, 0, 2),
        (0, 0, 10),
    ];
    for (extended, ten_bit, round_trips) in settings {
        let control = control & !EXTENDED_TAGS | extended;
        for (register, value) in [(DEVICE_CONTROL, control), (DEVICE_CONTROL_2, ten_bit)] {
            simulation
                .config_write("h0", below, register, value, &mut || true)
                .expect("a host");
        }
        let before = simulation.now();
        let read = simulation.read_back("a", 0, 300 * 128, &mut || true);
        assert!(read.is_ok());
        let took = simulation.now().since(before);
        assert_eq!(took.as_ns() as u32 / 100_000, round_trips);
    }
}

#[test]
fn a_link_acknowledges_by_the_max_payload_that_software_has_written_last() {
    let text = |bytes: u32| {
        format!(
            "[hosts.h0]\nmax_payload = \"{bytes} B\"\n[devices.a]\nupstream = \"h0\"\nmax_payload = \"{bytes} B\"\n[[flows]]\nid = \"f\"\nfrom = \"a\"\nto = \"h0\"\nsize = \"64 KiB\"\nstart = \"100 us\"\n"
        )
    };
    let end = |mut simulation: sim::Simulation| {
        simulation.run(&mut |_| true);
        let result = simulation.result().all_intact();
        let dllps = result.link("h0-a", "down").overhead_bytes;
        (result.flow("f").all.bytes_per_second, dllps)
    };
    let mut written = simulation(&text(128));
    let port = written.plan().nodes[0]
        .functions
        .id_of(transaction::FunctionPlace::Port(0));
    let (mask, value) = protocol::Express::max_payload_field(256);
    for function in [port, FunctionId::new(1, 0, 0)] {
        let control = written.config_read(
            "h0",
            function,
            DEVICE_CONTROL.0,
            DEVICE_CONTROL.1,
            &mut || true,
        );
        let control = control.expect("a host") & !mask | value;
        written
            .config_write("h0", function, DEVICE_CONTROL, control, &mut || true)
            .expect("a host");
    }
    let [(rate, dllps), (other_rate, other_dllps)] = [end(written), end(simulation(&text(256)))];
    assert_eq!(rate, other_rate);
    // The configuration accesses have made some more.
    assert!(dllps - other_dllps < 200, "{dllps} and {other_dllps}");
}

#[test]
fn a_port_whose_memory_enable_is_off_forwards_no_requests_down() {
    let mut simulation = simulation(PAIR);
    let bar = simulation.plan().nodes[3].bars[0]
        .expect("b has a BAR")
        .base;
    let port = simulation.plan().nodes[1]
        .functions
        .id_of(transaction::FunctionPlace::Port(1));
    simulation
        .config_write("h0", port, COMMAND, MASTER, &mut || true)
        .expect("a host");
    let read = simulation.read_back("h0", bar, 4, &mut || true);
    assert_eq!(read, Err(sim::AccessError::UnsupportedRequest(bar)));
    // The device still answers configuration requests.
    let id = simulation.config_read("h0", B, 0, 4, &mut || true);
    assert_eq!(id, Ok(0x9038_10ee));
}

/// The offset and size of Memory Base and Memory Limit, and a value of them for an empty window.
const WINDOW: (u64, u64) = (0x20, 4);
const CLOSED: u32 = 0x0000_fff0;

#[test]
fn a_switch_lets_down_what_is_in_the_window_of_its_upstream_port() {
    let mut simulation = simulation(PAIR);
    let bar = simulation.plan().nodes[3].bars[0]
        .expect("b has a BAR")
        .base;
    let upstream = FunctionId::new(1, 0, 0);
    simulation
        .config_write("h0", upstream, WINDOW, CLOSED, &mut || true)
        .expect("a host");
    let read = simulation.read_back("h0", bar, 4, &mut || true);
    assert_eq!(read, Err(sim::AccessError::UnsupportedRequest(bar)));
    assert_eq!(simulation.result().errors("s", "unsupported request"), 1);
    // The devices below the switch can still access each other.
    assert!(simulation.read_back("a", bar, 4, &mut || true).is_ok());
}

#[test]
fn a_switch_sends_up_nothing_that_is_in_the_window_of_its_upstream_port() {
    let mut simulation = simulation(PAIR);
    let (bar, port) = {
        let nodes = &simulation.plan().nodes;
        let bar = nodes[3].bars[0].expect("b has a BAR");
        (
            bar.base,
            nodes[1]
                .functions
                .id_of(transaction::FunctionPlace::Port(1)),
        )
    };
    simulation
        .config_write("h0", port, WINDOW, CLOSED, &mut || true)
        .expect("a host");
    let read = simulation.read_back("a", bar, 4, &mut || true);
    assert_eq!(read, Err(sim::AccessError::UnsupportedRequest(bar)));
    assert_eq!(simulation.result().errors("s", "unsupported request"), 1);
}

#[test]
fn a_switch_lets_completions_down_to_the_buses_of_its_upstream_port() {
    let text = PAIR.replace("[devices.a]", "[devices.a]\ncompletion_timeout = \"50 us\"");
    let mut simulation = simulation(&text);
    let upstream = FunctionId::new(1, 0, 0);
    simulation
        .config_write("h0", upstream, (0x1a, 1), 2, &mut || true)
        .expect("a host");
    assert_eq!(
        simulation.config_read("h0", A, 0, 4, &mut || true),
        Ok(u32::MAX)
    );
    assert!(simulation.read_back("a", 0x1000, 4, &mut || true).is_err());
    let result = simulation.result();
    assert_eq!(result.errors("s", "unsupported request"), 1);
    assert_eq!(result.errors("s", "unexpected completion"), 1);
}

#[test]
fn windows_of_one_port_may_lie_within_each_other() {
    let text = "[hosts.h0]\n[devices.a]\nupstream = \"h0\"\nbar = \"4 MiB\"\n";
    let mut simulation = simulation(text);
    let port = simulation.plan().nodes[0]
        .functions
        .id_of(transaction::FunctionPlace::Port(0));
    for (offset, value) in [(0x24, 0xc010_c010), (0x28, 0), (0x2c, 0)] {
        simulation
            .config_write("h0", port, (offset, 4), value, &mut || true)
            .expect("a host");
    }
    for address in [0xc000_0000, 0xc010_0000, 0xc020_0000, 0xc03f_fffc] {
        let read = simulation.read_back("h0", address, 4, &mut || true);
        assert_eq!(read, Ok(vec![0; 4]), "{address:#x}");
    }
}

#[test]
fn a_port_that_is_no_bus_master_forwards_no_requests_up() {
    // The ports are the root port, the switch's upstream port, and the port above `a`.
    for (port, place) in [("00:01.0", "h0"), ("01:00.0", "s"), ("02:00.0", "s")] {
        let mut simulation = simulation(PAIR);
        let port = port.parse().expect("a function");
        simulation
            .config_write("h0", port, COMMAND, MEMORY, &mut || true)
            .expect("a host");
        let read = simulation.read_back("a", 0x1000, 4, &mut || true);
        assert_eq!(read, Err(sim::AccessError::UnsupportedRequest(0x1000)));
        assert_eq!(simulation.result().errors(place, "unsupported request"), 1);
        // Completions of reads by the host still pass.
        let bar = simulation.plan().nodes[2].bars[0]
            .expect("a has a BAR")
            .base;
        assert!(simulation.read_back("h0", bar, 4, &mut || true).is_ok());
    }
}

#[test]
fn a_switch_obeys_the_redirect_that_is_written_to_its_ports() {
    let mut simulation = simulation(PAIR);
    let bar = simulation.plan().nodes[3].bars[0]
        .expect("b has a BAR")
        .base;
    let port = simulation.plan().nodes[1]
        .functions
        .id_of(transaction::FunctionPlace::Port(0));
    assert!(simulation.read_back("a", bar, 4, &mut || true).is_ok());
    let up = |simulation: &sim::Simulation| {
        let result = simulation.result();
        result.link("h0-s", "up").overhead_bytes
    };
    let before = up(&simulation);
    let control = u64::from(protocol::register::ACS) * 4 + 2;
    simulation
        .config_write(
            "h0",
            port,
            (control, 2),
            protocol::AccessService::RequestRedirect.control() >> 16,
            &mut || true,
        )
        .expect("a host");
    let asked = up(&simulation);
    assert!(simulation.read_back("a", bar, 4, &mut || true).is_ok());
    assert_eq!(before, 0);
    assert!(up(&simulation) > asked);
}

#[test]
fn a_function_that_is_not_there_reads_as_all_ones() {
    let mut simulation = simulation(PAIR);
    for absent in ["00:1f.0", "02:1f.0", "03:00.1", "03:01.0", "ff:00.0"] {
        let id = absent.parse().expect("a function");
        assert_eq!(
            simulation.config_read("h0", id, 0, 4, &mut || true),
            Ok(u32::MAX),
            "{absent}"
        );
        assert_eq!(
            simulation.config_read("h0", id, 0, 2, &mut || true),
            Ok(0xffff),
            "{absent}"
        );
    }
}

#[test]
fn a_completion_that_comes_too_late_answers_no_later_configuration_request() {
    let text = "[links]\ngeneration = 1\nlanes = 1\ndelay = \"30 us\"\n[hosts.h0]\ntags = 256\ncompletion_timeout = \"50 us\"\n[devices.a]\nupstream = \"h0\"\n";
    let mut simulation = simulation(text);
    let below = FunctionId::new(1, 0, 0);
    for offset in [0, 8, 0] {
        assert_eq!(
            simulation.config_read("h0", below, offset, 4, &mut || true),
            Ok(u32::MAX),
            "at {offset}"
        );
    }
    while simulation.step() {}
    let late = simulation.result().errors("h0", "unexpected completion");
    assert_eq!(late, 3);
}

/// A flow keeps the fabric busy, so that there are events before the late completion.
#[test]
fn an_access_that_was_left_answers_no_later_one() {
    let text = "[hosts.h0]\n[devices.a]\nupstream = { to = \"h0\", delay = \"1 ms\" }\n[devices.b]\nupstream = \"h0\"\n[[flows]]\nfrom = \"b\"\nto = \"h0\"\nduration = \"100 ms\"\n";
    let mut simulation = simulation(text);
    let below = FunctionId::new(1, 0, 0);
    let left = simulation.config_read("h0", below, 0, 4, &mut || false);
    assert_eq!(left, Err(sim::AccessError::NoAnswer(0)));
    let class = simulation.config_read("h0", below, 8, 4, &mut || true);
    assert_eq!(class, Ok(0x1200_0000));
}

#[test]
fn an_access_names_a_host_and_a_register() {
    let mut simulation = simulation(PAIR);
    let message =
        |outcome: Result<u32, sim::AccessError>| outcome.map_err(|error| error.to_string());
    assert_eq!(
        message(simulation.config_read("a", B, 0, 4, &mut || true)),
        Err("a has no processor; name a host".to_owned())
    );
    for (offset, size) in [(1, 2), (2, 4), (4096, 4), (0, 3), (0, 0)] {
        let read = message(simulation.config_read("h0", B, offset, size, &mut || true));
        assert!(
            read.is_err_and(|told| told.contains("ask for 1, 2 or 4 aligned bytes below 0x1000"))
        );
    }
    assert_eq!(
        simulation.config_read("h0", B, 2, 2, &mut || true),
        Ok(0x9038)
    );
    assert_eq!(
        simulation.config_read("h0", B, 3, 1, &mut || true),
        Ok(0x90)
    );
}

/// The registers Data Link Feature Capabilities and Status of an endpoint below a host.
fn data_link_features(generation: u32, host: &str, device: &str) -> Option<[u32; 2]> {
    let text = format!(
        "[links]\ngeneration = {generation}\n[hosts.h0]\n{host}[devices.a]\nupstream = \"h0\"\n{device}"
    );
    let mut simulation = simulation(&text);
    let function = FunctionId::new(1, 0, 0);
    let mut read = |offset| {
        let value = simulation.config_read("h0", function, offset, 4, &mut || true);
        value.expect("a function")
    };
    let mut at = 0x100;
    while at != 0 {
        let header = read(at);
        if header & 0xffff == 0x25 {
            return Some([read(at + 4), read(at + 8)]);
        }
        at = u64::from(header >> 20);
    }
    None
}

#[test]
fn both_ends_of_a_link_of_16_gts_tell_that_they_scale_flow_control() {
    let [off, both] = ["scaled_flow_control = false\n", ""];
    assert_eq!(data_link_features(3, "", ""), None);
    assert_eq!(data_link_features(4, "", ""), Some([0x8000_0001; 2]));
    assert_eq!(data_link_features(4, off, both), Some([0x8000_0001, 0]));
    assert_eq!(data_link_features(4, both, off), None);
}

/// PCIe Base 7.8.6: after software has made the BAR of a GPU smaller, the GPU claims no requests beyond the new size.
#[test]
fn a_smaller_bar_takes_no_requests_beyond_its_size() {
    let text =
        "[hosts.h0]\n[devices.g]\nmodel = \"gpu\"\nmemory = \"256 MiB\"\nupstream = \"h0\"\n";
    let mut simulation = simulation(text);
    let bar = simulation.plan().nodes[1].bars[0].expect("a BAR").base;
    let gpu = simulation.functions("g").expect("a node").id();
    let end = bar + (64 << 20);
    let answers = |simulation: &mut sim::Simulation, address| {
        let read = simulation.read_back("h0", address, 4, &mut || true);
        read.is_ok()
    };
    assert!(answers(&mut simulation, end));
    let control = (u64::from(RESIZABLE_BAR_CONTROL) * 4, 4);
    let small = 6 << BAR_SIZE_SHIFT;
    simulation
        .config_write("h0", gpu, control, small, &mut || true)
        .expect("a host");
    assert!(answers(&mut simulation, end - 4));
    assert!(!answers(&mut simulation, end));
}

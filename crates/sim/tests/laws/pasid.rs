//! Requests with PASID prefixes: the functions that send them, the ports that forward them, and the address translation in a host.

use serde_json::Value;
use sim::result::RunResult;
use transaction::FunctionPlace;

use crate::fixture::*;

/// A scenario with a device below a switch and a flow of process 5 from the device. Each field has the lines of one part of the scenario.
struct Machine {
    host: &'static str,
    switch: &'static str,
    device: &'static str,
    flow: &'static str,
}

const MACHINE: Machine = Machine {
    host: "tlp_prefixes = true\niommu_pasids = \"5\"\n",
    switch: "tlp_prefixes = true\n",
    device: "pasid_width = 8\npasid_privileged = true\npasid_execute = true\n",
    flow: "pasid = 5\n",
};

impl Machine {
    fn text(&self) -> String {
        format!(
            "[links]\ngeneration = 3\nlanes = 8\n[hosts.h]\nmemory = \"4 MiB\"\n{}[switches.s]\nupstream = \"h\"\n{}[devices.d]\nupstream = \"s\"\n{}[devices.e]\nupstream = \"s\"\nbar = \"1 MiB\"\n{}[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h\"\ndirection = \"both\"\ncount = 4\nrequest_size = \"64 B\"\noffset = \"64 KiB\"\n{}",
            self.host, self.switch, self.device, self.device, self.flow
        )
    }
}

/// The trace lines of the packets of flow `f` with these TLP types.
fn of_flow<'l>(lines: &'l [Value], kinds: &[&str]) -> Vec<&'l Value> {
    let of_flow = |line: &&Value| {
        line["flow"] == "f" && kinds.contains(&line["tlp"].as_str().unwrap_or_default())
    };
    lines.iter().filter(of_flow).collect()
}

/// The result of a flow that does not arrive.
fn lost(machine: &Machine) -> RunResult {
    let result = run_to_rest(&machine.text());
    assert!(!result.flow("f").intact, "{}", machine.text());
    result
}

/// PCIe Base 2.2.10.2, 6.20.2.
#[test]
fn requests_of_a_process_have_its_prefix_on_every_link_and_their_completions_have_none() {
    let (result, lines) = trace(&MACHINE.text());
    result.all_intact();
    let requests = of_flow(&lines, &["MRd", "MWr"]);
    assert_eq!(requests.len(), 2 * 8);
    for line in requests {
        assert_eq!(line["pasid"], 5, "{line}");
        assert!(line["header"].as_str().unwrap().starts_with("91000005"));
    }
    for line in of_flow(&lines, &["CplD"]) {
        assert!(line["pasid"].is_null(), "{line}");
    }
}

/// Four bytes at 8 lanes of 8 GT/s take half a nanosecond, and a prefix takes no credit.
#[test]
fn a_prefix_takes_the_time_of_four_bytes_on_the_wire() {
    let length = |machine: &Machine| {
        let (_, lines) = trace(&machine.text());
        let write = of_flow(&lines, &["MWr"])[0].clone();
        write["length_ns"].as_f64().unwrap()
    };
    let plain = length(&Machine {
        flow: "",
        ..MACHINE
    });
    close(length(&MACHINE) - plain, 4.0 / 8.0 * 130.0 / 128.0, 1.0);
}

#[test]
fn permissions_are_asked_for_as_far_as_they_are_enabled_and_fit() {
    let machine = Machine {
        flow: "pasid = 5\nexecute_requested = true\nprivileged_requested = true\n",
        ..MACHINE
    };
    let (result, lines) = trace(&machine.text());
    result.all_intact();
    for line in of_flow(&lines, &["MRd"]) {
        assert_eq!(
            line["requested"],
            serde_json::json!(["execute", "privileged"])
        );
    }
    // A write does not request the permission to execute.
    for line in of_flow(&lines, &["MWr"]) {
        assert_eq!(line["requested"], serde_json::json!(["privileged"]));
    }
}

#[test]
fn firmware_enables_prefixes_where_every_port_up_to_the_root_supports_them() {
    for (host, switch) in [(true, false), (false, true), (false, false), (true, true)] {
        let machine = Machine {
            host: if host { MACHINE.host } else { "" },
            switch: if switch { MACHINE.switch } else { "" },
            ..MACHINE
        };
        let simulation = simulation(&machine.text());
        let warnings = simulation.plan().warnings.clone();
        let (result, lines) = trace(&machine.text());
        result.all_intact();
        let is_enabled = host && switch;
        assert_eq!(warnings.is_empty(), is_enabled, "{warnings:?}");
        for line in of_flow(&lines, &["MRd", "MWr"]) {
            assert_eq!(line["pasid"].is_null(), !is_enabled, "{line}");
        }
    }
}

/// PCIe Base 2.2.10.2: a port that does not support End-End prefixes handles the packet as malformed, and no completion is sent.
#[test]
fn a_prefix_is_malformed_at_a_port_that_does_not_support_it() {
    let device = "pasid_width = 8\npasid_enable = true\ncompletion_timeout = \"50 us\"\n";
    for (host, switch, at) in [("", MACHINE.switch, "h"), (MACHINE.host, "", "s")] {
        let result = lost(&Machine {
            host,
            switch,
            device,
            ..MACHINE
        });
        assert_eq!(result.errors(at, "malformed TLP"), 8);
        assert_eq!(result.errors("d", "completion timeout"), 4);
    }
}

/// PCIe Base 7.5.3.16: the egress port records the error, and a read receives a completion.
#[test]
fn a_port_that_blocks_prefixes_ends_the_packet_and_logs_its_prefix() {
    let machine = Machine {
        switch: "tlp_prefixes = true\ntlp_prefix_blocking = true\n",
        ..MACHINE
    };
    let result = lost(&machine);
    assert_eq!(result.errors("s", "TLP prefix blocked"), 8);
    assert_eq!(result.errors.len(), 1, "{:?}", result.errors);
    let mut simulation = simulation(&machine.text());
    simulation.run(&mut |_| true);
    let functions = simulation.functions("s").expect("a switch");
    let upstream = functions.space(FunctionPlace::Own);
    assert_eq!(upstream.read(0x104 / 4), 1 << 25);
    assert_eq!(upstream.read(0x118 / 4) & 0x81f, 1 << 11 | 0x19);
    assert_eq!(upstream.read(0x138 / 4), 0x9100_0005);
}

#[test]
fn a_process_without_a_page_table_and_an_address_without_a_page_are_faults() {
    for host in [
        "tlp_prefixes = true\niommu_pasids = \"4, 6\"\n",
        "tlp_prefixes = true\niommu_pasids = \"5: 64 KiB\"\n",
        "tlp_prefixes = true\niommu = true\n",
        "tlp_prefixes = true\n",
    ] {
        let result = lost(&Machine { host, ..MACHINE });
        assert_eq!(result.errors("h", "unsupported request"), 8, "{host}");
        if let [iommu] = &result.iommus[..] {
            assert_eq!((iommu.requests, iommu.faults), (8, 8));
        }
    }
}

/// Two processes of a device use the same page. Each process has its own entries in the IOTLB, and requests without a process have other entries.
#[test]
fn the_entries_of_a_process_serve_no_other() {
    let flow = |lines: &str, start: u32| {
        format!(
            "[[flows]]\nfrom = \"d\"\nto = \"h\"\ncount = 4\nrequest_size = \"64 B\"\noffset = \"64 KiB\"\nstart = \"{start} us\"\n{lines}"
        )
    };
    let text = |more: &[&str]| {
        let machine = Machine {
            host: "tlp_prefixes = true\niommu = true\niommu_pasids = \"5, 7\"\n",
            ..MACHINE
        };
        let rest: Vec<String> = more
            .iter()
            .zip(2..)
            .map(|(lines, start)| flow(lines, 10 * start))
            .collect();
        machine.text() + &rest.concat()
    };
    let walks = |more: &[&str]| {
        let mut simulation = simulation(&text(more));
        assert!(simulation.run(&mut |_| true));
        let result = simulation.result();
        assert!(result.errors.is_empty(), "{:?}", result.errors);
        result.iommus[0].walks
    };
    assert_eq!(walks(&[]), 1);
    assert_eq!(walks(&["pasid = 5\n"]), 1);
    assert_eq!(walks(&["pasid = 7\n"]), 2);
    assert_eq!(walks(&["pasid = 7\n", "", "pasid = 5\n"]), 3);
}

/// The IOMMU translates the address of the process to a physical address. The packet continues without the prefix, also if its target is another
/// device.
#[test]
fn a_host_passes_requests_between_its_ports_without_their_prefixes() {
    let machine = Machine {
        switch: "tlp_prefixes = true\nacs_redirect = true\nacs_upstream_forwarding = true\n",
        ..MACHINE
    };
    let text = machine
        .text()
        .replace("to = \"h\"", "to = \"e\"")
        .replace("upstream = \"s\"\nbar", "upstream = \"h\"\nbar");
    let (result, lines) = trace(&text);
    result.all_intact();
    let requests = of_flow(&lines, &["MRd", "MWr"]);
    let (up, down): (Vec<_>, Vec<_>) = requests
        .into_iter()
        .partition(|line| line["direction"] == "up");
    assert_eq!((up.len(), down.len()), (16, 8));
    assert!(up.iter().all(|line| line["pasid"] == 5));
    assert!(down.iter().all(|line| line["pasid"].is_null()));
    // Between two devices below one switch, the packet keeps its prefix.
    let (result, lines) = trace(&MACHINE.text().replace("to = \"h\"", "to = \"e\""));
    result.all_intact();
    assert!(
        of_flow(&lines, &["MWr"])
            .iter()
            .all(|line| line["pasid"] == 5)
    );
}

#[test]
fn processes_change_nothing_for_requests_without_a_prefix() {
    let with = Machine {
        flow: "",
        ..MACHINE
    };
    let without = Machine {
        host: "",
        switch: "",
        device: "",
        flow: "",
    };
    assert_eq!(trace(&with.text()).1, trace(&without.text()).1);
}
